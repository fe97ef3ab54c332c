"""The figures of the comparison of procedures."""

import math
from io import BytesIO

import pytest

from studies import _figures
from studies._figures import draw_forest, draw_reliability, pool_reliability

pytest.importorskip("matplotlib")

from matplotlib import pyplot

from studies._evidence import Study
from studies.procedures import figures
from studies.procedures.analysis import HYPOTHESES, five_results
from studies.tests.procedures_records import (
    PLAN,
    make_records,
    number_of,
    plant,
)


def size_of(png):
    height, width, _ = pyplot.imread(BytesIO(png)).shape
    return width, height


@pytest.fixture
def drawn(monkeypatch):
    """Return the list in which figures are kept before they are closed."""
    kept = []

    def as_png(figure, dpi):
        kept.append(figure)
        pyplot.close(figure)
        return b""

    for module in (figures, _figures):
        monkeypatch.setattr(module, "as_png", as_png)
    return kept


def draw(number, effects, drawn):
    study = Study(PLAN, make_records(effects))
    result = five_results(PLAN, study)[number]
    draw_forest(study, HYPOTHESES[number], result, 0.5, "axis")
    return drawn[-1].axes[0]


def labels_of(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def test_a_forest_has_a_row_for_each_set_and_grows_with_them():
    study = Study(PLAN, make_records(plant))
    results = five_results(PLAN, study)
    sizes = [
        size_of(draw_forest(study, HYPOTHESES[k], results[k], 0.5, "axis"))
        for k in (0, 2)
    ]
    assert sizes[0][0] == sizes[1][0] == 4.5 * 160
    assert sizes[0][1] < sizes[1][1]


def test_sets_are_sorted_and_sets_that_share_data_are_marked(drawn):
    labels = labels_of(draw(0, plant, drawn))
    start = ["signals:", "signal 8 *", "signal 7 *", "signal 6"]
    assert labels[:4] == start
    assert labels[10:13] == ["mean over units:", "signals at random:", "signal 2"]
    labels = labels_of(draw(2, plant, drawn))
    assert labels.count("mean") == 3
    assert "table 9" not in labels
    assert labels[-1] == "mean over units:"


def test_extreme_sets_are_arrows_with_their_number(drawn):
    def effects(dataset, kind):
        return {"refined": {"table_3": -400.0}.get(dataset, 0.01 * number_of(dataset))}

    ax = draw(3, effects, drawn)
    assert [text.get_text() for text in ax.texts] == ["−400"]
    low, high = ax.get_xlim()
    assert -400 < low < -0.5
    assert high > 0.5


def test_differences_that_are_all_zero_can_be_drawn(drawn):
    low, high = draw(0, lambda dataset, kind: {}, drawn).get_xlim()
    assert low < 0 < high


def test_rules_of_all_kinds(drawn):
    study = Study(PLAN, make_records(plant))
    figures.draw_rules(study, ["brier", "accuracy"], 0.5)
    assert labels_of(drawn[0].axes[0]) == ["Brier score", "accuracy"]
    (legend,) = drawn[0].legends
    assert len(legend.get_texts()) == 4


def test_frontiers_have_a_panel_for_each_model(drawn):
    study = Study(PLAN, make_records(plant))
    frontiers = figures.list_frontiers(study)
    assert list(frontiers) == ["hgb", "lightgbm", "mlp", "cnn"]
    figures.draw_frontier(frontiers, "loss_lost", "lost", ["log_loss", "brier"][:1])
    assert [ax.get_title() for ax in drawn[0].axes] == list(
        _figures.MODEL_NAMES.values()
    )
    frontiers.pop("cnn")
    for row in frontiers["hgb"]:
        row["loss_lost"] = 1000.0 if row["rule"] == "last" else 1.0
    figures.draw_frontier(frontiers, "loss_lost", "lost", ["log_loss"])
    first, *_, last = drawn[1].axes
    assert [text.get_text() for text in first.texts] == ["1000"]
    assert not last.axison


def test_reliability_has_a_curve_for_each_way(drawn):
    study = Study(PLAN, make_records(plant))
    draw_reliability(study, {"default": "a", "folds": "b"})
    assert [ax.get_title() for ax in drawn[0].axes] == [
        "tables",
        "binary tables",
        "signals",
    ]
    assert all(len(ax.lines) == 3 for ax in drawn[0].axes)
    n, _, hits = pool_reliability(study, "default", "tables")
    assert n.sum() == sum(
        sum(r["ways"]["default"]["reliability"]["n"])
        for r in study.trainings(["tables"])
    )
    assert ((hits >= 0) & (hits <= 1)).all()


def test_a_mean_without_an_interval_is_drawn(drawn):
    _, ax = pyplot.subplots()
    row = {"difference": 1.0, "low": math.nan, "high": math.nan}
    _figures._draw_diamond(ax, 0, row, "black")
    _figures._draw_diamond(ax, 0, row | {"difference": math.nan}, "black")
    assert len(ax.patches) == 1
    pyplot.close()
