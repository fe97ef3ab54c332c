"""Intervals and tests, by simulation and by brute force."""

from inspect import signature
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import false_discovery_control, permutation_test, ttest_1samp

from sklearn_superior.model_selection import (
    StoppingRuleComparison,
    Trajectory,
    pool_comparisons,
)
from sklearn_superior.model_selection._statistics import corrected_t, holm, sign_flip


def comparison_of(differences, n_rows=None, repeats=1):
    """Build a comparison of the rules a and b with these differences of the folds."""
    trajectories = [
        Trajectory(
            fold,
            repeat,
            {"a": [1.0, 0.0], "b": [0.0, 1.0], "target": [0.0, 1.0]},
            {"target": [0.5, 0.5 + difference]},
            n_rows=n_rows or {},
        )
        for fold, difference in enumerate(differences)
        for repeat in range(repeats)
    ]
    return StoppingRuleComparison(trajectories, ["a", "b"])


def row_of(comparison):
    (row,) = (
        r for r in comparison.summary() if (r["rule"], r["selection"]) == ("b", "CP")
    )
    return row


def false_alarms(n_folds, correlation, ratio, n_comparisons=400):
    """Share of null effects whose interval excludes zero."""
    rng = np.random.default_rng(0)
    n_alarms = 0
    rows = {"train": 1000, "test": round(1000 * ratio)}
    for _ in range(n_comparisons):
        shared = rng.normal() * np.sqrt(correlation)
        own = rng.normal(size=n_folds) * np.sqrt(1 - correlation)
        row = row_of(comparison_of(shared + own, rows))
        alarm = not row["low"] <= 0 <= row["high"]
        assert alarm == (row["p_value"] < 0.05)
        n_alarms += alarm
    return n_alarms / n_comparisons


@pytest.mark.parametrize("n_folds", [5, 10])
def test_false_alarms_of_independent_folds(n_folds):
    assert false_alarms(n_folds, correlation=0.0, ratio=1 / (n_folds - 1)) <= 0.08


@pytest.mark.parametrize(("n_folds", "ratio"), [(5, 0.25), (10, 0.6)])
def test_false_alarms_of_folds_that_share_data(n_folds, ratio):
    """Nadeau and Bengio take the correlation to be test / (test + training) rows."""
    correlation = ratio / (1 + ratio)
    assert false_alarms(n_folds, correlation, ratio) <= 0.10


def test_the_correction_is_the_formula():
    rng = np.random.default_rng(0)
    differences = rng.normal(0.3, 1, size=8)
    low, high, p_value = corrected_t(differences)
    expected = ttest_1samp(differences, 0)
    interval = expected.confidence_interval()
    assert_allclose([low, high, p_value], [*interval, expected.pvalue])
    # Wider by the square root of 1 + n * ratio.
    wide_low, wide_high, wide_p = corrected_t(differences, ratio=0.5)
    assert_allclose((wide_high - wide_low) / (high - low), np.sqrt(1 + 8 * 0.5))
    assert wide_p > p_value


def test_the_ratio_is_that_of_the_rows():
    differences = [0.1, 0.2, 0.4, 0.1]
    known = row_of(comparison_of(differences, {"train": 100, "test": 60}))
    assert_allclose([known["low"], known["high"]], corrected_t(differences, 0.6)[:2])
    unknown = row_of(comparison_of(differences))  # as in four folds
    assert_allclose(
        [unknown["low"], unknown["high"]], corrected_t(differences, 1 / 3)[:2]
    )


def test_repeats_are_no_folds():
    once, often = (row_of(comparison_of([0.1, 0.2, 0.4], repeats=n)) for n in (1, 5))
    assert often["n_folds"] == once["n_folds"] == 3
    assert_allclose(often["low"], once["low"])
    assert often["wins"] == 15


def test_folds_without_a_difference_do_not_count():
    row = row_of(comparison_of([0.1, 0.2, np.nan, 0.4]))
    assert row["n_folds"] == 3
    assert_allclose(row["low"], corrected_t([0.1, 0.2, 0.4], 1 / 3)[0])
    few = comparison_of([0.1, np.nan, np.nan, 0.4])
    assert np.isnan(row_of(few)["p_value"])


def test_no_spread():
    assert corrected_t([0.0, 0.0, 0.0]) == (0, 0, 1)
    assert corrected_t([0.5, 0.5, 0.5], 0.3) == (0.5, 0.5, 0)


@given(st.lists(st.integers(-20, 20), min_size=1, max_size=8))
def test_sign_flips_by_brute_force(differences):
    observed = abs(sum(differences))
    flips = list(product([-1, 1], repeat=len(differences)))
    sums = [abs(sum(s * d for s, d in zip(f, differences, strict=True))) for f in flips]
    expected = np.mean([value >= observed for value in sums])
    assert sign_flip(differences) == pytest.approx(expected)


def test_sums_that_are_equal_but_for_rounding_are_ties():
    assert sign_flip([0.1, 0.2, -0.3]) == 1.0  # their sum is 5.6e-17
    assert sign_flip([0.1, 0.2, -0.3] * 7) == 1.0  # more than are tried exactly
    assert sign_flip([1e-30, 2e-30, -3e-30]) == 1.0
    assert sign_flip([1.0, 1.0, 1e-9]) == 0.25  # no ties, though nearly


# What SciPy calls the seed, from 1.15 on and before.
SEED = "rng" if "rng" in signature(permutation_test).parameters else "random_state"


def test_many_sign_flips():
    rng = np.random.default_rng(1)
    differences = rng.normal(0.4, 1, size=30)
    expected = permutation_test(
        (differences, -differences),
        lambda a, b: np.mean(a - b),
        permutation_type="samples",
        n_resamples=20_000,
        **{SEED: 0},
    ).pvalue
    assert sign_flip(differences) == pytest.approx(expected, rel=0.1)
    assert sign_flip(differences) == sign_flip(differences)  # seeded
    exact = sign_flip(differences[:20])
    assert 0 < exact < 1


def test_holm():
    p_values = np.array([0.01, 0.04, 0.03, 0.005])
    assert_allclose(holm(p_values), [0.03, 0.06, 0.06, 0.02])
    assert all(holm(p_values) >= false_discovery_control(p_values))
    assert_allclose(holm([0.9, 0.8]), [1, 1])
    assert_allclose(holm([0.02]), [0.02])


def test_pooled_over_data_sets():
    rng = np.random.default_rng(0)
    gains = [0.1, 0.2, 0.15, -0.05, 0.3]
    comparisons = {
        f"set {k}": comparison_of(gain + rng.normal(0, 0.01, 5))
        for k, gain in enumerate(gains)
    }
    rows = pool_comparisons(comparisons, rule=["b", "a"], baseline="a")
    assert len(rows) == 12
    means = [row_of(comparison)["difference"] for comparison in comparisons.values()]
    of_b = [row for row in rows if row["rule"] == "b"]
    assert_allclose([row["difference"] for row in of_b[:5]], means)
    pooled = of_b[-1]
    assert pooled["dataset"] == "pooled"
    assert_allclose(pooled["difference"], np.mean(means))
    interval = ttest_1samp(means, 0).confidence_interval()
    assert_allclose([pooled["low"], pooled["high"]], interval)
    assert pooled["p_value"] == sign_flip(means)
    assert pooled["p_holm"] == min(1, 2 * pooled["p_value"])
    assert pooled["n"] == 5
    assert "pooled" in str(rows)


def test_bad_pools():
    comparison = comparison_of([0.1, 0.2, 0.3])
    for bad in ({}, [comparison]):
        with pytest.raises(ValueError, match="comparisons must be a non-empty dict"):
            pool_comparisons(bad, rule="b", baseline="a")
    with pytest.raises(ValueError, match=r"comparison of 'x' must have .*\['c'\]"):
        pool_comparisons({"x": comparison}, rule="c", baseline="a")
    with pytest.raises(ValueError, match="'selection' parameter .*'cp'"):
        pool_comparisons({"x": comparison}, rule="b", baseline="a", selection="cp")
    with pytest.raises(ValueError, match="'judge' parameter .*'f1'"):
        pool_comparisons({"x": comparison}, rule="b", baseline="a", judge="f1")


@pytest.mark.parametrize(
    ("n_folds", "alone", "of_six"), [(5, 1.99, 3.47), (10, 1.11, 1.64), (20, 0.71, 1.0)]
)
def test_how_large_a_difference_must_be_as_the_guide_says(n_folds, alone, of_six):
    # A fifth of the training part is for validation.
    ratio = (1 / n_folds) / (0.8 * (1 - 1 / n_folds))
    deviations = np.linspace(-1, 1, n_folds)
    deviations /= deviations.std(ddof=1)
    for size, level in ((alone, 0.05), (of_six, 0.05 / 6)):
        below, above = (
            corrected_t(deviations + size + change, ratio)[2]
            for change in (-0.006, 0.006)
        )
        assert above < level < below
