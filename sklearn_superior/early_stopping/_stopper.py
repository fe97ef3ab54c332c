"""When to stop: pure bookkeeping over scores."""

from math import inf, isnan
from numbers import Real

from sklearn_superior.utils._checks import PATIENCE, says_instead
from sklearn_superior.utils._sklearn_compat import (
    Interval,
    check_parameters,
    integer_from,
)


class EarlyStopper:
    """Decide when to stop, given one score after another.

    Training should stop after `n_iter_no_change` scores in a row that do not exceed the
    best score by more than `tol`. Equal scores at the start do not count: a model that
    predicts the same class for all samples has not learned anything yet.

    Parameters
    ----------
    n_iter_no_change : int, default=20
        Number of scores without improvement before stopping (the patience).

    tol : float, default=0.0
        Minimum improvement over the best score. Absolute, in units of the score.

    greater_is_better : bool, default=True
        True for scores, such as those of scikit-learn's scorers, False for losses.

    Attributes
    ----------
    best_iteration : int or None
        Index of the best score, starting at 0. None before there is one.

    best_score : float
        The best score. Minus infinity, or infinity for losses, before there is one.

    scores : list of float
        All scores.

    n_iter : int
        Number of scores.

    is_best : bool
        Whether the last score is the best one.

    Notes
    -----
    NaN is never an improvement. Among equal scores, the first is the best.

    Examples
    --------
    Six scores with a patience of 3. The third is the best, and the next three do not
    improve on it, so training stops after the sixth:

    >>> from sklearn_superior.early_stopping import EarlyStopper
    >>> stopper = EarlyStopper(n_iter_no_change=3)
    >>> [stopper.update(score) for score in [0.5, 0.7, 0.8, 0.8, 0.6, 0.79]]
    [False, False, False, False, False, True]
    >>> stopper.best_iteration, stopper.best_score
    (2, 0.8)

    In your own training loop:

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import GradientBoostingClassifier
    >>> from sklearn_superior.metrics import penalized_brier_score_loss
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GradientBoostingClassifier(random_state=0).fit(X[::2], y[::2])
    >>> stopper = EarlyStopper(n_iter_no_change=5, greater_is_better=False)
    >>> for proba in model.staged_predict_proba(X[1::2]):
    ...     if stopper.update(penalized_brier_score_loss(y[1::2], proba)):
    ...         break
    >>> stopper.n_iter - stopper.best_iteration
    6
    """

    _parameter_constraints = {
        "n_iter_no_change": [integer_from(1)],
        "tol": [Interval(Real, 0, None, closed="left")],
        "greater_is_better": ["boolean"],
    }

    @says_instead(**PATIENCE)
    def __init__(self, *, n_iter_no_change=20, tol=0.0, greater_is_better=True):
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.greater_is_better = greater_is_better
        check_parameters("EarlyStopper", self._parameter_constraints, vars(self))
        self.best_iteration = None
        self.best_score = -inf if greater_is_better else inf
        self.scores = []
        self._n_equal = 0  # number of equal scores at the start

    @property
    def n_iter(self):
        """Number of scores so far."""
        return len(self.scores)

    @property
    def is_best(self):
        """Whether the last score is the best one."""
        return bool(self.scores) and self.best_iteration == self.n_iter - 1

    def update(self, score):
        """Record a score.

        Parameters
        ----------
        score : float
            The score of the next iteration.

        Returns
        -------
        stop : bool
            Whether training should stop.
        """
        score, place = float(score), len(self.scores)
        gain = score - self.best_score
        gain = gain if self.greater_is_better else -gain
        if not isnan(score) and gain > self.tol:
            self.best_score, self.best_iteration = score, place
        if self._n_equal == place and score == self.best_score:
            self._n_equal += self.best_iteration == 0
        self.scores.append(score)
        last_best = -1 if self.best_iteration is None else self.best_iteration
        return place - max(last_best, self._n_equal - 1) >= self.n_iter_no_change

    def __repr__(self):
        return (
            f"EarlyStopper(n_iter_no_change={self.n_iter_no_change}, tol={self.tol}, "
            f"greater_is_better={self.greater_is_better})"
        )
