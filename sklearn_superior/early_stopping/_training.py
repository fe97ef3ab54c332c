"""The one staged training: from a copy of the estimator to the stage that is kept.

`StagedModel` is a private copy of an estimator in training. It fits what comes before
the stages in a pipeline, encodes labels, and hands over probabilities with a column
for every class. `fit_in_stages` (in ``_run.py``) scores them, stops, keeps checkpoints
and keeps the best stage. `EarlyStoppingClassifier` and `CNNClassifier` use both,
`compare_stopping_rules` and `StagedSearchCV` the first alone.

This module is written to be shared by the folders of the package: what they need of
early stopping beyond its public names stands in `__all__`.
"""

import warnings
from contextlib import contextmanager
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
    calibrates,
    temperature_options,
)
from sklearn_superior.early_stopping._identity import (
    NoStableIdentityError,
    differences,
    digest_of,
    identify,
    stable_text,
)
from sklearn_superior.early_stopping._lockstep import run_in_step
from sklearn_superior.early_stopping._parameters import (
    STOPPING_CONSTRAINTS,
    check_stopping_parameters,
    names_validation_data,
)
from sklearn_superior.early_stopping._run import fit_in_stages, warn_of_scores
from sklearn_superior.early_stopping._scoring import (
    DEFAULT_SCORING,
    StageScorer,
    StageScorers,
    align_columns,
    check_scorer,
)
from sklearn_superior.early_stopping._validation_split import (
    split_validation,
    validation_rows,
)
from sklearn_superior.early_stopping.stages import find_stages
from sklearn_superior.early_stopping.stages._base import set_seeds

__all__ = [
    "DEFAULT_SCORING",
    "STOPPING_CONSTRAINTS",
    "NoStableIdentityError",
    "StageScorer",
    "StageScorers",
    "StagedModel",
    "best_temperature",
    "calibrate",
    "calibrates",
    "check_scorer",
    "check_stopping_parameters",
    "align_columns",
    "all_or_nothing",
    "differences",
    "digest_of",
    "fit_in_stages",
    "identify",
    "names_validation_data",
    "private_copy",
    "run_in_step",
    "split_validation",
    "stable_text",
    "temperature_options",
    "validation_rows",
    "warn_of_scores",
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
            estimator = private_copy(estimator)
            _check_no_samplers(estimator)
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
                own = self.stages.column_classes
                own = self.own_classes if own is None else own
                y_proba = align_columns(y_proba, own, self.classes)
            return on_stage(y_proba)

        self.stages.fit(X, y, self._X_seen, hand_over, weight)

    def train_to(self, stage):
        """Train the stages up to one, and keep it; return its probabilities."""
        left, last = iter(range(stage, -1, -1)), None

        def on_stage(y_proba):
            nonlocal last
            last, stop = y_proba.copy(), next(left) == 0
            if stop:
                self.stages.remember()
            return stop

        self.fit(on_stage)
        self.keep(stage)
        return last

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

    def columns_of(self, estimator):
        """Return the classes of the columns of an estimator's probabilities."""
        classes = np.asarray(estimator.classes_)
        return self.own_classes[classes] if self.stages.encodes_labels else classes

    def differs(self, estimator, X, y_proba):
        """Say how an estimator predicts otherwise; empty if it does not."""
        try:
            with warnings.catch_warnings():  # those of training were shown
                warnings.simplefilter("ignore")
                own = estimator.predict_proba(X)
            own = align_columns(own, self.columns_of(estimator), self.classes)
            difference = float(np.max(np.abs(own - y_proba)))
        except Exception as exc:  # whatever a library makes of a model that is cut
            return f"fails: {exc}"
        rounding = self.stages.rounding
        if rounding is None:
            rounding = 1e-4 if y_proba.dtype == np.float32 else 1e-7
        same = difference <= rounding
        return "" if same else f"with probabilities that differ by {difference:.2g}"

    def keep_as_scored(self, stage, X, y_proba):
        """Cut back to a stage, and check that it is what was scored.

        Parameters
        ----------
        stage : int
            The stage, from 0.

        X : array-like
            What every stage has predicted.

        y_proba : ndarray
            The probabilities that were scored.
        """
        self.keep(stage)
        difference = self.differs(self.estimator(), X, y_proba)
        if difference and self.stages.trains_again:
            self.train_to(stage)
            difference = self.differs(self.estimator(), X, y_proba)
        if difference:
            raise ValueError(
                "The model that would be kept does not predict the validation data as "
                f"{self.stages.unit} {stage} did when it was scored, but {difference}. "
                f"{self.stages.known_causes}"
            )

    def identify(self, scorer, val):
        """Return the identity of this training, and what of it is not stable.

        It is made of what the stages see: the data behind all transformers.
        """
        X, y, weight = self._train
        data = {"training data": X, "training labels": y, "training weights": weight}
        if val is not None:
            data |= {
                "validation data": self._X_seen,
                "validation labels": val.y,
                "validation weights": val.sample_weight,
            }
        stages = self.stages
        data["initial weights"] = np.frombuffer(stages.initial_state(), np.uint8)
        return identify(
            stages.estimator,
            scorer=scorer,
            data=data,
            left_out=(stages.budget, *stages.without_effect),
            packages=stages.packages,
        )


@contextmanager
def all_or_nothing(classifier):
    """Leave a classifier as it was before, if the fit in this context fails."""
    before = dict(vars(classifier))
    for name in ("estimator_", "temperature_"):
        vars(classifier).pop(name, None)
    try:
        yield
    except BaseException:
        vars(classifier).clear()
        vars(classifier).update(before)
        raise


def _last_step(estimator):
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def _check_no_samplers(estimator):
    """Refuse steps of imbalanced-learn, which change the rows that are trained on."""
    for name, step in getattr(estimator, "steps", ()):
        if hasattr(step, "fit_resample"):
            raise TypeError(
                f"The step {name!r} of the pipeline, {step!r}, resamples the rows, "
                "which is not supported. Resample before fit, and pass X_val and "
                "y_val; or use sample_weight."
            )


def private_copy(estimator):
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
