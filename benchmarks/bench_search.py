"""Time and memory of StagedSearchCV and of early stopping, against the libraries alone.

Seconds of the clock, the best of three; both sides take turns in one process, with the
threads that the libraries choose ("all") and with one. No patience ends here, so that
both sides train the same number of stages on the same folds, 20 features, 3 classes:

- ``lgb.cv``, ``xgb.cv``: all folds in step, the log loss of the test rows after every
  stage, computed by the library; ``xgb.cv`` computes that of the training rows as well.
- HistGradientBoosting: for each fold ``fit``, then ``staged_predict_proba`` of the test
  rows and the log loss of every stage.
- native early stopping: ``fit`` with validation rows and the log loss of every stage.
- ``GridSearchCV``: one fit for each candidate and fold, and one score.

The load is that of the last minute, both sides included. Other programs distort ratios
with all threads most; "cpu" is the ratio of seconds of the processor, for such times.

Ours scores every stage by ``"neg_log_loss"`` and keeps the out-of-fold probabilities of
the best one, which ``lgb.cv`` and ``xgb.cv`` do not.

Run with ``make benchmark`` or ``python benchmarks/bench_search.py [--rows 2000 20000]
[--only cv jobs stopping grid cheap memory] [--threads all]``.
"""

import argparse
import os
import subprocess
import sys
import tracemalloc
import warnings
from contextlib import nullcontext
from functools import partial
from time import perf_counter, process_time

import joblib
import lightgbm as lgb
import numpy as np
import xgboost as xgb
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from threadpoolctl import threadpool_limits

from sklearn_superior.early_stopping import EarlyStoppingClassifier
from sklearn_superior.model_selection import StagedSearchCV

NEVER = 10_000  # a patience that does not end
N_CLASSES = 3
ROUNDS = 3
THREADS = ["all", "one"]  # which of them to measure
STAGES = {2_000: 150, 20_000: 100, 100_000: 100}  # by the number of rows
SCORING = {"scoring": "neg_log_loss", "n_iter_no_change": NEVER, "calibration": None}
BUDGET = {
    "LightGBM": "n_estimators",
    "XGBoost": "n_estimators",
    "HistGradientBoosting": "max_iter",
}


def make_estimator(name, n_stages, one_thread, **params):
    """Return a classifier with the threads of its library, or with one."""
    params = {BUDGET[name]: n_stages, "random_state": 0} | params
    if name == "HistGradientBoosting":  # has its threads from OpenMP
        return HistGradientBoostingClassifier(early_stopping=False, **params)
    params["n_jobs"] = 1 if one_thread else None
    if name == "LightGBM":
        return lgb.LGBMClassifier(verbose=-1, **params)
    return xgb.XGBClassifier(tree_method="hist", **params)


def make_data(n_rows):
    return make_classification(
        n_rows,
        n_features=20,
        n_informative=10,
        n_classes=N_CLASSES,
        flip_y=0.1,
        random_state=0,
    )


def make_folds(X, y):
    return list(StratifiedKFold(5).split(X, y))


def full_search(estimator, folds, **options):
    """Return a search that trains every stage and no final model."""
    return StagedSearchCV(estimator, cv=folds, refit=False, **SCORING, **options)


def lightgbm_cv(X, y, folds, n_stages, one_thread):
    # As many threads as LGBMClassifier has by default.
    n_threads = 1 if one_thread else joblib.cpu_count(only_physical_cores=True)
    common = {"num_threads": n_threads, "verbose": -1}
    params = {"objective": "multiclass", "num_class": N_CLASSES, "seed": 0}
    return lgb.cv(
        common | params,
        lgb.Dataset(X, y, params=common),
        num_boost_round=n_stages,
        folds=folds,
        metrics="multi_logloss",
    )


def xgboost_cv(X, y, folds, n_stages, one_thread):
    params = {"objective": "multi:softprob", "num_class": N_CLASSES, "seed": 0}
    n_threads = 1 if one_thread else None
    return xgb.cv(
        params | {"tree_method": "hist", "nthread": n_threads},
        xgb.DMatrix(X, y, nthread=n_threads),
        num_boost_round=n_stages,
        folds=folds,
        metrics="mlogloss",
    )


def hist_cv(X, y, folds, n_stages, one_thread):
    losses = np.empty((n_stages, len(folds)))
    for k, (train, test) in enumerate(folds):
        model = make_estimator("HistGradientBoosting", n_stages, one_thread)
        model.fit(X[train], y[train])
        for stage, y_proba in enumerate(model.staged_predict_proba(X[test])):
            losses[stage, k] = log_loss(y[test], y_proba, labels=model.classes_)
    return losses.mean(axis=1)


CV = {
    "LightGBM": ("lgb.cv", lightgbm_cv),
    "XGBoost": ("xgb.cv", xgboost_cv),
    "HistGradientBoosting": ("staged_predict_proba", hist_cv),
}


def fit_native(name, data, n_stages, one_thread):
    """Train with the library's own early stopping, which never stops."""
    X, y, X_val, y_val = data
    model = make_estimator(name, n_stages, one_thread)
    if name == "LightGBM":
        never = lgb.early_stopping(NEVER, verbose=False)
        model.fit(X, y, eval_X=X_val, eval_y=y_val, callbacks=[never])
    elif name == "XGBoost":
        model.set_params(eval_metric="mlogloss", early_stopping_rounds=NEVER)
        model.fit(X, y, eval_set=[(X_val, y_val)], verbose=False)
    else:
        model.set_params(early_stopping=True, n_iter_no_change=NEVER)
        model.fit(X, y, X_val=X_val, y_val=y_val)


def report(what, peer, ours, one_thread, goal):
    """Time both sides in turns and print a line of the table."""
    threads = "one" if one_thread else "all"
    if threads not in THREADS:
        return
    clock, processor = np.empty((2, ROUNDS, 2))
    with threadpool_limits(1) if one_thread else nullcontext():
        for i in range(ROUNDS):
            for k, function in enumerate((peer, ours)):
                start = perf_counter(), process_time()
                function()
                clock[i, k] = perf_counter() - start[0]
                processor[i, k] = process_time() - start[1]
    peer, ours = clock.min(axis=0)
    peer_cpu, ours_cpu = processor.min(axis=0)
    print(
        f"{what:<58}{peer:8.2f}{ours:8.2f}{ours / peer:7.2f}  {goal:<6}{threads:<8}"
        f"{os.getloadavg()[0]:4.1f}{ours_cpu / peer_cpu:7.2f}",
        flush=True,
    )


def against_cv(rows):
    """Compare the search with the libraries' own cross-validation."""
    for n_rows in rows:
        X, y = make_data(n_rows)
        folds, n_stages = make_folds(X, y), STAGES[n_rows]
        for name, (peer_name, cv) in CV.items():
            for one_thread in (False, True):
                search = full_search(make_estimator(name, n_stages, one_thread), folds)
                report(
                    f"{name} / {peer_name}, {n_rows:,} rows",
                    partial(cv, X, y, folds, n_stages, one_thread),
                    partial(search.fit, X, y),
                    one_thread,
                    "1.10",
                )


def two_jobs(rows):
    """Compare the search in two jobs with lgb.cv, which has all threads."""
    for n_rows in rows:
        X, y = make_data(n_rows)
        folds, n_stages = make_folds(X, y), STAGES[n_rows]
        search = full_search(make_estimator("LightGBM", n_stages, False), folds)
        report(
            f"LightGBM, n_jobs=2 / lgb.cv, {n_rows:,} rows",
            partial(lightgbm_cv, X, y, folds, n_stages, False),
            partial(search.set_params(n_jobs=2).fit, X, y),
            False,
            "1.00",
        )


def against_native(rows):
    """Compare EarlyStoppingClassifier with the libraries' own early stopping."""
    for n_rows in rows:
        X, y = make_data(n_rows)
        n_train, n_stages = n_rows * 4 // 5, STAGES[n_rows]
        data = X[:n_train], y[:n_train], X[n_train:], y[n_train:]
        for name in BUDGET:
            for one_thread in (False, True):
                estimator = make_estimator(name, n_stages, one_thread)
                model = EarlyStoppingClassifier(estimator, **SCORING)
                report(
                    f"{name}, early stopping / native, {n_rows:,} rows",
                    partial(fit_native, name, data, n_stages, one_thread),
                    partial(model.fit, *data[:2], X_val=data[2], y_val=data[3]),
                    one_thread,
                    "1.10",
                )


def against_grid(rows):
    """Compare the search with a grid over ten numbers of stages."""
    X, y = make_data(rows[0])
    folds, n_stages = make_folds(X, y), STAGES[rows[0]]
    numbers = np.linspace(n_stages / 10, n_stages, 10).astype(int).tolist()
    for name, budget in BUDGET.items():
        estimator = make_estimator(name, n_stages, False)
        grid = GridSearchCV(
            estimator, {budget: numbers}, scoring="neg_log_loss", cv=folds, refit=False
        )
        report(
            f"{name} / GridSearchCV, ten numbers of stages",
            partial(grid.fit, X, y),
            partial(full_search(estimator, folds).fit, X, y),
            False,
            "0.20",
        )


def cheap_candidates(rows):
    """Compare 200 candidates of three stages on 150 rows with GridSearchCV."""
    X, y = make_data(150)
    folds = make_folds(X, y)
    settings = {
        "LightGBM": {"num_leaves": range(2, 22)},
        "HistGradientBoosting": {"max_leaf_nodes": range(2, 22)},
    }
    for name, grid in settings.items():
        grid = {"learning_rate": np.linspace(0.05, 0.5, 10)} | grid
        for one_thread in (False, True):
            estimator = make_estimator(name, 3, one_thread)
            peer = GridSearchCV(
                estimator, grid, scoring="neg_log_loss", cv=folds, refit=False
            )
            report(
                f"{name} / GridSearchCV, 200 cheap candidates",
                partial(peer.fit, X, y),
                partial(full_search(estimator, folds, param_grid=grid).fit, X, y),
                one_thread,
                "1.50",
            )


def memory(rows):
    """Print by how much the peak rises, each in a process of its own."""
    print("\nMiB on top of the data, LightGBM, 200,000 x 20 float32, 30 stages")
    print(f"{'':<58}{'resident':>8}{'traced':>8}")
    for kind in ("StagedSearchCV", "lgb.cv", "GridSearchCV"):
        peaks = [_peak_of_child(kind, how) for how in ("resident", "traced")]
        print(f"{kind:<58}" + "".join(f"{value:8.0f}" for value in peaks), flush=True)


def _peak_of_child(kind, how):
    command = [sys.executable, __file__, "--peak", kind, how]
    return float(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def print_peak(kind, how):
    """Print the peak of this process, or of what Python and NumPy have allocated."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200_000, 20), dtype=np.float32)
    y = (X[:, :N_CLASSES] + X[:, N_CLASSES : 2 * N_CLASSES]).argmax(axis=1)
    folds = make_folds(X, y)
    _run_for_memory(kind, X[:500], y[:500], make_folds(X[:500], y[:500]))  # warm up
    before = _resident("VmRSS")
    if how == "traced":
        tracemalloc.start()
    _run_for_memory(kind, X, y, folds)
    if how == "traced":
        print(tracemalloc.get_traced_memory()[1] / 2**20)
    else:
        print(_resident("VmHWM") - before)


def _run_for_memory(kind, X, y, folds):
    estimator = make_estimator("LightGBM", 30, False)
    if kind == "StagedSearchCV":
        full_search(estimator, folds).fit(X, y)
    elif kind == "lgb.cv":
        lightgbm_cv(X, y, folds, 30, False)
    else:
        grid = {"n_estimators": [30]}
        GridSearchCV(
            clone(estimator), grid, scoring="neg_log_loss", cv=folds, refit=False
        ).fit(X, y)


def _resident(field):
    """Return a figure of the system on the memory of this process, in MiB."""
    with open("/proc/self/status") as file:
        line = next(line for line in file if line.startswith(field))
    return int(line.split()[1]) / 1024


def load():
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"


PARTS = {
    "cv": against_cv,
    "jobs": two_jobs,
    "stopping": against_native,
    "grid": against_grid,
    "cheap": cheap_candidates,
    "memory": memory,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--rows", type=int, nargs="+", choices=STAGES, default=list(STAGES)
    )
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--threads", nargs="+", choices=THREADS, default=THREADS)
    parser.add_argument("--peak", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    THREADS[:] = options.threads
    # Few stages are trained here, and the last one is often the best.
    warnings.simplefilter("ignore", ConvergenceWarning)
    if options.peak:
        print_peak(*options.peak)
        return
    print(f"Wall-clock seconds, the best of {ROUNDS}, {load()} at the start\n")
    head = f"{'ours / peer':<58}{'peer':>8}{'ours':>8}{'ratio':>7}"
    print(head + "  goal  threads load    cpu")
    for part in options.only:
        PARTS[part](options.rows)
    print(f"\n{load()} at the end")


if __name__ == "__main__":
    main()
