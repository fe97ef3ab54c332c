"""The run of a classifier through its stages: score, stop, save, keep the best."""

import math

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sklearn_superior.early_stopping._calibration import fit_calibration
from sklearn_superior.early_stopping._checkpoint import (
    CheckpointKeeper,
    checkpoint_path,
)
from sklearn_superior.early_stopping._progress import Progress
from sklearn_superior.early_stopping._scoring import StageScorer, check_scorer
from sklearn_superior.early_stopping._stopper import EarlyStopper
from sklearn_superior.utils._warnings import warn


def fit_in_stages(classifier, model, split, *, classes, own_classes=None):
    """Train until the score stops improving, keep the best stage, set the results.

    Parameters
    ----------
    classifier : estimator
        Its parameters define when to stop and where to write checkpoints. The
        attributes that say how training went are set on it.

    model : StagedModel
        What is trained.

    split : Split
        Training and validation data. Without the latter all stages are trained and
        the last one is kept.

    classes : ndarray
        The classes of the classifier.

    own_classes : ndarray, default=None
        The classes that the model knows. None: those of the training data.
    """
    run = _Run(classifier, model, split, classes)
    model.prepare(
        split.train, None if split.val is None else split.val.X, classes, own_classes
    )
    _check_validation_classes(split)
    run.train()
    run.finish()


class _Run:
    """The run of a classifier through its stages: score, stop, save, keep."""

    def __init__(self, classifier, model, split, classes):
        self.classifier, self.model, self.stages = classifier, model, model.stages
        self.n_stages = self.stages.n_stages
        self.train_rows, self.val = split.train, split.val
        patience = (
            self.n_stages + 1 if self.val is None else classifier.n_iter_no_change
        )
        self.stopper = EarlyStopper(n_iter_no_change=patience, tol=classifier.tol)
        self.remembered = None  # the stage that can be kept
        self.scored = {}  # the probabilities of the last stage, and of the best
        self.scorer, self.score = None, lambda y_proba: math.nan
        if self.val is not None:
            self.scorer = check_scorer(classifier.scoring)
            self.score = StageScorer(
                self.scorer,
                classes,
                self.val.X,
                self.val.y,
                self.val.sample_weight,
            )

    def train(self):
        """Train what is left to train."""
        self.keeper = self._make_keeper()
        stop = self._resume() if self.keeper and self.classifier.resume else False
        self.progress = Progress(
            self.classifier,
            self.train_rows,
            self.stages,
            self.stopper,
            self._attributes,
        )
        try:
            if not stop and self.stopper.n_iter < self.n_stages:
                self.progress.begin_stage()
                self.model.fit(self.on_stage)
                if self.keeper:
                    self.keeper.save(self.scored)
        except KeyboardInterrupt:
            self._survive_interrupt()

    def _make_keeper(self):
        """Return what keeps the checkpoint; None with a warning if none can be used."""
        classifier = self.classifier
        if classifier.checkpoint_dir is None:
            return None
        obstacle, unstable = self.stages.obstacle(), {}
        if obstacle is None:
            identity, unstable = self.model.identify(self.scorer, self.val)
        path = checkpoint_path(classifier.checkpoint_dir)
        reasons = [] if obstacle is None else [obstacle]
        reasons += [f"{name}: {reason}" for name, reason in unstable.items()]
        if reasons:
            if unstable and classifier.resume and path.exists():
                raise ValueError(
                    f"resume=True is refused: it cannot be checked that {path} belongs "
                    f"to this training. {'; '.join(reasons)}."
                )
            warn(
                "This training cannot resume, so that no checkpoint is written to "
                f"{classifier.checkpoint_dir}: {'; '.join(reasons)}."
            )
            return None
        keeper = CheckpointKeeper(
            classifier.checkpoint_dir, self.model, self.stopper, identity
        )
        if not classifier.resume and path.exists():
            warn(
                f"{path} is replaced, because resume is False. Use resume=True to "
                "resume from it, or another checkpoint_dir to keep it."
            )
        return keeper

    def _resume(self):
        """Resume from the checkpoint, if there is one; return whether to stop."""
        checkpoint, stop = self.keeper.restore()
        if checkpoint is None:
            return False
        self.scored, self.remembered = checkpoint.scored, self.stopper.best_iteration
        if self.val is not None:
            self._check_resumed()
        if self.classifier.verbose:
            n_iter, unit = self.stopper.n_iter, self.stages.unit
            print(f"resumed after {n_iter} {unit}s: {self.keeper.path}")
        return stop

    def _check_resumed(self):
        """Check that model and scorer give again what the checkpoint says."""
        last, scores = self.model.estimator(self.stages.snapshot()), self.stopper.scores
        difference = self.model.differs(last, self.val.X, self.scored["last"])
        if difference:
            raise ValueError(
                f"{self.keeper.path}: its model does not predict the validation data "
                f"as the last {self.stages.unit} did when it was scored, but "
                f"{difference}. Remove it to start anew."
            )
        for name, stage in (("last", -1), ("best", self.stopper.best_iteration)):
            if name not in self.scored:
                continue
            score = self.score(self.scored[name])
            if not np.isclose(score, scores[stage], rtol=1e-6, equal_nan=True):
                raise ValueError(
                    f"{self.keeper.path} is refused: by the present 'scoring' and "
                    f"data, the score of its {name} {self.stages.unit} is {score:.6g}, "
                    f"but it was {scores[stage]:.6g}. Remove it to start anew, or use "
                    "another checkpoint_dir."
                )

    def on_stage(self, y_proba):
        """Take the probabilities of a stage; return whether to stop."""
        stop = self.stopper.update(self.score(y_proba))
        if self.keeper and y_proba is not None:
            self.scored["last"] = y_proba.copy()  # of what the library may use again
        if self.stopper.is_best:
            self.stages.remember()
            self.scored["best"] = y_proba.copy()
            self.remembered = self.stopper.best_iteration
        stop = self.progress.stage_done() or stop
        is_last = stop or self.stopper.n_iter == self.n_stages
        if self.keeper:
            self.keeper.stage_done(self.scored, is_last=is_last)
        if not is_last:
            self.progress.begin_stage()
        return stop

    def _survive_interrupt(self):
        """Warn and continue with `finish`, or raise if there is nothing to keep."""
        n_iter, best = self.stopper.n_iter, self.stopper.best_iteration
        # The interrupt may have come after the best stage was scored and before it was
        # remembered.
        has_best = best is not None and best == self.remembered
        if not (n_iter if self.val is None else has_best):
            raise
        kept = "the present weights are" if self.val is None else "the best of them is"
        warn(
            f"Training was interrupted after {n_iter} {self.stages.unit}s; {kept} kept."
        )

    def finish(self):
        """Keep the best stage and set the results."""
        classifier, stopper = self.classifier, self.stopper
        if self.val is not None:
            if stopper.best_iteration is None:
                raise ValueError(
                    f"No stage has a valid score: all {stopper.n_iter} scores of the "
                    "'scoring' parameter are NaN or minus infinity."
                )
            self.model.keep_as_scored(
                stopper.best_iteration, self.val.X, self.scored["best"]
            )
            warn_of_scores(
                stopper.scores,
                stopper.best_iteration,
                self.n_stages,
                self.stages,
                stopper.n_iter_no_change,
            )
            classifier.scorer_ = self.scorer
            classifier.best_iteration_ = stopper.best_iteration
            classifier.best_score_ = stopper.best_score
            classifier.validation_scores_ = np.array(stopper.scores)
            fit_calibration(
                classifier,
                self.scorer,
                self.val,
                self.scored["best"],
                self.model.own_classes,
            )
        else:
            classifier.temperature_ = 1.0
        classifier.n_iter_ = stopper.n_iter
        self.progress.finished(lambda: self._attributes(self.stages.estimator))

    def _attributes(self, last_step=None):
        """Return what makes a copy of the classifier predict as a stage does.

        None if the library has no model of the present stage.
        """
        last_step = self.stages.snapshot() if last_step is None else last_step
        if last_step is None:
            return None
        estimator = self.model.estimator(last_step)
        return self.classifier._attributes_of_stage(self.model, estimator)


def warn_of_scores(scores, best, n_stages, stages, patience):
    """Warn if the scores are all equal, or the best one is near the end of the budget.

    Near means that no more than a quarter of the patience has passed since, or of the
    budget if that is smaller. Then further training usually finds a better stage.
    """
    unit = stages.unit
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


def _check_validation_classes(split):
    """Raise an error if no validation sample has a class that is trained on."""
    if split.val is not None and not np.isin(split.val.y, split.train.y).any():
        raise ValueError(
            "The validation data must have classes of the training data. Got "
            f"{np.unique(split.val.y).tolist()} and "
            f"{np.unique(split.train.y).tolist()}."
        )
