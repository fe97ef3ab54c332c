"""XGBoost: predictions of the validation data that grow by a round at a time."""

import json

import numpy as np

from sklearn_superior.early_stopping.stages._base import (
    Checkpointed,
    Stages,
    check_restored,
    copy_with,
    hand_over_fit,
    margin_to_proba,
    two_columns,
)

_NO_PARENT = 2**31 - 1  # the parent of a root
_MOST_CATEGORIES = 2**24  # that XGBoost knows
_NO_PROBABILITIES = ("multi:softmax", "binary:logitraw", "binary:hinge")


class XGBoostStages(Checkpointed, Stages):
    """`xgboost.XGBClassifier`."""

    encodes_labels = True
    # What would judge the stages by itself has no effect here.
    without_effect = ("callbacks", "early_stopping_rounds", "eval_metric", "verbosity")
    _booster = None  # what is trained

    def __init__(self, estimator):
        super().__init__(estimator)
        params = estimator.get_params()
        if params.get("booster") in ("dart", "gblinear"):
            raise ValueError(
                f"XGBClassifier(booster={params['booster']!r}) changes earlier stages "
                "as it trains, so no stage can be kept. Use booster='gbtree'."
            )
        objective = params.get("objective")
        if callable(objective) or objective in _NO_PROBABILITIES:
            raise ValueError(
                f"XGBClassifier(objective={objective!r}) gives no probabilities. Use "
                "objective='multi:softprob', or 'binary:logistic' for two classes."
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

        class AfterStage(TrainingCallback):
            data = None

            def after_iteration(callback, model, epoch, evals_log):
                if callback.data is None:
                    callback.data = self._to_matrix(X_val, model)
                self._booster = model
                # XGBoost remembers what it has predicted: this adds the last round.
                return bool(on_stage(two_columns(model.predict(callback.data))))

        model = copy_with(
            self.estimator,
            callbacks=[*self._own_callbacks(), AfterStage()],
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
        return self._load(self._booster.num_boosted_rounds())

    def _load(self, n_kept):
        """Return a fitted copy with the first rounds of the booster."""
        model = copy_with(self.estimator)
        model.load_model(_first_rounds(self._booster, n_kept))
        device = self.estimator.get_params().get("device")
        if device is not None:  # which is not part of a saved model
            model.get_booster().set_param({"device": device})
        return model

    @property
    def resumes(self):
        """Whether a stage depends on nothing but the stages before.

        The state of random numbers cannot be read off, and callbacks of the user
        count the rounds of one training.
        """
        params = self.estimator.get_params()
        draws = any(
            value not in (None, 1)
            for name, value in params.items()
            if name.startswith(("subsample", "colsample"))
        )
        one_tree = params.get("multi_strategy") == "multi_output_tree"  # not read here
        return not (draws or one_tree or self._own_callbacks())

    def dump(self):
        return {"last": bytes(self._booster.save_raw("json"))}

    def restore(self, models, n_done, X, y, sample_weight=None):
        from xgboost import Booster

        try:
            content = json.loads(models["last"])
            n_rounds = _check_model(content)
            self._booster = Booster()
            self._booster.load_model(bytearray(models["last"]))
        except Exception as exc:
            raise ValueError(f"The checkpoint's model cannot be read: {exc}") from exc
        params = content["learner"]["learner_model_param"]
        classes = np.arange(max(2, int(params["num_class"])))
        check_restored(n_rounds, n_done, int(params["num_feature"]), X, classes, y)
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


def _check_model(content):
    """Check a model before it is loaded, and return its number of rounds.

    XGBoost ends the process if it is given something else than a model.
    """
    learner = content["learner"]
    n_features = int(learner["learner_model_param"]["num_feature"])
    booster = learner["gradient_booster"]
    if booster["name"] != "gbtree":
        raise ValueError(f"its booster is {booster['name']!r}, not 'gbtree'")
    model = booster["model"]
    trees, ends = model["trees"], model["iteration_indptr"]
    n_trees = int(model["gbtree_model_param"]["num_trees"])
    n_classes = max(1, int(learner["learner_model_param"]["num_class"]))
    if not (
        n_trees == len(trees) == len(model["tree_info"]) == ends[-1]
        and set(model["tree_info"]) <= set(range(n_classes))
        and ends[0] == 0
        and all(a < b for a, b in zip(ends, ends[1:], strict=False))
    ):
        raise ValueError("its trees are not as many as it says")
    for tree in trees:
        _check_tree(tree, n_features)
    return len(ends) - 1


def _check_tree(tree, n_features):
    """Check that nodes point at nodes and features that exist."""
    n_nodes = int(tree["tree_param"]["num_nodes"])
    names = (
        "left_children",
        "right_children",
        "parents",
        "split_indices",
        "split_conditions",
        "split_type",
        "default_left",
        "loss_changes",
        "sum_hessian",
        "base_weights",
    )
    columns = {name: np.asarray(tree[name]) for name in names}
    if any(column.shape != (n_nodes,) for column in columns.values()):
        raise ValueError("the columns of a tree are not as long as it has nodes")
    left, right = columns["left_children"], columns["right_children"]
    inner = left != -1
    children = np.r_[left[inner], right[inner]]
    parents = columns["parents"]
    features = columns["split_indices"][inner]
    if not (
        n_nodes > 0
        and tree["tree_param"]["size_leaf_vector"] in ("0", "1")
        and np.array_equal(inner, right != -1)
        and np.all(children > np.tile(np.flatnonzero(inner), 2))
        and np.all(children < n_nodes)
        and np.all((parents == _NO_PARENT) | ((parents >= 0) & (parents < n_nodes)))
        and np.all((features >= 0) & (features < n_features))
    ):
        raise ValueError("a tree points at nodes or features that do not exist")
    _check_categories(tree, columns["split_type"])


def _check_categories(tree, split_type):
    """Check that nodes which split by categories have categories that exist."""
    nodes, starts, sizes, values = (
        np.asarray(tree[name], dtype=np.int64)
        for name in (
            "categories_nodes",
            "categories_segments",
            "categories_sizes",
            "categories",
        )
    )
    if not (
        len(nodes) == len(starts) == len(sizes)
        and np.all((split_type == 0) | (split_type == 1))
        and np.array_equal(np.flatnonzero(split_type), nodes)
        and np.all((starts >= 0) & (sizes >= 0) & (starts + sizes <= len(values)))
        and np.all((values >= 0) & (values < _MOST_CATEGORIES))
    ):
        raise ValueError("a tree splits by categories that do not exist")
