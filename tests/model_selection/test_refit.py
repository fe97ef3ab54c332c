"""The temperature, and the model that is trained on all rows."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning

from sklearn_superior.model_selection import StagedSearchCV
from tests.model_selection.searches import CV, data, small


@pytest.mark.parametrize(
    ("scoring", "calibration", "fitted"),
    [
        (None, "auto", True),
        ("refined_log_loss", "auto", True),
        ("neg_refined_brier_score", "auto", True),
        ("log_loss", "auto", False),
        ("accuracy", "auto", False),
        ("accuracy", "temperature", True),
        (None, None, False),
        (["refined_log_loss", "accuracy"], "auto", True),
        (["accuracy", "refined_log_loss"], "auto", False),
    ],
)
def test_which_rules_ship_a_temperature(scoring, calibration, fitted):
    X, y = data("binary")
    overconfident = small(max_depth=5, learning_rate=1.0)
    search = StagedSearchCV(
        overconfident, scoring=scoring, calibration=calibration, cv=CV
    ).fit(X, y)
    assert (search.temperature_ > 1.0) == fitted


class Diverging(GradientBoostingClassifier):
    """Learns wrongly from many rows."""

    def fit(self, X, y, **options):
        if len(X) == 300:
            y = np.roll(y, 1)
        return super().fit(X, y, **options)


def test_a_refit_that_goes_astray_warns():
    X, y = data("binary")
    order = np.argsort(y, kind="stable")
    X, y = X[order], np.tile([0, 1], 150)
    X[:, 0] = y + 0.1 * X[:, 0]
    model = Diverging(n_estimators=15, random_state=0)
    with pytest.warns(UserWarning, match="training probably diverged.*refit='folds'"):
        StagedSearchCV(model, cv=CV, refit="all").fit(X, y)


class FailingOnAll(GradientBoostingClassifier):
    """Cannot be trained on all rows, or has no probabilities then."""

    def fit(self, X, y, **options):
        self.n_seen_ = len(X)
        if len(X) == 300 and self.max_depth == 1:
            raise FloatingPointError("the weights are not finite")
        return super().fit(X, y, **options)

    def predict_proba(self, X):
        y_proba = super().predict_proba(X)
        return y_proba * np.nan if self.n_seen_ == 300 else y_proba


@pytest.mark.parametrize(
    ("depth", "reason"),
    [
        (1, "FloatingPointError: the weights are not finite"),
        (2, "ValueError: The final model does not predict as it did"),
    ],
)
def test_a_refit_that_fails_leaves_the_search(depth, reason):
    X, y = data("binary")
    model = FailingOnAll(n_estimators=5, max_depth=depth, random_state=0)
    search = StagedSearchCV(model, {"learning_rate": [0.1, 0.2]}, cv=CV, refit="all")
    with pytest.warns(FitFailedWarning, match=f"on all rows failed.*{reason}.*'folds'"):
        search.fit(X, y)
    peer = StagedSearchCV(
        small(n_estimators=5, max_depth=depth), search.param_grid, cv=CV, refit=False
    ).fit(X, y)
    assert search.best_params_ == peer.best_params_
    assert search.best_score_ == peer.best_score_
    np.testing.assert_array_equal(search.oof_proba_, peer.oof_proba_)
    assert search.temperature_ == peer.temperature_
    for name in ("best_estimator_", "refit_time_", "predict", "predict_proba", "score"):
        assert not hasattr(search, name)
    for copied in (search, pickle.loads(pickle.dumps(search))):
        with pytest.raises(AttributeError) as caught:
            copied.predict(X)
        assert reason in str(caught.value.__cause__)
    with pytest.raises(AttributeError, match=reason):  # as it was fitted
        raise_cause(search.set_params(refit=False), X)
    # The models of the folds are not in danger, and the next fit starts anew.
    assert search.set_params(refit="folds").fit(X, y).predict(X).shape == (300,)
    kind = FloatingPointError if depth == 1 else ValueError
    with pytest.raises(kind):
        search.set_params(refit="all", error_score="raise").fit(X, y)
    assert len(search.estimators_) == 3  # as it was before


def raise_cause(search, X):
    try:
        search.predict(X)
    except AttributeError as exc:
        raise exc.__cause__ from None


def test_a_class_without_weight_in_training_says_nothing_of_the_temperature():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(150, 3)), np.arange(150) % 3
    X[:, 0] += y
    weight = np.ones(150)
    weight[(y == 2) & (np.arange(150) >= 50)] = 0
    folds = [(np.arange(50, 150), np.arange(50)), (np.arange(50), np.arange(50, 150))]
    inner = GradientBoostingClassifier(n_estimators=8, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = StagedSearchCV(inner, cv=folds).fit(X, y, sample_weight=weight)
    assert 0.2 < search.temperature_ < 5


def test_importances_without_a_model_say_why():
    X, y = load_wine(return_X_y=True)
    booster = GradientBoostingClassifier(n_estimators=2)
    search = StagedSearchCV(booster, cv=3, refit=False)
    with pytest.warns(ConvergenceWarning):
        search.fit(X, y)
    with pytest.raises(AttributeError, match="because of refit=False"):
        search.feature_importances_  # noqa: B018
