"""Scores over the stages of training."""

import numpy as np

from sklearn_superior.plotting._style import (
    COLOURS,
    ink,
    legend_above,
    make_axes,
    paper,
)

# The forms of a rule share a colour, and differ in line and marker.
_COLOURS = dict(zip(("brier", "log_loss", "spherical"), COLOURS, strict=False))
_FORMS = {
    "refined_penalized_": ("-.", "D"),
    "refined_": (":", "^"),
    "penalized_": ("-", "s"),
    "": ("--", "o"),
}
_OTHER_FORMS = (("-", "o"), ("--", "s"), ("-.", "D"), (":", "^"))
_LARGE, _SMALL, _TINY = 8, 4.5, 4  # sizes of markers, in points
_MARGIN = 0.05  # below and above the range of the finite scores
_NEAR = 0.05  # markers at closer scores, on the scale of the figure, would overlap


class StoppingTrajectoryDisplay:
    """Validation scores over the stages of training, and the selected stages.

    Every curve is scaled to its own range, so that shapes and best stages can be
    compared. An infinite score, such as the log loss of a true class with probability
    0, is at the edge of the axes, and a missing score is a gap. A filled marker is the
    stage with the best score (the checkpoint, CP), a hollow marker the stage selected
    by early stopping (ES). Markers of rules that select the same stage are stacked. The
    legend shows the correlation with the target over all stages. For several trainings,
    the curves and checkpoints of each are drawn thinly, and their mean is thick; the
    correlation is averaged.

    Parameters
    ----------
    trajectory : sklearn_superior.model_selection.Trajectory or list of them
        Scores of one training, or of several with the same number of stages.

    rules : list of str
        The rules to draw.

    scoring : str, default="target"
        Name of the target.

    n_iter_no_change : int, default=20
        Patience of early stopping.

    tol : float, default=0.0
        Tolerance of early stopping.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the curves.

    figure_ : matplotlib Figure
        Figure containing the axes.

    lines_ : dict of str to matplotlib Line2D
        Curve of each rule, and of ``"target"``.

    See Also
    --------
    sklearn_superior.model_selection.compare_stopping_rules : Compute the data.
    sklearn_superior.model_selection.Trajectory.from_estimator : Score the stages of a
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
            Fold of the training; ``"all"`` draws all folds and repeats.

        repeat : int, default=0
            Repeat of the training.

        rules : list of str, default=None
            The rules to draw. If None, all rules are drawn.

        ax : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.

        Returns
        -------
        display : StoppingTrajectoryDisplay
        """
        units = [(t.fold, t.repeat) for t in comparison.trajectories]
        trajectories = list(comparison.trajectories)
        if fold != "all":
            if (fold, repeat) not in units:
                raise ValueError(
                    f"fold and repeat must be one of {units}, or fold must be 'all'. "
                    f"Got ({fold!r}, {repeat})."
                )
            trajectories = trajectories[units.index((fold, repeat))]
        display = cls(
            trajectories,
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
            Axes to draw on. If None, a new figure is created.

        Returns
        -------
        display : StoppingTrajectoryDisplay
            The display itself.
        """
        is_new = ax is None
        (ax,) = make_axes(self, ax, (7, 4))
        self.lines_, self._stacks = {}, {}
        several = isinstance(self.trajectory, list | tuple)
        trajectories = list(self.trajectory) if several else [self.trajectory]
        is_single = len(trajectories) == 1
        sizes = {"CP": _LARGE, "ES": _SMALL} if is_single else {"CP": _TINY}
        step = sizes["CP"] + 1
        rules = [rule for rule in self.rules if rule != "last"]  # which has no score
        looks = _looks(rules) | {"target": (ink(ax), "-", "o")}
        for name, look in looks.items():
            self._draw_curve(name, trajectories, *look)
            for trajectory in trajectories:
                for selection, size in sizes.items():
                    self._mark_choice(name, trajectory, selection, size, step, *look)
        self._explain_markers(sizes)
        ax.set_xlabel("stage")
        ax.set_ylabel("validation score,\nscaled to its range")
        highest = step * max((len(s) for _, s in self._stacks.values()), default=0)
        ax.set_ylim(-_MARGIN, max(1.1, 1.03 + 0.006 * highest))
        ax.set_yticks([0, 0.2, 0.4, 0.6, 0.8, 1])
        legend_above(ax, make_room=is_new)
        return self

    def _draw_curve(self, name, trajectories, colour, line, marker):
        curves = [_scale(t.validation[name]) for t in trajectories]
        if len(curves) > 1:
            self.ax_.plot(np.transpose(curves), color=colour, linewidth=0.6, alpha=0.35)
        width, label = 2.4, self.scoring
        if name != "target":
            found = np.ma.masked_invalid([t.correlation(name) for t in trajectories])
            r = np.nan if found.mask.all() else found.mean()
            width, label = 1.6, f"{name.replace('_', ' ')} (r = {r:.2f})"
        (self.lines_[name],) = self.ax_.plot(
            # Unlike nanmean, does not warn about stages without any score.
            np.ma.masked_invalid(curves).mean(axis=0).filled(np.nan),
            linestyle=line,
            marker=marker,
            markevery=[],  # the marker is for the legend only
            markersize=_TINY,
            color=colour,
            linewidth=width,
            label=label,
        )

    def _mark_choice(self, name, trajectory, selection, size, step, colour, _, marker):
        """Mark the stage that a score selects.

        Markers that would hide each other are stacked: the stage stays exact, and there
        is room above the best scores.
        """
        from matplotlib.transforms import offset_copy

        options = {"n_iter_no_change": self.n_iter_no_change, "tol": self.tol}
        stage, _ = trajectory.choose(name, selection, **options)
        if stage is None:
            return
        height = float(_scale(trajectory.validation[name])[stage])
        near = stage, round(height / _NEAR)
        place, stack = self._stacks.setdefault(near, ((stage, height), []))
        if name not in stack:
            stack.append(name)
        ax, up = self.ax_, {"y": step * stack.index(name), "units": "points"}
        ax.plot(
            *place,
            marker=marker,
            markersize=size,
            markerfacecolor=colour if selection == "CP" else paper(ax),
            markeredgecolor=colour,
            linestyle="none",
            zorder=3,
            transform=offset_copy(ax.transData, ax.figure, **up),
        )

    def _explain_markers(self, sizes):
        """Add the markers to the legend, without drawing them."""
        style = {"marker": "o", "linestyle": "none", "color": "grey"}
        label = "best stage (CP)" if "ES" in sizes else "best stage of a fold (CP)"
        self.ax_.plot([], [], markersize=sizes["CP"], label=label, **style)
        if "ES" in sizes:
            style |= {"markersize": _SMALL, "markerfacecolor": paper(self.ax_)}
            self.ax_.plot([], [], label="early stopping (ES)", **style)


def _looks(rules):
    """Return colour, line and marker of each rule, all of them different."""
    looks, n_others, free = {}, 0, COLOURS[len(_COLOURS) :]
    for rule in rules:
        form = next(form for form in _FORMS if rule.startswith(form))
        plain = rule.removeprefix(form)
        if plain in _COLOURS:
            looks[rule] = _COLOURS[plain], *_FORMS[form]
        else:
            line, colour = divmod(n_others, len(free))
            looks[rule] = free[colour], *_OTHER_FORMS[line % len(_OTHER_FORMS)]
            n_others += 1
    return looks


def _scale(scores):
    """Scale scores to the range from 0 to 1; infinite ones are just outside of it."""
    scores = np.asarray(scores, dtype=float)
    finite = scores[np.isfinite(scores)]
    low, high = (finite.min(), finite.max()) if len(finite) else (0.0, 0.0)
    return np.clip((scores - low) / ((high - low) or 1.0), -_MARGIN, 1 + _MARGIN)
