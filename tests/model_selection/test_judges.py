"""Several judges, and no choice at all."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.metrics import accuracy_score, brier_score_loss, f1_score, log_loss
from sklearn.model_selection import KFold

from sklearn_superior.metrics import fit_temperature, get_scorer, scale_temperature
from sklearn_superior.model_selection import (
    compare_stopping_rules,
)
from tests.early_stopping.families import make_data

JUDGES = [
    "f1_macro",
    "accuracy",
    "log_loss",
    "brier",
    "calibrated_log_loss",
    "calibrated_brier",
]
RULES = ["last", "brier", "penalized_brier", "refined_penalized_brier", "accuracy"]
N_STAGES = 12


def make_booster():
    return GradientBoostingClassifier(
        n_estimators=N_STAGES, learning_rate=0.7, max_depth=2, random_state=0
    )


@pytest.fixture(scope="module")
def comparison():
    X, y, *_ = make_data("five")
    return compare_stopping_rules(
        make_booster(), X, y, cv=folds(X), rules=RULES, scoring=JUDGES
    )


def folds(X):
    for train, test in KFold(3).split(X):
        yield train[::2], train[1::2], test


def judge(y, proba, temperature):
    classes = np.unique(y)
    scaled = scale_temperature(proba, temperature)
    predicted = classes[proba.argmax(axis=1)]
    options = {"labels": classes}
    return {
        "f1_macro": f1_score(y, predicted, average="macro"),
        "accuracy": accuracy_score(y, predicted),
        "log_loss": -log_loss(y, proba, **options),
        "brier": -brier_score_loss(y, proba, scale_by_half=False, **options),
        "calibrated_log_loss": -log_loss(y, scaled, **options),
        "calibrated_brier": -brier_score_loss(
            y, scaled, scale_by_half=False, **options
        ),
    }


def test_judges_equal_brute_force(comparison):
    X, y, *_ = make_data("five")
    assert comparison.scoring == "f1_macro"
    assert comparison.judges == JUDGES[1:]
    records = {
        (r["fold"], r["rule"]): r for r in comparison.records if r["selection"] == "CP"
    }
    for fold, (train, val, test) in enumerate(folds(X)):
        model = make_booster().fit(X[train], y[train])
        stages = []
        for k, seen in enumerate(model.staged_predict_proba(X)):
            temperature = fit_temperature(y[val], seen[val])
            stages.append(judge(y[test], seen[test], temperature))
            trajectory = comparison.trajectories[fold]
            for name in JUDGES:
                stored = "target" if name == "f1_macro" else name
                assert_allclose(trajectory.test[stored][k], stages[k][name], rtol=1e-9)
            refined = trajectory.validation["refined_penalized_brier"][k]
            expected = get_scorer("refined_brier")._score_func(
                y[val], seen[val], penalty=0.8, labels=np.unique(y)
            )
            assert_allclose(refined, -expected, rtol=1e-9)
        for rule in RULES:
            row = records[fold, rule]
            chosen = stages[row["iteration"]]
            assert_allclose(row["test_score"], chosen["f1_macro"])
            best = max(stage["f1_macro"] for stage in stages)
            assert_allclose(row["regret"], best - chosen["f1_macro"], atol=1e-12)
            for name in JUDGES[1:]:
                assert_allclose(row[f"test_{name}"], chosen[name], rtol=1e-9)
                best = max(stage[name] for stage in stages)
                assert_allclose(row[f"regret_{name}"], best - chosen[name], atol=1e-9)


def test_the_last_stage_is_no_choice(comparison):
    rows = [r for r in comparison.records if r["rule"] == "last"]
    assert len(rows) == 6
    assert all(r["iteration"] == N_STAGES - 1 for r in rows)
    assert all(np.isnan(r["correlation"]) for r in rows)
    summary = comparison.summary(baseline="last")
    assert summary[0]["difference"] == 0
    assert np.isfinite(summary[2]["difference"])


def test_summaries_by_judge(comparison):
    by_target = comparison.summary(baseline="brier")
    assert by_target == comparison.summary(baseline="brier", judge="f1_macro")
    by_loss = comparison.summary(baseline="brier", judge="calibrated_log_loss")
    records = comparison.records
    for row in by_loss:
        own = [
            r
            for r in records
            if (r["rule"], r["selection"]) == (row["rule"], row["selection"])
        ]
        mean = np.mean([r["test_calibrated_log_loss"] for r in own])
        assert row["mean"] == pytest.approx(mean)
        regret = np.mean([r["regret_calibrated_log_loss"] for r in own])
        assert row["regret"] == pytest.approx(regret)
        assert row["regret"] >= 0
    with pytest.raises(ValueError, match="'judge' parameter must be one of .*'recall'"):
        comparison.summary(judge="recall")


def test_judges_by_a_dict_or_a_callable():
    X, y, *_ = make_data("binary")
    run = {"cv": list(folds(X)), "rules": ["brier"]}
    scorer = get_scorer("accuracy")
    mine = compare_stopping_rules(
        make_booster(), X, y, scoring={"mine": scorer, "other": "f1_macro"}, **run
    )
    assert (mine.scoring, mine.judges) == ("mine", ["other"])
    named = compare_stopping_rules(make_booster(), X, y, scoring="accuracy", **run)
    plain = compare_stopping_rules(make_booster(), X, y, scoring=scorer, **run)
    assert (named.scoring, plain.scoring) == ("accuracy", "target")
    for other in (named, plain):
        for a, b in zip(mine.trajectories, other.trajectories, strict=True):
            assert_array_equal(a.test["target"], b.test["target"])


@pytest.mark.parametrize(
    ("scoring", "message"),
    [
        ([], "non-empty list of str or scorers, or a dict .*Got"),
        (["f1_macro", 3], "non-empty list of str or scorers, or a dict .*Got"),
        (["f1_macro", "f1_macro"], "unique names"),
        (["f1_macro", "nothing"], "must be a scorer, or one of .* Got 'nothing'"),
        ("calibrated_nothing", "must be a scorer, or one of .* Got 'nothing'"),
        ("last", "must be a scorer, or one of .* Got 'last'"),
        ({}, "non-empty list of str"),
        ({1: "accuracy"}, "a dict from str"),
        ({"target": "accuracy"}, r"not use the names \['error', 'score', 'target'\]"),
        ({"f1": "f1_macro", "score": "accuracy"}, "not use the names .*'score'"),
        ({"brier": "accuracy"}, r"name of a rule .* Got \['brier'\] in both"),
    ],
)
def test_bad_judges(scoring, message):
    X, y, *_ = make_data("binary")
    with pytest.raises(ValueError, match=f"'scoring' parameter .*{message}"):
        compare_stopping_rules(make_booster(), X, y, scoring=scoring, rules=["brier"])


def test_rules_in_a_dict_keep_their_scorers():
    X, y, *_ = make_data("binary")
    rules = {"accuracy": get_scorer("neg_log_loss")}
    with pytest.raises(ValueError, match="name of a rule .*'accuracy'"):
        compare_stopping_rules(
            make_booster(), X, y, rules=rules, scoring=["f1_macro", "accuracy"]
        )
    with pytest.raises(ValueError, match="'rules' .* reserved for keeping"):
        compare_stopping_rules(make_booster(), X, y, rules={"last": "accuracy"})


@pytest.mark.parametrize("judge", ["refined_log_loss", "neg_refined_brier_score"])
def test_no_judge_fits_a_temperature_to_the_test_part(judge):
    with pytest.raises(ValueError, match=r"must not hold refined rules.*'calibrated_'"):
        compare_stopping_rules(
            GradientBoostingClassifier(), *make_data("five")[:2], scoring=[judge]
        )
