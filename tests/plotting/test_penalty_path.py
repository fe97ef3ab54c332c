"""The penalty path, by what it shows."""

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
