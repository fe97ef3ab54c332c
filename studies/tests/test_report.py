"""The report of a study."""

import pytest

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

from studies import rules
from studies.__main__ import write_report
from studies._page import as_markdown
from studies.rules import PLAN
from studies.tests.paper_records import fill
from studies.tests.rules_records import make_record, make_records


@pytest.fixture
def folder(tmp_path):
    return fill(tmp_path, make_records())


def test_the_report_answers_the_questions_of_the_plan(folder):
    markdown, html = write_report(rules, folder, target=folder / "pages")
    assert markdown.parent == html.parent == folder / "pages"
    text = markdown.read_text()
    for question in PLAN["questions"]:
        assert f"## {question}" in text
    assert "macro F1 instead of log loss, signals +4.50" in text
    assert "18 of 1515 planned trainings" in text
    planned = 7 * 10 * 3  # data sets, folds, rounds
    assert f"| convolutional network | log loss | {planned} | 9 |" in text
    page = html.read_text()
    assert page.count("<img") == 2
    assert 'id="the-plan"' in page
    assert 'href="#the-plan"' in page


def test_damaged_files_are_named_in_the_report(folder):
    path = folder / "ble_rssi.jsonl.gz"
    path.write_bytes(path.read_bytes()[:-9])
    markdown, _ = write_report(rules, folder)
    text = markdown.read_text()
    assert f"Damaged records were left out: {path.name}" in text


def test_without_a_complete_family_there_is_no_answer():
    records = [make_record("synthetic", "hgb", 0, f1=(0.5, 0.6, 0.4))]
    text = as_markdown(rules.make_parts(records))
    assert "Synthetic data" in text
    assert "No family of models is complete" in text  # XGBoost is missing
    assert "## The plan" in text
