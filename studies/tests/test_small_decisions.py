"""The study of what decisions cost."""

import math
import re

import numpy as np
import pytest

from studies.__main__ import main
from studies.small.decisions import compare_methods, make_parts, tune_threshold
from studies.tests.rules_records import RECORDS

COSTS = np.array([[0, 1], [20, 0]])


def record(dataset, seed, calibrated, raw, family="hgb"):
    job = {"dataset": dataset, "family": family, "n_validation": 15, "seed": seed}
    costs = {"calibrated": calibrated, "raw": raw}
    return {"job": job, "binary": costs, "classes": costs}


def test_costs_are_summed_over_seeds_before_the_ratio():
    records = [record("a", 0, 1, 3), record("a", 1, 3, 1), record("b", 0, 1, 2)]
    found = compare_methods(records, "binary")["raw"]
    assert found == {"a": 0.0, "b": pytest.approx(100 * math.log(2))}


def test_families_of_a_set_are_one_unit():
    records = [record("a", 0, 1, 2), record("a", 0, 1, 8, family="mlp")]
    found = compare_methods(records, "classes")["raw"]
    assert found == {"a": pytest.approx(100 * math.log(4))}


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
    assert page.count("| decision | mean |") == 2


@pytest.mark.skipif(not RECORDS.exists(), reason="no records here")
def test_the_guide_shows_what_the_report_says():
    report = (RECORDS / "decisions" / "report.md").read_text()
    guide = (RECORDS.parents[1] / "doc" / "decide.rst").read_text()
    rows = re.findall(r"\| ([+−][\d.]+) \| ([^|]+) \| (\d+ of \d+) \|", report)
    assert len(rows) == 5
    for row in rows:
        assert "\n     - ".join(row) in guide


def test_the_report_has_a_line_for_each_method():
    records = [record(name, 0, 1, 2) for name in "abc"]
    (table, _) = [part for part in make_parts(records) if part.kind == "table"]
    assert table.rows == [
        [
            "least expected cost, log loss, not calibrated",
            "+69.3",
            "+69.3 to +69.3",
            "3 of 3",
        ]
    ]
