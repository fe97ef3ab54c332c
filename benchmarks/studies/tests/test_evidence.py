"""The numbers of the comparison of rules."""

import math
from fractions import Fraction

import numpy as np
import pytest

from benchmarks.studies.rules import FIELDS
from benchmarks.studies.rules.evidence import (
    PENALTIES,
    Evidence,
    _smooth_by_sums,
    as_trajectory,
    judge_interval,
    list_families,
    smooth,
)
from benchmarks.studies.tests.records import (
    PLAN,
    ROOT,
    SETS,
    make_record,
    make_records,
)
from sklearn_superior.replication._store import RecordStore

RECORDS = ROOT / "doc" / "evidence"


def test_a_moving_mean_gets_shorter_at_the_ends():
    values = np.random.default_rng(0).normal(size=40)
    expected = [values[max(0, k - 7) : k + 8].mean() for k in range(40)]
    np.testing.assert_allclose(smooth(values, 15), expected)
    np.testing.assert_allclose(_smooth_by_sums(values, 15), expected)


def test_moving_means_of_counts_are_exact():
    rng = np.random.default_rng(0)
    errors = np.tile(rng.integers(0, 5, size=20), 15)
    exact = [
        Fraction(int(sum(part)), len(part))
        for part in (errors[max(0, k - 7) : k + 8] for k in range(300))
    ]
    found = smooth(errors, 15)
    assert found.tolist() == [float(mean) for mean in exact]
    # Rates by cumulative sums tell equal ones apart, or not, by rounding.
    rates = _smooth_by_sums(1 - errors / 317, 15)
    equal = [(a, b) for a in range(300) for b in range(a) if exact[a] == exact[b]]
    assert all(found[a] == found[b] for a, b in equal)
    assert any(rates[a] != rates[b] for a, b in equal)


def test_exact_trajectories_break_ties_by_the_log_loss():
    record = make_record("ble_rssi", "mlp", 0, f1=(0.5, 0.6, 0.4))
    n_stages = len(record["validation"]["errors"])
    record["validation"]["errors"] = [3] * n_stages
    record["validation"]["log_loss"] = [2.0] * (n_stages - 2) + [1.0, 1.5]
    plain, exact = (as_trajectory(record, 15, exact=value) for value in (False, True))
    assert plain.choose("accuracy", "CP")[0] == 0
    assert exact.choose("accuracy", "CP")[0] == n_stages - 2
    assert exact.choose("smoothed_accuracy", "CP")[0] == n_stages - 2


def test_contrasts_have_data_sets_as_units():
    evidence = Evidence(PLAN, list(make_records()))
    row = evidence.contrast("accuracy", "log_loss")
    # The mean of both families: 1.5 times the gain of each data set.
    expected = [1.5 * gain for gain in SETS.values()]
    assert row["difference"] == pytest.approx(np.mean(expected))
    assert (row["n"], row["n_up"], row["n_down"]) == (3, 3, 0)
    assert row["p_value"] == Fraction(2, 8)
    half = 4.302652729911275 * np.std(expected, ddof=1) / math.sqrt(3)
    assert row["high"] - row["difference"] == pytest.approx(half)
    (network,) = (f for f in list_families(PLAN) if f.estimators == ("cnn",))
    row = evidence.contrast("accuracy", "log_loss", [network])
    assert row["difference"] == pytest.approx(0.03)
    planned = evidence.planned_contrasts()
    assert [(r["rule"], r["baseline"]) for r in planned] == [
        tuple(pair) for pair in PLAN["contrasts"]
    ]
    assert all(row["p_holm"] >= row["p_value"] for row in planned)


def test_repeats_do_not_outweigh_folds():
    records = [make_record("ble_rssi", "cnn", 0, f1=(0.5, 0.9, 0), repeat=0)]
    records += [
        make_record("ble_rssi", "cnn", 1, f1=(0.5, 0.5, 0), repeat=k) for k in range(3)
    ]
    row = Evidence(PLAN, records).contrast("accuracy", "log_loss")
    assert row["difference"] == pytest.approx(0.2)


def test_regrets_and_paths():
    evidence = Evidence(PLAN, list(make_records()))
    regrets = evidence.regrets()
    network, perceptron = evidence.families()
    assert regrets["last"][network] == pytest.approx(0.1 + 0.03)
    assert regrets["log_loss"][perceptron] == pytest.approx(0.06)
    for rule in ("accuracy", "f1_macro", "refined_log_loss"):
        assert regrets[rule][network] == 0
    path = evidence.penalty_path(network)
    # Three errors fewer outweigh 0.1 of the loss from a penalty of a third on.
    penalty = [0, 1 / 3, 2 / 3, 4 / 3, 8 / 3, 16 / 3, math.inf]
    assert len(penalty) == len(PENALTIES)
    expected = [0.5 + 0.03 * (p * 0.3 > 0.1) for p in penalty]
    np.testing.assert_allclose(path, expected)


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0.6, 2, "a gain that matters"),
        (-2, -0.6, "a loss that matters"),
        (0.1, 0.4, "no difference that matters"),
        (0.1, 0.6, "undecided, leaning to a gain"),
        (-0.6, -0.1, "undecided, leaning to a loss"),
        (-0.6, 0.1, "undecided"),
        (math.nan, math.nan, "undecided"),
    ],
)
def test_an_interval_is_put_into_words(low, high, words):
    assert judge_interval({"low": low, "high": high}, 0.5) == words


def test_families_without_a_training_have_no_part_in_a_contrast():
    evidence = Evidence(PLAN, list(make_records()))
    assert evidence.contrast("accuracy", "log_loss", [])["n"] == 0


def test_networks_are_compared_fold_by_fold():
    evidence = Evidence(PLAN, list(make_records()))
    scores = evidence.scores_of_folds(("ble_rssi", "mlp", "log_loss"), "accuracy")
    assert scores == {(fold, 0): pytest.approx(0.54) for fold in range(3)}
    assert evidence.scores_of_folds(("ble_rssi", "cnn_relu", "log_loss")) == {}


@pytest.mark.skipif(not RECORDS.exists(), reason="no records beside the package")
def test_readme_says_what_the_records_say():
    records, damaged = RecordStore(RECORDS, FIELDS).load_all()
    assert records
    assert not damaged
    evidence = Evidence(PLAN, records)
    text = " ".join((ROOT / "README.md").read_text().split())
    assert f"{len(records)} of its {len(PLAN.make_jobs()):,} trainings" in text
    for family in list_families(PLAN):
        if family.name.startswith("logistic"):
            continue
        row = evidence.contrast("refined_penalized_brier", "log_loss", [family])
        low, middle, high = (
            f"{100 * row[key]:+.1f}".replace("-", "−")
            for key in ("low", "difference", "high")
        )
        assert f"{middle} ({low} to {high})" in text, family.title
    worst = {rule: 100 * max(of.values()) for rule, of in evidence.regrets().items()}
    assert (
        f"PBS {worst['penalized_brier']:.1f}, the log loss {worst['log_loss']:.1f}"
        in text
    )
