"""The folds of one candidate, trained in lockstep, and the model of all rows."""

from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from sklearn_superior.early_stopping import EarlyStopper
from sklearn_superior.staged._engine import run
from sklearn_superior.staged._scoring import (
    StageScorer,
    best_temperature,
    calibrates,
    temperature_options,
)
from sklearn_superior.staged._training import Training
from sklearn_superior.utils._checks import Rows, with_mean_one
from sklearn_superior.utils._sklearn_compat import take_rows
from sklearn_superior.utils._warnings import warn

# So many rows of the training part tell how well a model has learned it.
_N_KNOWN_ROWS = 500


@dataclass
class Plan:
    """What all candidates of a search have in common.

    Parameters
    ----------
    data : Rows
        All rows.

    classes : ndarray
        All classes.

    folds : list of pairs of ndarray
        The rows to train on and the rows to score, of each fold.

    scorers : dict of str to callable
        The scorers; the first one chooses.

    weights : dict of str to ndarray or None
        The weights that each scorer gets.

    n_iter_no_change, tol
        When to stop.

    keeps_members : bool
        Whether the models of the folds are wanted.

    folds_at_once : int
        Number of threads that train folds.

    max_threads : int or None
        Threads of a library with threads of its own.
    """

    data: Rows
    classes: np.ndarray
    folds: list
    scorers: dict
    weights: dict
    n_iter_no_change: int
    tol: float
    keeps_members: bool = False
    folds_at_once: int = 1
    max_threads: int | None = None

    def __getstate__(self):  # other processes take the rows of the folds themselves
        return {k: v for k, v in vars(self).items() if k != "_test_data"}

    @cached_property
    def _test_data(self):
        return [take_rows(self.data.X, test) for _, test in self.folds]

    def make_scorer(self, name, fold):
        """Return what scores the probabilities of the test rows of a fold."""
        rows, weight = self.folds[fold][1], self.weights[name]
        return StageScorer(
            self.scorers[name],
            self.classes,
            self._test_data[fold],
            self.data.y[rows],
            None if weight is None else with_mean_one(weight[rows]),
        )

    def make_training(self, estimator, fold):
        """Return the training of an estimator on a fold."""
        train, test = self.folds[fold]

        def test_data():
            if isinstance(estimator, Pipeline):  # some of its steps work in place
                return take_rows(self.data.X, test)
            return self._test_data[fold]

        return Training(
            estimator,
            lambda: self.data.take(train),
            {"test": test_data},
            self.classes,
            max_threads=self.max_threads,
        )


@dataclass
class Candidate:
    """What came of the training of one setting.

    Parameters
    ----------
    stage_scores : ndarray of shape (n_stages, n_folds)
        The scores of the scorer that chooses.

    best_iteration : int
        The stage that is chosen.

    test_scores : dict of str to ndarray of shape (n_folds,)
        The scores of all scorers at that stage.

    fit_times, score_times : ndarray of shape (n_folds,)
        Seconds.

    test_proba : list of ndarray, default=None
        The probabilities of that stage for the test rows of each fold.

    members : list of estimator, default=None
        The models of the folds.
    """

    stage_scores: np.ndarray
    best_iteration: int
    test_scores: dict
    fit_times: np.ndarray
    score_times: np.ndarray
    test_proba: list[np.ndarray] | None = None
    members: list[Any] | None = None

    @property
    def score(self):
        """The mean score by which it is chosen."""
        return np.mean(next(iter(self.test_scores.values())))

    def forget_models(self):
        """Forget what only the best candidate needs."""
        self.test_proba = self.members = None


def train_candidate(estimator, plan, observers=()):
    """Train the folds of an estimator in lockstep until their mean score stops rising.

    Parameters
    ----------
    estimator : estimator
        With the parameters of the candidate. It is not changed.

    plan : Plan
        Data, folds, scorers.

    observers : iterable of object, default=()
        Are told of each stage.

    Returns
    -------
    candidate : Candidate
    """
    folds, (first, *others) = range(len(plan.folds)), plan.scorers
    trainings = [plan.make_training(estimator, fold) for fold in folds]
    scorers = [plan.make_scorer(first, fold) for fold in folds]
    stopper = EarlyStopper(n_iter_no_change=plan.n_iter_no_change, tol=plan.tol)
    result = run(
        trainings,
        lambda fold, parts: scorers[fold](parts["test"]),
        stopper,
        observers=observers,
        n_at_once=plan.folds_at_once,
        max_threads=plan.max_threads,
    )
    if result.best is None:
        raise ValueError(
            f"No stage has a valid score: the means over the folds of all "
            f"{stopper.n_iter} stages are NaN or minus infinity."
        )
    stage_scores = np.array(result.scores)
    test_proba = [parts["test"] for parts in result.best]
    test_scores = {first: stage_scores[result.best_iteration]}
    for name in others:
        scores = np.empty(len(folds))
        for fold in folds:
            start = perf_counter()
            scores[fold] = plan.make_scorer(name, fold)(test_proba[fold])
            result.score_times[fold] += perf_counter() - start
        test_scores[name] = scores
    candidate = Candidate(
        stage_scores,
        result.best_iteration,
        test_scores,
        result.fit_times,
        result.score_times,
        test_proba,
    )
    if plan.keeps_members:
        candidate.members = [
            _keep_member(training, result.best_iteration, y_proba)
            for training, y_proba in zip(trainings, test_proba, strict=True)
        ]
    return candidate


def _keep_member(training, stage, y_proba):
    """Return the model of a fold at a stage."""
    training.keep_as_scored(stage, "test", y_proba)
    return training.estimator()


def out_of_fold(plan, test_proba):
    """Return the mean of the probabilities of each row; NaN where there are none."""
    total = np.zeros((len(plan.data.y), len(plan.classes)))
    count = np.zeros((len(plan.data.y), 1))
    for (_, test), y_proba in zip(plan.folds, test_proba, strict=True):
        np.add.at(total, test, y_proba)
        np.add.at(count, test, 1)
    count[count == 0] = np.nan
    # Numbers of single precision do not sum to one in double precision.
    return (total / count).astype(np.result_type(*test_proba))


def find_temperature(calibration, plan, test_proba):
    """Return the best temperature for the out-of-fold probabilities.

    Each fold's forecast of a row counts by itself, also where several folds test a row:
    the temperature is that of a single model.

    Parameters
    ----------
    calibration : {"auto", "temperature"} or None
        With ``"auto"``, only a refined rule has a temperature.

    plan : Plan
        Data, folds and scorers, the first of which has chosen.

    test_proba : list of ndarray
        The probabilities for the test rows of each fold.

    Returns
    -------
    temperature : float
        1.0 if there is to be none.
    """
    scorer = next(iter(plan.scorers.values()))
    if not calibrates(calibration, scorer):
        return 1.0
    y, weight = plan.data.y, plan.data.sample_weight
    rows, forecasts = [], []
    for (train, test), y_proba in zip(plan.folds, test_proba, strict=True):
        # Rows of classes that a fold does not know say nothing of its forecasts.
        known = y[train] if weight is None else y[train][weight[train] > 0]
        counts = np.isin(y[test], known)
        if weight is not None:
            counts &= weight[test] > 0
        rows.append(test[counts])
        forecasts.append(y_proba[counts])
    pooled = np.concatenate(rows)
    if len(pooled) == 0:
        return 1.0
    order = np.argsort(pooled, kind="stable")
    pooled = pooled[order]
    return best_temperature(
        y[pooled],
        np.concatenate(forecasts)[order],
        plan.classes,
        None if weight is None else with_mean_one(weight[pooled]),
        **temperature_options(scorer),
    )


def train_on_all(estimator, best, plan):
    """Train a candidate on all rows, for the chosen number of stages.

    A warning says if its loss on these rows is above that of the folds on rows that
    they had not seen.

    Parameters
    ----------
    estimator : estimator
        The candidate, not trained.

    best : Candidate
        What came of it in the folds.

    plan : Plan
        Has the data.

    Returns
    -------
    model : estimator
        The model.
    """
    data = plan.data
    rows = _evenly_spread(data, _N_KNOWN_ROWS)
    all_rows = np.arange(len(data.y))  # a copy, for steps that work in place
    is_pipeline = isinstance(estimator, Pipeline)
    training = Training(
        estimator,
        lambda: data.take(all_rows) if is_pipeline else data,
        {"known": lambda: take_rows(data.X, rows)},
        plan.classes,
    )
    y_proba = training.train_to(best.best_iteration)["known"]
    model, unit = training.estimator(), training.stages.unit
    difference = training.differs(model, "known", y_proba)
    if difference:
        raise ValueError(
            "The model that would be kept does not predict as it did after its last "
            f"{unit}, but {difference}. {training.stages.known_causes}"
        )
    loss = _log_loss(plan, rows, y_proba)
    folds = zip(plan.folds, best.test_proba, strict=True)
    of_folds = max(_log_loss(plan, test, own) for (_, test), own in folds)
    if not loss <= 1.25 * of_folds + 0.1 * _entropy(data):
        warn(
            f"After {best.best_iteration + 1} {unit}s the model that is trained on all "
            f"rows has a log loss of {loss:.3g} on them, the models of the folds have "
            f"at most {of_folds:.3g} on rows that they have not seen: its training "
            "probably diverged. Use refit='folds', or a smaller learning rate."
        )
    return model


def _evenly_spread(data, n_most):
    """Return some of the rows with positive weight, evenly spread over all of them."""
    rows = np.arange(len(data.y))
    if data.sample_weight is not None:
        rows = rows[data.sample_weight > 0]
    return rows[np.linspace(0, len(rows) - 1, min(len(rows), n_most)).astype(int)]


def _log_loss(plan, rows, y_proba):
    """Return the log loss of the probabilities of some rows."""
    data = plan.data.take(rows)
    weight = with_mean_one(data.sample_weight)
    score = StageScorer("log_loss", plan.classes, data.X, data.y, weight)
    return -score(y_proba)


def _entropy(data):
    """Return the log loss of the shares of the classes as a forecast."""
    _, codes = np.unique(data.y, return_inverse=True)
    share = np.bincount(codes, weights=with_mean_one(data.sample_weight))
    share = share[share > 0] / share.sum()
    return float(-np.sum(share * np.log(share)))
