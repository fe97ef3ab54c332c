"""Early stopping by a refined rule with few validation rows.

Data sets are subsampled so that a tenth of the rows, 10 to 1,000, is the validation
set. Every training is recorded stage by stage until all policies have stopped. A policy
is a rule, a patience, and how the temperature of the kept stage is fitted. All policies
are compared with the first of `POLICIES`::

    python -m studies small run --data-home FOLDER
    python -m studies small report

FOLDER holds the signals of the paper and a folder ``tabular``; see ``_tables.py``.
`make_guide_table` makes the table in ``doc/choose_then_calibrate.rst``.
"""

import time
import warnings
from dataclasses import asdict, dataclass
from functools import lru_cache

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_superior.early_stopping import EarlyStopper
from sklearn_superior.neural_network import CNNClassifier
from studies._runner import check_names
from studies._tables import BUILT_IN, TABLES, load_table
from studies.paper.protocol import ChannelImputer, flatten, load_windows
from studies.rules.trainings import average_down
from studies.small.policies import POLICIES, measure
from studies.small.report import TITLE, make_parts

__all__ = ["FIELDS", "QUICK", "TITLE", "load", "make_jobs", "make_parts", "train"]

FIELDS = ("job", "n_rows", "n_classes", "seconds", "stages")
QUICK = ("iris",)
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

    @property
    def name(self):
        """Unique name of the job."""
        return f"{self.dataset}/{self.family}-{self.n_validation}/seed{self.seed}"


@dataclass
class Parts:
    """Rows and classes of the three parts; classes are numbers from 0."""

    X: dict
    y: dict
    n_classes: int


@lru_cache(maxsize=len(SETS))
def load(name, data_home=None):
    """Return the data, and a function from a seed to the rows to draw parts from."""
    if name in SIGNALS:
        windows = load_windows(name, data_home)
        X = average_down(windows.X, _MOST_POINTS).astype(np.float32)
        folds = windows.folds
        return X, windows.y, lambda seed: folds[3 * seed % len(folds)]
    X, y = load_table(name, data_home)

    def split(seed):
        pool, test = _divide(np.arange(len(y)), y, 0.3, seed)
        return pool, None, test

    return X, y, split


def list_sizes(name, data_home):
    """Return the numbers of validation rows for which a data set is large enough."""
    _, _, split = load(name, data_home)
    train, val, _ = split(0)
    if val is not None:
        return [n for n in SIZES if 9 * n <= len(train) and n <= len(val)]
    return [n for n in SIZES if 10 * n <= len(train)] or [len(train) // 10]


def count_seeds(name, n_validation):
    """Return the number of repeats: more with few rows, and where they are cheap."""
    most_rows = 59 if name in SIGNALS else 250
    return _N_MORE_SEEDS if n_validation <= most_rows else _N_SEEDS


def draw_parts(job, data_home=None):
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
    """Split rows in two, stratified where every class has enough rows."""
    try:
        return train_test_split(
            rows, test_size=size, stratify=y[rows], random_state=seed
        )
    except ValueError:
        return train_test_split(rows, test_size=size, random_state=seed)


def train_in_stages(job, parts, device="auto"):
    """Yield the probabilities of the validation and the test part after each stage."""
    X, y = dict(parts.X), parts.y["train"]
    if job.family == "cnn":
        head = make_pipeline(ChannelImputer())
        model = CNNClassifier(
            channels=(32, 16),
            hidden=64,
            early_stopping=False,
            device=device,
            random_state=job.seed,
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


def train(job, data_home=None, device="auto"):
    """Run a job; return its record, ready for JSON."""
    with warnings.catch_warnings():  # of columns without a value
        warnings.simplefilter("ignore")
        return _train(job, data_home, device)


def _train(job, data_home, device):
    parts, start = draw_parts(job, data_home), time.perf_counter()
    y = parts.y["validation"], parts.y["test"]
    running = [
        (
            policy,
            EarlyStopper(n_iter_no_change=policy.patience, greater_is_better=False),
        )
        for policy in POLICIES.values()
    ]
    rows = []
    for proba in train_in_stages(job, parts, device):
        rows.append(measure(y, proba))
        running = [
            (policy, stopper)
            for policy, stopper in running
            if not stopper.update(policy.score(rows[-1], len(y[0]), parts.n_classes))
        ]
        if not running:
            break
    return {
        "job": asdict(job),
        "n_rows": {name: len(part) for name, part in parts.y.items()},
        "n_classes": parts.n_classes,
        "seconds": round(time.perf_counter() - start, 1),
        "stages": {name: [row[name] for row in rows] for name in rows[0]},
    }


def make_jobs(datasets=None, estimators=None, *, n_repeats=None, data_home=None, **_):
    """List the jobs, small parts first; `n_repeats` limits the seeds of a job."""
    check_names("--datasets", datasets, SETS)
    check_names("--estimators", estimators, FAMILIES)
    sizes = {name: list_sizes(name, data_home) for name in datasets or SETS}
    return [
        Job(name, family, n_val, seed)
        for n_val in sorted(set(sum(sizes.values(), [])))
        for name in sizes
        for family, sets in FAMILIES.items()
        for seed in range(min(count_seeds(name, n_val), n_repeats or _N_MORE_SEEDS))
        if n_val in sizes[name]
        and name in sets
        and (estimators is None or family in estimators)
    ]
