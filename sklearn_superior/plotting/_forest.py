"""Forest plot of the differences between rules on several data sets."""

import numpy as np

from sklearn_superior.plotting._style import COLOURS, legend_above, make_axes

_POOLED = "pooled"
_CHOICES = {"CP": "best stage (CP)", "ES": "early stopping (ES)"}
_MARKERS = "osD^v"  # the next one when the colours are used up


class PooledDifferenceDisplay:
    """Forest plot: the difference from a baseline on each data set, and pooled.

    Parameters
    ----------
    pooled : list of dict
        Result of :func:`~sklearn_superior.model_selection.pool_comparisons`.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the forest plot.

    figure_ : matplotlib Figure
        Figure containing the axes.

    bars_ : dict of str to matplotlib ErrorbarContainer
        Points and intervals of each rule.

    Examples
    --------
    >>> from sklearn_superior.model_selection import (
    ...     StoppingRuleComparison, Trajectory, pool_comparisons
    ... )
    >>> from sklearn_superior.plotting import PooledDifferenceDisplay
    >>> def compared(gain):
    ...     scores = {"a": [1, 0], "b": [0, 1], "target": [0.5, 0.5 + gain]}
    ...     folds = [Trajectory(k, 0, scores, scores) for k in range(3)]
    ...     return StoppingRuleComparison(folds, ["a", "b"])
    >>> comparisons = {"x": compared(0.1), "y": compared(0.2), "z": compared(0.3)}
    >>> pooled = pool_comparisons(comparisons, rule="b", baseline="a")
    >>> display = PooledDifferenceDisplay(pooled).plot()
    >>> [tick.get_text() for tick in display.ax_.get_yticklabels()]
    ['x', 'y', 'z', 'pooled']
    """

    def __init__(self, pooled):
        self.pooled = list(pooled)

    def plot(self, ax=None, *, only_pooled=False, scale=1.0):
        """Draw the differences.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.

        only_pooled : bool, default=False
            Whether to draw only the pooled differences, one line per rule.

        scale : float, default=1.0
            Factor for all values, for example 100 for percentage points.

        Returns
        -------
        display : PooledDifferenceDisplay
            The display itself.
        """
        rows = [r for r in self.pooled if not only_pooled or r["dataset"] == _POOLED]
        if not rows:
            raise ValueError("pooled must hold rows to draw. Got none.")
        places = [(row["rule"], row["dataset"]) for row in rows]
        if len(set(places)) < len(places):
            raise ValueError(
                "pooled must hold one row for each rule and data set, and the name "
                f"{_POOLED!r} is reserved for pooled rows. Got {places}."
            )
        key = "rule" if only_pooled else "dataset"
        names = list(dict.fromkeys(row[key] for row in rows))
        rules = list(dict.fromkeys(row["rule"] for row in rows))
        n_beside = 1 if only_pooled else len(rules)  # bars per data set
        is_new = ax is None
        size = (6.5, 1.2 + len(names) * max(0.35, 0.13 * n_beside))
        (ax,), self.bars_ = make_axes(self, ax, size), {}
        spread = min(0.4, 0.1 * (n_beside - 1))
        offsets = np.linspace(-spread, spread, n_beside)
        for k, rule in enumerate(rules):
            own = [row for row in rows if row["rule"] == rule]
            middle, low, high = (
                scale * np.array([row[key] for row in own], dtype=float)
                for key in ("difference", "low", "high")
            )
            number = 0 if only_pooled else k
            places = np.array([names.index(row[key]) for row in own])
            self.bars_[rule] = ax.errorbar(
                middle,
                places + offsets[number],
                xerr=np.nan_to_num([middle - low, high - middle]),
                fmt=_MARKERS[number // len(COLOURS) % len(_MARKERS)],
                markersize=5,
                capsize=3,
                color=COLOURS[number % len(COLOURS)],
                label=rule.replace("_", " "),
            )
        ax.axvline(0, color="grey", linewidth=1)
        ax.set_yticks(range(len(names)), [name.replace("_", " ") for name in names])
        ax.set_ylim(len(names) - 0.5, -0.5)
        ax.set_xlabel(_describe(rows))
        if names[-1] == _POOLED:
            ax.axhline(len(names) - 1.5, color="grey", linewidth=1, linestyle=":")
        if n_beside > 1:
            legend_above(ax, make_room=is_new)
        return self


def _describe(rows):
    """Return the label: the baseline, and how stages were selected if known."""
    text = f"difference to {rows[0]['baseline'].replace('_', ' ')}"
    choices = dict.fromkeys(
        _CHOICES[row["selection"]] for row in rows if "selection" in row
    )
    return f"{text}, {' and '.join(choices)}" if choices else text
