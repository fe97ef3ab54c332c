"""Every prediction has rows of its own: steps may work in place, or by batches."""

from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from sklearn_superior.early_stopping import EarlyStoppingClassifier
from sklearn_superior.model_selection import StagedSearchCV, compare_stopping_rules

CV = StratifiedKFold(3, shuffle=True, random_state=0)
BUDGET = 6


def make_rows(as_frame=False):
    rng = np.random.default_rng(0)
    X = rng.normal(5, 3, size=(240, 4))
    y = np.digitize(X[:, 0] + rng.normal(size=240), [3, 6])
    return (pd.DataFrame(X, columns=list("abcd")) if as_frame else X), y


def scale_in_place(frame):
    frame["a"] = frame["a"] / 2 - 1
    return frame


class BatchDependent(TransformerMixin, BaseEstimator):
    """Shifts what it transforms by the mean of the batch."""

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        return X - 0.5 * X.mean(axis=0)


def boosting():
    return GradientBoostingClassifier(n_estimators=BUDGET, max_depth=2, random_state=0)


PIPELINES = {
    "StandardScaler": (lambda: make_pipeline(StandardScaler(copy=False)), False),
    "FunctionTransformer": (
        lambda: make_pipeline(FunctionTransformer(scale_in_place)),
        True,
    ),
    "batches": (lambda: make_pipeline(BatchDependent()), False),
    "Nystroem": (
        lambda: make_pipeline(Nystroem(n_components=20, random_state=0)),
        False,
    ),
}


@pytest.fixture(params=PIPELINES)
def case(request):
    make, as_frame = PIPELINES[request.param]
    pipeline = make()
    pipeline.steps.append(("boosting", boosting()))
    return pipeline, *make_rows(as_frame)


def as_array(X):
    return np.array(X)


def test_early_stopping_keeps_what_was_scored_and_changes_no_rows(case):
    pipeline, X, y = case
    X_val, y_val = deepcopy(X[:80]), y[:80]
    before = as_array(X), as_array(X_val)
    model = EarlyStoppingClassifier(pipeline, scoring="log_loss").fit(
        X[80:], y[80:], X_val=X_val, y_val=y_val
    )
    assert_array_equal(as_array(X), before[0])
    assert_array_equal(as_array(X_val), before[1])
    alone = deepcopy(pipeline)
    alone[-1].set_params(n_estimators=model.best_iteration_ + 1)
    alone.fit(deepcopy(X[80:]), y[80:])
    assert_allclose(
        model.predict_proba(deepcopy(X_val)), alone.predict_proba(deepcopy(X_val))
    )


@pytest.mark.parametrize("refit", ["all", "folds"])
def test_the_search_scores_as_cross_validation_does(case, refit):
    pipeline, X, y = case
    before = as_array(X)
    search = StagedSearchCV(
        pipeline, scoring="log_loss", cv=CV, refit=refit, n_iter_no_change=BUDGET
    ).fit(X, y)
    assert_array_equal(as_array(X), before)
    alone = deepcopy(pipeline)
    alone[-1].set_params(n_estimators=search.best_iteration_ + 1)
    expected = cross_val_predict(alone, deepcopy(X), y, cv=CV, method="predict_proba")
    assert_allclose(search.oof_proba_, expected)
    if refit == "folds":
        members = [
            deepcopy(alone).fit(deepcopy(X.take(rows, axis=0)), y[rows])
            for rows, _ in CV.split(X, y)
        ]
        expected = np.mean([m.predict_proba(deepcopy(X)) for m in members], axis=0)
    else:
        expected = alone.fit(deepcopy(X), y).predict_proba(deepcopy(X))
    assert_allclose(search.predict_proba(deepcopy(X)), expected)


def test_comparisons_transform_each_part_by_itself(case):
    pipeline, X, y = case
    rows = np.random.default_rng(1).permutation(240)
    parts = rows[:120], rows[120:180], rows[180:]
    before = as_array(X)
    comparison = compare_stopping_rules(pipeline, X, y, cv=[parts], rules=["log_loss"])
    assert_array_equal(as_array(X), before)
    train, val, test = (X.take(part, axis=0) for part in parts)
    alone = deepcopy(pipeline).fit(train, y[parts[0]])
    steps, boosting = alone[:-1], alone[-1]
    (trajectory,) = comparison.trajectories
    for part, numbers, scores in (
        (val, parts[1], trajectory.validation),
        (test, parts[2], trajectory.test),
    ):
        transformed = steps.transform(deepcopy(part))
        expected = [
            np.mean(np.log(q[np.arange(60), y[numbers]]))
            for q in boosting.staged_predict_proba(transformed)
        ]
        assert_allclose(scores["log_loss"], expected)
