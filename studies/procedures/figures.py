"""The figures of the comparison of procedures.

They are drawn for a width of 4.5 inches: on a phone they fill the page, on a large
screen two stand side by side.
"""

import math

from studies._evidence import KINDS
from studies._figures import (
    COLOURS,
    DPI,
    KIND_NAMES,
    MODEL_NAMES,
    ROW,
    WIDTH,
    font,
    import_pyplot,
)
from studies._measures import LAST, f1_gain
from studies._page import as_png
from studies.procedures.analysis import AT_RANDOM, BASELINE, REFINED
from studies.procedures.descriptions import PATIENCES, compare_policies, of_kinds
from studies.rules.evidence import SHORT

AXES = {
    "H1": "points of F1: refined PLL minus log loss",
    "H2": "points of F1: PBS minus Brier score",
    "H3": "log points of log loss: default against former",
    "H4": "points of F1: refined PLL minus log loss",
    "H5": "log points of log loss: all rows against early stopping",
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


def draw_rules(study, rules, margin):
    """Draw what every rule gains over the log loss, kind by kind."""
    pyplot = import_pyplot()
    kinds = [k for k in (*KINDS, AT_RANDOM) if study.sets([k])]
    with pyplot.rc_context(font()):
        height = ROW * len(rules) * (len(kinds) + 1) + 0.9
        figure, ax = pyplot.subplots(figsize=(WIDTH, height), layout="constrained")
        ax.axvline(0, color="0.4", linewidth=0.8)
        ax.axvspan(-margin, margin, color="0.9", zorder=0)
        for number, rule in enumerate(rules):
            rows = of_kinds(study, f1_gain(rule, BASELINE), kinds)
            for k, kind in enumerate(kinds):
                row, place = rows[kind], -number - 0.8 * k / len(kinds)
                ends = [row["low"], row["high"]]
                ax.plot(ends, [place] * 2, color=COLOURS[kind], linewidth=1.2)
                ax.plot(
                    row["difference"],
                    place,
                    "o",
                    color=COLOURS[kind],
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
        return as_png(figure, dpi=DPI)


def list_frontiers(study):
    """Return the policies of each model: model -> rows of `compare_policies`."""
    planned = {model for kind in KINDS for model in study.planned[kind]}
    models = [model for model in MODEL_NAMES if model in planned]
    return {model: compare_policies(study, models=[model]) for model in models}


def draw_frontier(frontiers, key, label, rules):
    """Draw what rules with a patience lose, against how much they train; by model."""
    pyplot, n_lines = import_pyplot(), math.ceil(len(frontiers) / 2)
    with pyplot.rc_context(font(8)):
        figure, axes = pyplot.subplots(
            n_lines,
            2,
            figsize=(WIDTH, 2.1 * n_lines + 0.9),
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
        return as_png(figure, dpi=DPI)


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
