"""Scores of the stage that each penalty selects."""

import math
from itertools import pairwise
from textwrap import fill

from sklearn_superior.plotting._style import COLOURS, count_characters, make_axes

# Height of a score in inches, and the number of characters that fit beside it.
_HEIGHT, _N_CHARACTERS = 1.75, 18
_MARGIN = "_margin"


class PenaltyPathDisplay:
    """Scores of the selected stage over the penalty, from none to infinite.

    A bar is the 95 % interval of the difference from the first penalty, over the folds.
    All penalties select from the same stages: if a bar does not reach the dashed line,
    the level of the first penalty, the difference is unlikely to be due to chance. The
    intervals are not adjusted for multiple comparisons.

    Parameters
    ----------
    path : list of dict
        A penalty path, see
        :meth:`~sklearn_superior.model_selection.StoppingRuleComparison.penalty_path`.

    rule : str, default="brier"
        The plain rule.

    scoring : str, default="target"
        Name of the target.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        One for each score.

    ax_ : matplotlib Axes
        The first of them.

    figure_ : matplotlib Figure
        Figure containing the axes.

    lines_ : dict of str to matplotlib Line2D
        Curve of each score.

    See Also
    --------
    sklearn_superior.model_selection.compare_stopping_rules : Compute the data.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.ensemble import GradientBoostingClassifier
    >>> from sklearn_superior.model_selection import compare_stopping_rules
    >>> from sklearn_superior.plotting import PenaltyPathDisplay
    >>> X, y = load_wine(return_X_y=True)
    >>> comparison = compare_stopping_rules(
    ...     GradientBoostingClassifier(n_estimators=10), X, y, random_state=0
    ... )
    >>> display = PenaltyPathDisplay.from_comparison(comparison)
    >>> display.ax_.get_ylabel()
    'f1 macro'
    """

    def __init__(self, path, *, rule="brier", scoring="target"):
        self.path = list(path)
        self.rule = rule
        self.scoring = scoring

    @classmethod
    def from_comparison(
        cls, comparison, *, rule="brier", penalties=None, scores=None, ax=None
    ):
        """Draw the penalty path of a comparison.

        Parameters
        ----------
        comparison : StoppingRuleComparison
            Result of `compare_stopping_rules`.

        rule : {"brier", "log_loss"}, default="brier"
            The plain rule.

        penalties : list, default=None
            The penalties. If None, a grid is used.

        scores : list of str, default=None
            Columns of the path to draw, see `plot`.

        ax : matplotlib Axes, default=None
            Axes for the first score only. If None, a new figure is created.

        Returns
        -------
        display : PenaltyPathDisplay
        """
        path = comparison.penalty_path(rule, penalties)
        return cls(path, rule=rule, scoring=comparison.scoring).plot(scores, ax=ax)

    def plot(self, scores=None, ax=None):
        """Draw the path.

        Parameters
        ----------
        scores : list of str, default=None
            Columns of the path to draw, from top to bottom. If None, these are the
            target, the other judges and the error rate, all on the test data.

        ax : matplotlib Axes, default=None
            Axes for the first score only. If None, a new figure is created.

        Returns
        -------
        display : PenaltyPathDisplay
            The display itself.
        """
        columns = [
            name
            for name in self.path[0]
            if name not in ("penalty", "value") and not name.endswith(_MARGIN)
        ]
        if scores is None:
            scores = [name for name in columns if name.startswith("test_")]
            scores.sort(key=lambda name: name == "test_error")  # the last one
        is_list = isinstance(scores, list | tuple) and scores
        if not is_list or not set(scores) <= set(columns):
            raise ValueError(
                f"The 'scores' parameter must be a list of columns among {columns}. "
                f"Got {scores!r}."
            )
        scores = list(scores if ax is None else scores[:1])
        size = (7, 1.2 + _HEIGHT * len(scores))
        self.axes_ = make_axes(self, ax, size, n_rows=len(scores))
        self.lines_ = {}
        for name, axes in zip(scores, self.axes_, strict=True):
            self._draw(axes, name)
        self._label_penalties(self.axes_[-1])
        return self

    def _draw(self, axes, name):
        """Draw one score over the penalties."""
        values = [row[name] for row in self.path]
        margins = [row.get(name + _MARGIN, math.nan) for row in self.path]
        has_margins = not all(map(math.isnan, margins))
        if has_margins:
            axes.axhline(values[0], color=COLOURS[0], linewidth=0.8, linestyle="--")
        self.lines_[name], *_ = axes.errorbar(
            range(len(values)),
            values,
            yerr=margins if has_margins else None,
            fmt="o-",
            color=COLOURS[0],
            elinewidth=1,
            capsize=3,
        )
        names = {
            "test_score": self.scoring,
            "test_error": "test error rate",
            "iteration": "chosen stage",
        }
        label = names.get(name, name.removeprefix("test_")).replace("_", " ")
        is_loss = name.startswith("test_") and "loss" in name or "brier" in name
        label = f"negated {label}" if is_loss and "neg" not in name else label
        axes.set_ylabel(fill(label, _N_CHARACTERS))
        axes.grid(axis="y", alpha=0.3)

    def _label_penalties(self, axes):
        """Write the penalties below the last axes, slanted if they would collide."""
        labels = [_tick(row) for row in self.path]
        widths = [max(map(len, label.split("\n"))) for label in labels]
        n_fit, style = count_characters(axes) / len(labels), {}
        if any((a + b) / 2 + 1 > n_fit for a, b in pairwise(widths)):
            labels = [label.replace("\n", " ") for label in labels]
            style = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"}
        axes.set_xticks(range(len(labels)), labels, **style)
        rule = {"brier": "Brier score"}.get(self.rule, self.rule.replace("_", " "))
        axes.set_xlabel(f"penalty added to the {rule}")


def _tick(row):
    name, value = row["penalty"], row["value"]
    if math.isinf(value):
        return "infinite\n(accuracy)"
    return f"{name}\n{value:.2g}" if name in ("minimal", "paper") else f"{value:.2g}"
