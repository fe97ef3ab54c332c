"""Scores of stages: prepared once, and equal to those of plain scorers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.metrics import make_scorer, recall_score

from sklearn_superior.early_stopping._scoring import (
    StageScorer,
    StageView,
    align_columns,
    check_scorer,
)
from sklearn_superior.metrics import get_scorer

NAMES = [
    "neg_penalized_brier_score",
    "neg_penalized_log_loss",
    "neg_penalized_spherical_loss",
    "accuracy",
    "f1_macro",
]


@st.composite
def forecasts(draw):
    n_classes = draw(st.integers(2, 6))
    n_rows = draw(st.integers(1, 30))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    classes = np.array(["e", "b", "d", "a", "f", "c"])[:n_classes]
    classes = np.sort(classes) if draw(st.booleans()) else np.arange(n_classes) * 3
    y = classes[rng.integers(n_classes, size=n_rows)]
    y_proba = rng.dirichlet(np.full(n_classes, 0.5), size=n_rows)
    y_proba = y_proba.astype(draw(st.sampled_from([np.float32, np.float64])))
    y_proba = y_proba / y_proba.sum(axis=1, keepdims=True)
    weight = rng.random(n_rows) + 0.1 if draw(st.booleans()) else None
    return classes, y, y_proba, weight


def plain(scorer, classes, X, y, y_proba, weight):
    options = {} if weight is None else {"sample_weight": weight}
    return scorer(StageView.of(classes, X, y_proba), X, y, **options)


@given(forecasts(), st.sampled_from(NAMES))
def test_equals_the_plain_scorer(forecast, name):
    classes, y, y_proba, weight = forecast
    X = np.zeros((len(y), 1))
    score = StageScorer(name, classes, X, y, weight)
    expected = plain(get_scorer(name), classes, X, y, y_proba, weight)
    assert_allclose(score(y_proba), expected, rtol=1e-13)
    assert score(y_proba) == score(y_proba) == score(y_proba)


@given(
    forecasts(),
    st.sampled_from(["paper", "minimal", 0.7]),
    st.sampled_from(["first", "split", "correct"]),
    st.booleans(),
)
def test_options_are_prepared_as_well(forecast, penalty, ties, declares):
    classes, y, y_proba, weight = forecast
    options = {"penalty": penalty, "ties": ties}
    if declares:
        more = ["bb", "z"] if classes.dtype.kind == "U" else [-1, 100]
        options["labels"] = [*classes.tolist(), *more]
    else:
        options["labels"] = None
    scorer = get_scorer("neg_penalized_brier_score", **options)
    X = np.zeros((len(y), 1))
    score = StageScorer(scorer, classes, X, y, weight)
    expected = plain(scorer, classes, X, y, y_proba, weight)
    assert_allclose(score(y_proba), expected, rtol=1e-13)


def test_labels_are_not_looked_at_again(monkeypatch):
    y = np.array(["a", "b", "c"] * 10)
    score = StageScorer(None, np.unique(y), np.zeros((30, 1)), y)
    from sklearn_superior.metrics import _penalized

    def fail(*args, **options):
        raise AssertionError("checked again")

    monkeypatch.setattr(_penalized, "check_forecast", fail)
    assert score(np.full((30, 3), 1 / 3)) < 0


def test_bad_probabilities_are_still_noticed():
    y = np.array([0, 1, 2])
    score = StageScorer(None, np.arange(3), np.zeros((3, 1)), y)
    assert np.isnan(score(np.full((3, 3), np.nan)))  # which is no improvement
    with pytest.raises(ValueError, match=r"probabilities in \[0, 1\]"):
        score(np.full((3, 3), 2.0))
    with pytest.raises(ValueError, match=r"must have the shape \(3, 3\)"):
        score(np.full((2, 3), 1 / 3))


def test_a_class_that_only_validation_has_counts_with_probability_0():
    y = np.array([0, 1, 7])
    with pytest.warns(UserWarning, match=r"training has not: \[7\]"):
        score = StageScorer("neg_log_loss", np.arange(2), np.zeros((3, 1)), y)
    assert score(np.full((3, 2), 0.5)) < -5
    with pytest.raises(ValueError, match="must have classes of the training data"):
        StageScorer(None, np.arange(2), np.zeros((1, 1)), np.array([7]))


def test_labels_of_another_type_are_refused():
    with pytest.raises(
        ValueError, match=r"labels to score must be of the type.*\['1'\]"
    ):
        StageScorer(None, np.arange(2), np.zeros((1, 1)), np.array(["1"]))


class TakesNothing:
    def __call__(self, estimator, X, y):
        return 0.0


def no_weights(estimator, X, y):
    return 0.0


def own_metric(y_true, y_pred):
    return 0.0


class Prepares(TakesNothing):
    def prepare(self):
        raise AssertionError("it is the user's own")


def test_only_our_own_scorers_are_prepared():
    y = np.array([0, 1])
    assert StageScorer(Prepares(), y, np.zeros((2, 1)), y)(np.eye(2)) == 0


class TakesAll:
    def __call__(self, estimator, X, y, **options):
        return float(options["sample_weight"].sum())


def test_scorers_that_take_no_weights_are_told_so():
    y, X, weight = np.array([0, 1]), np.zeros((2, 1)), np.array([1.0, 2.0])
    message = (
        r"'scoring' parameter must be a scorer that takes sample_weight.*no_weights"
    )
    with pytest.raises(ValueError, match=message):
        StageScorer(no_weights, np.arange(2), X, y, weight)
    assert StageScorer(no_weights, np.arange(2), X, y)(np.eye(2)) == 0
    assert StageScorer(TakesAll(), np.arange(2), X, y, weight)(np.eye(2)) == 3
    with pytest.raises(ValueError, match="must be a scorer that takes sample_weight"):
        StageScorer(make_scorer(own_metric), np.arange(2), X, y, weight)
    recall = make_scorer(recall_score)
    assert StageScorer(recall, np.arange(2), X, y, weight)(np.eye(2)) == 1


def test_the_name_of_the_parameter_is_the_callers():
    with pytest.raises(
        ValueError, match="The 'judge' parameter must be a scorer, or one of"
    ):
        check_scorer("pbs", "judge")
    with pytest.raises(ValueError, match="The 'judge' parameter must be a str, a call"):
        check_scorer(3, "judge")


def test_columns_are_aligned():
    y_proba = np.array([[0.25, 0.75]], dtype=np.float32)
    full = align_columns(y_proba, np.array(["b", "d"]), np.array(["a", "b", "c", "d"]))
    assert full.tolist() == [[0, 0.25, 0, 0.75]]
    assert full.dtype == np.float32
    assert align_columns(y_proba, np.arange(2), np.arange(2)) is y_proba
