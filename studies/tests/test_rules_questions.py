"""The tables of the comparison of rules."""

import math

import pytest

from studies._page import Table
from studies.rules import PLAN, questions
from studies.rules.evidence import PENALTIES, Evidence
from studies.tests.rules_records import make_records


@pytest.fixture(scope="module")
def evidence():
    return Evidence(PLAN, list(make_records()))


def rows_of(parts, which=0):
    table = [part for part in parts if isinstance(part, Table)][which]
    assert {len(row) for row in table.rows} == {len(table.header)}
    return {row[0]: dict(zip(table.header, row, strict=True)) for row in table.rows}


def test_a_difference_is_shown_with_its_interval():
    row = {"difference": 0.01, "low": -0.02, "high": 0.03}
    assert questions.show(row) == "+1.00 (−2.00 to +3.00)"
    assert questions.show(row, -1, 3) == "−0.010 (−0.030 to +0.020)"
    assert questions.show(dict.fromkeys(row, math.nan)) == "– (–)"


def test_every_rule_is_compared_with_the_log_loss(evidence):
    rows = rows_of(questions.answer_rules(evidence), 1)
    assert len(rows) == len(PLAN["rules"]) - 1
    assert rows["accuracy"]["all"].startswith("+4.50 (")
    assert list(rows["accuracy"])[-1] == "all"
    assert rows["accuracy"]["multilayer perceptron, signals"].startswith("+6.00 (")
    # The last stage has an F1 of 40 instead of 50.
    assert rows["last stage"]["all"].startswith("−10.00 (")


def test_the_paper_s_question_is_asked_for_each_family(evidence):
    table = next(iter(questions.answer_paper(evidence)))
    lines = [(row[0], row[1], row[3]) for row in table.rows]
    # The penalty of a third of PBS outweighs the loss, that of PLL, too.
    assert ("convolutional network, signals", "PBS − BS", "+3.00") in lines
    assert ("multilayer perceptron, signals", "PLL − LL", "+6.00") in lines


def test_the_rule_with_the_lowest_worst_case_comes_first(evidence):
    rows = rows_of(questions.answer_robustness(evidence))
    worst = [float(row["worst"]) for row in rows.values()]
    assert worst == sorted(worst)
    assert rows["last stage"]["worst"] == "16.00"
    assert rows["log loss (LL)"]["worst"] == "6.00"


def test_a_line_for_each_penalty(evidence):
    rows = rows_of(questions.answer_penalty(evidence))
    assert len(rows) == len(PENALTIES)
    network = [row["convolutional network, signals"] for row in rows.values()]
    assert network == ["50.00"] * 2 + ["53.00"] * 5


def test_losses_are_lower_with_a_minus(evidence):
    rows = rows_of(questions.answer_probabilities(evidence))
    # Accuracy chooses the second stage, whose log loss is 0.6 instead of 0.5, 0.4
    # after recalibration, with two errors instead of five.
    assert rows["accuracy"]["log loss as it is"].startswith("+0.100 (")
    assert rows["accuracy"]["log loss recalibrated"].startswith("−0.100 (")
    assert rows["accuracy"]["accuracy"].startswith("+30.00 (")
    assert "log loss (LL)" not in rows


def test_smoothing_over_more_stages_than_there_are_chooses_the_first(evidence):
    rows = rows_of(questions.answer_smoothing(evidence))
    assert rows["smoothed accuracy − accuracy"]["Δ F1"] == "−4.50"
    assert rows["smoothed accuracy − log loss (LL)"]["Δ F1"] == "+0.00"


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0.6, 2, "a gain that matters"),
        (-2, -0.6, "a loss that matters"),
        (0.1, 0.4, "no difference that matters"),
        (0.1, 0.6, "undecided, leaning to a gain"),
        (-0.6, -0.1, "undecided, leaning to a loss"),
        (-0.6, 0.1, "undecided"),
        (math.nan, math.nan, "undecided"),
    ],
)
def test_an_interval_is_put_into_words(low, high, words):
    assert questions.judge_interval({"low": low, "high": high}, 0.5) == words
