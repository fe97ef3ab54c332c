"""What `StoppingTrajectoryDisplay` shows."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_wine
from sklearn.ensemble import GradientBoostingClassifier

from sklearn_superior.early_stopping import staged_scores
from sklearn_superior.model_selection import (
    StoppingRuleComparison,
    Trajectory,
    compare_stopping_rules,
)
from sklearn_superior.plotting import StoppingTrajectoryDisplay

pyplot = pytest.importorskip("matplotlib.pyplot")

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


def test_curves_and_markers_show_scores_and_choices():
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
    # A rule and its penalized form differ in everything.
    plain, penalized = display.lines_["brier"], display.lines_["penalized_brier"]
    assert plain.get_color() != penalized.get_color()
    assert plain.get_linestyle() != penalized.get_linestyle()
    assert plain.get_marker() != penalized.get_marker()
    of_brier = [m for m in find_markers(display) if looks_like(m, plain)]
    best, stopped = (m.get_xdata()[0] for m in of_brier)
    assert (best, stopped) == (4, 1)  # the best stage; before two without gain


def find_markers(display):
    """Return the markers of choices, which have no line."""
    lines = display.ax_.get_lines()
    return [m for m in lines if m.get_linestyle() == "None" and len(m.get_xdata())]


def looks_like(marker, curve):
    return (marker.get_markeredgecolor(), marker.get_marker()) == (
        curve.get_color(),
        curve.get_marker(),
    )


def test_curves_in_a_part_of_a_figure():
    part, _ = pyplot.figure().subfigures(2, 1)
    display = make_comparison().plot(part.subplots(), fold="all")
    assert display.figure_ is part


def test_equal_choices_do_not_hide_each_other():
    rules = ["brier", "penalized_brier", "log_loss", "accuracy"]
    scores = {rule: [0.0, 1.0, 0.5] for rule in [*rules, "target"]}
    for trajectories in (
        Trajectory(0, 0, scores, scores),
        [Trajectory(fold, 0, scores, scores) for fold in range(3)],
    ):
        display = StoppingTrajectoryDisplay(trajectories, rules).plot()
        display.figure_.draw_without_rendering()
        shown = {}
        for marker in find_markers(display):
            assert marker.get_xdata()[0] == 1
            look = marker.get_markeredgecolor(), marker.get_marker()
            x, y = marker.get_transform().transform(marker.get_xydata())[0]
            shown.setdefault(look, set()).add(round(float(y), 3))
            size = marker.get_markersize()
            inside = display.ax_.get_window_extent()
            assert y + size / 2 < inside.y1
        # One place for each rule, whatever the fold and the selection.
        assert [len(places) for places in shown.values()] == [1] * 5
        heights = sorted(next(iter(places)) for places in shown.values())
        pixels = display.figure_.dpi / 72
        sizes = [m.get_markersize() * pixels for m in find_markers(display)]
        assert min(np.diff(heights)) >= max(sizes)


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
    expected = staged_scores(
        model, X[1::2], y[1::2], scoring="neg_penalized_brier_score"
    )
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
    chosen = [marker.get_xdata()[0] for marker in find_markers(display)]
    assert chosen == [1, 0, 2, 2]
    key = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert key[-1] == "best stage of a fold (CP)"
    with pytest.raises(ValueError, match="or fold must be 'all'"):
        comparison.plot(fold=2)


RULES = [
    *("brier", "penalized_brier", "refined_brier", "refined_penalized_brier"),
    *("log_loss", "penalized_log_loss", "refined_log_loss"),
    *("refined_penalized_log_loss", "spherical", "accuracy", "f1_macro"),
    *("my rule", "another", "a third", "roc_auc"),
]


DEFAULTS = [
    *("log_loss", "brier", "penalized_brier", "penalized_log_loss"),
    *("refined_log_loss", "accuracy"),
]


def make_many(n_stages=12):
    rng = np.random.default_rng(0)
    scores = {rule: rng.normal(size=n_stages) for rule in [*RULES, "target"]}
    return Trajectory(0, 0, scores, scores)


def test_the_rules_compared_by_default_have_colours_of_their_own():
    X, y = load_wine(return_X_y=True)
    model = GradientBoostingClassifier(n_estimators=2)
    rules = compare_stopping_rules(model, X, y, cv=2, random_state=0).rules
    assert set(rules) == {*DEFAULTS, "last"}
    display = StoppingTrajectoryDisplay(make_many(), DEFAULTS).plot()
    colours = {name: line.get_color() for name, line in display.lines_.items()}
    assert len(set(colours.values())) == len(DEFAULTS) + 1
    assert list(colours) == [*DEFAULTS, "target"]
    # They keep them beside others.
    display = StoppingTrajectoryDisplay(make_many(), RULES).plot()
    assert list(display.lines_) == [*RULES, "target"]
    for name, colour in colours.items():
        assert display.lines_[name].get_color() == colour


def test_no_two_of_many_rules_look_the_same():
    display = StoppingTrajectoryDisplay(make_many(), RULES).plot()
    looks = {
        (line.get_color(), line.get_linestyle()) for line in display.lines_.values()
    }
    assert len(looks) == len(RULES) + 1


@pytest.mark.parametrize("rules", [DEFAULTS, RULES[:11]], ids=["default", "many"])
@pytest.mark.parametrize("size", [None, (4, 3), (6.4, 4.8), (10, 6)])
def test_legend_and_markers_stay_in_the_figure(rules, size):
    names = [*rules, "target"]
    scores = {name: np.eye(9)[3 * (k % 3)] for k, name in enumerate(names)}
    ax = None if size is None else pyplot.subplots(figsize=size)[1]
    display = StoppingTrajectoryDisplay(Trajectory(0, 0, scores, scores), rules)
    display.plot(ax=ax).figure_.draw_without_rendering()
    legend = display.ax_.get_legend().get_window_extent()
    figure, axes = display.figure_.bbox, display.ax_.get_window_extent()
    assert 0 <= legend.x0 < legend.x1 <= figure.width
    assert axes.y1 <= legend.y0 < legend.y1 <= figure.height
    assert axes.height > 0.3 * figure.height
    for marker in find_markers(display):  # a third of them above each other
        (_, y), *_ = marker.get_transform().transform(marker.get_xydata())
        assert y + marker.get_markersize() / 2 < axes.y1
    heights = [t.get_window_extent() for t in display.ax_.get_yticklabels()]
    assert all(low.y1 < high.y0 for low, high in pairwise(heights))


def test_dashes_are_seen_in_the_legend():
    display = StoppingTrajectoryDisplay(make_many(), DEFAULTS).plot()
    display.figure_.draw_without_rendering()
    for handle in display.ax_.get_legend().get_lines()[: len(DEFAULTS)]:
        length = np.ptp(handle.get_xdata())  # in points
        pattern = 6.4 * handle.get_linewidth()  # the longest: a dash, a dot, two gaps
        assert length - handle.get_markersize() > 2 * pattern


def test_a_dark_style_has_a_light_target_and_dark_hollow_markers():
    with pyplot.style.context("dark_background"):
        display = make_comparison().plot()
    assert display.lines_["target"].get_color() == "white"
    hollow = [line for line in display.ax_.lines if line.get_markersize() == 4.5]
    assert hollow
    for line in hollow:
        assert line.get_markerfacecolor() == display.ax_.get_facecolor()


@pytest.mark.parametrize("fold", [0, "all"])
def test_infinite_and_missing_scores_leave_the_other_stages_as_they_are(fold):
    """A log loss is infinite where a true class got no probability."""
    inf, nan = np.inf, np.nan
    scores = {
        "log_loss": [-inf, -4.0, -1.0, -3.0, nan],
        "brier": [-inf] * 5,
        "spherical": [nan] * 5,
        "target": [0.1, 0.5, inf, 0.3, 0.2],
    }
    trajectories = [Trajectory(k, 0, scores, scores) for k in range(2)]
    display = StoppingRuleComparison(
        trajectories, ["log_loss", "brier", "spherical"]
    ).plot(fold=fold)
    curves = {name: line.get_ydata() for name, line in display.lines_.items()}
    assert_allclose(curves["log_loss"][1:4], [0, 1, 1 / 3])
    assert curves["log_loss"][0] < 0  # below the worst that is finite
    assert np.isnan(curves["log_loss"][4])
    assert_allclose(curves["target"][[0, 1, 3, 4]], [0, 1, 0.5, 0.25])
    assert curves["target"][2] > 1
    assert np.isnan(curves["spherical"]).all()
    bottom, top = display.ax_.get_ylim()
    assert bottom <= curves["brier"][0] < 0
    assert curves["target"][2] < top
    display.figure_.draw_without_rendering()
