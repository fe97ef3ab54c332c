"""Records, summaries, tables and pictures of a comparison that is given."""

import numpy as np
import pytest

from sklearn_superior.model_selection import StoppingRuleComparison, Trajectory
from sklearn_superior.model_selection._comparison_result import Records


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
    with pytest.raises(ValueError, match=r"\('CP', 'ES'\). Got 'cp'"):
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
    with pytest.warns(UserWarning, match=f"over {n_folds} folds means nothing"):
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


def test_latex_tables_escape_what_latex_reads():
    records = Records(
        [
            {"rule": "a_b & c", "mean": 0.5, "mean_std": 0.1, "low": np.nan, "n": 3},
            {
                "rule": "50 % #1 {x} \\\\",
                "mean": -0.25,
                "mean_std": 0.1,
                "low": np.inf,
                "n": 4,
            },
        ]
    )
    lines = records.to_latex().splitlines()
    assert lines[0] == r"\begin{tabular}{lrrr}"
    assert lines[2] == r"rule & mean & low & n \\"
    assert lines[4] == r"a\_b \& c & 0.500 & -- & 3 \\"
    assert lines[5].startswith(r"50 \% \#1 \{x\} \textbackslash{}")
    assert lines[5].endswith(r"& $-0.250$ & $\infty$ & 4 \\")
    assert lines[-1] == r"\end{tabular}"
    short = records.to_latex(["rule", "mean_std"], digits=1)
    assert r"a\_b \& c & 0.1 \\" in short
    with pytest.raises(ValueError, match=r"'columns' parameter .* Got \['x'\]"):
        records.to_latex(["x"])
    with pytest.raises(ValueError, match="no records"):
        Records().to_latex()


def test_summary_of_one_selection():
    scores = {"a": [1, 0], "b": [0, 1], "target": [0.5, 0.6]}
    folds = [Trajectory(k, 0, scores, scores) for k in range(3)]
    comparison = StoppingRuleComparison(folds, ["a", "b"])
    both = comparison.summary()
    for selection in ("CP", "ES"):
        own = [row for row in both if row["selection"] == selection]
        assert str(comparison.summary(selection=selection)) == str(Records(own))
    assert both[:2].to_latex(["rule"]).count("a ") == 2  # a slice is still a table
    with pytest.raises(ValueError, match=r"'selection' parameter must be one of"):
        comparison.summary(selection="best")
