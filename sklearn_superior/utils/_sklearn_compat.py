"""The private names of scikit-learn that this package uses, all of them, in one file.

`tests/utils/test_sklearn_compat.py` fails when one of them changes. What the older
versions of scikit-learn lack has its replacement here, too.
"""

import sys
from contextlib import contextmanager
from copy import copy
from functools import cache
from importlib import import_module
from itertools import count
from numbers import Integral
from types import FunctionType

import numpy as np
from sklearn import get_config
from sklearn.metrics._scorer import _SCORERS, _BaseScorer
from sklearn.utils import _safe_indexing
from sklearn.utils._array_api import (
    _convert_to_numpy,
    _is_numpy_namespace,
    _max_precision_float_dtype,
    get_namespace_and_device,
)
from sklearn.utils._param_validation import (
    Interval,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils.validation import _num_features, _num_samples

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # before 1.9 there are no callbacks

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands for that of scikit-learn."""

    def with_callbacks(method):
        """Return the method as it is."""
        return method


try:
    from sklearn.utils._array_api import move_to
except ImportError:  # before 1.8

    def move_to(array, *, xp, device):
        """Return an array of another library or device as one of `xp` on `device`."""
        own_xp, _, own_device = get_namespace_and_device(array)
        if own_xp == xp and own_device == device:
            return array
        array = _convert_to_numpy(array, own_xp)
        if array.dtype.kind == "f" and _max_precision_float_dtype(xp, device) != (
            xp.float64
        ):
            array = array.astype(np.float32)
        return array if _is_numpy_namespace(xp) else xp.asarray(array, device=device)


to_numpy = _convert_to_numpy
widest_float = _max_precision_float_dtype
take_rows = _safe_indexing
count_rows = _num_samples
count_features = _num_features

# Types that fitted models hold besides those that skops trusts itself. Most hold
# numbers only. Loading one runs no code of the file's choice: what a `partial` calls
# must be in this list as well, or be a ufunc.
MODEL_TYPES = {
    "functools.partial",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
    "sklearn.tree._tree.Tree",
    # Prepares categories for HistGradientBoosting.
    "sklearn.utils.validation.check_array",
}

__all__ = [
    "MODEL_TYPES",
    "CallbackSupportMixin",
    "Interval",
    "StrOptions",
    "ProbabilityScorer",
    "array_namespace",
    "begin_callbacks",
    "check_hist_trees",
    "check_parameters",
    "count_features",
    "count_rows",
    "cut_hist",
    "hist_hook_works",
    "hook_by_name",
    "integer_from",
    "make_hook",
    "move_to",
    "namespace_of",
    "prepare_hist_to_resume",
    "register_scorer_names",
    "scorer_parts",
    "take_rows",
    "to_numpy",
    "widest_float",
    "with_callbacks",
]


def array_namespace(array):
    """Namespace and device of `array` when dispatch is on and it is no NumPy array.

    Everything else (data frames, lists, anything while dispatch is off) belongs to
    NumPy, indicated by ``(numpy, None)``.
    """
    if get_config()["array_api_dispatch"]:
        try:
            xp, is_array_api, device = get_namespace_and_device(array)
        except (TypeError, AttributeError):  # a data frame, for example
            return np, None
        if is_array_api and not _is_numpy_namespace(xp):
            return xp, device
    return np, None


def namespace_of(array):
    """Namespace of an array of any library, whether dispatch is on or off."""
    # Not a plain import, because type checkers follow it into scikit-learn.
    compat = import_module("sklearn.externals.array_api_compat")
    return compat.array_namespace(array)


def register_scorer_names(scorers):
    """Make ``{name: scorer}`` known to scikit-learn's ``scoring`` parameters.

    Besides its table of scorers, scikit-learn has a copy of the names in the parameter
    constraints of every class and function that takes ``scoring``, made when its module
    was imported. Those of the modules that are imported are extended; a module that is
    imported later reads the table.
    """
    _SCORERS.update(scorers)
    for constraint in _scoring_constraints():
        constraint.options |= set(scorers)


def _scoring_constraints():
    """Yield the constraints of all imported modules that list names of scorers."""
    for module in list(sys.modules.values()):
        for value in list(getattr(module, "__dict__", {}).values()):
            if not issubclass(type(value), type | FunctionType):
                continue
            for name in ("_parameter_constraints", "_skl_parameter_constraints"):
                constraints = vars(value).get(name)
                if isinstance(constraints, dict):
                    for allowed in constraints.values():
                        yield from filter(_lists_scorers, allowed)


def _lists_scorers(constraint):
    """Tell whether a constraint is a set of names of scorers."""
    return type(constraint) is StrOptions and "neg_brier_score" in constraint.options


def check_parameters(caller, constraints, values):
    """Check values as scikit-learn checks the parameters of its estimators.

    Parameters
    ----------
    caller : str
        The name of the class or function, for the message.

    constraints : dict
        What is allowed, as in the `_parameter_constraints` of an estimator.

    values : dict
        The values by the names of the parameters; others are not looked at.
    """
    values = {name: values[name] for name in constraints}
    validate_parameter_constraints(constraints, values, caller)


class _Integers(Interval):
    """Integers, of which Python's booleans are none."""

    def is_satisfied_by(self, val):
        return not isinstance(val, bool) and super().is_satisfied_by(val)


def integer_from(least):
    """Return the constraint of an int from `least` up."""
    return _Integers(Integral, least, None, closed="left")


def begin_callbacks(estimator, max_subtasks):
    """Return the context of the callbacks of an estimator; None if it has none."""
    if not getattr(estimator, "_skl_callbacks", None):
        return None
    return estimator._init_callback_context(max_subtasks=max_subtasks)


class ProbabilityScorer(_BaseScorer):
    """A scorer of scikit-learn; what it does is in the `evaluate` of a subclass.

    Its predictions are shared with other scorers of a multi-metric evaluation.
    """

    @property
    def score_function(self):
        """The loss that it evaluates."""
        return self._score_func

    @property
    def options(self):
        """The options of the loss."""
        return dict(self._kwargs)

    def _score(self, method_caller, estimator, X, y_true, **kwargs):
        def predict_proba():
            # For two classes this is one column, that of `classes_[-1]`.
            return method_caller(estimator, "predict_proba", X, pos_label=None)

        options = {**self._kwargs, **kwargs}
        return self._sign * self.evaluate(estimator, X, y_true, predict_proba, options)


def scorer_parts(scorer):
    """Return all that a scorer of scikit-learn is made of; None if it is not one."""
    if not isinstance(scorer, _BaseScorer):
        return None
    return scorer._score_func, scorer._sign, scorer._kwargs, scorer._response_method


# ------------------------------------------------ HistGradientBoostingClassifier
#
# It has no callback for its iterations, but it calls its scorer after each of them. A
# scorer that it knows by name gets predictions that are updated by each iteration; any
# other scorer predicts with all trees again. So a temporary scorer is registered while
# a model is fitted. `hist_hook_works` checks all this on a small example first.

_hook_numbers = count()


def make_hook(on_stage, n_done=0):
    """Return a scorer that calls `on_stage` with the probabilities of each iteration.

    It is called on training data, then on validation data, and the first time before
    there is any tree. A score that does not grow stops a patience of 1.
    """
    calls = count(2 if n_done else 0)

    def hook(estimator, X, y, sample_weight=None):
        call = next(calls)
        if call % 2 == 0:
            return 0.0
        if call == 1:
            return -1.0
        stop = on_stage(estimator.predict_proba(X))
        return -np.inf if stop else float(call)

    return hook


@contextmanager
def hook_by_name(hook):
    """Give the name under which `scoring` finds the hook, in this context."""
    name = f"_sklearn_superior_hook_{next(_hook_numbers)}"
    _SCORERS[name] = hook
    try:
        yield name
    finally:
        del _SCORERS[name]


def prepare_hist_to_resume(model, hook):
    """Make a model with iterations, and warm_start=True, call the hook."""
    model._scorer = hook
    model.train_score_ = model.validation_score_ = np.array([-1.0])


def cut_hist(model, n_kept):
    """Copy a model, also one that is being fitted, with its first iterations only."""
    model = copy(model)
    for name in ("_raw_predict", "_in_fit"):  # there while it is fitted
        vars(model).pop(name, None)
    model._scorer = None
    model._predictors = model._predictors[:n_kept]
    model.train_score_ = model.validation_score_ = np.array([])
    model.do_early_stopping_ = False
    return model


def check_hist_trees(model):
    """Check that nodes of a restored model point at nodes and features that exist."""
    n_features, n_classes = model.n_features_in_, len(model.classes_)
    n_trees = 1 if n_classes == 2 else n_classes
    if len(model._bin_mapper.n_bins_non_missing_) != n_features:
        raise ValueError("The checkpoint's model has bins of other features.")
    for trees in model._predictors:
        if len(trees) != n_trees:
            raise ValueError("The checkpoint's model lacks a tree of some class.")
        for tree in trees:
            inner = ~tree.nodes["is_leaf"].astype(bool)
            nodes = tree.nodes[inner]
            children = np.r_[nodes["left"], nodes["right"]].astype(np.int64)
            parents = np.tile(np.flatnonzero(inner), 2)
            by_category = nodes[nodes["is_categorical"].astype(bool)]
            sets = len(tree.raw_left_cat_bitsets), len(tree.binned_left_cat_bitsets)
            if not (
                np.all((children > parents) & (children < len(tree.nodes)))
                and np.all(nodes["feature_idx"] >= 0)
                and np.all(nodes["feature_idx"] < n_features)
                and np.all(by_category["bitset_idx"] < min(sets))
            ):
                raise ValueError("The checkpoint's model is no tree of these features.")


@cache
def hist_hook_works(hist_class):
    """Try on a few rows whether a model can be hooked, cut, and resumed."""
    X = np.linspace(0, 1, 40).reshape(-1, 1)
    y = np.arange(40) // 4 % 2
    common = {"max_iter": 3, "max_leaf_nodes": 4, "min_samples_leaf": 1}
    hooked = {"early_stopping": True, "n_iter_no_change": 1, "tol": 0.0}

    def fit(first=None):
        seen, on_the_way = [], []

        def on_stage(y_proba):
            seen.append(y_proba.copy())
            on_the_way.append(cut_hist(model, model.n_iter_))

        hook = make_hook(on_stage, 0 if first is None else first.n_iter_)
        with hook_by_name(hook) as name:
            model = hist_class(
                scoring=name, warm_start=first is not None, **common, **hooked
            )
            if first is not None:
                params = model.get_params()
                fitted = {k: v for k, v in vars(first).items() if k not in params}
                vars(model).update(fitted)
                prepare_hist_to_resume(model, hook)
            model.fit(X, y, X_val=X, y_val=np.zeros_like(y))
        return model, seen, on_the_way

    try:
        plain = hist_class(early_stopping=False, **common).fit(X, y)
        expected = np.array(list(plain.staged_predict_proba(X)))
        model, seen, on_the_way = fit()
        cuts = [cut_hist(model, k + 1) for k in range(3)]
        predictions = [
            seen,
            [cut.predict_proba(X) for cut in cuts],
            [cut.predict_proba(X) for cut in on_the_way],
        ]
        resumed, seen, _ = fit(cuts[1])
        predictions += [
            [*expected[:2], *seen],
            [*expected[:2], resumed.predict_proba(X)],
        ]
        return bool(np.allclose(predictions, expected, rtol=1e-12))
    except Exception:
        return False
