"""Rows that belong to several series: which row comes where in which series."""

from dataclasses import dataclass

import numpy as np
from sklearn.utils import check_consistent_length


@dataclass
class Series:
    """Rows laid out series by series, each in the order of its rows.

    `order` lists the rows in that layout, or is None if they already are in it.
    """

    names: np.ndarray  # (n_series,), in the order of the layout
    sizes: np.ndarray  # (n_series,)
    order: np.ndarray | None  # (n_rows,)

    def lay_out(self, values):
        """Put values of the rows in the order of the layout."""
        return values if self.order is None else values[self.order]

    def to_row_order(self, values):
        """Put values of the layout back in the order of the rows."""
        if self.order is None:
            return values
        in_rows = np.empty_like(values)
        in_rows[self.order] = values
        return in_rows


def count_rows(X):
    """Count the rows of anything that scikit-learn can index."""
    shape = getattr(X, "shape", None)
    if shape == () or (shape is None and not hasattr(X, "__len__")):
        raise ValueError(f"X must be array-like, with rows. Got {X!r} instead.")
    return int(shape[0]) if shape else len(X)


def find_series(X, groups):
    """Lay out the rows of `X` by `groups`, or as one series if there are none."""
    n_rows = count_rows(X)
    if groups is None:
        return Series(np.zeros(1, dtype=int), np.array([n_rows]), None)
    check_consistent_length(X, groups)
    groups = np.asarray(groups)
    if groups.ndim != 1:
        raise ValueError(f"groups must be 1-dimensional. Got shape {groups.shape}.")
    try:
        starts = np.flatnonzero(np.r_[True, groups[1:] != groups[:-1]])
    except TypeError:  # pandas.NA, which `distinct` reports
        starts = np.arange(n_rows)
    names, codes = distinct(groups[starts], "groups")
    lengths = np.diff(np.r_[starts, n_rows])
    if len(starts) == len(names):  # each series is in one piece
        return Series(names[codes], lengths, None)
    if len(names) <= 1 << 16:
        codes = codes.astype(np.uint16)  # which are sorted by counting
    codes = np.repeat(codes, lengths)
    return Series(names, np.bincount(codes), np.argsort(codes, kind="stable"))


def distinct(values, name):
    """Sorted distinct values and the number of each value among them."""
    try:
        unique, codes = np.unique(values, return_inverse=True)
        is_missing = any(value is None or value != value for value in unique.tolist())
    except TypeError as exc:  # None or pandas.NA, or text beside numbers
        raise ValueError(
            f"{name} must hold values of one type, none of them missing: {exc}"
        ) from exc
    if is_missing:
        raise ValueError(f"{name} must not contain missing values.")
    return unique, codes
