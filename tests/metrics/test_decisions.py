"""Decisions of least expected cost."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_superior.metrics import bayes_decision, decision_cost

# Made for this test: eighths and integers, so that products and sums are exact.
RNG_CASES = 10_000


def random_case(rng):
    n_classes, n_decisions = rng.integers(2, 5), rng.integers(1, 6)
    parts = rng.multinomial(8, np.ones(n_classes) / n_classes, size=3)
    return parts / 8, rng.integers(-4, 10, size=(n_classes, n_decisions))


def brute_force(q, costs):
    """Compare decisions one by one; the first of equals wins."""
    best, least = None, None
    for k in range(costs.shape[1]):
        expected = sum(q[j] * costs[j, k] for j in range(len(q)))
        if best is None or expected < least:
            best, least = k, expected
    return best


def test_ten_thousand_cases_against_a_loop():
    rng = np.random.default_rng(0)
    for _ in range(RNG_CASES):
        y_proba, costs = random_case(rng)
        expected = [brute_force(q, costs) for q in y_proba]
        assert bayes_decision(y_proba, costs).tolist() == expected


def test_cost_of_decisions_against_a_loop():
    rng = np.random.default_rng(1)
    for _ in range(300):
        y_proba, costs = random_case(rng)
        labels = np.arange(len(costs))
        y_true = rng.integers(len(costs), size=3)
        weight = rng.integers(1, 5, size=3)
        paid = [
            costs[y, brute_force(q, costs)]
            for y, q in zip(y_true, y_proba, strict=True)
        ]
        options = {"cost_matrix": costs, "labels": labels}
        cost = decision_cost(y_true, y_proba, sample_weight=weight, **options)
        assert_allclose(cost, np.average(paid, weights=weight), atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_equal_costs_choose_the_arg_max_also_among_rounded_ties(n_classes):
    rng = np.random.default_rng(2)
    y_proba = rng.dirichlet(np.ones(n_classes), size=5000).round(2)
    decision = bayes_decision(y_proba, 1 - np.eye(n_classes))
    assert_array_equal(decision, y_proba.argmax(axis=1))


def test_a_constant_added_to_a_row_changes_no_decision():
    rng = np.random.default_rng(3)
    y_proba = rng.dirichlet(np.ones(3), size=1000)
    costs = rng.integers(0, 8, size=(3, 4)).astype(float)
    shifted = costs + [[1.0], [-16.0], [4.0]]
    assert_array_equal(bayes_decision(y_proba, costs), bayes_decision(y_proba, shifted))


@pytest.mark.parametrize(("a", "b"), [(1, 1), (1, 3), (7, 1), (1, 15)])
def test_two_classes_have_a_threshold(a, b):
    q = np.arange(0, 65) / 64  # among them the threshold itself
    costs = {"false_positive": a, "false_negative": b}
    assert_array_equal(bayes_decision(q, costs), (q > a / (a + b)).astype(int))


def test_a_case_is_refused_if_no_class_is_probable_enough():
    y_proba = np.random.default_rng(4).dirichlet(np.ones(3), size=1000)
    costs = np.column_stack([1 - np.eye(3), np.full(3, 0.25)])
    refused = bayes_decision(y_proba, costs) == 3
    assert_array_equal(refused, y_proba.max(axis=1) < 0.75)


def test_no_forecast_costs_less_than_the_truth():
    rng = np.random.default_rng(5)
    costs = rng.random((3, 3))
    for truth in rng.dirichlet(np.ones(3), size=200):
        honest = truth @ costs[:, bayes_decision([truth], costs)[0]]
        for other in rng.dirichlet(np.ones(3), size=20):
            assert honest <= truth @ costs[:, bayes_decision([other], costs)[0]] + 1e-12


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


@pytest.mark.parametrize(
    ("costs", "error", "message"),
    [
        ([[0, 1]], ValueError, r"at least two classes. Got shape \(1, 2\)"),
        ([0, 1], ValueError, r"shape \(n_classes, n_decisions\)"),
        ([[0, np.nan], [1, 0]], ValueError, "finite costs"),
        ({"false_positive": 1}, ValueError, "costs of false_positive and false_neg"),
        ({"a": 1, "b": 2}, TypeError, r"\{class: \{decision: cost\}\}"),
        ({"a": {"x": 1}, "b": {"y": 1}}, ValueError, r"Got \['y'\] for the class 'b'"),
        (
            np.ones((3, 3)),
            ValueError,
            "class of y_proba. Got 3 rows for 2",
        ),
    ],
)
def test_bad_costs(costs, error, message):
    with pytest.raises(error, match=message):
        bayes_decision([0.2, 0.7], costs)


def test_costs_must_fit_the_classes():
    with pytest.raises(ValueError, match=r"classes \['a', 'c'\]. Got rows for"):
        decision_cost(["a", "c"], [0.2, 0.7], cost_matrix=NAMED)
    with pytest.raises(ValueError, match=r"classes \[0, 1, 2\]. Got 2 rows"):
        decision_cost([0, 1, 2], np.eye(3), cost_matrix=[[0, 1], [1, 0]])


def test_polars_frames_have_no_index():
    polars = pytest.importorskip("polars")
    with pytest.raises(TypeError, match="pandas data frame.*Got a polars"):
        bayes_decision([0.2], polars.DataFrame({"a": [0, 1], "b": [1, 0]}))
