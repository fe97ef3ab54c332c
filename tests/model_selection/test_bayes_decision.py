"""A classifier that decides at the least expected cost."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_superior.metrics import bayes_decision, decision_cost, get_scorer
from sklearn_superior.model_selection import BayesDecisionClassifier, StagedSearchCV

COSTS = {"false_positive": 1, "false_negative": 20}
X2, Y2 = load_breast_cancer(return_X_y=True)
X3, Y3 = load_iris(return_X_y=True)
ORDINAL = [[0, 1, 4], [1, 0, 1], [4, 1, 0]]
REFER = [[0, 1, 1, 0.1], [1, 0, 1, 0.1], [1, 1, 0, 0.1]]


def linear():
    return make_pipeline(StandardScaler(), LogisticRegression())


@parametrize_with_checks([BayesDecisionClassifier(LogisticRegression(), None)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_it_predicts_by_the_estimators_probabilities():
    model = BayesDecisionClassifier(linear(), ORDINAL).fit(X3, Y3)
    alone = linear().fit(X3, Y3)
    assert_array_equal(model.predict_proba(X3), alone.predict_proba(X3))
    assert_array_equal(
        model.predict(X3), bayes_decision(alone.predict_proba(X3), ORDINAL)
    )
    assert_allclose(model.expected_cost(X3), alone.predict_proba(X3) @ ORDINAL)
    cost = decision_cost(Y3, alone.predict_proba(X3), cost_matrix=ORDINAL)
    assert model.score(X3, Y3) == -cost


def test_expensive_misses_move_the_threshold():
    model = BayesDecisionClassifier(linear(), COSTS).fit(X2, Y2)
    assert_array_equal(model.predict(X2), model.predict_proba(X2)[:, 1] > 1 / 21)
    assert model.predict(X2).dtype == Y2.dtype


def test_a_decision_that_is_no_class():
    names = [0, 1, 2, "refer"]
    model = BayesDecisionClassifier(linear(), REFER, decisions=names).fit(X3, Y3)
    referred = model.predict_proba(X3).max(axis=1) < 0.9
    assert 0 < referred.sum() < len(X3)
    assert_array_equal(model.predict(X3) == "refer", referred)
    assert set(model.predict(X3)[~referred]) == {0, 1, 2}


def test_frames_name_classes_and_decisions():
    species = load_iris().target_names[Y3]
    frame = pd.DataFrame(
        REFER, index=["setosa", "versicolor", "virginica"], columns=["s", "c", "v", "?"]
    )
    model = BayesDecisionClassifier(linear(), frame.iloc[::-1]).fit(X3, species)
    assert_array_equal(model.cost_matrix_, REFER)
    assert set(model.predict(X3)) == {"s", "c", "v", "?"}


def test_cross_validation_and_grids_over_costs():
    scores = cross_val_score(BayesDecisionClassifier(linear(), COSTS), X2, Y2)
    q = cross_val_predict(linear(), X2, Y2, method="predict_proba")
    assert_allclose(-scores.mean(), decision_cost(Y2, q, cost_matrix=COSTS), rtol=0.02)
    grid = {
        "cost_matrix": [None, COSTS],
        "estimator__logisticregression__C": [0.01, 1],
    }
    search = GridSearchCV(
        BayesDecisionClassifier(linear(), COSTS), grid, scoring="recall"
    )
    assert search.fit(X2, Y2).best_params_["cost_matrix"] == COSTS


def test_a_fitted_classifier_stays_as_it_is():
    fitted = linear().fit(X2[::2], Y2[::2])
    frozen = FrozenEstimator(fitted)
    model = BayesDecisionClassifier(frozen, COSTS).fit(X2[1::2], Y2[1::2])
    assert_array_equal(model.predict_proba(X2), fitted.predict_proba(X2))
    assert_array_equal(clone(model).fit(X2, Y2).predict(X2), model.predict(X2))


def test_around_a_search():
    booster = HistGradientBoostingClassifier(max_iter=5)
    model = BayesDecisionClassifier(StagedSearchCV(booster, cv=3), ORDINAL)
    assert set(model.fit(X3, Y3).predict(X3)) == {0, 1, 2}


def test_weights_reach_the_classifier():
    weight = np.where(Y2 == 1, 10.0, 1.0)
    expected = LogisticRegression(max_iter=5000).fit(X2, Y2, sample_weight=weight)
    inner = LogisticRegression(max_iter=5000)
    model = BayesDecisionClassifier(inner, COSTS).fit(X2, Y2, sample_weight=weight)
    assert_array_equal(model.predict_proba(X2), expected.predict_proba(X2))
    with sklearn.config_context(enable_metadata_routing=True):
        inner = LogisticRegression(max_iter=5000).set_fit_request(sample_weight=True)
        routed = BayesDecisionClassifier(inner, COSTS)
        routed.fit(X2, Y2, sample_weight=weight)
    assert_array_equal(routed.predict_proba(X2), expected.predict_proba(X2))


def test_a_fold_that_lacks_a_class():
    names = {k: dict(enumerate(row)) for k, row in enumerate(ORDINAL)}
    two = Y3 < 2
    with pytest.warns(UserWarning, match=r"not in the data: \[2\]"):
        model = BayesDecisionClassifier(linear(), names).fit(X3[two], Y3[two])
    assert model.cost_matrix_.shape == (2, 3)
    with pytest.raises(ValueError, match=r"classes \[0, 1\]. Got 3 rows. If a fold"):
        BayesDecisionClassifier(linear(), ORDINAL).fit(X3[two], Y3[two])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cost_matrix": REFER}, "a name for each of the 4 columns"),
        ({"cost_matrix": ORDINAL, "decisions": list("aab")}, "all different"),
        (
            {"cost_matrix": pd.DataFrame(ORDINAL), "decisions": list("abc")},
            "must be None if cost_matrix names its columns",
        ),
    ],
)
def test_bad_decisions(options, message):
    with pytest.raises(ValueError, match=message):
        BayesDecisionClassifier(linear(), **options).fit(X3, Y3)


def test_a_classifier_without_probabilities():
    with pytest.raises(TypeError, match="with predict_proba. Got LinearSVC"):
        BayesDecisionClassifier(LinearSVC(), COSTS).fit(X2, Y2)


class Reversed(LogisticRegression):
    """A classifier whose classes are in descending order."""

    def fit(self, X, y):
        super().fit(X, y)
        self.classes_ = self.classes_[::-1]
        return self

    def predict_proba(self, X):
        return super().predict_proba(X)[:, ::-1]


def test_classes_in_another_order():
    costs = np.array(ORDINAL) + [[0, 2, 0]]  # not symmetric
    expected = BayesDecisionClassifier(LogisticRegression(max_iter=500), costs)
    model = BayesDecisionClassifier(Reversed(max_iter=500), costs)
    expected.fit(X3, Y3), model.fit(X3, Y3)
    assert_array_equal(model.predict(X3), expected.predict(X3))
    assert model.score(X3, Y3) == expected.score(X3, Y3)


def test_bad_costs_are_found_before_training():
    class Slow(LogisticRegression):
        def fit(self, X, y):
            raise AssertionError("it was trained")

    for costs in ([[0, np.nan], [1, 0]], {"fp": 1, "fn": 20}, 20):
        with pytest.raises((ValueError, TypeError), match="cost_matrix"):
            BayesDecisionClassifier(Slow(), costs).fit(X2, Y2)


class Untrained(DummyClassifier):
    """Must not be trained."""

    def fit(self, X, y):
        raise AssertionError("trained before the costs were checked")


@pytest.mark.parametrize(
    ("costs", "match"),
    [
        (COSTS, "have the form {class: {decision: cost}} unless"),
        ({"bening": {"no": 0}, "malignant": {"no": 9}}, "one row for each of the cla"),
        (np.ones((3, 2)), r"a row for each of the classes \['benign', 'malignant'\]"),
    ],
)
def test_costs_of_other_classes_are_found_before_training(costs, match):
    y = np.where(Y2 == 1, "benign", "malignant")
    with pytest.raises(ValueError, match=match):
        BayesDecisionClassifier(Untrained(), costs).fit(X2, y)


def test_a_fitted_classifier_may_know_more_classes_than_the_data():
    frozen = FrozenEstimator(linear().fit(X3, Y3))
    model = BayesDecisionClassifier(make_pipeline(frozen), ORDINAL)
    assert len(model.fit(X3[:100], Y3[:100]).decisions_) == 3


def test_weights_are_requested_for_the_score():
    weight = np.where(Y2 == 1, 1.0, 0.01)
    scores = {}
    with sklearn.config_context(enable_metadata_routing=True):
        for requested in (True, False):
            inner = LogisticRegression(C=1e-6, max_iter=5000)
            inner.set_fit_request(sample_weight=True)
            model = BayesDecisionClassifier(inner, None)
            model.set_score_request(sample_weight=requested)
            result = cross_validate(model, X2, Y2, params={"sample_weight": weight})
            scores[requested] = result["test_score"]
    assert not np.allclose(scores[True], scores[False])


def test_a_class_that_was_never_seen_costs_what_its_row_says():
    names = {k: dict(enumerate(row)) for k, row in enumerate(ORDINAL)}
    with pytest.warns(UserWarning, match="not in the data"):
        model = BayesDecisionClassifier(linear(), names).fit(X3[:100], Y3[:100])
    with pytest.warns(UserWarning, match="never seen"):
        score = model.score(X3[100:], Y3[100:])
    assert score == -np.mean(np.array(ORDINAL)[2, model.predict(X3[100:])])
    model = BayesDecisionClassifier(linear(), None).fit(X3[:100], Y3[:100])
    with pytest.warns(UserWarning, match="never seen"):
        assert model.score(X3, Y3) == -1 / 3  # the errors


def test_names_of_decisions_that_are_tuples():
    names = [("a", 1), ("b", 2)]
    costs = [[0, 1], [1, 0], [1, 1]]
    model = BayesDecisionClassifier(linear(), costs, decisions=names).fit(X3, Y3)
    assert set(model.predict(X3)) == set(names)


@pytest.mark.parametrize("names", [["a", "b", "c"], [10, 20, 30]])
def test_names_of_decisions_in_an_array(names):
    by_list = BayesDecisionClassifier(linear(), ORDINAL, decisions=names)
    by_array = BayesDecisionClassifier(linear(), ORDINAL, decisions=np.array(names))
    expected = by_list.fit(X3, Y3).predict(X3)
    found = by_array.fit(X3, Y3).predict(X3)
    assert found.dtype == expected.dtype == np.array(names).dtype
    assert_array_equal(found, expected)


@pytest.mark.parametrize("decisions", [5, [["a"], ["b"], ["c"]], "abc"])
def test_decisions_must_be_names(decisions):
    with pytest.raises(
        TypeError, match="'decisions' parameter must be a list of names"
    ):
        BayesDecisionClassifier(linear(), ORDINAL, decisions=decisions).fit(X3, Y3)


def test_ties_are_scored_as_they_are_decided():
    X, y = X2[::2], Y2[::2]
    for misses in (1 / 4, 2 / 3, 3 / 2, 4, 9):  # thresholds at which neighbours tie
        costs = np.array([[0, misses], [1, 0]])
        model = BayesDecisionClassifier(KNeighborsClassifier(5), costs)
        model.fit(X2[1::2], Y2[1::2])
        paid = costs[y, model.predict(X)].mean()
        scorer = get_scorer("neg_decision_cost", cost_matrix=costs)
        assert -model.score(X, y) == -scorer(model, X, y) == pytest.approx(paid)


def test_several_outputs_and_a_single_class():
    model = BayesDecisionClassifier(DecisionTreeClassifier(), None)
    two = np.column_stack([Y3, Y3])
    for y in (two, two.tolist(), pd.DataFrame(two)):
        with pytest.raises(ValueError, match=r"one output.*Got shape \(150, 2\)"):
            model.fit(X3, y)
    with pytest.raises(ValueError, match=r"at least two classes.*Got the class \[0\]"):
        model.fit(X3[:50], Y3[:50])


def test_costs_that_are_set_after_fit_wait_for_the_next_one():
    model = BayesDecisionClassifier(linear(), COSTS).fit(X2, Y2)
    score, decisions = model.score(X2, Y2), model.predict(X2)
    model.set_params(cost_matrix=None)
    assert model.score(X2, Y2) == score
    assert_array_equal(model.predict(X2), decisions)
    costs = np.array([[0, 1.0], [20, 0]])
    model.set_params(cost_matrix=costs).fit(X2, Y2)
    costs[:] = 1  # in place
    assert model.score(X2, Y2) == score


@pytest.mark.parametrize("dtype", [np.int8, float, bool])
def test_classes_keep_their_dtype(dtype):
    y = (Y2 == 1).astype(dtype)
    model = BayesDecisionClassifier(GaussianNB(), {1: {1: 0, 0: 9}, 0: {1: 1, 0: 0}})
    assert model.fit(X2, y).predict(X2).dtype == dtype


def test_the_given_estimator_is_not_fitted():
    inner = LogisticRegression(max_iter=500)
    BayesDecisionClassifier(inner, ORDINAL).fit(X3, Y3)
    assert not hasattr(inner, "coef_")


def test_other_columns_are_refused_even_if_the_classifier_takes_them():
    model = BayesDecisionClassifier(DummyClassifier(), ORDINAL).fit(X3, Y3)
    with pytest.raises(ValueError, match="X has 2 features.*expecting 4"):
        model.predict(X3[:, :2])
