"""The answers of the comparison of rules."""

import pytest

pytest.importorskip("matplotlib")

from studies._page import Figures, Heading, Table
from studies.rules import PLAN
from studies.rules.answers import answer, list_limits, sum_up
from studies.rules.evidence import Evidence
from studies.tests.rules_records import make_record, make_records, make_table_records


def test_six_sentences_sum_it_up():
    records = [*make_records(), *make_table_records()]
    sentences = list(sum_up(Evidence(PLAN, records)))
    assert len(sentences) == 6
    assert "loses up to 22 points" in sentences[0]
    assert "(multilayer perceptron on tetouan power)" in sentences[0]
    # Two signals gain 11.5 and 13 points, three tables lose 5.
    assert "without tetouan power +1.90" in sentences[0]
    assert "log loss (LL) 6.0" in sentences[2]
    words = "PBS instead of Brier score, signals +4.50 (−5.36 to +14.36), tables +0.00"
    assert words in sentences[3]
    assert "macro F1 instead of log loss" in sentences[4]
    assert "adjusted p" not in sentences[4].split(";")[1]


def test_limits_say_how_many_trainings_are_tied():
    limits = list(list_limits(Evidence(PLAN, list(make_records()))))
    assert any("in 0 of 18 trainings" in limit for limit in limits)
    assert any("looked at once before" in limit for limit in limits)


def test_figures_are_pictures():
    (figures,) = (
        part
        for part in answer(PLAN, list(make_records())).start
        if isinstance(part, Figures)
    )
    assert len(figures.pngs) == 2
    assert all(png.startswith(b"\x89PNG") for png in figures.pngs)


def test_the_network_of_the_notebook_is_compared_on_the_same_folds():
    records = [
        make_record("ble_rssi", name, fold, f1=(level, 0.9, 0.9))
        for name, folds, level in (("cnn", (0, 1, 2), 0.5), ("cnn_relu", (0, 1), 0.4))
        for fold in folds
    ]
    sections = answer(PLAN, records).sections
    headings = [part.text for part in sections if isinstance(part, Heading)]
    assert headings[-2] == "Does the ReLU of the authors' notebook matter?"
    tables = [part for part in sections if isinstance(part, Table)]
    assert tables[-1].rows == [["ble rssi", "2", "50.00", "40.00", "−10.00"]]


def test_the_appendix_has_a_table_for_each_data_set_and_model():
    appendix = answer(PLAN, list(make_records())).appendix
    assert sum(isinstance(part, Table) for part in appendix) == 3 * 2
