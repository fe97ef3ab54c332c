"""The study of what decisions cost."""

import re

import numpy as np
import pytest

from studies.__main__ import main
from studies.small.decisions import make_parts, mean_costs, tune_threshold
from studies.tests.rules_records import RECORDS

COSTS = np.array([[0, 1], [20, 0]])


def record(dataset, seed, calibrated, raw, family="hgb"):
    job = {"dataset": dataset, "family": family, "n_validation": 15, "seed": seed}
    costs = {"calibrated": calibrated, "raw": raw}
    return {"job": job, "binary": costs, "classes": costs}


def test_the_cost_of_a_set_is_a_mean_over_seeds_and_families():
    records = [record("a", 0, 1, 3), record("a", 1, 3, 1), record("b", 0, 1, 2)]
    records.append(record("b", 0, 1, 8, family="mlp"))
    assert mean_costs(records, "binary") == {
        "calibrated": {"a": 2.0, "b": 1.0},
        "raw": {"a": 2.0, "b": 5.0},
    }


def test_runs_without_mistakes_count():
    records = [record("a", 0, 1, 0), record("b", 0, 0, 0), record("c", 0, 0, 2)]
    (table, _) = [part for part in make_parts(records) if part.kind == "table"]
    assert table.rows[1][1:3] == ["0.667", "+0.333"]
    assert table.rows[1][4:] == ["1 of 3", "1 of 3"]


def test_the_tuned_threshold_is_in_the_middle_of_the_best():
    q = np.array([0.1, 0.2, 0.3, 0.8])
    y_proba = np.column_stack([1 - q, q])
    assert tune_threshold(np.array([0, 0, 1, 1]), y_proba, COSTS) == 0.25


def test_a_quick_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    options = ["--quick", "--estimators", "hgb", "--repeats", "1"]
    assert main(["decisions", "run", *options]) == 0
    assert main(["decisions", "report"]) == 0
    page = (tmp_path / "results" / "decisions" / "report.md").read_text()
    assert page.count("| decision | mean cost |") == 2


@pytest.mark.skipif(not RECORDS.exists(), reason="no records here")
def test_the_guide_shows_what_the_report_says():
    report = (RECORDS / "decisions" / "report.md").read_text()
    guide = (RECORDS.parents[1] / "doc" / "decide.rst").read_text()
    row = r"\| ([\d.]+) \| ([+−][\d.]+) \| ([^|]+) \| (\d+ of 20) \|"
    rows = re.findall(row, report)
    assert len(rows) == 5
    for row in rows:
        assert "\n     - ".join(row) in guide


def test_the_report_has_a_line_for_each_method():
    records = [record(name, 0, 1, 2) for name in "abc"]
    (table, _) = [part for part in make_parts(records) if part.kind == "table"]
    assert table.rows == [
        ["least expected cost, calibrated", "1.000", "", "", "", ""],
        [
            "least expected cost, log loss, not calibrated",
            "2.000",
            "+1.000",
            "+1.000 to +1.000",
            "3 of 3",
            "0 of 3",
        ],
    ]


def test_the_sets_of_the_first_study_have_tables_of_their_own():
    records = [record(name, 0, 1, 2) for name in ("iris", "vowel", "dna", "glass")]
    tables = [part for part in make_parts(records) if part.kind == "table"]
    assert [table.rows[1][4] for table in tables] == ["4 of 4", "3 of 3"] * 2
