"""The scores of recorded trainings."""

from fractions import Fraction

import numpy as np

from studies.rules.scores import as_trajectory, rank, smooth
from studies.tests.rules_records import make_record


def test_a_moving_mean_gets_shorter_at_the_ends():
    values = np.random.default_rng(0).normal(size=40)
    expected = [values[max(0, k - 7) : k + 8].mean() for k in range(40)]
    np.testing.assert_allclose(smooth(values, 15), expected)


def test_moving_means_of_counts_are_exact():
    rng = np.random.default_rng(0)
    errors = np.tile(rng.integers(0, 5, size=20), 15)
    exact = [
        Fraction(int(sum(part)), len(part))
        for part in (errors[max(0, k - 7) : k + 8] for k in range(300))
    ]
    assert smooth(errors, 15).tolist() == [float(mean) for mean in exact]


def test_ties_are_broken_by_the_log_loss():
    record = make_record("ble_rssi", "mlp", 0, f1=(0.5, 0.6, 0.4))
    record["validation"] |= {"errors": [3, 3, 3], "log_loss": [2.0, 1.0, 1.5]}
    trajectory = as_trajectory(record, 15)
    for rule in ("accuracy", "smoothed_accuracy"):
        assert trajectory.choose(rule, "CP")[0] == 1
    # Of the same stages the Brier score likes the first.
    assert trajectory.choose("accuracy_then_brier", "CP")[0] == 0


def test_equal_moving_means_of_errors_are_equal_scores():
    record = make_record("ble_rssi", "mlp", 0, f1=(0.5, 0.6, 0.4))
    record["n_rows"] = dict.fromkeys(record["n_rows"], 317)
    record["validation"]["errors"] = [0, 2, 1]
    smoothed = as_trajectory(record, 3).validation["smoothed_accuracy"]
    assert smoothed[0] == smoothed[1] == -1 / 317


def test_ranks_are_those_of_pairs():
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 5, size=(2, 50))
    scores = rank(first, second / 7)
    pairs = list(zip(first, second, strict=True))
    for a in range(50):
        for b in range(50):
            assert (scores[a] > scores[b]) == (pairs[a] < pairs[b])
    assert np.isnan(rank([1.0, np.nan], [1.0, 2.0])).tolist() == [False, True]
