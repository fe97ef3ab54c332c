"""Sliding windows over series that never cross from one series into another."""

from math import floor
from numbers import Real
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import column_or_1d

from sklearn_superior.model_selection._series import find_series
from sklearn_superior.utils._arrays import read_array
from sklearn_superior.utils._checks import check_column
from sklearn_superior.utils._sklearn_compat import (
    Interval,
    StrOptions,
    check_parameters,
    integer_from,
)
from sklearn_superior.utils._warnings import warn

_LABEL = {"label": [StrOptions({"majority", "last", "drop"})]}
_CONSTRAINTS = {
    "length": [integer_from(1)],
    "overlap": [Interval(Real, 0, 1, closed="left")],
}


class Windows(NamedTuple):
    """Windows of series, as returned by `sliding_windows`.

    Attributes
    ----------
    X : ndarray of shape (n_windows, n_channels, length)
        The samples.

    y : ndarray of shape (n_windows,) or None
        The label of each window, if labels were given.

    groups : ndarray of shape (n_windows,) or None
        The series of each window, if groups were given.

    start : ndarray of int64 of shape (n_windows,)
        The row of each window's first sample.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_superior.model_selection import sliding_windows
    >>> windows = sliding_windows(np.arange(6), length=4, overlap=0.5)
    >>> windows.start
    array([0, 2])
    """

    X: np.ndarray
    y: np.ndarray | None
    groups: np.ndarray | None
    start: np.ndarray


def sliding_windows(
    X, y=None, *, length, overlap=0.75, groups=None, label="majority", times=None
):
    """Cut series into overlapping windows of equal length.

    Parameters
    ----------
    X : array-like of shape (n_timepoints, n_channels) or (n_timepoints,)
        One or more series, in time order.

    y : array-like of shape (n_timepoints,), default=None
        Labels of the time points.

    length : int
        Number of time points in a window.

    overlap : float, default=0.75
        Share of a window that the next one repeats, in [0, 1). Windows start every
        ``length * (1 - overlap)`` time points, rounded to the nearest integer (halves
        up), and at least 1.

    groups : array-like of shape (n_timepoints,), default=None
        The series of each time point; no window holds points of two series. If None,
        `X` is one series. The points of a series need not be adjacent.

    label : {"majority", "last", "drop"}, default="majority"
        The label of a window: the most frequent one (the first in sorted order if
        tied), the one of the last time point, or the only one, dropping windows with
        mixed labels.

    times : array-like of shape (n_timepoints,), default=None
        The time of each time point: numbers, dates or text that sorts chronologically.
        Only used for validation: times must not decrease within a series.

    Returns
    -------
    windows : Windows
        Named tuple ``(X, y, groups, start)`` with `X` of shape (n_windows,
        n_channels, length) and with the dtype of the input. `start` is the row of each
        window's first point. `y` and `groups` are None if not given.

    Warns
    -----
    UserWarning
        If series are shorter than `length` and yield no window.

    See Also
    --------
    HBlockSplit : Folds of windows without leakage.
    recommended_gap : The gap that keeps overlapping windows apart.

    Notes
    -----
    Points after the last whole window of a series are dropped. Windows are ordered by
    series: as in `X` if the points of each series are adjacent, otherwise by sorted
    groups.

    Examples
    --------
    One series of ten time points. Windows of four points that overlap by half start at
    every second point:

    >>> import numpy as np
    >>> from sklearn_superior.model_selection import sliding_windows
    >>> signal = np.arange(10)
    >>> activity = np.repeat(["rest", "walk"], [3, 7])
    >>> windows = sliding_windows(signal, activity, length=4, overlap=0.5)
    >>> windows.X[:, 0]  # the first channel
    array([[0, 1, 2, 3],
           [2, 3, 4, 5],
           [4, 5, 6, 7],
           [6, 7, 8, 9]])
    >>> windows.y  # the most frequent label of each window
    array(['rest', 'walk', 'walk', 'walk'], dtype='<U4')

    Two recordings in one table: no window crosses from one into the other, and points
    left over at the end are dropped.

    >>> recording = np.repeat(["a", "b"], 5)
    >>> windows = sliding_windows(signal, length=4, overlap=0.5, groups=recording)
    >>> windows.X[:, 0]
    array([[0, 1, 2, 3],
           [5, 6, 7, 8]])
    >>> windows.groups
    array(['a', 'b'], dtype='<U1')

    Most classifiers need 2D data: ``windows.X.reshape(len(windows.X), -1)``. Since
    windows share samples, cross-validation needs a gap: see `HBlockSplit`.
    """
    checked = check_parameters("sliding_windows", _CONSTRAINTS | _LABEL, locals())
    length = checked["length"]
    X = read_array(X, "X")
    if X.ndim not in (1, 2) or 0 in X.shape:
        raise ValueError(
            "X must be a non-empty array of shape (n_timepoints,) or (n_timepoints, "
            f"n_channels). Got shape {X.shape}."
        )
    if X.dtype.kind not in "biufc":
        raise ValueError(
            f"X must be numeric. Got dtype {X.dtype}: drop, encode or convert columns "
            "with text."
        )
    step = _step(length, checked["overlap"])
    series = find_series(X, groups)
    if times is not None:
        _check_times(times, X, series, named=groups is not None)
    begin, owner = _window_starts(series, length, step, named=groups is not None)
    window_y = None
    if y is not None:
        labels, codes = _encode_labels(X, y, label)
        codes, is_kept = _label_windows(series.lay_out(codes), begin, length, label)
        begin, owner, window_y = begin[is_kept], owner[is_kept], labels[codes[is_kept]]
    return Windows(
        X=_take_windows(series.lay_out(X), begin, length),
        y=window_y,
        groups=None if groups is None else series.names[owner],
        start=begin if series.order is None else series.order[begin],
    )


def recommended_gap(length, overlap):
    """Return how many of the next windows share samples with a given window.

    Use it as the `gap` of `HBlockSplit`: no time point is then in both training and
    test windows.

    Parameters
    ----------
    length : int
        Number of time points in a window.

    overlap : float
        Share of a window that the next one repeats, in [0, 1).

    Returns
    -------
    gap : int
        ``ceil(length / step) - 1`` with the step of `sliding_windows`.

    Examples
    --------
    >>> from sklearn_superior.model_selection import recommended_gap
    >>> recommended_gap(length=96, overlap=0.75)
    3
    >>> recommended_gap(length=96, overlap=0)
    0
    """
    checked = check_parameters("recommended_gap", _CONSTRAINTS, locals())
    return -(-checked["length"] // _step(**checked)) - 1


def _step(length, overlap):
    """Return the number of time points from one window to the next."""
    # 96 * (1 - 0.9) is 9.599999999999998: rounding to 9 digits removes the error.
    return max(1, floor(round(length * (1 - overlap), 9) + 0.5))


def _window_starts(series, length, step, *, named):
    """Return the first point of each window in the layout, and its series."""
    sizes = series.sizes
    is_short = sizes < length
    if is_short.all():
        raise ValueError(
            f"No window of length={length} fits: the longest series has "
            f"{sizes.max()} time points."
        )
    if named and is_short.any():
        names = ", ".join(map(series.name, np.flatnonzero(is_short)[:10]))
        dots = ", …" if is_short.sum() > 10 else ""
        warn(
            f"These groups are shorter than length={length} and yield no window: "
            f"{names}{dots}."
        )
    counts = np.where(is_short, 0, (sizes - length) // step + 1)
    owner = np.repeat(np.arange(len(sizes)), counts)
    number = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    return (np.cumsum(sizes) - sizes)[owner] + number * step, owner


def _check_times(times, X, series, *, named):
    """Raise an error if times are missing or decrease within a series."""
    check_consistent_length(X, times)
    times = series.lay_out(column_or_1d(read_array(times, "times")))
    ends = np.cumsum(series.sizes)[:-1]
    try:
        # NaN and NaT are not in order with anything.
        in_order = np.asarray(times[1:] >= times[:-1], dtype=bool)
    except TypeError as exc:
        raise ValueError(
            f"times must be all numbers, all dates or all text: {exc}."
        ) from exc
    in_order[ends - 1] = True  # a new series may start at an earlier time
    if not in_order.all():
        place = int(in_order.argmin())
        owner = np.searchsorted(ends, place, side="right")
        where = f" of group {series.name(owner)}" if named else ""
        raise ValueError(
            "times must not be missing or decrease within a series. Got "
            f"{times[place + 1]} after {times[place]} in the rows{where}: sort X, y "
            "and groups by time, or use text that sorts chronologically."
        )


def _encode_labels(X, y, label):
    """Return the distinct labels, and the index of each point's label among them."""
    check_consistent_length(X, y)
    y = check_column(column_or_1d(read_array(y, "y")), "y")
    labels, codes = np.unique(y, return_inverse=True)
    if label != "last" and labels.dtype.kind == "f" and np.any(labels % 1):
        raise ValueError(
            f"label={label!r} requires class labels, but y is continuous. "
            "Use label='last'."
        )
    return labels, codes


def _label_windows(codes, begin, length, label):
    """Return the code of each window's label, and which windows to keep."""
    keep_all = np.ones(len(begin), dtype=bool)
    if label == "last":
        return codes[begin + length - 1], keep_all
    if label == "drop":
        n_changes = np.concatenate([[0], np.cumsum(codes[1:] != codes[:-1])])
        is_pure = n_changes[begin] == n_changes[begin + length - 1]
        if not is_pure.any():
            warn(f"label='drop' drops all {len(begin)} windows: all have mixed labels.")
        return codes[begin], is_pure
    return _most_frequent(codes, begin, length), keep_all


def _most_frequent(codes, begin, length):
    """Return the most frequent code of each window, the smallest one of ties.

    Counting one label at a time is fast for dozens of labels and needs little memory.
    """
    best, most = np.zeros((2, len(begin)), dtype=np.int64)
    n_before = np.zeros(len(codes) + 1, dtype=np.int64)
    for code in range(codes.max() + 1):
        np.cumsum(codes == code, out=n_before[1:])
        count = n_before[begin + length] - n_before[begin]
        best[count > most] = code
        np.maximum(most, count, out=most)
    return best


def _take_windows(X, begin, length):
    """Copy the windows."""
    # Each channel is made contiguous first: windows are then copied in long runs.
    channels = np.ascontiguousarray(X.T.reshape(-1, len(X)))
    views = np.lib.stride_tricks.sliding_window_view(channels, length, axis=1)
    return views.transpose(1, 0, 2)[begin]
