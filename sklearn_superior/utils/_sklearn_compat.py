"""The private names of scikit-learn that this package uses.

They are in this file and in `staged/adapters/hist_hook.py`, nowhere else.
`tests/utils/test_sklearn_compat.py` fails when one of them changes. What the older
versions of scikit-learn lack has its replacement here, too.
"""

import sys
from importlib import import_module
from numbers import Integral
from types import FunctionType

import numpy as np
from sklearn import get_config
from sklearn.metrics._scorer import _SCORERS, _BaseScorer
from sklearn.utils import _safe_indexing as take_rows
from sklearn.utils._array_api import _convert_to_numpy as to_numpy
from sklearn.utils._array_api import _is_numpy_namespace, get_namespace_and_device
from sklearn.utils._array_api import _max_precision_float_dtype as widest_float
from sklearn.utils._param_validation import (
    Interval,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils.validation import _num_samples as count_rows

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # before 1.9 there are no callbacks

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Takes the place of the class of scikit-learn 1.9."""

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
        array = to_numpy(array, own_xp)
        if array.dtype.kind == "f" and widest_float(xp, device) != xp.float64:
            array = array.astype(np.float32)
        return array if _is_numpy_namespace(xp) else xp.asarray(array, device=device)


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
    "ClassifierScorer",
    "Interval",
    "StrOptions",
    "ProbabilityScorer",
    "array_namespace",
    "begin_callbacks",
    "check_parameters",
    "count_rows",
    "integer_from",
    "move_to",
    "namespace_of",
    "output_config",
    "register_scorer_names",
    "scorer_parts",
    "take_rows",
    "to_numpy",
    "widest_float",
    "with_callbacks",
]


# Arrays of any library


def array_namespace(array):
    """Namespace and device of `array` when dispatch is on and it is no NumPy array.

    Everything else (data frames, lists, anything while dispatch is off) belongs to
    NumPy, indicated by ``(numpy, None)``.
    """
    if type(array) is not np.ndarray and get_config()["array_api_dispatch"]:
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


# Scorers


class ClassifierScorer(_BaseScorer):
    """A scikit-learn scorer; what it does is in the `evaluate` of a subclass.

    Its predictions are shared with the other scorers of a multi-metric evaluation.
    """

    @property
    def score_function(self):
        """The loss or score that it evaluates."""
        return self._score_func

    @property
    def sign(self):
        """1 if the function is a score, -1 if it is a loss."""
        return self._sign

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


class ProbabilityScorer(ClassifierScorer):
    """A scorer of our rules, several of which share one pass over the predictions."""


def scorer_parts(scorer):
    """Return function, sign, options and response method of a scorer, else None."""
    if not isinstance(scorer, _BaseScorer):
        return None
    return scorer._score_func, scorer._sign, scorer._kwargs, scorer._response_method


def output_config(estimator):
    """Return what `set_output` has set on an estimator; empty if it has nothing."""
    return dict(getattr(estimator, "_sklearn_output_config", {}))


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


# Parameters


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

    Returns
    -------
    values : dict
        The values that were checked, NumPy's numbers as those of Python: these do not
        overflow.
    """
    values = {name: values[name] for name in constraints}
    validate_parameter_constraints(constraints, values, caller)
    return {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in values.items()
    }


class _Integers(Interval):
    """Integers, but not Python's booleans."""

    def is_satisfied_by(self, val):
        return not isinstance(val, bool) and super().is_satisfied_by(val)


def integer_from(least):
    """Return the constraint of an int from `least` up."""
    return _Integers(Integral, least, None, closed="left")


# Callbacks


def begin_callbacks(estimator, max_subtasks):
    """Return the context of the callbacks of an estimator; None if it has none."""
    if not getattr(estimator, "_skl_callbacks", None):
        return None
    return estimator._init_callback_context(max_subtasks=max_subtasks)
