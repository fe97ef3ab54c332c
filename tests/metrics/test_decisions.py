"""Bayes decisions and their cost, against a loop and what theory says of them."""

import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    TunedThresholdClassifierCV,
    cross_val_score,
)
from sklearn.naive_bayes import GaussianNB

from sklearn_superior.metrics import (
    bayes_decision,
    decision_cost,
    get_scorer,
    scale_temperature,
)
from sklearn_superior.staged._scoring import StageScorers
from tests.metrics.forecasts import CANCER, IRIS, forecasts, random_forecast, text


def cheapest(q, costs):
    """Decision of one forecast by a loop, and whether another is as good."""
    expected = [
        sum(float(p) * float(c) for p, c in zip(q, column, strict=True))
        for column in costs.T
    ]
    ordered = sorted(expected)
    is_close = len(ordered) > 1 and ordered[1] - ordered[0] < 1e-9
    return expected.index(ordered[0]), is_close


def test_ten_thousand_random_cases_against_a_loop():
    rng = np.random.default_rng(0)
    for _ in range(200):
        c, m = rng.integers(2, 7), rng.integers(1, 6)
        costs = rng.normal(size=(c, m)) * 10 ** rng.uniform(-2, 2)
        y, q = rng.integers(0, c, 50), rng.dirichlet(np.ones(c), 50)
        weight = rng.random(50)
        loop = [cheapest(row, costs) for row in q]
        decisions = bayes_decision(q, costs)
        is_clear = np.array([not is_close for _, is_close in loop])
        expected = np.array([decision for decision, _ in loop])
        assert_array_equal(decisions[is_clear], expected[is_clear])
        assert is_clear.mean() > 0.9
        options = {"cost_matrix": costs, "labels": range(c)}
        paid = [costs[i, d] for i, d in zip(y, decisions, strict=True)]
        assert_allclose(decision_cost(y, q, **options), np.mean(paid))
        assert_allclose(
            decision_cost(y, q, sample_weight=weight, **options),
            np.average(paid, weights=weight),
        )


@given(data=forecasts(max_classes=12), shift=st.integers(0, 1000))
def test_with_equal_costs_it_is_exactly_the_arg_max(data, shift):
    """Ties included, and whatever is added to the rows."""
    y, q = data
    c = q.shape[1]
    costs = 1.0 - np.eye(c)
    assert_array_equal(bayes_decision(q, costs), q.argmax(axis=1))
    shifted = costs + np.random.default_rng(shift).integers(-100, 100, (c, 1))
    assert_array_equal(bayes_decision(q, shifted), q.argmax(axis=1))
    error = np.mean(q.argmax(axis=1) != y)
    assert_allclose(decision_cost(y, q, cost_matrix=costs, labels=range(c)), error)


def test_thresholds_of_two_classes():
    a, b = 1.0, 3.0  # the threshold is a / (a + b) = 0.25
    p = np.linspace(0, 1, 101)
    decisions = bayes_decision(p, [[0, a], [b, 0]])
    assert_array_equal(decisions, (4 * np.arange(101) > 100).astype(int))
    assert_array_equal(bayes_decision(p[:, np.newaxis], [[0, a], [b, 0]]), decisions)


@pytest.mark.parametrize("a", [0.1, 1, 3, 20, 1000])
@pytest.mark.parametrize("b", [0.3, 1, 7, 20, 1000])
def test_only_rounding_moves_a_threshold(a, b):
    """Where a / (a + b) is no binary fraction, its neighbours may go either way."""
    threshold = Fraction(a) / (Fraction(a) + Fraction(b))
    near = float(threshold) + np.arange(-8, 9) * np.finfo(float).eps
    p = np.clip(np.append(np.linspace(0, 1, 400), near), 0, 1)
    expected = np.array([Fraction(q) > threshold for q in p], dtype=int)
    is_clear = np.abs(p - float(threshold)) > 2 * np.finfo(float).eps
    assert is_clear.sum() >= 410
    decisions = bayes_decision(p, [[0, a], [b, 0]])
    assert_array_equal(decisions[is_clear], expected[is_clear])


def test_a_column_of_constant_cost_declines_to_decide():
    _, q = random_forecast(np.random.default_rng(0), 500, 4)
    costs = np.c_[1.0 - np.eye(4), np.full(4, 0.3)]
    expected = np.where(q.max(axis=1) >= 0.7, q.argmax(axis=1), 4)
    assert_array_equal(bayes_decision(q, costs), expected)
    assert set(expected) == {0, 1, 2, 3, 4}


@given(seed=st.integers(0, 10**6), n_classes=st.integers(2, 6))
def test_honest_forecasts_are_cheapest(seed, n_classes):
    rng = np.random.default_rng(seed)
    truth, other = rng.dirichlet(np.ones(n_classes), 2)
    costs = rng.random((n_classes, 3))

    def expected_cost(q):
        rows = np.tile(q, (n_classes, 1))
        options = {"cost_matrix": costs, "labels": range(n_classes)}
        return decision_cost(np.arange(n_classes), rows, sample_weight=truth, **options)

    assert expected_cost(truth) <= expected_cost(other) + 1e-12


def test_a_temperature_moves_decisions_unless_all_mistakes_cost_the_same():
    _, q = random_forecast(np.random.default_rng(0), 500, 3)
    scaled = scale_temperature(q, 1.5)
    for costs, moves in (
        (1 - np.eye(3), False),
        ([[0, 1, 4], [1, 0, 1], [4, 1, 0]], True),
    ):
        is_moved = bayes_decision(q, costs) != bayes_decision(scaled, costs)
        assert is_moved.any() == moves


@pytest.mark.parametrize(
    ("costs", "error", "message"),
    [
        ([[0, 1]], ValueError, r"at least two classes. Got shape \(1, 2\)"),
        ([0, 1], ValueError, r"shape \(n_classes, n_decisions\).*Got shape \(2,\)"),
        ([[], []], ValueError, r"Got shape \(2, 0\)"),
        ([[0, np.nan], [1, 0]], ValueError, "finite costs"),
        ([[0, np.inf], [1, 0]], ValueError, "finite costs"),
        ([[0, -1e308], [1, 0]], ValueError, r"finite costs, at most 1e\+100"),
        ([["a", "b"], ["c", "d"]], TypeError, "cost_matrix must hold real numbers"),
        ({"false_positive": 1}, ValueError, "costs of false_positive and false_neg"),
        ({"a": 1, "b": 2}, TypeError, r"\{class: \{decision: cost\}\}"),
        ({0: {"x": 1}, 1: {"y": 1}}, ValueError, r"Got \['y'\] for the class 1"),
        (
            {"false_positive": [1], "false_negative": 2},
            ValueError,
            "cost_matrix cannot be read as an array",
        ),
        (np.ones((3, 3)), ValueError, "a row for each .*class.* Got 3 rows"),
    ],
)
def test_bad_costs_are_refused(costs, error, message):
    with pytest.raises(error, match=message):
        bayes_decision([0.5], costs)
    with pytest.raises(error, match=message):
        decision_cost([0, 1], [0.5, 0.6], cost_matrix=costs)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_rows_that_do_not_sum_to_one_warn(dtype):
    costs = 1 - np.eye(2)
    q = np.array([[1, 1], [0, 1]], dtype=dtype)
    with pytest.warns(UserWarning, match="y_proba do not sum to one: .* off by 1"):
        bayes_decision(q, costs)
    with pytest.warns(UserWarning, match="y_proba do not sum to one: .* off by 1"):
        decision_cost([0, 1], q, cost_matrix=costs)
    thirds = np.full((2, 3), 1 / 3, dtype=np.float32)  # the sums are rounded
    assert_array_equal(bayes_decision(thirds, 1 - np.eye(3)), [0, 0])


def test_bad_data_and_options_are_refused():
    costs = 1 - np.eye(2)
    with pytest.raises(ValueError, match="y_proba must hold probabilities"):
        bayes_decision([1.5], costs)
    with pytest.raises(ValueError, match="y_proba must not contain NaN"):
        decision_cost([0, 1], [0.5, np.nan], cost_matrix=costs)
    with pytest.raises(ValueError, match="at least two classes"):
        decision_cost([0, 0], [0.5, 0.6], cost_matrix=costs)
    for options in ({}, {"cost_matrix": costs, "penalty": 1}):
        with pytest.raises(TypeError, match="needs the option 'cost_matrix'"):
            get_scorer("neg_decision_cost", **options)
    with pytest.raises(ValueError, match="must have the shape"):
        get_scorer("neg_decision_cost", cost_matrix=[1, 2])


class Reversed(ClassifierMixin, BaseEstimator):
    """A classifier whose classes are in descending order."""

    def fit(self, X, y):
        self.model_ = GaussianNB().fit(X, y)
        self.classes_ = self.model_.classes_[::-1]
        return self

    def predict_proba(self, X):
        return self.model_.predict_proba(X)[:, ::-1]


@pytest.mark.parametrize("data", [IRIS, CANCER])
@pytest.mark.parametrize("classifier", [GaussianNB, Reversed])
def test_the_scorer_knows_the_classes(data, classifier):
    X, y = data
    X, c = X[:, :2], y.max() + 1
    costs = np.random.default_rng(0).random((c, 3))
    model = GaussianNB().fit(X, text(y))
    scorer = get_scorer("neg_decision_cost", cost_matrix=costs)
    q, weight = model.predict_proba(X), np.arange(len(y))
    expected = -decision_cost(text(y), q, cost_matrix=costs)
    judged = classifier().fit(X, text(y))
    assert_allclose(scorer(judged, X, text(y)), expected)
    assert pickle.loads(pickle.dumps(scorer))(judged, X, text(y)) == expected
    assert_allclose(
        scorer(judged, X, text(y), sample_weight=weight),
        -decision_cost(text(y), q, cost_matrix=costs, sample_weight=weight),
    )
    # A part that lacks a class is scored like any other, in early stopping, too.
    part = y != 0
    expected = -decision_cost(y[part], q[part], cost_matrix=costs, labels=range(c))
    assert_allclose(scorer(judged, X[part], text(y)[part]), expected)
    stages = StageScorers(
        {"cost": scorer, "pbs": "penalized_brier"},
        model.classes_,
        X[part],
        text(y)[part],
    )
    assert_allclose(stages(q[part])["cost"], expected)


def test_in_tools_of_scikit_learn():
    X, y = IRIS
    costs = [[0, 1, 1], [1, 0, 5], [1, 5, 0]]
    scorer = get_scorer("neg_decision_cost", cost_matrix=costs, labels=[0, 1, 2])
    search = GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9, 1]}, scoring=scorer)
    assert search.fit(X, y).best_params_ == {"var_smoothing": 1e-9}
    scores = cross_val_score(
        GaussianNB(), X, y, groups=y, scoring=scorer, cv=GroupKFold(3)
    )
    assert (scores < 0).all()  # classes that no model has seen


def test_arrays_of_torch():
    torch = pytest.importorskip("torch")
    y, q = random_forecast(np.random.default_rng(0), 60, 3)
    costs = np.random.default_rng(1).random((3, 4))
    expected = decision_cost(y, q, cost_matrix=costs), bayes_decision(q, costs)
    tensors = torch.asarray(y), torch.asarray(q)
    for dispatch in (False, True):
        with config_context(array_api_dispatch=dispatch):
            assert decision_cost(*tensors, cost_matrix=costs) == expected[0]
            assert_array_equal(bayes_decision(tensors[1], costs), expected[1])


NAMED = {
    "b": {"b": 0, "a": 2, "refer": 0.5},
    "a": {"b": 1, "a": 0, "refer": 0.5},
}


def test_named_costs_find_their_rows():
    array = [[1, 0, 0.5], [0, 2, 0.5]]  # rows a, b; columns b, a, refer
    frame = pd.DataFrame(NAMED).T
    q = np.linspace(0, 1, 11)
    for named in (NAMED, frame):
        assert_array_equal(bayes_decision(q, named), bayes_decision(q, array))
        by_name = decision_cost(["a", "b"] * 5 + ["a"], q, cost_matrix=named)
        assert by_name == decision_cost(["a", "b"] * 5 + ["a"], q, cost_matrix=array)


def test_costs_of_hits_count_too():
    costs = {"false_positive": 1, "false_negative": 5, "true_positive": 2}
    expected = [[0, 1], [5, 2]]
    q = np.linspace(0, 1, 101)
    assert_array_equal(bayes_decision(q, costs), bayes_decision(q, expected))


def test_a_row_for_a_class_that_the_data_lacks_warns():
    with pytest.warns(UserWarning, match=r"not in the data: \['c'\]"):
        decision_cost(
            ["a", "b"],
            [0.2, 0.7],
            cost_matrix=NAMED | {"c": {"b": 1, "a": 1, "refer": 1}},
        )


def test_costs_must_fit_the_classes():
    with pytest.raises(ValueError, match=r"classes \['a', 'c'\]. Got rows for"):
        decision_cost(["a", "c"], [0.2, 0.7], cost_matrix=NAMED)
    with pytest.raises(ValueError, match=r"classes \[0, 1, 2\]. Got 2 rows"):
        decision_cost([0, 1, 2], np.eye(3), cost_matrix=[[0, 1], [1, 0]])


def test_two_rows_for_a_class_are_refused():
    frame = pd.DataFrame([[0, 1], [1, 0], [2, 0]], index=["a", "b", "b"])
    with pytest.raises(ValueError, match=r"one row for each.*\['a', 'b', 'b'\]"):
        decision_cost(["a", "b"], [0.2, 0.7], cost_matrix=frame)


def test_polars_frames_have_no_index():
    polars = pytest.importorskip("polars")
    with pytest.raises(TypeError, match="pandas data frame.*Got a polars"):
        bayes_decision([0.2], polars.DataFrame({"a": [0, 1], "b": [1, 0]}))


def test_which_of_two_names_is_positive_is_not_guessed():
    costs = {"false_positive": 1, "false_negative": 20}
    with pytest.raises(ValueError, match=r"classes \['cancer', 'healthy'\]"):
        decision_cost(["cancer", "healthy"], [0.2, 0.7], cost_matrix=costs)
    with pytest.raises(ValueError, match=r"two classes.*classes \[0, 1, 2\]"):
        decision_cost([0, 1, 2], np.eye(3), cost_matrix=costs)
    booleans = decision_cost([False, True], [0.2, 0.7], cost_matrix=costs)
    assert booleans == decision_cost([0, 1], [0.2, 0.7], cost_matrix=costs)


def test_classes_with_the_names_of_cells():
    costs = {
        "true_positive": {"escalate": 0, "drop": 9},
        "false_positive": {"escalate": 1, "drop": 0},
    }
    assert bayes_decision([[0.5, 0.5], [0.95, 0.05]], costs).tolist() == [0, 1]


@pytest.mark.parametrize("labels", [(-1, 1), (1, 2), ("a", "b")])
def test_the_scorer_takes_predicted_labels(labels):
    X, y = CANCER
    y = np.array(labels)[y]
    scorer = get_scorer("neg_decision_cost", cost_matrix=[[0, 1], [5, 0]])
    tuned = TunedThresholdClassifierCV(GaussianNB(), scoring=scorer, cv=3)
    assert set(tuned.fit(X, y).predict(X)) == set(labels)


def test_names_of_classes_are_of_one_type():
    costs = {0: {"x": 1, "y": 0}, "a": {"x": 0, "y": 1}}
    with pytest.raises(TypeError, match=r"'cost_matrix'.*one type.*Got \[0, 'a'\]"):
        bayes_decision([0.2], costs)


def test_columns_of_a_frame_in_another_order_warn():
    frame = pd.DataFrame([[0.9, 0.1]], columns=["b", "a"])
    with pytest.warns(UserWarning, match=r"follow the classes \['a', 'b'\]"):
        bayes_decision(frame, NAMED)
    assert bayes_decision(frame[["a", "b"]], NAMED).tolist() == [0]


@pytest.mark.parametrize("classes", [(False, True), (0, 1), (-1, 1)])
def test_numbers_and_booleans_that_are_held_as_objects(classes):
    costs = {"false_positive": 1, "false_negative": 20}
    held = np.array(classes, dtype=object)
    expected = decision_cost(np.array(classes), [0.2, 0.7], cost_matrix=costs)
    assert decision_cost(held, [0.2, 0.7], cost_matrix=costs) == expected
