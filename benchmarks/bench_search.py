"""Time and memory of StagedSearchCV, as ratios against the ways of the libraries.

6,000 × 20 rows, 5 classes, 200 stages that are all trained, one thread. What has one
thread is measured in seconds of the processor, so that other programs on the machine
matter little; ``n_jobs=2`` in seconds of the clock. Run with ``make benchmark`` or
``python benchmarks/bench_search.py [part ...]``.
"""

import os
import subprocess
import sys
from functools import partial
from time import perf_counter, process_time

os.environ["OMP_NUM_THREADS"] = "1"  # before OpenMP is loaded

import lightgbm as lgb
import numpy as np
import xgboost as xgb
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.metrics import log_loss
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    StratifiedKFold,
)

from sklearn_superior.model_selection import StagedSearchCV

NEVER = 10_000  # a patience that does not end
N_STAGES, N_CLASSES = 200, 5
ROUNDS = 2
ESTIMATORS = {
    "HistGradientBoosting": (
        HistGradientBoostingClassifier(
            max_iter=N_STAGES, early_stopping=False, random_state=0
        ),
        "max_iter",
    ),
    "LightGBM": (
        lgb.LGBMClassifier(n_estimators=N_STAGES, n_jobs=1, verbose=-1, random_state=0),
        "n_estimators",
    ),
    "XGBoost": (
        xgb.XGBClassifier(
            n_estimators=N_STAGES, n_jobs=1, tree_method="hist", random_state=0
        ),
        "n_estimators",
    ),
}
SETTINGS = {  # 27 of them
    "learning_rate": [0.03, 0.1, 0.3],
    "max_leaf_nodes": [7, 15, 31],
    "min_samples_leaf": [5, 20, 60],
}


def make_data(n_rows=6_000, n_features=20):
    return make_classification(
        n_rows,
        n_features=n_features,
        n_informative=10,
        n_classes=N_CLASSES,
        flip_y=0.1,
        random_state=0,
    )


def make_folds(X, y):
    return list(StratifiedKFold(5).split(X, y))


def full_search(estimator, folds, **options):
    """Return a search that trains every stage and no final model."""
    options = {"scoring": "neg_log_loss", "n_iter_no_change": NEVER} | options
    return StagedSearchCV(estimator, cv=folds, refit=False, **options)


def seconds(function):
    """Return the seconds of the processor and of the clock that a call takes."""
    start = process_time(), perf_counter()
    function()
    return np.array([process_time(), perf_counter()]) - start


def ratios(ours, other, rounds=ROUNDS):
    """Divide our times by those of the other; they take turns, the median counts."""
    return np.median([seconds(ours) / seconds(other) for _ in range(rounds)], axis=0)


def load():
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"


def against_grid():
    print("\nHow many times faster than a GridSearchCV over ten numbers of stages")
    print("(goal: at least 5); in brackets: with a final model on all rows for both\n")
    X, y = make_data()
    folds = make_folds(X, y)
    for name, (estimator, n_stages) in ESTIMATORS.items():
        numbers = np.linspace(N_STAGES / 10, N_STAGES, 10).astype(int).tolist()
        grid = GridSearchCV(
            estimator,
            {n_stages: numbers},
            scoring="neg_log_loss",
            cv=folds,
            refit=False,
        )
        ours = full_search(estimator, folds)
        time = {
            "ours": seconds(partial(ours.fit, X, y))[0],
            "grid": seconds(partial(grid.fit, X, y))[0],
        }
        final = clone(estimator).set_params(**{n_stages: ours.best_iteration_ + 1})
        refit = seconds(partial(final.fit, X, y))[0]
        print(
            f"  {name:<22}{time['grid'] / time['ours']:.1f} "
            f"({(time['grid'] + refit) / (time['ours'] + refit):.1f}); stages "
            f"{ours.best_iteration_ + 1} with {-ours.best_score_:.4f}, grid "
            f"{grid.best_params_[n_stages]} with {-grid.best_score_:.4f}",
            flush=True,
        )


def lightgbm_cv(X, y, folds):
    params = {"objective": "multiclass", "num_class": N_CLASSES, "num_threads": 1}
    data = lgb.Dataset(X, y, params={"verbose": -1})
    return lgb.cv(
        params | {"verbose": -1, "seed": 0},
        data,
        num_boost_round=N_STAGES,
        folds=folds,
        metrics="multi_logloss",
    )


def xgboost_cv(X, y, folds):
    params = {"objective": "multi:softprob", "num_class": N_CLASSES, "nthread": 1}
    return xgb.cv(
        params | {"tree_method": "hist", "seed": 0},
        xgb.DMatrix(X, y, nthread=1),
        num_boost_round=N_STAGES,
        folds=folds,
        metrics="mlogloss",
    )


CV = {"LightGBM": lightgbm_cv, "XGBoost": xgboost_cv}


def against_cv():
    print(
        "\nTime over that of lgb.cv and xgb.cv on the same folds (goal: at most 1.1);"
    )
    print("in brackets: by the clock; with the default scoring, not the log loss\n")
    X, y = make_data()
    folds = make_folds(X, y)
    for name, cv in CV.items():
        estimator, _ = ESTIMATORS[name]
        other = partial(cv, X, y, folds)
        plain, default = (
            ratios(
                partial(full_search(estimator, folds, scoring=rule).fit, X, y), other
            )
            for rule in ("neg_log_loss", None)
        )
        print(
            f"  {name:<22}{plain[0]:.2f} ({plain[1]:.2f}, {default[0]:.2f})", flush=True
        )


def two_jobs():
    print("\nTime of n_jobs=2 over that of one, HistGradientBoosting, 4 candidates, by")
    print("the clock (goal: at most 0.6 on two free cores)\n")
    X, y = make_data()
    folds = make_folds(X, y)
    grid = {"learning_rate": [0.03, 0.05, 0.1, 0.2]}
    estimator, _ = ESTIMATORS["HistGradientBoosting"]
    one, two = (
        full_search(estimator, folds, param_grid=grid, n_jobs=n_jobs)
        for n_jobs in (1, 2)
    )
    for _ in range(2):
        _, share = ratios(lambda: two.fit(X, y), lambda: one.fit(X, y), 1)
        print(f"  {share:.2f} ({load()})", flush=True)


def peak(kind, name):
    """Print by how much a search or its peer raises the peak of this process."""
    X, y = make_data(60_000, 40)
    folds = make_folds(X, y)
    estimator, n_stages = ESTIMATORS[name]
    estimator.set_params(**{n_stages: 30})
    search = full_search(estimator, folds)
    before = _memory("VmRSS")
    if kind == "search":
        search.fit(X, y)
    elif kind == "parts":
        kept = []
        for train, test in folds:
            rows = X[train], y[train], X[test]
            model = clone(estimator).fit(*rows[:2])
            kept.append((rows, model, model.predict_proba(X[test])))
        kept.append(np.full((len(y), N_CLASSES), 0.2))
    else:
        CV[name](X, y, folds)
    print(_memory("VmHWM") - before)


def _memory(field):
    """Return what the system knows of the memory of this process, in MiB."""
    with open("/proc/self/status") as file:
        line = next(line for line in file if line.startswith(field))
    return int(line.split()[1]) / 1024


def memory():
    print(
        "\nPeak of the memory in MiB, 60,000 × 40 rows, 30 stages: the search, and the"
    )
    print("parts by hand (data of the folds, their models trained one after the other,")
    print("two arrays of probabilities; goal: no more), and lgb.cv or xgb.cv\n")
    for name in ESTIMATORS:
        kinds = ["search", "parts"] + (["cv"] if name in CV else [])
        peaks = [_peak_of_child(kind, name) for kind in kinds]
        print(f"  {name:<22}" + "".join(f"{value:8.0f}" for value in peaks), flush=True)


def _peak_of_child(kind, name):
    command = [sys.executable, __file__, "peak", kind, name]
    return float(subprocess.run(command, capture_output=True, check=True).stdout)


def against_halving():
    print(
        "\n27 settings of HistGradientBoosting, 2,000 rows, at most 200 stages: seconds"
    )
    print("of the processor, test log loss of the model on all rows, its stages\n")
    X, y = make_data(8_000)
    X_test, y_test = X[2_000:], y[2_000:]
    X, y = X[:2_000], y[:2_000]
    estimator, folds = ESTIMATORS["HistGradientBoosting"][0], make_folds(X, y)
    common = {"scoring": "neg_log_loss", "cv": folds}
    staged = {"cv": folds, "refit": "all"}
    stages = {
        "resource": "max_iter",
        "max_resources": N_STAGES,
        "min_resources": "exhaust",
        "random_state": 0,
    }
    searches = {
        "StagedSearchCV, log loss": StagedSearchCV(
            estimator, SETTINGS, scoring="neg_log_loss", **staged
        ),
        "StagedSearchCV": StagedSearchCV(estimator, SETTINGS, **staged),
        "HalvingGridSearchCV, stages": HalvingGridSearchCV(
            clone(estimator), SETTINGS, **common, **stages
        ),
        "HalvingGridSearchCV, rows": HalvingGridSearchCV(
            estimator, SETTINGS, scoring="neg_log_loss", cv=5, random_state=0
        ),
    }
    for name, search in searches.items():
        time = seconds(partial(search.fit, X, y))[0]
        loss = log_loss(y_test, search.predict_proba(X_test))
        print(
            f"  {name:<30}{time:7.1f}{loss:9.4f}{search.best_estimator_.n_iter_:5}",
            flush=True,
        )


PARTS = {
    "grid": against_grid,
    "cv": against_cv,
    "jobs": two_jobs,
    "memory": memory,
    "halving": against_halving,
}


def main():
    if sys.argv[1:2] == ["peak"]:
        peak(*sys.argv[2:])
        return
    print(f"StagedSearchCV, {load()}")
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()


if __name__ == "__main__":
    main()
