"""Labels: their distinct values, and the number of each row's class.

Labels of any type that can be sorted are taken. Little memory is needed besides the
result, and integers are counted where that is faster than sorting.
"""

from itertools import repeat

import numpy as np

from sklearn_superior.utils._checks import is_missing

# Rows of labels that are read at once, which bounds the memory.
_ROWS = 1 << 16
# Integer labels in a range below this are counted; all others are sorted.
_SMALL_RANGE = 1 << 12
_NOT_ONE_HOT = (
    "are not one-hot (a single 1, all else 0). Pass one label for each row; several "
    "outputs or labels for a row are not supported"
)


def shown(labels):
    """Return labels as text for a message, the first ten if there are more."""
    dots = ", …" if len(labels) > 10 else ""
    return "[" + ", ".join(map(repr, labels[:10].tolist())) + dots + "]"


def unique_labels(labels, name, *, enough=None):
    """Return the sorted distinct values of a 1-D array.

    The search ends when there are `enough` of them; values after that are compared
    with these by `encode_labels`.
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
        if high - low < _SMALL_RANGE:
            offset = piece if low == 0 else _offset(piece, low)
            counts = np.bincount(offset.astype(np.intp, copy=False))
            # Wraps around like `_offset`, so that it undoes it in any dtype.
            return np.flatnonzero(counts).astype(piece.dtype) + piece.dtype.type(low)
    return np.unique(piece)


def _offset(labels, low):
    """Integers minus `low`, unsigned, modulo the range of their dtype."""
    labels = labels.astype(labels.dtype.newbyteorder("="), copy=False)
    unsigned = labels.view(labels.dtype.str.replace("i", "u").replace("b", "u"))
    if low == 0:
        return unsigned
    return unsigned - unsigned.dtype.type(low % 2 ** (8 * labels.itemsize))


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

    Labels that are indices already are returned as they are. In general the result is
    an array of small integers, and besides it little memory is needed.
    """
    kinds = {y_true.dtype.kind, classes.dtype.kind}
    if y_true.ndim == 2:
        encode = _one_hot_encoder
    elif kinds <= set("biu"):
        low, high = int(classes[0]), int(classes[-1])
        limits = np.iinfo(np.uint8 if y_true.dtype == bool else y_true.dtype)
        fit_dtype = limits.min <= low and high <= limits.max
        if high - low + 1 == len(classes) and fit_dtype:
            # Labels that are no classes have offsets beyond them.
            index = _offset(y_true, low)
            if index.max() >= len(classes):
                _check_known(y_true, index < len(classes), classes)
            return index.view(np.int64) if index.dtype == np.uint64 else index
        exact = np.result_type(y_true, classes).kind != "f"  # int64 beside uint64
        encode = _search_encoder if exact else _table_encoder
    elif kinds <= set("biuf") or kinds <= {"U"} or kinds <= {"S"}:
        encode = _search_encoder
    else:
        encode = _table_encoder
    if len(y_true) <= _ROWS:
        return encode(y_true, classes)
    y_index = np.empty(len(y_true), dtype=np.min_scalar_type(len(classes) - 1))
    for start in range(0, len(y_true), _ROWS):
        rows = slice(start, start + _ROWS)
        y_index[rows] = encode(y_true[rows], classes)
    return y_index


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


def encode_on_device(y_true, classes, xp, device):
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
    """Position of the 1 in each row, and how many rows are not one-hot."""
    if xp is not np and xp.isdtype(rows.dtype, "bool"):
        rows = xp.astype(rows, xp.int8)
    ones, zeros = rows == 1, rows == 0
    is_valid = (xp.count_nonzero(ones, axis=1) == 1) & xp.all(ones | zeros, axis=1)
    return xp.argmax(ones if xp is np else rows, axis=1), xp.count_nonzero(~is_valid)
