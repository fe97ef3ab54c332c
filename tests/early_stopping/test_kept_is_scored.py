"""What is kept is what was scored: every family, many options, by brute force."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from sklearn_superior.early_stopping import (
    Stages,
    register_stages,
    staged_scores,
)
from sklearn_superior.metrics import neg_penalized_log_loss_scorer
from sklearn_superior.model_selection import compare_stopping_rules
from tests.early_stopping.families import (
    FAMILIES,
    make_data,
    plain_stopping,
    with_stages,
)

# Options of each family; "kind" is the data that they need.
BINARY = {"kind": "binary"}
OPTIONS = {
    "HistGradientBoosting": [
        {},
        {"max_features": 0.5},
        {"l2_regularization": 1.0, "max_depth": 3},
        {"max_bins": 16, "min_samples_leaf": 5},
        {"class_weight": "balanced"},
        {"interaction_cst": "no_interactions"},
        {"monotonic_cst": [1] + 11 * [0], **BINARY},
        {"learning_rate": 0.05},
    ],
    "GradientBoosting": [
        {},
        {"subsample": 1.0, "max_features": 3},
        {"loss": "exponential", **BINARY},
        {"init": "zero"},
        {"ccp_alpha": 0.01},
        {"max_leaf_nodes": 4, "min_impurity_decrease": 0.01},
    ],
    "AdaBoost": [
        {},
        {"estimator": DecisionTreeClassifier(max_depth=3), "learning_rate": 0.3},
        BINARY,
    ],
    "XGBoost": [
        {},
        BINARY,
        {"subsample": 1.0},
        {"colsample_bytree": 0.5, "colsample_bynode": 0.5},
        {"tree_method": "exact"},
        {"tree_method": "approx"},
        {"multi_strategy": "multi_output_tree"},
        {"num_parallel_tree": 3},
        {"grow_policy": "lossguide", "max_leaves": 5},
        {"base_score": 0.3, "scale_pos_weight": 3.0, **BINARY},
        {"gamma": 0.5, "max_delta_step": 1},
        {"sampling_method": "uniform", "seed_per_iteration": True},
    ],
    "LightGBM": [
        {},
        BINARY,
        {"bagging_fraction": 0.5, "bagging_freq": 1},
        {"feature_fraction": 0.5},
        {"extra_trees": True},
        {"linear_tree": True},
        {"data_sample_strategy": "goss"},
        {"class_weight": "balanced"},
        {"is_unbalance": True, **BINARY},
        {"boost_from_average": False, **BINARY},
        {"path_smooth": 5.0},
        {"use_quantized_grad": True},
        {"monotone_constraints": [1] + 11 * [0], **BINARY},
    ],
    "CatBoost": [
        {},
        BINARY,
        {"model_shrink_rate": 0.1},
        {"model_shrink_rate": 0.1, "model_shrink_mode": "Decreasing"},
        {"langevin": True, "diffusion_temperature": 500},
        {"posterior_sampling": True},
        {"monotone_constraints": [1] + 11 * [0], **BINARY},
        {"grow_policy": "Depthwise"},
        {"grow_policy": "Lossguide", "max_leaves": 5},
        {"boosting_type": "Ordered"},
        {"bootstrap_type": "Bernoulli", "subsample": 0.5},
        {"rsm": 0.5},
        {"leaf_estimation_method": "Gradient", "l2_leaf_reg": 10},
        {"class_names": ["white", "red", "black", "green", "blue"]},
        {"auto_class_weights": "Balanced"},
    ],
    "MLP": [
        {},
        {"solver": "sgd", "learning_rate": "adaptive", "momentum": 0.5},
        {"batch_size": 50, "alpha": 0.1},
        {"kind": "single precision"},
    ],
    "SGD": [{}, {"average": True}, {"penalty": "l1"}, {"eta0": 0.01, **BINARY}],
    "CNN": [
        {},
        {"loss": "brier", "optimizer": "sgd"},
        {"module": "residual", "ema": 0.9},
        {"class_weight": "balanced"},
        BINARY,
    ],
}
CASES = [
    pytest.param(name, options, id=f"{name}-{k}")
    for name, settings in OPTIONS.items()
    for k, options in enumerate(settings)
]


def train_alone(name, model, n_stages, X, y):
    """Train so many stages by the library alone."""
    model = clone(model) if name != "CatBoost" else model.copy()
    if name in ("MLP", "SGD"):
        for _ in range(n_stages):
            model.partial_fit(X, y, classes=np.unique(y))
        return model
    with_stages(model, n_stages)
    if name == "CNN":
        model.set_params(early_stopping=False)
    return model.fit(X, y)


@pytest.mark.parametrize(("name", "options"), CASES)
def test_the_kept_model_is_that_of_the_library_alone(name, options):
    options = dict(options)
    kind = options.pop("kind", "five")
    X, y, X_val, y_val = make_data("five" if kind == "single precision" else kind)
    if kind == "single precision":
        X, X_val = X.astype(np.float32), X_val.astype(np.float32)
    inner = FAMILIES[name]().set_params(**options)
    model = plain_stopping(inner, n_iter_no_change=4)
    model.fit(X, y, X_val=X_val, y_val=y_val)
    labels = np.unique(y, return_inverse=True)[1] if name == "XGBoost" else y
    alone = train_alone(name, inner, model.best_iteration_ + 1, X, labels)
    expected = alone.predict_proba(X_val)
    order = np.argsort(alone.classes_)
    assert_allclose(model.predict_proba(X_val), expected[:, order], atol=1e-5)
    score = neg_penalized_log_loss_scorer(model, X_val, y_val)
    rescored = plain_stopping(
        inner, n_iter_no_change=4, scoring=neg_penalized_log_loss_scorer
    ).fit(X, y, X_val=X_val, y_val=y_val)
    if rescored.best_iteration_ == model.best_iteration_:
        assert_allclose(score, rescored.best_score_, rtol=1e-4)


def test_there_are_many_settings_of_all_families():
    assert len(CASES) >= 60
    assert OPTIONS.keys() == FAMILIES.keys()


class TestOrderOfClasses:
    """CatBoost has an order of classes of its own."""

    def data(self):
        X, y, X_val, y_val = make_data("five")
        names = dict(zip(np.unique(y), ["9", "10", "11", "100", "2"], strict=True))
        return X, *([names[k] for k in part] for part in (y, y_val)), X_val

    @pytest.mark.parametrize(
        "options", [{}, {"class_names": ["2", "100", "11", "10", "9"]}]
    )
    def test_early_stopping(self, options):
        X, y, y_val, X_val = self.data()
        inner = FAMILIES["CatBoost"]().set_params(**options)
        model = plain_stopping(inner, n_iter_no_change=5)
        model.fit(X, y, X_val=X_val, y_val=y_val)
        alone = train_alone("CatBoost", inner, model.best_iteration_ + 1, X, y)
        assert list(alone.classes_) != sorted(alone.classes_)
        assert_array_equal(model.predict(X_val), alone.predict(X_val).ravel())
        scores = staged_scores(alone, X_val, y_val, scoring="neg_penalized_brier_score")
        assert_allclose(scores, model.validation_scores_[: len(scores)], rtol=1e-6)
        scores = staged_scores(model, X_val, y_val, scoring="neg_penalized_brier_score")
        assert_allclose(scores, model.validation_scores_[: len(scores)], rtol=1e-6)

    def test_comparison(self):
        X, y, *_ = self.data()
        rows = np.arange(300)
        fold = (rows[:150], rows[150:220], rows[220:])
        inner = FAMILIES["CatBoost"]().set_params(iterations=5)
        found = compare_stopping_rules(inner, X, y, cv=[fold], rules=["log_loss"])
        alone = inner.copy().fit(X[fold[0]], [y[k] for k in fold[0]])
        order = np.argsort(alone.classes_)
        expected = [
            -log_loss([y[k] for k in fold[1]], y_proba[:, order])
            for y_proba in alone.staged_predict_proba(X[fold[1]])
        ]
        assert_allclose(found.trajectories[0].validation["log_loss"], expected)


def test_text_features_of_catboost():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    words = [["red apple", "ripe fruit"], ["blue sky", "wind"], ["grass", "wet soil"]]
    noisy = np.where(rng.random(300) < 0.5, y, rng.integers(0, 3, 300))
    text = [" ".join(rng.choice(words[k], 3)) for k in noisy]
    X = pd.DataFrame({"a": rng.normal(size=300), "t": text})
    X, X_val, y, y_val = train_test_split(X, y, random_state=0)
    inner = FAMILIES["CatBoost"]().set_params(text_features=["t"])
    model = plain_stopping(inner, n_iter_no_change=5)
    model.fit(X, y, X_val=X_val, y_val=y_val)
    assert model.n_iter_ > model.best_iteration_ + 1
    alone = train_alone("CatBoost", inner, model.best_iteration_ + 1, X, y)
    assert_allclose(model.predict_proba(X_val), alone.predict_proba(X_val), atol=1e-9)


def test_snapshots_of_catboost_are_refused_before_training():
    X, y, *_ = make_data("binary")
    inner = FAMILIES["CatBoost"]().set_params(save_snapshot=True)
    with pytest.raises(ValueError, match="save_snapshot=True.*count its stages"):
        plain_stopping(inner).fit(X, y)


class Forgetful(GradientBoostingClassifier):
    """A family whose adapter keeps the last stage, whatever it is asked for."""


class ForgetfulStages(Stages):
    known_causes = "This adapter forgets."

    def fit(self, X, y, X_val, on_stage, sample_weight=None):
        self.estimator.fit(X, y)
        for y_proba in self.estimator.staged_predict_proba(X_val):
            if on_stage(y_proba):
                break

    def keep(self, stage):
        pass


def test_a_model_that_is_not_what_was_scored_is_an_error():
    register_stages(Forgetful, ForgetfulStages)
    X, y, X_val, y_val = make_data("five")
    model = plain_stopping(
        make_pipeline(StandardScaler(), Forgetful(n_estimators=40, learning_rate=0.5)),
        n_iter_no_change=3,
    )
    message = (
        r"does not predict the validation data as stage \d+ did when it was scored"
    )
    with pytest.raises(ValueError, match=message) as caught:
        model.fit(X, y, X_val=X_val, y_val=y_val)
    assert "probabilities that differ by 0." in str(caught.value)
    assert "This adapter forgets." in str(caught.value)
    assert not hasattr(model, "estimator_")


def test_validation_data_without_a_class_of_the_training_part():
    X, y, _, _ = make_data("five")
    y = np.where(np.arange(300) < 270, np.where(y == "red", "blue", y), "red")
    for calibration in (None, "temperature"):
        model = plain_stopping(
            FAMILIES["SGD"](), validation_split="last", calibration=calibration
        )
        with pytest.raises(ValueError, match="must have classes of the training data"):
            model.fit(X, y)
