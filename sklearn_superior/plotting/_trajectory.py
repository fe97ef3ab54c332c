"""Scores over the stages of training."""

from collections import Counter

import numpy as np

from sklearn_superior.plotting._style import (
    COLOURS,
    ink,
    legend_above,
    make_axes,
    paper,
)

# A rule that is compared by default has the same colour in every figure.
_DEFAULT_RULES = (
    "penalized_brier",
    "log_loss",
    "refined_log_loss",
    "accuracy",
    "penalized_log_loss",
    "brier",
)
_COLOURS = dict(zip(_DEFAULT_RULES, COLOURS, strict=True))
# Line and marker of the forms of a rule; the first prefix that fits counts.
_FORMS = {
    "refined_penalized_": ("-.", "D"),
    "refined_": (":", "^"),
    "penalized_": ("-", "s"),
    "": ("--", "o"),
}
_HANDLE = 4  # length of a line in the legend, so that its dashes are seen, in em
_LARGE, _SMALL, _TINY = 8, 4.5, 4  # sizes of markers, in points
_LOW = 100  # height in points below which the labels of six ticks would overlap
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
        legend_above(ax, make_room=is_new, handlelength=_HANDLE)
        highest = max((len(stack) for _, stack in self._stacks.values()), default=0)
        self._make_room_for_stacks(step * highest)
        return self

    def _make_room_for_stacks(self, n_points):
        """Leave so many points above the best scores, in any height of the axes."""
        # Now the height is that of the layout, which is made for the whole figure.
        self.figure_.figure.draw_without_rendering()
        height = self.ax_.get_window_extent().height * 72 / self.ax_.figure.dpi
        share = min(n_points / height, 0.6)
        top = (1 + _MARGIN * share) / (1 - share)
        self.ax_.set_ylim(-_MARGIN, max(1.1, top))
        self.ax_.set_yticks(np.linspace(0, 1, 6 if height > _LOW else 3))

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
    looks = {rule: (_COLOURS[rule], *_form(rule)) for rule in rules if rule in _COLOURS}
    for rule in rules:
        if rule not in looks:
            looks[rule] = _free_look(_form(rule), list(looks.values()))
    return {rule: looks[rule] for rule in rules}


def _free_look(own, taken):
    """Return a look with a rarely used colour and, if possible, the form's own line."""
    used = Counter(colour for colour, *_ in taken)
    looks = [(colour, *form) for form in _FORMS.values() for colour in COLOURS]
    free = [look for look in looks if look not in taken] or looks
    return min(free, key=lambda look: (used[look[0]], look[1:] != own))


def _form(rule):
    """Return line and marker of a rule."""
    return next(form for prefix, form in _FORMS.items() if rule.startswith(prefix))


def _scale(scores):
    """Scale scores to the range from 0 to 1; infinite ones are just outside of it."""
    scores = np.asarray(scores, dtype=float)
    finite = scores[np.isfinite(scores)]
    low, high = (finite.min(), finite.max()) if len(finite) else (0.0, 0.0)
    return np.clip((scores - low) / ((high - low) or 1.0), -_MARGIN, 1 + _MARGIN)
