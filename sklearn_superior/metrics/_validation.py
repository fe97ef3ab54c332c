"""The one place that checks labels, probabilities and weights.

What can be told from types and shapes is checked at once. What takes a look at
every value is checked block by block while the loss is computed, so that the
data is read only once; see `check_values`.
"""

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import issparse

from sklearn_superior.metrics._labels import (
    DeviceTargets,
    HostTargets,
    shown,
    unique_labels,
)
from sklearn_superior.utils._sklearn_compat import (
    array_namespace,
    move_to,
    to_numpy,
    widest_float,
)
from sklearn_superior.utils._warnings import warn


@dataclass
class Forecast:
    """Inputs that fit together, to be read in blocks of rows."""

    xp: Any
    device: Any
    proba: Any  # (n_samples, n_classes), or (n_samples,) of the class `positive`
    targets: Any  # read(start, stop) -> (index of the true class, count of bad rows)
    classes: np.ndarray
    positive: int
    sample_weight: Any  # (n_samples,) or None
    eps: float  # the least that a probability counts
    tolerance: float  # by which rows may miss a sum of 1
    dtype: Any  # to compute in: float64 wherever the device has it
    n_samples: int = 0
    n_classes: int = 0  # whether or not each of them occurs

    def __post_init__(self):
        self.n_samples, self.n_classes = self.proba.shape[0], len(self.classes)


def check_forecast(y_true, y_proba, *, sample_weight=None, labels=None, pos_label=None):
    """Check that the inputs fit together and wrap them as a `Forecast`."""
    xp, device = array_namespace(y_proba)
    y_proba = _check_proba(y_proba, xp)
    y_true, y_xp = _check_target(y_true)
    n_samples = y_proba.shape[0]
    if y_true.shape[0] != n_samples:
        raise ValueError(
            "y_true and y_proba must have the same number of rows. "
            f"Got {y_true.shape[0]} and {n_samples}."
        )
    sample_weight = _check_weight(sample_weight, n_samples, xp, device)

    classes = _check_classes(y_true, y_xp, y_proba, labels)
    if y_xp is np:
        targets = HostTargets(y_true, classes, xp, device)
    else:
        y_true = move_to(y_true, xp=xp, device=device)
        targets = DeviceTargets(y_true, classes, xp, device)
    eps, tolerance = resolution(y_proba.dtype, xp)
    return Forecast(
        xp=xp,
        device=device,
        proba=y_proba,
        targets=targets,
        classes=classes,
        positive=_check_pos_label(pos_label, classes),
        sample_weight=sample_weight,
        eps=eps,
        tolerance=tolerance,
        dtype=widest_float(xp, device),
    )


def replace_proba(forecast, y_proba):
    """Give a `Forecast` in NumPy other probabilities, for the same labels."""
    y_proba = _check_proba(y_proba, np)
    shape = (forecast.n_samples, forecast.n_classes)
    if y_proba.shape != shape and (*y_proba.shape, 2) != shape:
        raise ValueError(f"y_proba must have the shape {shape}. Got {y_proba.shape}.")
    forecast.proba = y_proba
    forecast.eps, forecast.tolerance = resolution(y_proba.dtype, np)


def resolution(dtype, xp):
    """Return the least that a probability counts and the tolerance of a row's sum."""
    is_float = dtype.kind == "f" if xp is np else xp.isdtype(dtype, "real floating")
    eps = float(xp.finfo(dtype).eps) if is_float else 2.0**-52
    # bfloat16 has few digits, but knows numbers as small as float32 does.
    return (eps if eps < 1e-3 else 2.0**-23), eps**0.5


def check_values(*, low, high, off, tolerance, low_weight, weight, n_bad, fault, names):
    """Judge what the pass over the values has found.

    Parameters are, over all rows: the smallest and largest probability, the
    largest distance of a row's sum from 1 and how large it may be, the smallest
    weight, the sum of the weights and the number of rows whose label is not valid;
    then what is wrong with these, and the names of labels and probabilities.
    """
    y_name, proba_name = names
    if np.isnan(low) or np.isnan(high):
        raise ValueError(f"{proba_name} must not contain NaN.")
    if low < 0 or high > 1:
        raise ValueError(
            f"{proba_name} must hold probabilities in [0, 1]. Got values from "
            f"{low} to {high}. Pass what predict_proba or a softmax returns, not "
            "logits or percentages."
        )
    if n_bad:
        raise ValueError(f"{y_name} has {int(n_bad)} rows that {fault}.")
    _check_weights(low_weight, weight)
    if off > tolerance:
        warn(
            f"The rows of {proba_name} do not sum to one: a sum is off by "
            f"{off:.2g}. Make sure to pass probabilities.",
        )


def check_sum_of_weights(sample_weight, n_samples):
    """Check weights, a NumPy array or None; return their sum."""
    if sample_weight is None:
        return float(n_samples)
    low, weight = float(sample_weight.min()), float(sample_weight.sum())
    _check_weights(low, weight)
    check_total(weight)
    return weight


def _check_weights(low_weight, weight):
    if not (low_weight >= 0 and np.isfinite(weight)):
        raise ValueError(
            "sample_weight must be non-negative, without NaN or infinity. "
            f"Got a minimum of {low_weight:.6g} and a sum of {weight:.6g}."
        )


def check_total(weight):
    """Check that the weights of all samples together are not zero."""
    if weight == 0:
        raise ValueError("sample_weight must not be zero for all samples.")


def check_option(name, value, allowed):
    """Check that the option `name` is one of the strings `allowed`."""
    if not (isinstance(value, str) and value in allowed):
        raise ValueError(
            f"The {name!r} parameter must be one of {sorted(allowed)}. "
            f"Got {value!r} instead."
        )


def check_normalize(normalize):
    """Check that `normalize` is a bool."""
    if not isinstance(normalize, bool | np.bool_):
        raise TypeError(
            f"The 'normalize' parameter must be a bool. Got {normalize!r} instead."
        )


def check_penalty(penalty):
    """Check that `penalty` is ``"paper"``, ``"minimal"`` or a number from 0 up."""
    if isinstance(penalty, str) and penalty in {"paper", "minimal"}:
        return
    is_number = isinstance(penalty, Real) and not isinstance(penalty, bool | np.bool_)
    if not (is_number and 0 <= penalty < np.inf):
        raise ValueError(
            "The 'penalty' parameter must be 'paper', 'minimal' or a float in the "
            f"range [0, inf). Got {penalty!r} instead."
        )


def as_host_array(values, name):
    """NumPy array of `values`, or an error that names the parameter `name`."""
    if type(values) is np.ndarray and values.ndim:
        return values
    if issparse(values):
        raise TypeError(f"{name} must be dense. Got a sparse {type(values).__name__}.")
    if values is None or isinstance(values, str | bytes | dict | set):
        raise TypeError(f"{name} must be array-like. Got {values!r} instead.")
    if np.ma.is_masked(values):
        raise ValueError(f"{name} must not have masked values.")
    try:
        array = np.asarray(values)
    except (ValueError, TypeError, RuntimeError) as exc:
        raise ValueError(f"{name} cannot be read as an array: {exc}") from exc
    if array.ndim == 0 and array.dtype.kind == "O":  # a generator, a lazy frame
        raise TypeError(f"{name} must be array-like. Got a {type(values).__name__}.")
    if isinstance(values, list | tuple) and array.dtype.kind == "U":
        for value in values:  # which NumPy turns into text
            if isinstance(value, Real):
                raise TypeError(
                    f"{name} must hold labels of one type. Got {value!r} beside text."
                )
    return array


def _check_proba(y_proba, xp):
    if xp is np:
        y_proba = _as_real(as_host_array(y_proba, "y_proba"), "y_proba")
    if y_proba.ndim not in (1, 2) or 0 in y_proba.shape:
        raise ValueError(
            "y_proba must be a non-empty array of shape (n_samples,) or "
            f"(n_samples, n_classes). Got shape {tuple(y_proba.shape)}."
        )
    if y_proba.ndim == 2 and y_proba.shape[1] == 1:
        return y_proba[:, 0]
    return y_proba


def _as_real(array, name):
    """Array of real numbers; objects (nullable columns, decimals) are converted."""
    if array.dtype.kind == "O":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError) as exc:
            raise TypeError(f"{name} must hold numbers: {exc}") from exc
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name} must hold real numbers. Got dtype {array.dtype}.")
    return array


def _check_target(y_true):
    """Labels or one-hot rows, and the namespace that they live in."""
    xp, _ = array_namespace(y_true)
    if xp is np:
        y_true = as_host_array(y_true, "y_true")
        if y_true.dtype.kind not in "biufUSOT":
            raise TypeError(
                "y_true must hold class labels: numbers, booleans or strings. "
                f"Got dtype {y_true.dtype}."
            )
    if y_true.ndim not in (1, 2) or 0 in y_true.shape:
        raise ValueError(
            "y_true must be a non-empty array of shape (n_samples,), or one-hot of "
            f"shape (n_samples, n_classes). Got shape {tuple(y_true.shape)}."
        )
    if y_true.ndim == 2 and y_true.shape[1] == 1:
        y_true = y_true[:, 0]
    return y_true, xp


def _check_weight(sample_weight, n_samples, xp, device):
    if sample_weight is None:
        return None
    if array_namespace(sample_weight)[0] is np:
        sample_weight = _as_real(
            as_host_array(sample_weight, "sample_weight"), "sample_weight"
        )
    if tuple(sample_weight.shape) != (n_samples,):
        raise ValueError(
            f"sample_weight must have shape ({n_samples},), one weight for each row "
            f"of y_proba. Got shape {tuple(sample_weight.shape)}."
        )
    return move_to(sample_weight, xp=xp, device=device)


def _check_classes(y_true, y_xp, y_proba, labels):
    """All classes, sorted: the columns of `y_proba`."""
    n_classes = y_proba.shape[1] if y_proba.ndim == 2 else 2
    one_hot = y_true.ndim == 2
    if labels is not None:
        labels = as_host_array(labels, "labels")
        if labels.ndim != 1:
            raise ValueError(f"labels must be 1-dimensional. Got {labels.ndim} axes.")
        classes = unique_labels(labels, "labels")
        source = "labels"
        if y_proba.ndim == 2 and len(classes) == len(labels) and any(classes != labels):
            warn(
                f"The columns of y_proba are taken to follow the sorted labels "
                f"{shown(classes)}, whatever the order of labels={shown(labels)}.",
            )
    else:
        source = "y_true"
        if one_hot:
            classes = np.arange(y_true.shape[1])
        elif y_xp is np:
            classes = unique_labels(y_true, "y_true", enough=n_classes)
        else:
            classes = to_numpy(y_xp.unique_values(y_true), y_xp)
            classes = unique_labels(classes, "y_true")

    if one_hot and y_proba.ndim == 1:
        raise ValueError(
            f"y_true has {y_true.shape[1]} columns and y_proba only one. "
            "Are they swapped?"
        )
    if len(classes) < 2:
        remedy = "" if source == "labels" else " Pass all classes through 'labels'."
        raise ValueError(
            f"{source} must hold at least two classes. Got {shown(classes)}.{remedy}"
        )
    if len(classes) != n_classes:
        columns = "one column" if y_proba.ndim == 1 else f"{n_classes} columns"
        remedy = "y_proba needs a column for each class, as predict_proba gives it."
        if source == "y_true" and len(classes) < n_classes:
            remedy = "Pass all classes through 'labels'."
        raise ValueError(
            f"{source} holds {len(classes)} distinct classes, {shown(classes)}, but "
            f"y_proba with {columns} is for {n_classes}. {remedy}"
        )
    if one_hot and y_true.shape[1] != n_classes:
        raise ValueError(
            f"y_true is one-hot with {y_true.shape[1]} columns, but y_proba is for "
            f"{n_classes} classes."
        )
    return classes


def _check_pos_label(pos_label, classes):
    if pos_label is None:
        return 1
    matches = np.flatnonzero([value == pos_label for value in classes.tolist()])
    if len(matches) != 1:
        raise ValueError(
            f"The 'pos_label' parameter must be one of the classes {shown(classes)}. "
            f"Got {pos_label!r} instead."
        )
    return int(matches[0])
