"""The one place that checks options, labels, probabilities and weights.

Types, shapes and labels are checked here, before anything is computed. The values of
probabilities and weights are checked by the pass over them, see `LossSums.check`, so
that the data is read only once.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from sklearn import get_config

from sklearn_superior.metrics._labels import (
    encode_labels,
    encode_on_device,
    shown,
    unique_labels,
)
from sklearn_superior.metrics._rules import PRIOR_SCALE, Loss
from sklearn_superior.utils._arrays import read_array, read_numbers
from sklearn_superior.utils._sklearn_compat import (
    array_namespace,
    move_to,
    to_numpy,
    widest_float,
)
from sklearn_superior.utils._warnings import warn

_TIES = ("first", "split", "correct")


@dataclass
class Forecast:
    """Labels, probabilities and weights that fit together."""

    xp: Any
    device: Any
    proba: Any  # (n_samples, n_classes), or (n_samples,) of the class `positive`
    y_index: Any  # (n_samples,): the column of the true class
    classes: np.ndarray
    positive: int
    sample_weight: Any  # (n_samples,) or None
    eps: float  # the smallest probability that counts
    tolerance: float  # by which the sum of a row may differ from 1
    dtype: Any  # to compute in: float64 wherever the device has it
    n_samples: int
    n_classes: int  # whether or not each of them occurs
    # The weights before those of classes, by which a temperature is fitted.
    own_weight: Any = None
    has_class_weight: bool = False
    # On a device: the number of rows without a valid label, and what is wrong there.
    n_invalid: Any = 0
    label_error: str = ""

    def columns_on_device(self, proba):
        """Return some rows of `proba` transposed, with a row for each class."""
        xp, q = self.xp, self.xp.astype(proba, self.dtype)
        if q.ndim == 2:
            return xp.permute_dims(q, (1, 0))
        return xp.stack([1 - q, q] if self.positive else [q, 1 - q])

    def split_on_device(self, columns, y_index):
        """Return the values of the true classes, and all with 0 in their place."""
        xp, zeros = self.xp, self.xp.zeros_like(columns)
        numbers = xp.arange(self.n_classes, device=self.device)
        is_true = xp.reshape(numbers, (-1, 1)) == xp.reshape(y_index, (1, -1))
        of_true = xp.sum(xp.where(is_true, columns, zeros), axis=0)
        return of_true, xp.where(is_true, zeros, columns)


def check_options(
    rule,
    *,
    penalty="paper",
    ties="first",
    scale="sum",
    normalize=True,
    refined=False,
    prior_scale=PRIOR_SCALE,
    d2=False,
):
    """Check the options of the loss of a rule; return them as a `Loss`."""
    is_name = isinstance(penalty, str) and penalty in ("paper", "minimal")
    if not (is_name or _is_nonnegative(penalty)):
        raise ValueError(
            "The 'penalty' parameter must be 'paper', 'minimal' or a float in the "
            f"range [0, inf). Got {penalty!r} instead."
        )
    for name, value, allowed in (("ties", ties, _TIES), ("scale", scale, rule.scales)):
        if not (isinstance(value, str) and value in allowed):
            raise ValueError(
                f"The {name!r} parameter must be one of {sorted(allowed)}. "
                f"Got {value!r} instead."
            )
    if not isinstance(normalize, bool | np.bool_):
        raise TypeError(
            f"The 'normalize' parameter must be a bool. Got {normalize!r} instead."
        )
    penalty = penalty if is_name else float(penalty)
    prior_scale = check_prior_scale(prior_scale) if refined else None
    normalize = bool(normalize)
    return Loss(rule, penalty, ties, scale, normalize, refined, prior_scale, d2)


def _is_nonnegative(value):
    """Tell whether a value is a number from 0 up."""
    is_number = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    return is_number and 0 <= value < np.inf


def check_prior_scale(prior_scale):
    """Return the scale of the prior of a temperature, a float or None."""
    if prior_scale is None or (_is_nonnegative(prior_scale) and prior_scale > 0):
        return None if prior_scale is None else float(prior_scale)
    raise ValueError(
        "The 'prior_scale' parameter must be None or a float in the range (0, inf). "
        f"Got {prior_scale!r} instead."
    )


def check_class_weight(class_weight):
    """Check the form of the `class_weight` option of a scorer."""
    if class_weight is None or isinstance(class_weight, str):
        is_valid = class_weight in (None, "balanced")
    else:
        is_valid = isinstance(class_weight, Mapping) and len(class_weight) > 0
        is_valid = is_valid and all(map(_is_nonnegative, class_weight.values()))
    if not is_valid:
        raise ValueError(
            "The 'class_weight' option must be 'balanced', None, or a dict from "
            f"classes to weights in the range [0, inf). Got {class_weight!r}."
        )


def check_forecast(
    y_true,
    y_proba,
    *,
    sample_weight=None,
    labels=None,
    pos_label=None,
    namespace=None,
):
    """Check that the inputs fit together and return them as a `Forecast`.

    `namespace` is the pair of array namespace and device that all inputs have. None:
    each has its own, NumPy unless scikit-learn's array API dispatch is on.
    """
    xp, device = namespace or (np, None)
    y_xp = weight_xp = xp
    if namespace is None and get_config()["array_api_dispatch"]:
        xp, device = array_namespace(y_proba)
        y_xp, weight_xp = array_namespace(y_true)[0], array_namespace(sample_weight)[0]
    given = y_proba, y_true
    y_proba = check_probabilities(y_proba, xp)
    y_true = _check_target(y_true, y_xp)
    n_samples = y_proba.shape[0]
    if y_true.shape[0] != n_samples:
        raise ValueError(
            "y_true and y_proba must have the same number of rows. "
            f"Got {y_true.shape[0]} and {n_samples}."
        )
    if sample_weight is not None:
        sample_weight = _check_weight(sample_weight, n_samples, weight_xp)
        if namespace is None:
            sample_weight = move_to(sample_weight, xp=xp, device=device)
    classes = _check_classes(y_true, y_xp, y_proba, labels)
    if hasattr(given[0], "columns") and y_proba.ndim == 2:
        is_frame = hasattr(given[1], "columns") and len(given[1].columns) > 1
        expected = list(given[1].columns) if is_frame else classes.tolist()
        warn_of_column_order(list(given[0].columns), expected)

    n_invalid, label_error = 0, ""
    if y_xp is np:
        y_index = encode_labels(y_true, classes)
        if xp is not np:
            y_index = xp.asarray(y_index.astype(np.int64), device=device)
    else:
        if namespace is None:
            y_true = move_to(y_true, xp=xp, device=device)
        y_index, n_invalid, label_error = encode_on_device(y_true, classes, xp, device)
    eps, tolerance = resolution(y_proba.dtype, xp)
    return Forecast(
        xp=xp,
        device=device,
        proba=y_proba,
        y_index=y_index,
        classes=classes,
        positive=1 if pos_label is None else _check_pos_label(pos_label, classes),
        sample_weight=sample_weight,
        eps=eps,
        tolerance=tolerance,
        dtype=np.float64 if xp is np else widest_float(xp, device),
        n_samples=n_samples,
        n_classes=len(classes),
        n_invalid=n_invalid,
        label_error=label_error,
    )


def weigh_classes(forecast, class_weight):
    """Multiply the weights of a `Forecast` by those of the classes.

    ``"balanced"`` gives every class that occurs the same sum of weights, as in
    scikit-learn: the sum of all weights over the number of these classes.
    """
    xp, weight = forecast.xp, forecast.sample_weight
    forecast.own_weight, forecast.has_class_weight = weight, True
    if class_weight == "balanced":
        counts = class_totals(forecast)
        occurs = counts > 0
        of_class = np.zeros(len(counts))
        of_class[occurs] = counts.sum() / (occurs.sum() * counts[occurs])
    else:
        known = forecast.classes.tolist()
        unknown = [label for label in class_weight if label not in known]
        if unknown:
            raise ValueError(
                "The keys of class_weight must be among the classes "
                f"{shown(forecast.classes)}. Got {unknown}."
            )
        of_class = np.array([float(class_weight.get(label, 1)) for label in known])
    if xp is np:
        own = of_class[forecast.y_index]
    else:
        of_class = xp.asarray(of_class, dtype=forecast.dtype, device=forecast.device)
        own = xp.take(of_class, forecast.y_index)
        weight = weight if weight is None else as_dtype(weight, forecast.dtype, xp)
    forecast.sample_weight = own if weight is None else own * weight


def class_totals(forecast):
    """Sum of the weights of each class, as a NumPy array."""
    xp, y_index, weight = forecast.xp, forecast.y_index, forecast.sample_weight
    if weight is not None:
        weight = as_dtype(weight, forecast.dtype, xp)
    if xp is np:
        return np.bincount(y_index, weight, forecast.n_classes)
    sums = []
    for k in range(forecast.n_classes):
        is_class = xp.astype(y_index == k, forecast.dtype)
        sums.append(xp.sum(is_class if weight is None else is_class * weight))
    return to_numpy(xp.stack(sums), xp)


def replace_proba(forecast, y_proba):
    """Give a `Forecast` in NumPy other probabilities, for the same labels."""
    y_proba = check_probabilities(y_proba, np)
    shape = (forecast.n_samples, forecast.n_classes)
    if y_proba.shape != shape and (*y_proba.shape, 2) != shape:
        raise ValueError(f"y_proba must have the shape {shape}. Got {y_proba.shape}.")
    forecast.proba = y_proba
    forecast.eps, forecast.tolerance = resolution(y_proba.dtype, np)


def resolution(dtype, xp):
    """Return the smallest probability that counts and the tolerance of a row's sum."""
    is_float = dtype.kind == "f" if xp is np else xp.isdtype(dtype, "real floating")
    eps = float(xp.finfo(dtype).eps) if is_float else 2.0**-52
    # bfloat16 has few digits, but the range of float32.
    return (eps if eps < 1e-3 else 2.0**-23), eps**0.5


def as_dtype(array, dtype, xp):
    """Convert an array; NumPy has no function for it before 2.1."""
    return array.astype(dtype) if xp is np else xp.astype(array, dtype)


def check_probabilities(y_proba, xp):
    """Array of real numbers of shape (n_samples,) or (n_samples, n_classes)."""
    if xp is not np:
        y_proba = _check_real_on_device(y_proba, "y_proba", xp)
    else:
        if type(y_proba) is not np.ndarray or y_proba.dtype.kind != "f":
            y_proba = read_numbers(y_proba, "y_proba")
    if y_proba.ndim not in (1, 2) or 0 in y_proba.shape:
        raise ValueError(
            "y_proba must be a non-empty array of shape (n_samples,) or "
            f"(n_samples, n_classes). Got shape {tuple(y_proba.shape)}."
        )
    if y_proba.ndim == 2 and y_proba.shape[1] == 1:
        return y_proba[:, 0]
    return y_proba


def _check_real_on_device(array, name, xp):
    layout = str(getattr(array, "layout", ""))
    if "sparse" in layout:
        raise TypeError(f"{name} must be dense. Got the layout {layout}.")
    kinds = ("bool", "integral", "real floating")
    is_narrow = "float8" in str(array.dtype)  # has no arithmetic
    if is_narrow or not xp.isdtype(array.dtype, kinds):
        raise TypeError(
            f"{name} must hold real numbers, with at least 16 bits for floats. "
            f"Got dtype {array.dtype}."
        )
    return array.detach() if getattr(array, "requires_grad", False) else array


def _check_target(y_true, xp):
    """Labels of shape (n_samples,), or rows that should be one-hot."""
    if xp is not np:
        y_true = _check_real_on_device(y_true, "y_true", xp)
    else:
        if type(y_true) is not np.ndarray:
            y_true = read_array(y_true, "y_true")
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
    return y_true[:, 0] if y_true.ndim == 2 and y_true.shape[1] == 1 else y_true


def _check_weight(sample_weight, n_samples, xp):
    if xp is np:
        sample_weight = read_numbers(sample_weight, "sample_weight")
    else:
        sample_weight = _check_real_on_device(sample_weight, "sample_weight", xp)
    if tuple(sample_weight.shape) != (n_samples,):
        raise ValueError(
            f"sample_weight must have shape ({n_samples},), one weight for each row "
            f"of y_proba. Got shape {tuple(sample_weight.shape)}."
        )
    return sample_weight


def _check_classes(y_true, y_xp, y_proba, labels):
    """All classes, sorted: the columns of `y_proba`."""
    n_classes = y_proba.shape[1] if y_proba.ndim == 2 else 2
    one_hot = y_true.ndim == 2
    if labels is not None:
        classes = check_labels(labels, are_columns=y_proba.ndim == 2)
    elif one_hot:
        classes = np.arange(y_true.shape[1])
    elif y_xp is np:
        classes = unique_labels(y_true, "y_true", enough=n_classes)
    else:
        classes = unique_labels(to_numpy(y_xp.unique_values(y_true), y_xp), "y_true")

    if one_hot and y_proba.ndim == 1:
        raise ValueError(
            f"y_true has {y_true.shape[1]} columns and y_proba only one. "
            "Are they swapped?"
        )
    if one_hot and y_true.shape[1] != n_classes:
        raise ValueError(
            "y_true must hold one label for each row, or be one-hot with a column for "
            f"each of the {n_classes} classes of y_proba. Got shape "
            f"{tuple(y_true.shape)}."
        )
    source = "y_true" if labels is None else "labels"
    if len(classes) < 2:
        remedy = " Pass all classes through 'labels'." if labels is None else ""
        raise ValueError(
            f"{source} must hold at least two classes. Got {shown(classes)}.{remedy}"
        )
    if len(classes) != n_classes:
        columns = "one column" if y_proba.ndim == 1 else f"{n_classes} columns"
        remedy = "y_proba needs a column for each class, as predict_proba gives it."
        if labels is None and len(classes) < n_classes:
            remedy = "Pass all classes through 'labels'."
        raise ValueError(
            f"{source} holds {len(classes)} distinct classes, {shown(classes)}, but "
            f"y_proba with {columns} is for {n_classes}. {remedy}"
        )
    return classes


def check_labels(labels, *, are_columns=False):
    """Return the `labels` option sorted, with a warning if the columns may differ."""
    labels = read_array(labels, "labels")
    if labels.ndim != 1:
        raise ValueError(f"labels must be 1-dimensional. Got {labels.ndim} axes.")
    if not len(labels):
        raise ValueError("labels must hold at least two classes. Got [].")
    classes = unique_labels(labels, "labels")
    if are_columns and len(classes) == len(labels) and any(classes != labels):
        warn(
            f"The columns of y_proba are taken to follow the sorted labels "
            f"{shown(classes)}, whatever the order of labels={shown(labels)}.",
        )
    return classes


def warn_of_column_order(names, expected):
    """Warn if a data frame has the columns of the classes in another order."""
    as_text = [str(name) for name in names], [str(name) for name in expected]
    if as_text[0] != as_text[1] and sorted(as_text[0]) == sorted(as_text[1]):
        warn(
            f"The columns of y_proba are taken to follow the classes {expected}, "
            f"whatever their names. Got the names {names}, in another order.",
        )


def _check_pos_label(pos_label, classes):
    matches = np.flatnonzero([value == pos_label for value in classes.tolist()])
    if len(matches) != 1:
        raise ValueError(
            f"The 'pos_label' parameter must be one of the classes {shown(classes)}. "
            f"Got {pos_label!r} instead."
        )
    return int(matches[0])
