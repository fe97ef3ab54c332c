"""Class labels: which there are, and the index of each row's class.

Labels are read in pieces, so the extra memory does not grow with the rows.
"""

from itertools import repeat

import numpy as np

# Labels are looked through in pieces of so many rows.
_ROWS = 1 << 16
# Integer labels that span at most so many values are counted, not sorted.
_SMALL_RANGE = 1 << 12


def shown(labels, most=10):
    """Print labels for a message, shortened when there are many."""
    values = labels.tolist()
    dots = ", …" if len(values) > most else ""
    return "[" + ", ".join(map(repr, values[:most])) + dots + "]"


def unique_labels(labels, name, *, enough=None):
    """Return the sorted distinct values of a 1-D array.

    The search ends when there are `enough` of them; later values are compared
    with these when they are read.
    """
    found = _distinct(labels[:_ROWS])
    for start in range(_ROWS, len(labels), _ROWS):
        if len(found) == enough:
            break
        more = _distinct(labels[start : start + _ROWS])
        found = found | more if isinstance(found, set) else np.union1d(found, more)
    if isinstance(found, set):
        return _sorted_objects(found, name)
    if found.dtype.kind == "f":
        if not np.all(np.isfinite(found)):
            raise ValueError(f"{name} must not contain NaN or infinite values.")
        fractions = found[found != np.floor(found)]
        if len(fractions):
            raise ValueError(
                f"{name} must hold class labels, not continuous values such as "
                f"{fractions[0]:.6g}."
            )
    return found


def _distinct(piece):
    if piece.dtype.kind == "O":
        return set(piece.tolist())
    if piece.dtype.kind in "iu":
        low, high = int(piece.min()), int(piece.max())
        if high - low < _SMALL_RANGE:
            found = np.bincount((piece - piece.dtype.type(low)).astype(np.intp))
            return (np.flatnonzero(found) + low).astype(piece.dtype)
    return np.unique(piece)


def _sorted_objects(values, name):
    if any(_is_missing(value) for value in values):
        raise ValueError(f"{name} must not contain missing values.")
    try:
        ordered = sorted(values)
    except TypeError as exc:
        raise TypeError(f"{name} must hold labels of one type: {exc}") from exc
    array = np.empty(len(ordered), dtype=object)
    array[:] = ordered
    return array


def _is_missing(value):
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA knows no truth
        return True


class HostTargets:
    """Index of the true class, block by block, of labels in the host's memory."""

    fault = "are not one-hot (a single 1, all else 0)"

    def __init__(self, y_true, classes, xp, device):
        self.y_true, self.classes = y_true, classes
        self.xp, self.device = xp, device
        if y_true.ndim == 1:
            self._index = self._chosen_index()

    def read(self, start, stop):
        """Return the indices of rows `start` to `stop` and how many are not valid."""
        labels = self.y_true[start:stop]
        if labels.ndim == 2:
            index, n_bad = _decode_one_hot(labels, np)
        else:
            index, n_bad = self._index(labels), 0
        if self.xp is not np:
            index = self.xp.asarray(index, device=self.device)
        return index, n_bad

    def _chosen_index(self):
        kinds = {self.y_true.dtype.kind, self.classes.dtype.kind}
        if kinds <= set("biu"):
            low, high = int(self.classes[0]), int(self.classes[-1])
            consecutive = high - low + 1 == len(self.classes)
            return self._by_offset if consecutive else self._by_search
        if kinds <= set("biuf") or kinds <= {"U"} or kinds <= {"S"}:
            return self._by_search
        table = {value: index for index, value in enumerate(self.classes.tolist())}

        def by_table(labels):
            found = map(table.get, labels.tolist(), repeat(-1))
            index = np.fromiter(found, dtype=np.intp, count=len(labels))
            return self._checked(index, labels, index >= 0)

        return by_table

    def _by_offset(self, labels):
        index = labels.astype(np.intp, copy=False)
        low = int(self.classes[0])
        if low:
            index = index - low
        # Seen as unsigned, negative numbers are large ones.
        if index.view(np.uintp).max() >= len(self.classes):
            known = (index >= 0) & (index < len(self.classes))
            self._checked(index, labels, known)
        return index

    def _by_search(self, labels):
        index = np.searchsorted(self.classes, labels)
        known = self.classes.take(index, mode="clip") == labels
        return self._checked(index, labels, known)

    def _checked(self, index, labels, known):
        if not known.all():
            raise ValueError(
                f"y_true has labels {shown(_strangers(labels[~known]))} that are not "
                f"among the classes {shown(self.classes)}."
            )
        return index


def _strangers(labels):
    return labels[:1] if labels.dtype.kind == "O" else np.unique(labels)


class KnownTargets:
    """The same for labels that have been read before."""

    fault = ""

    def __init__(self, index):
        self.index = index

    def read(self, start, stop):
        """Return the indices of rows `start` to `stop`, all of them valid."""
        return self.index[start:stop], 0


class DeviceTargets:
    """The same for labels that lie beside the probabilities, without a transfer."""

    def __init__(self, y_true, classes, xp, device):
        self.y_true, self.xp = y_true, xp
        if y_true.ndim == 2:
            self.fault = HostTargets.fault
            return
        self.fault = f"are not among the classes {shown(classes)}"
        if classes.dtype.kind not in "biuf":
            raise ValueError(f"y_true holds numbers, which {self.fault}.")
        is_float = xp.isdtype(y_true.dtype, "real floating")
        self.dtype = y_true.dtype if is_float else xp.int64
        self.classes = xp.asarray(classes.astype(np.int64), device=device)
        self.classes = xp.astype(self.classes, self.dtype)

    def read(self, start, stop):
        """Return the indices of rows `start` to `stop` and how many are not valid."""
        xp, labels = self.xp, self.y_true[start:stop, ...]
        if labels.ndim == 2:
            return _decode_one_hot(labels, xp)
        labels = xp.astype(labels, self.dtype)
        last = self.classes.shape[0] - 1
        index = xp.clip(xp.searchsorted(self.classes, labels), 0, last)
        return index, xp.count_nonzero(xp.take(self.classes, index) != labels)


def _decode_one_hot(rows, xp):
    """Position of the 1 in each row, and how many rows are not one-hot."""
    if xp is not np and xp.isdtype(rows.dtype, "bool"):
        rows = xp.astype(rows, xp.int8)
    ones, zeros = rows == 1, rows == 0
    good = (xp.count_nonzero(ones, axis=1) == 1) & xp.all(ones | zeros, axis=1)
    return xp.argmax(rows, axis=1), xp.count_nonzero(~good)
