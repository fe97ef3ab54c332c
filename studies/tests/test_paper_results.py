"""From records to rows."""

import math

import numpy as np
import pytest

from sklearn_superior.datasets import list_paper_datasets
from studies._store import RecordStore
from studies.paper.results import (
    collect,
    make_rows,
    pool,
    read_paper_tables,
)
from studies.tests.paper_records import make_record, make_records
from studies.tests.rules_records import RECORDS


def test_rows_compare_a_penalized_rule_with_its_plain_form():
    experiments = collect(make_records())
    assert [(e.estimator, e.dataset) for e in experiments] == [
        ("cnn", "ble_rssi"),
        ("cnn", "walking_user_identification"),
        ("cnn", "wisdm_phone_accel"),
        ("hgb", "ble_rssi"),
    ]
    rows = {(r.quantity, r.selection, r.rule): r for r in make_rows(experiments[1])}
    assert len(rows) == 2 * 2 * 2
    row = rows["test_f1", "CP", "brier"]
    assert row.plain[0] == pytest.approx(42)
    assert row.penalized[0] == pytest.approx(47)
    assert row.difference[0] == pytest.approx(5)
    assert row.counts == (5, 0, 0)
    assert row.paper_difference == pytest.approx(60.03 - 55.47)
    worse = {(r.quantity, r.rule): r for r in make_rows(experiments[0])}
    assert worse["test_f1", "brier"].difference[0] == pytest.approx(-2)
    boosted = make_rows(experiments[3])
    assert {r.rule for r in boosted} == {"brier", "log_loss"}


def test_more_epochs_replace_fewer():
    records = [
        make_record("ble_rssi", "brier", 0, gain, max_iter=max_iter)
        for max_iter, gain in ((3, 0.1), (20, 0.2))
    ]
    (experiment,) = collect(records)
    assert experiment.max_iter == 20
    assert experiment.comparisons["brier"].trajectories[0].test["target"][2] > 0.55


def test_data_sets_are_the_units_of_pooled_differences():
    first, *_ = contrasts = pool(collect(make_records())[:2])
    assert [(c["estimator"], c["rule"]) for c in contrasts] == [
        ("cnn", "brier"),
        ("cnn", "log_loss"),
    ]
    assert first["difference"] == pytest.approx((5 - 2) / 2)
    assert (first["n_sets"], first["n_up"], first["n_down"]) == (2, 1, 1)
    assert first["p_value"] == first["p_holm"] == 1
    assert math.isnan(first["low"])


def test_the_tables_of_the_paper():
    """Two rows of its tables, read by eye."""
    tables = read_paper_tables()
    assert len(tables) == 2 * 9 * 2
    assert {key[1] for key in tables} == {d.name for d in list_paper_datasets()}
    assert list(tables["test_f1", "ble_rssi", "CP"].items()) == [
        ("brier", 26.51),
        ("penalized_brier", 29.37),
        ("log_loss", 26.77),
        ("penalized_log_loss", 27.39),
    ]
    key = ("correlation", "walking_user_identification", "ES")
    assert list(tables[key].values()) == [0.957, 0.969, 0.837, 0.9]


@pytest.mark.skipif(not RECORDS.exists(), reason="no records beside the package")
def test_the_path_of_the_recorded_replication():
    """Reproduced from the committed records, without training."""
    records, damaged = RecordStore(RECORDS / "paper").load_all()
    assert not damaged
    networks = [
        e for e in collect(records) if e.estimator == "cnn" and e.status == "complete"
    ]
    assert len(networks) == 7
    gains = []
    for experiment in networks:
        for rule, compared in experiment.comparisons.items():
            path = compared.penalty_path(rule)
            assert all(np.diff([row["validation_error"] for row in path]) <= 1e-6)
            by_penalty = {row["penalty"]: row for row in path}
            # The ends are the choices that the report is made of.
            summary = {
                (row["rule"], row["selection"]): row
                for row in compared.summary(baseline=rule)
            }
            for penalty, name in [("0", rule), ("paper", f"penalized_{rule}")]:
                mean = summary[name, "CP"]["mean"]
                assert by_penalty[penalty]["test_score"] == pytest.approx(
                    mean, abs=1e-3
                )
            gains.append(
                by_penalty["inf"]["test_score"] - by_penalty["paper"]["test_score"]
            )
    # More F1 with the largest penalty than with the paper's, on average.
    assert np.mean(gains) > 0
