"""The penalty path against brute force."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.model_selection import KFold

from sklearn_superior.model_selection import (
    StoppingRuleComparison,
    Trajectory,
    compare_stopping_rules,
)
from tests.early_stopping.families import make_data

JUDGES = ["f1_macro", "accuracy", "log_loss", "calibrated_brier"]


@pytest.fixture(scope="module")
def comparison():
    X, y, *_ = make_data("five")
    folds = [(train[::2], train[1::2], test) for train, test in KFold(3).split(X)]
    model = GradientBoostingClassifier(
        n_estimators=12, learning_rate=0.7, max_depth=2, random_state=0
    )
    rules = ["brier", "penalized_brier", "accuracy"]
    return compare_stopping_rules(model, X, y, cv=folds, rules=rules, scoring=JUDGES)


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
    with pytest.raises(ValueError, match="requires the number of classes. Pass it to"):
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


@pytest.mark.parametrize("judge", [None, "log_loss"])
def test_margins_are_the_intervals_of_the_summary(comparison, judge):
    path = comparison.penalty_path("brier", [0, "paper", "2 x paper"])
    name = "test_score" if judge is None else f"test_{judge}"
    assert path[0][f"{name}_margin"] == 0
    summary = comparison.summary(baseline="brier", selection="CP", judge=judge)
    row = next(row for row in summary if row["rule"] == "penalized_brier")
    assert row["high"] > row["low"]
    expected = (row["high"] - row["low"]) / 2
    assert path[1][f"{name}_margin"] == pytest.approx(expected)
    assert "margin" not in str(path)
    comparison = StoppingRuleComparison(comparison.trajectories[:2], comparison.rules)
    assert np.isnan(comparison.penalty_path()[1]["iteration_margin"])


def test_a_path_that_lacks_something(comparison):
    with pytest.raises(
        ValueError, match="'rule' parameter must be one of .*'accuracy'"
    ):
        comparison.penalty_path("accuracy")
    with pytest.raises(ValueError, match="requires the scores of 'spherical'"):
        comparison.penalty_path("spherical")
    trajectory = made_up(0, 3)
    for name in ("log_loss", "penalized_log_loss"):
        del trajectory.validation[name]
    with pytest.raises(ValueError, match="requires the number of classes"):
        StoppingRuleComparison([trajectory], ["brier"]).penalty_path()
