"""Windows that slide over series and never cross from one into another."""

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

_MAX_PAIRS = 1 << 20  # of windows and labels that are held at once
_LABEL = {"label": [StrOptions({"majority", "last", "drop"})]}
_CONSTRAINTS = {
    "length": [integer_from(1)],
    "overlap": [Interval(Real, 0, 1, closed="left")],
}


class Windows(NamedTuple):
    """Windows of series, as `sliding_windows` returns them.

    Attributes
    ----------
    X : ndarray of shape (n_windows, n_channels, length)
        The samples.

    y : ndarray of shape (n_windows,) or None
        The label of each window, if there are labels.

    groups : ndarray of shape (n_windows,) or None
        The series of each window, if there are groups.

    start : ndarray of int64 of shape (n_windows,)
        The row of the first sample of each window.

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
        Share of a window that the next one repeats, in [0, 1). Windows begin every
        ``length * (1 - overlap)`` time points, rounded to the nearest integer, halves
        up, and at least 1.

    groups : array-like of shape (n_timepoints,), default=None
        The series of every time point; no window holds points of two. If None, all
        of `X` is one series. Points of a series need not be adjacent.

    label : {"majority", "last", "drop"}, default="majority"
        The label of a window: the most frequent one (of several, the first in
        sorted order), that of the last time point, or the only one, with windows
        of mixed labels dropped.

    times : array-like of shape (n_timepoints,), default=None
        The time of every time point: numbers, dates or text that sorts as time does.
        It is used to check only: a time that steps back within a series is an error.

    Returns
    -------
    windows : Windows
        Named tuple ``(X, y, groups, start)`` with `X` of shape (n_windows,
        n_channels, length) and of the same dtype. `start` is the row of each
        window's first point. `y` and `groups` are None if they were not given.

    Warns
    -----
    UserWarning
        Names the series that are shorter than `length` and yield no window.

    See Also
    --------
    HBlockSplit : Folds of windows that do not leak.
    recommended_gap : How many windows share samples with the next ones.

    Notes
    -----
    What remains of a series behind the last whole window is dropped. Windows come
    series by series: in the order of `X` where the points of each series are
    adjacent, else in that of the sorted groups.

    Examples
    --------
    One series of ten time points. Windows of four that overlap by half begin at every
    second point:

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
    >>> windows.y  # the most frequent label of each
    array(['rest', 'walk', 'walk', 'walk'], dtype='<U4')

    Two recordings in one table: no window crosses from one into the other, and a rest
    that is shorter than a window is dropped.

    >>> recording = np.repeat(["a", "b"], 5)
    >>> windows = sliding_windows(signal, length=4, overlap=0.5, groups=recording)
    >>> windows.X[:, 0]
    array([[0, 1, 2, 3],
           [5, 6, 7, 8]])
    >>> windows.groups
    array(['a', 'b'], dtype='<U1')

    Most classifiers need two dimensions: ``windows.X.reshape(len(windows.X), -1)``. The
    folds need a gap, because windows share samples: see `HBlockSplit`.
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
            f"X must hold numbers. Got dtype {X.dtype}, as of columns with text: "
            "drop, encode or convert them."
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
    """Return how many following windows share a sample with a window.

    This is the `gap` of `HBlockSplit` with which no time point is in both the
    training and the test windows.

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
    """Time points from one window to the next."""
    # Multiples of 1e-9 are far below any step that is meant, and above rounding errors.
    return max(1, floor(round(length * (1 - overlap), 9) + 0.5))


def _window_starts(series, length, step, *, named):
    """First point of every window in the layout, and the series it is of."""
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
            f"Groups that are shorter than length={length} and yield no window: "
            f"{names}{dots}.",
        )
    counts = np.where(is_short, 0, (sizes - length) // step + 1)
    owner = np.repeat(np.arange(len(sizes)), counts)
    number = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    return (np.cumsum(sizes) - sizes)[owner] + number * step, owner


def _check_times(times, X, series, *, named):
    """Raise an error if time is missing or steps back within a series."""
    check_consistent_length(X, times)
    times = read_array(times, "times")
    if times.ndim != 1:
        raise ValueError(f"times must have one column. Got shape {times.shape}.")
    is_missing = times != times  # as NaN and NaT are
    if is_missing.any():
        raise ValueError(f"times must not be missing. Row {is_missing.argmax()} is.")
    times = series.lay_out(times)
    ends = np.cumsum(series.sizes)[:-1]
    try:
        steps_back = np.asarray(times[1:] < times[:-1], dtype=bool)
    except TypeError as exc:
        raise ValueError(
            f"times must hold numbers, dates or text, all of one kind: {exc}."
        ) from exc
    steps_back[ends - 1] = False  # where another series begins
    if steps_back.any():
        place = int(steps_back.argmax())
        owner = np.searchsorted(ends, place, side="right")
        where = f" of group {series.name(owner)}" if named else ""
        raise ValueError(
            f"times must not step back within a series. {times[place + 1]} follows "
            f"{times[place]} in the rows{where}: sort X, y and groups by time first, "
            "or give text that sorts as time does."
        )


def _encode_labels(X, y, label):
    """Distinct labels, and the number of each point's label among them."""
    check_consistent_length(X, y)
    y = check_column(column_or_1d(read_array(y, "y")), "y")
    labels, codes = np.unique(y, return_inverse=True)
    if label != "last" and labels.dtype.kind == "f" and np.any(labels % 1):
        raise ValueError(
            f"label={label!r} needs class labels, but y is continuous. "
            "Use label='last'."
        )
    return labels, codes


def _label_windows(codes, begin, length, label):
    """Code of each window's label, and which windows to keep."""
    keep_all = np.ones(len(begin), dtype=bool)
    if label == "last":
        return codes[begin + length - 1], keep_all
    if label == "drop":
        n_changes = np.concatenate([[0], np.cumsum(codes[1:] != codes[:-1])])
        is_pure = n_changes[begin] == n_changes[begin + length - 1]
        if not is_pure.any():
            warn(
                f"label='drop' drops all {len(begin)} windows: each has mixed labels.",
            )
        return codes[begin], is_pure
    return _most_frequent(codes, begin, length), keep_all


def _most_frequent(codes, begin, length):
    """Most frequent code of each window, the least of several.

    The rows are sorted by their codes. A row that is the first of its code in a window
    makes a pair of both, and the rest of that code in the window follows it.
    """
    n_rows, n_codes = len(codes), int(codes.max()) + 1
    small = codes.astype(np.uint16) if n_codes <= 1 << 16 else codes  # sorts faster
    rows = np.argsort(small, kind="stable")
    codes = codes[rows]
    places = codes * n_rows + rows  # ascending
    n_begun = np.cumsum(np.bincount(begin, minlength=n_rows))
    end = n_begun[rows]  # the windows from `first` to `end` hold the row
    first = np.where(rows < length, 0, n_begun[rows - length])
    same = codes[1:] == codes[:-1]
    first[1:] = np.maximum(first[1:], np.where(same, end[:-1], 0))
    counts = end - first
    best = np.zeros(len(begin), dtype=np.int64)
    for part in _parts(counts):
        n_pairs = counts[part]
        place = np.repeat(part, n_pairs)
        number = np.arange(len(place)) - np.repeat(
            np.cumsum(n_pairs) - n_pairs, n_pairs
        )
        window, code = first[place] + number, codes[place]
        behind = np.searchsorted(places, code * n_rows + begin[window] + length)
        # The largest count wins and, of equal ones, the least code.
        np.maximum.at(best, window, (behind - place) * n_codes + n_codes - 1 - code)
    return n_codes - 1 - best % n_codes


def _parts(counts):
    """Split the places with a positive count into parts of about `_MAX_PAIRS`."""
    places = np.flatnonzero(counts)
    number = (np.cumsum(counts[places]) - 1) // _MAX_PAIRS
    return np.split(places, np.flatnonzero(np.diff(number)) + 1)


def _take_windows(X, begin, length):
    """Copy the windows, read from memory where a channel's samples are adjacent."""
    channels = np.ascontiguousarray(X.T.reshape(-1, len(X)))
    views = np.lib.stride_tricks.sliding_window_view(channels, length, axis=1)
    return views.transpose(1, 0, 2)[begin]
