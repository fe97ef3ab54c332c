"""Mean scores of the candidates of a search over the stages."""

import numpy as np

from sklearn_superior.plotting._style import (
    COLOURS,
    legend_above,
    make_axes,
    paper,
    shorten,
)
from sklearn_superior.utils._sklearn_compat import scorer_parts

_LONGEST_LABEL, _LONGEST_NAME = 60, 40


class StagedSearchDisplay:
    """Mean scores over the folds, stage by stage, with the selected stages.

    The band around a curve is the standard error of the mean over the folds. It shows
    how reliable the score of a candidate is; differences between candidates on the same
    folds are often more certain than it suggests. A marker is the selected stage of a
    candidate. It is filled for the best candidate.

    Parameters
    ----------
    stage_scores : list of ndarray of shape (n_stages, n_folds)
        Scores of each candidate, the best one first.

    best_iterations : list of int
        Selected stage of each candidate.

    labels : list of str
        Name of each candidate.

    scoring : str, default="mean score"
        Name of the scores.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the curves.

    figure_ : matplotlib Figure
        Figure containing the axes.

    lines_ : list of matplotlib Line2D
        Curve of each candidate.

    See Also
    --------
    sklearn_superior.model_selection.StagedSearchCV : Compute the data.

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
            Number of candidates to draw.

        ax : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.

        Returns
        -------
        display : StagedSearchDisplay
        """
        results = search.cv_results_
        name = next(iter(search.scorer_)) if search.multimetric_ else "score"
        order = np.argsort(results[f"rank_test_{name}"], kind="stable")
        has_no_choice = np.ma.getmaskarray(results["best_iteration"])
        drawn = [k for k in order if not has_no_choice[k]][:n_candidates]
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
            Axes to draw on. If None, a new figure is created.

        Returns
        -------
        display : StagedSearchDisplay
            The display itself.
        """
        is_new = ax is None
        (ax,), self.lines_ = make_axes(self, ax, (7, 4)), []
        for k, scores in enumerate(self.stage_scores):
            self._draw(scores, self.best_iterations[k], self.labels[k], k)
        ax.set_xlabel("stage")
        ax.set_ylabel(self.scoring)
        legend_above(ax, make_room=is_new)
        return self

    def _draw(self, scores, best, label, k):
        ax, mean, colour = self.ax_, scores.mean(axis=1), COLOURS[k % len(COLOURS)]
        width, size, fill = (2.2, 8, colour) if k == 0 else (1.4, 6, paper(ax))
        # The best candidate is drawn on top.
        order = 2.5 if k == 0 else 2
        self.lines_ += ax.plot(
            mean, color=colour, linewidth=width, label=label, zorder=order
        )
        if scores.shape[1] > 1:
            with np.errstate(invalid="ignore"):  # infinite scores have no band
                error = scores.std(axis=1, ddof=1) / np.sqrt(scores.shape[1])
            band = {"color": colour, "alpha": 0.15, "linewidth": 0}
            ax.fill_between(range(len(mean)), mean - error, mean + error, **band)
        marker = {"marker": "o", "markersize": size, "markerfacecolor": fill}
        ax.plot(best, mean[best], color=colour, linestyle="none", zorder=3, **marker)


def _label(params):
    text = ", ".join(f"{name}={value!r}" for name, value in params.items())
    return shorten(text or "the estimator as it is", _LONGEST_LABEL)


def _name_of_scorer(search):
    """Return the name of the scorer that selects, and whether it is negated."""
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
