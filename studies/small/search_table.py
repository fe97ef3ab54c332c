"""Ways to a model for use, on twelve sets: test log loss, macro F1 and time.

A part held out, ``StagedSearchCV`` with both kinds of model, ``GridSearchCV`` over the
number of stages, and ``CalibratedClassifierCV`` around all stages. Records are in
``search_table.jsonl.gz``, one line for each fit::

    python -m studies.small.search_table run [--data-home FOLDER]
    python -m studies.small.search_table report
"""

import argparse
import gzip
import json
import os
import warnings
from pathlib import Path
from time import process_time

os.environ["OMP_NUM_THREADS"] = "1"  # before OpenMP is loaded

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.metrics import f1_score, log_loss
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from studies._tables import TABLES, load_table
from sklearn_superior.early_stopping import EarlyStoppingClassifier
from sklearn_superior.model_selection import StagedSearchCV

RECORDS = Path(__file__).with_suffix(".jsonl.gz")
SKLEARN_SETS = {
    "digits": load_digits,
    "wine": load_wine,
    "breast_cancer": load_breast_cancer,
}
SETS = [*TABLES, *SKLEARN_SETS]
N_TRAIN, N_TEST = 1_000, 3_000
BUDGET = {"HGB": 80, "MLP": 80}
METHODS = ("hold-out", "all", "folds", "grid", "calibrated")


def load_set(name, data_home, *, n_train=N_TRAIN, seed=0):
    """Return training and test part; classes of very few rows are left out."""
    if name in SKLEARN_SETS:
        X, y = SKLEARN_SETS[name](return_X_y=True)
    else:
        X, y = load_table(name, data_home)
    while True:
        y = np.unique(y, return_inverse=True)[1]
        n_kept = min(n_train, int(0.7 * len(y)))
        train, test = train_test_split(
            np.arange(len(y)), train_size=n_kept, stratify=y, random_state=seed
        )
        count = np.bincount(y[train], minlength=y.max() + 1)
        if count.min() >= 6:  # at least one in each part of five folds
            return X[train], y[train], X[test[:N_TEST]], y[test[:N_TEST]]
        X, y = X[count[y] >= 6], y[count[y] >= 6]


def make_estimator(family, seed):
    """Return an estimator and its parameter for the number of stages."""
    if family == "HGB":
        model = HistGradientBoostingClassifier(
            max_iter=BUDGET[family], early_stopping=False, random_state=seed
        )
        return model, "max_iter"
    network = MLPClassifier(
        (50,),
        batch_size=64,
        learning_rate_init=0.003,
        max_iter=BUDGET[family],
        tol=0.0,
        n_iter_no_change=1_000,  # all epochs
        random_state=seed,
    )
    model = make_pipeline(SimpleImputer(), StandardScaler(), network)
    return model, "mlpclassifier__max_iter"


def make_method(name, family, seed):
    estimator, n_stages = make_estimator(family, seed)
    if name == "hold-out":
        return EarlyStoppingClassifier(
            estimator,
            scoring="neg_refined_penalized_log_loss",  # as the search
            n_iter_no_change=20,
            random_state=seed,
        )
    if name in ("all", "folds"):
        return StagedSearchCV(estimator, refit=name)
    if name == "calibrated":
        return CalibratedClassifierCV(estimator, method="temperature", cv=5)
    numbers = np.linspace(BUDGET[family] / 5, BUDGET[family], 5).astype(int).tolist()
    return GridSearchCV(estimator, {n_stages: numbers}, scoring="neg_log_loss")


def run(data_home, n_seeds):
    done = {_key(record) for record in read()}
    for seed in range(n_seeds):
        for name in SETS:
            X, y, X_test, y_test = load_set(name, data_home, seed=seed)
            for family in BUDGET:
                for method in METHODS:
                    key = (name, family, method, seed)
                    if key in done:
                        continue
                    start = process_time()
                    with warnings.catch_warnings(action="ignore"):
                        model = make_method(method, family, seed).fit(X, y)
                    time = process_time() - start
                    y_proba = model.predict_proba(X_test)
                    write(
                        {
                            "set": name,
                            "family": family,
                            "method": method,
                            "seed": seed,
                            "log_loss": log_loss(y_test, y_proba),
                            "f1": f1_score(y_test, y_proba.argmax(1), average="macro"),
                            "time": time,
                            "n_train": len(y),
                            "n_classes": y_proba.shape[1],
                        }
                    )
                print(seed, name, family, flush=True)


def _key(record):
    return tuple(record[name] for name in ("set", "family", "method", "seed"))


def read(path=RECORDS):
    if not path.exists():
        return []
    with gzip.open(path, "rt") as file:
        return [json.loads(line) for line in file]


def write(record, path=RECORDS):
    with gzip.open(path, "at") as file:
        print(json.dumps(record), file=file)


def report():
    records = {_key(record): record for record in read()}
    seeds = sorted({key[-1] for key in records})
    for family in BUDGET:
        names = [n for n in SETS if (n, family, METHODS[-1], seeds[-1]) in records]
        print(f"\n{family}, {len(names)} sets, {len(seeds)} splits: test log loss\n")
        print(f"  {'':<16}" + "".join(f"{method:>12}" for method in METHODS))
        table = {}
        for field in ("log_loss", "f1", "time"):
            table[field] = np.array(
                [
                    [
                        np.mean([records[n, family, m, s][field] for s in seeds])
                        for m in METHODS
                    ]
                    for n in names
                ]
            )
        for name, row in zip(names, table["log_loss"], strict=True):
            print(f"  {name:<16}" + "".join(f"{value:12.4f}" for value in row))
        _summarise(table)


def _summarise(table):
    loss, f1, time = (table[field] for field in ("log_loss", "f1", "time"))
    rows = {
        "ratio of log loss": (np.exp(np.log(loss / loss[:, :1]).mean(0)), ".3f"),
        "better on": ((loss < loss[:, :1]).sum(0), "d"),
        "change of F1": (100 * (f1 - f1[:, :1]).mean(0), "+.1f"),
        "ratio of time": (np.exp(np.log(time / time[:, :1]).mean(0)), ".1f"),
    }
    print("\n  to the hold-out:")
    for label, (values, form) in rows.items():
        print(f"  {label:<20}" + "".join(f"{format(v, form):>12}" for v in values)[4:])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=("run", "report"))
    parser.add_argument("--data-home")
    parser.add_argument("--n-seeds", type=int, default=1)
    options = parser.parse_args()
    if options.command == "run":
        run(options.data_home, options.n_seeds)
    report()


if __name__ == "__main__":
    main()
