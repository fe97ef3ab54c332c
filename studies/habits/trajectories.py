"""What is seen of a training, stage by stage, and rules that are replayed on it.

Several ways to use a model share the same trainings: those of the folds, that of the
hold-out, and that of all rows. A `Watch` is passed as a scorer. It sees the
probabilities of each stage, scores them by all rules, and says when to stop: as soon
as each rule has stopped, or never.
"""

from dataclasses import dataclass, field
from time import perf_counter, process_time

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from sklearn_superior.early_stopping import EarlyStopper
from sklearn_superior.metrics import get_scorer

REFINED, PLAIN = "refined_log_loss", "log_loss"
SCORERS = {REFINED: get_scorer("neg_refined_log_loss"), PLAIN: get_scorer("log_loss")}


class Forecast(ClassifierMixin, BaseEstimator):
    """A classifier whose input is what it predicts."""

    def __init__(self, classes):
        self.classes = classes

    @property
    def classes_(self):
        """The class labels."""
        return self.classes

    def fit(self, X=None, y=None):
        """Do nothing."""
        return self

    def __sklearn_is_fitted__(self):
        """Return that it is."""
        return True

    def predict_proba(self, X):
        """Return the input."""
        return X

    def predict(self, X):
        """Return the most probable classes."""
        return self.classes[np.argmax(X, axis=1)]


def read_clocks():
    """Return seconds by the clock and of the processor."""
    return np.array([perf_counter(), process_time()])


class Watch:
    """A scorer that keeps the probabilities of all stages of one training.

    Parameters
    ----------
    n_scored : int
        The first so many rows are scored; the others are test rows.

    patience : int
        The patience of the rules.

    to_the_end : bool
        Whether to train all stages, or only until the last rule has stopped.

    kept : int, default=None
        The stage that the model is to keep.

    Attributes
    ----------
    stages : list of ndarray
        The probabilities of all rows.

    classes : ndarray
        Their columns.

    seconds : list of ndarray
        Clock and processor time of each stage.

    scoring : dict
        The same for each rule: what scoring took.

    stoppers : dict
        What each rule has seen and chosen.
    """

    def __init__(self, n_scored, patience, to_the_end, kept=None):
        self.n_scored, self.to_the_end, self.kept = n_scored, to_the_end, kept
        self.classes, self.stages, self.seconds = None, [], []
        self.scoring = {rule: [] for rule in SCORERS}
        self.stoppers = make_stoppers(patience)
        self.start = read_clocks()

    def __call__(self, model, X, y):
        """Keep a stage; return a score that ends the training when it is time."""
        self.seconds.append(read_clocks() - self.start)
        y_proba = model.predict_proba(X).copy()
        self.stages.append(y_proba)
        self.classes = model.classes_
        if self.n_scored:
            scores = score(model.classes_, y[: self.n_scored], y_proba, self.scoring)
            update(self.stoppers, scores)
        self.start = read_clocks()
        if self.kept is not None:
            return float(len(self.stages) - 1 == self.kept)
        return len(self.stages) if self.to_the_end or goes_on(self.stoppers) else -1


@dataclass
class Stopper:
    """A rule that may go on seeing stages after it has stopped.

    Parameters
    ----------
    patience : int
        Its patience.

    Attributes
    ----------
    best : int
        The best stage until it stopped.

    n_iter : int
        The number of stages until it stopped.

    losses : list of float
        The losses of all stages, also of those after it stopped.
    """

    patience: int
    losses: list = field(default_factory=list)
    goes_on: bool = True

    def __post_init__(self):
        """Make what keeps the books."""
        self._stopper = EarlyStopper(n_iter_no_change=self.patience)

    def update(self, score):
        """See a stage; return whether it is the best so far."""
        self.losses.append(-float(score))
        if not self.goes_on:
            return False
        self.goes_on = not self._stopper.update(score)
        return self._stopper.is_best

    @property
    def best(self):
        """The best stage until it stopped."""
        return self._stopper.best_iteration

    @property
    def n_iter(self):
        """The number of stages until it stopped."""
        return self._stopper.n_iter


def make_stoppers(patience):
    """Return a stopper for each rule."""
    return {rule: Stopper(patience) for rule in SCORERS}


def goes_on(stoppers):
    """Return whether a rule has not stopped yet."""
    return any(stopper.goes_on for stopper in stoppers.values())


def score(classes, y, y_proba, seconds):
    """Score the first rows of a forecast by each rule; add the time it took."""
    scores, own = {}, y_proba[: len(y)]
    for rule, scorer in SCORERS.items():
        start = read_clocks()
        is_finite = np.isfinite(own).all()
        scores[rule] = scorer(Forecast(classes), own, y) if is_finite else np.nan
        seconds[rule].append(read_clocks() - start)
    return scores


def update(stoppers, scores):
    """Tell each rule its score; return the rules whose best stage this is."""
    return [rule for rule, own in stoppers.items() if own.update(scores[rule])]


class FoldsWatch:
    """The same for folds in lockstep, by the mean score of the folds.

    It keeps the probabilities of the best stage of each rule and those of the last
    stage, a list with an array for each fold.

    Parameters
    ----------
    n_scored : list of int
        So many first rows of each fold are scored.

    patience : int
        The patience of the rules.

    to_the_end : bool
        Whether to train all stages.
    """

    def __init__(self, n_scored, patience, to_the_end):
        self.n_scored, self.to_the_end = n_scored, to_the_end
        self.stoppers = make_stoppers(patience)
        self.kept, self.places, self.seen = {}, {}, set()
        n_folds = len(n_scored)
        self.present, self.scores = [None] * n_folds, [None] * n_folds
        self.seconds = [[] for _ in n_scored]
        self.scoring = [{rule: [] for rule in SCORERS} for _ in n_scored]
        self.start = read_clocks()

    def __call__(self, model, X, y):
        """Keep a stage of a fold; return a score that ends training in time."""
        fold = self.places.setdefault(id(X), len(self.places))
        if fold in self.seen:
            self.finish_stage()
        self.seen.add(fold)
        self.seconds[fold].append(read_clocks() - self.start)
        y_proba = model.predict_proba(X)
        self.present[fold] = y_proba.copy()
        own = y[: self.n_scored[fold]]
        self.scores[fold] = score(model.classes_, own, y_proba, self.scoring[fold])
        self.start = read_clocks()
        n_stages = max(map(len, self.seconds))
        return n_stages if self.to_the_end or goes_on(self.stoppers) else -1

    def finish_stage(self):
        """Take the mean over the folds, once all of them have had their stage.

        The last stage of a fold that has ended by itself stands for the later ones.
        """
        self.seen = set()
        means = {
            rule: np.mean([scores[rule] for scores in self.scores]) for rule in SCORERS
        }
        for rule in [*update(self.stoppers, means), "last"]:
            self.kept[rule] = list(self.present)


def count_hgb_stages(losses, patience, tol=1e-7):
    """Return the number of stages after which HistGradientBoosting stops by itself.

    Parameters
    ----------
    losses : list of float
        The loss before the first stage and those of all stages.

    patience, tol
        `n_iter_no_change` and `tol` of HistGradientBoosting.

    Examples
    --------
    >>> count_hgb_stages([3.0, 2.0, 1.0, 1.5, 1.2, 0.9], patience=2)
    4
    """
    for n in range(patience + 1, len(losses) + 1):
        reference = losses[n - patience - 1] - tol
        if not any(loss < reference for loss in losses[n - patience : n]):
            return n - 1
    return len(losses) - 1
