"""The run of a classifier through its stages: score, stop, keep the best one."""

import math

import numpy as np

from sklearn_superior.early_stopping._checkpoint import CheckpointKeeper
from sklearn_superior.early_stopping._report import Report
from sklearn_superior.early_stopping._stage_scorer import StageScorer, expand_classes
from sklearn_superior.early_stopping._stopper import EarlyStopper
from sklearn_superior.utils._warnings import warn


def run_stages(
    classifier, stages, train, val, own_classes, *, survives_interrupt=False
):
    """Train until the score stops improving, keep the best stage, set the results.

    Parameters
    ----------
    classifier : estimator
        Its parameters tell when to stop and where to keep checkpoints; it gets the
        attributes that tell how training went.

    stages : Stages
        What is trained.

    train : tuple of X, y, sample_weight
        Training data, ready for `stages`.

    val : tuple of X, y, sample_weight, or None
        Validation data. Without it all stages are trained and the last one is kept.

    own_classes : ndarray
        The classes that `stages` knows, among those of the classifier.

    survives_interrupt : bool
        Whether Ctrl-C, once there is a stage to keep, ends training with a warning.
    """
    if stages.n_stages < 1:
        raise ValueError(
            f"{type(stages.estimator).__name__} must have at least one stage to "
            f"train. Got {stages.n_stages}."
        )
    patience = classifier.n_iter_no_change if val else stages.n_stages + 1
    stopper = EarlyStopper(n_iter_no_change=patience, tol=classifier.tol)
    score = StageScorer(classifier.scoring, classifier.classes_, *val) if val else None
    X_train, y_train, weight = train
    data = (y_train, weight, *(val[1:] if val else ()))
    if isinstance(X_train, np.ndarray):  # others may take long to read
        data = (X_train, *data)
    saver = CheckpointKeeper(classifier, stages, stopper, data)
    stop = saver.restore()
    report = Report(classifier, stages, stopper)

    def on_stage(y_proba):
        if val:
            y_proba = expand_classes(y_proba, own_classes, classifier.classes_)
        stop = stopper.update(score(y_proba) if val else math.nan)
        if stopper.is_best:
            stages.remember()
        saver.stage_done()
        return report.stage_done() or stop

    if stop or stopper.n_iter >= stages.n_stages:  # nothing is left to train
        stages.complete(X_train, y_train)
    else:
        try:
            stages.fit(X_train, y_train, val[0] if val else None, on_stage, weight)
            saver.save()
        except KeyboardInterrupt:
            usable = (
                stopper.n_iter if val is None else stopper.best_iteration is not None
            )
            if not (survives_interrupt and usable):
                raise
            warn(
                f"Training was interrupted after {stopper.n_iter} {stages.unit}s; "
                f"{'the best of them is' if val else 'the present weights are'} kept.",
            )
    report.finished()
    if val:
        _keep_best(classifier, stages, stopper)
    classifier.n_iter_ = stopper.n_iter


def _keep_best(classifier, stages, stopper):
    if stopper.best_iteration is None:
        raise ValueError(
            f"No stage has a valid score: all {stopper.n_iter} scores are NaN or "
            "minus infinity."
        )
    stages.keep(stopper.best_iteration)
    classifier.best_iteration_ = stopper.best_iteration
    classifier.best_score_ = stopper.best_score
    classifier.validation_scores_ = np.array(stopper.scores)
