"""Training with a hold-out: which rows to validate on, when to stop, what is kept."""

import math
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline

from sklearn_superior.early_stopping._checkpoint import PART, open_checkpoint
from sklearn_superior.early_stopping._stopper import EarlyStopper
from sklearn_superior.staged._calibration import (
    best_temperature,
    calibrates,
    temperature_options,
)
from sklearn_superior.staged._engine import Result, run
from sklearn_superior.staged._observers import Callbacks, StagePrinter
from sklearn_superior.staged._scoring import StageScorer, check_scorer
from sklearn_superior.staged._training import Training
from sklearn_superior.utils._warnings import warn


def make_training(estimator, split, classes, **options):
    """Return the training of an estimator on a hold-out.

    The steps of a pipeline get rows of their own: some work in place.
    """
    own_rows = deepcopy if isinstance(estimator, Pipeline) else lambda rows: rows
    seen = {} if split.val is None else {PART: lambda: own_rows(split.val.X)}
    return Training(estimator, lambda: own_rows(split.train), seen, classes, **options)


@dataclass
class Holdout:
    """What came of training with a hold-out, as the attributes of a classifier."""

    n_iter_: int
    temperature_: float = 1.0
    scorer_: object = None
    best_iteration_: int | None = None
    best_score_: float | None = None
    validation_scores_: np.ndarray | None = None

    def set_on(self, classifier):
        """Set the attributes; those of the scores only if there are any."""
        for name, value in vars(self).items():
            if value is not None:
                setattr(classifier, name, value)


def fit_holdout(classifier, training, split, attributes_of):
    """Train until the score stops improving, and keep the best stage.

    Parameters
    ----------
    classifier : estimator
        Its parameters define when to stop and where to write checkpoints; it has the
        callbacks. It is not changed.

    training : Training
        What is trained.

    split : Split
        Training and validation data. Without the latter all stages are trained and
        the last one is kept.

    attributes_of : callable
        Returns what makes a copy of the classifier predict as an estimator does.

    Returns
    -------
    holdout : Holdout
    """
    val, stages, n_stages = split.val, training.stages, training.n_stages
    patience = n_stages + 1 if val is None else classifier.n_iter_no_change
    stopper = EarlyStopper(n_iter_no_change=patience, tol=classifier.tol)
    scorer, score = None, lambda y_proba: math.nan
    if val is not None:
        scorer = check_scorer(classifier.scoring)
        score = StageScorer(scorer, training.classes, val.X, val.y, val.sample_weight)
    training.begin()
    _check_validation_classes(split)
    result, stop = Result(1), False
    checkpoint = open_checkpoint(classifier, training, stopper, scorer, val)
    if checkpoint and classifier.resume:
        stop = checkpoint.resume(result, score)

    def attributes():
        last_step = stages.snapshot()
        return (
            None if last_step is None else attributes_of(training.estimator(last_step))
        )

    callbacks = Callbacks(classifier, split.train, n_stages, stages.unit, attributes)
    observers = [StagePrinter(stages, stopper)] if classifier.verbose else []
    observers += [callbacks, *([checkpoint] if checkpoint else [])]
    try:
        if not stop:
            run(
                [training],
                lambda _, parts: score(parts.get(PART)),
                stopper,
                observers=observers,
                result=result,
            )
            if checkpoint:
                checkpoint.save(result)
    except KeyboardInterrupt:
        _survive_interrupt(result, stopper, stages.unit, has_scores=val is not None)
    holdout = Holdout(stopper.n_iter)
    if val is not None:
        y_proba = _keep_best(training, result, stopper)
        holdout = Holdout(
            stopper.n_iter,
            _find_temperature(classifier.calibration, scorer, val, y_proba, training),
            scorer,
            stopper.best_iteration,
            stopper.best_score,
            np.array(stopper.scores),
        )
    callbacks.finished(lambda: attributes_of(training.estimator()))
    return holdout


def _check_validation_classes(split):
    """Raise an error if no validation sample has a class that is trained on."""
    if split.val is not None and not np.isin(split.val.y, split.train.y).any():
        raise ValueError(
            "The validation data must have classes of the training data. Got "
            f"{np.unique(split.val.y).tolist()} and "
            f"{np.unique(split.train.y).tolist()}."
        )


def _survive_interrupt(result, stopper, unit, *, has_scores):
    """Warn and continue, or raise if there is nothing to keep."""
    n_iter, best = stopper.n_iter, stopper.best_iteration
    # The interrupt may have come after the best stage was scored and before it was
    # remembered.
    has_best = best is not None and best == result.best_iteration
    if not (has_best if has_scores else n_iter):
        raise
    kept = "the best of them is" if has_scores else "the present weights are"
    warn(f"Training was interrupted after {n_iter} {unit}s; {kept} kept.")


def _keep_best(training, result, stopper):
    """Keep the best stage; return its probabilities."""
    if stopper.best_iteration is None:
        raise ValueError(
            f"No stage has a valid score: all {stopper.n_iter} scores of the "
            "'scoring' parameter are NaN or minus infinity."
        )
    y_proba = result.best[0][PART]
    training.keep_as_scored(stopper.best_iteration, PART, y_proba)
    warn_of_scores(
        stopper.scores,
        stopper.best_iteration,
        training.stages,
        stopper.n_iter_no_change,
    )
    return y_proba


def _find_temperature(calibration, scorer, val, y_proba, training):
    """Return the temperature to ship, that of the rule if it is a refined one."""
    if not calibrates(calibration, scorer):
        return 1.0
    own_classes = training.own_classes
    return best_temperature(
        val.y,
        y_proba[:, np.isin(training.classes, own_classes)],
        own_classes,
        val.sample_weight,
        **temperature_options(scorer),
    )


def warn_of_scores(scores, best, stages, patience):
    """Warn if the scores are all equal, or the best one is near the end of the budget.

    Near means that no more than a quarter of the patience has passed since, or of the
    budget if that is smaller. Then further training usually finds a better stage.
    """
    unit, n_stages = stages.unit, stages.n_stages
    n_since = len(scores) - 1 - best
    ended_by_budget = len(scores) == n_stages > 1
    if len(scores) > 1 and all(score == scores[0] for score in scores):
        warn(
            f"All {len(scores)} scores of the validation data are equal, so that "
            f"the first {unit} is kept. Use a 'scoring' that tells the {unit}s "
            "apart, such as the default, or more validation data."
        )
    elif ended_by_budget and n_since <= min(patience, n_stages) // 4:
        place = f"the last of {n_stages}: the score was still improving"
        if n_since:
            place = f"number {best + 1} of {n_stages}, shortly before the budget ended"
        warn(
            f"The best {unit} is {place}. A larger {stages.budget_name()} may give a "
            "better model.",
            ConvergenceWarning,
        )
