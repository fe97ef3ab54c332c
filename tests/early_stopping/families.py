"""Estimators of every family and data sets that try them."""

import warnings
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
)
from sklearn.linear_model import SGDClassifier
from sklearn.neural_network import MLPClassifier

from sklearn_superior.early_stopping import EarlyStoppingClassifier
from sklearn_superior.neural_network import CNNClassifier
from sklearn_superior.staged.adapters import find_stages

try:  # whether a training with random sampling can resume
    XGBOOST_KEEPS_STATE = tuple(map(int, version("xgboost").split(".")[:2])) >= (3, 3)
except PackageNotFoundError:
    XGBOOST_KEEPS_STATE = False


def plain_stopping(estimator, **options):
    """Early stopping by PBS; the probabilities are those of the library."""
    plain = {"scoring": "neg_penalized_brier_score", "calibration": None}
    return EarlyStoppingClassifier(estimator, **plain | options)


def _xgboost():
    xgboost = pytest.importorskip("xgboost")
    return xgboost.XGBClassifier(
        n_estimators=40, max_depth=3, learning_rate=0.5, subsample=0.7, n_jobs=1
    )


def _lightgbm():
    lightgbm = pytest.importorskip("lightgbm")
    return lightgbm.LGBMClassifier(
        n_estimators=40,
        num_leaves=6,
        learning_rate=0.4,
        verbose=-1,
        n_jobs=1,
        deterministic=True,
    )


def _catboost():
    catboost = pytest.importorskip("catboost")
    return catboost.CatBoostClassifier(
        iterations=40,
        depth=3,
        learning_rate=0.5,
        verbose=0,
        random_seed=0,
        allow_writing_files=False,
        thread_count=1,
    )


def _cnn():
    pytest.importorskip("torch")
    return CNNClassifier(
        channels=(8, 4), hidden=16, max_iter=40, learning_rate=0.01, random_state=0
    )


FAMILIES = {
    "GradientBoosting": lambda: GradientBoostingClassifier(
        n_estimators=40, learning_rate=0.5, subsample=0.7, random_state=0
    ),
    "HistGradientBoosting": lambda: HistGradientBoostingClassifier(
        max_iter=40, learning_rate=0.5, max_leaf_nodes=6, random_state=0
    ),
    "AdaBoost": lambda: AdaBoostClassifier(n_estimators=40, random_state=0),
    "XGBoost": _xgboost,
    "LightGBM": _lightgbm,
    "CatBoost": _catboost,
    "MLP": lambda: MLPClassifier(
        (8,), max_iter=40, learning_rate_init=0.05, random_state=0
    ),
    "SGD": lambda: SGDClassifier(loss="log_loss", max_iter=40, random_state=0),
    "CNN": _cnn,
}
ADAPTERS = {
    "GradientBoosting": "GradientBoostingStages",
    "HistGradientBoosting": "HistGradientBoostingStages",
    "AdaBoost": "AdaBoostStages",
    "XGBoost": "XGBoostStages",
    "LightGBM": "LightGBMStages",
    "CatBoost": "CatBoostStages",
    "MLP": "PartialFitStages",
    "SGD": "PartialFitStages",
    "CNN": "CNNStages",
}


def with_stages(estimator, n_stages):
    """Set the number of stages, whatever the library calls it."""
    return estimator.set_params(**{find_stages(estimator).budget_name(): n_stages})


def count_stages(name, model, n_rows):
    """Return the number of stages that a fitted estimator has."""
    return {
        "GradientBoosting": lambda: len(model.estimators_),
        "HistGradientBoosting": lambda: model.n_iter_,
        "AdaBoost": lambda: len(model.estimators_),
        "XGBoost": lambda: model.get_booster().num_boosted_rounds(),
        "LightGBM": lambda: model.booster_.current_iteration(),
        "CatBoost": lambda: model.tree_count_,
        "MLP": lambda: model.t_ // n_rows,
        "SGD": lambda: int(model.t_) // n_rows,
    }[name]()


NETWORKS = ("MLP", "SGD", "CNN")  # stages are calls of partial_fit
ENSEMBLES = [name for name in FAMILIES if name not in NETWORKS]


# Those whose training can resume; "Categorical" has features that are categories, and
# "Averaged" is a residual network whose weights are averaged.
RESUMABLE = [
    "GradientBoosting",
    "HistGradientBoosting",
    "Categorical",
    "XGBoost",
    "LightGBM",
    "MLP",
    "SGD",
    "CNN",
    "Averaged",
]


def installed():
    """Return those of them whose library is there."""
    has_torch = find_spec("torch") is not None
    return [n for n in RESUMABLE if n not in ("CNN", "Averaged") or has_torch]


def resumable(name):
    """Return an estimator whose training can resume."""
    if name == "Categorical":
        return HistGradientBoostingClassifier(
            max_iter=40,
            learning_rate=0.5,
            max_leaf_nodes=6,
            max_features=0.7,
            categorical_features=[0, 5],
            random_state=0,
        )
    if name == "Averaged":
        return _cnn().set_params(module="residual", ema=0.9)
    model = FAMILIES[name]()
    if name == "XGBoost" and not XGBOOST_KEEPS_STATE:
        model.set_params(subsample=1.0)
    return model


def resumable_data(name, kind="five"):
    """Return X, y, X_val, y_val for a family of `RESUMABLE`."""
    X, y, X_val, y_val = make_data(kind)
    if name == "Categorical":
        for part in (X, X_val):
            part[:, [0, 5]] = np.clip(np.round(2 * part[:, [0, 5]]), -5, 5) + 5
    return X, y, X_val, y_val


def make_data(kind):
    """Return X, y, X_val, y_val: noisy enough that training overfits."""
    n_classes = {"binary": 2, "five": 5, "missing": 4}[kind]
    X, y = make_classification(
        500,
        n_features=12,
        n_informative=6,
        n_classes=n_classes,
        weights=[0.7, 0.1, 0.1, 0.1] if kind == "missing" else None,
        flip_y=0.2,
        class_sep=0.7,
        random_state=1,
    )
    if kind == "five":
        y = np.array(["red", "blue", "green", "black", "white"])[y]
    X, X_val, y, y_val = X[:300], X[300:], y[:300], y[300:]
    if kind == "missing":  # class 1 is in the validation part and in y, not in training
        y = np.where(y == 1, 0, y)
    return X, y, X_val, y_val


def fit_stopping(estimator, kind="five", **options):
    """Fit early stopping by PBS with the validation data of `make_data`."""
    X, y, X_val, y_val = make_data(kind)
    model = plain_stopping(estimator, **{"n_iter_no_change": 8} | options)
    return model.fit(X, y, X_val=X_val, y_val=y_val)


def reference_stages(name, X, y, X_val):
    """Probabilities of every stage of a model that is trained to the end."""
    model = FAMILIES[name]()
    classes, codes = np.unique(y, return_inverse=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name in NETWORKS:
            stages = []
            for _ in range(40):
                model.partial_fit(X, y, classes=classes)
                stages.append(model.predict_proba(X_val))
            return classes, stages
        model.fit(X, codes)
        if name == "XGBoost":
            stages = [
                model.predict_proba(X_val, iteration_range=(0, k + 1))
                for k in range(40)
            ]
        elif name == "LightGBM":
            stages = [
                model.predict_proba(X_val, num_iteration=k + 1) for k in range(40)
            ]
        else:
            stages = list(model.staged_predict_proba(X_val))
    return classes, stages


def expected_curve(name, kind, loss):
    """Scores of every stage of a model that is trained to the end, and the stages."""
    X, y, X_val, y_val = make_data(kind)
    own, stages = reference_stages(name, X, y, X_val)
    all_classes = np.union1d(own, y_val)
    full = []
    for proba in stages:
        columns = np.zeros((len(proba), len(all_classes)), dtype=proba.dtype)
        columns[:, np.searchsorted(all_classes, own)] = proba
        full.append(columns)
    return -np.array([loss(y_val, p, labels=all_classes) for p in full]), stages
