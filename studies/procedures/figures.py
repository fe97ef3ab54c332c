"""The figures of the comparison of procedures.

They are drawn for a width of 4.5 inches: on a phone they fill the page, on a large
screen two stand side by side.
"""

import math

import numpy as np

from studies._page import as_png, signed
from studies.procedures.analysis import (
    AT_RANDOM,
    BASELINE,
    KINDS,
    LAST,
    REFINED,
    f1_gain,
)
from studies.procedures.descriptions import (
    PATIENCES,
    compare_policies,
    of_kinds,
    pool_reliability,
)
from studies.rules.evidence import SHORT

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
AXES = {
    "H1": "points of F1: refined PLL minus log loss",
    "H2": "points of F1: PBS minus Brier score",
    "H3": "log points of log loss: default against former",
    "H4": "points of F1: refined PLL minus log loss",
    "H5": "log points of log loss: all rows against early stopping",
}
_COLOURS = {
    "tables": "#0072B2",
    "binary": "#CC79A7",
    "signals": "#D55E00",
    "at_random": "#E69F00",
}
_RULE_COLOURS = {
    "log_loss": "#56B4E9",
    "refined_log_loss": "#009E73",
    "penalized_brier": "#CC79A7",
    REFINED: "#D55E00",
    "accuracy": "0.45",
}
_MARKERS = dict(zip(PATIENCES, ("v", "o", "s", "D"), strict=True))
_DEFAULTS = ((REFINED, 20), ("penalized_brier", 10))  # now, and before
_FEW = 30  # rows; a bin of a reliability curve with fewer is not drawn
_WIDTH, _ROW, _DPI = 4.5, 0.165, 160  # inches, inches, dots for each inch


def _pyplot():
    from matplotlib import pyplot  # when it is needed: not with a run

    return pyplot


def _font(size=8.5):
    return {"font.size": size, "axes.labelsize": size, "legend.fontsize": size - 0.5}


def draw_forest(study, hypothesis, result, margin):
    """Draw the data sets of a hypothesis by their kind, and the mean over the units.

    The signals that were also split at random follow below the mean.
    """
    measure, kinds = hypothesis.measure, hypothesis.kinds
    shown = (*kinds, AT_RANDOM) if kinds == ("signals",) else kinds
    groups = {kind: _points(study, measure, kind) for kind in shown}
    is_within = hypothesis.expected == "within"
    pyplot = _pyplot()
    with pyplot.rc_context(_font()):
        figure, ax = pyplot.subplots(layout="constrained")
        ax.axvline(0, color="0.4", linewidth=0.8)
        if is_within:
            ax.axvspan(-margin, margin, color="0.9", zorder=0)
        ax.set_xlim(_limits(groups, result, margin if is_within else 0.0))
        labels, place = {}, 0.0
        for kind in (k for k in kinds if groups[k]):
            place = _draw_group(ax, labels, place, kind, groups[kind])
            if len(kinds) > 1:
                labels[place] = "mean"
                _draw_diamond(ax, place, study.summary(measure, [kind]), _COLOURS[kind])
                place -= 1
            place -= 0.6
        labels[place] = "mean over units:"
        _draw_diamond(ax, place, result, "black", 0.45)
        if groups.get(AT_RANDOM):
            _draw_group(ax, labels, place - 1.8, AT_RANDOM, groups[AT_RANDOM])
        _finish(ax, labels, f"{hypothesis.name}. {AXES[hypothesis.name]}")
        figure.set_size_inches(_WIDTH, _ROW * (2 - min(labels)) + 0.5)
        return as_png(figure, dpi=_DPI)


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
        ax.plot([low, high], [place] * 2, color=_COLOURS[kind], linewidth=1, alpha=0.5)
        _draw_point(ax, place, value, kind)
    return place - 1


def _draw_point(ax, place, value, kind):
    """Draw a point, or an arrow with the number if it is beyond the axis."""
    colour, (low, high) = _COLOURS[kind], ax.get_xlim()
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


def draw_rules(study, rules, margin):
    """Draw what every rule gains over the log loss, kind by kind."""
    pyplot = _pyplot()
    kinds = [k for k in (*KINDS, AT_RANDOM) if study.sets([k])]
    with pyplot.rc_context(_font()):
        height = _ROW * len(rules) * (len(kinds) + 1) + 0.9
        figure, ax = pyplot.subplots(figsize=(_WIDTH, height), layout="constrained")
        ax.axvline(0, color="0.4", linewidth=0.8)
        ax.axvspan(-margin, margin, color="0.9", zorder=0)
        for number, rule in enumerate(rules):
            rows = of_kinds(study, f1_gain(rule, BASELINE), kinds)
            for k, kind in enumerate(kinds):
                row, place = rows[kind], -number - 0.8 * k / len(kinds)
                ends = [row["low"], row["high"]]
                ax.plot(ends, [place] * 2, color=_COLOURS[kind], linewidth=1.2)
                ax.plot(
                    row["difference"],
                    place,
                    "o",
                    color=_COLOURS[kind],
                    markersize=4,
                    label=None if number else KIND_NAMES[kind],
                )
        middle = 0.4 * (len(kinds) - 1) / len(kinds)
        names = [SHORT[rule].split(" (")[0] for rule in rules]
        ax.set_yticks([-n - middle for n in range(len(rules))], names)
        ax.tick_params(axis="y", length=0)
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.set_xlabel("points of F1 more than the log loss's choice", loc="right")
        figure.legend(loc="outside upper right", frameon=False, ncols=2)
        return as_png(figure, dpi=_DPI)


def draw_reliability(study, names):
    """Draw the share of hits against the confidence, kind by kind, for each way."""
    pyplot = _pyplot()
    kinds = [kind for kind in KINDS if study.sets([kind])]
    with pyplot.rc_context(_font(8)):
        figure, axes = pyplot.subplots(
            len(kinds), 1, figsize=(_WIDTH, 2.4 * len(kinds)), layout="constrained"
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
        return as_png(figure, dpi=_DPI)


def list_frontiers(study):
    """Return the policies of each model: model -> rows of `compare_policies`."""
    planned = {model for kind in KINDS for model in study.planned[kind]}
    models = [model for model in MODEL_NAMES if model in planned]
    return {model: compare_policies(study, models=[model]) for model in models}


def draw_frontier(frontiers, key, label, rules):
    """Draw what rules with a patience lose, against how much they train; by model."""
    pyplot, n_lines = _pyplot(), math.ceil(len(frontiers) / 2)
    with pyplot.rc_context(_font(8)):
        figure, axes = pyplot.subplots(
            n_lines,
            2,
            figsize=(_WIDTH, 2.1 * n_lines + 0.9),
            sharex=True,
            squeeze=False,
            layout="constrained",
        )
        for ax in axes.flat[len(frontiers) :]:
            ax.set_axis_off()
        for ax, (model, rows) in zip(axes.flat, frontiers.items(), strict=False):
            _draw_policies(ax, rows, key, rules)
            ax.set_title(MODEL_NAMES[model], fontsize=8.5)
        _draw_legend(figure, rules)
        figure.supxlabel("part of the budget that is trained, %", fontsize=8.5)
        figure.supylabel(label, fontsize=8.5)
        return as_png(figure, dpi=_DPI)


def _draw_policies(ax, rows, key, rules):
    found = {(row["rule"], row["patience"]): row for row in rows}
    ax.axhline(0, color="0.8", linewidth=0.8)
    highest = 0.0
    for rule in rules:
        own = [found[rule, patience] for patience in PATIENCES]
        x, y = ([row[name] for row in own] for name in ("share", key))
        ax.plot(x, y, color=_RULE_COLOURS[rule], linewidth=1)
        for patience, left, up in zip(PATIENCES, x, y, strict=True):
            colour, marker = _RULE_COLOURS[rule], _MARKERS[patience]
            ax.plot(left, up, marker, color=colour, markersize=4)
            if (rule, patience) in _DEFAULTS:
                ax.plot(left, up, "o", color="k", markersize=9, markerfacecolor="none")
        highest = max([highest, *(up for up in y if math.isfinite(up))])
    last, top = found[LAST, None], 1.15 * max(highest, 1e-3)
    if last[key] > 1.5 * top:  # far off: at the upper edge, with its number
        ax.plot(last["share"], top, "k*", markersize=7, clip_on=False)
        text = f"{last[key]:.0f}"
        ax.text(last["share"] - 5, top, text, ha="right", va="center", fontsize=7)
        ax.set_ylim(-0.06 * top, top)
    else:
        ax.plot(last["share"], last[key], "k*", markersize=7)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_xlim(0, 105)


def _draw_legend(figure, rules):
    from matplotlib import lines

    entries = [
        lines.Line2D(
            [], [], color=_RULE_COLOURS[rule], label=SHORT[rule].split(" (")[0]
        )
        for rule in rules
    ]
    entries += [
        lines.Line2D(
            [],
            [],
            color="0.2",
            marker=marker,
            linestyle="",
            markersize=4,
            label="all stages" if patience is None else f"patience {patience}",
        )
        for patience, marker in _MARKERS.items()
    ]
    entries.append(
        lines.Line2D([], [], color="k", marker="*", linestyle="", label="last stage")
    )
    ring = {"marker": "o", "markersize": 7, "markerfacecolor": "none"}
    text = "default, former"
    entries.append(lines.Line2D([], [], color="k", linestyle="", label=text, **ring))
    figure.legend(
        handles=entries,
        loc="outside upper center",
        frameon=False,
        ncols=3,
        fontsize=7.5,
    )
