"""The private names of scikit-learn that this package uses, all of them, in one file.

`tests/utils/test_sklearn_compat.py` fails when one of them changes.
"""

import gc
from copy import copy
from importlib import import_module
from itertools import count

import numpy as np
from sklearn import get_config
from sklearn.metrics._scorer import _SCORERS, _BaseScorer
from sklearn.utils import _safe_indexing
from sklearn.utils._array_api import (
    _convert_to_numpy,
    _is_numpy_namespace,
    _max_precision_float_dtype,
    get_namespace_and_device,
    move_to,
)
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import _num_samples

BaseScorer = _BaseScorer
to_numpy = _convert_to_numpy
widest_float = _max_precision_float_dtype
take_rows = _safe_indexing
count_rows = _num_samples

__all__ = [
    "BaseScorer",
    "array_namespace",
    "copy_unfinished_hist",
    "fit_with_validation_hook",
    "keep_hist_iterations",
    "move_to",
    "count_rows",
    "register_scorer_names",
    "take_rows",
    "to_numpy",
    "torch_namespace",
    "widest_float",
]


def array_namespace(array):
    """Namespace and device of `array` when dispatch is on and it is no NumPy array.

    Everything else (data frames, lists, anything while dispatch is off) belongs to
    NumPy, which is told by ``(numpy, None)``.
    """
    if get_config()["array_api_dispatch"]:
        try:
            xp, is_array_api, device = get_namespace_and_device(array)
        except (TypeError, AttributeError):  # a data frame, for example
            return np, None
        if is_array_api and not _is_numpy_namespace(xp):
            return xp, device
    return np, None


def torch_namespace():
    """Namespace of torch as `array_namespace` gives it, dispatch on or off."""
    return import_module("sklearn.externals.array_api_compat.torch")


def register_scorer_names(scorers):
    """Make ``{name: scorer}`` known to scikit-learn's ``scoring`` parameters.

    Besides its table of scorers, scikit-learn keeps a copy of the names in the
    parameter constraints of every class and function that takes ``scoring``,
    made when its module was imported. The copies that exist are extended;
    those made later will read the table.
    """
    _SCORERS.update(scorers)
    for candidate in gc.get_objects():
        if type(candidate) is StrOptions and "neg_brier_score" in candidate.options:
            candidate.options |= set(scorers)


_fit_numbers = count()


def fit_with_validation_hook(model, X, y, X_val, on_stage, sample_weight=None):
    """Fit a HistGradientBoostingClassifier; call ``on_stage`` after each iteration.

    Scorers that are known by name get predictions that grow with each iteration,
    where any other scorer predicts all trees again. So the hook poses as a scorer
    with a name of its own while the model is fitted. It is called on training data,
    then on validation data, and the first time before there is any tree. A model that
    already has trees goes on after these.
    """
    name = f"_sklearn_superior_hook_{next(_fit_numbers)}"
    is_new = not model._is_fitted()
    calls = count(0 if is_new else 2)

    def hook(estimator, X, y, sample_weight=None):
        call = next(calls)
        if call % 2 == 0:
            return 0.0
        if call == 1:
            return -1.0
        stop = on_stage(estimator.predict_proba(X))
        # Scores that grow go on; with a patience of 1, one that does not, stops.
        return -np.inf if stop else float(call)

    params = {
        "early_stopping": True,
        "scoring": name,
        "n_iter_no_change": 1,
        "tol": 0.0,
        "warm_start": not is_new,
    }
    before = {key: getattr(model, key) for key in params}
    model.set_params(**params)
    _SCORERS[name] = hook
    if not is_new:
        model._scorer = hook
        model.train_score_ = model.validation_score_ = np.array([-1.0])
    try:
        y_val = np.full(_num_samples(X_val), np.asarray(y)[0])
        model.fit(X, y, sample_weight=sample_weight, X_val=X_val, y_val=y_val)
    finally:
        del _SCORERS[name]
        model.set_params(**before)
    model._scorer = None
    model.train_score_ = model.validation_score_ = np.array([])


def copy_unfinished_hist(model):
    """Copy a HistGradientBoostingClassifier while it is fitted, for a checkpoint."""
    unfinished = copy(model)
    for name in ("_scorer", "_raw_predict", "_in_fit"):
        vars(unfinished).pop(name, None)
    unfinished.train_score_ = unfinished.validation_score_ = np.array([])
    unfinished.scoring = "loss"
    return unfinished


def keep_hist_iterations(model, n_kept):
    """Cut a HistGradientBoostingClassifier back to its first iterations."""
    model._predictors = model._predictors[:n_kept]
