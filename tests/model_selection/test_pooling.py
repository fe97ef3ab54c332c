"""Comparisons of several data sets taken together."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sklearn_superior.model_selection import (
    StoppingRuleComparison,
    Trajectory,
    pool_comparisons,
)


def compared(gain, n_folds=3):
    scores = {"a": [1, 0], "b": [0, 1], "target": [0.5, 0.5 + gain]}
    folds = [Trajectory(k, 0, scores, scores) for k in range(n_folds)]
    return StoppingRuleComparison(folds, ["a", "b"])


def test_the_pooled_difference_is_the_mean_over_data_sets():
    comparisons = {"x": compared(0.1, 3), "y": compared(0.4, 9)}
    rows = pool_comparisons(comparisons, rule="b", baseline="a")
    assert [row["dataset"] for row in rows] == ["x", "y", "pooled"]
    assert_allclose([row["difference"] for row in rows], [0.1, 0.4, 0.25])
    assert [row["n"] for row in rows] == [3, 9, 2]
    assert np.isnan([row["p_holm"] for row in rows[:2]]).all()


def test_the_choice_is_that_of_a_printed_comparison_and_is_named():
    """Early stopping misses the best stage, so that the sign flips."""
    scores = {"a": [1, 0, 0, 0], "b": [0.0, 0.5, 0.4, 1.0], "target": [5, 4, 0, 7]}
    folds = [Trajectory(k, 0, scores, scores) for k in range(3)]
    comparison = StoppingRuleComparison(folds, ["a", "b"], n_iter_no_change=1)
    assert "Choice: early stopping" in str(comparison)
    assert "b -1.0000" in str(comparison)
    for options, selection, difference in (
        ({}, "ES", -1),
        ({"selection": "ES"}, "ES", -1),
        ({"selection": "CP"}, "CP", 2),
    ):
        rows = pool_comparisons({"x": comparison}, rule="b", baseline="a", **options)
        assert [row["selection"] for row in rows] == [selection] * 2
        assert [row["difference"] for row in rows] == [difference] * 2
        assert selection in str(rows)


def test_a_data_set_called_pooled_is_refused():
    comparisons = {"x": compared(0.1), "pooled": compared(0.2)}
    with pytest.raises(ValueError, match="must not have a data set named 'pooled'"):
        pool_comparisons(comparisons, rule="b", baseline="a")
