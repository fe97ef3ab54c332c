"""Scores of all stages of a fitted ensemble."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_superior.early_stopping import staged_scores
from sklearn_superior.metrics import penalized_brier_score_loss
from tests.early_stopping.families import (
    ENSEMBLES,
    FAMILIES,
    expected_curve,
    make_data,
    plain_stopping,
)

pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")


@pytest.mark.parametrize("name", ENSEMBLES)
@pytest.mark.parametrize("kind", ["binary", "five"])
def test_staged_scores(name, kind):
    X, y, X_val, y_val = make_data(kind)
    classes, codes = np.unique(y, return_inverse=True)
    codes_val = np.searchsorted(classes, y_val)
    curve, _ = expected_curve(name, kind, penalized_brier_score_loss)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = FAMILIES[name]().fit(X, codes)
        pipeline = make_pipeline(StandardScaler(), FAMILIES[name]()).fit(X, codes)
    scores = staged_scores(model, X_val, codes_val, scoring="neg_penalized_brier_score")
    assert_allclose(scores, curve, rtol=1e-5)
    default = staged_scores(model, X_val, codes_val, scoring="neg_refined_log_loss")
    assert_array_equal(staged_scores(model, X_val, codes_val), default)
    in_pipeline = staged_scores(pipeline, X_val, codes_val, scoring="f1_macro")
    assert len(in_pipeline) == 40


def test_staged_scores_of_others():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(TypeError, match="MLPClassifier does not keep its stages"):
        staged_scores(FAMILIES["MLP"]().partial_fit(X, y, classes=[0, 1, 2]), X, y)
    with pytest.raises(TypeError, match="RandomForestClassifier cannot be"):
        staged_scores(RandomForestClassifier().fit(X, y), X, y)


@pytest.mark.parametrize("name", ENSEMBLES)
def test_staged_scores_of_an_early_stopped_model(name):
    X, y, X_val, y_val = make_data("five")
    model = plain_stopping(FAMILIES[name](), n_iter_no_change=3)
    model.fit(X, y, X_val=X_val, y_val=y_val)
    scores = staged_scores(model, X_val, y_val, scoring="neg_penalized_brier_score")
    assert_allclose(
        scores, model.validation_scores_[: model.best_iteration_ + 1], rtol=1e-5
    )
