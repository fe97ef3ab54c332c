"""Mean scores of the candidates of a search over the stages."""

import numpy as np

from sklearn_superior.plotting._style import COLOURS, legend_above, set_axes, shorten
from sklearn_superior.utils._sklearn_compat import scorer_parts

_LONGEST_LABEL = 60
_LONGEST_NAME = 40


class StagedSearchDisplay:
    """Mean scores over the folds, stage by stage, and the stages that are chosen.

    The band around a curve is the standard error of the mean over the folds. It tells
    how far the score of a candidate can be trusted; differences between candidates on
    the same folds are often more certain than it suggests. The chosen stage of each
    candidate has a marker, the best one of all a filled one.

    Parameters
    ----------
    stage_scores : list of ndarray of shape (n_stages, n_folds)
        The scores of each candidate, the best one first.

    best_iterations : list of int
        The chosen stage of each candidate.

    labels : list of str
        What each candidate is called.

    scoring : str, default="mean score"
        What the scores are called.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it is drawn.

    figure_ : matplotlib Figure
        Its figure.

    lines_ : list of matplotlib Line2D
        The curve of each candidate.

    See Also
    --------
    sklearn_superior.model_selection.StagedSearchCV : Makes the data.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.ensemble import GradientBoostingClassifier
    >>> from sklearn_superior.model_selection import StagedSearchCV
    >>> from sklearn_superior.plotting import StagedSearchDisplay
    >>> X, y = load_wine(return_X_y=True)
    >>> search = StagedSearchCV(
    ...     GradientBoostingClassifier(n_estimators=9),
    ...     {"max_depth": [1, 2]},
    ...     refit=False,
    ... )
    >>> display = StagedSearchDisplay.from_search(search.fit(X, y))
    >>> display.ax_.get_xlabel()
    'stage'
    """

    def __init__(self, stage_scores, best_iterations, labels, *, scoring="mean score"):
        self.stage_scores = [np.asarray(scores) for scores in stage_scores]
        self.best_iterations = list(best_iterations)
        self.labels = list(labels)
        self.scoring = scoring

    @classmethod
    def from_search(cls, search, *, n_candidates=3, ax=None):
        """Draw the best candidates of a search.

        Parameters
        ----------
        search : StagedSearchCV
            A fitted search.

        n_candidates : int, default=3
            How many candidates to draw, the best ones.

        ax : matplotlib Axes, default=None
            Where to draw. If None, a new figure is made.

        Returns
        -------
        display : StagedSearchDisplay
        """
        results = search.cv_results_
        name = next(iter(search.scorer_)) if search.multimetric_ else "score"
        order = np.argsort(results[f"rank_test_{name}"], kind="stable")
        drawn = [k for k in order if len(search.stage_scores_[k])][:n_candidates]
        display = cls(
            [search.stage_scores_[k] for k in drawn],
            [int(results["best_iteration"][k]) for k in drawn],
            [_label(results["params"][k]) for k in drawn],
            scoring=f"{_name_of_scorer(search)}\n(mean of {search.n_splits_} folds)",
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
        display : StagedSearchDisplay
            Itself.
        """
        is_new = ax is None
        ax, self.lines_ = set_axes(self, ax, (7, 4)), []
        for k in range(len(self.stage_scores)):
            self._draw(k, COLOURS[k % len(COLOURS)])
        ax.set_xlabel("stage")
        ax.set_ylabel(self.scoring)
        legend_above(ax, make_room=is_new)
        ax.spines[["top", "right"]].set_visible(False)
        return self

    def _draw(self, k, colour):
        scores, best = self.stage_scores[k], self.best_iterations[k]
        mean = scores.mean(axis=1)
        (line,) = self.ax_.plot(
            mean,
            color=colour,
            linewidth=2.2 if k == 0 else 1.4,
            label=self.labels[k],
            zorder=2.5 if k == 0 else 2,  # the best one on top
        )
        self.lines_.append(line)
        if scores.shape[1] > 1:
            with np.errstate(invalid="ignore"):  # infinite scores have no band
                error = scores.std(axis=1, ddof=1) / np.sqrt(scores.shape[1])
            stages = np.arange(len(mean))
            self.ax_.fill_between(
                stages,
                mean - error,
                mean + error,
                color=colour,
                alpha=0.15,
                linewidth=0,
            )
        self.ax_.plot(
            best,
            mean[best],
            marker="o",
            markersize=8 if k == 0 else 6,
            markerfacecolor=colour if k == 0 else self.ax_.get_facecolor(),
            markeredgecolor=colour,
            linestyle="none",
            zorder=3,
        )


def _label(params):
    text = ", ".join(f"{name}={value!r}" for name, value in params.items())
    return shorten(text or "the estimator as it is", _LONGEST_LABEL)


def _name_of_scorer(search):
    """Return what the scorer that chooses is called, and whether it is negated."""
    scorer, name = search.scorer_, search.scoring
    if search.multimetric_:
        name, scorer = next(iter(scorer.items()))
    parts = scorer_parts(scorer)
    if not isinstance(name, str):
        name = getattr(scorer if parts is None else parts[0], "__name__", "")
        name = name if name.isidentifier() else "score"  # a lambda
    is_negated = parts is not None and parts[1] < 0
    name = name.removeprefix("neg_") if is_negated else name
    name = shorten(name.replace("_", " "), _LONGEST_NAME)
    return f"{name}, negative" if is_negated else name
