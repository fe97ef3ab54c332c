"""The one place that checks labels, probabilities and weights, and lines up columns.

Types, shapes and labels are checked here, before anything is computed. The values of
probabilities and weights are checked during the pass over them, so the data is read
only once. Labels of any type that can be sorted are accepted.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import repeat
from math import isfinite
from typing import Any

import numpy as np

from sklearn_superior.metrics._rules import is_nonnegative
from sklearn_superior.utils._arrays import read_array, read_numbers
from sklearn_superior.utils._checks import is_missing
from sklearn_superior.utils._sklearn_compat import (
    array_namespace,
    move_to,
    to_numpy,
    widest_float,
)
from sklearn_superior.utils._warnings import warn

# Labels are read in pieces of this many rows, which bounds the memory.
_ROWS = 1 << 16
# Integer labels in a range below this are counted; all others are sorted.
_SMALL_RANGE = 1 << 12
_NOT_ONE_HOT = (
    "are not one-hot (a single 1, all else 0). Pass one label per row; several "
    "outputs or labels per row are not supported"
)


@dataclass
class Forecast:
    """Labels, probabilities and weights that fit together."""

    xp: Any
    device: Any
    dtype: Any  # to compute in: float64 wherever the device has it
    proba: Any  # (n_samples, n_classes), or (n_samples,) for the class `positive`
    y_index: Any  # (n_samples,): the column of the true class
    classes: np.ndarray
    positive: int = 1
    sample_weight: Any = None  # (n_samples,) or None
    weight: Any = None  # the same, times the class weights
    # On a device: the number of rows with an invalid label, and what is wrong there.
    n_invalid: Any = 0
    label_error: str = ""

    @property
    def n_samples(self):
        """Number of rows."""
        return self.proba.shape[0]

    @property
    def n_classes(self):
        """Number of classes, whether or not each of them occurs."""
        return len(self.classes)

    def blocks(self, n_rows):
        """Yield the forecast in pieces of at most `n_rows` rows."""
        if self.n_samples <= n_rows:
            yield self
            return
        for start in range(0, self.n_samples, n_rows):
            yield self.take(slice(start, min(start + n_rows, self.n_samples)))

    def take(self, rows):
        """Return a slice of the rows."""
        weights = self.sample_weight, self.weight
        weights = [None if weight is None else weight[rows] for weight in weights]
        parts = self.proba[rows, ...], self.y_index[rows], self.classes, self.positive
        # Not `replace`, which takes several times longer.
        return Forecast(self.xp, self.device, self.dtype, *parts, *weights)

    def columns(self, order="C"):
        """Return a copy of the probabilities, transposed: one row per class.

        On the host `order` is the memory layout of the result.
        """
        xp, q, k = self.xp, self.proba, self.positive
        if xp is np and q.ndim == 2:
            return np.array(q.T, dtype=np.float64, order=order)
        if xp is np:
            columns = np.empty((2, len(q)))
            columns[k] = q
            np.subtract(1, columns[k], out=columns[1 - k])
            return columns
        q = xp.astype(q, self.dtype)
        if q.ndim == 2:
            return xp.permute_dims(q, (1, 0))
        return xp.stack([1 - q, q] if k else [q, 1 - q])

    def of_true(self, columns):
        """Return the values of the true classes."""
        if self.xp is np:
            return columns.ravel("K")[self._positions(columns)]
        y_index = self.y_index[None, :]
        return self.xp.take_along_axis(columns, y_index, axis=0)[0, :]

    def split(self, columns):
        """Return the values of the true classes, and all with 0 in their place.

        The columns themselves may be overwritten.
        """
        xp = self.xp
        if xp is np:
            flat, position = columns.ravel("K"), self._positions(columns)  # a view
            of_true = flat[position]
            flat[position] = 0
            return of_true, columns
        numbers = xp.arange(self.n_classes, device=self.device)
        is_true = xp.reshape(numbers, (-1, 1)) == xp.reshape(self.y_index, (1, -1))
        is_true = xp.astype(is_true, columns.dtype)
        return xp.sum(columns * is_true, axis=0), columns * (1 - is_true)

    def _positions(self, columns):
        """Return where in memory the true classes are.

        To index by these is several times faster than by masks or pairs.
        """
        size, (of_class, of_row) = columns.itemsize, columns.strides
        position = np.multiply(self.y_index, of_class // size, dtype=np.intp)
        position += row_starts(columns.shape[1], of_row // size)
        return position

    def class_totals(self):
        """Return the sum of the weights of each class, as a NumPy array."""
        xp, y_index, weight = self.xp, self.y_index, self.weight
        if xp is np:
            return np.bincount(y_index, weight, self.n_classes)
        if weight is None:
            weight = xp.ones(self.n_samples, dtype=self.dtype, device=self.device)
        is_class = [xp.astype(y_index == k, self.dtype) for k in range(self.n_classes)]
        return to_numpy(xp.stack([one @ weight for one in is_class]), xp)

    def check_values(self):
        """Check the values where no pass does; return the sum of the weights."""
        xp, total, low_weight = self.xp, float(self.n_samples), 0.0
        if self.weight is not None:
            low_weight = float(xp.min(self.weight))
            total = float(xp.sum(self.weight))
        lows = float(xp.min(self.proba)), -float(xp.max(self.proba)), 0.0, low_weight
        options = {"n_invalid": int(self.n_invalid), "label_error": self.label_error}
        check_values(*lows, weight=total, **options)
        return total


def check_values(
    low,
    minus_high,
    minus_off=0.0,
    low_weight=0.0,
    *,
    weight=1.0,
    n_invalid=0,
    label_error="",
    names=("y_true", "y_proba"),
    allow_no_weight=False,
):
    """Raise an error, or warn, if values that were read are not valid.

    Parameters
    ----------
    low, minus_high : float
        Smallest probability, and minus the largest one.

    minus_off : float
        Minus the largest error of the sum of a row, if it is not rounding.

    low_weight, weight : float
        Smallest weight, and the sum of the weights.

    n_invalid, label_error : int, str
        Number of rows with an invalid label, and what is wrong with them.

    names : tuple of str
        The names of the caller's parameters.

    allow_no_weight : bool
        Whether the sum of the weights may be zero.
    """
    high = -minus_high
    y_name, proba_name = names
    if low != low or high != high:
        raise ValueError(f"{proba_name} must not contain NaN.")
    if low < 0 or high > 1:
        raise ValueError(
            f"{proba_name} must hold probabilities in [0, 1]. Got values from {low} to "
            f"{high}. Pass the output of predict_proba or of a softmax, not logits or "
            "percentages."
        )
    if n_invalid:
        raise ValueError(f"{y_name} has {int(n_invalid)} rows that {label_error}.")
    if not (low_weight >= 0 and isfinite(weight)):
        raise ValueError(
            "sample_weight must be non-negative, without NaN or infinity. Got a "
            f"minimum of {low_weight:.6g} and a sum of {weight:.6g}."
        )
    if weight == 0 and not allow_no_weight:
        raise ValueError("sample_weight must not be zero for all samples.")
    if minus_off < 0:
        warn(
            f"The rows of {proba_name} do not sum to one: a sum is off by "
            f"{-minus_off:.2g}. Make sure to pass probabilities.",
        )


@lru_cache(maxsize=4)  # most blocks have the same shape
def row_starts(n_rows, step):
    """Return ``0, step, 2 * step, …``: where each row starts in memory."""
    return np.arange(0, n_rows * step, step)


def as_dtype(array, dtype, xp):
    """Convert an array; NumPy has no function for it before 2.1."""
    if xp is np:
        return array.astype(dtype, copy=False)
    return xp.astype(array, dtype, copy=False)


@cache
def resolution(dtype, xp):
    """Return the smallest probability that counts and the tolerance of a row's sum."""
    is_float = dtype.kind == "f" if xp is np else xp.isdtype(dtype, "real floating")
    eps = float(xp.finfo(dtype).eps) if is_float else 2.0**-52
    # bfloat16 has few digits, but the range of float32.
    return (eps if eps < 1e-3 else 2.0**-23), eps**0.5


# Checks


def check_forecast(
    y_true,
    y_proba,
    sample_weight=None,
    labels=None,
    pos_label=None,
    class_weight=None,
    namespace=None,
):
    """Check that the inputs fit together and return them as a `Forecast`.

    `namespace` is the pair of array namespace and device that all inputs have. If None,
    each has its own: NumPy unless scikit-learn's array API dispatch is on.
    """
    xp, device = namespace or array_namespace(y_proba)
    dtype = np.float64 if xp is np else widest_float(xp, device)
    y_xp = xp if namespace else array_namespace(y_true)[0]
    frames = y_proba, y_true
    y_proba = check_probabilities(y_proba, xp)
    y_true = _check_shape(_read_labels(y_true, y_xp), "y_true")
    n_samples = y_proba.shape[0]
    if y_true.shape[0] != n_samples:
        raise ValueError(
            "y_true and y_proba must have the same number of rows. "
            f"Got {y_true.shape[0]} and {n_samples}."
        )
    if sample_weight is not None:
        weight_xp = xp if namespace else array_namespace(sample_weight)[0]
        sample_weight = _read_real(sample_weight, "sample_weight", weight_xp)
        if tuple(sample_weight.shape) != (n_samples,):
            raise ValueError(
                f"sample_weight must have shape ({n_samples},), one weight for each "
                f"row of y_proba. Got shape {tuple(sample_weight.shape)}."
            )
        if namespace is None:
            sample_weight = move_to(sample_weight, xp=xp, device=device)
        sample_weight = as_dtype(sample_weight, dtype, xp)
    classes = _check_classes(y_true, y_xp, y_proba, labels)
    if hasattr(frames[0], "columns") and y_proba.ndim == 2:
        is_frame = hasattr(frames[1], "columns") and len(frames[1].columns) > 1
        expected = list(frames[1].columns) if is_frame else classes.tolist()
        warn_of_column_order(list(frames[0].columns), expected)

    n_invalid, label_error = 0, ""
    if y_xp is not np:
        if namespace is None:
            y_true = move_to(y_true, xp=xp, device=device)
        y_index, n_invalid, label_error = _encode_on_device(y_true, classes, xp, device)
    else:
        y_index = encode_labels(y_true, classes)
        if xp is not np:
            y_index = xp.asarray(y_index.astype(np.int64), device=device)
    positive = 1 if pos_label is None else _check_pos_label(pos_label, classes)
    parts = y_proba, y_index, classes, positive, sample_weight, sample_weight
    forecast = Forecast(xp, device, dtype, *parts, n_invalid, label_error)
    if class_weight is not None:
        _weigh_classes(forecast, class_weight)
    return forecast


def check_probabilities(y_proba, xp):
    """Return real numbers of shape (n_samples,) or (n_samples, n_classes)."""
    return _check_shape(_read_real(y_proba, "y_proba", xp), "y_proba")


def _read_real(values, name, xp):
    if xp is np:
        return read_numbers(values, name)
    layout = str(getattr(values, "layout", ""))
    if "sparse" in layout:
        raise TypeError(f"{name} must be dense. Got the layout {layout}.")
    kinds = ("bool", "integral", "real floating")
    is_narrow = "float8" in str(values.dtype)  # which has no arithmetic
    if is_narrow or not xp.isdtype(values.dtype, kinds):
        raise TypeError(
            f"{name} must hold real numbers, with at least 16 bits for floats. "
            f"Got dtype {values.dtype}."
        )
    return values.detach() if getattr(values, "requires_grad", False) else values


def _read_labels(y_true, xp):
    if xp is not np:
        return _read_real(y_true, "y_true", xp)
    y_true = read_array(y_true, "y_true")
    if y_true.dtype.kind not in "biufUSOT":
        raise TypeError(
            "y_true must hold class labels: numbers, booleans or strings. "
            f"Got dtype {y_true.dtype}."
        )
    return y_true


def _check_shape(array, name):
    """Return an array with one or two axes, and without an axis for one column."""
    if array.ndim not in (1, 2) or 0 in array.shape:
        raise ValueError(
            f"{name} must be a non-empty array of shape (n_samples,) or "
            f"(n_samples, n_classes). Got shape {tuple(array.shape)}."
        )
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def _check_classes(y_true, y_xp, y_proba, labels):
    """Return all classes, sorted: the columns of `y_proba`."""
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

    if one_hot and y_true.shape[1] != n_classes:
        raise ValueError(
            "y_true must hold one label for each row, or be one-hot with a column for "
            f"each of the {n_classes} classes of y_proba. Got shape "
            f"{tuple(y_true.shape)}. Are y_true and y_proba swapped?"
        )
    source = "y_true" if labels is None else "labels"
    remedy = "Pass all classes through 'labels'." if labels is None else ""
    if len(classes) < 2:
        raise ValueError(
            f"{source} must hold at least two classes. Got {shown(classes)}. {remedy}"
        )
    if len(classes) != n_classes:
        columns = "one column" if y_proba.ndim == 1 else f"{n_classes} columns"
        if not remedy or len(classes) > n_classes:
            remedy = "y_proba needs a column for each class, as in predict_proba."
        raise ValueError(
            f"{source} holds {len(classes)} distinct classes, {shown(classes)}, but "
            f"y_proba with {columns} is for {n_classes}. {remedy}"
        )
    return classes


def check_labels(labels, *, are_columns=False):
    """Return the `labels` option sorted, with a warning if the columns may differ."""
    labels = read_array(labels, "labels")
    if labels.ndim != 1 or not len(labels):
        raise ValueError(
            "labels must be 1-dimensional, with at least two classes. Got shape "
            f"{labels.shape}."
        )
    classes = unique_labels(labels, "labels")
    if are_columns and len(classes) == len(labels) and any(classes != labels):
        warn(
            "The columns of y_proba are assumed to follow the sorted labels "
            f"{shown(classes)}, regardless of the order of labels={shown(labels)}.",
        )
    return classes


def warn_of_column_order(names, expected):
    """Warn if a data frame has the columns of the classes in another order."""
    as_text = [str(name) for name in names], [str(name) for name in expected]
    if as_text[0] != as_text[1] and sorted(as_text[0]) == sorted(as_text[1]):
        warn(
            f"The columns of y_proba are assumed to follow the classes {expected}, "
            f"regardless of their names. Got the names {names}, in another order.",
        )


def _check_pos_label(pos_label, classes):
    matches = np.flatnonzero([value == pos_label for value in classes.tolist()])
    if len(matches) != 1:
        raise ValueError(
            f"The 'pos_label' parameter must be one of the classes {shown(classes)}. "
            f"Got {pos_label!r} instead."
        )
    return int(matches[0])


# Weights of classes


def check_class_weight(class_weight):
    """Check the form of the `class_weight` option of a scorer."""
    if class_weight is None or isinstance(class_weight, str):
        is_valid = class_weight in (None, "balanced")
    else:
        is_valid = isinstance(class_weight, Mapping) and len(class_weight) > 0
        is_valid = is_valid and all(map(is_nonnegative, class_weight.values()))
    if not is_valid:
        raise ValueError(
            "The 'class_weight' option must be 'balanced', None, or a dict from "
            f"classes to weights in the range [0, inf). Got {class_weight!r}."
        )


def _weigh_classes(forecast, class_weight):
    """Multiply the weights of a `Forecast` by those of the classes.

    ``"balanced"`` gives every class that occurs the same sum of weights, as in
    scikit-learn: the sum of all weights divided by the number of these classes.
    """
    xp, weight = forecast.xp, forecast.sample_weight
    if class_weight == "balanced":
        totals = forecast.class_totals()
        occurs = totals > 0
        of_class = np.zeros(len(totals))
        of_class[occurs] = totals.sum() / (occurs.sum() * totals[occurs])
    else:
        known = forecast.classes.tolist()
        unknown = [label for label in class_weight if label not in known]
        if unknown:
            raise ValueError(
                "The keys of class_weight must be among the classes "
                f"{shown(forecast.classes)}. Got {unknown}. If a fold may lack a "
                "class, declare all with get_scorer(name, labels=...)."
            )
        of_class = np.array([float(class_weight.get(label, 1)) for label in known])
    of_class = xp.asarray(of_class, dtype=forecast.dtype, device=forecast.device)
    own = xp.take(of_class, forecast.y_index)
    forecast.weight = own if weight is None else own * weight


# Labels


def shown(labels):
    """Return labels as text for a message, the first ten if there are more."""
    dots = ", …" if len(labels) > 10 else ""
    return "[" + ", ".join(map(repr, labels[:10].tolist())) + dots + "]"


def unique_labels(labels, name, *, enough=None):
    """Return the sorted distinct values of a 1-D array.

    The search ends when there are `enough` of them; `encode_labels` compares the
    remaining values with these.
    """
    values = _distinct(labels[:_ROWS])
    for start in range(_ROWS, len(labels), _ROWS):
        if len(values) == enough:
            break
        more = _distinct(labels[start : start + _ROWS])
        values = values | more if isinstance(values, set) else np.union1d(values, more)
    if isinstance(values, set):
        return _sorted_objects(values, name)
    if values.dtype.kind == "f":
        if not np.all(np.isfinite(values)):
            raise ValueError(f"{name} must not contain NaN or infinite values.")
        fractions = values[values != np.floor(values)]
        if len(fractions):
            raise ValueError(
                f"{name} must hold class labels, not continuous values such as "
                f"{fractions[0]:.6g}."
            )
    return values


def _distinct(piece):
    if piece.dtype.kind in "OT":
        return set(piece.tolist())
    if piece.dtype.kind in "iu" and len(piece):
        low, high = int(piece.min()), int(piece.max())
        if high - low < _SMALL_RANGE and high < 2**63:  # faster counted than sorted
            offset = piece.astype(np.int64, copy=False)
            counts = np.bincount(offset - low if low else offset)
            return (np.flatnonzero(counts) + low).astype(piece.dtype)
    return np.unique(piece)


def _sorted_objects(values, name):
    if any(is_missing(value) for value in values):
        raise ValueError(f"{name} must not contain missing values.")
    try:
        ordered = sorted(values)
    except TypeError as exc:
        raise TypeError(f"{name} must hold labels of one type: {exc}") from exc
    array = np.empty(len(ordered), dtype=object)
    array[:] = ordered
    return array


def encode_labels(y_true, classes):
    """Return the index of each row's class, for labels in NumPy.

    Labels that are indices already are returned as they are. Otherwise the result has
    small integers, and little memory is needed besides it.
    """
    kinds = {y_true.dtype.kind, classes.dtype.kind}
    encode = _table_encoder
    if y_true.ndim == 2:
        encode = _one_hot_encoder
    elif kinds <= set("biu"):
        low, high = int(classes[0]), int(classes[-1])
        is_large = y_true.dtype.kind == "u" and y_true.dtype.itemsize == 8
        if high - low + 1 == len(classes) and not is_large:
            encode = _offset_encoder
            fit_dtype = high < 1 << (8 * y_true.itemsize - 1)
            if low == 0 and fit_dtype and y_true.dtype != bool:
                # As unsigned numbers those below 0 are large, so one pass finds all.
                unsigned = y_true.view(y_true.dtype.str.replace("i", "u"))
                if unsigned.max() > high:
                    _check_known(y_true, unsigned <= high, classes)
                return y_true
        elif np.result_type(y_true, classes).kind != "f":  # not int64 beside uint64
            encode = _search_encoder
    elif kinds <= set("biuf") or kinds <= {"U"} or kinds <= {"S"}:
        encode = _search_encoder
    y_index = np.empty(len(y_true), dtype=np.min_scalar_type(len(classes) - 1))
    for start in range(0, len(y_true), _ROWS):
        rows = slice(start, start + _ROWS)
        y_index[rows] = encode(y_true[rows], classes)
    return y_index


def _offset_encoder(labels, classes):
    index = labels.astype(np.int64) - int(classes[0])  # consecutive integers
    _check_known(labels, (index >= 0) & (index < len(classes)), classes)
    return index


def _search_encoder(labels, classes):
    index = np.searchsorted(classes, labels)
    _check_known(labels, classes.take(index, mode="clip") == labels, classes)
    return index


def _table_encoder(labels, classes):
    table = {value: index for index, value in enumerate(classes.tolist())}
    positions = map(table.get, labels.tolist(), repeat(-1))
    index = np.fromiter(positions, dtype=np.intp, count=len(labels))
    _check_known(labels, index >= 0, classes)
    return index


def _one_hot_encoder(rows, classes):
    index, n_invalid = _decode_one_hot(rows, np)
    if n_invalid:
        raise ValueError(f"y_true has {n_invalid} rows that {_NOT_ONE_HOT}.")
    return index


def _check_known(labels, is_known, classes):
    if not is_known.all():
        unknown = labels[~is_known]
        unknown = unknown[:1] if labels.dtype.kind == "O" else np.unique(unknown)
        raise ValueError(
            f"y_true has labels {shown(unknown)} that are not among the classes "
            f"{shown(classes)}."
        )


def _encode_on_device(y_true, classes, xp, device):
    """Return indices, how many are not valid and why, without a transfer."""
    if y_true.ndim == 2:
        return *_decode_one_hot(y_true, xp), _NOT_ONE_HOT
    label_error = f"are not among the classes {shown(classes)}"
    if classes.dtype.kind not in "biuf":
        raise ValueError(f"y_true holds numbers, which {label_error}.")
    is_float = xp.isdtype(y_true.dtype, "real floating")
    dtype = y_true.dtype if is_float else xp.int64
    classes = xp.astype(xp.asarray(classes.astype(np.int64), device=device), dtype)
    y_true = xp.astype(y_true, dtype)
    index = xp.clip(xp.searchsorted(classes, y_true), 0, classes.shape[0] - 1)
    return index, xp.count_nonzero(xp.take(classes, index) != y_true), label_error


def _decode_one_hot(rows, xp):
    """Return the position of the 1 in each row, and how many rows are not one-hot."""
    if xp is not np and xp.isdtype(rows.dtype, "bool"):
        rows = xp.astype(rows, xp.int8)
    ones, zeros = rows == 1, rows == 0
    is_valid = (xp.count_nonzero(ones, axis=1) == 1) & xp.all(ones | zeros, axis=1)
    return xp.argmax(ones if xp is np else rows, axis=1), xp.count_nonzero(~is_valid)


# Columns for all classes, including those that an estimator lacks


def with_all_classes(y_true, y_proba, classes, pos_label=None, declared=None):
    """Return all classes, sorted, and `y_proba` with a column for each of them.

    Classes that it lacks get columns of zeros. A single column, for `pos_label` of two
    classes, is returned as it is if no class has to be added.
    """
    known = union(classes, declared_only(declared, classes))
    unseen = _not_among(_labels_of(y_true), known)
    all_classes = union(known, unseen)
    if len(unseen):
        warn(
            f"y_true has classes that the estimator has never seen: {shown(unseen)}. "
            "They count with probability 0.",
        )
    is_column = np.ndim(y_proba) == 1
    if len(all_classes) == len(classes) and (is_column or all(all_classes == classes)):
        return all_classes, y_proba

    xp, device = array_namespace(y_proba)
    if xp is np:
        y_proba = read_array(y_proba, "y_proba")
    if y_proba.ndim == 1:
        positive = classes[-1] if pos_label is None else pos_label
        columns = [y_proba if c == positive else 1 - y_proba for c in classes]
        y_proba = xp.stack(columns, axis=1)
    zeros = xp.zeros((y_proba.shape[0], 1), dtype=y_proba.dtype, device=device)
    place = {label: k for k, label in enumerate(classes.tolist())}
    order = [place.get(label, len(place)) for label in all_classes.tolist()]
    order = xp.asarray(order, device=device)
    return all_classes, xp.take(xp.concat([y_proba, zeros], axis=1), order, axis=1)


def declared_only(declared, classes):
    """Return those of the `labels` option of a scorer that are not among `classes`."""
    if declared is None:
        return classes[:0]
    return _not_among(np.unique(read_array(declared, "labels")), classes)


def _labels_of(y_true):
    """Return the distinct labels in `y_true`; none if it is one-hot."""
    xp, _ = array_namespace(y_true)
    y_true = read_array(y_true, "y_true") if xp is np else y_true
    if y_true.ndim != 1:
        return np.empty(0)
    if y_true.shape[0] == 0:
        raise ValueError("y_true must hold at least one label. Got none.")
    if xp is not np:
        y_true = to_numpy(xp.unique_values(y_true), xp)
    return unique_labels(y_true, "y_true")


def _not_among(labels, classes):
    known = set(classes.tolist())
    return labels[[label not in known for label in labels.tolist()]]


def union(classes, *others):
    """Return the sorted distinct labels of several arrays."""
    arrays = [classes, *(labels for labels in others if len(labels))]
    for labels in arrays[1:]:
        if _is_text(labels) != _is_text(classes):
            raise ValueError(
                f"Labels must have the same type as the classes {shown(classes)} of "
                f"the estimator. Got {shown(labels)}."
            )
    are_integers = all(array.dtype.kind in "iu" for array in arrays)
    if are_integers and np.result_type(*arrays).kind == "f":  # int64 beside uint64
        arrays = [array.astype(object) for array in arrays]
    return unique_labels(np.concatenate(arrays), "labels")


def _is_text(labels):
    """Return str or bytes if the labels are text, else False."""
    first = type(labels.tolist()[0])
    return first if issubclass(first, str | bytes) else False


def classes_on_host(classes):
    """Return classes as a NumPy array: they may be a list, or a tensor on a device."""
    xp, _ = array_namespace(classes)
    return read_array(classes, "classes_") if xp is np else to_numpy(classes, xp)
