"""The tables of the comparison of procedures."""

import math

import pytest

from studies._wording import level, show

pytest.importorskip("matplotlib")

from studies._evidence import Study
from studies._page import Table
from studies.procedures import tables
from studies.tests.procedures_records import PLAN, make_records, number_of, plant


@pytest.fixture(scope="module")
def study():
    return Study(PLAN, make_records(plant))


def rows_of(parts, which=0):
    table = [part for part in parts if isinstance(part, Table)][which]
    return {row[0]: dict(zip(table.header, row, strict=True)) for row in table.rows}


def test_numbers_have_their_interval_if_there_is_one():
    row = {"difference": 1.0, "low": -0.5, "high": 2.5}
    assert show(row) == "+1.00 (−0.50 to +2.50)"
    assert level(row) == "1.0 (−0.5 to 2.5)"
    row = row | {"low": math.nan}
    assert (show(row, 1), level(row, 0)) == ("+1.0", "1")
    row = row | {"difference": math.nan}
    assert (show(row), level(row)) == ("–", "–")


def test_rules_are_listed_for_each_kind(study):
    parts = tables.show_rules(study)
    rows = rows_of(parts)
    assert len(rows) == 7
    assert rows["accuracy"]["binary tables"].startswith("−0.10 (")
    rows = rows_of(parts, 1)
    assert len(rows) == 8
    assert rows["log loss"]["signals"].startswith("−3.00 (")


def test_the_split_is_put_into_words(study):
    parts = tables.show_splits(study)
    assert parts[1].text.startswith("The split matters: with new groups refined PLL")
    assert rows_of(parts)["refined PLL − log loss"]["units"] == "3"
    without = [r for r in study.records if "random" not in r["job"]["dataset"]]
    assert tables.show_splits(Study(PLAN, without)) == []


def test_parts_of_the_data_and_models(study):
    parts = tables.show_parts(study)
    assert rows_of(parts)["tables"]["H3"].startswith("−5.6 (")
    assert rows_of(parts)["signals at random"]["H5"] == "–"
    models = rows_of(parts, 1)
    assert models["convolutional network"]["H4"] == "–"
    assert models["LightGBM"]["H1"].startswith("+2.61 (")


def test_procedures_have_their_cost(study):
    parts = tables.show_procedures(study)
    rows = rows_of(parts)  # the last kind of each procedure: signals
    assert rows["StagedSearchCV, folds"]["time relative to the default"] == "1.3"
    assert rows["StagedSearchCV, folds"]["calibration error, points"].startswith("5.0")
    default = rows["early stopping, default"]
    assert default["log loss, log points against the default"] == "–"
    assert rows_of(parts, 1)["early stopping, default"]["signals"].startswith("60 (")


def test_refits_sizes_and_tuned_models(study):
    refits = rows_of(tables.show_refits(study))
    assert refits["all against folds"]["tables"].startswith("−2.0 (")
    sizes = rows_of(tables.show_sizes(study))
    assert sizes["60 to 250"]["trainings"] == "150"
    assert sizes["below 60"]["F1: refined PLL − log loss"] == "–"
    tuned = rows_of(tables.show_tuned(study))
    assert tuned["table 2"]["log loss, log points"] == "−4.0"
    assert tuned["mean over units"]["F1, points"] == "+1.50"
    without = [r for r in study.records if r["job"]["estimator"] != "tuned"]
    assert tables.show_tuned(Study(PLAN, without)) == []


def test_what_single_sets_tell(study):
    rows = rows_of(tables.show_within(study))
    assert rows["all against default"]["lower"] == "22"
    assert rows["all against default"]["no clear difference"] == "0"


def test_policies_are_listed(study):
    (table,) = (p for p in tables.show_policies(study) if isinstance(p, Table))
    assert len(table.rows) == 33
    assert table.rows[0][:3] == ["last stage", "–", "100"]
    assert ["all stages"] == [row[1] for row in table.rows if row[0] == "PBS"][-1:]


def test_all_sets_are_listed_with_those_that_share_their_data(study):
    rows = rows_of(tables.show_sets(study))
    assert rows["table 0"]["one unit with"] == "binary 0"
    assert "table 9" not in rows  # seen
    assert rows["table 1"]["H1 and H4"] == "−0.07"
    assert rows["signal 8"]["H5"] == "−10.8"


def test_what_h3_depends_on():
    def effects(dataset, kind):
        former = 400.0 if dataset == "signal_1" else -4 - number_of(dataset) / 10
        return {"former": former}

    records = make_records(effects)
    for record in records:
        job = record["job"]
        if (job["dataset"], job["estimator"]) == ("signal_1", "cnn"):
            record["samples"]["true"] = [2] * len(record["samples"]["true"])
    rows = rows_of(tables.show_sensitivity(Study(PLAN, records)))
    planned = rows["nothing, as planned"]
    assert planned["units"] == "20"
    assert "H3" not in planned["what holds"]
    assert rows["test folds of a single class"]["units"] == "20"
    without = rows["signal 1 (the largest difference)"]
    assert without["units"] == "19"
    assert without["H3, log points"].startswith("−4.4 (")
    assert "H3" in without["what holds"]


def test_sets_that_share_data_with_the_pilot(study):
    assert tables.find_related(study) == []
    plan = type(PLAN)(PLAN.text.replace('["signal_7"', '["table_9", "signal_7"'))
    related = tables.find_related(Study(plan, study.records))
    assert related == ["signal_7", "signal_8"]
