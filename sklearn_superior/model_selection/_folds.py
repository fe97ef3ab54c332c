"""The folds of a cross-validation, and a candidate trained on them in lockstep."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from numbers import Integral
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.model_selection import StratifiedGroupKFold, check_cv
from sklearn.pipeline import Pipeline

from sklearn_superior.early_stopping import EarlyStopper
from sklearn_superior.staged._engine import run
from sklearn_superior.staged._observers import Observer
from sklearn_superior.staged._scoring import (
    StageScorer,
    best_temperature,
    calibrates,
    temperature_options,
)
from sklearn_superior.staged._training import Training
from sklearn_superior.utils._checks import Rows, with_mean_one
from sklearn_superior.utils._sklearn_compat import take_rows

_PARTS = {2: ("training", "test"), 3: ("training", "validation", "test")}


def find_folds(cv, X, y, groups, n_parts=(2,)):
    """Return the row indices of the parts of each fold.

    Parameters
    ----------
    cv : int, splitter, iterable or None
        None or an int means stratified folds, which keep groups together.

    X, y, groups : array-like
        The data to split.

    n_parts : tuple of int, default=(2,)
        The allowed numbers of parts: 2 are training and test, 3 are training,
        validation and test.
    """
    if hasattr(cv, "split") or not isinstance(cv, Iterable):
        cv = _find_splitter(cv, y, groups).split(X, y, groups)
    folds = [tuple(parts) for parts in cv]
    if not folds:
        raise ValueError("The 'cv' parameter must give at least one fold. Got none.")
    found = {len(parts) for parts in folds}
    if len(found) > 1 or not found <= set(n_parts):
        allowed = " or ".join(f"{n} parts ({', '.join(_PARTS[n])})" for n in n_parts)
        raise ValueError(
            f"The 'cv' parameter must give {allowed} in every fold. Got "
            f"{sorted(found)} parts."
        )
    return [_check_fold(fold, parts, len(y)) for fold, parts in enumerate(folds)]


def _find_splitter(cv, y, groups):
    if groups is not None and (cv is None or isinstance(cv, Integral)):
        n_folds, n_groups = 5 if cv is None else cv, len(np.unique(groups))
        if n_folds > n_groups:
            raise ValueError(
                "The 'cv' parameter must be at most the number of groups, because each "
                f"group stays in one fold. Got {cv}{' (5 folds)' * (cv is None)} with "
                f"{n_groups} groups."
            )
        cv = StratifiedGroupKFold(n_folds)
    return check_cv(cv, y, classifier=True)


def _check_fold(fold, parts, n_rows):
    """Return the parts of a fold as indices, which must not overlap."""
    named = {
        name: _as_indices(rows, n_rows, f"the {name} part of fold {fold}")
        for name, rows in zip(_PARTS[len(parts)], parts, strict=True)
    }
    for name, other in combinations(named, 2):
        n_shared = len(np.intersect1d(named[name], named[other]))
        if n_shared:
            raise ValueError(
                "The 'cv' parameter must give disjoint parts. In fold "
                f"{fold} the {name} and the {other} part share {n_shared} rows."
            )
    return list(named.values())


def _as_indices(rows, n_rows, where):
    """Return non-negative indices, from indices or a boolean mask."""
    rows = np.asarray(rows)
    if rows.size == 0 or (rows.dtype.kind == "b" and not rows.any()):
        raise ValueError(
            f"The 'cv' parameter must give non-empty parts. Got no rows in {where}."
        )
    kind = rows.dtype.kind
    is_mask = kind == "b" and len(rows) == n_rows
    is_valid = is_mask or (
        kind in "iu" and rows.min() >= -n_rows and rows.max() < n_rows
    )
    if rows.ndim != 1 or not is_valid:
        raise ValueError(
            f"The 'cv' parameter must give row indices from {-n_rows} to {n_rows - 1}, "
            f"or boolean masks of length {n_rows}. Got {rows!r} as {where}."
        )
    return np.arange(n_rows)[rows]


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
        The training and the test rows of each fold.

    scorers : dict of str to callable
        The scorers; the first one chooses.

    n_iter_no_change, tol
        When to stop.

    keeps_members : bool
        Whether to keep the fold models.

    folds_at_once : int
        Number of threads that train folds.

    max_threads : int or None
        Maximum number of threads of each training.
    """

    data: Rows
    classes: np.ndarray
    folds: list
    scorers: dict
    n_iter_no_change: int
    tol: float
    keeps_members: bool = False
    folds_at_once: int = 1
    max_threads: int | None = None

    def __getstate__(self):  # worker processes take the test rows from the data
        return {k: v for k, v in vars(self).items() if k != "_test_data"}

    @cached_property
    def _test_data(self):
        return [take_rows(self.data.X, test) for _, test in self.folds]

    @property
    def counts(self):
        """Whether each row has a positive weight."""
        weight = self.data.sample_weight
        return np.ones(len(self.data.y), bool) if weight is None else weight > 0

    def weight_for(self, name):
        """Return the weights, unless metadata routing keeps them from a scorer."""
        scorer, weight = self.scorers[name], self.data.sample_weight
        if not get_config()["enable_metadata_routing"]:
            return weight
        if not hasattr(scorer, "get_metadata_routing"):
            return weight
        request = scorer.get_metadata_routing().score.requests.get("sample_weight")
        return None if request is False else weight

    def make_scorer(self, name, fold):
        """Return a scorer of the probabilities for the test rows of a fold."""
        rows, weight = self.folds[fold][1], self.weight_for(name)
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
            if isinstance(estimator, Pipeline):  # whose steps may work in place
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
    """The result of training one candidate on all folds.

    Parameters
    ----------
    stage_scores : ndarray of shape (n_stages, n_folds)
        Scores of the scorer that chooses.

    best_iteration : int or None
        The chosen stage; None if the candidate was pruned.

    test_scores : dict of str to ndarray of shape (n_folds,)
        Scores of all scorers at the chosen stage; NaN if the candidate was pruned.

    fit_times, score_times : ndarray of shape (n_folds,)
        Seconds.

    test_proba : list of ndarray, default=None
        Probabilities of the chosen stage for the test rows of each fold.

    members : list of estimator, default=None
        The fold models.

    is_pruned : bool, default=False
        Whether the candidate was given up.
    """

    stage_scores: np.ndarray
    best_iteration: int | None
    test_scores: dict
    fit_times: np.ndarray
    score_times: np.ndarray
    test_proba: list[np.ndarray] | None = None
    members: list[Any] | None = None
    is_pruned: bool = False

    @property
    def score(self):
        """The mean score that candidates are compared by."""
        return np.mean(next(iter(self.test_scores.values())))


class Pruning(Observer):
    """Ask a pruner after each stage whether to give a candidate up.

    Parameters
    ----------
    pruner : callable
        Called with the stage, the mean score and the scores of the folds.

    Attributes
    ----------
    is_pruned : bool
        What the pruner answered last.

    error : Exception or None
        What it raised instead, which is no failure of the candidate.
    """

    def __init__(self, pruner):
        self._pruner, self.is_pruned, self.error = pruner, False, None

    def stage_done(self, result, is_last):
        """Ask the pruner; return whether to stop."""
        scores = np.array(result.scores[-1])
        try:
            answer = self._pruner(len(result.scores) - 1, float(scores.mean()), scores)
            self.is_pruned = bool(answer)
        except Exception as exc:
            self.error = exc
            raise
        return self.is_pruned


def train_candidate(estimator, plan, observers=(), pruning=None):
    """Train an estimator on all folds in lockstep until the mean score stops improving.

    Parameters
    ----------
    estimator : estimator
        With the parameters of the candidate. It is not modified.

    plan : Plan
        Data, folds, scorers.

    observers : iterable of object, default=()
        Called after each stage.

    pruning : Pruning, default=None
        Called after them; may give the candidate up.

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
        observers=observers if pruning is None else (*observers, pruning),
        n_at_once=plan.folds_at_once,
        max_threads=plan.max_threads,
    )
    if pruning is not None and pruning.is_pruned:
        nan = dict.fromkeys(plan.scorers, np.full(len(folds), np.nan))
        times, scores = (result.fit_times, result.score_times), np.array(result.scores)
        return Candidate(scores, None, nan, *times, is_pruned=True)
    if result.best is None:
        raise ValueError(
            f"No stage has a valid score: the mean scores of all {stopper.n_iter} "
            "stages are NaN or minus infinity."
        )
    stage_scores = np.array(result.scores)
    test_proba = [parts["test"] for parts in result.best]
    test_scores = {first: stage_scores[result.best_iteration]}
    for name in others:
        test_scores[name] = np.array(
            [plan.make_scorer(name, fold)(test_proba[fold]) for fold in folds]
        )
    members = None
    if plan.keeps_members:
        members = []
        for training, y_proba in zip(trainings, test_proba, strict=True):
            training.keep_as_scored(result.best_iteration, "test", y_proba)
            members.append(training.estimator())
    return Candidate(
        stage_scores,
        result.best_iteration,
        test_scores,
        result.fit_times,
        result.score_times,
        test_proba,
        members,
    )


def out_of_fold(plan, test_proba):
    """Return the mean probabilities of each row; NaN if no fold tests it."""
    total = np.zeros((len(plan.data.y), len(plan.classes)))
    count = np.zeros((len(plan.data.y), 1))
    for (_, test), y_proba in zip(plan.folds, test_proba, strict=True):
        np.add.at(total, test, y_proba)
        np.add.at(count, test, 1)
    count[count == 0] = np.nan
    # Probabilities in single precision do not sum to one in double precision.
    return (total / count).astype(np.result_type(*test_proba))


def find_temperature(calibration, plan, test_proba):
    """Return the best temperature for the out-of-fold probabilities.

    Forecasts of several folds for the same row are pooled, not averaged: the
    temperature is for a single model.

    Parameters
    ----------
    calibration : {"auto", "temperature"} or None
        With ``"auto"``, only a refined rule has a temperature.

    plan : Plan
        Data, folds and scorers, of which the first one chose.

    test_proba : list of ndarray
        Probabilities for the test rows of each fold.

    Returns
    -------
    temperature : float
        1.0 without calibration.
    """
    scorer = next(iter(plan.scorers.values()))
    if not calibrates(calibration, scorer):
        return 1.0
    y, weight, counts = plan.data.y, plan.data.sample_weight, plan.counts
    rows, forecasts = [], []
    for (train, test), y_proba in zip(plan.folds, test_proba, strict=True):
        # A fold forecasts 0 for a class it was not trained on, at any temperature.
        is_used = counts[test] & np.isin(y[test], y[train[counts[train]]])
        rows.append(test[is_used])
        forecasts.append(y_proba[is_used])
    pooled = np.concatenate(rows)
    if len(pooled) == 0:
        return 1.0
    return best_temperature(
        y[pooled],
        np.concatenate(forecasts),
        plan.classes,
        None if weight is None else with_mean_one(weight[pooled]),
        **temperature_options(scorer),
    )
