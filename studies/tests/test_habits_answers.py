"""The report of the study of habits, rehearsed on made-up records of all its sets."""

import math

import pytest

from studies.habits import PLAN, descriptions, make_parts, meta
from studies.habits.analysis import Study
from studies.tests.habits_records import (
    make_failure,
    make_one_class,
    make_records,
    plant,
    plant_nothing,
)

pytest.importorskip("matplotlib")
PLANTED = make_records(plant)
STUDY = Study(PLAN, PLANTED)


def text_of(parts):
    return "\n".join(part.markdown() for part in parts)


def test_the_report_of_planted_effects():
    text = text_of(make_parts(PLANTED))
    for name in ("H1", "H2", "H3", "H4", "H5"):
        assert f"{name} holds" in text
    assert "3 of 3 rounds" in text
    assert "No data set of the plan is missing." in text
    assert "nan" not in text.lower().replace("finance", "")


def test_the_report_of_nothing():
    text = text_of(make_parts(make_records(plant_nothing)))
    assert "H1 does not hold" in text
    assert "H5 does not hold" in text
    assert "remains open" in text


def test_the_report_of_a_part_of_the_records():
    records = [make_failure(r) if k % 11 == 0 else r for k, r in enumerate(PLANTED)]
    records = [make_one_class(r) if k % 13 == 1 else r for k, r in enumerate(records)]
    text = text_of(make_parts(records[:-40]))
    assert "1 of 3 rounds" in text or "2 of 3 rounds" in text
    assert "Trainings that failed" in text


def test_costs_are_pooled_over_the_folds():
    records = STUDY.counted("spanish_credit", "hgb")
    assert len(records) == 3
    found = descriptions.cost_ratio("search", "stopping", 5).pool(records)
    totals = [
        sum(r["ways"][way]["costs"]["5"] + 0.5 for r in records)
        for way in ("search", "stopping")
    ]
    assert found == pytest.approx(100 * math.log(totals[0] / totals[1]))


def test_parts_of_the_data_have_their_units():
    parts = descriptions.split_by_part(STUDY)
    n_binary = sum(
        record["n_classes"] == 2
        for record in PLANTED
        if record["job"]["fold"] == 0
        and record["job"]["estimator"] == "hgb"
        and not record["job"]["dataset"].endswith("_timed")
    )
    assert parts["two classes"]["H1"]["n"] == n_binary
    assert parts["two classes"]["H1"]["n"] + parts["more classes"]["H1"]["n"] == 46
    assert parts["new groups"]["H1"]["n"] == len(PLAN["grouped"]) == 21
    assert parts["large sets"]["H1"]["n"] == 16


def test_the_timed_sets_are_compared_with_the_others():
    rows = descriptions.compare_timed(STUDY)
    assert rows["search"]["n"] == 2 * len(PLAN["data"]["timed"]["sets"])
    assert rows["search"]["times"] == 1
    assert rows["stopping"]["same"] == rows["stopping"]["n"]
    assert rows["search"]["same"] == 0  # the made-up stages differ


def test_the_meta_analysis_has_the_numbers_of_the_earlier_studies():
    rows = meta.combine(STUDY)
    row = rows["PBS − Brier score"]
    if "first" not in row:
        pytest.skip("no records here")
    # From the reports of the two studies.
    assert row["first"]["difference"] == pytest.approx(0.69, abs=0.005)
    assert (row["first"]["n"], row["third"]["n"]) == (7, 12)
    n = sum(row[name]["n"] for name in ("first", "second", "third"))
    assert row["all"]["n"] == n
    mean = sum(row[k]["n"] * row[k]["difference"] for k in ("first", "second", "third"))
    assert row["all"]["difference"] == pytest.approx(mean / n)
    other = rows["PLL − log loss"]["first"]
    assert other["difference"] == pytest.approx(0.67, abs=0.005)
    assert other["low"] == pytest.approx(-0.03, abs=0.005)
