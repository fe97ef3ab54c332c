"""Differences of rules over data sets, with their intervals."""

import numpy as np

from sklearn_superior.utils._optional import import_optional

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")


class PooledDifferenceDisplay:
    """Forest plot: the difference to a baseline on each data set, and pooled.

    Parameters
    ----------
    pooled : list of dict
        Result of :func:`~sklearn_superior.model_selection.pool_comparisons`.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it is drawn.

    figure_ : matplotlib Figure
        Its figure.

    bars_ : dict of str to matplotlib ErrorbarContainer
        The points and intervals of each rule.

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
            Where to draw. If None, a new figure is made.

        only_pooled : bool, default=False
            Whether to leave the single data sets out: a line for each rule.

        scale : float, default=1.0
            Factor of all values, for example 100 for points.

        Returns
        -------
        display : PooledDifferenceDisplay
            Itself.
        """
        pyplot = import_optional(
            "matplotlib.pyplot", caller="PooledDifferenceDisplay", extra="plot"
        )
        rows = [r for r in self.pooled if not only_pooled or r["dataset"] == "pooled"]
        names = list(
            dict.fromkeys(r["rule" if only_pooled else "dataset"] for r in rows)
        )
        if ax is None:
            size = (6.5, 1.2 + 0.35 * len(names))
            _, ax = pyplot.subplots(figsize=size, layout="constrained")
        self.ax_, self.figure_, self.bars_ = ax, ax.figure, {}
        rules = list(dict.fromkeys(row["rule"] for row in rows))
        offsets = np.linspace(-0.2, 0.2, len(rules)) if len(rules) > 1 else [0.0]
        for k, rule in enumerate(rules):
            own = [row for row in rows if row["rule"] == rule]
            middle, low, high = (
                scale * np.array([row[key] for row in own], dtype=float)
                for key in ("difference", "low", "high")
            )
            places = [
                names.index(row["rule" if only_pooled else "dataset"]) for row in own
            ]
            self.bars_[rule] = ax.errorbar(
                middle,
                np.array(places) + (0 if only_pooled else offsets[k]),
                xerr=np.nan_to_num([middle - low, high - middle]),
                fmt="o",
                markersize=5,
                capsize=3,
                color=_COLOURS[0 if only_pooled else k % len(_COLOURS)],
                label=rule.replace("_", " "),
            )
        ax.axvline(0, color="grey", linewidth=1)
        ax.set_yticks(range(len(names)), [name.replace("_", " ") for name in names])
        ax.set_ylim(len(names) - 0.5, -0.5)
        ax.set_xlabel(f"difference to {rows[0]['baseline'].replace('_', ' ')}")
        if not only_pooled:
            ax.axhline(len(names) - 1.5, color="grey", linewidth=0.5, linestyle=":")
            if len(rules) > 1:
                ax.legend(
                    frameon=False,
                    loc="lower center",
                    bbox_to_anchor=(0.5, 1),
                    ncols=min(3, len(rules)),
                )
        ax.spines[["top", "right"]].set_visible(False)
        return self
