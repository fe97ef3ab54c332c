"""Scores of the stage that each penalty chooses."""

import math
from textwrap import fill

from sklearn_superior.plotting._style import COLOURS, set_labels
from sklearn_superior.utils._optional import import_optional

_COLOUR = COLOURS[0]
# Height of a score in inches, and the characters that fit beside it.
_HEIGHT, _N_CHARACTERS = 1.75, 18
_MARGIN = "_margin"


class PenaltyPathDisplay:
    """Scores of the chosen stage over the penalty, from none to infinite.

    A bar is the 95 % interval of the difference from the first penalty, over the folds.
    All penalties choose among the same stages: where a bar does not reach the dashed
    line, the level of the first penalty, the difference is not likely to be chance. The
    bars are not adjusted for their number.

    Parameters
    ----------
    path : list of dict
        A penalty path, see
        :meth:`~sklearn_superior.model_selection.StoppingRuleComparison.penalty_path`.

    rule : str, default="brier"
        The plain rule.

    scoring : str, default="target"
        What the target is called.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        One for each score.

    ax_ : matplotlib Axes
        The first of them.

    figure_ : matplotlib Figure
        Their figure.

    lines_ : dict of str to matplotlib Line2D
        The curve of each score.

    See Also
    --------
    sklearn_superior.model_selection.compare_stopping_rules : Makes the data.

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
            The penalties. None is a grid.

        scores : list of str, default=None
            The columns of the path to draw, as in `plot`.

        ax : matplotlib Axes, default=None
            Where to draw the first of the scores alone. If None, a new figure is made.

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
            The columns of the path to draw, one below the other. None is the target,
            the further judges and the error rate, all on the test data.

        ax : matplotlib Axes, default=None
            Where to draw the first of the scores alone. If None, a new figure is made.

        Returns
        -------
        display : PenaltyPathDisplay
            Itself.
        """
        pyplot = import_optional(
            "matplotlib.pyplot", caller="PenaltyPathDisplay", extra="plot"
        )
        if scores is None:
            judges = [name for name in self._columns() if name.startswith("test_")]
            judges.remove("test_error")
            scores = [*judges, "test_error"]
        columns = self._columns()
        is_list = isinstance(scores, list | tuple) and scores
        if not is_list or not set(scores) <= set(columns):
            raise ValueError(
                f"The 'scores' parameter must be a list of columns among {columns}. "
                f"Got {scores!r}."
            )
        if ax is None:
            height = 1.2 + _HEIGHT * len(scores)
            _, axes = pyplot.subplots(
                len(scores),
                figsize=(7, height),
                sharex=True,
                squeeze=False,
                layout="constrained",
            )
            self.axes_ = list(axes[:, 0])
        else:
            scores, self.axes_ = list(scores)[:1], [ax]
        self.ax_, self.figure_ = self.axes_[0], self.axes_[0].figure
        self.lines_ = {}
        for name, axes in zip(scores, self.axes_, strict=True):
            self._draw(axes, name)
        last = self.axes_[-1]
        set_labels(last, [_tick(row) for row in self.path])
        rule = {"brier": "Brier score"}.get(self.rule, self.rule.replace("_", " "))
        last.set_xlabel(f"penalty added to the {rule}")
        return self

    def _columns(self):
        """Return what can be drawn."""
        return [
            name
            for name in self.path[0]
            if name not in ("penalty", "value") and not name.endswith(_MARGIN)
        ]

    def _draw(self, axes, name):
        """Draw one score over the penalties."""
        values = [row[name] for row in self.path]
        margins = [row.get(name + _MARGIN, math.nan) for row in self.path]
        (self.lines_[name],) = axes.plot(values, "o-", color=_COLOUR)
        if not all(map(math.isnan, margins)):
            axes.axhline(values[0], color=_COLOUR, linewidth=0.8, linestyle="--")
            axes.errorbar(
                range(len(values)),
                values,
                yerr=margins,
                fmt="none",
                ecolor=_COLOUR,
                elinewidth=1,
                capsize=3,
                alpha=0.6,
            )
        axes.set_ylabel(fill(self._label(name), _N_CHARACTERS))
        axes.grid(axis="y", alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)

    def _label(self, name):
        names = {
            "test_score": self.scoring,
            "test_error": "test error rate",
            "iteration": "chosen stage",
        }
        label = names.get(name, name.removeprefix("test_")).replace("_", " ")
        is_loss = name.startswith("test_") and "loss" in name or "brier" in name
        return f"negated {label}" if is_loss and "neg" not in name else label


def _tick(row):
    name, value = row["penalty"], row["value"]
    if math.isinf(value):
        return "infinite\n(accuracy)"
    if name in ("minimal", "paper"):
        return f"{name}\n{value:.2g}"
    return f"{value:.2g}"
