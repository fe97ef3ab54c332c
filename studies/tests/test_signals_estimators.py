"""Rockets with logistic regression, and features for boosting."""

import sys
from types import ModuleType

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.preprocessing import StandardScaler

from sklearn_superior.metrics import fit_temperature, scale_temperature
from studies.signals import estimators
from studies.signals.estimators import RocketClassifier, describe_windows


class Flat:
    """A rocket that has the values themselves as features."""

    def __init__(self, random_state, n_jobs):
        pass

    def fit_transform(self, X):
        return X.reshape(len(X), -1)

    transform = fit_transform


@pytest.fixture
def aeon(monkeypatch):
    path = "aeon.transformations.collection.convolution_based"
    parts = path.split(".")
    for k in range(1, len(parts) + 1):
        monkeypatch.setitem(sys.modules, ".".join(parts[:k]), ModuleType("x"))
    sys.modules[path].Flat = Flat
    sys.modules["aeon.transformations.collection"].convolution_based = sys.modules[path]


def test_a_rocket_is_calibrated_logistic_regression(aeon):
    rng = np.random.RandomState(0)
    y, groups = np.arange(120) % 3, np.arange(120) // 12
    X = rng.normal(size=(120, 2, 12)) + 0.4 * y[:, None, None]
    model = RocketClassifier("Flat", 0).fit(X, y, groups)
    flat = StandardScaler().fit_transform(X.reshape(120, -1))  # not rotated
    cv = StratifiedGroupKFold(5, shuffle=True, random_state=0)
    losses, forecasts = {}, {}
    for C in (1e-5, 1e-4, 1e-3, 1e-2, 1e-1):
        proba = np.zeros((120, 3))
        for train, test in cv.split(flat, y, groups):
            own = LogisticRegression(C=C, tol=1e-8, max_iter=1000)
            proba[test] = own.fit(flat[train], y[train]).predict_proba(flat[test])
        losses[C], forecasts[C] = log_loss(y, proba), proba
    C = min(losses, key=losses.get)
    assert model.C_ == pytest.approx(C)
    temperature = fit_temperature(y, forecasts[C])
    assert model.temperature_ == pytest.approx(temperature, rel=1e-2)
    own = LogisticRegression(C=C, tol=1e-8, max_iter=1000).fit(flat, y)
    expected = scale_temperature(own.predict_proba(flat), temperature)
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=5e-3)


def test_rows_of_classes_that_a_fold_does_not_know_are_not_judged():
    X, y = np.arange(10.0)[:, None], np.array([0, 1] * 4 + [2, 2])
    folds = [(np.arange(8), np.arange(6, 10)), (np.arange(2, 10), np.arange(2))]
    true, proba = estimators.forecast_out_of_fold(X, y, folds, 1.0)
    assert true.tolist() == [0, 1, 0, 1]
    assert (proba[:2, 2] == 0).all()
    assert (proba[2:, 2] > 0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1)


def test_features_of_a_window():
    t = np.arange(32)
    X = np.stack([[np.cos(2 * np.pi * t / 32), np.cos(2 * np.pi * 15 * t / 32)]])
    features = describe_windows(X).reshape(-1, 2)  # a row for each feature
    mean, std, changes, least, _, median, _, most = features[:8]
    np.testing.assert_allclose([mean, median], 0, atol=1e-12)
    np.testing.assert_allclose(std, np.sqrt(0.5))
    np.testing.assert_allclose([least, most], [[-1, -1], [1, 1]], atol=0.02)
    np.testing.assert_allclose(changes, np.abs(np.diff(X[0])).mean(axis=1))
    bands = features[8:]
    assert bands.shape == (4, 2)
    assert bands.argmax(axis=0).tolist() == [0, 3]  # slow and fast


def test_bands_have_all_frequencies_once():
    for n in range(2, 40):
        energy = np.arange(n)[None, None]
        bands = estimators.split_bands(energy)
        assert np.concatenate(bands, axis=2).ravel().tolist() == list(range(n))


def test_short_windows_are_lengthened():
    assert estimators.pad(np.arange(3.0)[None, None])[0, 0].tolist() == [0, 1] + 7 * [2]
