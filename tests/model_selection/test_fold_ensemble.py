"""The averaged models of folds."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_superior.metrics import scale_temperature
from sklearn_superior.model_selection import FoldEnsembleClassifier, StagedSearchCV
from tests.early_stopping.families import FAMILIES

X, y = load_iris(return_X_y=True)
y = np.array(["c", "a", "b"])[y]
MEMBERS = [LogisticRegression(max_iter=500).fit(X[k::7], y[k::7]) for k in range(3)]


@pytest.mark.parametrize("temperature", [1.0, 0.5, 3.0])
def test_members_are_scaled_and_then_averaged(temperature):
    ensemble = FoldEnsembleClassifier(MEMBERS, temperature=temperature)
    scaled = [scale_temperature(m.predict_proba(X), temperature) for m in MEMBERS]
    y_proba = ensemble.predict_proba(X)
    assert_allclose(y_proba, np.mean(scaled, axis=0))
    assert_array_equal(ensemble.predict(X), ensemble.classes_[y_proba.argmax(axis=1)])
    assert_allclose(ensemble.predict_log_proba(X), np.log(y_proba))
    for loss in (log_loss, brier_score_loss):
        of_members = np.mean([loss(y, p, labels=list("abc")) for p in scaled])
        assert loss(y, y_proba, labels=list("abc")) <= of_members


def test_members_that_lack_a_class():
    known = y != "b"
    small = LogisticRegression().fit(X[known], y[known])
    whole = LogisticRegression(max_iter=500).fit(X, y)
    ensemble = FoldEnsembleClassifier([small, whole])
    assert ensemble.classes_.tolist() == ["a", "b", "c"]
    expected = whole.predict_proba(X) / 2
    expected[:, [0, 2]] += small.predict_proba(X) / 2
    assert_allclose(ensemble.predict_proba(X), expected)
    wider = FoldEnsembleClassifier([small], classes=["a", "b", "c", "d"])
    assert_array_equal(wider.predict_proba(X)[:, [1, 3]], 0)


def test_members_stay_fitted():
    ensemble = FoldEnsembleClassifier(MEMBERS)
    assert ensemble.fit(X, y) is ensemble
    again = pickle.loads(pickle.dumps(ensemble))
    assert_array_equal(again.predict_proba(X), ensemble.predict_proba(X))
    assert ensemble.n_features_in_ == 4
    assert ensemble.score(X, y) > 0.8
    with pytest.raises(NotFittedError):
        FoldEnsembleClassifier([LogisticRegression()]).predict_proba(X)
    with pytest.raises(ValueError, match="'estimators' parameter must hold"):
        FoldEnsembleClassifier([]).predict_proba(X)


def test_a_clone_is_a_fitted_object_of_its_own():
    ensemble = FoldEnsembleClassifier(MEMBERS)
    before = ensemble.predict_proba(X)
    copied = clone(ensemble)
    assert_array_equal(copied.predict_proba(X), before)
    copied.set_params(temperature=3.0)
    copied.estimators.pop()
    assert ensemble.temperature == 1
    assert len(ensemble.estimators) == 3
    grid = GridSearchCV(ensemble, {"temperature": [0.25, 4.0]}, cv=3).fit(X, y)
    assert_array_equal(ensemble.predict_proba(X), before)
    assert grid.best_estimator_ is not ensemble


@pytest.mark.parametrize(
    "name",
    [
        "GradientBoosting",
        "XGBoost",
        "LightGBM",
        "CatBoost",
        "pipeline",
        "HistGradientBoosting",
        "MLP",
    ],
)
def test_feature_importances(name):
    pipeline = make_pipeline(StandardScaler(), FAMILIES["GradientBoosting"]())
    model = pipeline if name == "pipeline" else FAMILIES[name]()
    search = StagedSearchCV(model, cv=3, refit="folds", n_iter_no_change=3)
    averaged = search.fit(X, y)
    one = clone(search).set_params(refit="all").fit(X, y)
    if name in ("HistGradientBoosting", "MLP"):
        for without in (averaged, one):
            with pytest.raises(AttributeError, match="Classifier.*has no attribute"):
                without.feature_importances_  # noqa: B018
        return
    assert averaged.feature_importances_.shape == one.feature_importances_.shape == (4,)
    *members, last = (
        model[-1] if name == "pipeline" else model
        for model in [*averaged.estimators_, one.best_estimator_]
    )
    if name != "CatBoost":
        expected = np.mean([m.feature_importances_ for m in members], axis=0)
        assert_allclose(averaged.feature_importances_, expected)
        assert_array_equal(one.feature_importances_, last.feature_importances_)
    none = clone(search).set_params(refit=False)
    assert not hasattr(none, "feature_importances_")
    assert not hasattr(none.fit(X, y), "feature_importances_")


def test_importances_of_different_features_are_not_averaged():
    noise = np.random.RandomState(0).normal(size=(150, 6))
    select = SelectKBest(k=2)
    model = make_pipeline(select, FAMILIES["GradientBoosting"]())
    search = StagedSearchCV(model, cv=3, refit="folds", n_iter_no_change=3)
    search.fit(np.hstack([X[:, 2:], noise]), y)
    assert search.feature_importances_.shape == (2,)
    search.fit(noise, y)
    chosen = {tuple(m[0].get_support(indices=True)) for m in search.estimators_}
    assert len(chosen) > 1
    assert not hasattr(search, "feature_importances_")
