"""LightGBM: its own, incrementally updated predictions, read through a metric."""

import inspect

import numpy as np
from lightgbm import Booster, EarlyStopException
from lightgbm.basic import _ConfigAliases

from sklearn_superior.staged.adapters.base import (
    Checkpointed,
    Stages,
    check_n_stages,
    copy_with,
    hand_over_fit,
    margin_to_proba,
    refuse,
    stand_in_labels,
    two_columns,
)


def _aliases(*names):
    """Return all names under which LightGBM accepts parameters."""
    return sorted(_ConfigAliases.get(*names))


_BUDGET = _aliases("num_iterations")
_PATIENCE = _aliases("early_stopping_round")
_BOOSTING = _aliases("boosting")
_THREADS = _aliases("num_threads")
_OBJECTIVE = _aliases("objective")
_PROBABILITIES = (
    "binary multiclass softmax multiclassova multiclass_ova ova ovr cross_entropy "
    "xentropy"
).split()
_LINEAR = _aliases("linear_tree")
# Shares of rows and features; below 1 they are sampled at random.
_SHARES = _aliases(
    *(f"{prefix}bagging_fraction" for prefix in ("", "pos_", "neg_")),
    *(f"feature_fraction{suffix}" for suffix in ("", "_bynode")),
)
# Switches for random sampling or for state that a model file does not hold, and files
# that are read in training, of which only the names are parameters.
_SWITCHES = _aliases(
    *"extra_trees use_quantized_grad linear_tree cegb_penalty_split".split(),
    *"cegb_penalty_feature_lazy cegb_penalty_feature_coupled".split(),
    *"forcedsplits_filename forcedbins_filename".split(),
)


class LightGBMStages(Checkpointed, Stages):
    """`lightgbm.LGBMClassifier`."""

    # The budget, and whatever would score or stop the iterations itself.
    without_effect = (
        *_BUDGET,
        *_PATIENCE,
        *_aliases("early_stopping_min_delta", "first_metric_only"),
        *_aliases("metric", "verbosity"),
    )
    known_causes = (
        "Of LightGBM's parameters, boosting_type='dart' and 'rf' change earlier trees."
    )
    _booster = None  # what is trained
    _model = None  # the estimator that it is trained in
    _best = None

    def __init__(self, estimator):
        super().__init__(estimator)
        params = estimator.get_params()
        for name in _BOOSTING:
            if params.get(name) in ("dart", "rf", "random_forest"):
                problem = "changes earlier stages as it trains, so no stage can be kept"
                refuse(estimator, name, problem, f"{name}='gbdt'")
        for name in _OBJECTIVE:
            if params.get(name) not in (None, *_PROBABILITIES):
                problem = "gives no probabilities of classes"
                refuse(estimator, name, problem, f"one of {_PROBABILITIES}")
        if any(params.get(name) for name in _LINEAR):
            # LightGBM trains linear trees in another precision than it predicts them.
            self.rounding = 1e-2

    @property
    def n_stages(self):
        """Maximum number of stages, under any of its names."""
        return self.estimator.get_params()[self.budget_name()]

    def budget_name(self):
        params = self.estimator.get_params()
        # An alias takes precedence over the parameter with a default.
        names = [name for name in _BUDGET if params.get(name) is not None]
        return next((name for name in names if name != "n_estimators"), "n_estimators")

    def fit(self, X, y, X_val, on_stage, sample_weight=None):
        latest, n_trained, n_stages = [], self.n_done, self.n_stages

        def read_predictions(_, y_proba):
            latest[:] = [y_proba]
            return []

        def after_stage(env):
            nonlocal n_trained
            self._booster = env.model
            self._n_trained = n_trained = n_trained + 1
            stop = on_stage(two_columns(latest.pop()))
            if stop or n_trained == n_stages:
                # LightGBM then cuts the model back to the best iteration itself.
                best = n_trained - 1 if self._best is None else self._best
                raise EarlyStopException(best, [])

        self._data = (X, y, sample_weight)
        X_val = np.asarray(X_val) if isinstance(X_val, list) else X_val
        y_val = stand_in_labels(X_val, y)
        if "eval_X" in inspect.signature(self.estimator.fit).parameters:
            # LightGBM encodes the labels in `eval_set`, but not `eval_y`.
            validation = {"eval_X": X_val, "eval_y": np.zeros(len(y_val))}
        else:
            validation = {"eval_set": [(X_val, y_val)]}
        self._model = self._fit_copy(
            init_model=self._booster,
            eval_metric=read_predictions,
            callbacks=[after_stage],
            **validation,
        )

    def _fit_copy(self, **options):
        """Fit a copy that neither scores nor stops itself.

        Returns a fitted estimator with the user's parameters.
        """
        params = self.estimator.get_params()
        changed = {"metric": "None"}
        changed |= {name: 0 for name in _PATIENCE if name in params}
        for name in _THREADS if self.max_threads is not None else ():
            if name in params:
                changed[name] = self.limit_threads(params[name])
        model = copy_with(self.estimator, **changed)
        before = dict(vars(model))
        X, y, sample_weight = self._data
        model.fit(X, y, sample_weight=sample_weight, **options)
        return hand_over_fit(model, copy_with(self.estimator), before)

    def remember(self):
        self._best = self._n_trained - 1

    def keep(self, stage):
        if self._model is None or self._model.booster_.best_iteration != stage + 1:
            self._model = self._wrap(stage + 1)
        self.estimator = self._model

    def snapshot(self):
        return self._wrap(self._n_trained)

    def _wrap(self, n_kept):
        """Return an estimator of the first stages, even if its fit was interrupted."""

        def cut_off(env):
            raise EarlyStopException(n_kept - 1, [])

        # The only public way from a booster to an estimator is to fit one that starts
        # from the booster. That adds a stage, which is cut off again.
        text = self._booster.model_to_string(num_iteration=n_kept)
        return self._fit_copy(init_model=Booster(model_str=text), callbacks=[cut_off])

    def obstacle(self):
        params = self.estimator.get_params()
        names = [k for k in _SHARES if params.get(k) not in (None, 1)]
        names += [k for k in _SWITCHES if params.get(k)]
        goss = (*_BOOSTING, "data_sample_strategy")
        names += [k for k in goss if params.get(k) == "goss"]
        if not names:
            return None
        return (
            f"LGBMClassifier({names[0]}={params[names[0]]!r}) uses random sampling, or "
            "information that is neither in a model file nor in the parameters"
        )

    def dump(self):
        return {"last": self._booster.model_to_string(num_iteration=-1).encode()}

    def restore(self, models, n_done, X, y, sample_weight=None):
        self._booster = Booster(model_str=models["last"].decode())
        # A booster with nothing left to learn adds no trees in its last stages.
        check_n_stages(max(self._booster.current_iteration(), n_done), n_done)
        self._data = (X, y, sample_weight)
        self.n_done = self._n_trained = n_done

    def staged_proba(self, X):
        model = self.estimator
        n_stages = model.booster_.current_iteration()
        params = model.get_params()
        if model.objective_ not in ("binary", "multiclass") or params.get("sigmoid"):
            # Other links are not known here, so predict each stage from the first tree.
            for stage in range(n_stages):
                yield model.predict_proba(X, num_iteration=stage + 1)
            return
        margin = 0.0
        for stage in range(n_stages):
            margin = margin + model.predict_proba(
                X, raw_score=True, start_iteration=stage, num_iteration=1
            )
            yield margin_to_proba(margin)
