"""What `HBlockDisplay` shows."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array
from sklearn.model_selection import KFold

from sklearn_superior.model_selection import HBlockSplit
from sklearn_superior.plotting import HBlockDisplay

pyplot = pytest.importorskip("matplotlib.pyplot")


def test_blocks_are_the_parts_of_the_folds():
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
    display = HBlockDisplay.from_splitter(KFold(3), np.zeros((9, 1)))
    assert_array_equal(display.roles[0], [2, 2, 2, 0, 0, 0, 0, 0, 0])
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == ["train", "test"]


def test_sparse_data_is_drawn_as_dense_data():
    X = csr_array(np.eye(40))
    display = HBlockDisplay.from_splitter(HBlockSplit(4), X)
    expected = HBlockDisplay.from_splitter(HBlockSplit(4), X.toarray())
    assert_array_equal(display.roles, expected.roles)


def test_groups_may_be_categories():
    groups = pd.Categorical(["b"] * 20 + ["a"] * 20)
    display = HBlockDisplay.from_splitter(HBlockSplit(4), np.zeros(40), groups=groups)
    assert_array_equal(display.image_.get_array()[:, :20], display.roles[:, 20:])


@pytest.mark.parametrize(
    ("names", "sizes"),
    [
        (
            ["a recording with a long name", "participant_0001_session_2", "c"],
            [60, 40, 9],
        ),
        ([f"participant_{k:04}_session" for k in range(30)], [10] * 30),
        ([f"{k:02}" for k in range(50)], [5] * 50),
        (["one group with a name that is longer than the whole picture" * 3], [50]),
    ],
)
def test_names_of_groups_do_not_run_into_each_other(names, sizes):
    groups = np.repeat(names, sizes)
    display = HBlockDisplay.from_splitter(HBlockSplit(5), groups, groups=groups)
    display.figure_.draw_without_rendering()
    (top,) = display.ax_.child_axes
    boxes = [text.get_window_extent() for text in top.get_xticklabels()]
    assert len(boxes) >= min(len(names), 3)
    for before, after in pairwise(boxes):
        assert before.x1 < after.x0
    assert boxes[-1].x1 <= display.figure_.bbox.width


@pytest.mark.parametrize("width", [4, 8])
@pytest.mark.parametrize("grouped", [False, True])
def test_the_legend_is_not_cut_off_nor_drawn_over_names(width, grouped):
    groups = np.repeat(["left", "right"], 25) if grouped else None
    _, ax = pyplot.subplots(figsize=(width, 3))
    for given in (ax, None):
        display = HBlockDisplay.from_splitter(
            HBlockSplit(5, gap=1), np.zeros(50), groups=groups, ax=given
        )
        display.figure_.draw_without_rendering()
        legend = display.ax_.get_legend().get_window_extent()
        figure = display.figure_.bbox
        assert 0 <= legend.x0 < legend.x1 <= figure.width
        assert legend.y1 <= figure.height
        for top in display.ax_.child_axes:
            names = [text.get_window_extent() for text in top.get_xticklabels()]
            assert max(box.y1 for box in names) <= legend.y0


@pytest.mark.parametrize("width", [4, 6.4, 10])
def test_legends_of_axes_side_by_side_do_not_run_into_each_other(width):
    figure, axes = pyplot.subplots(1, 2, figsize=(width, 3))
    for ax in axes:
        HBlockDisplay.from_splitter(HBlockSplit(5, gap=1), np.zeros(50), ax=ax)
    figure.draw_without_rendering()
    left, right = (ax.get_legend().get_window_extent() for ax in axes)
    assert left.x0 >= 0
    assert left.x1 <= right.x0
    assert right.x1 <= figure.bbox.width


def test_short_names_are_written_in_full():
    groups = np.repeat(["left", "right"], 25)
    display = HBlockDisplay.from_splitter(HBlockSplit(5), groups, groups=groups)
    (top,) = display.ax_.child_axes
    assert [text.get_text() for text in top.get_xticklabels()] == ["left", "right"]


@pytest.mark.parametrize(
    ("style", "light"), [("default", True), ("dark_background", 0)]
)
def test_what_is_left_out_has_nearly_the_colour_of_the_background(style, light):
    with pyplot.style.context(style):
        display = HBlockDisplay.from_splitter(HBlockSplit(5, gap=1), np.zeros(50))
    left_out = np.array(display.image_.cmap.colors[3])
    assert np.all(left_out > 0.9) if light else np.all(left_out < 0.1)
    assert not np.array_equal(left_out, display.ax_.get_facecolor()[:3])
