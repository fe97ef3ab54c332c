"""Study of early stopping by a refined rule with few validation rows.

Data sets are cut down so that a tenth of the rows, 15 to 1,000, validates. Every
training is followed stage by stage until all policies have stopped. A policy is a rule,
a patience, and how the temperature of the kept stage is fitted. The first of
`POLICIES` is what the others are compared with. Run ::

    python -m studies.small.validation run --data-home FOLDER
    python -m studies.small.validation report
    python -m studies.small.validation guide

in the folder that has the folder ``benchmarks``. Trainings that have a record are not
done again. FOLDER has the signals of the paper and a folder ``tabular``; see
``benchmarks/studies/_tables.py``. The report is the file
``small_validation.md`` and is printed, too. The last command prints the table of
``doc/choose_then_calibrate.rst``.
"""

import argparse
import gzip
import json
import sys
import time
import warnings
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from studies.small.policies import POLICIES, measure
from studies.small.report import make_guide_table, write_report
from studies._tables import TABLES, load_table
from studies.rules.trainings import average_down
from sklearn_superior.early_stopping import EarlyStopper
from sklearn_superior.neural_network import CNNClassifier
from studies.paper.protocol import ChannelImputer, flatten, load_windows
from sklearn_superior.utils._files import write_atomically

RECORDS = Path(__file__).with_suffix(".jsonl.gz")
BUILT_IN = {
    "iris": load_iris,
    "wine": load_wine,
    "breast_cancer": load_breast_cancer,
    "digits": load_digits,
}
SIGNALS = (
    "ble_rssi",
    "tetouan_power",
    "walking_user_identification",
    "motor_failure_time",
    "healthy_older_people",
    "driver_identification",
    "beijing_air_quality",
)
SETS = (*BUILT_IN, *TABLES, *SIGNALS)
FAMILIES = {"hgb": SETS, "mlp": SETS, "cnn": SIGNALS[2:6]}
SIZES = (15, 30, 60, 120, 250, 500, 1000)  # validation rows
_MOST_TEST_ROWS, _MOST_POINTS = 1000, 16
_N_SEEDS, _N_MORE_SEEDS = 3, 8
_STAGES = {"hgb": 200, "mlp": 80, "cnn": 60}
_CHUNK = 40  # iterations of boosting that are trained at once


@dataclass(frozen=True)
class Job:
    """One training."""

    dataset: str
    family: str
    n_validation: int
    seed: int


@dataclass
class Parts:
    """Rows and classes of the three parts; classes are numbers from 0."""

    X: dict
    y: dict
    n_classes: int


@lru_cache(maxsize=len(SETS))
def load(name, data_home):
    """Return the data, and a function from a seed to the rows to draw parts from."""
    if name in SIGNALS:
        windows = load_windows(name, data_home)
        X = average_down(windows.X, _MOST_POINTS).astype(np.float32)
        folds = windows.folds
        return X, windows.y, lambda seed: folds[3 * seed % len(folds)]
    if name in BUILT_IN:
        X, y = BUILT_IN[name](return_X_y=True)
    else:
        X, y = load_table(name, data_home)

    def split(seed):
        pool, test = _divide(np.arange(len(y)), y, 0.3, seed)
        return pool, None, test

    return X, y, split


def list_sizes(name, data_home):
    """Return the numbers of validation rows that a data set is large enough for."""
    _, _, split = load(name, data_home)
    train, val, _ = split(0)
    if val is not None:
        return [n for n in SIZES if 9 * n <= len(train) and n <= len(val)]
    return [n for n in SIZES if 10 * n <= len(train)] or [len(train) // 10]


def count_seeds(name, n_validation):
    """Return the number of repeats: more with few rows, and where they are cheap."""
    most_rows = 59 if name in SIGNALS else 250
    return _N_MORE_SEEDS if n_validation <= most_rows else _N_SEEDS


def make_parts(job, data_home):
    """Draw the parts of a training.

    Rows of classes that the training part lacks are left out of the others.
    """
    X, y, split = load(job.dataset, data_home)
    n_val, seed = job.n_validation, job.seed
    train, val, test = split(seed)
    if val is None:
        rows = _draw(train, y, 10 * n_val, seed)
        train, val = _divide(rows, y, n_val, seed)
    else:
        train, val = _draw(train, y, 9 * n_val, seed), _draw(val, y, n_val, seed)
    classes = np.unique(y[train])
    rows = {"train": train, "validation": val}
    rows["test"] = _draw(test, y, min(_MOST_TEST_ROWS, len(test)), seed)
    rows = {name: part[np.isin(y[part], classes)] for name, part in rows.items()}
    return Parts(
        {name: X[part] for name, part in rows.items()},
        {name: np.searchsorted(classes, y[part]) for name, part in rows.items()},
        len(classes),
    )


def _draw(rows, y, n_rows, seed):
    return rows if n_rows == len(rows) else _divide(rows, y, n_rows, seed)[1]


def _divide(rows, y, size, seed):
    """Divide rows in two, by classes where there are enough rows of each."""
    try:
        return train_test_split(
            rows, test_size=size, stratify=y[rows], random_state=seed
        )
    except ValueError:
        return train_test_split(rows, test_size=size, random_state=seed)


def train_in_stages(job, parts):
    """Yield the probabilities of the validation and the test part after each stage."""
    X, y = dict(parts.X), parts.y["train"]
    if job.family == "cnn":
        head = make_pipeline(ChannelImputer())
        model = CNNClassifier(
            channels=(32, 16), hidden=64, early_stopping=False, random_state=job.seed
        )
    else:
        X = {name: flatten(part) for name, part in X.items()}
        head = make_pipeline(SimpleImputer(), StandardScaler())
        model = MLPClassifier(batch_size=min(32, len(y)), random_state=job.seed)
    if job.family == "hgb":
        yield from _boost(job, X, y)
        return
    X["train"] = head.fit_transform(X["train"])
    X = {k: part if k == "train" else head.transform(part) for k, part in X.items()}
    for _ in range(_STAGES[job.family]):
        model.partial_fit(X["train"], y, classes=np.arange(parts.n_classes))
        yield model.predict_proba(X["validation"]), model.predict_proba(X["test"])


def _boost(job, X, y):
    model = HistGradientBoostingClassifier(
        early_stopping=False, warm_start=True, random_state=job.seed
    )
    for n_done in range(0, _STAGES["hgb"], _CHUNK):
        model.set_params(max_iter=n_done + _CHUNK).fit(X["train"], y)
        both = (model.staged_predict_proba(X[name]) for name in ("validation", "test"))
        for stage, proba in enumerate(zip(*both, strict=True)):
            if stage >= n_done:
                yield proba


def train(job, data_home):
    """Do a job; return its record, ready for JSON."""
    parts, start = make_parts(job, data_home), time.perf_counter()
    y = parts.y["validation"], parts.y["test"]
    running = [
        (
            policy,
            EarlyStopper(n_iter_no_change=policy.patience, greater_is_better=False),
        )
        for policy in POLICIES.values()
    ]
    rows = []
    for proba in train_in_stages(job, parts):
        rows.append(measure(y, proba))
        running = [
            (policy, stopper)
            for policy, stopper in running
            if not stopper.update(policy.score(rows[-1], len(y[0]), parts.n_classes))
        ]
        if not running:
            break
    return {
        "job": vars(job),
        "n_rows": {name: len(part) for name, part in parts.y.items()},
        "n_classes": parts.n_classes,
        "seconds": round(time.perf_counter() - start, 1),
        "stages": {name: [row[name] for row in rows] for name in rows[0]},
    }


def run(data_home, minutes):
    """Do the jobs that have no record, small parts first, as long as there is time."""
    records, end = read_records(), time.monotonic() + 60 * minutes
    done = {tuple(record["job"].values()) for record in records}
    sizes = {name: list_sizes(name, data_home) for name in SETS}
    for n_val in sorted(set(sum(sizes.values(), []))):
        for name in (name for name in SETS if n_val in sizes[name]):
            jobs = [
                Job(name, family, n_val, seed)
                for family, sets in FAMILIES.items()
                if name in sets
                for seed in range(count_seeds(name, n_val))
            ]
            jobs = [job for job in jobs if tuple(vars(job).values()) not in done]
            if not jobs or time.monotonic() > end:
                continue
            with warnings.catch_warnings():  # of columns without a value
                warnings.simplefilter("ignore")
                records += [train(job, data_home) for job in jobs]
            write_records(records)
            seconds = sum(r["seconds"] for r in records[-len(jobs) :])
            print(f"{name}, {n_val} rows: {seconds:.0f} s", flush=True)


def read_records():
    """Return the records that are there."""
    if not RECORDS.exists():
        return []
    lines = gzip.decompress(RECORDS.read_bytes()).splitlines()
    return [json.loads(line) for line in lines]


def write_records(records):
    """Write the file of the records anew, whole or not at all."""
    text = "".join(json.dumps(record) + "\n" for record in records)
    write_atomically(RECORDS, gzip.compress(text.encode(), mtime=0))


def main(args=None):
    """Run the command that the arguments give."""
    parser = argparse.ArgumentParser(prog="python -m studies.small.validation")
    parser.add_argument("command", choices=["run", "report", "guide"])
    parser.add_argument("--data-home", help="folder with the data sets")
    parser.add_argument("--minutes", type=float, default=30, help="of training at most")
    options = parser.parse_args(args)
    if options.command == "run":
        run(options.data_home, options.minutes)
    elif options.command == "guide":
        print(make_guide_table(read_records()))
    else:
        print(write_report(read_records(), RECORDS.with_name("small_validation.md")))


if __name__ == "__main__":
    sys.exit(main())
