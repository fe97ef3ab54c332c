"""One estimator on one split, trained stage by stage.

A training has a private copy of the estimator. It fits the steps before the last one of
a pipeline, and returns probabilities with a column for every class.
"""

from copy import copy, deepcopy
from numbers import Integral

import numpy as np
from sklearn import get_config
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import get_routing_for_object

from sklearn_superior.staged._coroutine import Coroutine
from sklearn_superior.staged._engine import FixedBudget, run
from sklearn_superior.staged._identity import identify
from sklearn_superior.staged._scoring import align_columns
from sklearn_superior.staged.adapters import find_stages
from sklearn_superior.staged.adapters.base import set_seeds
from sklearn_superior.utils._arrays import stack_rows
from sklearn_superior.utils._warnings import ignored_warnings


class Training:
    """An estimator in training: each call of `advance` trains one more stage.

    Parameters
    ----------
    estimator : estimator
        A classifier that is trained in stages, or a pipeline that ends in one. It is
        not changed.

    train : callable
        Returns the training data, `Rows`, which a step of a pipeline may change.

    seen : dict of str to callable
        What every stage predicts. Each call returns rows that a step may change. The
        parts are transformed one by one, as they are when the kept model predicts them.

    classes : ndarray
        All classes, including those of the training data.

    own_classes : ndarray, default=None
        The classes that the model knows. None: those of the training data.

    seed : int, default=None
        Seed for all random states of the copy.

    max_threads : int, default=None
        Maximum number of threads, for libraries that have their own.

    stages : Stages, default=None
        The adapter of an estimator that trains itself. It is not cloned then.

    Attributes
    ----------
    stages : Stages
        The adapter of what is trained.

    n_done : int
        Number of stages that were trained.

    own_classes : ndarray
        The classes that the model knows, after `begin`.
    """

    def __init__(
        self,
        estimator,
        train,
        seen,
        classes,
        *,
        own_classes=None,
        seed=None,
        max_threads=None,
        stages=None,
    ):
        if stages is None:
            estimator, stages = prepare_estimator(estimator, seed, max_threads)
        self.stages, self.n_stages = stages, check_n_stages(stages)
        self._whole = estimator
        self._load_train, self._load_seen = train, seen
        self.classes, self.own_classes = classes, own_classes
        self.n_done = 0
        self._train = self._X_seen = self._coroutine = None

    @property
    def is_open(self):
        """Whether there may be a further stage."""
        has_ended = self._coroutine is not None and self._coroutine.has_ended
        return not has_ended and self.n_done < self.n_stages

    def begin(self):
        """Load the data, and fit the steps before the last one of a pipeline."""
        if self._train is not None:
            return
        train = self._load_train()
        X, y, weight = train.X, train.y, train.sample_weight
        if self.own_classes is None:
            self.own_classes = np.unique(y)
        present = self.own_classes if weight is None else np.unique(y[weight > 0])
        if len(present) < 2:
            raise ValueError(
                "The training part must hold at least two classes with positive "
                f"weight. Got {present.tolist()}: choose another validation part or "
                "other weights."
            )
        parts = {name: load() for name, load in self._load_seen.items()}
        if isinstance(self._whole, Pipeline) and len(self._whole) > 1:
            before = self._whole[:-1]
            X = before.fit_transform(X, y, **_routed_to_steps(before, weight))
            self._whole.steps[:-1] = before.steps
            parts = {name: transform(before, part) for name, part in parts.items()}
        self._X_seen, self._ends = stack_rows(parts)
        self._train = X, y, _routed_weight(self.stages.estimator, weight)

    def advance(self):
        """Train one more stage.

        Returns
        -------
        parts : dict of str to ndarray, or None
            The probabilities of each part; None if training has ended by itself.
        """
        if self._coroutine is None:
            self.begin()
            self._coroutine = Coroutine(self._fitting())
        if self._coroutine.has_ended:
            return None
        y_proba = self._coroutine.resume(False)
        if self._coroutine.has_ended:
            if self.n_done == 0:
                raise ValueError("The training ended without a single stage.")
            return None
        self.n_done += 1
        if y_proba is None:  # there is nothing to predict
            return {}
        own = self.stages.column_classes
        own = self.own_classes if own is None else own
        # A copy, because the library may use its array again.
        y_proba = align_columns(np.array(y_proba), own, self.classes)
        ends = list(self._ends.values())
        return dict(zip(self._ends, np.split(y_proba, ends[:-1]), strict=True))

    def _fitting(self):
        # The function must not refer to this object: a coroutine that is dropped with
        # its training is closed only if nothing on its stack holds it.
        stages, train, X_seen = self.stages, self._train, self._X_seen
        if not stages.trains_again:
            self._train = None  # the library has what it needs

        def fit(emit):
            X, y, weight = train
            stages.fit(X, y, X_seen, emit, weight)

        return fit

    def finish(self):
        """End training after the present stage, in the library's own way."""
        if self._coroutine is not None and not self._coroutine.has_ended:
            self._coroutine.resume(self.n_done < self.n_stages)
        self.close()

    def close(self):
        """End training where it is; a remembered stage can still be kept."""
        if self._coroutine is not None:
            self._coroutine.close()

    def identify(self, scorer, val):
        """Return the identity of this training, and what of it is not stable.

        It is based on what the stages see: the data after all transformers.
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

    def restore(self, models, n_done):
        """Restore the models of a checkpoint."""
        self.stages.restore(models, n_done, *self._train)
        self.n_done = n_done

    def remember(self):
        """Store the present stage, so that it can be kept."""
        self.stages.remember()

    def keep(self, stage):
        """Cut back to a stage, or to the last one if there are fewer."""
        self.stages.keep(min(stage, self.n_done - 1))

    def estimator(self, last_step=None):
        """Return the trained estimator, which may be a whole pipeline.

        `last_step` replaces what is trained, if it is given.
        """
        last_step = self.stages.estimator if last_step is None else last_step
        if not isinstance(self._whole, Pipeline):
            return last_step
        whole = copy(self._whole)
        whole.steps = [*whole.steps[:-1], (whole.steps[-1][0], last_step)]
        return whole

    def differs(self, estimator, part, y_proba):
        """Describe how an estimator predicts a part differently; empty if equal."""
        try:
            with ignored_warnings():  # training has already shown them
                own = estimator.predict_proba(self._load_seen[part]())
            own = align_columns(own, np.asarray(estimator.classes_), self.classes)
            difference = float(np.max(np.abs(own - y_proba)))
        except Exception as exc:  # whatever a library makes of a model that was cut
            return f"fails: {exc}"
        rounding = self.stages.rounding
        if rounding is None:
            rounding = 1e-4 if y_proba.dtype == np.float32 else 1e-7
        same = difference <= rounding
        return "" if same else f"with probabilities that differ by {difference:.2g}"

    def keep_as_scored(self, stage, part, y_proba):
        """Cut back to a stage, and check that it predicts what was scored.

        Parameters
        ----------
        stage : int
            The stage, from 0.

        part : str
            What was scored.

        y_proba : ndarray
            The probabilities that were scored.
        """
        self.keep(stage)
        difference = self.differs(self.estimator(), part, y_proba)
        if difference and self.stages.trains_again:
            self.train_to(stage)
            difference = self.differs(self.estimator(), part, y_proba)
        if difference:
            raise ValueError(
                "The model to keep does not predict the validation data as "
                f"{self.stages.unit} {stage} did when it was scored, but {difference}. "
                f"{self.stages.known_causes}"
            )

    def train_to(self, stage):
        """Train from the start up to a stage and keep it; return its parts."""
        self._coroutine, self.n_done = None, 0
        result = run([self], lambda *_: 0.0, FixedBudget(stage + 1))
        self.keep(stage)
        return result.present[0]


def prepare_estimator(estimator, seed=None, max_threads=None):
    """Return a private copy of an estimator, and the adapter of its last step."""
    estimator = private_copy(estimator)
    for name, step in getattr(estimator, "steps", ()):
        if hasattr(step, "fit_resample"):  # a sampler of imbalanced-learn
            raise TypeError(
                f"The step {name!r} of the pipeline, {step!r}, resamples the rows, "
                "which is not supported. Resample before fit, and pass X_val and "
                "y_val; or use sample_weight."
            )
    is_pipeline = isinstance(estimator, Pipeline)
    stages = find_stages(estimator[-1] if is_pipeline else estimator)
    stages.max_threads = max_threads
    if seed is not None:
        set_seeds(estimator, seed)
        stages.set_seed(seed)
    return estimator, stages


def check_n_stages(stages):
    """Return the number of stages, which must be at least 1."""
    n_stages = stages.n_stages
    if not isinstance(n_stages, Integral) or n_stages < 1:
        raise ValueError(
            f"The {stages.budget_name()!r} parameter of "
            f"{type(stages.estimator).__name__} must be an int of at least 1, the "
            f"number of stages to train. Got {n_stages!r}."
        )
    return n_stages


def private_copy(estimator):
    """Clone an estimator; deepcopy it if it has parameters that cannot be cloned."""
    if isinstance(estimator, type) or not hasattr(estimator, "get_params"):
        return estimator  # `find_stages` explains what is wrong with it
    try:
        return clone(estimator)
    except RuntimeError:  # CatBoost changes some of its parameters
        return deepcopy(estimator)


def transform(steps, X):
    """Apply the fitted steps of a pipeline.

    `Pipeline.transform` would refuse steps that have nothing to fit.
    """
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
    """Return the weights, unless the estimator declines them by metadata routing."""
    if weight is None or not get_config()["enable_metadata_routing"]:
        return weight
    if not hasattr(estimator, "get_metadata_routing"):
        return weight
    request = estimator.get_metadata_routing().fit.requests.get("sample_weight")
    if isinstance(request, str) and request != "sample_weight":
        raise ValueError(
            f"{type(estimator).__name__} requests its weights under the name "
            f"{request!r}, but they are passed as 'sample_weight'. Use "
            "set_fit_request(sample_weight=True), or False to train without them."
        )
    return None if request is False else weight
