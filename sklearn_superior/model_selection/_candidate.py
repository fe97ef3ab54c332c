"""One setting of a search: its folds trained in step, and what came of it."""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from sklearn_superior.early_stopping import EarlyStopper
from sklearn_superior.early_stopping._training import (
    StagedModel,
    StageScorer,
    run_in_step,
)
from sklearn_superior.utils._parallel import limit_threads
from sklearn_superior.utils._rows import Rows
from sklearn_superior.utils._sklearn_compat import take_rows

# So many rows of the training part tell how well a model has learned it.
_N_TRAINING_ROWS = 500


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
        Number of folds that are trained at the same time.

    max_threads : int or None
        Threads of a library with threads of its own.

    on_stage : callable or None
        Called after each stage of a candidate that is trained in this process.
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
    on_stage: Callable | None = None

    def __getstate__(self):  # for other processes
        return vars(self) | {"on_stage": None}

    def make_scorer(self, name, fold, X_test=None):
        """Return what scores the probabilities of a fold's test rows, `X_test`."""
        rows, weight = self.folds[fold][1], self.weights[name]
        return StageScorer(
            self.scorers[name],
            self.classes,
            take_rows(self.data.X, rows) if X_test is None else X_test,
            self.data.y[rows],
            None if weight is None else weight[rows],
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

    oof_proba : ndarray of shape (n_samples, n_classes)
        The out-of-fold probabilities of that stage.

    train_losses : ndarray of shape (n_folds,)
        The log loss of that stage on rows that were trained on.

    fit_times, score_times : ndarray of shape (n_folds,)
        Seconds.

    members : list of pairs of estimator and ndarray, default=None
        The models of the folds with the classes of their columns.
    """

    stage_scores: np.ndarray
    best_iteration: int
    test_scores: dict
    oof_proba: np.ndarray
    train_losses: np.ndarray
    fit_times: np.ndarray
    score_times: np.ndarray
    members: list[tuple[Any, np.ndarray]] | None = None


def train_candidate(estimator, plan):
    """Train the folds of an estimator in step until their mean score stops improving.

    Parameters
    ----------
    estimator : estimator
        With the parameters of the candidate. It is not changed.

    plan : Plan
        Data, folds, scorers.

    Returns
    -------
    candidate : Candidate
    """
    folds = [_Fold(k, estimator, plan) for k in range(len(plan.folds))]
    stopper = EarlyStopper(n_iter_no_change=plan.n_iter_no_change, tol=plan.tol)
    stage_scores: list = []

    def decide(scores):
        stop = stopper.update(np.mean(scores))
        stage_scores.append(scores)
        if plan.on_stage is not None:
            plan.on_stage()
        if stopper.is_best:
            for fold in folds:
                fold.best = fold.present
        return stop, stopper.is_best

    run_in_step([fold.train for fold in folds], decide, n_at_once=plan.folds_at_once)
    if stopper.best_iteration is None:
        raise ValueError(
            f"No stage has a valid score: the means over the folds of all "
            f"{stopper.n_iter} stages are NaN or minus infinity."
        )
    return _make_candidate(plan, folds, stage_scores, stopper.best_iteration)


class _Fold:
    """The training of one fold."""

    def __init__(self, number, estimator, plan):
        self.number, self.plan = number, plan
        self.train_rows, self.test_rows = plan.folds[number]
        self.model = StagedModel(estimator, max_threads=plan.max_threads)
        self.n_stages = 0
        self.present = self.best = None  # probabilities of the last and the best stage
        self.fit_time = self.score_time = 0.0

    @property
    def n_test(self):
        return len(self.test_rows)

    def train(self, meet):
        """Train, and meet the other folds after every stage."""
        try:
            with limit_threads(self.plan.max_threads):
                self._train(meet)
        except Exception as exc:
            exc.add_note(f"This was in fold {self.number}.")
            raise

    def _train(self, meet):
        self._since = perf_counter()
        plan = self.plan
        self.known_rows = training_sample(plan.data, self.train_rows)
        # One pass predicts both: what is scored, and some rows that are trained on.
        seen = np.concatenate([self.test_rows, self.known_rows])
        X_seen = take_rows(plan.data.X, seen)
        self.model.prepare(plan.data.take(self.train_rows), X_seen, plan.classes)
        self.score = plan.make_scorer(
            next(iter(plan.scorers)),
            self.number,
            take_rows(X_seen, slice(0, self.n_test)),  # of an array, no copy
        )
        self.model.fit(lambda y_proba: self._on_stage(y_proba, meet))
        self.fit_time += perf_counter() - self._since
        if self.model.stages.has_failed:
            raise ValueError("The training of a fold has failed on the way.")
        if self.n_stages == 0:
            raise ValueError("The training ended without a single stage.")

    def _on_stage(self, y_proba, meet):
        trained = perf_counter()
        self.present = y_proba.copy()  # of what the library may use again
        self.n_stages += 1
        score = self.score(self.present[: self.n_test])
        self.fit_time += trained - self._since
        self.score_time += perf_counter() - trained
        stop, is_best = meet(score)
        self._since = perf_counter()
        if is_best:
            self.model.stages.remember()
        return stop

    def training_loss(self):
        """Return the log loss of the best stage on rows that were trained on."""
        return training_loss(self.plan, self.known_rows, self.best[self.n_test :])

    def member(self, stage):
        """Return the model, cut back to a stage, and the classes of its columns."""
        X = take_rows(self.plan.data.X, self.test_rows)
        own_stage = min(stage, self.n_stages - 1)  # it may have ended by itself
        self.model.keep_as_scored(own_stage, X, self.best[: self.n_test])
        estimator = self.model.estimator()
        return estimator, self.model.columns_of(estimator)


def training_sample(data, rows):
    """Return some of the rows that are trained on, evenly spread over all of them."""
    if data.sample_weight is not None:
        rows = rows[data.sample_weight[rows] > 0]
    n_kept = min(len(rows), _N_TRAINING_ROWS)
    return rows[np.linspace(0, len(rows) - 1, n_kept).astype(int)]


def training_loss(plan, rows, y_proba):
    """Return the log loss of the probabilities of rows that were trained on."""
    data = plan.data.take(rows)
    score = StageScorer("log_loss", plan.classes, data.X, data.y, data.sample_weight)
    return -score(y_proba)


def _make_candidate(plan, folds, stage_scores, best):
    stage_scores = np.array(stage_scores)
    first, *others = plan.scorers
    test_scores = {first: stage_scores[best]}
    for name in others:
        start = perf_counter()
        scores = []
        for fold in folds:
            score = plan.make_scorer(name, fold.number)
            scores.append(score(fold.best[: fold.n_test]))
            fold.score_time += perf_counter() - start
            start = perf_counter()
        test_scores[name] = np.array(scores)
    return Candidate(
        stage_scores=stage_scores,
        best_iteration=best,
        test_scores=test_scores,
        oof_proba=_out_of_fold(plan, folds),
        train_losses=np.array([fold.training_loss() for fold in folds]),
        fit_times=np.array([fold.fit_time for fold in folds]),
        score_times=np.array([fold.score_time for fold in folds]),
        members=[fold.member(best) for fold in folds] if plan.keeps_members else None,
    )


def _out_of_fold(plan, folds):
    """Return the mean of the probabilities of each row; NaN where there are none."""
    total = np.zeros((len(plan.data.y), len(plan.classes)))
    count = np.zeros((len(plan.data.y), 1))
    for fold in folds:
        np.add.at(total, fold.test_rows, fold.best[: fold.n_test])
        np.add.at(count, fold.test_rows, 1)
    count[count == 0] = np.nan
    # Numbers of single precision do not sum to one in double precision.
    return (total / count).astype(np.result_type(*(fold.best for fold in folds)))
