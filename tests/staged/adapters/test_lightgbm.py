"""LightGBM: its own settings do not act, under none of their names."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_superior.early_stopping import staged_scores
from sklearn_superior.staged.adapters import find_stages
from tests.early_stopping.families import fit_stopping as fit
from tests.early_stopping.families import make_data, plain_stopping

lightgbm = pytest.importorskip("lightgbm")
pytestmark = [
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),
    pytest.mark.filterwarnings("ignore:Found `.*` in params"),
]


def make_model(**params):
    defaults = {"n_estimators": 30, "num_leaves": 6, "learning_rate": 0.4}
    defaults |= {"verbose": -1, "n_jobs": 1, "deterministic": True}
    return lightgbm.LGBMClassifier(**defaults | params)


@pytest.mark.parametrize(
    "params",
    [
        {"early_stopping_round": 1},
        {"early_stopping_rounds": 1},
        {"early_stopping": 1},
        {"n_iter_no_change": 1},
        {"early_stopping_round": 1, "metric": "multi_error"},
        {"metric": ["multi_error", "multi_logloss"], "first_metric_only": True},
        {"metrics": "multi_error"},
    ],
)
def test_what_judges_the_stages_never_acts(params):
    plain, model = fit(make_model()), fit(make_model(**params))
    assert_array_equal(plain.validation_scores_, model.validation_scores_)
    X, *_ = make_data("five")
    assert_array_equal(plain.predict_proba(X), model.predict_proba(X))
    found = model.estimator_.get_params()
    assert {name: found[name] for name in params} == params


def test_nothing_of_the_training_is_left_on_the_model():
    model = fit(make_model())
    kept, own = model.estimator_, make_model().get_params()
    assert kept.evals_result_ == {}
    assert kept.best_score_ == {}
    assert kept.best_iteration_ == kept.n_estimators_ == model.best_iteration_ + 1
    assert {k for k, v in kept.get_params().items() if repr(v) != repr(own[k])} == set()
    assert kept.get_params().keys() == own.keys()


RANDOM = [
    {alias: 0.5}
    for alias in (
        "bagging_fraction sub_row subsample bagging pos_bagging_fraction pos_sub_row "
        "pos_subsample pos_bagging neg_bagging_fraction neg_sub_row neg_subsample "
        "neg_bagging feature_fraction sub_feature colsample_bytree "
        "feature_fraction_bynode sub_feature_bynode colsample_bynode"
    ).split()
]
RANDOM += [
    {"extra_trees": True},
    {"extra_tree": True},
    {"use_quantized_grad": True},
    {"linear_tree": True},
    {"data_sample_strategy": "goss"},
    {"boosting": "goss"},
    {"boosting_type": "goss"},
    {"boost": "goss"},
]


@pytest.mark.parametrize("params", RANDOM, ids=str)
def test_random_sampling_cannot_resume(params):
    assert "uses random sampling" in find_stages(make_model(**params)).obstacle()


@pytest.mark.parametrize(
    "params", [{}, {"subsample_freq": 1}, {"bagging_freq": 2}, {"subsample": 1.0}]
)
def test_what_does_not_draw_can_resume(params):
    assert find_stages(make_model(**params)).obstacle() is None


@pytest.mark.parametrize("name", ["boosting", "boosting_type", "boost"])
@pytest.mark.parametrize("value", ["dart", "rf", "random_forest"])
def test_stages_that_change_are_refused_under_any_name(name, value):
    with pytest.raises(ValueError, match=f"{name}='{value}'.*no stage can be kept"):
        fit(make_model(**{name: value}))


def test_an_objective_without_probabilities_is_refused():
    with pytest.raises(ValueError, match="gives no probabilities"):
        fit(make_model(objective=lambda y, p: (p, p)))


@pytest.mark.parametrize("alias", ["num_iterations", "num_trees", "max_iter", "n_iter"])
def test_the_budget_under_any_name(alias):
    model = fit(make_model(**{alias: 4}), n_iter_no_change=50)
    assert model.n_iter_ == 4


def test_a_booster_that_has_nothing_more_to_learn():
    X = np.repeat([[0.0], [1.0]], 40, axis=0)
    y = np.repeat([0, 1], 40)
    model = plain_stopping(
        make_model(n_estimators=6, learning_rate=1.0, min_split_gain=1e9),
        n_iter_no_change=50,
    )
    with pytest.warns(UserWarning, match="All 6 scores of the validation data are eq"):
        model.fit(X, y, X_val=X, y_val=y)
    assert model.n_iter_ == 6
    assert_allclose(model.predict_proba(X), 0.5)


def test_data_frames_with_categories():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "kind": pd.Categorical(rng.choice(list("xyzw"), 600)),
            "size": rng.normal(size=600),
        }
    )
    y = X["kind"].isin(["x", "z"]).to_numpy() ^ (rng.random(600) < 0.2)
    model = plain_stopping(make_model(), n_iter_no_change=3)
    model.fit(X[:400], y[:400], X_val=X[400:], y_val=y[400:])
    direct = make_model(n_estimators=model.best_iteration_ + 1).fit(X[:400], y[:400])
    assert_array_equal(model.predict_proba(X[400:]), direct.predict_proba(X[400:]))


def saved_model():
    stages = find_stages(make_model(n_estimators=3))
    X, y, X_val, _ = make_data("five")
    stages.fit(X, y, X_val, lambda y_proba: False)
    return stages.dump()["last"].decode()


def test_the_number_of_stages_must_fit():
    stages = find_stages(make_model())
    with pytest.raises(ValueError, match="has 2 scores, but its model 3 stages"):
        stages.restore({"last": saved_model().encode()}, 2, *make_data("five")[:2])
    stages.restore({"last": saved_model().encode()}, 3, *make_data("five")[:2])
    assert stages.n_done == 3


@pytest.mark.parametrize(
    ("kind", "params"),
    [
        ("binary", {}),
        ("binary", {"sigmoid": 3.0}),
        ("binary", {"objective": "cross_entropy"}),
        ("five", {}),
        ("five", {"objective": "multiclassova"}),
    ],
)
@pytest.mark.filterwarnings("ignore:The rows of y_proba do not sum to one")
def test_links_of_all_kinds(kind, params):
    X, y, X_val, y_val = make_data(kind)
    model = fit(make_model(**params), kind)
    scores = staged_scores(model, X_val, y_val, scoring="neg_penalized_brier_score")
    assert_allclose(scores, model.validation_scores_[: len(scores)], rtol=1e-9)


def test_lists_are_data_too():
    X, y, X_val, y_val = make_data("five")
    model = plain_stopping(make_model(), n_iter_no_change=8)
    model.fit(X.tolist(), y.tolist(), X_val=X_val.tolist(), y_val=y_val.tolist())
    assert_array_equal(model.validation_scores_, fit(make_model()).validation_scores_)


def test_linear_trees_are_kept_up_to_the_precision_of_their_library():
    X, y, X_val, y_val = make_data("five")
    for seed in range(8):
        X_seed = X + np.random.default_rng(seed).normal(size=X.shape)
        inner = make_model(linear_tree=True, n_estimators=15, learning_rate=0.5)
        model = plain_stopping(inner, n_iter_no_change=15)
        model.fit(X_seed, y, X_val=X_val, y_val=y_val)
        assert (
            model.estimator_.booster_.current_iteration() == model.best_iteration_ + 1
        )


@pytest.mark.parametrize("name", ["objective", "application", "loss"])
def test_objectives_without_probabilities_of_classes_are_refused(name):
    with pytest.raises(ValueError, match=f"{name}='regression'.* gives no probabil"):
        fit(make_model(**{name: "regression"}))


def test_the_budget_is_named_as_the_user_does():
    assert find_stages(make_model()).budget_name() == "n_estimators"
    assert find_stages(make_model(num_iterations=3)).budget_name() == "num_iterations"


def test_files_that_are_read_in_training_stand_in_the_way_of_resuming(tmp_path):
    model = make_model(forcedsplits_filename=str(tmp_path / "splits.json"))
    assert "forcedsplits_filename" in find_stages(model).obstacle()
