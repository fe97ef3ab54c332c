"""The private names of scikit-learn that this package uses, all of them, in one file.

`tests/utils/test_sklearn_compat.py` fails when one of them changes.
"""

import gc

import numpy as np
from sklearn import get_config
from sklearn.metrics._scorer import _SCORERS, _BaseScorer
from sklearn.utils._array_api import (
    _convert_to_numpy,
    _is_numpy_namespace,
    _max_precision_float_dtype,
    get_namespace_and_device,
    move_to,
)
from sklearn.utils._param_validation import StrOptions

BaseScorer = _BaseScorer
to_numpy = _convert_to_numpy
widest_float = _max_precision_float_dtype

__all__ = [
    "BaseScorer",
    "array_namespace",
    "move_to",
    "register_scorer_names",
    "to_numpy",
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
