"""sliding_windows against a loop, and no leak together with HBlockSplit."""

import warnings
from collections import Counter
from fractions import Fraction
from math import floor

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

from sklearn_superior.model_selection import (
    HBlockSplit,
    Windows,
    recommended_gap,
    sliding_windows,
)


def reference_windows(X, y, groups, length, step, label):
    """Windows as lists, one after the other."""
    X = X[:, None] if X.ndim == 1 else X
    names = [0] * len(X) if groups is None else list(groups)
    series = [[r for r in range(len(X)) if names[r] == g] for g in sorted(set(names))]
    if groups is not None and all(r == list(range(r[0], r[-1] + 1)) for r in series):
        series.sort()  # adjacent series stay in their order
    found = []
    for rows in series:
        for start in range(0, len(rows) - length + 1, step):
            window = rows[start : start + length]
            target = None
            if y is not None:
                counts = Counter(y[window].tolist())
                if label == "drop" and len(counts) > 1:
                    continue
                top = max(counts.values())
                target = min(k for k, n in counts.items() if n == top)
                if label == "last":
                    target = y[window[-1]]
            found.append((X[window].T, target, names[window[0]], window[0]))
    return found


@pytest.mark.filterwarnings("ignore:These groups are shorter than length")
@pytest.mark.filterwarnings("ignore:label='drop' drops all")
@given(
    seed=st.integers(0, 2**32 - 1),
    n_groups=st.integers(0, 4),
    interleaved=st.booleans(),
    n_channels=st.integers(0, 3),
    length=st.integers(1, 12),
    overlap=st.integers(0, 9900).map(lambda k: k / 10_000),
    label=st.sampled_from(["majority", "last", "drop", None]),
)
def test_windows_equal_a_loop(
    seed, n_groups, interleaved, n_channels, length, overlap, label
):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 40, max(n_groups, 1))
    assume(sizes.max() >= length)
    n_points = sizes.sum()
    groups = None
    if n_groups:
        groups = np.repeat(rng.permutation(["d", "b", "a", "c"])[:n_groups], sizes)
        groups = rng.permutation(groups) if interleaved else groups
    X = rng.normal(size=(n_points, n_channels) if n_channels else n_points)
    y = (
        None
        if label is None
        else np.array(["p", "q", "r"])[rng.integers(0, 3, n_points)]
    )
    options = {} if label is None else {"label": label}
    windows = sliding_windows(
        X, y, length=length, overlap=overlap, groups=groups, **options
    )
    step = length * (1 - Fraction(str(overlap)))
    step = max(1, floor(step + Fraction(1, 2)))
    expected = reference_windows(X, y, groups, length, step, label)
    assert isinstance(windows, Windows)
    assert windows.X.shape == (len(expected), max(n_channels, 1), length)
    assert windows.X.flags.c_contiguous
    assert windows.start.dtype == np.int64
    assert_array_equal(windows.start, [row[3] for row in expected])
    if expected:
        assert_array_equal(windows.X, [row[0] for row in expected])
    if y is None:
        assert windows.y is None
    else:
        assert_array_equal(windows.y, [row[1] for row in expected])
    if groups is None:
        assert windows.groups is None
    else:
        assert_array_equal(windows.groups, [row[2] for row in expected])


@pytest.mark.filterwarnings("ignore:These groups are shorter than length")
@given(
    seed=st.integers(0, 2**32 - 1),
    length=st.integers(1, 15),
    overlap=st.floats(0, 0.95),
    n_groups=st.integers(1, 3),
    circular=st.booleans(),
)
def test_no_time_point_is_shared_with_the_recommended_gap(
    seed, length, overlap, n_groups, circular
):
    rng = np.random.default_rng(seed)
    step = max(1, length - int(overlap * length))
    gap = recommended_gap(length, overlap)
    n_blocks = 5
    # Long enough that a gap on either side leaves rows in every part.
    sizes = rng.integers(
        20 * (gap + 1) * step + length, 30 * (gap + 1) * step + 99, n_groups
    )
    groups = np.repeat(np.arange(n_groups), sizes)
    if rng.random() < 0.5:
        groups = rng.permutation(groups)
    points = np.arange(len(groups))
    windows = sliding_windows(points, length=length, overlap=overlap, groups=groups)
    cv = HBlockSplit(n_blocks, gap=gap, circular=circular)
    for fold in cv.split_with_validation(windows.X, groups=windows.groups):
        train, validation, test = (set(windows.X[part].ravel()) for part in fold)
        assert not train & test
        assert not train & validation
        assert not validation & test


def test_one_row_less_than_the_recommended_gap_leaks():
    windows = sliding_windows(np.arange(2000), length=20, overlap=0.75)
    gap = recommended_gap(20, 0.75)
    assert gap == 3
    for smaller in (0, gap - 1):
        train, test = next(HBlockSplit(5, gap=smaller).split(windows.X))
        assert set(windows.X[train].ravel()) & set(windows.X[test].ravel())


@pytest.mark.parametrize(
    ("length", "overlap", "gap"),
    [
        (96, 0.75, 3),
        (20, 0.75, 3),
        (10, 0.75, 3),
        (90, 0.75, 3),
        (8, 0, 0),
        (8, 0.5, 1),
    ],
)
def test_the_recommended_gap_of_known_cases(length, overlap, gap):
    assert recommended_gap(length, overlap) == gap


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16, bool])
def test_the_dtype_is_kept(dtype):
    X = np.arange(20).reshape(10, 2).astype(dtype)
    assert sliding_windows(X, length=4).X.dtype == dtype


def test_data_frames_of_pandas_and_polars():
    frame = pd.DataFrame({"x": range(8), "y": range(8, 16)}, index=range(50, 58))
    y = pd.Series(list("aaaabbbb"), index=frame.index)
    expected = sliding_windows(frame.to_numpy(), list("aaaabbbb"), length=4)
    for X, target in [(frame, y), (pl.from_pandas(frame), pl.Series(list("aaaabbbb")))]:
        windows = sliding_windows(X, target, length=4)
        assert_array_equal(windows.X, expected.X)
        assert_array_equal(windows.y, expected.y)


def test_labels_of_mixed_windows():
    y = np.array([0, 0, 1, 1, 1, 2])
    options = {"length": 4, "overlap": 0.75}
    assert_array_equal(sliding_windows(y, y, **options, label="majority").y, [0, 1, 1])
    assert_array_equal(sliding_windows(y, y, **options, label="last").y, [1, 1, 2])
    with pytest.warns(UserWarning, match="label='drop' drops all 3 windows") as caught:
        assert len(sliding_windows(y, y, **options, label="drop").X) == 0
    assert caught[0].filename == __file__
    kept = sliding_windows(y, y, length=3, overlap=0.67, label="drop")
    assert_array_equal(kept.start, [2])


def test_short_groups_are_named():
    groups = np.array(["long"] * 9 + ["tiny"] * 2 + ["small"] * 3)
    message = "These groups are shorter than length=4 and .*: 'tiny', 'small'"
    with pytest.warns(UserWarning, match=message) as caught:
        windows = sliding_windows(np.zeros(14), length=4, groups=groups)
    assert set(windows.groups) == {"long"}
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        (np.zeros(9), {"length": 0}, r"'length' .*\[1, inf\). Got 0"),
        (np.zeros(9), {"length": 2.5}, "'length' .* Got 2.5"),
        (np.zeros(9), {"length": 4, "overlap": 1}, r"'overlap' .*\[0.0, 1.0\). Got 1"),
        (np.zeros(9), {"length": 4, "overlap": -0.1}, "'overlap' .* Got -0.1"),
        (np.zeros(9), {"length": 4, "overlap": "half"}, "'overlap' .* Got 'half'"),
        (np.zeros(9), {"length": 4, "label": "first"}, "'label' .* Got 'first'"),
        (np.zeros((3, 3, 3)), {"length": 2}, r"X must be .* Got shape \(3, 3, 3\)"),
        (np.zeros(0), {"length": 2}, r"X must be a non-empty .* Got shape \(0,\)"),
        (np.zeros(9), {"length": 10}, "No window of length=10 fits: .* has 9 time"),
        (np.zeros(9), {"length": 2, "y": [1]}, "inconsistent numbers of samples"),
        (np.zeros(9), {"length": 2, "y": np.ones((9, 2))}, "y should be a 1d array"),
        (np.zeros(9), {"length": 2, "y": np.arange(9) / 2}, "is continuous. Use label"),
        (np.zeros(9), {"length": 2, "y": ["a"] * 8 + [None]}, "y must .* missing"),
        (np.zeros(9), {"length": 2, "y": [0.0] * 8 + [np.nan]}, "y contains NaN"),
        (np.zeros(9), {"length": 2, "groups": [1]}, "inconsistent numbers of samples"),
        (np.zeros(9), {"length": 2, "groups": [1] * 4 + [None] * 5}, "groups must"),
    ],
)
def test_bad_input_is_reported(X, options, message):
    with pytest.raises(ValueError, match=message):
        sliding_windows(X, **options)


@pytest.mark.parametrize("X", [csr_array(np.eye(3)), pl.LazyFrame({"x": [1, 2]})])
def test_sparse_and_lazy_data_is_refused(X):
    with pytest.raises(
        TypeError, match="X must be dense. Got a sparse csr|array-like. Got a Lazy"
    ):
        sliding_windows(X, length=2)


def test_last_label_may_be_continuous():
    y = np.arange(6) / 2
    assert_array_equal(sliding_windows(y, y, length=4, label="last").y, [1.5, 2, 2.5])


@pytest.mark.parametrize(
    ("length", "overlap", "step"),
    [(100, 0.29, 71), (10, 0.75, 3), (90, 0.75, 23), (5, 0.1, 5), (4, 0.99, 1)],
)
def test_the_step_is_the_nearest_one(length, overlap, step):
    windows = sliding_windows(np.arange(300.0), length=length, overlap=overlap)
    assert set(np.diff(windows.start)) == {step}
    assert recommended_gap(length, overlap) == -(-length // step) - 1


def test_text_columns_are_refused():
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "who": ["a", "b", "a"]})
    with pytest.raises(ValueError, match="X must be numeric. Got dtype object"):
        sliding_windows(frame, length=2)
    with pytest.raises(ValueError, match="X must be numeric. Got dtype <U1"):
        sliding_windows(np.array(["a", "b", "c"]), length=2)


def as_text(times):
    return [f"2026-11-17T{int(t):02}:00" for t in times]


@pytest.mark.parametrize(
    "convert",
    [
        np.asarray,
        list,
        as_text,
        lambda t: np.datetime64("2026-11-17") + np.asarray(t).astype("timedelta64[h]"),
        lambda t: (
            pd.Series(pd.Timestamp("2026-11-17", tz="UTC")).repeat(len(t))
            + pd.to_timedelta(np.asarray(t), unit="h")
        ),
    ],
)
def test_times_that_step_back_are_reported(convert):
    X, groups = np.arange(12.0), np.repeat(["a", "b"], 6)
    times = np.r_[5:11, 0:6].astype(float)  # another series may begin earlier
    expected = sliding_windows(X, length=3, groups=groups)
    checked = sliding_windows(X, length=3, groups=groups, times=convert(times))
    assert_array_equal(checked.X, expected.X)
    times[8] = times[7]  # equal times do not step back
    sliding_windows(X, length=3, groups=groups, times=convert(times))
    times[9] = 0
    with pytest.raises(
        ValueError, match=r"times must not be missing or decrease.*group 'b'"
    ):
        sliding_windows(X, length=3, groups=groups, times=convert(times))
    # Rows of series that are not adjacent are compared with their own.
    order = np.argsort(np.tile(np.arange(6), 2), kind="stable")
    mixed = {"groups": groups[order]}
    sliding_windows(X, length=3, times=convert(np.repeat(np.arange(6.0), 2)), **mixed)
    with pytest.raises(ValueError, match=r"rows: sort X"):
        sliding_windows(X, length=3, times=convert(np.tile(np.arange(6.0), 2)))


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ([0.0, np.nan, 1.0], "times must not be missing .* Got nan after 0.0"),
        (
            np.array(["2026", "NaT", "2027"], dtype="datetime64[Y]"),
            "must not be missing.* Got NaT",
        ),
        ([0.0, 1.0], "inconsistent numbers of samples"),
        (np.zeros((3, 2)), "should be a 1d array"),
        (
            np.array([1, None, 2], dtype=object),
            "must be all numbers, all dates",
        ),
        (["9:45", "10:00", "10:15"], "or use text that sorts chronologically"),
    ],
)
def test_bad_times_are_reported(times, message):
    with pytest.raises(ValueError, match=message):
        sliding_windows(np.arange(3.0), length=2, times=times)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int64])
def test_numpy_numbers_count_as_python_numbers_do(dtype):
    gap = recommended_gap(dtype(96), 0.75)
    assert (gap, type(gap)) == (3, int)
    assert recommended_gap(dtype(96), np.float16(0.75)) == 3
    windows = sliding_windows(np.arange(300.0), length=dtype(96), overlap=0.75)
    assert_array_equal(windows.start, np.arange(0, 205, 24))


def test_a_window_may_be_longer_than_the_largest_half_precision_number():
    assert recommended_gap(200_000, np.float16(0.75)) == 3


@pytest.mark.parametrize(
    "convert",
    [
        lambda y: pd.Series(y, dtype="Int64"),
        lambda y: pd.Series(y, dtype="int64[pyarrow]"),
        lambda y: pl.Series(y),
        lambda y: np.array(y, dtype=object),
        np.array,
    ],
)
@pytest.mark.parametrize("label", ["majority", "last", "drop"])
def test_large_integers_stay_different_labels(convert, label):
    y = [2**53] * 4 + [2**53 + 1] * 4
    windows = sliding_windows(
        np.zeros(8), convert(y), length=4, overlap=0, label=label, groups=convert(y)
    )
    assert windows.y.tolist() == [2**53, 2**53 + 1]
    assert windows.groups.tolist() == [2**53, 2**53 + 1]


@pytest.mark.parametrize(
    ("dtypes", "expected"),
    [
        (["Int64", "Int64"], np.int64),
        (["Float32", "Float32"], np.float32),
        (["boolean", "boolean"], bool),
        (["float[pyarrow]", "float[pyarrow]"], np.float32),
        (["Int16", "float32"], np.float32),
        (["UInt8", "Int8"], np.int16),
    ],
)
def test_frames_of_nullable_columns(dtypes, expected):
    values = np.array([[0, 1], [1, 0], [1, 1], [0, 0]])
    columns = {k: pd.Series(values[:, k], dtype=dtypes[k]) for k in (0, 1)}
    windows = sliding_windows(pd.DataFrame(columns), length=2, overlap=0)
    assert windows.X.dtype == expected
    assert_array_equal(windows.X, sliding_windows(values, length=2, overlap=0).X)


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("X", np.ma.masked_equal(np.arange(4), 2), "X must not have masked values"),
        ("y", np.ma.masked_equal(np.arange(4), 2), "y must not have masked values"),
        ("groups", np.ma.masked_equal([0, 0, 1, 1], 1), "groups must not have masked"),
        ("times", np.ma.masked_equal(np.arange(4), 2), "times must not have masked"),
        ("X", pd.array([1, None, 2, 3], dtype="Int64"), "X must not contain missing"),
        ("y", pd.array([1, None, 2, 3], dtype="Int64"), "y must not contain missing"),
        ("times", pd.array([1, None, 2, 3], dtype="Int64"), "times must not .* miss"),
    ],
)
def test_what_is_masked_or_missing_is_not_read_through(name, values, message):
    with pytest.raises(ValueError, match=message):
        sliding_windows(**{"X": np.zeros(4), name: values}, length=2)


@pytest.mark.parametrize("dtype", [object, "category", "string"])
def test_short_groups_of_text_are_named(dtype):
    groups = pd.Series(["long"] * 9 + ["tiny"] * 2, dtype=dtype)
    with pytest.warns(UserWarning, match="yield no window: 'tiny'"):
        windows = sliding_windows(np.zeros(11), length=4, groups=groups)
    assert set(windows.groups) == {"long"}
    times = np.r_[0:9, 1, 0]
    with pytest.raises(ValueError, match="decrease .* of group 'tiny'"):
        sliding_windows(np.zeros(11), length=1, groups=groups, times=times)


def majority_by_counting(y, start, length):
    """Count the labels of each window; of several, the least one wins."""
    labels = []
    for begin in start:
        counts = Counter(y[begin : begin + length])
        labels.append(min(counts, key=lambda label: (-counts[label], label)))
    return labels


@given(
    seed=st.integers(0, 10**6),
    n_rows=st.integers(1, 80),
    n_labels=st.integers(1, 90),
    length=st.integers(1, 30),
    overlap=st.sampled_from([0, 0.3, 0.5, 0.75, 0.99]),
    n_groups=st.integers(1, 4),
    stays=st.sampled_from([1, 7]),
)
def test_majority_labels_are_those_found_by_counting(
    seed, n_rows, n_labels, length, overlap, n_groups, stays
):
    rng = np.random.default_rng(seed)
    groups = np.sort(rng.integers(0, n_groups, n_rows))
    y = np.repeat(rng.integers(0, n_labels, n_rows), stays)[:n_rows]
    assume(np.bincount(groups).max() >= length)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of short groups
        windows = sliding_windows(
            np.zeros(n_rows), y, length=length, overlap=overlap, groups=groups
        )
    assert windows.y.tolist() == majority_by_counting(y, windows.start, length)


def test_majority_of_many_labels():
    y = np.random.default_rng(0).integers(0, 500, 2000)
    found = sliding_windows(y, y, length=50, overlap=0.9).y
    assert found.tolist() == majority_by_counting(y, range(0, 1951, 5), 50)
