"""Saved searches, drift and tuned thresholds: the tables of the page on deployment.

- "size": bytes of a file, and milliseconds to predict one row and 10,000 rows, with one
  thread. It is the time of the processor, as other programs take turns with this one,
  and the least of many calls.
- "drift": log loss on new rows of the breast cancer data before and after the
  temperature is fitted again, and after training again. Means over 10 splits.
- "thresholds": mean cost of decisions and F1, with a threshold from the costs and with
  one that is tuned. Means over 10 splits of a data set of scikit-learn.

Run with ``make benchmark`` or ``python benchmarks/bench_deploy.py [--only size]``.
"""

import argparse
import os
import tempfile
import warnings
from functools import partial
from pathlib import Path
from time import process_time

import joblib
import lightgbm as lgb
import numpy as np
import onnxruntime
import xgboost as xgb
from onnxmltools.convert import convert_lightgbm, convert_xgboost
from onnxmltools.convert.common.data_types import FloatTensorType
from skl2onnx import to_onnx
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, f1_score, log_loss, make_scorer
from sklearn.model_selection import TunedThresholdClassifierCV, train_test_split
from sklearn.naive_bayes import GaussianNB
from threadpoolctl import threadpool_limits

from sklearn_superior.metrics import fit_temperature, scale_temperature
from sklearn_superior.model_selection import BayesDecisionClassifier, StagedSearchCV

N_ROWS = 10_000
N_TRAIN = 1_000
COSTS = {"false_positive": 1, "false_negative": 20}


def make_boosters(n_stages):
    return {
        "HistGradientBoosting": HistGradientBoostingClassifier(
            max_iter=n_stages, learning_rate=0.2, random_state=0
        ),
        "LightGBM": lgb.LGBMClassifier(
            n_estimators=n_stages,
            learning_rate=0.2,
            n_jobs=1,
            random_state=0,
            verbose=-1,
        ),
        "XGBoost": xgb.XGBClassifier(
            n_estimators=n_stages, learning_rate=0.2, n_jobs=1, random_state=0
        ),
    }


def least_time(function, n_calls):
    """Return milliseconds of the fastest call."""
    times = []
    for _ in range(n_calls):
        start = process_time()
        function()
        times.append(process_time() - start)
    return 1000 * min(times)


def size_of(model, compress):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.joblib"
        joblib.dump(model, path, compress=compress)
        return path.stat().st_size


def print_line(name, refit, n_stages, sizes, predict, X):
    one, many = (
        least_time(partial(predict, rows), n_calls)
        for rows, n_calls in ((X[:1], 200), (X, 10))
    )
    bytes_ = "".join(f"{size:11,}" for size in sizes)
    print(
        f"{name:<22}{refit:<8}{n_stages:>6}{bytes_:>22}{one:9.3f}{many:9.1f}",
        flush=True,
    )


def size():
    """Print bytes and milliseconds of each family, one model and the folds."""
    print(
        f"\n{N_ROWS:,} rows, 20 features, 3 classes; {os.cpu_count()} cores, ", end=""
    )
    print(f"load {os.getloadavg()[0]:.1f}")
    print(f"{'':<30}stages      bytes   zlib (3)   1 row   10,000 (ms)")
    X, y = make_classification(
        N_ROWS, n_informative=10, n_classes=3, flip_y=0.1, random_state=0
    )
    X = X.astype(np.float32)
    for name, booster in make_boosters(100).items():
        for refit in ("all", "folds"):
            search = StagedSearchCV(booster, refit=refit).fit(X[:N_TRAIN], y[:N_TRAIN])
            n_stages = search.best_iteration_ + 1
            sizes = [size_of(search, compress) for compress in (0, 3)]
            print_line(name, refit, n_stages, sizes, search.predict_proba, X)
            if refit == "all":
                model = convert(search.best_estimator_, X)
                predict = partial(predict_onnx, open_session(model))
                print_line(name, "ONNX", n_stages, [len(model)], predict, X)


def convert(model, X):
    """Return the model in the ONNX format, as bytes."""
    inputs = [("X", FloatTensorType([None, X.shape[1]]))]
    if isinstance(model, lgb.LGBMClassifier):
        converted = convert_lightgbm(model, initial_types=inputs, zipmap=False)
    elif isinstance(model, xgb.XGBClassifier):
        converted = convert_xgboost(model, initial_types=inputs)
    else:
        with warnings.catch_warnings():  # of protobuf, to the converter
            warnings.simplefilter("ignore", DeprecationWarning)
            converted = to_onnx(model, X[:1], options={"zipmap": False})
    return converted.SerializeToString()


def open_session(model):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options)


def predict_onnx(session, X):
    (y_proba,) = session.run(["probabilities"], {"X": X})
    return y_proba


def drift(n_splits=10):
    """Print log losses on new rows that differ from those of the training."""
    print("\nCancer, log loss on new rows; 100 others have labels")
    print(f"{'':<14}accuracy  shipped  factor  rescaled  retrained")
    X, y = load_breast_cancer(return_X_y=True)
    results = [results_after_drift(X, y, seed) for seed in range(n_splits)]
    for kind in results[0]:
        mean = np.mean([result[kind] for result in results], axis=0)
        accuracy, shipped, factor, rescaled, retrained = mean
        print(
            f"{kind:<14}{accuracy:8.3f}{shipped:9.3f}{factor:8.2f}{rescaled:10.3f}"
            f"{retrained:11.3f}",
            flush=True,
        )


def make_booster(seed):
    return lgb.LGBMClassifier(
        n_estimators=40,
        learning_rate=0.3,
        num_leaves=4,
        n_jobs=1,
        random_state=seed,
        verbose=-1,
    )


def results_after_drift(X, y, seed):
    X, X_new, y, y_new = train_test_split(X, y, test_size=0.5, random_state=seed)
    booster = make_booster(seed)
    search = StagedSearchCV(booster, n_iter_no_change=5).fit(X, y)
    rng = np.random.default_rng(seed)
    noise = X.std(axis=0) * rng.normal(size=X_new.shape)
    chosen = (y_new == 1) | (rng.random(len(y_new)) < 0.2)
    new = {
        "none": (X_new, y_new),
        "noise": (X_new + noise, y_new),
        "fewer tumours": (X_new[chosen], y_new[chosen]),
    }
    return {
        kind: judge(search, X, y, X_of_kind, y_of_kind)
        for kind, (X_of_kind, y_of_kind) in new.items()
    }


def judge(search, X, y, X_new, y_new, n_labelled=100):
    known, test = slice(None, n_labelled), slice(n_labelled, None)
    y_proba, labels = search.predict_proba(X_new), search.classes_
    factor = fit_temperature(y_new[known], y_proba[known], labels=labels)
    again = clone(search).fit(
        np.concatenate([X, X_new[known]]), np.concatenate([y, y_new[known]])
    )
    forecasts = (
        y_proba[test],
        scale_temperature(y_proba[test], factor),
        again.predict_proba(X_new[test]),
    )
    shipped, rescaled, retrained = (
        log_loss(y_new[test], forecast, labels=labels) for forecast in forecasts
    )
    accuracy = accuracy_score(y_new[test], labels[y_proba[test].argmax(axis=1)])
    return accuracy, shipped, factor, rescaled, retrained


def mean_cost(y_true, y_pred):
    return np.mean(np.where(y_true, 20 * ~y_pred, y_pred))


def thresholds(n_splits=10):
    """Print the cost of decisions and F1, by threshold and classifier."""
    booster = make_booster(0)
    classifiers = {
        "StagedSearchCV": StagedSearchCV(booster, n_iter_no_change=5),
        "GaussianNB": GaussianNB(),
        "calibrated NB": CalibratedClassifierCV(GaussianNB(), method="isotonic"),
    }
    cancer, digits = load_breast_cancer(), load_digits()
    data = {
        "digit 8": (digits.data, digits.target == 8),
        "cancer": (cancer.data, cancer.target == 0),
    }
    methods = {
        "0.5": lambda model: model,
        "costs": lambda model: BayesDecisionClassifier(model, COSTS),
        "tuned, cost": partial(
            TunedThresholdClassifierCV,
            scoring=make_scorer(mean_cost, greater_is_better=False),
        ),
        "tuned, F1": partial(TunedThresholdClassifierCV, scoring="f1"),
    }
    print("\nMean cost at 1:20 and F1; 'fewer' is the number of splits in which the")
    print("decisions cost less than with the threshold from the costs\n")
    print(f"{'data':<10}{'classifier':<16}{'threshold':<14}  cost     F1  fewer")
    for data_name, (X, y) in data.items():
        for name, classifier in classifiers.items():
            results = {
                method: np.array(
                    [score(make(classifier), X, y, seed) for seed in range(n_splits)]
                )
                for method, make in methods.items()
            }
            by_costs = results["costs"][:, 0]
            for method, values in results.items():
                cost, f1 = values.mean(axis=0)
                fewer = (values[:, 0] < by_costs).sum()
                print(
                    f"{data_name:<10}{name:<16}{method:<14}{cost:6.3f}{f1:7.3f}"
                    f"{fewer:7}",
                    flush=True,
                )


def score(model, X, y, seed):
    X, X_test, y, y_test = train_test_split(
        X, y, test_size=0.5, stratify=y, random_state=seed
    )
    y_pred = model.fit(X, y).predict(X_test)
    return mean_cost(y_test, y_pred), f1_score(y_test, y_pred)


PARTS = {"size": size, "drift": drift, "thresholds": thresholds}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    options = parser.parse_args()
    # Few stages are trained here, and the last one is often the best.
    warnings.simplefilter("ignore", ConvergenceWarning)
    with threadpool_limits(1):
        for part in options.only:
            PARTS[part]()


if __name__ == "__main__":
    main()
