"""Validation of labels, weights, groups and parameter names for all estimators.

`sklearn_superior.metrics` has its own checks: its labels may also be a one-hot matrix
or an array of another library.
"""

from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np
from sklearn.utils import assert_all_finite, check_consistent_length
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from sklearn_superior.utils._arrays import read_array, read_numbers
from sklearn_superior.utils._sklearn_compat import take_rows


@dataclass
class Rows:
    """Data with labels and optional weights."""

    X: Any
    y: np.ndarray
    sample_weight: np.ndarray | None = None

    def take(self, rows):
        """Return some of the rows."""
        weight = None if self.sample_weight is None else self.sample_weight[rows]
        return Rows(take_rows(self.X, rows), self.y[rows], weight)


def check_column(values, name):
    """Return a 1-D array after checking that it has one type and no missing values."""
    if values.dtype.kind == "O":
        _check_objects(values, name)
    if values.dtype.kind in "mM" and np.isnat(values).any():
        raise ValueError(f"{name} must not contain missing values. Got NaT.")
    assert_all_finite(values, input_name=name)
    return values


def _check_objects(values, name):
    try:
        distinct = set(values.tolist())
    except TypeError as exc:
        raise ValueError(f"{name} must hold numbers or strings: {exc}.") from exc
    for value in distinct:
        if is_missing(value):
            raise ValueError(f"{name} must not contain missing values. Got {value!r}.")
    try:
        sorted(distinct)
    except TypeError as exc:
        types = sorted({type(value).__name__ for value in distinct})
        raise ValueError(
            f"{name} must hold values of one type. Got values of {' and '.join(types)}."
        ) from exc


def is_missing(value):
    """Return whether a value is None, NaN, or the missing value of pandas."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA is neither equal nor unequal to itself
        return True


def check_labels(y, name="y"):
    """Return labels as a 1-D array, or raise an informative error."""
    if y is None:
        raise ValueError(
            f"fit requires {name} to be passed, but the target {name} is None."
        )
    y = check_column(column_or_1d(read_array(y, name), warn=True), name)
    check_classification_targets(y)
    return y


def check_weights(sample_weight, y, name="sample_weight"):
    """Return weights as an array of floats, or raise an informative error."""
    if sample_weight is None:
        return None
    weight = read_numbers(sample_weight, name).astype(np.float64)
    if weight.ndim != 1:
        raise ValueError(f"{name} must be 1-dimensional. Got shape {weight.shape}.")
    check_consistent_length(y, weight)
    if not (np.all(np.isfinite(weight)) and weight.min() >= 0):
        raise ValueError(f"{name} must be non-negative, without NaN or infinity.")
    if not np.any(weight):
        raise ValueError(f"{name} must not be zero for all samples.")
    return weight


def with_mean_one(weight):
    """Scale weights to a mean of 1 over the positive ones; return None as it is.

    Scores and temperatures use such weights: the prior of a temperature is weighed
    against their sum, so that their scale must not matter.
    """
    if weight is None or not np.max(weight, initial=0) > 0:
        return weight
    weight = weight / weight.max()  # first, because a sum may overflow
    return weight / weight[weight > 0].mean()


def check_groups(groups, X):
    """Return groups as a 1-D array with a value for each row of `X`, or None."""
    if groups is None:
        return None
    groups = read_array(groups, "groups")
    if groups.ndim != 1:
        raise ValueError(f"groups must be 1-dimensional. Got shape {groups.shape}.")
    check_consistent_length(X, groups)
    return check_column(groups, "groups")


def check_target(y, sample_weight=None, n_least=2):
    """Return checked labels and weights, and the classes."""
    y = check_labels(y)
    weight = check_weights(sample_weight, y)
    classes = np.unique(y)
    present = classes if weight is None else np.unique(y[weight > 0])
    if len(present) < n_least:
        raise ValueError(
            f"y must have at least {n_least} classes with positive weight. "
            f"Got {len(present)} class: {present.tolist()}."
        )
    return y, weight, classes


# What other libraries call `n_iter_no_change`.
PATIENCE = dict.fromkeys(("patience", "early_stopping_rounds"), "use n_iter_no_change=")


def says_instead(**hints):
    """Decorate a function or an `__init__` with hints for names from other libraries.

    Parameters
    ----------
    **hints : str
        Maps each name to what to use instead.
    """

    def decorate(function):
        owner = function.__qualname__.removesuffix(".__init__")

        @wraps(function)
        def wrapper(*args, **options):
            for name in hints.keys() & options.keys():
                raise TypeError(f"{owner} has no {name!r}: {hints[name]}.")
            return function(*args, **options)

        return wrapper

    return decorate
