"""Adapters of XGBoost, LightGBM and CatBoost.

Each library evaluates a custom metric on its own, incrementally updated predictions
of the validation data. The metric used here only takes these predictions down. The
labels of the validation data are not shown to the library.
"""

import inspect
import warnings
from abc import abstractmethod
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from scipy.special import expit, softmax

from sklearn_superior.early_stopping._stages import Stages


def two_columns(p):
    """Probabilities of both classes from those of the second."""
    return np.column_stack([1 - p, p]) if p.ndim == 1 else p


@contextmanager
def _set_for_now(estimator, **params):
    """Change parameters of an estimator while it is fitted."""
    before = estimator.get_params(deep=False)
    estimator.set_params(**params)
    try:
        yield
    finally:
        estimator.set_params(**{key: before.get(key) for key in params})
        for key in params.keys() - before.keys():
            _forget_param(estimator, key)


def _forget_param(estimator, key):
    """Remove a parameter that was not there before; LightGBM takes any."""
    getattr(estimator, "_other_params", {}).pop(key, None)
    vars(estimator).pop(key, None)


class _BoosterStages(Stages):
    """What XGBoost and LightGBM share: a booster that can be read and continued."""

    _booster = None

    @property
    def can_resume(self):
        """Whether nothing is drawn at random: the generators cannot be read off."""
        return not _draws_samples(self.estimator)

    @abstractmethod
    def _read(self, data):
        """Booster from the bytes that `dump` made."""

    def restore(self, models, n_done):
        try:
            self._booster = self._read(models["last"])
        except Exception as exc:
            raise ValueError(f"The checkpoint's model cannot be read: {exc}") from exc
        self.n_done = n_done

    def complete(self, X, y):
        # One stage brings all that the estimator knows besides its booster.
        with _set_for_now(self.estimator, n_estimators=1):
            self.estimator.fit(X, y)
        self.estimator._Booster = self._booster


class XGBoostStages(_BoosterStages):
    """`xgboost.XGBClassifier`."""

    encodes_labels = True

    def __init__(self, estimator):
        super().__init__(estimator)
        booster = estimator.get_params().get("booster")
        if booster in ("dart", "gblinear"):
            raise ValueError(
                f"XGBClassifier(booster={booster!r}) changes earlier stages as it "
                "trains, so no stage can be kept. Use booster='gbtree'."
            )
        if estimator.get_params().get("objective") == "multi:softmax":
            raise ValueError(
                "XGBClassifier(objective='multi:softmax') gives no probabilities. Use "
                "objective='multi:softprob'."
            )

    @property
    def n_stages(self):
        """Largest number of stages; XGBoost's default is 100."""
        n_estimators = self.estimator.n_estimators
        return 100 if n_estimators is None else n_estimators

    def fit(self, X, y, X_val, on_stage, sample_weight=None):
        from xgboost.callback import TrainingCallback

        seen = []

        def take_down(_, y_proba):
            seen[:] = [y_proba]
            return 0.0

        class AfterStage(TrainingCallback):
            def after_iteration(_, model, epoch, evals_log):
                self._booster = model
                return bool(on_stage(two_columns(seen.pop())))

        own = self.estimator.get_params().get("callbacks") or []
        params = {
            "eval_metric": take_down,
            "early_stopping_rounds": None,
            "callbacks": [*own, AfterStage()],
            "n_estimators": self.n_stages - self.n_done,
        }
        with _set_for_now(self.estimator, **params):
            self.estimator.fit(
                X,
                y,
                sample_weight=sample_weight,
                eval_set=[(X_val, _no_labels(X_val, y))],
                xgb_model=self._booster,
                verbose=False,
            )

    def keep(self, stage):
        self.estimator._Booster = self.estimator.get_booster()[: stage + 1]

    def dump(self):
        return {"last": bytes(self._booster.save_raw("ubj"))}

    def _read(self, data):
        from xgboost import Booster

        booster = Booster()
        booster.load_model(bytearray(data))
        return booster

    def staged_proba(self, X):
        from xgboost import DMatrix

        options = self.estimator.get_params()
        data = DMatrix(
            X,
            missing=options.get("missing", np.nan),
            enable_categorical=bool(options.get("enable_categorical")),
        )
        booster = self.estimator.get_booster()
        for stage in range(booster.num_boosted_rounds()):
            margin = booster.predict(
                data, output_margin=True, iteration_range=(stage, stage + 1)
            )
            yield _to_proba(margin)
            data.set_base_margin(margin)  # the next stage adds to this one


# The names under which LightGBM takes the patience of its own early stopping.
_LIGHTGBM_PATIENCE = {
    "early_stopping",
    "early_stopping_round",
    "early_stopping_rounds",
    "n_iter_no_change",
}


class LightGBMStages(_BoosterStages):
    """`lightgbm.LGBMClassifier`."""

    def __init__(self, estimator):
        super().__init__(estimator)
        if estimator.boosting_type in ("dart", "rf"):
            raise ValueError(
                f"LGBMClassifier(boosting_type={estimator.boosting_type!r}) changes "
                "the weight of earlier stages as it trains, so no stage can be kept. "
                "Use boosting_type='gbdt'."
            )

    def fit(self, X, y, X_val, on_stage, sample_weight=None):
        from lightgbm.callback import EarlyStopException

        seen = []

        def take_down(_, y_proba):
            seen[:] = [y_proba]
            return "stage", 0.0, True

        def after_stage(env):
            self._booster = env.model
            if on_stage(two_columns(seen.pop())):
                raise EarlyStopException(env.iteration, [])

        y_val = _no_labels(X_val, y)
        if "eval_X" in inspect.signature(self.estimator.fit).parameters:
            # LightGBM does not encode `eval_y`, as it does the labels of `eval_set`.
            validation = {"eval_X": X_val, "eval_y": np.zeros(len(y_val))}
        else:
            validation = {"eval_set": [(X_val, y_val)]}
        params = {"metric": "None", "n_estimators": self.n_stages - self.n_done}
        for alias in _LIGHTGBM_PATIENCE & self.estimator.get_params().keys():
            params[alias] = 0
        with _set_for_now(self.estimator, **params):
            self.estimator.fit(
                X,
                y,
                sample_weight=sample_weight,
                eval_metric=take_down,
                callbacks=[after_stage],
                init_model=self._booster,
                **validation,
            )

    def keep(self, stage):
        from lightgbm import Booster

        text = self.estimator.booster_.model_to_string(num_iteration=stage + 1)
        self.estimator._Booster = Booster(model_str=text)
        self.estimator._best_iteration = stage + 1

    def dump(self):
        return {"last": self._booster.model_to_string(num_iteration=-1).encode()}

    def _read(self, data):
        from lightgbm import Booster

        return Booster(model_str=data.decode())

    def staged_proba(self, X):
        margin = 0.0
        for stage in range(self.estimator.booster_.current_iteration()):
            margin = margin + self.estimator.predict_proba(
                X, raw_score=True, start_iteration=stage, num_iteration=1
            )
            yield _to_proba(margin)


class CatBoostStages(Stages):
    """`catboost.CatBoostClassifier`."""

    def __init__(self, estimator):
        super().__init__(estimator)
        loss = estimator.get_params().get("loss_function")
        if loss not in (None, "Logloss", "MultiClass"):
            raise ValueError(
                f"CatBoostClassifier(loss_function={loss!r}) cannot be stopped here. "
                "Use 'Logloss' or 'MultiClass'."
            )

    @property
    def n_stages(self):
        """Largest number of stages, under any of the names that CatBoost takes."""
        params = self.estimator.get_params()
        names = ("iterations", "n_estimators", "num_boost_round", "num_trees")
        return next((params[name] for name in names if params.get(name)), 1000)

    def fit(self, X, y, X_val, on_stage, sample_weight=None):
        metric, callback = _CatBoostMetric(), _CatBoostCallback()
        callback.after_stage = lambda: on_stage(_to_proba(metric.last))
        own_params = self.estimator._init_params.copy()
        # `set_params` refuses to set them back after training.
        self.estimator._init_params.update(eval_metric=metric, metric_period=1)
        for name in ("early_stopping_rounds", "od_type", "od_wait", "od_pval"):
            self.estimator._init_params.pop(name, None)
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "Failed to import numba", UserWarning)
                self.estimator.fit(
                    X,
                    y,
                    sample_weight=sample_weight,
                    eval_set=(X_val, _no_labels(X_val, y)),
                    use_best_model=False,
                    callbacks=[callback],
                    verbose=False,
                )
        finally:
            self.estimator._init_params = own_params

    def keep(self, stage):
        if stage + 1 < self.estimator.tree_count_:
            self.estimator.shrink(stage + 1)

    def dump(self):
        if not self.estimator.is_fitted():
            return None
        with TemporaryDirectory() as folder:
            path = Path(folder) / "model.cbm"
            self.estimator.save_model(str(path))
            return {"last": path.read_bytes()}


class _CatBoostMetric:
    """Takes down the scores of the validation data, which come after the training's."""

    n_calls = 0

    def __deepcopy__(self, memo):
        return self  # CatBoost copies its parameters

    def is_max_optimal(self):
        return True

    def evaluate(self, approxes, target, weight):
        self.n_calls += 1
        if self.n_calls % 2 == 0:
            columns = [np.array(column) for column in approxes]
            self.last = columns[0] if len(columns) == 1 else np.column_stack(columns)
        return 0.0, 1.0

    def get_final_error(self, error, weight):
        return error


class _CatBoostCallback:
    def after_iteration(self, info):
        return not self.after_stage()


def _to_proba(margin):
    """Probabilities of the classes from additive scores."""
    margin = np.asarray(margin)
    if margin.ndim == 1:
        return two_columns(expit(margin))
    return softmax(margin, axis=1)


def _draws_samples(estimator):
    """Whether the parameters make each stage use some rows or features only."""
    params = estimator.get_params()
    shares = [
        value
        for name, value in params.items()
        if name.startswith(("subsample", "colsample", "bagging_frac", "feature_frac"))
        and not name.startswith("subsample_f")  # LightGBM's frequency, and its binning
    ]
    others = params.get("extra_trees"), params.get("data_sample_strategy") == "goss"
    return any(share not in (None, 1) for share in shares) or any(others)


def _no_labels(X_val, y):
    """Labels for validation data that say nothing: the first class throughout."""
    n_rows = X_val.shape[0] if hasattr(X_val, "shape") else len(X_val)
    return np.full(n_rows, np.asarray(y)[0])
