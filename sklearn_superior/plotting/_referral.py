"""What decisions cost when the most uncertain cases are referred."""

import numpy as np

from sklearn_superior.metrics._decisions import cost_by_share_referred
from sklearn_superior.plotting._style import COLOURS, make_axes


class ReferralCurveDisplay:
    """Mean cost of the decisions against the share of cases that are referred.

    Cases are referred, to an expert or a second test, in the order of the expected cost
    of their best decision, the highest first. The curve shows the mean cost of the
    remaining cases. It falls steeply if the probabilities tell difficult cases apart
    from easy ones.

    Parameters
    ----------
    share : ndarray of shape (n_samples,)
        Share of the cases that are referred, in increasing order from 0.

    cost : ndarray of shape (n_samples,)
        Mean cost of the decisions on the remaining cases.

    limit : ndarray of shape (n_samples,)
        Expected cost above which cases are referred.

    name : str, default=None
        Name of the curve in the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the curve.

    figure_ : matplotlib Figure
        Figure containing the axes.

    line_ : matplotlib Line2D
        The curve.

    See Also
    --------
    sklearn_superior.model_selection.BayesDecisionClassifier : Decides and refers.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_superior.plotting import ReferralCurveDisplay
    >>> q = np.linspace(0, 1, 200)
    >>> y = (q > 0.5) ^ (np.abs(q - 0.5) < 0.1)  # wrong only near 0.5
    >>> costs = {"false_positive": 1, "false_negative": 1}
    >>> display = ReferralCurveDisplay.from_predictions(y, q, cost_matrix=costs)
    >>> display.cost[[0, 100]].round(2)
    array([0.2, 0. ])
    """

    def __init__(self, share, cost, limit, *, name=None):
        self.share = np.asarray(share)
        self.cost = np.asarray(cost)
        self.limit = np.asarray(limit)
        self.name = name

    @classmethod
    def from_predictions(
        cls,
        y_true,
        y_proba,
        *,
        cost_matrix,
        labels=None,
        referral_cost=None,
        name=None,
        ax=None,
    ):
        """Draw the curve from predicted probabilities.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            True labels.

        y_proba : array-like of shape (n_samples, n_classes), (n_samples,) or \
                (n_samples, 1)
            Predicted probabilities.

        cost_matrix : array-like of shape (n_classes, n_decisions), data frame or dict
            The costs of decisions other than a referral, as in
            :func:`~sklearn_superior.metrics.decision_cost`.

        labels : array-like of shape (n_classes,), default=None
            All class labels. If None, they are inferred from `y_true`.

        referral_cost : float, default=None
            Cost of a referral. If given, the resulting share is marked.

        name : str, default=None
            Name of the curve in the legend.

        ax : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.

        Returns
        -------
        display : ReferralCurveDisplay
        """
        curve = cost_by_share_referred(y_true, y_proba, cost_matrix, labels)
        return cls(*curve, name=name).plot(ax=ax, referral_cost=referral_cost)

    @classmethod
    def from_estimator(cls, estimator, X, y, *, cost_matrix, name=None, **options):
        """Draw the curve of a fitted classifier.

        Parameters
        ----------
        estimator : estimator
            A fitted classifier with `predict_proba`.

        X : array-like of shape (n_samples, n_features)
            Data.

        y : array-like of shape (n_samples,)
            True labels.

        cost_matrix : array-like of shape (n_classes, n_decisions), data frame or dict
            The costs of decisions other than a referral.

        name : str, default=None
            Name of the curve in the legend. If None, the name of the estimator's class.

        **options : dict
            Further options of `from_predictions`.

        Returns
        -------
        display : ReferralCurveDisplay
        """
        return cls.from_predictions(
            y,
            estimator.predict_proba(X),
            cost_matrix=cost_matrix,
            labels=estimator.classes_,
            name=type(estimator).__name__ if name is None else name,
            **options,
        )

    def plot(self, ax=None, *, referral_cost=None):
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.

        referral_cost : float, default=None
            Cost of a referral. If given, the resulting share is marked.

        Returns
        -------
        display : ReferralCurveDisplay
            The display itself.
        """
        is_new = ax is None
        (ax,) = make_axes(self, ax, (6, 4))
        colour = None if not is_new else COLOURS[0]
        (self.line_,) = ax.plot(100 * self.share, self.cost, color=colour)
        self.line_.set_label(self.name)
        colour = self.line_.get_color()
        ax.axhline(self.cost[0], color=colour, linestyle=":", linewidth=1)
        if referral_cost is not None:
            # The first case that is cheaper to decide than to refer.
            k = int(np.argmax(self.limit <= referral_cost))
            ax.plot(100 * self.share[k], self.cost[k], "o", color=colour)
            ax.annotate(
                f"a referral costs {referral_cost:g}:\n{self.share[k]:.0%} referred",
                (100 * self.share[k], self.cost[k]),
                xytext=(10, 10),
                textcoords="offset points",
                color=colour,
            )
        ax.set(xlabel="cases referred in %", ylabel="mean cost of the other cases")
        ax.set_xlim(0, 100)
        ax.set_ylim(bottom=0)
        ax.spines[["top", "right"]].set_visible(False)
        if self.name is not None:
            ax.legend(frameon=False)
        return self
