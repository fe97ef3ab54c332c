"""The study of few validation rows: its trainings, and what the guide says of them."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import f1_score, log_loss

from sklearn_superior.early_stopping import EarlyStoppingClassifier
from sklearn_superior.metrics import fit_temperature, get_scorer
from studies._statistics import summarize
from studies._store import RecordStore
from studies.small import validation
from studies.small.policies import OLD, PLAIN, POLICIES, fit_smoothed
from studies.small.report import (
    BINS,
    KINDS,
    NEW,
    Results,
    geometric_mean,
    make_guide_table,
    of_kind,
)
from studies.small.validation import FIELDS, Job, draw_parts, train
from studies.tests.rules_records import RECORDS, ROOT

GUIDE = ROOT / "doc" / "choose_then_calibrate.rst"
FEW, *MORE = BINS


@pytest.fixture(scope="module")
def records():
    if not RECORDS.exists():
        pytest.skip("no records here")
    return RecordStore(RECORDS / "small", FIELDS).load_all()[0]


@pytest.fixture(scope="module")
def results(records):
    return Results(records)


@pytest.mark.parametrize(
    ("policy", "scoring", "patience", "calibration"),
    [
        (NEW, "neg_refined_penalized_log_loss", 20, "temperature"),
        (OLD, "neg_penalized_brier_score", 10, None),
    ],
)
@pytest.mark.parametrize("dataset", ["iris", "wine", "breast_cancer"])
def test_a_policy_keeps_and_ships_what_the_package_does(
    dataset, policy, scoring, patience, calibration
):
    n_validation = 15 if dataset == "breast_cancer" else 10
    job = Job(dataset, "hgb", n_validation, 0)
    parts = draw_parts(job, None)
    record = train(job, None)
    model = EarlyStoppingClassifier(
        HistGradientBoostingClassifier(max_iter=200, random_state=0),
        scoring=get_scorer(scoring),
        n_iter_no_change=patience,
        calibration=calibration,
    ).fit(
        parts.X["train"],
        parts.y["train"],
        X_val=parts.X["validation"],
        y_val=parts.y["validation"],
    )
    y_proba = model.predict_proba(parts.X["test"])
    assert POLICIES[policy].choose(record) == model.best_iteration_
    assert POLICIES[policy].judge(record) == pytest.approx(
        (
            log_loss(parts.y["test"], y_proba),
            f1_score(parts.y["test"], y_proba.argmax(axis=1), average="macro"),
        ),
        rel=1e-4,
    )


def test_smoothed_labels_are_rows_of_every_class_with_small_weights():
    proba = np.random.default_rng(0).dirichlet(np.ones(3), size=12)
    y = proba.argmax(axis=1)  # all right: without smoothing there is no best one
    weight = 1 / 13
    spread = np.tile(np.arange(3), 12)
    expected = fit_temperature(
        np.concatenate([y, spread]),
        np.concatenate([proba, np.repeat(proba, 3, axis=0)]),
        sample_weight=np.repeat([1 - weight, weight / 3], [12, 36]),
        prior_scale=None,
    )
    assert fit_smoothed(y, proba) == pytest.approx(expected, rel=1e-3)


def test_boosting_in_chunks_is_boosting_in_one_go():
    job = Job("iris", "hgb", 10, 0)
    parts = draw_parts(job, None)
    model = HistGradientBoostingClassifier(
        max_iter=90, early_stopping=False, random_state=0
    ).fit(parts.X["train"], parts.y["train"])
    stages = validation.train_in_stages(job, parts)
    for expected, (_, test) in zip(
        model.staged_predict_proba(parts.X["test"]), stages, strict=False
    ):
        np.testing.assert_allclose(test, expected, rtol=1e-12)


@pytest.fixture(scope="module")
def guide():
    """The text of the section, in one line."""
    text = GUIDE.read_text()
    text = text[text.index("Few validation rows\n---") :]
    return " ".join(text[: text.index("How optimistic is it?")].split())


def percent(ratio):
    return round(100 * abs(ratio - 1))


def test_the_table_of_the_guide_is_that_of_the_records(records):
    assert make_guide_table(records) in GUIDE.read_text()


def test_the_guide_says_how_large_the_study_is(records, guide):
    sizes = {record["job"]["n_validation"] for record in records}
    n_sets = len({record["job"]["dataset"] for record in records})
    assert f"{n_sets} data sets were cut down" in guide
    assert f"{min(sizes)} to {max(sizes):,}, validates" in guide
    assert f"{len(records):,} trainings" in guide


def test_the_guide_says_what_other_priors_do(results, guide):
    def against_default(scale, name):
        policy = NEW.replace("0.5", scale)
        return results.ratios(policy, name, baseline=NEW)

    worse = []
    for scale in ("1", "0.7"):
        summary = summarize(np.log(list(against_default(scale, FEW).values())))
        assert summary["low"] > 0
        worse.append(percent(np.exp(summary["difference"])))
    assert f"are worse than the default, σ = 0.5, by {worse[0]} % and {worse[1]} %" in (
        guide
    )
    for name in BINS:
        summary = summarize(np.log(list(against_default("0.3", name).values())))
        assert summary["low"] <= 0 <= summary["high"]
    ratios = against_default("0.3", FEW)
    assert min(ratios, key=ratios.get) == "digits"
    assert max(ratios, key=ratios.get) == "motor_failure_time"
    lower, higher = percent(min(ratios.values())), percent(max(ratios.values()))
    assert f"{lower} % lower on digits and {higher} % higher on the signals" in guide


def test_the_guide_says_what_the_default_gains(results, guide):
    means = {name: geometric_mean(results.ratios(NEW, name)) for name in BINS}
    gains = [results.gain_in_f1(NEW, name) for name in BINS]
    least, most = sorted(percent(means[name]) for name in MORE)[:: len(MORE) - 1]
    assert max(means.values()) < 1
    assert (
        f"{percent(means[FEW])} % lower with fewer than 60 rows and {least} to {most} %"
    ) in guide
    assert f"{min(gains):.1f} to {max(gains):.1f} points higher" in guide
    for kind, what in zip(KINDS, ("on tables", "on signals"), strict=True):
        low, high = sorted(
            percent(geometric_mean(of_kind(results.ratios(NEW, name), kind)))
            for name in (FEW, MORE[0])
        )
        assert f"{low} to {high} % {what}" in guide
    bad = {
        (name, dataset): ratio
        for name in BINS
        for dataset, ratio in results.ratios(NEW, name).items()
        if ratio > 1.05
    }
    assert list(bad) == [(FEW, "digits")]
    assert f"fewer than 60 rows, by {percent(bad[FEW, 'digits'])} %." in guide


def test_the_guide_compares_the_default_with_the_log_loss(results, guide):
    refined = NEW.replace("PLL", "log loss")
    for name in BINS:
        ratio = geometric_mean(results.ratios(refined, name, baseline=NEW))
        assert 0.985 < ratio < 1
    assert "lower by 1 % or less" in guide
    plain = summarize(np.log(list(results.ratios(PLAIN, FEW, baseline=NEW).values())))
    assert plain["low"] < 0 < plain["high"]
    loss_of_f1 = results.gain_in_f1(NEW, FEW) - results.gain_in_f1(PLAIN, FEW)
    assert f"Its macro F1 is {loss_of_f1:.1f} points lower" in guide
