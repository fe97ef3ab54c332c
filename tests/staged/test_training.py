"""The staged training: private copies, classes, weights, threads."""

import pickle
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
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_superior.early_stopping import staged_scores
from sklearn_superior.model_selection import compare_stopping_rules
from sklearn_superior.staged._training import Training
from sklearn_superior.utils._checks import Rows
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


def make_training(estimator, X, y, X_val, classes=None, **options):
    classes = np.unique(y) if classes is None else classes
    return Training(
        estimator, lambda: Rows(X, y), {"part": lambda: X_val}, classes, **options
    )


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
    training = make_training(FAMILIES[name](), X, y, X_val, classes)
    seen = []
    while (parts := training.advance()) is not None:
        seen.append(parts["part"])
    assert len(seen) == training.n_done == 40
    columns = np.searchsorted(classes, own)
    for found, expected in zip(seen, stages, strict=True):
        assert_allclose(found[:, columns], expected, rtol=1e-5, atol=1e-7)
        assert found.sum() == pytest.approx(len(X_val))


def test_one_class_cannot_be_trained():
    X, y, X_val, _ = make_data("binary")
    training = make_training(HistGradientBoostingClassifier(), X, 0 * y, X_val)
    with pytest.raises(
        ValueError, match=r"training part must hold at least two.*\[0\]"
    ):
        training.advance()


def test_seeds_reach_all_steps():
    pipeline = make_pipeline(StandardScaler(), FAMILIES["MLP"]())
    training = make_training(pipeline, [], [], [], seed=7)
    assert training.stages.estimator.random_state == 7
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
        with pytest.raises(ValueError, match="under the name 'w', but they are passed"):
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
    training = make_training(estimator, X, y, X_val, max_threads=1)
    training.advance()
    training.finish()
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
    message = f"'max_iter'.*an int of at least 1, .*stages to train. Got {n_stages!r}"
    with pytest.raises(ValueError, match=message):
        plain_stopping(inner).fit(X, y)


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
