"""LightGBM: its own, incrementally updated predictions, read by a metric."""

import inspect

import numpy as np

from sklearn_superior.early_stopping.stages._base import (
    Checkpointed,
    Stages,
    check_restored,
    copy_with,
    hand_over_fit,
    margin_to_proba,
    stand_in_labels,
    two_columns,
)

# Names under which LightGBM takes a parameter, from its documentation.
_BUDGET = (
    "num_iterations num_iteration n_iter num_tree num_trees num_round num_rounds "
    "nrounds num_boost_round max_iter"
).split()
_PATIENCE = (
    "early_stopping early_stopping_round early_stopping_rounds n_iter_no_change"
).split()
_BOOSTING = "boosting boosting_type boost".split()
_THREADS = "n_jobs num_threads num_thread nthread nthreads".split()
# Shares of rows and features; anything below 1 draws at random.
_SHARES = (
    "bagging_fraction sub_row subsample bagging "
    "pos_bagging_fraction pos_sub_row pos_subsample pos_bagging "
    "neg_bagging_fraction neg_sub_row neg_subsample neg_bagging "
    "feature_fraction sub_feature colsample_bytree "
    "feature_fraction_bynode sub_feature_bynode colsample_bynode"
).split()
# What draws at random, or remembers what a model file does not hold, if it is set.
_SWITCHES = (
    "extra_trees extra_tree use_quantized_grad linear_tree linear_trees "
    "cegb_penalty_split cegb_penalty_feature_lazy cegb_penalty_feature_coupled"
).split()


class LightGBMStages(Checkpointed, Stages):
    """`lightgbm.LGBMClassifier`."""

    # The names of the budget, and what would judge the stages by itself.
    without_effect = (
        *_BUDGET,
        *_PATIENCE,
        "early_stopping_min_delta",
        "first_metric_only",
        "metric",
        "metric_types",
        "metrics",
        "verbose",
        "verbosity",
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
        if callable(params.get("objective")):
            raise ValueError(
                "LGBMClassifier(objective=<callable>) gives no probabilities. Use an "
                "objective of LightGBM."
            )

    @property
    def n_stages(self):
        """Largest number of stages, under any of its names."""
        params = self.estimator.get_params()
        names = (*_BUDGET, "n_estimators")
        return next(params[name] for name in names if params.get(name) is not None)

    def fit(self, X, y, X_val, on_stage, sample_weight=None):
        from lightgbm import EarlyStopException

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
                # LightGBM itself cuts the model back to the best iteration.
                best = n_trained - 1 if self._best is None else self._best
                raise EarlyStopException(best, [])

        self._data = (X, y, sample_weight)
        X_val = np.asarray(X_val) if isinstance(X_val, list) else X_val
        y_val = stand_in_labels(X_val, y)
        if "eval_X" in inspect.signature(self.estimator.fit).parameters:
            # LightGBM does not encode `eval_y`, as it does the labels of `eval_set`.
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
        """Fit a copy that neither scores nor stops by itself; return what came of it.

        The result has the parameters of the user.
        """
        params = self.estimator.get_params()
        changed = {"metric": "None"}
        changed |= {name: 0 for name in _PATIENCE if name in params}
        if self.max_threads is not None:
            changed |= {
                name: self.limit_threads(params[name])
                for name in _THREADS
                if name in params
            }
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
        """Return an estimator of the first stages, whatever became of its fit.

        No public way leads from a booster to an estimator but to fit one that starts
        from it. A stage is added, and cut off again.
        """
        from lightgbm import Booster, EarlyStopException

        def cut_off(env):
            raise EarlyStopException(n_kept - 1, [])

        text = self._booster.model_to_string(num_iteration=n_kept)
        return self._fit_copy(init_model=Booster(model_str=text), callbacks=[cut_off])

    @property
    def resumes(self):
        """Whether nothing is drawn at random: the generators cannot be read off."""
        params = self.estimator.get_params()
        return not (
            any(params.get(name) not in (None, 1) for name in _SHARES)
            or any(params.get(name) for name in _SWITCHES)
            or params.get("data_sample_strategy") == "goss"
            or any(params.get(name) == "goss" for name in _BOOSTING)
        )

    def dump(self):
        return {"last": self._booster.model_to_string(num_iteration=-1).encode()}

    def restore(self, models, n_done, X, y, sample_weight=None):
        from lightgbm import Booster

        try:
            text = models["last"].decode()
            n_classes = _check_model(text)
            self._booster = Booster(model_str=text)
        except Exception as exc:
            raise ValueError(f"The checkpoint's model cannot be read: {exc}") from exc
        # A booster that has nothing more to learn adds no trees to its last stages.
        n_stages = self._booster.current_iteration()
        n_stages = n_done if n_stages < n_done else n_stages
        classes = np.unique(y)
        classes = classes if len(classes) == n_classes else None
        check_restored(n_stages, n_done, self._booster.num_feature(), X, classes, y)
        self._data = (X, y, sample_weight)
        self.n_done = self._n_trained = n_done

    def staged_proba(self, X):
        model = self.estimator
        n_stages = model.booster_.current_iteration()
        params = model.get_params()
        if model.objective_ not in ("binary", "multiclass") or params.get("sigmoid"):
            # With a link of its own; every stage is predicted from the first tree on.
            for stage in range(n_stages):
                yield model.predict_proba(X, num_iteration=stage + 1)
            return
        margin = 0.0
        for stage in range(n_stages):
            margin = margin + model.predict_proba(
                X, raw_score=True, start_iteration=stage, num_iteration=1
            )
            yield margin_to_proba(margin)


def _check_model(text):
    """Check a model before LightGBM reads it, and return its number of classes."""
    header, *blocks = text.partition("end of trees")[0].split("\nTree=")
    fields = _fields(header)
    n_classes, n_trees = int(fields["num_class"]), int(fields["num_tree_per_iteration"])
    if not (
        header.startswith("tree\n")
        and n_trees == n_classes
        and len(blocks) % n_trees == 0
        and _find_trees(text, fields["tree_sizes"]) == len(blocks)
    ):
        raise ValueError("its trees are not as many as it says")
    for block in blocks:
        _check_tree(_fields(block), n_features=int(fields["max_feature_idx"]) + 1)
    return max(2, n_classes)


def _find_trees(text, sizes):
    """Count the trees that are found by their sizes, as LightGBM finds them."""
    text = text.encode()
    start = text.index(b"Tree=0")
    for number, size in enumerate(map(int, sizes.split())):
        if not text.startswith(b"Tree=%d\n" % number, start) or size < 1:
            raise ValueError("its trees are not where it says")
        start += size
    if not text.startswith(b"end of trees", start):
        raise ValueError("its trees do not end where it says")
    return number + 1


def _fields(text):
    pairs = (line.partition("=") for line in text.splitlines())
    return {name: value for name, _, value in pairs}


def _check_tree(fields, n_features):
    """Check that nodes point at nodes, leaves and features that exist."""
    n_leaves = int(fields["num_leaves"])
    n_nodes = n_leaves - 1
    if len(fields["leaf_value"].split()) != max(n_leaves, 1):
        raise ValueError("a tree has other leaves than it says")
    if n_nodes < 1:
        return
    names = ("left_child", "right_child", "split_feature", "threshold", "decision_type")
    columns = {name: np.array(fields[name].split(), dtype=float) for name in names}
    if any(len(column) != n_nodes for column in columns.values()):
        raise ValueError("the columns of a tree are not as long as it has nodes")
    children = np.r_[columns["left_child"], columns["right_child"]]
    parents = np.tile(np.arange(n_nodes), 2)
    features = columns["split_feature"]
    if not (
        np.all((children > parents) | (children < 0))
        and np.all((children < n_nodes) & (children >= -n_leaves))
        and np.all((features >= 0) & (features < n_features))
    ):
        raise ValueError("a tree points at nodes or features that do not exist")
