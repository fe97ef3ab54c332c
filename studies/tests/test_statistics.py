"""Intervals and p-values against SciPy."""

import math

import numpy as np
import pytest
from scipy.stats import permutation_test, ttest_1samp

from studies._statistics import holm, pool, summarize

VALUES = np.random.default_rng(0).normal(0.4, 1, 9)


def test_intervals_are_those_of_student():
    summary = summarize([*VALUES, math.nan])
    expected = ttest_1samp(VALUES, 0).confidence_interval(0.95)
    assert (summary["low"], summary["high"]) == pytest.approx(tuple(expected))
    assert summary["difference"] == pytest.approx(VALUES.mean())
    assert (summary["n"], summary["n_up"]) == (9, (VALUES > 0).sum())


def test_two_units_have_no_interval_and_none_have_no_mean():
    assert math.isnan(summarize([1.0, 2.0])["low"])
    assert summarize([1.0, 2.0])["difference"] == 1.5
    assert math.isnan(pool([])["difference"])
    assert math.isnan(pool([])["p_value"])


@pytest.mark.parametrize("sign", [-1, 1])
def test_signs_are_flipped_in_all_ways(sign):
    test = permutation_test(
        (VALUES,), np.mean, permutation_type="samples", n_resamples=2**9
    )
    assert pool(sign * VALUES)["p_value"] == pytest.approx(test.pvalue)


def test_no_difference_at_all():
    assert pool([0.0, 0.0, 0.0])["p_value"] == 1
    assert pool([1.0, -1.0, 0.5, -0.5])["p_value"] == 1


def test_holm_leaves_out_what_is_missing():
    adjusted = holm([0.04, math.nan, 0.01])
    assert adjusted[[0, 2]].tolist() == [0.04, 0.02]
    assert math.isnan(adjusted[1])
