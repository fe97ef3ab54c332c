"""What `PenaltyPathDisplay` shows."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sklearn_superior.model_selection import StoppingRuleComparison, Trajectory
from sklearn_superior.plotting import PenaltyPathDisplay

pyplot = pytest.importorskip("matplotlib.pyplot")

SCORES = {
    "brier": [-4.0, -1.0, -2.0, -3.0, -0.5],
    "penalized_brier": [-4.0, -2.0, -1.0, -3.0, -2.5],
    "target": [0.1, 0.5, 0.6, 0.3, 0.2],
}


def make_path():
    path = [
        {"penalty": "0", "value": 0.0, "test_score": 0.5, "test_error": 0.4},
        {"penalty": "minimal", "value": 0.2, "test_score": 0.55, "test_error": 0.35},
        {"penalty": "paper", "value": 0.67, "test_score": 0.6, "test_error": 0.3},
        {"penalty": "inf", "value": np.inf, "test_score": 0.58, "test_error": 0.3},
    ]
    return [row | {"test_log_loss": -1.0} for row in path]


def test_each_score_has_its_curve_over_the_penalties():
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


def test_an_axes_takes_the_first_score_alone():
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


def test_a_bar_is_the_interval_of_the_difference_from_the_first_penalty():
    path = [
        row | {"test_score_margin": margin}
        for row, margin in zip(make_path(), [0, 0.1, 0.2, 0.3], strict=True)
    ]
    display = PenaltyPathDisplay(path).plot()
    assert list(display.lines_) == ["test_score", "test_log_loss", "test_error"]
    (bars,) = display.ax_.containers
    (segments,) = (part.get_segments() for part in bars.lines[2])
    values = [0.5, 0.55, 0.6, 0.58]
    for segment, value, row in zip(segments, values, path, strict=True):
        margin = row["test_score_margin"]
        np.testing.assert_allclose(segment[:, 1], [value - margin, value + margin])
    (without,) = display.axes_[1].containers
    assert not without.has_yerr


def overlap(boxes):
    return any(a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[:k])


@pytest.mark.parametrize("width", [None, 3.5])
def test_labels_do_not_collide(width):
    names = ["0", "minimal", "0.5 x paper", "paper", "2 x paper", "4 x paper", "inf"]
    values = [0, 0.444, 0.445, 0.89, 1.78, 3.56, np.inf]
    path = [
        make_path()[0] | {"test_calibrated_log_loss": -1.0, "penalty": n, "value": v}
        for n, v in zip(names, values, strict=True)
    ]
    ax = None if width is None else pyplot.subplots(figsize=(width, 3))[1]
    display = PenaltyPathDisplay(path, scoring="balanced_accuracy").plot(ax=ax)
    display.figure_.draw_without_rendering()
    ticks = display.axes_[-1].get_xticklabels()
    if ticks[0].get_rotation() == 0:
        assert not overlap([text.get_window_extent() for text in ticks])
    else:
        assert width is not None
    assert not overlap([axes.yaxis.label.get_window_extent() for axes in display.axes_])
