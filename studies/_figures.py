"""Figures of planned studies: forests of data sets, and reliability.

They are drawn for a width of 4.5 inches: on a phone they fill the page, on a large
screen two stand side by side.
"""

import math

import numpy as np

from studies._evidence import KINDS
from studies._page import as_png, signed

AT_RANDOM = "at_random"
KIND_NAMES = {
    "tables": "tables",
    "binary": "binary tables",
    "signals": "signals",
    "at_random": "signals at random",
}
MODEL_NAMES = {
    "hgb": "HistGradientBoosting",
    "lightgbm": "LightGBM",
    "mlp": "perceptron",
    "cnn": "convolutional network",
}
COLOURS = {
    "tables": "#0072B2",
    "binary": "#CC79A7",
    "signals": "#D55E00",
    "at_random": "#E69F00",
}
_FEW = 30  # rows; a bin of a reliability curve with fewer is not drawn
WIDTH, ROW, DPI = 4.5, 0.165, 160  # inches, inches, dots for each inch
_BINS = ("n", "confidence", "correct")  # of a reliability curve


def import_pyplot():
    from matplotlib import pyplot  # when it is needed: not with a run

    return pyplot


def font(size=8.5):
    return {"font.size": size, "axes.labelsize": size, "legend.fontsize": size - 0.5}


def draw_forest(study, hypothesis, result, margin, axis):
    """Draw the data sets of a hypothesis by their kind, and the mean over the units.

    The signals that were also split at random follow below the mean.
    """
    measure, kinds = hypothesis.measure, hypothesis.kinds
    shown = (*kinds, AT_RANDOM) if kinds == ("signals",) else kinds
    groups = {kind: _points(study, measure, kind) for kind in shown}
    margin = margin if hypothesis.expected in ("within", "not below") else 0.0
    pyplot = import_pyplot()
    with pyplot.rc_context(font()):
        figure, ax = pyplot.subplots(layout="constrained")
        ax.axvline(0, color="0.4", linewidth=0.8)
        if margin:
            ax.axvspan(-margin, margin, color="0.9", zorder=0)
        ax.set_xlim(_limits(groups, result, margin))
        labels, place = {}, 0.0
        for kind in (k for k in kinds if groups[k]):
            place = _draw_group(ax, labels, place, kind, groups[kind])
            if len(kinds) > 1:
                labels[place] = "mean"
                _draw_diamond(ax, place, study.summary(measure, [kind]), COLOURS[kind])
                place -= 1
            place -= 0.6
        labels[place] = "mean over units:"
        _draw_diamond(ax, place, result, "black", 0.45)
        if groups.get(AT_RANDOM):
            _draw_group(ax, labels, place - 1.8, AT_RANDOM, groups[AT_RANDOM])
        _finish(ax, labels, f"{hypothesis.name}. {axis}")
        figure.set_size_inches(WIDTH, ROW * (2 - min(labels)) + 0.5)
        return as_png(figure, dpi=DPI)


def _points(study, measure, kind):
    """Return name, value, lowest and highest model of each data set, highest first."""
    values = study.values(measure, [kind])
    points = []
    for name in sorted(values, key=values.get, reverse=True):
        of_models = [study.value(name, measure, [m]) for m in study.models(name)]
        text = name.removesuffix(f"_{AT_RANDOM}").replace("_", " ")
        is_shared = any(name in family for family in study.plan["families"])
        text += " *" if is_shared else ""
        points.append((text, values[name], np.nanmin(of_models), np.nanmax(of_models)))
    return points


def _limits(groups, result, margin):
    """Return the ends of the axis: a few extreme data sets may lie beyond them."""
    values = np.array([point[1] for points in groups.values() for point in points])
    ends = [result[key] for key in ("low", "difference", "high")]
    needed = [end for end in (*ends, -1.5 * margin, 1.5 * margin) if math.isfinite(end)]
    most = 2 * np.quantile(np.abs(values), 0.9) if len(values) else 1.0
    most = max(most, 1e-3)
    inside = [*values.clip(-most, most), *needed, -0.25 * most, 0.25 * most]
    low, high = min(inside), max(inside)
    return low - 0.06 * (high - low), high + 0.06 * (high - low)


def _draw_group(ax, labels, place, kind, points):
    """Draw the data sets of a kind below its name; return the next place."""
    labels[place] = f"{KIND_NAMES[kind]}:"
    for name, value, low, high in points:
        place -= 1
        labels[place] = name
        ax.plot([low, high], [place] * 2, color=COLOURS[kind], linewidth=1, alpha=0.5)
        _draw_point(ax, place, value, kind)
    return place - 1


def _draw_point(ax, place, value, kind):
    """Draw a point, or an arrow with the number if it is beyond the axis."""
    colour, (low, high) = COLOURS[kind], ax.get_xlim()
    if low <= value <= high:
        face = "white" if kind == AT_RANDOM else colour
        ax.plot(value, place, "o", color=colour, markersize=4, markerfacecolor=face)
        return
    is_above = value > high
    edge, step = (high, low - high) if is_above else (low, high - low)
    marker = ">" if is_above else "<"
    ax.plot(edge + 0.012 * step, place, marker, color=colour, markersize=5)
    ax.text(
        edge + 0.035 * step,
        place,
        signed(value, 0),
        ha="right" if is_above else "left",
        va="center",
        fontsize=7,
    )


def _draw_diamond(ax, place, row, colour, height=0.35):
    """Draw a mean with its interval; without an interval it is thin."""
    middle = row["difference"]
    if not math.isfinite(middle):
        return
    ends = [middle if math.isnan(row[key]) else row[key] for key in ("low", "high")]
    x = [ends[0], middle, ends[1], middle]
    y = [place, place + height, place, place - height]
    ax.fill(x, y, facecolor=colour, edgecolor=colour, linewidth=0.5)


def _finish(ax, labels, text):
    ax.set_yticks(list(labels), list(labels.values()))
    for label in ax.get_yticklabels():
        label.set_fontweight("bold" if label.get_text().endswith(":") else "normal")
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(min(labels) - 0.8, 0.8)
    ax.set_xlabel(text, loc="right")
    ax.spines[["top", "right", "left"]].set_visible(False)


def draw_reliability(study, names):
    """Draw the share of hits against the confidence, kind by kind, for each way."""
    pyplot = import_pyplot()
    kinds = [kind for kind in KINDS if study.sets([kind])]
    with pyplot.rc_context(font(8)):
        figure, axes = pyplot.subplots(
            len(kinds), 1, figsize=(WIDTH, 2.4 * len(kinds)), layout="constrained"
        )
        for ax, kind in zip(np.atleast_1d(axes), kinds, strict=True):
            ax.plot([0, 1], [0, 1], color="0.6", linewidth=0.8)
            for way, name in names.items():
                n, *both = pool_reliability(study, way, kind)
                confidence, hits = (values[n >= _FEW] for values in both)
                label = name if kind == kinds[0] else None
                ax.plot(
                    confidence, hits, "o-", markersize=2.5, linewidth=1, label=label
                )
            ax.set_title(KIND_NAMES[kind], fontsize=8)
            ax.set_ylabel("share of hits")
            ax.spines[["top", "right"]].set_visible(False)
        ax.set_xlabel("highest probability")
        figure.legend(loc="outside upper left", frameon=False, ncols=2, fontsize=7)
        return as_png(figure, dpi=DPI)


def pool_reliability(study, way, kind):
    """Return rows, confidence and accuracy of each bin that is not empty."""
    bins = np.sum(
        [
            [record["ways"][way]["reliability"][key] for key in _BINS]
            for record in study.trainings([kind])
        ],
        axis=0,
    )
    n, confidence, correct = bins[:, bins[0] > 0]
    return n, confidence / n, correct / n
