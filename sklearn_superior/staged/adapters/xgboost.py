"""XGBoost: predictions of the validation data that grow by one round at a time."""

import json
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from functools import wraps

import numpy as np
import xgboost
from sklearn.base import clone
from xgboost.callback import EarlyStopping, EvaluationMonitor, TrainingCallback

from sklearn_superior.staged.adapters.base import (
    Checkpointed,
    Stages,
    check_n_stages,
    copy_with,
    hand_over_fit,
    margin_to_proba,
    refuse,
    two_columns,
)

_PROBABILITIES = ("binary:logistic", "multi:softprob", "reg:logistic")
# Since then, the configuration of a booster has the state of its random numbers.
_SAVES_RANDOM_STATE = tuple(map(int, xgboost.__version__.split(".")[:2])) >= (3, 3)


class XGBoostStages(Checkpointed, Stages):
    """`xgboost.XGBClassifier`."""

    # Whatever would score or stop the rounds itself has no effect here.
    without_effect = ("callbacks", "early_stopping_rounds", "eval_metric", "verbosity")
    known_causes = (
        "Of XGBoost's parameters, booster='dart' and process_type='update' change "
        "earlier trees."
    )
    _booster = None  # what is trained

    def __init__(self, estimator):
        super().__init__(estimator)
        if isinstance(estimator, xgboost.XGBRFClassifier):
            raise TypeError(
                "XGBRFClassifier grows all its trees at once, so it has no stages. Use "
                "XGBClassifier(num_parallel_tree=...) for several trees per stage."
            )
        params = estimator.get_params()
        if params.get("booster") in ("dart", "gblinear"):
            problem = "changes earlier stages as it trains, so no stage can be kept"
            refuse(estimator, "booster", problem, "booster='gbtree'")
        if params.get("objective") not in (None, *_PROBABILITIES):
            problem = "gives no probabilities of classes"
            refuse(estimator, "objective", problem, f"one of {_PROBABILITIES}")

    @property
    def n_stages(self):
        """Maximum number of stages; XGBoost's default is 100."""
        n_estimators = self.estimator.n_estimators
        return 100 if n_estimators is None else n_estimators

    def _own_callbacks(self):
        """Return the user's callbacks, except those that score or stop the rounds."""
        own = self.estimator.get_params().get("callbacks") or []
        judges = (EarlyStopping, EvaluationMonitor)
        return [callback for callback in own if not isinstance(callback, judges)]

    def fit(self, X, y, X_val, on_stage, sample_weight=None):
        # XGBoost only takes the labels 0, 1, …
        self._labels, codes = np.unique(y, return_inverse=True)
        _with_labels(self.estimator, self._labels)  # raise an error now, not at the end
        own = self._own_callbacks()
        model = copy_with(
            self.estimator,
            callbacks=[_AfterRound(self, X_val, on_stage, own)],
            early_stopping_rounds=None,
            eval_metric=None,
            n_estimators=self.n_stages - self.n_done,
            n_jobs=self.limit_threads(self.estimator.get_params().get("n_jobs")),
        )
        weights = {"sample_weight": sample_weight}
        model.fit(X, codes, xgb_model=self._booster, verbose=False, **weights)

    def _to_matrix(self, X, booster):
        """Return data as a booster predicts it, with its encoding of the categories."""
        params = self.estimator.get_params()
        types = params.get("feature_types")
        if params.get("enable_categorical"):
            categories = booster.get_categories()
            types = types if categories.empty() else categories
        return xgboost.DMatrix(
            X,
            missing=params.get("missing", np.nan),
            enable_categorical=bool(params.get("enable_categorical")),
            feature_types=types,
            nthread=self.limit_threads(params.get("n_jobs")),
        )

    def keep(self, stage):
        # The user's callbacks belong to this very estimator, with what they recorded.
        hand_over_fit(self._load(stage + 1), self.estimator)
        self.estimator = _with_labels(self.estimator, self._labels)

    def snapshot(self):
        # Loading a booster draws from the random number generator of its thread, which
        # the training uses as well: another thread has its own.
        with ThreadPoolExecutor(1) as other:
            n_kept = self._booster.num_boosted_rounds()
            model = other.submit(self._load, n_kept).result()
        return _with_labels(model, self._labels)

    def _load(self, n_kept):
        """Return a fitted copy with the first rounds of the booster."""
        model = copy_with(self.estimator)
        model.load_model(_first_rounds(self._booster, n_kept))
        device = self.estimator.get_params().get("device")
        if device is not None:  # a saved model does not include it
            model.get_booster().set_param({"device": device})
        return model

    def _sampling(self):
        """Return the parameters that make XGBoost sample at random."""
        return {
            name: value
            for name, value in self.estimator.get_params().items()
            if name.startswith(("subsample", "colsample")) and value not in (None, 1)
        }

    @property
    def needs_own_thread(self):
        """Whether it samples: XGBoost has one random number generator per thread."""
        return bool(self._sampling())

    def obstacle(self):
        for name, value in self._sampling().items():
            sampling = f"XGBClassifier({name}={value!r}) uses random sampling, and "
            if not _SAVES_RANDOM_STATE:
                return f"{sampling}XGBoost before 3.3 does not expose its RNG state"
            if self.estimator.get_params().get("seed_per_iteration"):
                return f"{sampling}seed_per_iteration=True repeats its first samples"
        if self._own_callbacks():
            return "callbacks of XGBClassifier count the rounds of one training"
        return None

    def dump(self):
        models = {"last": bytes(self._booster.save_raw("json"))}
        if _SAVES_RANDOM_STATE:
            models["config"] = self._booster.save_config().encode()
        return models

    def restore(self, models, n_done, X, y, sample_weight=None):
        self._booster = xgboost.Booster()
        self._booster.load_model(bytearray(models["last"]))
        if "config" in models:
            self._booster.load_config(models["config"].decode())
        check_n_stages(self._booster.num_boosted_rounds(), n_done)
        self.n_done, self._labels = n_done, np.unique(y)

    def staged_proba(self, X):
        booster = self.estimator.get_booster()
        data = self._to_matrix(X, booster)
        for stage in range(booster.num_boosted_rounds()):
            margin = booster.predict(
                data, output_margin=True, iteration_range=(stage, stage + 1)
            )
            yield margin_to_proba(margin)
            data.set_base_margin(margin)  # the next stage adds to this one


class _AfterRound(TrainingCallback):
    """Reports each round, and calls the user's callbacks.

    It is the only one that XGBoost knows: older versions call callbacks in any order,
    and none after one that stops, which could hide a round.
    """

    def __init__(self, stages, X_val, on_stage, own):
        super().__init__()
        self.stages, self.X_val, self.on_stage = stages, X_val, on_stage
        self.own, self.data = own, None

    def before_training(self, model):
        for callback in self.own:
            model = callback.before_training(model)
        return model

    def after_training(self, model):
        for callback in self.own:
            model = callback.after_training(model)
        return model

    def before_iteration(self, *args):
        return any([callback.before_iteration(*args) for callback in self.own])

    def after_iteration(self, model, *args):
        if self.data is None:
            self.data = self.stages._to_matrix(self.X_val, model)
        self.stages._booster = model
        stops = [callback.after_iteration(model, *args) for callback in self.own]
        # XGBoost caches the predictions of this matrix: only the new round is added.
        stops.append(self.on_stage(two_columns(model.predict(self.data))))
        return any(stops)


def _first_rounds(booster, n_rounds):
    """Return the first rounds of a booster in XGBoost's own format."""
    if n_rounds == booster.num_boosted_rounds():
        return booster.save_raw()
    part = booster[:n_rounds]
    if "c" not in (booster.feature_types or ()):
        return part.save_raw()
    # Slicing loses the categories of the features: put them back.
    whole, part = (json.loads(b.save_raw("json")) for b in (booster, part))
    models = [b["learner"]["gradient_booster"]["model"] for b in (whole, part)]
    if "cats" in models[0]:
        models[1]["cats"] = models[0]["cats"]
    return bytearray(json.dumps(part).encode())


class XGBClassifier(xgboost.XGBClassifier):
    """A model that was trained on 0, 1, … and predicts the labels of the user.

    It remains an `xgboost.XGBClassifier`, under the same name, so that tools for
    XGBoost's models accept it. Its clone is a plain one, and so is it after `fit`.
    """

    _labels = None

    @property
    def classes_(self):
        return super().classes_ if self._labels is None else self._labels

    @wraps(xgboost.XGBClassifier.fit)  # metadata routing reads the signature
    def fit(self, *args, **options):
        self._labels = None  # those of the last training
        return super().fit(*args, **options)

    def predict(self, X, **options):
        predicted = super().predict(X, **options)
        is_plain = self._labels is None or options.get("output_margin")
        return predicted if is_plain else self._labels[predicted]

    def __sklearn_clone__(self):  # noqa: D105
        plain = copy(self)
        plain.__class__ = xgboost.XGBClassifier
        return clone(plain)


def _with_labels(model, labels):
    if labels.dtype.kind in "iu" and np.array_equal(labels, np.arange(len(labels))):
        return model
    if type(model) not in (xgboost.XGBClassifier, XGBClassifier):
        raise TypeError(
            f"{type(model).__name__}, a subclass of XGBClassifier, must be trained on "
            "the labels 0, 1, …, for example those of LabelEncoder. Got "
            f"{labels.tolist()[:5]}."
        )
    model = copy(model)
    model.__class__ = XGBClassifier
    model._labels = labels
    return model
