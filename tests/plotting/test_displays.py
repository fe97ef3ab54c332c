"""Displays, by what they show."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_wine
from sklearn.ensemble import GradientBoostingClassifier

from sklearn_superior.early_stopping import staged_scores
from sklearn_superior.metrics import superiority_rate
from sklearn_superior.model_selection import (
    HBlockSplit,
    StoppingRuleComparison,
    Trajectory,
)
from sklearn_superior.plotting import (
    HBlockDisplay,
    PenaltyPathDisplay,
    PooledDifferenceDisplay,
    ScoringRuleDisplay,
    StoppingTrajectoryDisplay,
)

pyplot = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    pyplot.close("all")


SCORES = {
    "brier": [-4.0, -1.0, -2.0, -3.0, -0.5],
    "penalized_brier": [-4.0, -2.0, -1.0, -3.0, -2.5],
    "target": [0.1, 0.5, 0.6, 0.3, 0.2],
}


def make_comparison():
    trajectories = [Trajectory(fold, 0, SCORES, SCORES) for fold in range(2)]
    return StoppingRuleComparison(
        trajectories, ["brier", "penalized_brier"], n_iter_no_change=2, scoring="F1"
    )


def test_trajectory():
    display = make_comparison().plot(fold=1)
    assert display.figure_ is display.ax_.figure
    assert set(display.lines_) == {"brier", "penalized_brier", "target"}
    for name, line in display.lines_.items():
        y = line.get_ydata()
        assert (y.min(), y.max()) == (0, 1)
        assert y.argmax() == np.argmax(SCORES[name])
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    r = np.corrcoef(SCORES["brier"], SCORES["target"])[0, 1]
    assert labels[0] == f"brier (r = {r:.2f})"
    assert labels[2] == "F1"
    # A rule and its penalized form share the colour, and differ by the line.
    plain, penalized = display.lines_["brier"], display.lines_["penalized_brier"]
    assert plain.get_color() == penalized.get_color()
    assert plain.get_linestyle() != penalized.get_linestyle()
    markers = [line for line in display.ax_.get_lines() if line.get_marker() == "o"]
    of_brier = [m for m in markers if m.get_markeredgecolor() == plain.get_color()][:2]
    best, stopped = (m.get_xdata()[0] for m in of_brier)
    assert (best, stopped) == (4, 1)  # the best of all; before two without gain


def test_trajectory_on_an_axes_with_some_of_the_rules():
    _, ax = pyplot.subplots()
    display = StoppingTrajectoryDisplay.from_comparison(
        make_comparison(), rules=["brier"], ax=ax
    )
    assert display.ax_ is ax
    assert set(display.lines_) == {"brier", "target"}


def test_trajectory_of_a_fitted_ensemble():
    X, y = load_wine(return_X_y=True)
    model = GradientBoostingClassifier(n_estimators=6, max_depth=1, random_state=0)
    model.fit(X[::2], y[::2])
    trajectory = Trajectory.from_estimator(
        model, X[1::2], y[1::2], rules=["penalized_brier"], scoring="accuracy"
    )
    display = trajectory.plot(scoring="accuracy")
    found = trajectory.validation
    expected = staged_scores(model, X[1::2], y[1::2])  # PBS
    assert_array_equal(found["penalized_brier"], expected)
    assert_array_equal(
        found["target"], staged_scores(model, X[1::2], y[1::2], scoring="accuracy")
    )
    assert len(display.lines_["target"].get_ydata()) == 6
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels[1] == "accuracy"
    assert set(trajectory.plot(rules=[]).lines_) == {"target"}


def test_trajectory_of_other_rules_and_constant_scores():
    scores = {f"rule {k}": [0.0, 1.0] for k in range(6)} | {"target": [0.5, 0.5]}
    trajectory = Trajectory(0, 0, scores, scores)
    rules = [name for name in scores if name != "target"]
    display = StoppingTrajectoryDisplay(trajectory, rules).plot()
    assert len(display.lines_) == 7
    assert np.isfinite(display.lines_["target"].get_ydata()).all()


def test_trajectories_of_all_folds():
    scores = [
        {"brier": [0.0, 1.0, 0.5], "target": [0.0, 0.5, 1.0]},
        {"brier": [4.0, 2.0, 0.0], "target": [1.0, 2.0, 3.0]},
    ]
    trajectories = [Trajectory(k, 0, s, s) for k, s in enumerate(scores)]
    comparison = StoppingRuleComparison(trajectories, ["brier", "last"])
    display = comparison.plot(fold="all")
    assert list(display.lines_) == ["brier", "target"]  # the last stage has no score
    assert_allclose(display.lines_["brier"].get_ydata(), [0.5, 0.75, 0.25])
    r = np.mean([np.corrcoef(s["brier"], s["target"])[0, 1] for s in scores])
    assert display.lines_["brier"].get_label() == f"brier (r = {r:.2f})"
    markers = [line for line in display.ax_.lines if line.get_marker() == "o"]
    chosen = [line.get_xdata()[0] for line in markers if len(line.get_xdata())]
    assert chosen == [1, 0, 2, 2]
    key = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert key[-1] == "chosen in a fold (CP)"
    with pytest.raises(ValueError, match="or fold must be 'all'"):
        comparison.plot(fold=2)


def make_path():
    path = [
        {"penalty": "0", "value": 0.0, "test_score": 0.5, "test_error": 0.4},
        {"penalty": "minimal", "value": 0.2, "test_score": 0.55, "test_error": 0.35},
        {"penalty": "paper", "value": 0.67, "test_score": 0.6, "test_error": 0.3},
        {"penalty": "inf", "value": np.inf, "test_score": 0.58, "test_error": 0.3},
    ]
    return [row | {"test_log_loss": -1.0} for row in path]


def test_penalty_path():
    display = PenaltyPathDisplay(
        make_path(), rule="log_loss", scoring="f1_macro"
    ).plot()
    assert list(display.lines_) == ["test_score", "test_log_loss", "test_error"]
    assert len(display.axes_) == 3
    assert display.ax_ is display.axes_[0]
    assert display.figure_ is display.ax_.figure
    assert_array_equal(display.lines_["test_score"].get_ydata(), [0.5, 0.55, 0.6, 0.58])
    labels = [axes.get_ylabel() for axes in display.axes_]
    assert labels == ["f1 macro", "negated log loss", "test error rate"]
    assert display.axes_[-1].get_xlabel() == "penalty added to the log loss"
    ticks = [text.get_text() for text in display.axes_[-1].get_xticklabels()]
    assert ticks == ["0", "minimal\n0.2", "paper\n0.67", "infinite\n(accuracy)"]


def test_penalty_path_on_an_axes():
    _, ax = pyplot.subplots()
    trajectory = Trajectory(
        0, 0, SCORES | {"accuracy": SCORES["target"]}, SCORES, n_classes=3
    )
    trajectory.test = trajectory.validation
    comparison = StoppingRuleComparison([trajectory], ["brier"], scoring="F1")
    display = PenaltyPathDisplay.from_comparison(
        comparison, penalties=[0, "paper"], ax=ax
    )
    assert display.axes_ == [ax]
    assert list(display.lines_) == ["test_score"]
    with pytest.raises(ValueError, match="'scores' parameter .* Got .*'f1'"):
        display.plot(["f1"])


def make_pooled():
    rows = []
    for rule, gain in (("penalized_brier", 0.02), ("accuracy", -0.01)):
        for k, name in enumerate(("x_y", "z", "pooled")):
            middle = gain * (k + 1)
            row = {"rule": rule, "baseline": "log_loss", "dataset": name}
            low = np.nan if name == "z" else middle - 0.01
            rows.append(row | {"difference": middle, "low": low, "high": middle + 0.01})
    return rows


def test_forest_plot():
    display = PooledDifferenceDisplay(make_pooled()).plot(scale=100)
    assert set(display.bars_) == {"penalized_brier", "accuracy"}
    points = display.bars_["penalized_brier"].lines[0]
    assert_allclose(points.get_xdata(), [2, 4, 6])
    ticks = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert ticks == ["x y", "z", "pooled"]
    assert display.ax_.get_xlabel() == "difference to log loss"
    assert len(display.ax_.get_legend().get_texts()) == 2
    _, ax = pyplot.subplots()
    pooled = PooledDifferenceDisplay(make_pooled()).plot(ax, only_pooled=True)
    assert pooled.ax_ is ax
    ticks = [text.get_text() for text in ax.get_yticklabels()]
    assert ticks == ["penalized brier", "accuracy"]
    assert_allclose(pooled.bars_["accuracy"].lines[0].get_xdata(), [-0.03])


def test_blocks():
    groups = np.repeat(["a", "b"], [30, 20])
    cv = HBlockSplit(5, gap=1)
    display = HBlockDisplay.from_splitter(cv, np.zeros((50, 1)), groups=groups)
    assert display.roles.shape == (5, 50)
    folds = cv.split_with_validation(np.zeros((50, 1)), groups=groups)
    for fold, parts in enumerate(folds):
        for role, rows in enumerate(parts):
            assert_array_equal(np.flatnonzero(display.roles[fold] == role), rows)
    assert_array_equal(display.image_.get_array(), display.roles)
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == ["train", "validation", "test", "left out"]
    borders = [x for line in display.ax_.get_lines() for x in line.get_xdata()]
    assert 30 in borders


def test_blocks_of_interleaved_groups_lie_side_by_side():
    groups = np.arange(40) % 2
    display = HBlockDisplay.from_splitter(
        HBlockSplit(4), np.zeros((40, 1)), groups=groups
    )
    drawn = display.image_.get_array()
    assert_array_equal(drawn[:, :20], display.roles[:, ::2])
    n_changes = (np.diff(drawn[0, :20]) != 0).sum()
    assert n_changes <= 3


def test_blocks_of_scikit_learns_splitters():
    from sklearn.model_selection import KFold

    display = HBlockDisplay.from_splitter(KFold(3), np.zeros((9, 1)))
    assert_array_equal(display.roles[0], [2, 2, 2, 0, 0, 0, 0, 0, 0])
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == ["train", "test"]


@pytest.mark.parametrize(
    ("rule", "superior"),
    [
        ("brier", False),
        ("log_loss", False),
        ("penalized_brier", True),
        ("penalized_log_loss", True),
        ("penalized_spherical", True),
    ],
)
def test_simplex(rule, superior):
    display = ScoringRuleDisplay.from_rule(rule, resolution=30)
    assert len(display.forecasts) == 31 * 32 // 2
    np.testing.assert_allclose(display.forecasts.sum(axis=1), 1)
    assert display.losses.argmin() == display.forecasts[:, 0].argmax()
    assert display.reversed_.any() != superior
    rate = superiority_rate(
        np.zeros(len(display.forecasts), dtype=int),
        display.forecasts,
        rule=rule,
        labels=[0, 1, 2],
    )
    assert (rate == 1) == superior
    texts = {text.get_text() for text in display.ax_.texts}
    assert {"true class", "class 1", "class 2"} < texts
    assert ("no wrong forecast is better than a correct one" in texts) == superior


def test_simplex_with_options_and_colours_alike():
    minimal = ScoringRuleDisplay.from_rule(
        "penalized_brier", resolution=12, penalty="minimal"
    )
    plain = ScoringRuleDisplay.from_rule("brier", resolution=12)
    wrong = minimal.forecasts.argmax(axis=1) != 0
    np.testing.assert_allclose(
        (minimal.losses - plain.losses)[wrong], 1 / 6, atol=1e-12
    )
    assert plain.plot(vmin=0, vmax=3).mesh_.get_clim() == (0, 3)
    with pytest.raises(ValueError, match="rule"):
        ScoringRuleDisplay.from_rule("brie")
