"""Scores of stages: prepared once, and equal to those of plain scorers."""

import numpy as np
import pytest
import sklearn.metrics
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.metrics import brier_score_loss, log_loss, make_scorer, recall_score
from sklearn.utils.class_weight import compute_sample_weight

from sklearn_superior.early_stopping import EarlyStoppingClassifier, staged_scores
from sklearn_superior.metrics import (
    d2_penalized_brier_score,
    d2_penalized_log_loss_score,
    get_scorer,
    penalized_log_loss,
)
from sklearn_superior.metrics._rules import rule_names
from sklearn_superior.staged._scoring import (
    Stage,
    StageScorer,
    StageScorers,
    align_columns,
    check_scorer,
)

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
    return scorer(Stage.of(classes, X, y_proba), X, y, **options)


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


@pytest.mark.parametrize("name", ["neg_log_loss", "neg_brier_score"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_of_scikit_learn_that_need_the_classes_are_ours(name, n_classes, dtype):
    """The same numbers, also where a class is missing."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % n_classes
    proba = rng.dirichlet(np.ones(n_classes), 40).astype(dtype)
    proba[0] = np.eye(n_classes)[1]  # a zero that counts
    X, weight = np.zeros((40, 1)), rng.random(40)
    classes = np.arange(n_classes)
    theirs = sklearn.metrics.get_scorer(name)
    view = Stage.of(classes, X, proba)
    expected = theirs(view, X, y, sample_weight=weight)
    score = StageScorer(name, classes, X, y, weight)
    assert_allclose(score(proba), expected, rtol=1e-6 if dtype == np.float32 else 1e-12)
    few = y < n_classes - 1
    score = StageScorer(name, classes, X[few], y[few])
    metric = {"neg_log_loss": log_loss, "neg_brier_score": brier_score_loss}[name]
    options = {"pos_label": 1} if n_classes == 2 and "brier" in name else {}
    seen = proba[few, 1] if n_classes == 2 else proba[few]
    expected = -metric(y[few], seen, labels=classes, **options)
    assert_allclose(score(proba[few]), expected, rtol=1e-5)


def test_a_scorer_that_does_not_know_the_classes_has_a_remedy():
    y, classes = np.array([0, 1, 1]), np.arange(3)
    X, proba = np.zeros((3, 1)), np.full((3, 3), 1 / 3)
    theirs = sklearn.metrics.get_scorer("neg_log_loss")
    score = StageScorer(theirs, classes, X, y)
    message = r"'scoring' parameter .* has none of \[2\].*Use a rule such as"
    with pytest.raises(ValueError, match=message):
        score(proba)
    whole = StageScorer(theirs, classes, X, np.array([0, 1, 2]))
    assert_allclose(whole(proba), -np.log(3))


def test_many_scorers_share_one_pass():
    rng = np.random.default_rng(0)
    y, classes = np.arange(60) % 3, np.arange(3)
    X, weight = np.zeros((60, 1)), rng.random(60)
    names = [*rule_names(refined=True), "neg_log_loss", "accuracy", "f1_macro"]
    scorers = dict.fromkeys(names) | {name: name for name in names}
    scorers["own"] = get_scorer("brier", class_weight="balanced")
    together = StageScorers(scorers, classes, X, y, weight)
    for _ in range(3):
        proba = rng.dirichlet(np.ones(3), 60)
        scores = together(proba)
        assert list(scores) == list(scorers)
        for name, scorer in scorers.items():
            alone = StageScorer(scorer, classes, X, y, weight)
            assert_allclose(scores[name], alone(proba), rtol=1e-12)


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
        StageScorer(no_weights, np.arange(2), X, y, weight)(np.eye(2))
    assert StageScorer(no_weights, np.arange(2), X, y)(np.eye(2)) == 0
    assert StageScorer(TakesAll(), np.arange(2), X, y, weight)(np.eye(2)) == 3
    with pytest.raises(ValueError, match="must be a scorer that takes sample_weight"):
        StageScorer(make_scorer(own_metric), np.arange(2), X, y, weight)(np.eye(2))
    recall = make_scorer(recall_score)
    assert StageScorer(recall, np.arange(2), X, y, weight)(np.eye(2)) == 1


def test_the_name_of_the_parameter_is_the_callers():
    with pytest.raises(ValueError, match="The 'judge' parameter must be a scorer, or"):
        check_scorer("pbs", "judge")
    with pytest.raises(ValueError, match="The 'judge' parameter must be a str, a call"):
        check_scorer(3, "judge")


def test_columns_are_aligned():
    y_proba = np.array([[0.25, 0.75]], dtype=np.float32)
    full = align_columns(y_proba, np.array(["b", "d"]), np.array(["a", "b", "c", "d"]))
    assert full.tolist() == [[0, 0.25, 0, 0.75]]
    assert full.dtype == np.float32
    assert align_columns(y_proba, np.arange(2), np.arange(2)) is y_proba


@pytest.mark.parametrize("scoring", ["neg_log_loss", "neg_brier_score"])
def test_early_stopping_on_validation_data_that_lacks_a_class(scoring):
    X, y = load_iris(return_X_y=True)
    seen = np.flatnonzero(y[1::2] < 2) * 2 + 1
    data = {"X_val": X[seen], "y_val": y[seen]}
    booster = GradientBoostingClassifier(n_estimators=5, random_state=0)
    model = EarlyStoppingClassifier(booster, scoring=scoring).fit(
        X[::2], y[::2], **data
    )
    booster = clone(booster).fit(X[::2], y[::2])
    proba = list(booster.staged_predict_proba(X[seen]))
    if scoring == "neg_log_loss":
        expected = [-log_loss(y[seen], q, labels=[0, 1, 2]) for q in proba]
    else:
        one_hot = np.eye(3)[y[seen]]
        expected = [-np.sum((q - one_hot) ** 2, axis=1).mean() for q in proba]
    assert_allclose(model.validation_scores_, expected)
    scores = staged_scores(booster, X[seen], y[seen], scoring=scoring)
    assert_allclose(scores, expected)


def test_balanced_scores_choose_the_stage():
    X, y = load_iris(return_X_y=True)
    rows = np.r_[0:50, 50:70, 100:105]
    X, y = X[rows, :2], y[rows]
    scorer = get_scorer("penalized_log_loss", class_weight="balanced")
    booster = GradientBoostingClassifier(n_estimators=8, random_state=0).fit(X, y)
    expected = [
        -penalized_log_loss(y, q, sample_weight=compute_sample_weight("balanced", y))
        for q in booster.staged_predict_proba(X)
    ]
    assert_allclose(staged_scores(booster, X, y, scoring=scorer), expected)


@pytest.mark.parametrize(
    "d2", [d2_penalized_brier_score, d2_penalized_log_loss_score], ids=["brier", "log"]
)
def test_early_stopping_by_skill_scores(d2):
    X, y = load_iris(return_X_y=True)
    X, rng = X[:, :2], np.random.default_rng(0)
    weight = rng.random(75) + 0.1
    model = EarlyStoppingClassifier(
        GradientBoostingClassifier(n_estimators=15, random_state=0),
        scoring=d2.__name__,
        n_iter_no_change=15,
    )
    data = {"X_val": X[1::2], "y_val": y[1::2], "sample_weight_val": weight}
    model.fit(X[::2], y[::2], **data)
    direct = GradientBoostingClassifier(n_estimators=15, random_state=0)
    scores = [
        d2(y[1::2], y_proba, sample_weight=weight)
        for y_proba in direct.fit(X[::2], y[::2]).staged_predict_proba(X[1::2])
    ]
    assert_allclose(model.validation_scores_, scores)
    assert model.best_iteration_ == np.argmax(scores)
    assert model.temperature_ == 1.0
    # The validation data lacks a class, or has a single one.
    lacks = y[1::2] != 1
    data = {"X_val": X[1::2][lacks], "y_val": y[1::2][lacks]}
    y_proba = model.fit(X[::2], y[::2], **data).predict_proba(data["X_val"])
    expected = d2(data["y_val"], y_proba, labels=[0, 1, 2])
    assert model.best_score_ == pytest.approx(expected)
    data = {"X_val": X[1::2][:10], "y_val": y[1::2][:10]}
    with pytest.raises(ValueError, match="d2 score is not defined"):
        model.fit(X[::2], y[::2], **data)
