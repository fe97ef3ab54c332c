"""Several judges, no choice at all, and the penalty path."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.metrics import accuracy_score, brier_score_loss, f1_score, log_loss
from sklearn.model_selection import KFold

from sklearn_superior.metrics import fit_temperature, get_scorer, scale_temperature
from sklearn_superior.model_selection import (
    StoppingRuleComparison,
    Trajectory,
    compare_stopping_rules,
)
from sklearn_superior.replication._results import collect
from sklearn_superior.replication._store import RecordStore
from tests.early_stopping.families import make_data

RECORDS = Path(__file__).parents[2] / "doc" / "replication"
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
        ([], "at least one, or a dict. Got"),
        (["f1_macro", 3], "at least one, or a dict. Got"),
        (["f1_macro", "f1_macro"], "a list of different str"),
        (["f1_macro", "nothing"], "must hold rules among .* Got 'nothing'"),
        ("calibrated_nothing", "with 'calibrated_' before it or not.*'calibrated_noth"),
        ("last", "must hold rules among .* Got 'last'"),
        ({}, "at least one judge"),
        ({1: "accuracy"}, "at least one judge, with a str"),
        ({"target": "accuracy"}, r"not among \['error', 'score', 'target'\]"),
        ({"f1": "f1_macro", "score": "accuracy"}, "not among .*'score'"),
        ({"brier": "accuracy"}, r"names of rules, .* Got \['brier'\] in both"),
    ],
)
def test_bad_judges(scoring, message):
    X, y, *_ = make_data("binary")
    with pytest.raises(ValueError, match=f"'scoring' parameter .*{message}"):
        compare_stopping_rules(make_booster(), X, y, scoring=scoring, rules=["brier"])


def test_rules_in_a_dict_keep_their_scorers():
    X, y, *_ = make_data("binary")
    rules = {"accuracy": get_scorer("neg_log_loss")}
    with pytest.raises(ValueError, match="names of rules, .*'accuracy'"):
        compare_stopping_rules(
            make_booster(), X, y, rules=rules, scoring=["f1_macro", "accuracy"]
        )
    with pytest.raises(ValueError, match="'rules' parameter must not name .* 'last'"):
        compare_stopping_rules(make_booster(), X, y, rules={"last": "accuracy"})


@pytest.mark.parametrize(
    "penalties",
    [[], "paper", 5, [-1], [-math.inf], [math.nan], ["foo"], [None], [True], ["0.5"]],
)
def test_bad_penalties(comparison, penalties):
    with pytest.raises(ValueError, match="'penalties' parameter must"):
        comparison.penalty_path(penalties=penalties)


def test_a_path_of_nothing():
    with pytest.raises(ValueError, match="at least one training"):
        StoppingRuleComparison([], ["brier"]).penalty_path()
    trajectory = made_up(0, 3)
    with pytest.raises(ValueError, match="needs the number of classes. Give it to"):
        StoppingRuleComparison([trajectory], ["brier"]).penalty_path()
    trajectory.validation["brier"] = np.full(15, np.nan)
    trajectory.n_classes = 3
    with pytest.raises(ValueError, match="All losses of fold 0 are NaN"):
        StoppingRuleComparison([trajectory], ["brier"]).penalty_path()


def made_up(seed, n_classes, n_stages=15, n_rows=40):
    """A training with random losses and error rates."""
    rng = np.random.default_rng(seed)

    def part():
        error = rng.integers(0, n_rows + 1, n_stages) / n_rows
        brier = rng.integers(0, 100, n_stages) / 100
        log = brier * 2
        return {
            "brier": -brier,
            "penalized_brier": -(brier + (n_classes - 1) / n_classes * error),
            "log_loss": -log,
            "penalized_log_loss": -(log + math.log(n_classes) * error),
            "target": 1 - error,
        }

    return Trajectory(0, 0, part(), part())


@given(
    seed=st.integers(0, 10**6),
    n_classes=st.integers(2, 30),
    rule=st.sampled_from(["brier", "log_loss"]),
)
def test_the_error_never_rises_along_the_path(seed, n_classes, rule):
    trajectory = made_up(seed, n_classes)
    trajectory.n_classes = n_classes
    rules = ["brier", "penalized_brier", "log_loss", "penalized_log_loss"]
    comparison = StoppingRuleComparison([trajectory], rules)
    path = comparison.penalty_path(rule)
    errors = [row["validation_error"] for row in path]
    losses = [row["validation_loss"] for row in path]
    assert all(np.diff(errors) <= 1e-9)
    assert all(np.diff(losses) >= -1e-9)
    assert np.all(np.diff([row["value"] for row in path]) >= 0)
    # The ends of the path, and the paper's penalty, are choices that are known.
    by_penalty = {row["penalty"]: row for row in path}
    for penalty, name in [("0", rule), ("paper", f"penalized_{rule}")]:
        stage, _ = trajectory.choose(name, "CP")
        # Of stages that are equal but for rounding another one may be taken.
        scores = trajectory.validation[name]
        chosen = int(by_penalty[penalty]["iteration"])
        assert scores[chosen] == pytest.approx(scores[stage], abs=1e-6)
    error = 1 - trajectory.validation["target"]
    assert by_penalty["inf"]["validation_error"] == pytest.approx(error.min(), abs=1e-6)


def test_the_path_by_brute_force(comparison):
    penalties = [0, 0.1, "minimal", "paper", 3.0, math.inf]
    values = [0, 0.1, 3 / 10, 4 / 5, 3.0, 1e9]
    path = comparison.penalty_path("brier", penalties)
    for row, value in zip(path, values, strict=True):
        chosen = []
        for trajectory in comparison.trajectories:
            loss = -trajectory.validation["brier"]
            error = 1 - trajectory.validation["accuracy"]
            chosen.append(int(np.argmin(loss + value * error)))
        assert row["iteration"] == pytest.approx(np.mean(chosen))
        for name in ("target", *JUDGES[1:]):
            key = "test_score" if name == "target" else f"test_{name}"
            expected = [
                t.test[name][k]
                for t, k in zip(comparison.trajectories, chosen, strict=True)
            ]
            assert row[key] == pytest.approx(np.mean(expected))
    assert "paper" in str(path)


def test_a_path_that_lacks_something(comparison):
    with pytest.raises(
        ValueError, match="'rule' parameter must be one of .*'accuracy'"
    ):
        comparison.penalty_path("accuracy")
    with pytest.raises(ValueError, match="needs the scores of 'spherical'"):
        comparison.penalty_path("spherical")
    trajectory = made_up(0, 3)
    for name in ("log_loss", "penalized_log_loss"):
        del trajectory.validation[name]
    with pytest.raises(ValueError, match="needs the number of classes"):
        StoppingRuleComparison([trajectory], ["brier"]).penalty_path()


@pytest.mark.skipif(not RECORDS.exists(), reason="no records beside the package")
def test_the_path_of_the_recorded_replication():
    """Reproduced from the committed records, without training."""
    records, damaged = RecordStore(RECORDS).load_all()
    assert not damaged
    networks = [
        e for e in collect(records) if e.estimator == "cnn" and e.status == "complete"
    ]
    assert len(networks) == 7
    gains = []
    for experiment in networks:
        for rule, compared in experiment.comparisons.items():
            path = compared.penalty_path(rule)
            assert all(np.diff([row["validation_error"] for row in path]) <= 1e-6)
            by_penalty = {row["penalty"]: row for row in path}
            # The ends are the choices that the report is made of.
            summary = {
                (row["rule"], row["selection"]): row
                for row in compared.summary(baseline=rule)
            }
            for penalty, name in [("0", rule), ("paper", f"penalized_{rule}")]:
                mean = summary[name, "CP"]["mean"]
                assert by_penalty[penalty]["test_score"] == pytest.approx(
                    mean, abs=1e-3
                )
            gains.append(
                by_penalty["inf"]["test_score"] - by_penalty["paper"]["test_score"]
            )
    # More F1 with the largest penalty than with the paper's, on average.
    assert np.mean(gains) > 0


@pytest.mark.parametrize("judge", ["refined_log_loss", "neg_refined_brier_score"])
def test_no_judge_fits_a_temperature_to_the_test_part(judge):
    with pytest.raises(ValueError, match=r"must not hold refined rules.*'calibrated_'"):
        compare_stopping_rules(
            GradientBoostingClassifier(), *make_data("five")[:2], scoring=[judge]
        )
