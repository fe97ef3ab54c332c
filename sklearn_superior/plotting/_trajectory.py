"""Scores over the stages of training."""

import numpy as np

from sklearn_superior.plotting._style import (
    COLOURS,
    ink,
    legend_above,
    paper,
    set_axes,
)
from sklearn_superior.utils._optional import import_optional

# The forms of a rule share a colour, and differ by the line and the marker.
_COLOURS = dict(zip(("brier", "log_loss", "spherical"), COLOURS, strict=False))
_FORMS = {
    "refined_penalized_": ("-.", "D"),
    "refined_": (":", "^"),
    "penalized_": ("-", "s"),
    "": ("--", "o"),
}
_OTHER_LINES = (("-", "o"), ("--", "s"), ("-.", "D"), (":", "^"))
_LARGE, _SMALL, _TINY = 8, 4.5, 4  # sizes of markers, in points
_MARGIN = 0.05  # below and above the range of the finite scores
_NEAR = 0.05  # scaled scores that are closer than a marker is high


class StoppingTrajectoryDisplay:
    """Scores on validation data over the stages of training, and what they choose.

    Every curve is scaled to its own range, so that shapes and best points compare. An
    infinite score, such as the log loss of a true class without probability, is at the
    edge of the axes, and a missing one is a gap. A filled marker is the stage with the
    best score (the checkpoint, CP), a hollow one the choice of early stopping (ES).
    Where several rules choose the same stage, their markers are stacked. The legend
    shows the correlation with the target over all stages. Of several trainings the
    curves are thin, with the checkpoint of each, and their mean is thick; the
    correlation is the mean.

    Parameters
    ----------
    trajectory : sklearn_superior.model_selection.Trajectory or list of them
        The scores of one training, or of several with the same number of stages.

    rules : list of str
        The rules to draw.

    scoring : str, default="target"
        What the target is called.

    n_iter_no_change : int, default=10
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
        self, trajectory, rules, *, scoring="target", n_iter_no_change=10, tol=0.0
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
        looks = {name: (*look, 1.6, self._label(name)) for name, look in _looks(rules)}
        looks["target"] = (ink(ax), "-", "o", 2.4, self.scoring)
        for name, look in looks.items():
            self._draw(name, *look)
        height = self._mark_choices(looks) * (self._marker_size("CP") + 1)  # in points
        self._explain_markers()
        ax.set_xlabel("stage")
        ax.set_ylabel("validation score,\nscaled to its range")
        ax.set_ylim(-_MARGIN, max(1.1, 1.03 + 0.006 * height))
        ax.set_yticks([0, 0.2, 0.4, 0.6, 0.8, 1])
        legend_above(ax, make_room=is_new)
        ax.spines[["top", "right"]].set_visible(False)
        return self

    def _explain_markers(self):
        """Put the markers into the legend, without drawing them."""
        style = {"marker": "o", "linestyle": "none", "color": "grey"}
        if len(self._trajectories) > 1:
            label = "best stage of a fold (CP)"
            self.ax_.plot([], [], markersize=_TINY, label=label, **style)
            return
        self.ax_.plot([], [], markersize=_LARGE, label="best stage (CP)", **style)
        self.ax_.plot(
            [],
            [],
            markersize=_SMALL,
            markerfacecolor=paper(self.ax_),
            label="early stopping (ES)",
            **style,
        )

    def _label(self, rule):
        found = np.array([t.correlation(rule) for t in self._trajectories])
        r = found[np.isfinite(found)].mean() if np.isfinite(found).any() else np.nan
        return f"{rule.replace('_', ' ')} (r = {r:.2f})"

    def _draw(self, name, colour, line, marker, width, label):
        """Draw the curve of a score; its marker is in the legend only."""
        curves = [_scale(t.validation[name]) for t in self._trajectories]
        if len(curves) > 1:
            self.ax_.plot(np.transpose(curves), color=colour, linewidth=0.6, alpha=0.35)
        (self.lines_[name],) = self.ax_.plot(
            # Unlike nanmean, without a warning of stages without any score.
            np.ma.masked_invalid(curves).mean(axis=0).filled(np.nan),
            linestyle=line,
            marker=marker,
            markevery=[],
            markersize=_TINY,
            color=colour,
            linewidth=width,
            label=label,
        )

    def _mark_choices(self, looks):
        """Mark what each score chooses; return the height of the largest stack.

        Markers that would hide each other are stacked, in the order of the scores: the
        stage stays exact, and above the best scores there is room.
        """
        stacks = {}  # the place of the lowest marker, and the scores that choose it
        for name, selection, stage, height in self._choices(looks):
            near = stage, round(height / _NEAR)
            place, stack = stacks.setdefault(near, ((stage, height), []))
            if name not in stack:
                stack.append(name)
            colour, _, marker, *_ = looks[name]
            self.ax_.plot(
                *place,
                marker=marker,
                markersize=self._marker_size(selection),
                markerfacecolor=colour if selection == "CP" else paper(self.ax_),
                markeredgecolor=colour,
                linestyle="none",
                zorder=3,
                transform=self._shifted(stack.index(name)),
            )
        return max((len(stack) for _, stack in stacks.values()), default=0)

    def _choices(self, looks):
        """Yield each score, the selection, its stage and the height of the curve."""
        is_single = len(self._trajectories) == 1
        options = {"n_iter_no_change": self.n_iter_no_change, "tol": self.tol}
        for name in looks:
            for trajectory in self._trajectories:
                curve = _scale(trajectory.validation[name])
                for selection in ("CP", "ES") if is_single else ("CP",):
                    stage, _ = trajectory.choose(name, selection, **options)
                    if stage is not None:
                        yield name, selection, stage, float(curve[stage])

    def _marker_size(self, selection):
        is_single = len(self._trajectories) == 1
        return {"CP": _LARGE, "ES": _SMALL}[selection] if is_single else _TINY

    def _shifted(self, n_below):
        """Return the transform of a marker that stands above so many others."""
        transforms = import_optional(
            "matplotlib.transforms", caller=type(self).__name__, extra="plot"
        )
        points = n_below * (self._marker_size("CP") + 1)
        return transforms.offset_copy(
            self.ax_.transData, self.ax_.figure, y=points, units="points"
        )


def _looks(rules):
    """Return the colour, line and marker of each rule: no two have all in common."""
    looks, others = {}, []
    for rule in rules:
        form = next(form for form in _FORMS if rule.startswith(form))
        plain = rule.removeprefix(form)
        if plain in _COLOURS:
            looks[rule] = _COLOURS[plain], *_FORMS[form]
        else:
            others.append(rule)
    free = COLOURS[len(_COLOURS) :]
    for k, rule in enumerate(others):
        number, colour = divmod(k, len(free))
        looks[rule] = free[colour], *_OTHER_LINES[number % len(_OTHER_LINES)]
    return [(rule, looks[rule]) for rule in rules]


def _scale(scores):
    """Scale scores to the range from 0 to 1; infinite ones are just outside of it."""
    scores = np.asarray(scores, dtype=float)
    finite = scores[np.isfinite(scores)]
    low, high = (finite.min(), finite.max()) if len(finite) else (0.0, 0.0)
    return np.clip((scores - low) / ((high - low) or 1.0), -_MARGIN, 1 + _MARGIN)
