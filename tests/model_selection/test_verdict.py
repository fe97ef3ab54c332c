"""What a comparison says when it is printed."""

import numpy as np
import pytest

from sklearn_superior.model_selection import StoppingRuleComparison, Trajectory

RULES = ["first", "second", "third", "fourth"]
NOT_COMPARED = "The default, penalized_brier, was not compared under this name."


def made_up(gains, n_folds, rules=RULES[:2]):
    """Each rule chooses the stage of its number; `gains` are those of the second."""
    trajectories = []
    for fold in range(n_folds):
        val = {rule: np.eye(4)[k] for k, rule in enumerate(RULES)}
        base = 0.5 + 0.01 * fold
        target = [base, base + gains[fold], base, base - gains[fold]]
        val["target"] = target
        trajectories.append(Trajectory(fold, 0, val, {"target": target}))
    return StoppingRuleComparison(trajectories, rules, scoring="f1_macro")


def test_a_clear_difference_is_told_with_its_size_and_its_stage():
    comparison = made_up([0.1, 0.11, 0.09, 0.1, 0.1], n_folds=5)
    assert str(comparison).splitlines() == [
        "Judge: f1_macro on the test parts of 5 folds, greater is better.",
        "Choice: early stopping, patience 10.",
        "Baseline: first, 0.5200 (mean stage 0.0).",
        "Better: second +0.1000 (adjusted p 0.000, mean stage 1.0).",
        "Use second: it is better than the baseline.",
    ]


def test_it_is_about_early_stopping():
    comparison = made_up([0.1, 0.11, 0.09, 0.1, 0.1], n_folds=5)
    comparison.n_iter_no_change = 1
    for trajectory in comparison.trajectories:  # up, down, and up again too late
        trajectory.validation["second"] = np.array([0.1, 0.3, 0.2, 0.9])
    stopped, best = (comparison.summary(selection=s)[1] for s in ("ES", "CP"))
    assert stopped["difference"] > 0 > best["difference"]
    lines = str(comparison).splitlines()
    assert lines[1] == "Choice: early stopping, patience 1."
    assert lines[3] == "Better: second +0.1000 (adjusted p 0.000, mean stage 1.0)."


def test_what_is_undecided_is_called_so():
    lines = str(made_up([0.1, -0.1, 0.05, -0.08, 0.01], n_folds=5)).splitlines()
    p_value = made_up([0.1, -0.1, 0.05, -0.08, 0.01], n_folds=5).summary()[2]["p_value"]
    assert lines[3:] == [
        f"Undecided: second -0.0040 (adjusted p {p_value:.3f}, mean stage 1.0).",
        "No rule can be told from the baseline: keep the one you use.",
        NOT_COMPARED,
    ]


def with_default(gains, rules, name="penalized_brier"):
    """The last one of the rules becomes the default."""
    comparison = made_up(gains, len(gains), rules)
    for trajectory in comparison.trajectories:
        trajectory.validation[name] = trajectory.validation[rules[-1]]
    comparison.rules[-1] = name
    return comparison


@pytest.mark.parametrize("name", ["penalized_brier", "neg_penalized_brier_score"])
def test_the_default_is_kept_if_it_was_compared(name):
    rules = ["first", "second", "third"]
    undecided = with_default([0.1, -0.1, 0.05, -0.08, 0.01], rules, name)
    *_, last = str(undecided).splitlines()
    assert last == (
        "No rule can be told from the baseline: keep the default, scoring=None."
    )
    worse = with_default([-0.1, -0.11, -0.1], rules, name)
    *_, second, _, last = str(worse).splitlines()
    assert second.startswith("Worse: second -0.1033 (adjusted p 0.0")
    assert (
        last == "No rule is better than the baseline: keep the default, scoring=None."
    )


def test_the_baseline_is_kept_if_others_are_worse():
    *_, worse, keep, last = str(made_up([-0.1, -0.11, -0.1], 3)).splitlines()
    assert worse.startswith("Worse: second -0.1033 (adjusted p 0.0")
    assert keep == "No rule is better than the baseline: keep first."
    assert last == NOT_COMPARED
    *_, last = str(with_default([-0.1, -0.11, -0.1], RULES[:2])).splitlines()
    assert last == "No rule is better than the baseline: keep first."


def test_of_several_better_rules_the_one_with_the_greatest_mean():
    comparison = made_up([0.1, 0.11, 0.09, 0.1, 0.1], 5, ["fourth", "first", "second"])
    *_, first, second, last = str(comparison).splitlines()
    assert first.startswith("Better: first +0.1")
    assert second.startswith("Better: second +0.2")
    assert last == (
        "Use second: it has the greatest mean of the rules that are better than the "
        "baseline."
    )


def test_the_last_stage_is_no_scoring_rule():
    comparison = made_up([-0.1, -0.11, -0.09, -0.1, -0.1], 5, ["first", "last"])
    *_, better, last = str(comparison).splitlines()
    assert better.startswith("Better: last +0.1000")
    assert last == "Use last, which is all stages: it is better than the baseline."


def test_p_values_are_adjusted_for_the_number_of_rules():
    gains = [0.16, 0.08, 0.07, 0.12, 0.05]
    alone, several = made_up(gains, 5), made_up(gains, 5, rules=RULES)
    p_value = alone.summary(selection="ES")[1]["p_value"]
    assert 0.05 / 3 < p_value < 0.05
    assert str(alone).splitlines()[3].startswith("Better: second")
    second, third, fourth, keep, last = str(several).splitlines()[3:]
    assert second.startswith(f"Undecided: second +0.0960 (adjusted p {3 * p_value:.3f}")
    assert third == "No difference: third (mean stage 2.0)."
    assert fourth.startswith("Undecided: fourth -0.0960")
    assert keep.startswith("No rule can be told from the baseline: keep the one you")
    assert last == NOT_COMPARED


@pytest.mark.parametrize("n_folds", [1, 2])
def test_few_folds_decide_nothing(n_folds):
    lines = str(made_up([0.1, 0.2], n_folds)).splitlines()
    assert len(lines) == 6
    assert lines[3].startswith("Undecided: second +0.1")
    assert "too few folds" in lines[3]


def test_comparisons_without_trainings_or_without_choices_can_be_printed():
    empty = StoppingRuleComparison([], ["brier"])
    assert str(empty) == repr(empty)
    comparison = made_up([0.1] * 3, n_folds=3)
    for trajectory in comparison.trajectories:
        trajectory.validation["second"] = np.full(4, np.nan)
    assert len(str(comparison).splitlines()) == 6
    assert "Undecided: second +nan" in str(comparison)
