"""The analysis of the comparison of procedures, on records with a known answer."""

import itertools
import math
from statistics import fmean

import numpy as np
import pytest
from scipy.stats import binom, kstest

from sklearn_superior.early_stopping import EarlyStopper
from studies._evidence import Study, tost
from studies._measures import choose, f1_gain, log_ratio, replay
from studies._plan import Plan
from studies._statistics import sign_flip_above, summarize
from studies.procedures.analysis import RULES, five_results
from studies.tests.procedures_records import (
    AT_RANDOM,
    BINARY,
    PLAN,
    SIGNALS,
    TABLES,
    TEXT,
    make_failure,
    make_record,
    make_records,
    plant,
    plant_nothing,
)

KIND = {
    name: kind
    for kind, names in (
        ("tables", TABLES),
        ("binary", BINARY),
        ("signals", SIGNALS),
        ("at_random", AT_RANDOM),
    )
    for name in names
}


def units_of(effect, names):
    """The planted effect of each unit, by hand."""
    values = {name: plant(name, KIND[name])[effect] for name in names}
    for family in (("signal_7", "signal_8"), ("table_0", "binary_0")):
        own = [values.pop(name) for name in family if name in values]
        values |= {"family of " + family[0]: fmean(own)} if own else {}
    return list(values.values())


# Rules


@pytest.mark.parametrize(
    ("rule", "stage"),
    [
        ("log_loss", 0),
        ("refined_log_loss", 2),
        ("penalized_log_loss", 0),
        ("refined_penalized_log_loss", 2),
        ("brier", 1),
        ("penalized_brier", 3),
        ("accuracy", 3),
        ("f1_macro", 2),
        ("last", 4),
    ],
)
def test_rules_choose_the_stages_that_were_planted(rule, stage):
    assert choose(make_record("table_1", "hgb"), rule) == stage


def test_ties_are_broken_by_the_log_loss_and_then_by_the_first():
    record = make_record("table_1", "hgb")
    record["validation"]["errors"] = [3, 2, 2, 2, 3]
    record["validation"]["f1_macro"] = [0.1, 0.9, 0.9, 0.9, 0.9]
    record["validation"]["log_loss"] = [0.1, 0.4, 0.3, 0.3, 0.3]
    record["validation"]["brier"] = [0.5, 0.4, 0.4, 0.4, 0.4]
    assert choose(record, "accuracy") == choose(record, "f1_macro") == 2
    assert choose(record, "brier") == 1


def test_stages_that_diverged_are_never_chosen():
    record = make_record("table_1", "hgb")
    for part in ("validation", "test"):
        for scores in record[part].values():
            scores[0] = scores[4] = None
    assert choose(record, "log_loss") == 1
    assert choose(record, "penalized_log_loss") == 1
    assert choose(record, "accuracy") == 3
    assert choose(record, "last") == 3
    for scores in record["validation"].values():
        scores[:] = [None] * 5
    assert all(choose(record, rule) is None for rule in (*RULES, "last"))
    assert replay(record, "log_loss", 2) == (None, 2)
    assert math.isnan(f1_gain("brier", "log_loss")(record))


def test_a_training_without_a_sound_stage_is_left_out_of_the_mean():
    records = make_records(plant)
    for scores in records[0]["validation"].values():
        scores[:] = [None] * 5
    assert math.isfinite(five_results(PLAN, records)[3]["difference"])


@pytest.mark.parametrize("patience", [1, 2, 3, 5, 10])
def test_patience_is_that_of_the_early_stopper(patience):
    rng = np.random.default_rng(0)
    for n_equal in (0, 3):
        losses = rng.integers(1, 12, 40) / 4
        losses[:n_equal] = 2.0
        scores = [None if k == 7 else float(x) for k, x in enumerate(losses)]
        record = {
            "validation": {"log_loss": scores},
            "test": {"log_loss": scores},
            "n_rows": {"validation": 10},
            "n_classes": 3,
        }
        stopper = EarlyStopper(n_iter_no_change=patience, greater_is_better=False)
        for score in scores:
            if stopper.update(math.nan if score is None else score):
                break
        expected = (stopper.best_iteration, stopper.n_iter)
        assert replay(record, "log_loss", patience) == expected
    assert replay(record, "log_loss") == (choose(record, "log_loss"), 40)
    assert replay(record, "last", patience) == (39, 40)


# Tests


@pytest.mark.parametrize("n", [1, 2, 5, 8, 12])
def test_signs_are_flipped_exactly(n):
    rng = np.random.default_rng(n)
    for differences in (rng.normal(0.5, 1, n), rng.integers(-3, 5, n) / 10):
        sums = [
            sum(s * d for s, d in zip(signs, differences, strict=True))
            for signs in itertools.product((-1, 1), repeat=n)
        ]
        expected = np.mean(np.array(sums) >= sum(differences) - 1e-9)
        assert sign_flip_above(differences) == expected


def test_forty_units_are_exact():
    differences = [0.1] * 27 + [-0.1] * 13
    expected = binom.sf(26, 40, 0.5)  # 27 or more signs are positive
    assert sign_flip_above(differences) == pytest.approx(expected, rel=1e-12)
    assert sign_flip_above(np.ones(40)) == 2.0**-40


def test_what_cannot_be_tested_exactly_is_refused():
    with pytest.raises(ValueError, match="at most 50 finite numbers. Got 51"):
        sign_flip_above(np.ones(51))
    with pytest.raises(ValueError, match="finite"):
        sign_flip_above([1.0, math.nan])
    assert math.isnan(sign_flip_above([]))
    assert sign_flip_above([0.0, 0.0]) == 1.0


def test_without_an_effect_p_is_uniform():
    rng = np.random.default_rng(0)
    p = [sign_flip_above(rng.normal(size=14)) for _ in range(400)]
    assert kstest(p, "uniform").pvalue > 0.01
    assert np.mean(np.array(p) < 0.05) == pytest.approx(0.05, abs=0.03)


def test_at_the_margin_equivalence_is_found_as_often_as_the_level():
    rng = np.random.default_rng(1)
    p = [tost(rng.normal(0.5, 0.3, size=14), 0.5) for _ in range(400)]
    assert np.mean(np.array(p) < 0.05) == pytest.approx(0.05, abs=0.03)
    assert tost(rng.normal(0, 0.1, size=14), 0.5) == 2.0**-14


def test_a_mean_has_its_interval():
    row = summarize([1.0, 2.0, 6.0, math.nan])
    half = 4.302652729911275 * np.std([1, 2, 6], ddof=1) / math.sqrt(3)
    assert (row["n"], row["difference"]) == (3, 3.0)
    assert (row["low"], row["high"]) == pytest.approx((3 - half, 3 + half))
    assert math.isnan(summarize([])["difference"])


# The five results


def test_planted_effects_come_out_and_hold():
    results = five_results(PLAN, make_records(plant))
    assert [row["name"] for row in results] == ["H1", "H2", "H3", "H4", "H5"]
    everywhere = [*TABLES[:9], *BINARY, *SIGNALS]
    expected = [
        units_of("refined", SIGNALS),
        units_of("penalty", SIGNALS),
        units_of("former", everywhere),
        units_of("refined", TABLES[:9]),
        units_of("refit", everywhere),
    ]
    for row, units in zip(results, expected, strict=True):
        assert row["n"] == len(units)
        assert row["difference"] == pytest.approx(fmean(units))
        half = row["high"] - row["difference"]
        assert half > 0
        assert row["difference"] - row["low"] == pytest.approx(half)
        assert row["holds"]
    assert [row["n"] for row in results] == [8, 8, 20, 9, 20]
    # All units have the expected sign, and those of H4 are all within the margin.
    p = [2.0**-8, 2.0**-8, 2.0**-20, 2.0**-9, 2.0**-20]
    assert [row["p"] for row in results] == p
    adjusted = [2 * p[0], 2 * p[0], 5 * p[2], 3 * p[3], 5 * p[2]]
    assert [row["p_adjusted"] for row in results] == pytest.approx(adjusted)
    assert results[2]["nats"]["difference"] < 0
    assert "nats" not in results[0]


def test_without_an_effect_nothing_holds():
    def effects(dataset, kind):
        own = plant_nothing(dataset, kind)
        return own | {"refined": 3 * own["refined"]}  # beyond the margin of H4

    results = five_results(PLAN, make_records(effects))
    assert not any(row["holds"] for row in results)
    assert all(row["p"] > 0.1 for row in results)
    assert all(row["low"] < 0 < row["high"] for row in results)


def test_effects_of_the_wrong_sign_do_not_hold():
    def effects(dataset, kind):
        return {key: -value for key, value in plant(dataset, kind).items()}

    results = five_results(PLAN, make_records(effects))
    assert [row["holds"] for row in results] == [False, False, False, True, False]
    assert results[0]["p"] == results[2]["p"] == 1.0


def test_a_gain_beyond_the_margin_is_no_equivalence():
    def effects(dataset, kind):
        return {"refined": 0.6 + plant(dataset, kind)["refined"]}

    row = five_results(PLAN, make_records(effects))[3]
    assert (row["holds"], row["p"]) == (False, 1.0)


def test_a_log_loss_of_zero_counts_as_a_millionth():
    record = make_record("table_1", "hgb")
    record["ways"]["default"]["log_loss"] = 0.0
    record["ways"]["former"]["log_loss"] = 1e-5
    measure = log_ratio("default", "former")
    assert measure(record) == pytest.approx(100 * math.log(0.1))
    record["ways"]["default"]["log_loss"] = None
    assert math.isnan(measure(record))
    assert math.isnan(log_ratio("all", "rest")(record))


# What counts


def test_folds_are_averaged_before_models():
    records = make_records(plant)
    study = Study(PLAN, records)

    def measure(record):
        return {"hgb": 3.0, "lightgbm": 6.0}.get(record["job"]["estimator"], math.nan)

    assert study.value("table_1", measure) == 4.5
    measure_folds = {("hgb", 0): 1.0, ("hgb", 1): 3.0, ("mlp", 0): 10.0}

    def of_folds(record):
        job = record["job"]
        return measure_folds.get((job["estimator"], job["fold"]), math.nan)

    assert study.value("table_1", of_folds) == (2 + 10) / 2
    assert study.value("table_1", of_folds, models=["hgb"]) == 2


def test_families_are_one_unit_even_across_kinds():
    study = Study(PLAN, [])
    values = {"table_0": 1.0, "table_1": 5.0, "binary_0": 2.0, "signal_7": 4.0}
    units = {"table_0 + binary_0": 1.5, "table_1": 5.0, "signal_7": 4.0}
    assert study.units(values) == units


def test_sets_that_were_seen_are_left_out():
    def effects(dataset, kind):
        return {"former": 1000.0 if dataset == "table_9" else -1.0}

    row = five_results(PLAN, make_records(effects))[2]
    assert row["difference"] == pytest.approx(-1.0)
    assert "table_9" not in Study(PLAN, make_records(effects)).sets()
    assert "table_9" in Study(PLAN, make_records(effects)).sets(seen=True)


def test_data_split_at_random_have_no_part_in_the_tests():
    def effects(dataset, kind):
        return {"refined": 50.0, "former": 50.0} if kind == "at_random" else {}

    results = five_results(PLAN, make_records(effects))
    assert results[0]["difference"] == pytest.approx(0, abs=1e-9)
    assert results[2]["difference"] == pytest.approx(0, abs=1e-9)


def test_rounds_that_are_not_complete_are_left_out():
    def of_job(record):
        return (record["job"]["dataset"], record["job"]["fold"])

    def effects(dataset, kind):
        return {"former": -1.0}

    records = make_records(effects)
    offset = 0.3  # of fold 0 alone
    for missing in ("table_1", "signal_3", "binary_3"):
        kept = [r for r in records if of_job(r) != (missing, 1)]
        study = Study(PLAN, kept)
        assert (study.folds, study.missing) == ([0], [])
        row = five_results(PLAN, kept)[2]
        assert row["difference"] == pytest.approx(-1 + offset)
    study = Study(PLAN, [r for r in records if of_job(r) != ("table_9", 0)])
    assert (study.folds, study.missing) == ([0, 1], [])  # not tested, has the other
    study = Study(PLAN, [r for r in records if of_job(r)[0] != "table_9"])
    assert (study.folds, study.missing) == ([0, 1], ["table_9"])
    without = [r for r in records if of_job(r) != ("table_1", 0)]
    assert Study(PLAN, without).folds == [1]


def test_a_set_lacks_a_round_if_one_model_is_missing():
    records = [
        r
        for r in make_records(plant)
        if (r["job"]["dataset"], r["job"]["estimator"]) != ("signal_1", "cnn")
    ]
    study = Study(PLAN, records)
    assert (study.folds, study.missing) == ([0], ["signal_1"])
    assert five_results(PLAN, records)[0]["n"] == 7


def test_without_a_complete_round_the_sets_of_the_first_fold_count():
    records = [
        r
        for r in make_records(plant)
        if r["job"]["dataset"] not in ("signal_3", "table_2")
    ]
    study = Study(PLAN, records)
    assert (study.folds, study.missing) == ([0], ["table_2", "signal_3"])
    row = five_results(PLAN, records)[0]
    names = [name for name in SIGNALS if name != "signal_3"]
    units = units_of("refined", names)
    # The offset of fold 0 stays: only its records count.
    assert (row["n"], row["difference"]) == (7, pytest.approx(fmean(units) + 0.3))


def test_only_what_the_plan_has_for_a_round_must_be_done():
    study = Study(PLAN, make_records(plant))
    assert (study.folds, study.missing) == ([0, 1], [])
    assert len(study.counted("signal_0", "cnn")) == 2
    assert len(study.counted("signal_0_at_random", "cnn")) == 1
    assert all(r["validation"] is not None for r in study.trainings())
    without = [r for r in study.records if r["job"]["dataset"] != "table_1_tuned"]
    study = Study(PLAN, without)
    assert (study.folds, study.missing) == ([0, 1], ["table_1_tuned"])


def test_a_training_that_failed_is_done_but_has_no_values():
    def effects(dataset, kind):
        return {"former": -1.0}

    records = make_records(effects)
    (place,) = (
        k
        for k, r in enumerate(records)
        if list(r["job"].values())[:2] == ["table_1", "hgb"] and r["job"]["fold"] == 0
    )
    records[place] = make_failure(records[place])
    study = Study(PLAN, records)
    assert (study.folds, len(study.failures)) == ([0, 1], 1)
    assert len(study.counted("table_1", "hgb")) == 1
    value = study.value("table_1", log_ratio("default", "former"))
    # The offsets are 0.1 of the model and 0.3 of the first fold, with both signs.
    assert value == pytest.approx(-1 + (-0.3 + 0.1 - 0.1) / 3)


def test_without_records_there_is_no_result():
    results = five_results(PLAN, [])
    assert [row["n"] for row in results] == [0] * 5
    assert not any(row["holds"] for row in results)


def test_the_margin_is_that_of_the_plan():
    narrow = Plan(TEXT.replace("margin = 0.5", "margin = 0.01"))
    assert not five_results(narrow, make_records(plant))[3]["holds"]
