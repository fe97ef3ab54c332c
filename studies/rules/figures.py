"""The figures of the comparison of rules."""

import numpy as np

from sklearn_superior.plotting import PooledDifferenceDisplay
from studies._page import as_png
from studies.rules.evidence import BASELINE, PENALTIES, SHORT

_FAMILY_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
_MARKERS = "osD^"


def draw_forest(evidence):
    """Draw every rule against the log loss: signals, tables and all side by side."""
    from matplotlib import pyplot

    figure, ax = pyplot.subplots(figsize=(6, 6), layout="constrained")
    rows = [
        evidence.contrast(rule, BASELINE, families)
        | {"rule": data, "dataset": SHORT[rule]}
        for rule in evidence.plan["rules"]
        for data, families in evidence.groups().items()
        if rule != BASELINE
    ]
    PooledDifferenceDisplay(rows).plot(ax, scale=100)
    margin = evidence.plan["margin"]
    ax.axvspan(-margin, margin, color="0.92", zorder=0)
    ax.set_xlabel("points of F1 more than the log loss's choice")
    return as_png(figure)


def draw_paths(evidence):
    """Draw what a penalty gains, family by family, signals above tables."""
    from matplotlib import pyplot

    groups = evidence.groups()
    groups.pop("all")
    figure, axes = pyplot.subplots(
        len(groups), figsize=(6, 6), sharex=True, squeeze=False, layout="constrained"
    )
    names = list(evidence.plan["families"])
    for ax, (data, families) in zip(axes[:, 0], groups.items(), strict=True):
        for family in families:
            number = names.index(family.name)
            path = 100 * evidence.penalty_path(family)
            ax.plot(
                np.arange(len(path)) + 0.06 * (number - 1.5),  # equal ones side by side
                path - path[0],
                f"{_MARKERS[number]}-",
                color=_FAMILY_COLOURS[number],
                markersize=4,
                label=family.name,
            )
        ax.axhline(0, color="grey", linewidth=1)
        ax.set_title(f"{data} (scales differ)", fontsize=10)
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, fontsize=8)
    ticks = ["none", *(str(p).split()[0] + "×" for p in PENALTIES[1:-1]), "∞"]
    ticks[PENALTIES.index("paper")] = "paper's"
    ax.set_xticks(range(len(ticks)), ticks)
    ax.set_xlabel("penalty, in multiples of the paper's (∞: accuracy)")
    figure.supylabel("points of F1 more than without a penalty", fontsize=10)
    return as_png(figure)
