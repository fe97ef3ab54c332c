"""The frontier of loss against time, with the habits."""

import math

from studies._evidence import KINDS
from studies._figures import DPI, KIND_NAMES, WIDTH, font, import_pyplot
from studies._page import as_png
from studies.habits.descriptions import WAYS, compare_ways

_OURS = {"stopping", "search", "folds"}
_MARKERS = {
    "stopping": "o",
    "stopping_habit": "s",
    "search": "D",
    "folds": "^",
    "search_habit": "v",
    "grid": "P",
    "fixed": "X",
    "calibrated": "*",
    "last": "h",
}


def draw_frontier(study):
    """Draw the log loss of the ways against their time, kind by kind."""
    pyplot = import_pyplot()
    kinds = [kind for kind in KINDS if study.sets([kind])]
    with pyplot.rc_context(font(8)):
        figure, axes = pyplot.subplots(
            len(kinds),
            1,
            figsize=(WIDTH, 2.3 * len(kinds) + 1),
            squeeze=False,
            layout="constrained",
        )
        for ax, kind in zip(axes.flat, kinds, strict=True):
            _draw_ways(ax, compare_ways(study, [kind]), first=kind == kinds[0])
            ax.set_title(KIND_NAMES[kind], fontsize=8.5)
        figure.legend(loc="outside upper center", frameon=False, ncols=1, fontsize=7)
        figure.supxlabel("time to train, the habit of the search is 1", fontsize=8.5)
        figure.supylabel("log points of log loss against it", fontsize=8.5)
        return as_png(figure, dpi=DPI)


def _draw_ways(ax, rows, *, first):
    from matplotlib import ticker

    ax.axhline(0, color="0.8", linewidth=0.8)
    shown = {way: rows[way] for way in _MARKERS}
    levels = [row["log_loss"]["difference"] for row in shown.values()]
    finite = sorted(level for level in levels if math.isfinite(level))
    if not finite:
        return
    top = max(2.0, 1.5 * finite[-2] if len(finite) > 1 else finite[-1])
    for (way, row), level in zip(shown.items(), levels, strict=True):
        if not math.isfinite(level):
            continue
        colour = "#D55E00" if way in _OURS else "#0072B2"
        label = WAYS[way] if first else None
        x = row["times"]
        ax.plot(x, min(level, top), _MARKERS[way], color=colour, label=label)
        if level > top:
            ax.annotate(f"{level:.0f}", (x, top), (4, -3), textcoords="offset points")
        elif not math.isnan(row["log_loss"]["low"]):
            ends = [row["log_loss"]["low"], min(row["log_loss"]["high"], top)]
            ax.plot([x, x], ends, color=colour, linewidth=0.8, alpha=0.6)
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    ax.xaxis.set_major_formatter("{x:g}")
    ax.xaxis.set_minor_formatter(ticker.NullFormatter())
    ax.set_ylim(top=1.2 * top)
    ax.spines[["top", "right"]].set_visible(False)
