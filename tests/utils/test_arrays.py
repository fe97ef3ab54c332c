"""Every kind of table against the plain array that it was made of."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from sklearn_superior.utils._arrays import read_array, read_numbers

BIG = 2**53 + 1  # which float64 does not hold

NULLABLE = {
    "pandas": lambda v, d: pd.Series(v, dtype=d.capitalize().replace("Ui", "UI")),
    "pandas arrow": lambda v, d: pd.Series(v, dtype=pd.ArrowDtype(arrow_type(d))),
    "polars": lambda v, d: pl.Series(v, dtype=getattr(pl, polars_name(d))),
    "pyarrow": lambda v, d: pa.array(v, type=arrow_type(d)),
    "pyarrow chunks": lambda v, d: pa.chunked_array([pa.array(v, type=arrow_type(d))]),
}
kinds = pytest.mark.parametrize("kind", NULLABLE)
dtypes = pytest.mark.parametrize(
    "dtype", ["float32", "float64", "int64", "uint64", "int8"]
)


def arrow_type(dtype):
    return pa.from_numpy_dtype(np.dtype(dtype))


def polars_name(dtype):
    return dtype.capitalize().replace("Ui", "UI")


def values_of(dtype):
    return [0.1, 1.0, 0.0] if "float" in dtype else [BIG if "64" in dtype else 7, 1, 0]


@kinds
@dtypes
def test_columns_keep_their_dtype_and_every_digit(kind, dtype):
    values = values_of(dtype)
    expected = np.array(values, dtype=dtype)
    array = read_array(NULLABLE[kind](values, dtype), "y")
    assert type(array) is np.ndarray
    assert array.dtype == dtype
    assert_array_equal(array, expected)


@kinds
@dtypes
def test_what_is_missing_is_an_error(kind, dtype):
    values = values_of(dtype)
    values[1] = None
    column = NULLABLE[kind](values, dtype)
    with pytest.raises(ValueError, match="^y must not contain missing values"):
        read_array(column, "y")


@kinds
def test_frames_keep_the_dtype_of_their_columns(kind):
    first, second, with_gap = [0.25, 0.1, 0.5], [0.75, 0.3, 1.0], [0.75, 0.1, None]
    make = {"polars": pl.DataFrame, "pandas": pd.DataFrame}.get(
        kind.split()[0], pa.table
    )
    a, b, c = (NULLABLE[kind](v, "float32") for v in (first, second, with_gap))
    array = read_array(make({"a": a, "b": b}), "X")
    expected = np.array([first, second], dtype=np.float32).T
    assert_array_equal(array, expected, strict=True)
    with pytest.raises(ValueError, match="^X must not contain missing values"):
        read_array(make({"a": a, "c": c}), "X")


def test_plain_frames_and_mixed_ones():
    frame = pd.DataFrame({"a": [1, 2], "b": [0.5, 0.25]})
    assert_array_equal(read_array(frame, "X"), frame.to_numpy())
    plain = pd.DataFrame(np.eye(3))
    assert_array_equal(read_array(plain, "X"), np.eye(3))
    mixed = pd.DataFrame(
        {"a": pd.Series([BIG], dtype="Int64"), "b": pd.Series([2**64 - 1], dtype="u8")}
    )
    assert read_array(mixed, "X").tolist() == [[BIG, 2**64 - 1]]
    assert read_array(pd.DataFrame(index=range(3)), "X").shape == (3, 0)
    text = pd.DataFrame({"a": ["x"], "b": [1]})
    assert read_array(text, "X").tolist() == [["x", 1]]


def test_categories_of_any_type():
    for categories in (
        ["b", "a"],
        [BIG, 1],
        pd.array([BIG, 1], dtype="Int64"),
        [True, False],
    ):
        column = pd.Series(pd.Categorical(categories))
        array = read_array(column, "y")
        assert array.tolist() == list(categories)
    gap = pd.Series(pd.Categorical(["a", None]))
    with pytest.raises(ValueError, match="y must not contain missing values"):
        read_array(gap, "y")
    assert read_array(pl.Series(["b", "a"], dtype=pl.Categorical), "y").tolist() == [
        "b",
        "a",
    ]


def test_masked_values_are_an_error():
    masked = np.ma.masked_equal(np.array([[1, 2], [3, 4]], dtype=np.int32), 3)
    with pytest.raises(ValueError, match="X must not have masked values"):
        read_array(masked, "X")
    whole = np.ma.MaskedArray([1.0, 2.0])
    assert type(read_array(whole, "X")) is np.ndarray


def test_numbers_that_are_objects():
    assert read_numbers([Decimal("0.5"), Fraction(1, 4)], "X").tolist() == [0.5, 0.25]
    exact = read_numbers(np.array([BIG, 2**63 - 1], dtype=object), "y")
    assert exact.tolist() == [BIG, 2**63 - 1]
    assert read_numbers(np.array([2**70], dtype=object), "y").dtype == np.float64
    with_none = np.array([0.5, None], dtype=object)
    assert np.isnan(read_numbers(with_none, "X")[1])
    for bad in (np.array(["a", 1], dtype=object), ["a", "b"]):
        with pytest.raises(TypeError, match="X must hold (real )?numbers"):
            read_numbers(bad, "X")
    masked = np.ma.MaskedArray(np.array([1, None], dtype=object), [False, True])
    with pytest.raises(ValueError, match="X must not have masked values"):
        read_numbers(masked, "X")


@given(
    values=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1),
    has_gap=st.booleans(),
)
def test_integers_are_exact_in_all_libraries(values, has_gap):
    for make in NULLABLE.values():
        assert read_array(make(values, "int64"), "y").tolist() == values
        if has_gap:
            with pytest.raises(ValueError, match="y must not contain missing values"):
                read_array(make([*values, None], "int64"), "y")


def test_text_is_read_as_it_was():
    for column in (
        pd.Series(["a", "b"]),
        pd.Series(["a", "b"], dtype="string"),
        pl.Series(["a", "b"]),
        pa.array(["a", "b"]),
    ):
        assert read_array(column, "y").tolist() == ["a", "b"]
    columns = [
        pd.Series(["a", None]),
        pd.Series(["a", None], dtype="string"),
        pl.Series(["a", None]),
        pa.array(["a", None]),
    ]
    if columns[0].dtype == object:  # before pandas 3; None is a value among objects
        assert read_array(columns.pop(0), "y").tolist() == ["a", None]
    for column in columns:
        with pytest.raises(ValueError, match="y must not contain missing values"):
            read_array(column, "y")


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        (None, TypeError, "must be array-like. Got None"),
        ("abc", TypeError, "must be array-like. Got 'abc'"),
        ({1: 2}, TypeError, "must be array-like"),
        ((k for k in range(3)), TypeError, "Got a generator"),
        ([[1, 2], [3]], ValueError, "cannot be read as an array"),
        (["a", 1], TypeError, "labels of one type. Got 1 beside text"),
    ],
)
def test_what_is_no_array_is_refused(values, error, message):
    with pytest.raises(error, match=message):
        read_array(values, "y")
