"""One default for all doors, as the documentation says."""

import inspect

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import HistGradientBoostingClassifier

from sklearn_superior.early_stopping import EarlyStopper, EarlyStoppingClassifier
from sklearn_superior.metrics import fit_temperature, get_scorer
from sklearn_superior.model_selection import StagedSearchCV, compare_stopping_rules
from sklearn_superior.neural_network import CNNClassifier

DOORS = [EarlyStoppingClassifier, CNNClassifier, StagedSearchCV]
X, Y = load_iris(return_X_y=True)


def default(function, name):
    return inspect.signature(function).parameters[name].default


@pytest.mark.parametrize("door", [*DOORS, EarlyStopper, compare_stopping_rules])
def test_the_patience_is_the_same(door):
    assert default(door, "n_iter_no_change") == 20
    assert default(door, "tol") == 0


@pytest.mark.parametrize("door", DOORS)
def test_rule_and_calibration_have_the_same_names(door):
    assert default(door, "scoring") is None
    assert default(door, "calibration") == "auto"


def test_one_model_of_all_rows_and_temperatures_that_only_soften():
    assert default(StagedSearchCV, "refit") == "all"
    assert default(fit_temperature, "sharpen") is False


def fitted(door, **options):
    if door is CNNClassifier:
        pytest.importorskip("torch")
        model = CNNClassifier(hidden=8, max_iter=3, random_state=0, **options)
        return model.fit(np.tile(X[:, np.newaxis], 2), Y)
    booster = HistGradientBoostingClassifier(max_iter=3)
    seed = {"random_state": 0} if door is EarlyStoppingClassifier else {}
    return door(booster, **seed, **options).fit(X, Y)


@pytest.mark.filterwarnings("ignore:The best")
@pytest.mark.parametrize("door", DOORS)
def test_no_scoring_is_the_refined_log_loss(door):
    model = fitted(door)
    assert repr(model.scorer_) == repr(get_scorer("neg_refined_log_loss"))
    assert model.temperature_ >= 1


@pytest.mark.filterwarnings("ignore:The best")
@pytest.mark.parametrize("door", DOORS)
def test_the_option_of_the_rule_decides_for_the_shipped_temperature(door):
    """Three stages are underfitted, so that sharper probabilities are better."""
    scorer = get_scorer("neg_refined_log_loss", sharpen=True)
    assert fitted(door, scoring=scorer).temperature_ < 1
    assert fitted(door, scoring="neg_penalized_brier_score").temperature_ == 1
