"""The temperature, and the model that is trained on all rows."""

import warnings

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold

from sklearn_superior.model_selection import StagedSearchCV
from tests.early_stopping.families import make_data

CV = StratifiedKFold(3, shuffle=True, random_state=0)


def data(kind="five", n_rows=300):
    X, y, _, _ = make_data(kind)
    return X[:n_rows], y[:n_rows]


def small(**options):
    options = {"n_estimators": 15, "max_depth": 1, "random_state": 0} | options
    return GradientBoostingClassifier(**options)


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
    search = StagedSearchCV(
        small(), scoring=scoring, calibration=calibration, cv=CV
    ).fit(X, y)
    assert (search.temperature_ != 1.0) == fitted


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
    with pytest.warns(UserWarning, match="its training has gone astray.*refit='folds'"):
        StagedSearchCV(model, cv=CV).fit(X, y)


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
