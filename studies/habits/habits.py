"""What people do today, and what this package does: each run as a user runs it."""

import numpy as np
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss

from sklearn_superior.early_stopping import EarlyStoppingClassifier
from sklearn_superior.model_selection import StagedSearchCV


def stop_early(estimator, X, y, groups, *, split, **options):
    """Fit EarlyStoppingClassifier."""
    options = {k: v for k, v in options.items() if k != "validation_fraction"}
    model = EarlyStoppingClassifier(estimator, validation_split=split, **options)
    return model.fit(X, y, groups=groups)


def search(estimator, X, y, groups, **options):
    """Fit StagedSearchCV."""
    return StagedSearchCV(estimator, **options).fit(X, y, groups=groups)


def fit(estimator, X, y):
    """Fit a model with its whole budget."""
    return clone(estimator).fit(X, y)


def calibrate(estimator, X, y, folds):
    """Fit scikit-learn's CalibratedClassifierCV with temperatures."""
    model = CalibratedClassifierCV(clone(estimator), method="temperature", cv=folds)
    return model.fit(X, y)


def stop_by_library(estimator, X, y, rows, patience):
    """Fit a booster with its own early stopping by the log loss on a hold-out."""
    (train, val), model = rows, clone(estimator)
    X_train, X_val = _take(X, train), _take(X, val)
    if isinstance(model, HistGradientBoostingClassifier):
        model.set_params(early_stopping=True, n_iter_no_change=patience)
        return model.fit(X_train, y[train], X_val=X_val, y_val=y[val])
    import lightgbm

    return model.fit(
        X_train,
        y[train],
        eval_set=[(X_val, y[val])],
        callbacks=[lightgbm.early_stopping(patience, verbose=False)],
    )


def search_by_library(estimator, X, y, folds, patience, categories=()):
    """Find the best round by the mean log loss of the folds; train on all rows."""
    if isinstance(estimator, HistGradientBoostingClassifier):
        options = {"scoring": "neg_log_loss", "calibration": None, "cv": folds}
        options["n_iter_no_change"] = patience
        return StagedSearchCV(estimator, **options).fit(X, y)
    stage, _ = run_lgb_cv(
        estimator, X, y, folds, patience=patience, categories=categories
    )
    return clone(estimator).set_params(n_estimators=stage + 1).fit(X, y)


def run_lgb_cv(estimator, X, y, folds, *, patience, categories=()):
    """Return the best stage by lgb.cv, counted from 0, and the number of stages."""
    import lightgbm

    classes, codes = np.unique(y, return_inverse=True)
    params = {k: v for k, v in estimator.get_params().items() if v is not None}
    n_rounds = params.pop("n_estimators")
    for name in ("importance_type", "class_weight"):  # not of the native interface
        params.pop(name, None)
    params |= {"objective": "binary", "metric": "binary_logloss"}
    if len(classes) > 2:
        params |= {"objective": "multiclass", "metric": "multi_logloss"}
        params["num_class"] = len(classes)
    history = lightgbm.cv(
        params,
        lightgbm.Dataset(X, codes, params={"verbosity": -1}),
        num_boost_round=n_rounds,
        folds=folds,
        callbacks=[lightgbm.early_stopping(patience, verbose=False)],
    )
    (means,) = (values for name, values in history.items() if name.endswith("-mean"))
    # The history is cut behind the best round.
    return len(means) - 1, min(len(means) + patience, n_rounds)


def loss_before(y_train, y_val):
    """Return the log loss of the class frequencies, with which boosting begins."""
    classes, counts = np.unique(y_train, return_counts=True)
    y_proba = np.tile(counts / counts.sum(), (len(y_val), 1))
    return log_loss(y_val, y_proba, labels=classes)


def describe_model(model, max_iter):
    """Return the stage that a fitted model kept, the stages seen, its temperature."""
    if hasattr(model, "best_iteration_") and hasattr(model, "temperature_"):
        return model.best_iteration_, model.n_iter_, model.temperature_
    if hasattr(model, "calibrated_classifiers_"):
        return max_iter - 1, max_iter, 1.0
    best = getattr(model, "best_iteration_", None)  # of LightGBM, counted from 1
    n_stages = best or getattr(model, "n_iter_", None) or model.n_estimators_
    return int(n_stages) - 1, int(n_stages), 1.0


def _take(X, rows):
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]
