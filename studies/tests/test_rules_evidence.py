"""The numbers of the comparison of rules."""

import math
from fractions import Fraction

import numpy as np
import pytest

from studies.rules import PLAN
from studies.rules.evidence import (
    PENALTIES,
    SHARE,
    Evidence,
    Policy,
    list_families,
    name_of,
)
from studies.tests.rules_records import (
    SETS,
    make_record,
    make_records,
    make_table_records,
)


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


def test_families_without_a_training_have_no_part_in_a_contrast():
    evidence = Evidence(PLAN, list(make_records()))
    assert evidence.contrast("accuracy", "log_loss", [])["n"] == 0


def test_networks_are_compared_fold_by_fold():
    evidence = Evidence(PLAN, list(make_records()))
    scores = evidence.scores_of_folds(("ble_rssi", "mlp", "log_loss"), "accuracy")
    assert scores == {(fold, 0): pytest.approx(0.54) for fold in range(3)}
    assert evidence.scores_of_folds(("ble_rssi", "cnn_relu", "log_loss")) == {}


def test_a_policy_sees_as_many_stages_as_its_patience_allows():
    evidence = Evidence(PLAN, list(make_records()))
    network, _ = evidence.families()
    # The second of three stages is the worse one, so a patience of one ends there.
    for choice, share in (
        (Policy("log_loss", 1), 2 / 3),
        (Policy("log_loss", 2), 1),
        ("log_loss", 1),
        ("last", 1),
    ):
        values = evidence.values(network, choice, SHARE)
        assert values == dict.fromkeys(sorted(SETS), pytest.approx(share))
    row = evidence.contrast(Policy("accuracy", 1), Policy("last"), [network])
    assert row["difference"] == pytest.approx(0.1 + 0.03)
    assert name_of(row["baseline"]) == "last stage"


def test_a_data_set_can_be_left_out():
    evidence = Evidence(PLAN, list(make_records()))
    row = evidence.contrast("accuracy", "log_loss", without=["tetouan_power"])
    assert (row["n"], row["difference"]) == (2, pytest.approx(1.5 * 0.015))


def test_signals_and_tables_stand_apart():
    records = [*make_records(), *make_table_records()]
    groups = Evidence(PLAN, records).groups()
    assert list(groups) == ["signals", "tables", "all"]
    assert {family.data for family in groups["tables"]} == {"tables"}
    assert groups["all"] == [*groups["signals"], *groups["tables"]]
    assert list(Evidence(PLAN, list(make_records())).groups()) == ["signals", "all"]


def test_the_worst_of_the_last_stages_is_found():
    records = list(make_records())
    records.append(make_record("ble_rssi", "sgd", 0, f1=(0.5, 0.9, 0.1)))
    key, difference = Evidence(PLAN, records).worst_last_stage()
    assert key == ("ble_rssi", "sgd", "log_loss")
    assert difference == pytest.approx(-0.8)


def test_trainings_with_several_best_stages_are_counted():
    records = list(make_records())
    assert Evidence(PLAN, records).count_ties() == (0, len(records))
    records[0]["validation"] = records[0]["validation"] | {"errors": [2, 2, 3]}
    assert Evidence(PLAN, records).count_ties() == (1, len(records))
