"""Columns of probabilities are matched to the classes of estimators and labels."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.naive_bayes import GaussianNB

from sklearn_superior.metrics import (
    get_scorer,
    neg_penalized_brier_scorer,
    penalized_brier_score_loss,
)
from sklearn_superior.metrics._rules import RULES
from tests.metrics.forecasts import LOSSES

IRIS = load_iris(return_X_y=True)
CANCER = load_breast_cancer(return_X_y=True)


def text(y):
    return np.array(["one", "three", "two", "zero"])[y]


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@pytest.mark.parametrize("name_labels", [False, True])
@pytest.mark.parametrize("seen", [[0, 2], [0], [0, 1, 2]])
def test_a_class_never_seen_counts_with_probability_zero(rule, seen, name_labels):
    X, y = IRIS
    y = np.where(np.arange(len(y)) % 10, y, 3)
    rows = np.isin(y, seen)
    labels = text(y) if name_labels else y
    model = GaussianNB().fit(X[rows], labels[rows])
    full = np.zeros((len(y), 4))
    for label, column in zip(model.classes_, model.predict_proba(X).T, strict=True):
        full[:, np.flatnonzero(np.unique(labels) == label)[0]] = column
    missing = repr(np.setdiff1d(labels, model.classes_).tolist())[1:-1]
    with pytest.warns(UserWarning, match="never seen: .*" + missing) as caught:
        score = get_scorer(f"penalized_{rule.name}")(model, X, labels)
    assert len(caught) == 1
    assert_allclose(score, -LOSSES[rule.name](labels, full))


class Unsorted(ClassifierMixin, BaseEstimator):
    """A classifier whose classes are not in order."""

    def fit(self, X, y):
        self.model_ = GaussianNB().fit(X, y)
        self.classes_ = self.model_.classes_[::-1]
        return self

    def predict_proba(self, X):
        return self.model_.predict_proba(X)[:, ::-1]


@pytest.mark.parametrize("data", [IRIS, CANCER])
def test_columns_are_matched_to_the_classes_of_the_estimator(data):
    X, y = data
    ordered = neg_penalized_brier_scorer(GaussianNB().fit(X, y), X, y)
    assert_allclose(neg_penalized_brier_scorer(Unsorted().fit(X, y), X, y), ordered)


@pytest.mark.parametrize("name_labels", [False, True])
def test_declared_labels_keep_the_number_of_classes(name_labels):
    X, y = IRIS
    y = text(y) if name_labels else y
    labels = np.unique(y)
    seen = labels[[0, 2]]
    rows = np.isin(y, seen)
    model = GaussianNB().fit(X[rows], y[rows])
    proba = np.insert(model.predict_proba(X), 1, 0, axis=1)
    scorer = get_scorer("neg_penalized_brier_score", labels=labels)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for part in (rows, slice(None)):
            expected = -penalized_brier_score_loss(y[part], proba[part], labels=labels)
            assert_allclose(scorer(model, X[part], y[part]), expected)


def test_labels_of_another_type_are_refused():
    X, y = IRIS
    model = GaussianNB().fit(X, y)
    message = r"y_true has labels \['0', '1', '2'\], of another type than the classes"
    with pytest.raises(ValueError, match=message):
        neg_penalized_brier_scorer(model, X, y.astype(str))


@pytest.mark.parametrize("labels", [["0", "1", "2"], [0, 1, 2]])
def test_declared_labels_of_another_type_are_refused(labels):
    X, y = IRIS
    y = y if isinstance(labels[0], str) else text(y)
    model = GaussianNB().fit(X, y)
    scorer = get_scorer("neg_penalized_brier_score", labels=labels)
    with pytest.raises(ValueError, match="'labels' option of the scorer must be of"):
        scorer(model, X, y)
    with pytest.raises(ValueError, match="'labels' option of the scorer must be of"):
        scorer.prepare_all([scorer], model.classes_, y)


@pytest.mark.parametrize("declared", [None, [0, 1, 2, 3, 4]])
@pytest.mark.parametrize("seen", [[0, 2], [0, 1, 2]])
def test_a_torch_target_with_a_class_never_seen(seen, declared):
    torch = pytest.importorskip("torch")
    X, y = IRIS
    y = np.where(np.arange(len(y)) % 10, y, 3)
    rows = np.isin(y, seen)
    model = GaussianNB().fit(X[rows], y[rows])
    scorer = get_scorer("neg_penalized_brier_score", labels=declared)

    class InTorch(BaseEstimator):
        classes_ = model.classes_

        def predict_proba(self, X):
            return torch.asarray(model.predict_proba(X))

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        expected = scorer(model, X, y)
        with config_context(array_api_dispatch=True):
            score = scorer(InTorch(), X, torch.asarray(y))
            mixed = scorer(model, X, torch.asarray(y))
    assert_allclose([score, mixed], expected, rtol=1e-12)
    assert len(caught) == (3 if declared is None else 0)
    assert all("never seen" in str(warning.message) for warning in caught)


@pytest.mark.parametrize("convert", [list, tuple, np.asarray, "torch"])
@pytest.mark.parametrize("name", ["penalized_brier", "refined_log_loss"])
@pytest.mark.parametrize("unseen", [False, True])
def test_classes_of_any_kind(convert, name, unseen):
    X, y = IRIS
    model = GaussianNB().fit(X, y)
    if convert == "torch":
        convert = pytest.importorskip("torch").asarray
    labels = np.where(np.arange(150) % 50 == 7, 5, y) if unseen else y

    class OtherClasses(ClassifierMixin, BaseEstimator):
        classes_ = convert([0, 1, 2])

        def predict_proba(self, X):
            return model.predict_proba(X)

    scorer = get_scorer(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert scorer(OtherClasses(), X, labels) == scorer(model, X, labels)


def test_an_estimator_that_was_fitted_on_tensors():
    torch = pytest.importorskip("torch")
    X, y = IRIS
    expected = neg_penalized_brier_scorer(LinearDiscriminantAnalysis().fit(X, y), X, y)
    X, y = torch.asarray(X), torch.asarray(y)
    with config_context(array_api_dispatch=True):
        model = LinearDiscriminantAnalysis().fit(X, y)
        assert isinstance(model.classes_, torch.Tensor)
        assert_allclose(neg_penalized_brier_scorer(model, X, y), expected, rtol=1e-6)
        rows = y != 1
        assert neg_penalized_brier_scorer(model, X[rows], y[rows]) < 0


def test_one_hot_targets_of_two_and_of_more_classes():
    for X, y in (IRIS, CANCER):
        model = GaussianNB().fit(X, y)
        one_hot = np.eye(y.max() + 1)[y]
        expected = neg_penalized_brier_scorer(model, X, y)
        assert_allclose(neg_penalized_brier_scorer(model, X, one_hot), expected)


def test_one_class_and_another_declared():
    X, y = IRIS
    model = DummyClassifier().fit(X[50:100], y[50:100])
    scorer = get_scorer("brier", labels=[0])
    assert scorer(model, X[50:100], y[50:100]) == 0
