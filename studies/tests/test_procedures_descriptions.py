"""What the comparison of procedures shows beyond its tests, on known records."""

import math
from statistics import fmean

import numpy as np
import pytest

from studies._evidence import Study
from studies._measures import calibration_error
from studies.procedures import descriptions
from studies.tests.procedures_records import (
    BINARY,
    GROUPED,
    N_TEST,
    PLAN,
    SIGNALS,
    TABLES,
    make_record,
    make_records,
    number_of,
    plant,
)

KINDS = ("tables", "binary", "signals")


@pytest.fixture(scope="module")
def study():
    return Study(PLAN, make_records(plant))


def means(rows):
    return {kind: summary["difference"] for kind, summary in rows.items()}


def test_rules_are_compared_with_the_last_stage_and_with_the_log_loss(study):
    rows = descriptions.compare_rules(study, "log_loss")
    assert "log_loss" not in rows
    assert len(rows) == 7
    assert means(rows["penalized_log_loss"]) == pytest.approx(
        dict.fromkeys((*KINDS, "at_random"), 0.0)
    )
    accuracy = means(rows["accuracy"])
    assert accuracy["binary"] == pytest.approx(-0.1)
    assert accuracy["tables"] == pytest.approx(-0.1)
    rows = descriptions.compare_rules(study, "last")
    assert len(rows) == 8
    assert means(rows["log_loss"])["signals"] == pytest.approx(-3.0)
    assert means(rows["log_loss"])["tables"] == pytest.approx(1.0)
    assert rows["log_loss"]["tables"]["n"] == 9
    assert rows["log_loss"]["binary"]["n"] == 4


def test_hypotheses_by_kind_and_by_model(study):
    rows = descriptions.split_by_kind(study)
    expected = [-4 * (1 + k / 10) for k in range(4)]
    assert means(rows["H3"])["binary"] == pytest.approx(fmean(expected))
    assert rows["H5"]["at_random"]["n"] == 0
    rows = descriptions.split_by_model(study)
    assert list(rows["H1"]) == ["hgb", "lightgbm", "mlp", "cnn"]
    of_models = means(rows["H1"])
    assert of_models["hgb"] - of_models["mlp"] == pytest.approx(0.1)
    assert math.isnan(means(rows["H4"])["cnn"])


def test_groups_and_random_splits_are_compared_on_the_same_sets(study):
    rows = descriptions.compare_splits(study)
    gain = fmean(2 * (1 + k / 10) for k in range(len(GROUPED)))
    of_round = 0.3  # what the first round alone adds; the others have no such sets
    own = rows["H1"]
    assert own["groups"]["n"] == own["difference"]["n"] == 3
    assert own["groups"]["difference"] == pytest.approx(gain)
    assert own["at_random"]["difference"] == pytest.approx(gain / 2 + of_round)
    assert own["difference"]["difference"] == pytest.approx(gain / 2 - of_round)
    assert rows["H2"]["difference"]["difference"] == pytest.approx(gain / 4 - of_round)


def test_tuned_models_are_compared_by_the_names_of_their_sets(study):
    values, summaries = descriptions.compare_tuned(study)
    assert values["table_1"] == pytest.approx((1.0, -2.0))
    assert list(values) == ["table_1", "table_2"]
    assert summaries["f1"]["difference"] == pytest.approx(1.5)
    assert summaries["log_ratio"]["difference"] == pytest.approx(-3.0)


def test_calibration_errors_are_those_of_the_bins(study):
    # |17 - 16| + |19 - 20| of 40 rows.
    rows = descriptions.compare_calibration(study)
    assert list(rows) == ["default", "former", "all", "folds"]
    for of_way in rows.values():
        assert means(of_way) == pytest.approx(dict.fromkeys(KINDS, 5.0))
    at_random = make_record("signal_0_at_random", "hgb", has_refits=False)
    assert math.isnan(calibration_error("all")(at_random))


def test_trainings_are_sorted_by_the_size_of_the_validation_part():
    sizes = {"table_1": 59, "table_2": 60, "table_3": 250, "table_4": 251}

    def effects(dataset, kind):
        k = number_of(dataset)
        size = {"n_validation": sizes.get(dataset, 100)}
        return size | {"refined": k, "former": -k}

    small, middle, large = descriptions.compare_sizes(
        Study(PLAN, make_records(effects))
    )
    assert (small["size"], small["n_trainings"]) == ("below 60", 6)
    assert small["f1"]["difference"] == pytest.approx(1)
    assert small["log_ratio"]["difference"] == pytest.approx(-1)
    assert large["f1"]["difference"] == pytest.approx(4)
    assert (small["f1"]["n"], middle["f1"]["n"], large["f1"]["n"]) == (1, 18, 1)
    n_all = 3 * 2 * (9 + 4) + 4 * 2 * 9
    assert sum(row["n_trainings"] for row in (small, middle, large)) == n_all


def test_budgets_and_seconds(study):
    budgets = descriptions.compare_budgets(study)
    assert means(budgets["default"])["tables"] == pytest.approx(60)
    assert means(budgets["former"])["at_random"] == pytest.approx(40)
    seconds = descriptions.compare_seconds(study)
    assert seconds["default"]["signals"] == pytest.approx((3, 1))
    assert seconds["folds"]["binary"] == pytest.approx((4, 4 / 3))


def test_the_refit_that_loses_less_in_its_worst_kind_is_chosen(study):
    refits = descriptions.compare_refits(study)
    assert means(refits["all", "folds"]) == pytest.approx(dict.fromkeys(KINDS, -2.0))
    chosen, lost = descriptions.choose_refit(study)
    assert chosen == "all"
    assert lost == pytest.approx({"all": 0.0, "folds": 2.0})


@pytest.mark.parametrize(("signals", "chosen"), [(-3.0, "folds"), (-1.0, "all")])
def test_the_worst_kind_decides_not_the_number_of_kinds(signals, chosen):
    def effects(dataset, kind):
        return {"folds": signals if kind == "signals" else 2.0}

    found, lost = descriptions.choose_refit(Study(PLAN, make_records(effects)))
    assert found == chosen
    assert lost == pytest.approx({"all": -signals, "folds": 2.0})


def test_trainings_whose_best_stage_is_the_last_are_counted():
    records = make_records(plant)
    for record in records:
        job = record["job"]
        if (job["dataset"], job["estimator"]) == ("table_1", "mlp"):
            record["validation"]["log_loss"][4] = 0.1
        if (job["dataset"], job["estimator"]) == ("table_9", "mlp"):  # seen
            record["validation"]["log_loss"][4] = 0.1
    counts = descriptions.count_last_stages(Study(PLAN, records))
    n_mlp = 2 * (9 + 4 + 9)
    assert counts["log_loss"]["mlp"] == (2, n_mlp)
    assert counts["log_loss"]["hgb"] == (0, n_mlp)
    assert counts["refined_penalized_log_loss"]["mlp"] == (0, n_mlp)


def test_the_difference_of_a_set_has_its_own_standard_error(study):
    value, error = descriptions.difference_within(study, "table_1", "all", "default")
    # The rows of both differ by a constant in each fold, which is not the same in the
    # models.
    assert error == pytest.approx(0, abs=1e-9)
    assert value < 0
    value, error = descriptions.difference_within(study, "table_1", "default", "former")
    variances = []
    for fold in (0, 1):
        noise = np.sin(np.arange(N_TEST) + fold)
        variances.append(np.var(0.1 * (noise - noise[::-1]), ddof=1) / N_TEST)
    assert error == pytest.approx(math.sqrt(sum(variances)) / 2)
    counts = descriptions.count_within(study)
    n_sets = len(TABLES) - 1 + len(BINARY) + len(SIGNALS)
    assert counts["all", "default"] == {"n": n_sets, "lower": n_sets, "higher": 0}
    # The loss of 0.4 falls by 4 % and a tenth of it for each number of a set.
    names = [*TABLES[:9], *BINARY, *SIGNALS]
    falls = [0.4 * 0.04 * (1 + int(name[-1]) / 10) for name in names]
    n_lower = sum(fall > 2 * error for fall in falls)
    assert 0 < n_lower < n_sets
    expected = {"n": n_sets, "lower": n_lower, "higher": 0}
    assert counts["default", "former"] == expected


def test_policies_train_and_lose(study):
    rows = {
        (row["rule"], row["patience"]): row
        for row in descriptions.compare_policies(study, ["signals"])
    }
    assert len(rows) == 1 + 8 * 4
    # With five stages no patience of ten ends early.
    assert {row["share"] for row in rows.values()} == {100.0}
    gain = fmean([*(2 * (1 + k / 10) for k in range(7)), 2 * 1.75])
    own, other = rows["refined_log_loss", None], rows["log_loss", 20]
    assert rows["last", None]["f1_lost"] == pytest.approx(0)  # three points more
    assert own["f1_lost"] == pytest.approx(3 - gain)
    assert other["f1_lost"] == pytest.approx(3)
    # The refined one is judged at its temperature: 0.4; the log loss chooses 0.5.
    assert other["loss_lost"] == pytest.approx(100 * math.log(0.5 / 0.4))
    only = descriptions.compare_policies(study, ["tables"], models=["cnn"])
    assert all(math.isnan(row["f1"]) for row in only)


def test_trainings_that_diverged_are_counted():
    records = make_records(plant)
    for record, n_lost in zip(records, (1, 5), strict=False):
        for part in ("validation", "test"):
            for scores in record[part].values():
                scores[:n_lost] = [None] * n_lost
    assert descriptions.count_diverged(Study(PLAN, records)) == (2, 1)
