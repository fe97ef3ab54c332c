"""Scores over the stages of training."""

import numpy as np

from sklearn_superior.plotting._style import (
    COLOURS,
    ink,
    legend_above,
    paper,
    set_axes,
)

# The forms of a rule share a colour, and differ by the line.
_COLOURS = dict(zip(("brier", "log_loss", "spherical"), COLOURS, strict=False))
_FORMS = {"refined_penalized_": "-.", "refined_": ":", "penalized_": "-"}
_OTHER_LINES = ("-", "--", "-.", ":")


class StoppingTrajectoryDisplay:
    """Scores on validation data over the stages of training, and what they choose.

    Every curve is scaled to its own range, so that shapes and best points compare. A
    filled marker is the best of all stages (the checkpoint, CP), a hollow one the
    choice of early stopping (ES). The legend shows the correlation with the target over
    all stages. Of several trainings the curves are thin, with the checkpoint of each,
    and their mean is thick; the correlation is the mean.

    Parameters
    ----------
    trajectory : sklearn_superior.model_selection.Trajectory or list of them
        The scores of one training, or of several with the same number of stages.

    rules : list of str
        The rules to draw.

    scoring : str, default="target"
        What the target is called.

    n_iter_no_change : int, default=20
        Patience of early stopping.

    tol : float, default=0.0
        Tolerance of early stopping.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it is drawn.

    figure_ : matplotlib Figure
        Its figure.

    lines_ : dict of str to matplotlib Line2D
        The curve of each rule, and of ``"target"``.

    See Also
    --------
    sklearn_superior.model_selection.compare_stopping_rules : Makes the data.
    sklearn_superior.model_selection.Trajectory.from_estimator : Scores the stages of a
        fitted ensemble.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.ensemble import GradientBoostingClassifier
    >>> from sklearn_superior.model_selection import compare_stopping_rules
    >>> from sklearn_superior.plotting import StoppingTrajectoryDisplay
    >>> X, y = load_wine(return_X_y=True)
    >>> comparison = compare_stopping_rules(
    ...     GradientBoostingClassifier(n_estimators=10), X, y, random_state=0
    ... )
    >>> display = StoppingTrajectoryDisplay.from_comparison(comparison, fold=1)
    >>> display.ax_.get_xlabel()
    'stage'
    """

    def __init__(
        self, trajectory, rules, *, scoring="target", n_iter_no_change=20, tol=0.0
    ):
        self.trajectory = trajectory
        self.rules = list(rules)
        self.scoring = scoring
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol

    @classmethod
    def from_comparison(cls, comparison, *, fold=0, repeat=0, rules=None, ax=None):
        """Draw one training of a comparison, or all of them.

        Parameters
        ----------
        comparison : StoppingRuleComparison
            Result of `compare_stopping_rules`.

        fold : int or "all", default=0
            Which training; with ``"all"`` those of all folds and repeats.

        repeat : int, default=0
            Which training of the fold.

        rules : list of str, default=None
            The rules to draw. None is all.

        ax : matplotlib Axes, default=None
            Where to draw. If None, a new figure is made.

        Returns
        -------
        display : StoppingTrajectoryDisplay
        """
        found = [
            trajectory
            for trajectory in comparison.trajectories
            if fold == "all" or (trajectory.fold, trajectory.repeat) == (fold, repeat)
        ]
        if not found:
            units = [(t.fold, t.repeat) for t in comparison.trajectories]
            raise ValueError(
                f"fold and repeat must be one of {units}, or fold must be 'all'. Got "
                f"({fold!r}, {repeat})."
            )
        display = cls(
            found if fold == "all" else found[0],
            comparison.rules if rules is None else rules,
            scoring=comparison.scoring,
            n_iter_no_change=comparison.n_iter_no_change,
            tol=comparison.tol,
        )
        return display.plot(ax=ax)

    def plot(self, ax=None):
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw. If None, a new figure is made.

        Returns
        -------
        display : StoppingTrajectoryDisplay
            Itself.
        """
        is_new = ax is None
        ax, self.lines_ = set_axes(self, ax, (7, 4)), {}
        several = isinstance(self.trajectory, list | tuple)
        self._trajectories = list(self.trajectory) if several else [self.trajectory]
        rules = [rule for rule in self.rules if rule != "last"]  # which has no score
        for rule, (colour, line) in _lines(rules).items():
            self._draw(rule, colour, line, width=1.6, label=self._label(rule))
        self._draw("target", ink(ax), "-", width=2.4, label=self.scoring)
        self._explain_markers()
        ax.set_xlabel("stage")
        ax.set_ylabel("validation score, scaled to its range")
        ax.set_ylim(-0.05, 1.1)
        legend_above(ax, make_room=is_new)
        ax.spines[["top", "right"]].set_visible(False)
        return self

    def _explain_markers(self):
        """Put the markers into the legend, without drawing them."""
        style = {"marker": "o", "linestyle": "none", "color": "grey"}
        if len(self._trajectories) > 1:
            self.ax_.plot([], [], markersize=4, label="chosen in a fold (CP)", **style)
            return
        self.ax_.plot([], [], markersize=8, label="best of all (CP)", **style)
        self.ax_.plot(
            [],
            [],
            markersize=4.5,
            markerfacecolor=paper(self.ax_),
            label="early stopping (ES)",
            **style,
        )

    def _label(self, rule):
        found = np.array([t.correlation(rule) for t in self._trajectories])
        r = found[np.isfinite(found)].mean() if np.isfinite(found).any() else np.nan
        return f"{rule.replace('_', ' ')} (r = {r:.2f})"

    def _draw(self, name, colour, line, *, width, label):
        curves = [_scale(t.validation[name]) for t in self._trajectories]
        is_single = len(curves) == 1
        if not is_single:
            self.ax_.plot(np.transpose(curves), color=colour, linewidth=0.6, alpha=0.35)
        (self.lines_[name],) = self.ax_.plot(
            np.nanmean(curves, axis=0), line, color=colour, linewidth=width, label=label
        )
        for trajectory, curve in zip(self._trajectories, curves, strict=True):
            self._mark(trajectory, curve, name, "CP", colour, 8 if is_single else 4)
            if is_single:
                self._mark(trajectory, curve, name, "ES", colour, 4.5)

    def _mark(self, trajectory, curve, name, selection, colour, size):
        stage, _ = trajectory.choose(
            name, selection, n_iter_no_change=self.n_iter_no_change, tol=self.tol
        )
        if stage is not None:
            self.ax_.plot(
                stage,
                curve[stage],
                marker="o",
                markersize=size,
                markerfacecolor=colour if selection == "CP" else paper(self.ax_),
                markeredgecolor=colour,
                linestyle="none",
                zorder=3,
            )


def _lines(rules):
    """Return the colour and the line of each rule: no two rules have both in common."""
    lines, others = {}, []
    for rule in rules:
        form = next((form for form in _FORMS if rule.startswith(form)), "")
        plain = rule.removeprefix(form)
        if plain in _COLOURS:
            lines[rule] = _COLOURS[plain], _FORMS.get(form, "--")
        else:
            others.append(rule)
    free = COLOURS[len(_COLOURS) :]
    for k, rule in enumerate(others):
        number, colour = divmod(k, len(free))
        lines[rule] = free[colour], _OTHER_LINES[number % len(_OTHER_LINES)]
    return {rule: lines[rule] for rule in rules}


def _scale(scores):
    """Scale scores to the range from 0 to 1."""
    scores = np.asarray(scores, dtype=float)
    span = np.nanmax(scores) - np.nanmin(scores)
    return (scores - np.nanmin(scores)) / (span or 1.0)
