"""A race in breadth: of many candidates, only those with a chance to win go on.

All candidates train to stage `N_FIRST`. Then the one with the highest upper bound gets
`N_MORE` stages, again and again. When no bound is above the score of the leader, the
leader trains to its end, and the race is over.

The bound adds two things to the best score so far. The first is what is still to come
until the end of the budget, if the gain per stage decays as a power law: at stage t,
after n stages at the end of which the gain per stage is `pace`, it is
``pace * (t / n) ** -(DECAY + 1)``. Integrated from n to the budget, this is
``pace * n / DECAY * (1 - (n / budget) ** DECAY)``. The second are `N_ERRORS` standard
errors of the difference to the leader, over the folds, each at its best stage.

The pace is the gain of the best score so far over the last `N_PACE` stages, per stage.
"""

from contextvars import copy_context
from math import inf, sqrt

import numpy as np
from greenlet import greenlet

N_FIRST, N_MORE, N_PACE = 15, 2, 5
DECAY, N_ERRORS = 2, 0.5


class Candidate:
    """The scores of a candidate so far.

    Attributes
    ----------
    scores : list of ndarray of shape (n_folds,)
        The scores of each stage.

    tops : list of float
        The best mean score up to each stage.

    at_best : ndarray of shape (n_folds,)
        The scores of the best stage.

    is_open : bool
        Whether the candidate can train on.
    """

    def __init__(self):
        self.scores, self.tops, self.at_best, self.is_open = [], [], None, True

    @property
    def best(self):
        """The best mean score."""
        return self.tops[-1]

    def add(self, fold_scores):
        """Add the scores of a stage."""
        top, mean = self.tops[-1] if self.tops else -inf, np.mean(fold_scores)
        if mean > top:
            top, self.at_best = mean, fold_scores
        self.scores.append(fold_scores)
        self.tops.append(top)


class Recorded(Candidate):
    """A candidate whose curve is known.

    Parameters
    ----------
    curve : ndarray of shape (n_stages, n_folds)
        Its scores.
    """

    def __init__(self, curve):
        super().__init__()
        self._curve = curve

    def train(self, n_stages):
        """Reveal more stages."""
        n_known = len(self.scores)
        for fold_scores in self._curve[n_known : n_known + n_stages]:
            self.add(fold_scores)
        self.is_open = len(self.scores) < len(self._curve)

    def close(self):
        """There is nothing to close."""


class Live(Candidate):
    """A candidate in training; it waits in the pruner of its search after each stage.

    Parameters
    ----------
    search : StagedSearchCV
        A search with a single candidate.

    X, y : ndarray
        The training data.
    """

    def __init__(self, search, X, y):
        super().__init__()
        search.set_params(pruner=self._pause)
        self._greenlet = greenlet(lambda: search.fit(X, y))
        self._greenlet.gr_context = copy_context()

    def _pause(self, stage, mean_score, fold_scores):
        self.add(fold_scores)
        self._greenlet.parent.switch()
        return False

    @property
    def is_closed(self):
        """Whether the search has ended, by itself or because it was given up."""
        return not self._greenlet

    def train(self, n_stages):
        """Train more stages; the search may stop by itself."""
        for _ in range(n_stages):
            if self.is_open:
                self._greenlet.switch()
                self.is_open = not self.is_closed

    def close(self):
        """Give the candidate up: its search and all of its trainings end."""
        if self.is_open:
            self._greenlet.throw()


def upper_bound(candidate, leader, budget):
    """Return a score that an open candidate will hardly exceed."""
    n, tops = len(candidate.tops), candidate.tops
    pace = (tops[-1] - tops[-1 - N_PACE]) / N_PACE
    to_come = pace * n / DECAY * (1 - (n / budget) ** DECAY)
    difference = leader.at_best - candidate.at_best
    error = difference.std(ddof=1) / sqrt(len(difference))
    return candidate.best + to_come + N_ERRORS * error


def find_leader(candidates):
    """Return the index of the best candidate so far, the first one of ties."""
    return int(np.argmax([candidate.best for candidate in candidates]))


def find_next(candidates, budget):
    """Return the index of the candidate to train on; None at the end of the race."""
    number = find_leader(candidates)
    leader = candidates[number]
    bounds = [
        upper_bound(candidate, leader, budget) if candidate.is_open else -inf
        for candidate in candidates
    ]
    highest = int(np.argmax(bounds))
    if bounds[highest] > leader.best:
        return highest
    return number if leader.is_open else None


def race(candidates, budget):
    """Train the candidates until the race is decided; return the index of the winner.

    Parameters
    ----------
    candidates : list of Candidate
        Their scores afterwards tell how far they were trained.

    budget : int
        Most stages of a candidate.
    """
    for candidate in candidates:
        candidate.train(N_FIRST)
    while (number := find_next(candidates, budget)) is not None:
        candidates[number].train(N_MORE)
    for candidate in candidates:
        candidate.close()
    return find_leader(candidates)
