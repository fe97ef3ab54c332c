"""The staged training: private copies, classes, weights, interruptions, threads."""

import os
import pickle
import signal
import time
import warnings
from functools import wraps

import numpy as np
import pytest
from joblib import cpu_count
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_superior.early_stopping import staged_scores
from sklearn_superior.early_stopping._training import StagedModel, warn_of_scores
from sklearn_superior.early_stopping.stages import find_stages
from sklearn_superior.metrics import neg_penalized_brier_scorer
from sklearn_superior.model_selection import compare_stopping_rules
from sklearn_superior.utils._rows import Rows
from tests.early_stopping.families import (
    FAMILIES,
    make_data,
    plain_stopping,
    reference_stages,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),
    pytest.mark.filterwarnings("ignore:The validation data has classes that training"),
]


def state(estimator):
    """All that an estimator holds, as text."""
    return pickle.dumps((repr(estimator), sorted(estimator.get_params())))


@pytest.mark.parametrize("name", FAMILIES)
def test_the_users_estimator_is_not_touched(name):
    X, y, X_val, y_val = make_data("five")
    inner = FAMILIES[name]()
    before, attributes = state(inner), dict(vars(inner))
    plain_stopping(inner, n_iter_no_change=3).fit(X, y, X_val=X_val, y_val=y_val)
    compare_stopping_rules(inner, X, y, cv=2, random_state=0)
    assert state(inner) == before
    assert vars(inner).keys() == attributes.keys()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", FAMILIES)
def test_an_estimator_that_is_fitted_stays_as_it_is(name):
    X, y, X_val, y_val = make_data("binary")
    inner = FAMILIES[name]().fit(X, y)
    before = inner.predict_proba(X_val)
    plain_stopping(inner, n_iter_no_change=3).fit(
        X[:150], y[:150], X_val=X_val, y_val=y_val
    )
    assert_array_equal(inner.predict_proba(X_val), before)


@pytest.mark.parametrize("kind", ["five", "missing"])
@pytest.mark.parametrize("name", FAMILIES)
def test_probabilities_of_all_classes(name, kind):
    X, y, X_val, _ = make_data(kind)
    own, stages = reference_stages(name, X, y, X_val)
    classes = np.union1d(own, [own[0]])
    extra = np.array(["a", "zz"]) if kind == "five" else np.array([-1, 99])
    classes = np.union1d(classes, extra)
    model = StagedModel(FAMILIES[name]())
    model.prepare(Rows(X, y), X_val, classes)
    seen = []
    model.fit(lambda y_proba: seen.append(y_proba.copy()))
    assert len(seen) == 40
    columns = np.searchsorted(classes, own)
    for found, expected in zip(seen, stages, strict=True):
        assert_allclose(found[:, columns], expected, rtol=1e-5, atol=1e-7)
        assert found.sum() == pytest.approx(len(X_val))


def test_one_class_cannot_be_trained():
    X, y, X_val, _ = make_data("binary")
    model = StagedModel(HistGradientBoostingClassifier())
    with pytest.raises(
        ValueError, match=r"training part must hold at least two.*\[0\]"
    ):
        model.prepare(Rows(X, 0 * y), X_val, np.array([0, 1]))


def test_seeds_reach_all_steps():
    pipeline = make_pipeline(StandardScaler(), FAMILIES["MLP"]())
    model = StagedModel(pipeline, seed=7)
    assert model.stages.estimator.random_state == 7
    assert pipeline[-1].random_state == 0


def test_the_kept_pipeline_has_all_its_options():
    X, y, X_val, y_val = make_data("five")
    inner = Pipeline(
        [("scale", StandardScaler()), ("boost", FAMILIES["GradientBoosting"]())],
        verbose=False,
        transform_input=["X_val"],
    )
    model = plain_stopping(inner, n_iter_no_change=3)
    model.fit(X, y, X_val=X_val, y_val=y_val)
    assert list(model.estimator_.named_steps) == ["scale", "boost"]
    assert model.estimator_.transform_input == ["X_val"]
    assert_array_equal(
        model.estimator_.predict_proba(X_val), model.predict_proba(X_val)
    )


class InterruptingScorer:
    """Sends Ctrl-C when it is called for the n-th time."""

    def __init__(self, n):
        self.n = n

    def __call__(self, estimator, X, y):
        self.n -= 1
        if self.n == 0:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.05)
        return neg_penalized_brier_scorer(estimator, X, y)


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("name", FAMILIES)
def test_ctrl_c_keeps_the_best_stage(name):
    X, y, X_val, y_val = make_data("five")
    model = plain_stopping(
        FAMILIES[name](), scoring=InterruptingScorer(5), n_iter_no_change=50
    )
    with pytest.warns(
        UserWarning, match=r"interrupted after \d (stage|epoch)s; the be"
    ):
        model.fit(X, y, X_val=X_val, y_val=y_val)
    # CatBoost ends with the stage in which it was interrupted.
    assert model.n_iter_ == (5 if name == "CatBoost" else 4)
    scores = model.validation_scores_
    assert model.best_iteration_ == np.argmax(scores)
    _, stages = reference_stages(name, X, y, X_val)
    assert_allclose(
        model.predict_proba(X_val),
        stages[model.best_iteration_],
        rtol=1e-6,
        atol=1e-7,
    )
    assert_allclose(
        neg_penalized_brier_scorer(model, X_val, y_val), model.best_score_, rtol=1e-5
    )
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("name", FAMILIES)
def test_ctrl_c_before_the_first_stage_is_raised(name):
    X, y, X_val, y_val = make_data("five")
    model = plain_stopping(FAMILIES[name](), scoring=InterruptingScorer(1))
    if name == "CatBoost":  # which has a stage by then
        with pytest.warns(UserWarning, match="interrupted after 1 stages"):
            model.fit(X, y, X_val=X_val, y_val=y_val)
        return
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y, X_val=X_val, y_val=y_val)


class FailingScorer:
    def __call__(self, estimator, X, y):
        raise RuntimeError("the scorer failed")


@pytest.mark.parametrize("name", FAMILIES)
def test_errors_of_a_scorer_come_as_they_are(name):
    X, y, X_val, y_val = make_data("five")
    model = plain_stopping(FAMILIES[name](), scoring=FailingScorer())
    with pytest.raises(RuntimeError, match="the scorer failed"):
        model.fit(X, y, X_val=X_val, y_val=y_val)


@pytest.mark.parametrize("name", ["GradientBoosting", "HistGradientBoosting", "SGD"])
def test_the_inner_request_for_weights_is_honoured(name):
    X, y, X_val, y_val = make_data("five")
    weight = np.random.default_rng(0).random(300) + 0.1
    val = {"X_val": X_val, "y_val": y_val}

    def fit(request, weight):
        inner = FAMILIES[name]()
        if request != "unset":
            inner.set_fit_request(sample_weight=request)
        model = plain_stopping(inner, n_iter_no_change=3)
        model.set_fit_request(sample_weight=True, X_val=True, y_val=True)
        return model.fit(X, y, sample_weight=weight, **val).predict_proba(X_val)

    with config_context(enable_metadata_routing=True):
        weighted, plain = fit("unset", weight), fit("unset", None)
        assert_array_equal(fit(True, weight), weighted)
        assert_array_equal(fit(False, weight), plain)
        assert not np.array_equal(weighted, plain)
        with pytest.raises(ValueError, match="under the name 'w', but they are handed"):
            fit("w", weight)
    inner = FAMILIES[name]()
    direct = plain_stopping(inner, n_iter_no_change=3)
    direct.fit(X, y, sample_weight=weight, **val)
    assert_array_equal(direct.predict_proba(X_val), weighted)


@pytest.mark.parametrize(
    ("name", "param"),
    [("XGBoost", "n_jobs"), ("LightGBM", "n_jobs"), ("CatBoost", "thread_count")],
)
@pytest.mark.parametrize(("own", "expected"), [(None, 1), (1, 1), (2, 1), (-1, 1)])
def test_threads_are_limited_where_trainings_share_the_machine(
    name, param, own, expected, monkeypatch
):
    X, y, X_val, _ = make_data("binary")
    estimator = FAMILIES[name]()
    if own is None:
        estimator = type(estimator)(
            **{
                key: value
                for key, value in estimator.get_params().items()
                if key != param
            }
        )
    else:
        estimator.set_params(**{param: own})
    seen = []
    fit = type(estimator).fit

    @wraps(fit)
    def spy(self, *args, **kwargs):
        seen.append(self.get_params().get(param))
        return fit(self, *args, **kwargs)

    monkeypatch.setattr(type(estimator), "fit", spy)
    model = StagedModel(estimator, max_threads=1)
    model.prepare(Rows(X, y), X_val, np.unique(y))
    model.fit(lambda y_proba: True)
    assert set(seen) == {expected}
    own = None if name == "CatBoost" and own == -1 else own  # the same to CatBoost
    assert estimator.get_params().get(param) == own


def test_comparisons_share_the_threads(monkeypatch):
    from sklearn_superior.model_selection import _comparison

    X, y, _, _ = make_data("binary")
    seen = []
    trace = _comparison._trace

    def spy(*args):
        seen.append(args[-1])
        return trace(*args)

    monkeypatch.setattr(_comparison, "_trace", spy)
    inner = HistGradientBoostingClassifier(max_iter=2)
    compare_stopping_rules(inner, X, y, cv=3)
    assert seen == [None] * 3
    from joblib import parallel_config

    seen.clear()
    with parallel_config(backend="threading"):
        compare_stopping_rules(inner, X, y, cv=3, n_jobs=2)
    assert seen == [max(1, cpu_count() // 2)] * 3


class Stateless(TransformerMixin, BaseEstimator):
    """A transformer with nothing to fit."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return np.sin(X)


@pytest.mark.parametrize("step", [Stateless(), "passthrough"])
def test_steps_with_nothing_to_fit(step):
    X, y, X_val, y_val = make_data("five")
    inner = Pipeline([("step", step), ("boost", FAMILIES["GradientBoosting"]())])
    model = plain_stopping(inner, n_iter_no_change=3)
    model.fit(X, y, X_val=X_val, y_val=y_val)
    scores = staged_scores(model, X_val, y_val, scoring="neg_penalized_brier_score")
    assert_allclose(scores, model.validation_scores_[: len(scores)])


def test_steps_that_request_weights_get_them():
    X, y, X_val, y_val = make_data("five")
    weight = np.where(np.arange(300) % 2, 100.0, 0.01)
    X = X + 50 * (np.arange(300) % 2)[:, np.newaxis]
    data = {"X": X, "y": y, "X_val": X_val, "y_val": y_val, "sample_weight": weight}
    with config_context(enable_metadata_routing=True):
        boost = FAMILIES["HistGradientBoosting"]()
        for wanted in (True, False):
            inner = make_pipeline(
                StandardScaler().set_fit_request(sample_weight=wanted),
                boost.set_fit_request(sample_weight=True),
            )
            expected = inner.fit(X, y, sample_weight=weight)[0].mean_
            model = plain_stopping(inner, n_iter_no_change=3).fit(**data)
            assert_allclose(model.estimator_[0].mean_, expected)


def test_catboost_repeats_have_other_seeds():
    catboost = pytest.importorskip("catboost")
    X, y, _, _ = make_data("binary")
    for own in ({}, {"random_seed": 3}, {"random_state": 3}):
        model = catboost.CatBoostClassifier(
            iterations=4, rsm=0.3, verbose=False, allow_writing_files=False, **own
        )
        comparison = compare_stopping_rules(
            model, X, y, cv=2, n_repeats=2, random_state=0, rules=["brier"]
        )
        one, two = (t.validation["brier"] for t in comparison.trajectories[:2])
        assert not np.array_equal(one, two)


def test_weights_must_leave_two_classes_to_train_on():
    X, y, X_val, y_val = make_data("binary")
    model = plain_stopping(FAMILIES["HistGradientBoosting"](), validation_split="last")
    weight = np.where((y == 1) & (np.arange(300) < 270), 0.0, 1.0)
    with pytest.raises(ValueError, match="at least two classes with positive weight"):
        model.fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("n_stages", [None, "a", 5.5, 0])
def test_budgets_that_are_none(n_stages):
    X, y, _, _ = make_data("binary")
    inner = HistGradientBoostingClassifier(max_iter=n_stages)
    message = f"at least one stage to train. Got {n_stages!r}"
    with pytest.raises(ValueError, match=message):
        plain_stopping(inner).fit(X, y)


def test_a_failed_fit_leaves_the_old_model_whole():
    X, y, _, _ = make_data("binary")
    model = plain_stopping(
        FAMILIES["SGD"](), calibration="temperature", random_state=0
    ).fit(X, y)
    before = model.predict_proba(X)
    model.set_params(scoring=FailingScorer())
    with pytest.raises(RuntimeError, match="the scorer failed"):
        model.fit(X[:, :5], np.arange(300) % 3)
    assert_array_equal(model.predict_proba(X), before)
    assert model.n_features_in_ == X.shape[1]
    first = plain_stopping(FAMILIES["SGD"](), scoring=FailingScorer())
    with pytest.raises(RuntimeError, match="the scorer failed"):
        first.fit(X, y)
    assert not hasattr(first, "n_features_in_")


def test_warnings_point_at_the_line_of_the_caller():
    X, y, X_val, y_val = make_data("missing")
    model = plain_stopping(FAMILIES["SGD"](), n_iter_no_change=1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, X_val=X_val, y_val=y_val)
    (found,) = [w for w in caught if "training has not" in str(w.message)]
    assert found.filename == __file__


def test_a_rule_that_is_flat_at_the_start_does_not_stop_there():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5))
    y = (X[:, 0] + 0.5 * rng.normal(size=600) > 1.8).astype(int)
    inner = HistGradientBoostingClassifier(
        max_iter=150, learning_rate=0.03, random_state=0
    )
    model = plain_stopping(
        inner, scoring="f1_macro", n_iter_no_change=10, random_state=0
    ).fit(X, y)
    assert model.validation_scores_[0] == model.validation_scores_[10]
    assert model.best_iteration_ > 10
    assert len(np.unique(model.predict(X))) == 2


def test_scores_that_are_all_equal_warn():
    X, y, _, _ = make_data("five")
    model = plain_stopping(
        FAMILIES["SGD"](), scoring=lambda estimator, X, y: 1.0, random_state=0
    )
    with pytest.warns(UserWarning, match="All 40 scores .* equal, so that the first"):
        model.fit(X, y)
    assert model.best_iteration_ == 0


def test_a_best_stage_at_the_end_of_the_budget_warns():
    X, y, _, _ = make_data("five")
    inner = HistGradientBoostingClassifier(max_iter=3, learning_rate=0.03)
    model = plain_stopping(inner, scoring="log_loss", random_state=0)
    message = "The best stage is the last of 3: .* A larger max_iter may give a better"
    with pytest.warns(ConvergenceWarning, match=message):
        model.fit(X, y)


@pytest.mark.parametrize(
    ("best", "n_stages", "patience", "warns"),
    [
        (99, 100, 20, "is the last of 100"),
        (98, 100, 20, "is number 99 of 100"),
        (94, 100, 20, "is number 95 of 100"),  # a quarter of the patience
        (93, 100, 20, None),
        (98, 100, 3, None),
        (28, 30, 1000, "is number 29 of 30"),
        (22, 30, 1000, "is number 23 of 30"),  # a quarter of the budget
        (21, 30, 1000, None),
        (1, 3, 20, None),
        (0, 1, 20, None),
    ],
)
def test_a_best_stage_near_the_end_of_the_budget_warns(best, n_stages, patience, warns):
    scores = [-abs(k - best) for k in range(n_stages)]
    stages = find_stages(HistGradientBoostingClassifier(max_iter=n_stages))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_scores(scores, best, n_stages, stages, patience)
    if warns is None:
        assert not caught
        return
    (warning,) = caught
    assert warning.category is ConvergenceWarning
    assert f"The best stage {warns}" in str(warning.message)
    assert "A larger max_iter may give a better model" in str(warning.message)


def test_training_that_ended_before_its_budget_does_not_warn():
    """By Ctrl-C, or by itself as AdaBoost does."""
    stages = find_stages(HistGradientBoostingClassifier(max_iter=100))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_scores([0.1, 0.2, 0.3], 2, 100, stages, 20)
        warn_of_scores([-abs(k - 96) for k in range(98)], 96, 100, stages, 20)


def test_regressors_and_samplers_are_refused_by_name():
    X, y, _, _ = make_data("five")
    with pytest.raises(TypeError, match="must be a classifier.*BoostingRegressor"):
        plain_stopping(HistGradientBoostingRegressor()).fit(X, y)
    imblearn = pytest.importorskip("imblearn")
    pipeline = imblearn.pipeline.make_pipeline(
        imblearn.over_sampling.RandomOverSampler(), HistGradientBoostingClassifier()
    )
    message = r"step 'randomoversampler' of the pipeline, .* resamples the rows"
    with pytest.raises(TypeError, match=message):
        plain_stopping(pipeline).fit(X, y)


def test_importances_of_the_kept_estimator():
    X, y, X_val, y_val = make_data("five")
    inner = make_pipeline(StandardScaler(), FAMILIES["GradientBoosting"]())
    model = plain_stopping(inner, n_iter_no_change=3)
    assert not hasattr(model, "feature_importances_")
    model.fit(X, y, X_val=X_val, y_val=y_val)
    assert_array_equal(
        model.feature_importances_, model.estimator_[-1].feature_importances_
    )
    model = plain_stopping(FAMILIES["SGD"](), random_state=0).fit(X, y)
    assert not hasattr(model, "feature_importances_")
