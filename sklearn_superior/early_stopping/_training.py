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
from copy import deepcopy

import numpy as np
from sklearn import get_config
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from sklearn_superior.early_stopping._checkpoint import CheckpointKeeper
from sklearn_superior.early_stopping._identity import identify
from sklearn_superior.early_stopping._parameters import (
    STOPPING_CONSTRAINTS,
    check_stopping_parameters,
)
from sklearn_superior.early_stopping._progress import Progress
from sklearn_superior.early_stopping._scoring import (
    StageScorer,
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
from sklearn_superior.utils._warnings import warn

__all__ = [
    "STOPPING_CONSTRAINTS",
    "Checkpointed",
    "Rows",
    "StageScorer",
    "StagedModel",
    "Stages",
    "check_scorer",
    "check_stopping_parameters",
    "check_target",
    "expand_classes",
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
        The adapter of an estimator that trains itself, which is not copied.
    """

    def __init__(self, estimator, *, seed=None, max_threads=None, stages=None):
        if stages is None:
            estimator = _private_copy(estimator)
            if seed is not None:
                _set_seeds(estimator, seed)
            stages = find_stages(_last_step(estimator))
            stages.max_threads = max_threads
        self.stages = stages
        self._whole = estimator
        if stages.n_stages < 1:
            raise ValueError(
                f"{type(stages.estimator).__name__} must have at least one stage to "
                f"train. Got {stages.n_stages}."
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
        if len(self.own_classes) < 2:
            raise ValueError(
                "The training part must hold at least two classes. Got "
                f"{self.own_classes.tolist()}: choose another validation part."
            )
        X, y = train.X, train.y
        before = self._before()
        if before is not None:
            X = before.fit_transform(X, y)
            X_seen = None if X_seen is None else before.transform(X_seen)
            self._whole.steps[:-1] = before.steps
        if self.stages.encodes_labels:
            y = np.searchsorted(self.own_classes, y)
        weight = _routed_weight(self.stages.estimator, train.sample_weight)
        self._train, self._X_seen = (X, y, weight), X_seen

    def _before(self):
        """Return the pipeline before the stages; None if there is nothing."""
        is_pipeline = isinstance(self._whole, Pipeline)
        return self._whole[:-1] if is_pipeline and len(self._whole) > 1 else None

    def fit(self, on_stage):
        """Train; call `on_stage` with the probabilities of all classes."""
        X, y, weight = self._train

        def hand_over(y_proba):
            if y_proba is not None:
                y_proba = expand_classes(y_proba, self.own_classes, self.classes)
            return on_stage(y_proba)

        self.stages.fit(X, y, self._X_seen, hand_over, weight)

    def complete(self):
        """Make a restored model ready to be kept, without training."""
        self.stages.complete(*self._train)

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
        name, _ = self._whole.steps[-1]
        return Pipeline([*self._whole.steps[:-1], (name, last_step)], **self._options())

    def _options(self):
        params = self._whole.get_params(deep=False)
        return {name: value for name, value in params.items() if name != "steps"}

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
        )


def fit_in_stages(classifier, model, split, *, classes, own_classes=None):
    """Train until the score stops improving, keep the best stage, set the results.

    Parameters
    ----------
    classifier : estimator
        Its parameters tell when to stop and where to keep checkpoints. It gets the
        attributes that tell how training went.

    model : StagedModel
        What is trained.

    split : Split
        Training and validation data. Without the latter all stages are trained and
        the last one is kept.

    classes : ndarray
        The classes of the classifier.

    own_classes : ndarray, default=None
        The classes that the model knows. None: those of `train`.
    """
    train, val, stages = split.train, split.val, model.stages
    n_stages = stages.n_stages
    patience = n_stages + 1 if val is None else classifier.n_iter_no_change
    stopper = EarlyStopper(n_iter_no_change=patience, tol=classifier.tol)
    keeper = _make_keeper(classifier, model, stopper, split.inputs)
    score = None
    if val is not None:
        score = StageScorer(
            classifier.scoring, classes, val.X, val.y, val.sample_weight
        )
    model.prepare(train, None if val is None else val.X, classes, own_classes)
    stop = keeper.restore() if keeper and classifier.resume else False

    def fitted_attributes(last_step=None):
        last_step = stages.snapshot() if last_step is None else last_step
        if last_step is None:
            return None
        return classifier._attributes_of_stage(model, model.estimator(last_step))

    progress = Progress(classifier, train, stages, stopper, fitted_attributes)
    remembered = stopper.best_iteration

    def on_stage(y_proba):
        nonlocal remembered
        stop = stopper.update(math.nan if score is None else score(y_proba))
        if stopper.is_best:
            stages.remember()
            remembered = stopper.best_iteration
        stop = progress.stage_done() or stop
        if keeper:
            keeper.stage_done(is_last=stop or stopper.n_iter == n_stages)
        return stop

    try:
        if stop or stopper.n_iter >= n_stages:  # nothing is left to train
            model.complete()
        else:
            model.fit(on_stage)
        if keeper:
            keeper.save()
    except KeyboardInterrupt:
        # Between the two, the best stage may have a score but not yet be remembered.
        is_kept = remembered is not None and remembered == stopper.best_iteration
        if not (is_kept if val else stopper.n_iter):
            raise
        warn(
            f"Training was interrupted after {stopper.n_iter} {stages.unit}s; "
            f"{'the best of them is' if val else 'the present weights are'} kept.",
        )
    if val is not None:
        _keep_best(classifier, model, stopper)
    classifier.n_iter_ = stopper.n_iter
    progress.finished(lambda: fitted_attributes(stages.estimator))


def _make_keeper(classifier, model, stopper, data):
    directory, stages = classifier.checkpoint_dir, model.stages
    if directory is None:
        if classifier.resume:
            raise ValueError("resume=True needs a checkpoint_dir.")
        return None
    if not isinstance(stages, Checkpointed):
        warn(f"No checkpoint is kept: {type(stages).__name__} does not offer one.")
        return None
    return CheckpointKeeper(
        stages,
        stopper,
        directory,
        identify=lambda: model.identify(classifier.scoring, data),
    )


def _keep_best(classifier, model, stopper):
    if stopper.best_iteration is None:
        raise ValueError(
            f"No stage has a valid score: all {stopper.n_iter} scores are NaN or "
            "minus infinity."
        )
    model.keep(stopper.best_iteration)
    classifier.best_iteration_ = stopper.best_iteration
    classifier.best_score_ = stopper.best_score
    classifier.validation_scores_ = np.array(stopper.scores)


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


def _set_seeds(estimator, seed):
    names = [
        name
        for name in estimator.get_params()
        if name == "random_state" or name.endswith("__random_state")
    ]
    estimator.set_params(**dict.fromkeys(names, seed))


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
