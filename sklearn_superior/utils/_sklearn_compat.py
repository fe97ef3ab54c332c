"""The private scikit-learn names that this package uses.

They are used only in this file and in `staged/adapters/hist_hook.py`.
`tests/utils/test_sklearn_compat.py` fails when one of them changes. Replacements for
what older versions of scikit-learn lack are here, too.
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
        """Stands in for the scikit-learn 1.9 class."""

    def with_callbacks(method):
        """Return the method unchanged."""
        return method


try:
    from sklearn.utils._array_api import move_to
except ImportError:  # before 1.8

    def move_to(array, *, xp, device):
        """Convert an array of another library or device to `xp` on `device`."""
        own_xp, _, own_device = get_namespace_and_device(array)
        if own_xp == xp and own_device == device:
            return array
        array = to_numpy(array, own_xp)
        if array.dtype.kind == "f" and widest_float(xp, device) != xp.float64:
            array = array.astype(np.float32)
        return array if _is_numpy_namespace(xp) else xp.asarray(array, device=device)


# Types in fitted models that skops does not trust by default. Most hold only numbers.
# Loading them runs no code chosen by the file: what a `partial` calls must be in this
# list as well, or be a ufunc.
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
    """Return the namespace and device of an array if dispatch is on.

    They are ``(numpy, None)`` for everything that NumPy reads: its own arrays, data
    frames, lists, and any array while dispatch is off.
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
    """Return the namespace of an array, whether dispatch is on or off."""
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
    """Return the configuration of an estimator's `set_output`; empty if unset."""
    return dict(getattr(estimator, "_sklearn_output_config", {}))


def register_scorer_names(scorers):
    """Register ``{name: scorer}`` for scikit-learn's ``scoring`` parameters.

    Besides its table of scorers, scikit-learn copies the names into the parameter
    constraints of every class and function with a ``scoring`` parameter when their
    module is imported. The constraints of imported modules are extended here; modules
    imported later read the table.
    """
    _SCORERS.update(scorers)
    for constraint in _scoring_constraints():
        constraint.options |= set(scorers)


def _scoring_constraints():
    """Yield all constraints in imported modules that list names of scorers."""
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
    """Return whether a constraint is a set of scorer names."""
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
        The values by the names of the parameters; others are ignored.

    Returns
    -------
    values : dict
        The checked values. NumPy numbers are converted to Python numbers, which do not
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
    """Return the constraint for an int of at least `least`."""
    return _Integers(Integral, least, None, closed="left")


# Callbacks


def begin_callbacks(estimator, max_subtasks):
    """Return the callback context of an estimator; None if it has no callbacks."""
    if not getattr(estimator, "_skl_callbacks", None):
        return None
    return estimator._init_callback_context(max_subtasks=max_subtasks)
