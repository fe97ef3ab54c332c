"""The figures of the comparison of rules."""

from benchmarks.studies.rules.evidence import BASELINE, PENALTIES, SHORT
from sklearn_superior.plotting import PooledDifferenceDisplay
from sklearn_superior.replication._page import as_png
from sklearn_superior.utils._optional import import_optional

_FAMILY_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")


def draw_forest(evidence):
    """Draw every rule against the log loss, over all data sets."""
    pyplot = import_optional("matplotlib.pyplot", caller="The report", extra="report")
    figure, ax = pyplot.subplots(figsize=(6, 4.6), layout="constrained")
    rows = [
        evidence.contrast(rule, BASELINE) | {"rule": SHORT[rule]}
        for rule in evidence.plan["rules"]
        if rule != BASELINE
    ]
    PooledDifferenceDisplay(rows).plot(ax, only_pooled=True, scale=100)
    margin = evidence.plan["margin"]
    ax.axvspan(-margin, margin, color="0.92", zorder=0)
    ax.set_xlabel("points of F1 more than the log loss's choice")
    return as_png(figure)


def draw_paths(evidence):
    """Draw what a penalty gains, family by family."""
    pyplot = import_optional("matplotlib.pyplot", caller="The report", extra="report")
    figure, ax = pyplot.subplots(figsize=(6, 4.6), layout="constrained")
    names = list(evidence.plan["families"])
    for family in evidence.families():
        path = 100 * evidence.penalty_path(family)
        ax.plot(
            path - path[0],
            "o-" if family.data == "signals" else "s--",
            color=_FAMILY_COLOURS[names.index(family.name)],
            markersize=4,
            label=family.title,
        )
    ax.axhline(0, color="grey", linewidth=1)
    ticks = ["none", *(str(p).split()[0] + "×" for p in PENALTIES[1:-1]), "∞"]
    ticks[PENALTIES.index("paper")] = "paper's"
    ax.set_xticks(range(len(ticks)), ticks)
    ax.set_xlabel("penalty, in multiples of the paper's (∞: accuracy)")
    ax.set_ylabel("points of F1 more than without a penalty")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=8)
    return as_png(figure)
