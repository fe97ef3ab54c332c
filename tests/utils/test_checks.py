"""Rows of any table, and the checks of labels, weights and groups."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_matrix

from sklearn_superior.utils._checks import (
    Rows,
    check_groups,
    check_labels,
    check_target,
    check_weights,
)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "fit requires y to be passed, but the target y is None"),
        ([1, "a"], "y must hold labels of one type. Got 1 beside text"),
        (np.array([1, "a"], dtype=object), "of one type. Got values of int and str"),
        (["a", None], "of one type|missing"),
        (
            np.array(["a", None], dtype=object),
            "must not contain missing values. Got None",
        ),
        (np.array([1.0, np.nan]), "y contains NaN"),
        (np.array(["a", np.nan], dtype=object), "missing values. Got nan"),
        (pd.Series(["a", pd.NA], dtype=object), "missing values. Got <NA>"),
        ([0.5, 1.5], "Unknown label type: continuous"),
    ],
)
def test_bad_labels_are_reported(y, message):
    with pytest.raises((TypeError, ValueError), match=message):
        check_labels(y)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.ones((3, 1)), r"must be 1-dimensional. Got shape \(3, 1\)"),
        ([1, -1, 1], "must be non-negative"),
        ([1, np.nan, 1], "without NaN"),
        ([1, np.inf, 1], "infinity"),
        ([0, 0, 0], "must not be zero for all samples"),
        (["a", "b", "c"], "must hold real numbers. Got dtype <U1"),
        (np.ma.masked_equal([1, 2, 3], 2), "must not have masked values"),
        ([1, 1], "inconsistent numbers of samples"),
    ],
)
def test_bad_weights_are_reported(weight, message):
    with pytest.raises((TypeError, ValueError), match=message):
        check_weights(weight, np.arange(3))


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (np.zeros((3, 2)), r"groups must be 1-dimensional. Got shape \(3, 2\)"),
        (["a", "b"], "inconsistent numbers of samples"),
        ([1.0, np.nan, 1.0], "groups contains NaN"),
        (["a", None, "b"], "groups must not contain missing values. Got None"),
        (np.array(["2026", "NaT", "2027"], "datetime64[Y]"), "missing values. Got NaT"),
        (pd.Categorical(["a", "b", None]), "groups must not contain missing values"),
        (np.array([1, "a", 2], dtype=object), "Got values of int and str"),
        (np.array([{}, {}, {}], dtype=object), "groups must hold numbers or strings"),
    ],
)
def test_bad_groups_are_reported(groups, message):
    with pytest.raises(ValueError, match=message):
        check_groups(groups, np.zeros(3))


@pytest.mark.parametrize("dtype", ["Int64", "int64[pyarrow]", "category"])
def test_large_integers_stay_different(dtype):
    values = pd.Series([2**53, 2**53 + 1], dtype=dtype)
    assert check_labels(values).tolist() == [2**53, 2**53 + 1]
    assert check_groups(values, np.zeros(2)).tolist() == [2**53, 2**53 + 1]


@pytest.mark.parametrize("dtype", ["Float32", "Int64", "float[pyarrow]", "bool"])
def test_weights_of_any_column(dtype):
    weight = check_weights(pd.Series([1, 0, 1], dtype=dtype), np.arange(3))
    assert weight.dtype == np.float64
    assert weight.tolist() == [1, 0, 1]


def test_groups_of_any_column():
    assert check_groups(None, np.zeros(3)) is None
    text = ["a", "b", "a"]
    for groups in (text, np.array(text, dtype=object), pd.Categorical(text)):
        assert check_groups(groups, csr_matrix(np.eye(3))).tolist() == text


def test_a_target_has_enough_classes_of_positive_weight():
    y, weight, classes = check_target(["a", "b", "b"], [1, 0, 2])
    assert classes.tolist() == ["a", "b"]
    assert weight.dtype == np.float64
    with pytest.raises(ValueError, match="at least 2 classes with positive weight"):
        check_target(["a", "b", "b"], [1, 0, 0])
    assert len(check_target(["a"], n_least=1)[2]) == 1


@pytest.mark.parametrize("kind", ["array", "frame", "sparse", "list"])
def test_rows_of_any_table(kind):
    X, y = np.random.default_rng(0).normal(size=(300, 4)), np.arange(300) % 5
    table = {
        "array": lambda: X,
        "frame": lambda: pd.DataFrame(X),
        "sparse": lambda: csr_matrix(X),
        "list": lambda: X.tolist(),
    }[kind]()
    part = Rows(table, y, np.arange(300.0)).take(np.array([5, 2]))
    values = part.X.toarray() if kind == "sparse" else np.asarray(part.X)
    assert_array_equal(values, X[[5, 2]])
    assert_array_equal(part.y, y[[5, 2]])
    assert part.sample_weight.tolist() == [5, 2]
