"""The tables of the report."""

import pytest

from studies.paper.results import collect, make_rows, pool
from studies.paper.tables import (
    level_table,
    overview,
    rule_tables,
    settings,
)
from studies.tests.paper_records import make_records

EXPERIMENTS = collect(make_records())
ROWS = [row for experiment in EXPERIMENTS for row in make_rows(experiment)]


def chosen(dataset, estimator="cnn", quantity="test_f1"):
    return [
        row
        for row in ROWS
        if (row.dataset, row.estimator, row.quantity) == (dataset, estimator, quantity)
    ]


def test_levels_stand_beside_those_of_the_paper():
    rows = chosen("ble_rssi") + chosen("walking_user_identification")
    table = level_table([row for row in rows if row.selection == "CP"])
    assert table.header[1] == "BS: paper / ours"
    assert table.rows[0] == [
        "ble rssi",
        "26.5 / 42.0",
        "29.4 / 40.0",
        "26.8 / 42.0",
        "27.4 / 40.0",
    ]
    paper = (26.51 + 55.47) / 2
    assert table.rows[-1][:2] == ["mean", f"{paper:.1f} / 42.0"]


def test_a_rule_that_was_not_trained_has_a_dash():
    rows = [row for row in chosen("ble_rssi") if row.selection == "CP"]
    table = level_table([row for row in rows if row.rule == "brier"])
    assert table.rows == [["ble rssi", "26.5 / 42.0", "29.4 / 40.0", "–", "–"]]


def test_only_networks_have_a_column_of_the_paper():
    _, network, *_ = rule_tables(chosen("ble_rssi"))
    assert network.header[-1] == "Δ in the paper"
    _, boosting, *_ = rule_tables(chosen("ble_rssi", "hgb"))
    assert boosting.header[-1] == "won / tied / lost"


def test_data_sets_without_the_classes_of_the_paper_have_a_star():
    *_, note = parts = rule_tables(chosen("wisdm_phone_accel"))
    assert "with a star" in note.text
    assert [row[0] for row in parts[1].rows] == ["wisdm phone accel *"] * 2
    assert {row[-1] for row in parts[1].rows} == {"–"}


def test_the_overview_has_a_line_for_each_contrast():
    networks = [e for e in EXPERIMENTS if e.status == "complete"]
    table = overview(pool(networks), ROWS)
    assert [row[:3] for row in table.rows] == [
        ["Convolutional network", "PBS − BS", "2"],
        ["Convolutional network", "PLL − LL", "2"],
        ["HistGradientBoosting", "PBS − BS", "1"],
        ["HistGradientBoosting", "PLL − LL", "1"],
    ]
    assert [row[4] for row in table.rows] == ["+1.50", "+1.50", "+10.00", "+10.00"]


def test_what_was_run_is_listed():
    table = settings(EXPERIMENTS)
    minutes = 10 * 36 / 60
    expected = ["ble rssi", "Convolutional network", "3", "5", f"{minutes:.1f}"]
    assert table.rows[0] == expected
    assert float(table.rows[-1][-1]) == pytest.approx(4 * 36 / 60)
