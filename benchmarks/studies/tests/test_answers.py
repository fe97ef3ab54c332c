"""The answers of the comparison of rules."""

import pytest

pytest.importorskip("matplotlib")

from benchmarks.studies.rules.answers import answer, sum_up
from benchmarks.studies.rules.evidence import Evidence
from benchmarks.studies.tests.records import PLAN, make_record, make_records
from sklearn_superior.replication._page import Figures, Heading, Table


def test_five_sentences_sum_it_up():
    sentences = list(sum_up(Evidence(PLAN, list(make_records()))))
    assert len(sentences) == 5
    assert "in every family" in sentences[0]
    assert "the log loss loses 6.0" in sentences[1]
    assert "PBS instead of Brier score changes F1 by +4.50 points" in sentences[2]
    assert "last stage instead of log loss changes F1 by −10.00" in sentences[3]


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
    assert headings[-1] == "Does the ReLU of the authors' notebook matter?"
    tables = [part for part in sections if isinstance(part, Table)]
    assert tables[-1].rows == [["ble rssi", "2", "50.00", "40.00", "−10.00"]]


def test_the_appendix_has_a_table_for_each_data_set_and_model():
    appendix = answer(PLAN, list(make_records())).appendix
    assert sum(isinstance(part, Table) for part in appendix) == 3 * 2
