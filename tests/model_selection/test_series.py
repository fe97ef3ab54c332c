"""Rows laid out series by series, against sorted lists."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

from sklearn_superior.model_selection._series import find_series


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=40))
def test_every_series_keeps_the_order_of_its_rows(groups):
    series = find_series(groups, groups)
    rows = series.lay_out(np.arange(len(groups)))
    in_pieces = len(series.sizes) < 1 + np.count_nonzero(np.diff(groups))
    names = sorted(set(groups)) if in_pieces else list(dict.fromkeys(groups))
    expected = [[k for k, g in enumerate(groups) if g == name] for name in names]
    assert series.names.tolist() == names
    assert series.sizes.tolist() == [len(own) for own in expected]
    assert rows.tolist() == sum(expected, [])
    assert_array_equal(series.to_row_order(rows), np.arange(len(groups)))
    assert (series.order is None) == (rows.tolist() == [*range(len(groups))])


def test_without_groups_all_rows_are_one_series():
    for X in (
        np.zeros((5, 2)),
        csr_array(np.eye(5)),
        [[1]] * 5,
        pd.DataFrame(np.eye(5)),
    ):
        series = find_series(X, None)
        assert series.sizes.tolist() == [5]
        assert series.order is None


def test_more_series_than_short_integers_count():
    groups = np.tile(np.arange(70_000), 2)
    series = find_series(groups, groups)
    assert_array_equal(series.sizes, np.full(70_000, 2))
    assert_array_equal(series.lay_out(groups), np.repeat(np.arange(70_000), 2))


@pytest.mark.parametrize(
    ("groups", "name"),
    [
        (np.array(["a"]), "'a'"),
        (np.array(["a"], dtype=object), "'a'"),
        (np.array([3]), "3"),
        (np.array([0.5]), "0.5"),
        (np.array(["2026-11-17"], "datetime64[ns]"), "2026-11-17T00:00:00.000000000"),
    ],
)
def test_names_are_shown_as_python_shows_them(groups, name):
    assert find_series(groups, groups).name(0) == name
