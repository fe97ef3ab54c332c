"""The series that the rows of a data set belong to."""

from dataclasses import dataclass

import numpy as np

from sklearn_superior.utils._checks import check_groups
from sklearn_superior.utils._sklearn_compat import count_rows


@dataclass
class Series:
    """A layout of rows, series by series, in their original order within each.

    `order` lists the rows in that layout; None if they already are in it.
    """

    names: np.ndarray  # (n_series,), in the order of the layout
    sizes: np.ndarray  # (n_series,)
    order: np.ndarray | None  # (n_rows,)

    def lay_out(self, values):
        """Reorder values of the rows to the layout."""
        return values if self.order is None else values[self.order]

    def name(self, number):
        """Return the name of a series for messages."""
        name = self.names[number]
        if isinstance(name, np.datetime64 | np.timedelta64):
            return str(name)
        return repr(name.item() if isinstance(name, np.generic) else name)

    def to_row_order(self, values):
        """Reorder values in the layout back to the rows."""
        if self.order is None:
            return values
        in_rows = np.empty_like(values)
        in_rows[self.order] = values
        return in_rows


def find_series(X, groups):
    """Lay out the rows of `X` by `groups`; without groups they are one series."""
    try:
        n_rows = count_rows(X)
    except TypeError as exc:
        message = f"X must be an array-like with rows. Got {X!r}."
        raise ValueError(message) from exc
    groups = check_groups(groups, X)
    if groups is None:
        return Series(np.zeros(1, dtype=int), np.array([n_rows]), None)
    starts = np.flatnonzero(np.r_[True, groups[1:] != groups[:-1]])
    names, codes = np.unique(groups[starts], return_inverse=True)
    lengths = np.diff(np.r_[starts, n_rows])
    if len(starts) == len(names):  # each series is in one piece
        return Series(names[codes], lengths, None)
    if len(names) <= 1 << 16:
        codes = codes.astype(np.uint16)  # NumPy sorts 16-bit integers in linear time
    codes = np.repeat(codes, lengths)
    return Series(names, np.bincount(codes), np.argsort(codes, kind="stable"))
