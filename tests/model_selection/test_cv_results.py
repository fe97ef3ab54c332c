"""The table of a search, against that of scikit-learn for the same scores."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import GridSearchCV, ParameterGrid
from sklearn.pipeline import make_pipeline

from sklearn_superior.model_selection._cv_results import make_cv_results
from sklearn_superior.model_selection._folds import Candidate


def candidate(scores, best=0, n_iter=3):
    n_folds = len(next(iter(scores.values())))
    return Candidate(
        stage_scores=np.zeros((n_iter, n_folds)),
        best_iteration=best,
        test_scores={name: np.array(values) for name, values in scores.items()},
        fit_times=np.arange(n_folds, dtype=float),
        score_times=np.ones(n_folds),
    )


class Fixed(ClassifierMixin, BaseEstimator):
    """Its score is a function of its parameters and of the fold."""

    def __init__(self, a=0, b=0):
        self.a = a
        self.b = b

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        if self.a == 3:
            raise ValueError("a is 3")
        return self

    def predict(self, X):
        return np.zeros(len(X))

    def score(self, X, y=None):
        return score_of(self.a, self.b, int(X[0, 0]) // 10)


def score_of(a, b, fold):
    return (a * 7 + b * 3 + fold) % 5 / 4


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("error_score", [np.nan, -1.0, 1.5])
def test_scores_ranks_and_parameters_are_those_of_scikit_learn(error_score):
    X, y = np.arange(30.0).reshape(-1, 1), np.tile([0, 1], 15)
    grid = [{"a": [0, 1, 2, 3], "b": [1]}, {"a": [2]}]
    cv = [
        (np.setdiff1d(np.arange(30), test), test)
        for test in np.arange(30).reshape(3, 10)
    ]
    peer = GridSearchCV(Fixed(), grid, cv=cv, error_score=error_score, refit=False)
    peer.fit(X, y)
    settings = list(ParameterGrid(grid))
    candidates = [
        None
        if p["a"] == 3
        else candidate(
            {"score": [score_of(p["a"], p.get("b", 0), k) for k in range(3)]}
        )
        for p in settings
    ]
    ours = make_cv_results(settings, candidates, ["score"], 3, error_score)
    for name, theirs in peer.cv_results_.items():
        if name == "params":
            assert ours[name] == theirs
        elif name.startswith("param_"):
            assert ours[name].dtype == theirs.dtype
            assert_array_equal(ours[name].mask, theirs.mask)
            assert ours[name].compressed().tolist() == theirs.compressed().tolist()
        elif name.startswith("rank") and error_score == 1.5:
            # One that failed is not better than others, whatever its score is called.
            assert theirs[3] == 1
            assert_array_equal(ours[name], [*(theirs[:3] - 1), 5, theirs[4] - 1])
        elif "time" not in name:
            assert_allclose(ours[name], theirs, err_msg=name)


def test_times_stages_and_several_scorers():
    scores = {"ll": [-1.0, -2.0], "acc": [0.5, 0.7]}
    found = [candidate(scores, best=1), candidate(scores, best=2, n_iter=4)]
    results = make_cv_results([{}, {"x": [1, 2]}], found, ["ll", "acc"], 2, np.nan)
    assert_array_equal(results["best_iteration"], [1, 2])
    assert_array_equal(results["n_iter"], [3, 4])
    assert_array_equal(results["mean_fit_time"], [0.5, 0.5])
    assert_array_equal(results["mean_score_time"], [1, 1])
    assert_array_equal(results["mean_test_ll"], [-1.5, -1.5])
    assert_array_equal(results["rank_test_acc"], [1, 1])
    assert results["param_x"][1] == [1, 2]
    assert results["param_x"].mask.tolist() == [True, False]
    results = make_cv_results([{}, {}], [found[0], None], ["ll"], 2, np.nan)
    assert results["n_iter"].mask.tolist() == [False, True]
    assert_array_equal(results["rank_test_score"], [1, 2])


@pytest.mark.parametrize(
    "values",
    [
        [1, 2],
        [0.5, 1.5],
        [1, 2.5],
        [True, False],
        ["a", "b"],
        [None, 1],
        [(1, 2), (3, 4)],
        [[1], [2, 3]],
        [np.float32(1), np.float32(2)],
        [make_pipeline(Fixed()), make_pipeline(Fixed(), Fixed())],
    ],
)
def test_columns_of_parameters_have_the_dtypes_of_scikit_learn(values):
    X, y = np.arange(30.0).reshape(-1, 1), np.tile([0, 1], 15)
    grid = [{"b": values}, {"a": [0]}]
    peer = GridSearchCV(Fixed(), grid, cv=2, scoring=lambda *_: 0.0, refit=False)
    theirs = peer.fit(X, y).cv_results_["param_b"]
    settings = list(ParameterGrid(grid))
    found = [candidate({"score": [0.0, 0.0]}) for _ in settings]
    ours = make_cv_results(settings, found, ["score"], 2, np.nan)["param_b"]
    assert ours.dtype == theirs.dtype
    assert_array_equal(ours.mask, theirs.mask)
    assert list(map(repr, ours.compressed())) == list(map(repr, theirs.compressed()))
