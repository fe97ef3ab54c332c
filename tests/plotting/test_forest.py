"""What `PooledDifferenceDisplay` shows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sklearn_superior.plotting import PooledDifferenceDisplay

pyplot = pytest.importorskip("matplotlib.pyplot")


RULES = (("penalized_brier", 0.02), ("accuracy", -0.01))


def make_pooled(rules=RULES):
    rows = []
    for rule, gain in rules:
        for k, name in enumerate(("x_y", "z", "pooled")):
            middle = gain * (k + 1)
            row = {"rule": rule, "baseline": "log_loss", "dataset": name}
            low = np.nan if name == "z" else middle - 0.01
            rows.append(row | {"difference": middle, "low": low, "high": middle + 0.01})
    return rows


def test_differences_of_data_sets_and_pooled_ones():
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


@pytest.mark.parametrize(
    ("selection", "words"), [("ES", "early stopping (ES)"), ("CP", "best stage (CP)")]
)
def test_how_stages_were_chosen_is_named(selection, words):
    rows = [row | {"selection": selection} for row in make_pooled()]
    ax = PooledDifferenceDisplay(rows).plot().ax_
    assert ax.get_xlabel() == f"difference to log loss, {words}"


def test_many_rules_look_different_and_are_named_within_the_figure():
    rules = [(f"refined_penalized_rule_{k}", 0.001 * k) for k in range(14)]
    display = PooledDifferenceDisplay(make_pooled(rules)).plot()
    points = [bar.lines[0] for bar in display.bars_.values()]
    assert len({(line.get_color(), line.get_marker()) for line in points}) == 14
    heights = [line.get_ydata()[0] for line in points]
    assert np.diff(heights).min() > 0
    assert max(heights) < 0.5  # below the middle to the next data set
    display.figure_.draw_without_rendering()
    legend = display.ax_.get_legend().get_window_extent()
    assert legend.x0 >= 0
    assert legend.x1 <= display.figure_.bbox.width
    assert legend.y1 <= display.figure_.bbox.height


def test_a_data_set_called_pooled_is_refused():
    rows = make_pooled() + make_pooled()[-1:]
    with pytest.raises(
        ValueError, match=r"one row for each rule and data set.*'pooled'"
    ):
        PooledDifferenceDisplay(rows).plot()


def test_data_sets_are_drawn_without_pooled_rows():
    rows = [row for row in make_pooled() if row["dataset"] != "pooled"]
    display = PooledDifferenceDisplay(rows).plot()
    assert len(display.ax_.get_yticklabels()) == 2
    assert [line.get_linestyle() for line in display.ax_.lines].count(":") == 0
    with pytest.raises(ValueError, match="pooled must hold rows to draw. Got none"):
        display.plot(only_pooled=True)
