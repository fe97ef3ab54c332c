"""What a comparison says when it is printed."""

import numpy as np
import pytest

from sklearn_superior.model_selection import StoppingRuleComparison, Trajectory

RULES = ["first", "second", "third", "fourth"]


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
        "Different: second +0.1000 (adjusted p 0.000, mean stage 1.0).",
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
    assert lines[3] == "Different: second +0.1000 (adjusted p 0.000, mean stage 1.0)."


def test_what_is_undecided_is_called_so():
    lines = str(made_up([0.1, -0.1, 0.05, -0.08, 0.01], n_folds=5)).splitlines()
    p_value = made_up([0.1, -0.1, 0.05, -0.08, 0.01], n_folds=5).summary()[2]["p_value"]
    assert lines[3:] == [
        f"Undecided: second -0.0040 (adjusted p {p_value:.3f}, mean stage 1.0).",
        "No rule can be told from the baseline: keep the default, scoring=None.",
    ]


def test_p_values_are_adjusted_for_the_number_of_rules():
    gains = [0.16, 0.08, 0.07, 0.12, 0.05]
    alone, several = made_up(gains, 5), made_up(gains, 5, rules=RULES)
    p_value = alone.summary(selection="ES")[1]["p_value"]
    assert 0.05 / 3 < p_value < 0.05
    assert str(alone).splitlines()[3].startswith("Different: second")
    second, third, fourth, last = str(several).splitlines()[3:]
    assert second.startswith(f"Undecided: second +0.0960 (adjusted p {3 * p_value:.3f}")
    assert third == "No difference: third (mean stage 2.0)."
    assert fourth.startswith("Undecided: fourth -0.0960")
    assert last.startswith("No rule can be told from the baseline: keep the default")


@pytest.mark.parametrize("n_folds", [1, 2])
def test_few_folds_decide_nothing(n_folds):
    lines = str(made_up([0.1, 0.2], n_folds)).splitlines()
    assert len(lines) == 5
    assert lines[3].startswith("Undecided: second +0.1")
    assert "too few folds" in lines[3]


def test_comparisons_without_trainings_or_without_choices_can_be_printed():
    empty = StoppingRuleComparison([], ["brier"])
    assert str(empty) == repr(empty)
    comparison = made_up([0.1] * 3, n_folds=3)
    for trajectory in comparison.trajectories:
        trajectory.validation["second"] = np.full(4, np.nan)
    assert len(str(comparison).splitlines()) == 5
    assert "Undecided: second +nan" in str(comparison)
