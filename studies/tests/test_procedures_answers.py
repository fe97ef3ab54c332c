"""The answers of the comparison of procedures."""

import pytest

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

from studies._evidence import Study
from studies._page import (
    Bullets,
    Figures,
    Heading,
    Table,
    as_html,
    as_markdown,
)
from studies._wording import say_results
from studies.procedures.analysis import HYPOTHESES, five_results
from studies.procedures.answers import (
    CHANGES,
    answer,
    decide,
    list_limits,
    show_advice,
)
from studies.tests.procedures_records import (
    PLAN,
    make_failure,
    make_records,
    number_of,
    plant,
)


def say(result):
    own = [h for h in HYPOTHESES if h.name == result["name"]]
    (sentence,) = say_results([result], own, CHANGES, PLAN["margin"])
    return sentence


def parts_of(records):
    found = answer(PLAN, records)
    return [*found.start, *found.sections, *found.appendix]


@pytest.fixture(scope="module")
def parts():
    return parts_of(make_records(plant))


def oppose(dataset, kind):
    """Everything is the opposite, and the folds are better on signals."""
    own = {key: -value for key, value in plant(dataset, kind).items()}
    return own | {"folds": -3.0 if kind == "signals" else 2.0}


def test_the_page_begins_with_five_sentences(parts):
    assert isinstance(parts[0], Heading)
    sentences = parts[1].items
    assert len(sentences) == 5
    assert sentences[0] == (
        "H1 holds: on signals, choosing the stage by refined PLL instead of the log "
        "loss changes macro F1 by +2.71 points (+2.29 to +3.14; 8 units; adjusted p "
        "0.008)."
    )
    assert sentences[2].startswith("H3 holds: early stopping by refined PLL")
    assert "nats; 20 units; adjusted p below 0.001)." in sentences[2]
    assert sentences[3].endswith("less than the margin of 0.5.")


def test_sentences_say_plainly_what_failed():
    results = five_results(PLAN, make_records(oppose))
    sentences = [say(result) for result in results]
    for k in (0, 1, 2, 4):
        assert sentences[k].startswith(f"H{k + 1} does not hold: ")
        assert sentences[k].endswith(", the opposite of what was expected.")


@pytest.mark.parametrize(
    ("size", "end"),
    [
        (2.0, "), more than the margin of 0.5."),
        (0.45, "; whether that is less than the margin of 0.5 remains open."),
    ],
)
def test_sentences_about_the_margin(size, end):
    def effects(dataset, kind):
        return {"refined": size + 0.05 * (number_of(dataset) - 4)}

    result = five_results(PLAN, make_records(effects))[3]
    assert say(result).startswith("H4 does not hold")
    assert say(result).endswith(end)


def test_an_interval_around_zero_remains_open():
    def effects(dataset, kind):
        return {"refined": (-1) ** number_of(dataset)}

    result = five_results(PLAN, make_records(effects))[0]
    end = "; whether there is a difference remains open."
    assert say(result).endswith(end)


def test_what_was_not_tested_is_said():
    (result, *_) = five_results(PLAN, [])
    assert say(result) == "H1 was not tested: no data set is complete."


def decisions(effects):
    study = Study(PLAN, make_records(effects))
    return list(decide(study, five_results(PLAN, study)))


def test_defaults_follow_from_the_rules_of_the_plan():
    default, refit, where, _ = decisions(plant)
    assert default.startswith("H3 holds: the default of early stopping stays")
    assert 'refit="all" is the default' in refit
    assert "in its worst kind of data it loses 0.0 log points" in refit
    assert 'to "folds", which loses 2.0 in its worst' in refit
    assert "better in every kind of data: tables −8.4" in where
    default, refit, where, _ = decisions(oppose)
    assert default.startswith("H3 does not hold: the default of early stopping changes")
    assert 'refit="folds" is the default' in refit
    assert "in its worst kind of data it loses 2.0 log points" in refit
    assert "not clearly better on tables +8.4" in where


def test_kinds_in_which_all_rows_are_not_better_are_named():
    def effects(dataset, kind):
        sign = (-1) ** number_of(dataset) if kind == "binary" else -1
        return {"refit": 5 * sign + 0.1 * number_of(dataset)}

    *_, where, _ = decisions(effects)
    assert "is not clearly better on binary tables" in where
    assert where.index("binary tables") < where.index("and better on tables")


def test_what_to_use_when():
    def effects(dataset, kind):
        own = plant(dataset, kind) | {"refined": 2.0 if kind == "signals" else 0.0}
        return own | {"refit": 5.0 if kind == "binary" else -5.0}

    study = Study(PLAN, make_records(effects))
    parts = show_advice(study, five_results(PLAN, study))
    (table,) = (part for part in parts if isinstance(part, Table))
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["signals: rule"][:1] == ["refined PLL"]
    assert rows["signals: rule"][2] == "tested by H1, which holds"
    assert rows["tables: rule"][2] == "not clear; equivalence (H4) was shown"
    assert rows["tables: rule"][0] == "either"
    assert rows["binary tables: rule"][2] == "not clear"
    assert rows["tables: procedure"][0] == 'refit="all"'
    assert rows["tables: procedure"][3] == "× 1.3"
    assert rows["binary tables: procedure"][0] == "early stopping"
    assert rows["binary tables: procedure"][3] == "× 1.0"


def test_a_figure_for_each_hypothesis(parts):
    figures = [part for part in parts if isinstance(part, Figures)]
    assert [len(part.pngs) for part in figures] == [2, 2, 2, 2, 1]
    assert all(png.startswith(b"\x89PNG") for part in figures for png in part.pngs)
    captions = " ".join(part.caption for part in figures)
    assert all(f"H{k}" in captions for k in range(1, 6))


def test_tables_are_whole_and_headings_are_unique(parts):
    for part in parts:
        if isinstance(part, Table):
            assert {len(row) for row in part.rows} == {len(part.header)}
            assert all(isinstance(cell, str) for row in part.rows for cell in row)
    headings = [part.anchor for part in parts if isinstance(part, Heading)]
    assert len(set(headings)) == len(headings)
    assert "appendix-all-data-sets" in headings  # linked by every report


def test_the_page_is_the_same_each_time(parts):
    again = parts_of(make_records(plant))
    assert as_markdown(again) == as_markdown(parts)
    assert as_html("Title", again) == as_html("Title", parts)


def test_pages_can_be_written_of_one_round_of_few_sets():
    names = ("table_1", "table_2", "signal_0", "signal_7")
    records = [
        record
        for record in make_records(plant)
        if record["job"]["dataset"] in names and record["job"]["fold"] == 0
    ]
    found = answer(PLAN, records)
    assert "(–; 2 units; adjusted p 0.750)" in found.start[1].items[0]
    assert "nan" not in as_markdown([*found.start, *found.sections, *found.appendix])


def test_without_a_complete_set_there_is_no_answer():
    (part,) = answer(PLAN, make_records(plant)[:1]).start
    assert part.text == "No data set is complete, so there is no answer."


def test_limits_say_what_is_missing():
    records = make_records(plant)
    limits = " ".join(list_limits(Study(PLAN, records)))
    assert "No data set of the plan is missing." in limits
    assert "2 of 2 rounds count; 0 trainings" in limits
    assert "failed" not in limits
    assert "diverged" not in limits
    assert "log loss in 0 % (HistGradientBoosting 0 %" in limits

    def is_left(record):
        place = (record["job"]["dataset"], record["job"]["fold"])
        return place not in (("table_3", 1), ("signal_1_at_random", 0), ("table_9", 0))

    left = [record for record in records if is_left(record)]
    for scores in (*left[0]["validation"].values(), *left[0]["test"].values()):
        scores[0] = None
    left[1] = make_failure(left[1])
    limits = " ".join(list_limits(Study(PLAN, left)))
    assert "are incomplete and left out: signal 1 at random." in limits
    n_late = sum(record["job"]["fold"] == 1 for record in left)
    assert f"1 of 2 rounds count; {n_late} trainings" in limits
    assert "failed and have no values: 1 (hgb on table 0)." in limits
    assert "which are never chosen: 1; with no other stage: 0." in limits


def test_limits_say_what_was_cut():
    text = "most_rows = 7\nmost_test_rows = 8\nmost_tuned_rows = 9\nmost_points = 32\n"
    plan = type(PLAN)(text + PLAN.text)
    limits = " ".join(list_limits(Study(plan, make_records(plant))))
    assert "7 training rows and 8 test rows, 9 training rows for tuned" in limits
    assert "longer than 32 points" in limits


def test_the_questions_of_the_plan_stand_beside_the_tests(parts):
    lists = [part.items for part in parts if isinstance(part, Bullets)]
    assert PLAN["questions"] in lists
