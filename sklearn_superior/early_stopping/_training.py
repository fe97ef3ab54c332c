"""The one staged training: from a copy of the estimator to the stage that is kept.

`StagedModel` is a private copy of an estimator in training. It fits what comes before
the stages in a pipeline, encodes labels, and hands over probabilities with a column
for every class. `fit_in_stages` scores them, stops, keeps checkpoints and keeps the
best stage. `EarlyStoppingClassifier` and `CNNClassifier` use both,
`compare_stopping_rules` the first alone.

This module is written to be shared by the folders of the package: what they need of
early stopping beyond its public names stands in `__all__`.
"""

import math
from copy import copy, deepcopy
from numbers import Integral

import numpy as np
from sklearn import get_config
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import get_routing_for_object

from sklearn_superior.early_stopping._calibration import (
    best_temperature,
    calibrate,
    fit_calibration,
)
from sklearn_superior.early_stopping._checkpoint import CheckpointKeeper
from sklearn_superior.early_stopping._identity import identify
from sklearn_superior.early_stopping._parameters import (
    STOPPING_CONSTRAINTS,
    check_stopping_parameters,
)
from sklearn_superior.early_stopping._progress import Progress
from sklearn_superior.early_stopping._scoring import (
    StageScorer,
    StageScorers,
    check_scorer,
    expand_classes,
)
from sklearn_superior.early_stopping._stopper import EarlyStopper
from sklearn_superior.early_stopping._validation_split import (
    Rows,
    check_target,
    split_validation,
    validation_rows,
)
from sklearn_superior.early_stopping.stages import Checkpointed, Stages, find_stages
from sklearn_superior.early_stopping.stages._base import set_seeds
from sklearn_superior.utils._warnings import warn

__all__ = [
    "STOPPING_CONSTRAINTS",
    "Checkpointed",
    "Rows",
    "StageScorer",
    "StageScorers",
    "StagedModel",
    "Stages",
    "best_temperature",
    "calibrate",
    "check_scorer",
    "check_stopping_parameters",
    "check_target",
    "expand_classes",
    "fit_calibration",
    "fit_in_stages",
    "split_validation",
    "validation_rows",
]


class StagedModel:
    """A private copy of an estimator, trained stage by stage.

    Parameters
    ----------
    estimator : estimator
        A classifier that is trained in stages, or a pipeline that ends in one. It is
        not changed.

    seed : int, default=None
        Seed for all random states of the copy.

    max_threads : int, default=None
        At most so many threads for libraries with threads of their own.

    stages : Stages, default=None
        The adapter of an estimator that calls `fit_in_stages` on itself. It is not
        cloned.
    """

    def __init__(self, estimator, *, seed=None, max_threads=None, stages=None):
        if stages is None:
            estimator = _private_copy(estimator)
            stages = find_stages(_last_step(estimator))
            stages.max_threads = max_threads
            if seed is not None:
                set_seeds(estimator, seed)
                stages.set_seed(seed)
        self.stages = stages
        self._whole = estimator
        n_stages = stages.n_stages
        if not isinstance(n_stages, Integral) or n_stages < 1:
            raise ValueError(
                f"{type(stages.estimator).__name__} must have at least one stage to "
                f"train. Got {n_stages!r}."
            )

    def prepare(self, train, X_seen, classes, own_classes=None):
        """Take the data; fit what comes before the stages in a pipeline.

        Parameters
        ----------
        train : Rows
            The training data.

        X_seen : array-like or None
            What every stage predicts.

        classes : ndarray
            All classes, those of `train` among them.

        own_classes : ndarray, default=None
            The classes that the model knows. None: those of `train`.
        """
        self.classes = classes
        self.own_classes = np.unique(train.y) if own_classes is None else own_classes
        X, y, weight = train.X, train.y, train.sample_weight
        present = self.own_classes if weight is None else np.unique(y[weight > 0])
        if len(present) < 2:
            raise ValueError(
                "The training part must hold at least two classes with positive "
                f"weight. Got {present.tolist()}: choose another validation part or "
                "other weights."
            )
        if isinstance(self._whole, Pipeline) and len(self._whole) > 1:
            before = self._whole[:-1]
            X = before.fit_transform(X, y, **_routed_to_steps(before, weight))
            X_seen = None if X_seen is None else transform(before, X_seen)
            self._whole.steps[:-1] = before.steps
        if self.stages.encodes_labels:
            y = np.searchsorted(self.own_classes, y)
        weight = _routed_weight(self.stages.estimator, weight)
        self._train, self._X_seen = (X, y, weight), X_seen

    def fit(self, on_stage):
        """Train; call `on_stage` with the probabilities of all classes."""
        X, y, weight = self._train

        def hand_over(y_proba):
            if y_proba is not None:
                y_proba = expand_classes(y_proba, self.own_classes, self.classes)
            return on_stage(y_proba)

        self.stages.fit(X, y, self._X_seen, hand_over, weight)

    def restore(self, models, n_done):
        """Take over the models of a checkpoint."""
        self.stages.restore(models, n_done, *self._train)

    def keep(self, stage):
        """Cut back to a stage."""
        self.stages.keep(stage)

    def estimator(self, last_step=None):
        """Return the trained estimator, the whole pipeline if it is one.

        `last_step` takes the place of what is trained, if it is given.
        """
        last_step = self.stages.estimator if last_step is None else last_step
        if not isinstance(self._whole, Pipeline):
            return last_step
        whole = copy(self._whole)
        whole.steps = [*whole.steps[:-1], (whole.steps[-1][0], last_step)]
        return whole

    def identify(self, scoring, data):
        """Return the identity of this training, and what of it is not stable."""
        stages, prefix = self.stages, ""
        if isinstance(self._whole, Pipeline):
            prefix = f"{self._whole.steps[-1][0]}__"
        return identify(
            self._whole,
            scoring=check_scorer(scoring),
            data=data,
            left_out={prefix + k for k in (stages.budget, *stages.without_effect)},
            initial_state=stages.initial_state(),
            packages=stages.packages,
        )


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
    run.train()
    run.finish()


class _Run:
    """The run of a classifier through its stages: score, stop, save, keep."""

    def __init__(self, classifier, model, split, classes):
        self.classifier, self.model, self.stages = classifier, model, model.stages
        self.n_stages = self.stages.n_stages
        self.train_rows, val = split.train, split.val
        self.validates = val is not None
        patience = classifier.n_iter_no_change if self.validates else self.n_stages + 1
        self.stopper = EarlyStopper(n_iter_no_change=patience, tol=classifier.tol)
        self.keeper = _make_keeper(classifier, model, self.stopper, split.inputs)
        self.score = lambda y_proba: math.nan
        if self.validates:
            self.score = StageScorer(
                classifier.scoring, classes, val.X, val.y, val.sample_weight
            )
        self.remembered = None

    def train(self):
        """Train what is left to train."""
        stop = (
            self.keeper.restore() if self.keeper and self.classifier.resume else False
        )
        self.remembered = self.stopper.best_iteration
        if self.classifier.verbose and self.stopper.n_iter:
            where = self.keeper.store.path
            print(f"resumed after {self.stopper.n_iter} {self.stages.unit}s: {where}")
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
                    self.keeper.save()
        except KeyboardInterrupt:
            self._survive_interrupt()

    def on_stage(self, y_proba):
        """Take the probabilities of a stage; return whether to stop."""
        stop = self.stopper.update(self.score(y_proba))
        if self.stopper.is_best:
            self.stages.remember()
            self.remembered = self.stopper.best_iteration
        stop = self.progress.stage_done() or stop
        is_last = stop or self.stopper.n_iter == self.n_stages
        if self.keeper:
            self.keeper.stage_done(is_last=is_last)
        if not is_last:
            self.progress.begin_stage()
        return stop

    def _survive_interrupt(self):
        """Warn and continue with `finish`, or raise if there is nothing to keep."""
        n_iter, best = self.stopper.n_iter, self.stopper.best_iteration
        # The interrupt may have come after the best stage was scored and before it was
        # remembered.
        has_best = best is not None and best == self.remembered
        if not (has_best if self.validates else n_iter):
            raise
        kept = "the best of them is" if self.validates else "the present weights are"
        warn(
            f"Training was interrupted after {n_iter} {self.stages.unit}s; {kept} kept."
        )

    def finish(self):
        """Keep the best stage and set the results."""
        classifier, stopper = self.classifier, self.stopper
        if self.validates:
            if stopper.best_iteration is None:
                raise ValueError(
                    f"No stage has a valid score: all {stopper.n_iter} scores of the "
                    "'scoring' parameter are NaN or minus infinity."
                )
            self.model.keep(stopper.best_iteration)
            classifier.best_iteration_ = stopper.best_iteration
            classifier.best_score_ = stopper.best_score
            classifier.validation_scores_ = np.array(stopper.scores)
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


def _make_keeper(classifier, model, stopper, data):
    directory, stages = classifier.checkpoint_dir, model.stages
    if directory is None:
        if classifier.resume:
            raise ValueError("resume=True needs a checkpoint_dir.")
        return None
    if not isinstance(stages, Checkpointed):
        name = type(stages.estimator).__name__
        warn(f"No checkpoint is written: the adapter of {name} does not support it.")
        return None
    keeper = CheckpointKeeper(
        model,
        stopper,
        directory,
        identify=lambda: model.identify(classifier.scoring, data),
        is_random=getattr(classifier, "random_state", None) is None,
    )
    if not classifier.resume and keeper.store.path.exists():
        warn(
            f"{keeper.store.path} is replaced, because resume is False. Use "
            "resume=True to resume from it, or another checkpoint_dir to keep it."
        )
    return keeper


def _last_step(estimator):
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def _private_copy(estimator):
    """Clone an estimator, also one of CatBoost whose parameters forbid it."""
    if isinstance(estimator, type) or not hasattr(estimator, "get_params"):
        return estimator  # not one at all, which `find_stages` says
    try:
        return clone(estimator)
    except RuntimeError:
        return deepcopy(estimator)


def transform(steps, X):
    """Apply the fitted steps of a pipeline, also those that have nothing to fit."""
    for _, step in steps.steps:
        if step is not None and step != "passthrough":
            X = step.transform(X)
    return X


def _routed_to_steps(steps, weight):
    """Return the weights as an option, if a step requests them by metadata routing."""
    if weight is None or not get_config()["enable_metadata_routing"]:
        return {}
    routing = get_routing_for_object(steps)
    wanted = routing.consumes("fit_transform", ["sample_weight"])
    return {"sample_weight": weight} if wanted else {}


def _routed_weight(estimator, weight):
    """Return the weights, unless metadata routing says that they are not wanted."""
    if weight is None or not get_config()["enable_metadata_routing"]:
        return weight
    if not hasattr(estimator, "get_metadata_routing"):
        return weight
    request = estimator.get_metadata_routing().fit.requests.get("sample_weight")
    if isinstance(request, str) and request != "sample_weight":
        raise ValueError(
            f"{type(estimator).__name__} requests its weights under the name "
            f"{request!r}, but they are handed on as 'sample_weight'. Use "
            "set_fit_request(sample_weight=True), or False to train without."
        )
    return None if request is False else weight
