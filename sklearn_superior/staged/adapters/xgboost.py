"""XGBoost: predictions of the validation data that grow by a round at a time."""

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from sklearn_superior.staged.adapters.base import (
    Checkpointed,
    Stages,
    check_n_stages,
    copy_with,
    hand_over_fit,
    margin_to_proba,
    two_columns,
)

_PROBABILITIES = ("binary:logistic", "multi:softprob", "reg:logistic")


class XGBoostStages(Checkpointed, Stages):
    """`xgboost.XGBClassifier`."""

    encodes_labels = True
    # What would judge the stages by itself has no effect here.
    without_effect = ("callbacks", "early_stopping_rounds", "eval_metric", "verbosity")
    known_causes = (
        "Of XGBoost's parameters, booster='dart' and process_type='update' change "
        "earlier trees."
    )
    _booster = None  # what is trained

    def __init__(self, estimator):
        super().__init__(estimator)
        if any(base.__name__ == "XGBRFClassifier" for base in type(estimator).__mro__):
            raise TypeError(
                "XGBRFClassifier grows all its trees at once, so that it has no "
                "stages. Use XGBClassifier(num_parallel_tree=...) for several trees a "
                "stage."
            )
        params = estimator.get_params()
        if params.get("booster") in ("dart", "gblinear"):
            raise ValueError(
                f"XGBClassifier(booster={params['booster']!r}) changes earlier stages "
                "as it trains, so no stage can be kept. Use booster='gbtree'."
            )
        objective = params.get("objective")
        if objective not in (None, *_PROBABILITIES):
            raise ValueError(
                f"XGBClassifier(objective={objective!r}) gives no probabilities of "
                "classes. Use objective='multi:softprob', or 'binary:logistic' for two "
                "classes."
            )

    @property
    def n_stages(self):
        """Largest number of stages; XGBoost's default is 100."""
        n_estimators = self.estimator.n_estimators
        return 100 if n_estimators is None else n_estimators

    def _own_callbacks(self):
        """Return those of the user's callbacks that do not judge the stages."""
        from xgboost.callback import EarlyStopping, EvaluationMonitor

        own = self.estimator.get_params().get("callbacks") or []
        judges = (EarlyStopping, EvaluationMonitor)
        return [callback for callback in own if not isinstance(callback, judges)]

    def fit(self, X, y, X_val, on_stage, sample_weight=None):
        from xgboost.callback import TrainingCallback

        own = self._own_callbacks()

        class AfterStage(TrainingCallback):
            """Calls those of the user, too: a stop by one must not hide the stage."""

            data = None

            def before_training(callback, model):
                for other in own:
                    model = other.before_training(model)
                return model

            def after_training(callback, model):
                for other in own:
                    model = other.after_training(model)
                return model

            def before_iteration(callback, model, epoch, evals_log):
                stops = [o.before_iteration(model, epoch, evals_log) for o in own]
                return any(stops)

            def after_iteration(callback, model, epoch, evals_log):
                if callback.data is None:
                    callback.data = self._to_matrix(X_val, model)
                self._booster = model
                stops = [o.after_iteration(model, epoch, evals_log) for o in own]
                # XGBoost remembers what it has predicted: this adds the last round.
                return bool(
                    on_stage(two_columns(model.predict(callback.data))) or any(stops)
                )

        model = copy_with(
            self.estimator,
            callbacks=[AfterStage()],
            early_stopping_rounds=None,
            eval_metric=None,
            n_estimators=self.n_stages - self.n_done,
            n_jobs=self.limit_threads(self.estimator.get_params().get("n_jobs")),
        )
        model.fit(
            X, y, sample_weight=sample_weight, xgb_model=self._booster, verbose=False
        )

    def _to_matrix(self, X, booster):
        """Return data as a booster predicts it, with its numbers of the categories."""
        from xgboost import DMatrix

        params = self.estimator.get_params()
        types = params.get("feature_types")
        if params.get("enable_categorical") and hasattr(booster, "get_categories"):
            categories = booster.get_categories()
            types = types if categories.empty() else categories
        return DMatrix(
            X,
            missing=params.get("missing", np.nan),
            enable_categorical=bool(params.get("enable_categorical")),
            feature_types=types,
            nthread=self.limit_threads(params.get("n_jobs")),
        )

    def keep(self, stage):
        hand_over_fit(self._load(stage + 1), self.estimator)

    def snapshot(self):
        # A booster that is loaded draws from the generator of its thread, which is also
        # that of the training: another thread has its own.
        with ThreadPoolExecutor(1) as other:
            n_kept = self._booster.num_boosted_rounds()
            return other.submit(self._load, n_kept).result()

    def _load(self, n_kept):
        """Return a fitted copy with the first rounds of the booster."""
        model = copy_with(self.estimator)
        model.load_model(_first_rounds(self._booster, n_kept))
        device = self.estimator.get_params().get("device")
        if device is not None:  # which is not part of a saved model
            model.get_booster().set_param({"device": device})
        return model

    def _sampling(self):
        """Return the parameters that make XGBoost draw from its random numbers."""
        return {
            name: value
            for name, value in self.estimator.get_params().items()
            if name.startswith(("subsample", "colsample")) and value not in (None, 1)
        }

    @property
    def needs_own_thread(self):
        """Whether random numbers are drawn, of which XGBoost has one per thread."""
        return bool(self._sampling())

    def obstacle(self):
        for name, value in self._sampling().items():
            return (
                f"XGBClassifier({name}={value!r}) draws at random, and XGBoost "
                "does not show the state of its random numbers"
            )
        if self._own_callbacks():
            return "callbacks of XGBClassifier count the rounds of one training"
        return None

    def dump(self):
        return {"last": bytes(self._booster.save_raw("json"))}

    def restore(self, models, n_done, X, y, sample_weight=None):
        from xgboost import Booster

        self._booster = Booster()
        self._booster.load_model(bytearray(models["last"]))
        check_n_stages(self._booster.num_boosted_rounds(), n_done)
        self.n_done = n_done

    def staged_proba(self, X):
        booster = self.estimator.get_booster()
        data = self._to_matrix(X, booster)
        for stage in range(booster.num_boosted_rounds()):
            margin = booster.predict(
                data, output_margin=True, iteration_range=(stage, stage + 1)
            )
            yield margin_to_proba(margin)
            data.set_base_margin(margin)  # the next stage adds to this one


def _first_rounds(booster, n_rounds):
    """Return the first rounds of a booster as its library saves them.

    A slice of a booster has lost the categories of the features: they are put back.
    """
    if n_rounds == booster.num_boosted_rounds():
        return booster.save_raw()
    part = booster[:n_rounds]
    if "c" not in (booster.feature_types or ()):
        return part.save_raw()
    whole, part = (json.loads(b.save_raw("json")) for b in (booster, part))
    models = [b["learner"]["gradient_booster"]["model"] for b in (whole, part)]
    if "cats" in models[0]:
        models[1]["cats"] = models[0]["cats"]
    return bytearray(json.dumps(part).encode())
