"""Records, summaries, tables and words of a comparison built by hand."""

import numpy as np
import pytest

from sklearn_superior.model_selection import StoppingRuleComparison, Trajectory
from sklearn_superior.model_selection._summary import Records


def made_up(n_folds=4, n_repeats=2):
    """A penalized rule that always chooses a stage 0.1 better than the plain one."""
    trajectories = []
    for fold in range(n_folds):
        for repeat in range(n_repeats):
            target = [0.2 + 0.01 * fold, 0.5, 0.6, 0.3]
            val = {
                "brier": [-4.0, -1.0, -2.0, -3.0],
                "penalized_brier": [-4.0, -2.0, -1.0, -3.0],
                "target": target,
            }
            trajectories.append(Trajectory(fold, repeat, val, val))
    return StoppingRuleComparison(trajectories, ["brier", "penalized_brier"])


def test_a_summary_has_means_differences_wins_and_intervals():
    summary = made_up().summary()
    assert [(row["rule"], row["selection"]) for row in summary] == [
        ("brier", "CP"),
        ("brier", "ES"),
        ("penalized_brier", "CP"),
        ("penalized_brier", "ES"),
    ]
    own, better = summary[0], summary[2]
    assert (own["mean"], own["difference"]) == (0.5, 0)
    assert (own["wins"], own["ties"], own["losses"]) == (0, 8, 0)
    assert better["mean"] == pytest.approx(0.6)
    for key in ("difference", "low", "high"):
        assert better[key] == pytest.approx(0.1)
    assert (better["wins"], better["ties"], better["losses"]) == (8, 0, 0)
    assert better["correlation_difference"] > 0
    reverse = made_up().summary(baseline="penalized_brier")
    assert reverse[0]["difference"] == pytest.approx(-0.1)
    assert (reverse[0]["wins"], reverse[0]["losses"]) == (0, 8)
    with pytest.raises(ValueError, match="'baseline'.*'log'"):
        made_up().summary(baseline="log")
    with pytest.raises(ValueError, match=r"\['CP', 'ES'\]. Got 'cp'"):
        made_up().trajectories[0].choose("brier", "cp")
    assert max(map(len, str(summary).splitlines())) < 135
    assert "penalized_brier" in str(summary)
    assert str(Records()) == "(no records)"


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    rng = np.random.default_rng(0)
    n_covered = 0
    for _ in range(200):
        trajectories = []
        for fold in range(20):
            base, other = rng.normal(0.5, 0.1, size=2)
            val = {"a": [1.0, 0.0], "b": [0.0, 1.0], "target": [0.0, 1.0]}
            test = {"target": [base, other]}
            trajectories.append(Trajectory(fold, 0, val, test))
        row = StoppingRuleComparison(trajectories, ["a", "b"]).summary()
        n_covered += row[2]["low"] <= 0 <= row[2]["high"]
    assert 0.86 * 200 <= n_covered <= 0.99 * 200


@pytest.mark.parametrize("n_folds", [1, 2])
def test_few_folds_have_no_interval(n_folds):
    with pytest.warns(UserWarning, match=f"over {n_folds} folds are not meaningful"):
        row = made_up(n_folds=n_folds).summary()[2]
    assert np.isnan(row["low"])
    assert np.isnan(row["high"])
    assert row["difference"] == pytest.approx(0.1)
    assert np.isfinite(made_up(n_folds=3).summary()[2]["low"])


def test_records_and_summaries_become_data_frames():
    pandas = pytest.importorskip("pandas")
    frame = made_up().to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert len(frame) == 4 * 2 * 2 * 2
    pivot = frame[frame.selection == "CP"].groupby("rule").test_score.mean()
    assert pivot["penalized_brier"] == pytest.approx(0.6)
    assert len(made_up().summary().to_frame()) == 4


def test_correlation_of_what_does_not_vary_is_nan():
    def correlation(rule, target, **options):
        scores = {"brier": rule, "target": target}
        return Trajectory(0, 0, scores, {}).correlation("brier", **options)

    assert np.isnan(correlation([1, 1, 1], [1, 2, 3]))
    assert np.isnan(correlation([1], [1]))
    assert correlation([1, 2, np.nan], [2, 4, 1]) == pytest.approx(1)
    rng = np.random.default_rng(0)
    a, b = rng.random((2, 30))
    assert correlation(a, b) == pytest.approx(np.corrcoef(a, b)[0, 1])
    expected = np.corrcoef(a[:9], b[:9])[0, 1]
    assert correlation(a, b, n_iter=9) == pytest.approx(expected)
    nearly = 1 + 1e-16 * np.arange(30)
    correlation(nearly, b)  # no warning


def test_the_curves_of_one_training_are_drawn():
    pytest.importorskip("matplotlib")
    display = made_up().plot(fold=2, repeat=1)
    assert set(display.lines_) == {"brier", "penalized_brier", "target"}
    with pytest.raises(ValueError, match=r"fold and repeat.*\(9, 0\)"):
        made_up().plot(fold=9)


def test_summary_of_one_selection():
    scores = {"a": [1, 0], "b": [0, 1], "target": [0.5, 0.6]}
    folds = [Trajectory(k, 0, scores, scores) for k in range(3)]
    comparison = StoppingRuleComparison(folds, ["a", "b"])
    both = comparison.summary()
    for selection in ("CP", "ES"):
        own = [row for row in both if row["selection"] == selection]
        assert str(comparison.summary(selection=selection)) == str(Records(own))
    assert str(both[:2]).count("a ") == 2  # a slice is still a table
    with pytest.raises(ValueError, match=r"'selection' parameter must be one of"):
        comparison.summary(selection="best")


# Printed

RULES = ["first", "second", "third", "fourth"]


def printed_case(gains, n_folds, rules=RULES[:2]):
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
    comparison = printed_case([0.1, 0.11, 0.09, 0.1, 0.1], n_folds=5)
    assert str(comparison).splitlines() == [
        "Judge: f1_macro on the test parts of 5 folds, greater is better.",
        "Choice: early stopping, patience 20.",
        "Baseline: first, 0.5200 (mean stage 0.0).",
        "Better: second +0.1000 (adjusted p 0.000, mean stage 1.0).",
        "Use second: it is better than the baseline.",
    ]


def test_tiny_differences_have_no_sign_of_their_own_and_losses_are_explained():
    comparison = printed_case([-1e-6, 1e-7, -1e-6], n_folds=3)
    for trajectory in comparison.trajectories:
        trajectory.test["target"] = np.array(trajectory.test["target"]) - 1
    first, *_, row, _ = str(comparison).splitlines()
    assert first.endswith("of 3 folds, greater is better: losses are negative.")
    assert "second +0.0000" in row


def test_it_is_about_early_stopping():
    comparison = printed_case([0.1, 0.11, 0.09, 0.1, 0.1], n_folds=5)
    comparison.n_iter_no_change = 1
    for trajectory in comparison.trajectories:  # up, down, and up again too late
        trajectory.validation["second"] = np.array([0.1, 0.3, 0.2, 0.9])
    stopped, best = (comparison.summary(selection=s)[1] for s in ("ES", "CP"))
    assert stopped["difference"] > 0 > best["difference"]
    lines = str(comparison).splitlines()
    assert lines[1] == "Choice: early stopping, patience 1."
    assert lines[3] == "Better: second +0.1000 (adjusted p 0.000, mean stage 1.0)."


def test_what_is_undecided_is_called_so():
    lines = str(printed_case([0.1, -0.1, 0.05, -0.08, 0.01], n_folds=5)).splitlines()
    p_value = printed_case([0.1, -0.1, 0.05, -0.08, 0.01], n_folds=5).summary()[2][
        "p_value"
    ]
    assert lines[3:] == [
        f"Undecided: second -0.0040 (adjusted p {p_value:.3f}, mean stage 1.0).",
        "No rule can be told apart from the baseline: keep first.",
    ]


def with_default(gains, rules, name="refined_log_loss"):
    """The last one of the rules becomes the default."""
    comparison = printed_case(gains, len(gains), rules)
    for trajectory in comparison.trajectories:
        trajectory.validation[name] = trajectory.validation[rules[-1]]
    comparison.rules[-1] = name
    return comparison


@pytest.mark.parametrize("name", ["refined_log_loss", "neg_refined_log_loss"])
def test_the_default_is_kept_if_it_was_compared(name):
    rules = ["first", "second", "third"]
    undecided = with_default([0.1, -0.1, 0.05, -0.08, 0.01], rules, name)
    *_, last = str(undecided).splitlines()
    keep = "keep the package's default, scoring=None."
    assert last == f"No rule can be told apart from the baseline: {keep}"
    worse = with_default([-0.1, -0.11, -0.1], rules, name)
    *_, second, _, last = str(worse).splitlines()
    assert second.startswith("Worse: second -0.1033 (adjusted p 0.0")
    assert last == f"No rule is better than the baseline: {keep}"


def test_the_baseline_is_kept_if_others_are_worse():
    *_, worse, keep = str(printed_case([-0.1, -0.11, -0.1], 3)).splitlines()
    assert worse.startswith("Worse: second -0.1033 (adjusted p 0.0")
    assert keep == "No rule is better than the baseline: keep first."
    *_, last = str(with_default([-0.1, -0.11, -0.1], RULES[:2])).splitlines()
    assert last == "No rule is better than the baseline: keep first."


def test_of_several_better_rules_the_one_with_the_greatest_mean():
    comparison = printed_case(
        [0.1, 0.11, 0.09, 0.1, 0.1], 5, ["fourth", "first", "second"]
    )
    *_, first, second, last = str(comparison).splitlines()
    assert first.startswith("Better: first +0.1")
    assert second.startswith("Better: second +0.2")
    assert last == (
        "Use second: it is better than the baseline, with the greatest mean of those "
        "that are."
    )


def test_the_last_stage_is_no_scoring_rule():
    comparison = printed_case([-0.1, -0.11, -0.09, -0.1, -0.1], 5, ["first", "last"])
    *_, better, last = str(comparison).splitlines()
    assert better.startswith("Better: last +0.1000")
    assert last == "Use last, which is all stages: it is better than the baseline."


def test_p_values_are_adjusted_for_the_number_of_rules():
    gains = [0.16, 0.08, 0.07, 0.12, 0.05]
    alone, several = printed_case(gains, 5), printed_case(gains, 5, rules=RULES)
    p_value = alone.summary(selection="ES")[1]["p_value"]
    assert 0.05 / 3 < p_value < 0.05
    assert str(alone).splitlines()[3].startswith("Better: second")
    second, third, fourth, keep = str(several).splitlines()[3:]
    assert second.startswith(f"Undecided: second +0.0960 (adjusted p {3 * p_value:.3f}")
    assert third == "No difference: third (mean stage 2.0)."
    assert fourth.startswith("Undecided: fourth -0.0960")
    assert keep == "No rule can be told apart from the baseline: keep first."


@pytest.mark.parametrize("n_folds", [1, 2])
def test_few_folds_decide_nothing(n_folds):
    lines = str(printed_case([0.1, 0.2], n_folds)).splitlines()
    assert len(lines) == 5
    assert lines[3].startswith("Undecided: second +0.1")
    assert "too few folds" in lines[3]


def test_comparisons_without_trainings_or_without_choices_can_be_printed():
    empty = StoppingRuleComparison([], ["brier"])
    assert str(empty) == repr(empty)
    comparison = printed_case([0.1] * 3, n_folds=3)
    for trajectory in comparison.trajectories:
        trajectory.validation["second"] = np.full(4, np.nan)
    assert len(str(comparison).splitlines()) == 5
    assert "Undecided: second +nan" in str(comparison)
