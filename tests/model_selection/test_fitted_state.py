"""What is fitted stays as it is, whatever the parameters become afterwards."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_superior.early_stopping import EarlyStoppingClassifier, staged_scores
from sklearn_superior.metrics import fit_temperature
from sklearn_superior.model_selection import StagedSearchCV
from tests.early_stopping.families import FAMILIES, make_data
from tests.model_selection.searches import small

X, y, X_new, y_new = make_data("binary")
X, y = X[:200], y[:200]
LABELS = {
    "numbers": [1, 2],
    "words": ["yes", "no"],
    "booleans": [False, True],
    "codes": [0, 1],
}
pytestmark = pytest.mark.filterwarnings("ignore:The best .* may give a better model")


@pytest.mark.parametrize("other", ["all", "folds", False])
@pytest.mark.parametrize("refit", ["all", "folds", False])
def test_predictions_are_those_of_the_refit_that_was_fitted(refit, other):
    search = StagedSearchCV(
        small(), cv=3, refit=refit, scoring="log_loss", calibration="temperature"
    ).fit(X, y)
    if not refit:
        search.set_params(refit=other)
        assert not hasattr(search, "predict_proba")
        with pytest.raises(AttributeError) as caught:
            search.predict(X)
        assert "refit=False" in str(caught.value.__cause__)
        return
    before = search.predict_proba(X_new)
    search.set_params(refit=other, calibration=None, scoring="accuracy")
    assert_array_equal(search.predict_proba(X_new), before)
    assert_array_equal(search.predict(X_new), before.argmax(axis=1))
    assert search.score(X_new, y_new) == pytest.approx(-log_loss(y_new, before))


@pytest.mark.parametrize("other", ["all", "folds"])
def test_what_is_not_fitted_yet_goes_by_its_parameters(other):
    search = StagedSearchCV(small(), refit=other)
    assert hasattr(search, "predict")
    assert not hasattr(search.set_params(refit=False), "predict")


def make_xgboost(kind):
    pytest.importorskip("xgboost")
    model = FAMILIES["XGBoost"]().set_params(n_estimators=6)
    return make_pipeline(StandardScaler(), model) if kind == "pipeline" else model


@pytest.mark.parametrize("kind", ["alone", "pipeline"])
@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("door", ["all", "folds", "early stopping"])
def test_models_of_xgboost_predict_the_labels_of_the_user(door, labels, kind):
    named = np.array(LABELS[labels])[y]
    estimator = make_xgboost(kind)
    if door == "early stopping":
        found = EarlyStoppingClassifier(estimator, random_state=0).fit(X, named)
        models = [found.estimator_]
    else:
        found = StagedSearchCV(estimator, cv=3, refit=door).fit(X, named)
        models = [found.best_estimator_, *getattr(found, "estimators_", ())]
    assert_array_equal(models[0].predict(X_new), found.predict(X_new))
    for model in models:
        for copied in (model, pickle.loads(pickle.dumps(model))):
            assert_array_equal(copied.classes_, found.classes_)
            most_probable = copied.predict_proba(X_new).argmax(axis=1)
            predicted = copied.predict(X_new)
            assert_array_equal(predicted, found.classes_[most_probable])
            assert copied.score(X, named) > 0.6
    if door == "early stopping":
        assert len(found.feature_importances_) == X.shape[1]


@pytest.mark.parametrize("door", ["search", "early stopping"])
def test_a_model_of_xgboost_stays_one(door):
    xgboost = pytest.importorskip("xgboost")
    named = np.array(["yes", "no"])[y]
    if door == "search":
        search = StagedSearchCV(make_xgboost("alone"), cv=3, refit="all")
        model = search.fit(X, named).best_estimator_
    else:
        stopping = EarlyStoppingClassifier(make_xgboost("alone"), random_state=0)
        model = stopping.fit(X, named).estimator_
    assert isinstance(model, xgboost.XGBClassifier)
    assert repr(model).startswith("XGBClassifier(")
    assert model.feature_importances_.shape == X.shape[1:]
    margin = model.get_booster().inplace_predict(X_new, predict_type="margin")
    assert_allclose(model.predict(X_new, output_margin=True), margin, rtol=1e-5)
    assert len(staged_scores(model, X_new, np.array(["yes", "no"])[y_new]))
    # Trained anew, it is a classifier of XGBoost as any other.
    again = clone(model).fit(X, y)
    assert_array_equal(again.classes_, [0, 1])
    assert_array_equal(again.predict(X), model.fit(X, y).predict(X))
    assert set(again.predict(X)) == {0, 1}


def test_the_temperature_is_that_of_single_models_not_of_their_mean():
    """Rows that several folds test: the mean of forecasts needs another temperature."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(150, 10)), rng.integers(0, 2, 150)
    X[:, 0] += 0.8 * y
    X_new, y_new = rng.normal(size=(3000, 10)), rng.integers(0, 2, 3000)
    X_new[:, 0] += 0.8 * y_new
    search = StagedSearchCV(
        GradientBoostingClassifier(n_estimators=60, max_depth=4, random_state=0),
        cv=RepeatedStratifiedKFold(n_splits=3, n_repeats=8, random_state=0),
        scoring="accuracy",
        calibration="temperature",
        n_iter_no_change=60,
        refit="all",
    ).fit(X, y)
    raw = search.best_estimator_.predict_proba(X_new)
    best = fit_temperature(y_new, raw, prior_scale=None)
    of_the_mean = fit_temperature(y, search.oof_proba_)
    assert abs(np.log(search.temperature_ / best)) < 0.5
    assert abs(np.log(of_the_mean / best)) > 0.5  # what it must not be
    assert log_loss(y_new, search.predict_proba(X_new)) < log_loss(y_new, raw)


@pytest.mark.parametrize("door", ["all", "folds", "early stopping"])
def test_models_of_xgboost_in_the_format_of_skops(door):
    skops = pytest.importorskip("skops.io")
    model = make_xgboost("pipeline")
    if door == "early stopping":
        model = EarlyStoppingClassifier(model, random_state=0)
    else:
        model = StagedSearchCV(model, cv=3, refit=door)
    model.fit(X, np.array(["yes", "no"])[y])
    data = skops.dumps(model)
    types = skops.get_untrusted_types(data=data)
    again = skops.loads(data, trusted=types)
    assert_array_equal(again.predict(X_new), model.predict(X_new))
