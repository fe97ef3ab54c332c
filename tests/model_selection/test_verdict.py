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
    judge, baseline, differences = str(comparison).splitlines()
    assert judge == "Judge: f1_macro on the test parts of 5 folds, greater is better."
    assert baseline == "Baseline: first, 0.5200 at its best stages (mean 0.0)."
    assert (
        differences == "Different: second +0.1000 (adjusted p 0.000, mean stage 1.0)."
    )


def test_what_is_undecided_is_called_so():
    lines = str(made_up([0.1, -0.1, 0.05, -0.08, 0.01], n_folds=5)).splitlines()
    p_value = made_up([0.1, -0.1, 0.05, -0.08, 0.01], n_folds=5).summary()[2]["p_value"]
    assert lines[2] == (
        f"Undecided: second -0.0040 (adjusted p {p_value:.3f}, mean stage 1.0). No "
        "rule can be told from the baseline: keep the default."
    )


def test_p_values_are_adjusted_for_the_number_of_rules():
    gains = [0.16, 0.08, 0.07, 0.12, 0.05]
    alone, several = made_up(gains, 5), made_up(gains, 5, rules=RULES)
    p_value = alone.summary(selection="CP")[1]["p_value"]
    assert 0.05 / 3 < p_value < 0.05
    assert str(alone).splitlines()[2].startswith("Different: second")
    last = str(several).splitlines()[2]
    assert last.startswith(f"Undecided: second +0.0960 (adjusted p {3 * p_value:.3f}")
    assert "fourth -0.0960" in last
    assert "No difference: third (mean stage 2.0)." in last


@pytest.mark.parametrize("n_folds", [1, 2])
def test_few_folds_decide_nothing(n_folds):
    lines = str(made_up([0.1, 0.2], n_folds)).splitlines()
    assert len(lines) == 3
    assert lines[2].startswith("Undecided: second +0.1")
    assert "too few folds" in lines[2]


def test_comparisons_without_trainings_or_without_choices_can_be_printed():
    empty = StoppingRuleComparison([], ["brier"])
    assert str(empty) == repr(empty)
    comparison = made_up([0.1] * 3, n_folds=3)
    for trajectory in comparison.trajectories:
        trajectory.validation["second"] = np.full(4, np.nan)
    assert len(str(comparison).splitlines()) == 3
    assert "Undecided: second +nan" in str(comparison)
