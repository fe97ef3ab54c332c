"""LightGBM: its own, incrementally updated predictions, read through a metric."""

import inspect

import numpy as np
from lightgbm import Booster, EarlyStopException

from sklearn_superior.staged.adapters.base import (
    Checkpointed,
    Stages,
    check_n_stages,
    copy_with,
    hand_over_fit,
    margin_to_proba,
    stand_in_labels,
    two_columns,
)

# The names under which LightGBM accepts a parameter, from its documentation.
_BUDGET = (
    "num_iterations num_iteration n_iter num_tree num_trees num_round num_rounds "
    "nrounds num_boost_round max_iter"
).split()
_PATIENCE = (
    "early_stopping early_stopping_round early_stopping_rounds n_iter_no_change"
).split()
_BOOSTING = "boosting boosting_type boost".split()
_THREADS = "n_jobs num_threads num_thread nthread nthreads".split()
_OBJECTIVE = "objective objective_type app application loss".split()
_PROBABILITIES = (
    "binary multiclass softmax multiclassova multiclass_ova ova ovr cross_entropy "
    "xentropy"
).split()
_LINEAR = "linear_tree linear_trees".split()
# Shares of rows and features; below 1 they are sampled at random.
_SHARES = (
    "bagging_fraction sub_row subsample bagging pos_bagging_fraction pos_sub_row "
    "pos_subsample pos_bagging neg_bagging_fraction neg_sub_row neg_subsample "
    "neg_bagging feature_fraction sub_feature colsample_bytree "
    "feature_fraction_bynode sub_feature_bynode colsample_bynode"
).split()
# Switches for random sampling or for state that a model file does not hold, and files
# that are read in training, of which only the names are parameters.
_SWITCHES = (
    "extra_trees extra_tree use_quantized_grad linear_tree linear_trees "
    "cegb_penalty_split cegb_penalty_feature_lazy cegb_penalty_feature_coupled "
    "forcedsplits_filename fs forced_splits_filename forced_splits_file forced_splits "
    "forcedbins_filename"
).split()


class LightGBMStages(Checkpointed, Stages):
    """`lightgbm.LGBMClassifier`."""

    # The budget, and whatever would score or stop the iterations itself.
    without_effect = (
        *_BUDGET,
        *_PATIENCE,
        *"early_stopping_min_delta first_metric_only metric metric_types".split(),
        *"metrics verbose verbosity".split(),
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
                raise ValueError(
                    f"LGBMClassifier({name}={params[name]!r}) changes the weight of "
                    "earlier stages as it trains, so no stage can be kept. Use "
                    f"{name}='gbdt'."
                )
        for name in _OBJECTIVE:
            if params.get(name) not in (None, *_PROBABILITIES):
                raise ValueError(
                    f"LGBMClassifier({name}={params[name]!r}) gives no probabilities "
                    f"of classes. Use one of {_PROBABILITIES}."
                )
        if any(params.get(name) for name in _LINEAR):
            # LightGBM trains linear trees in another precision than it predicts them.
            self.rounding = 1e-2

    @property
    def n_stages(self):
        """Maximum number of stages, under any of its names."""
        return self.estimator.get_params()[self.budget_name()]

    def budget_name(self):
        params = self.estimator.get_params()
        names = (name for name in _BUDGET if params.get(name) is not None)
        return next(names, "n_estimators")

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
