"""Trainings of real libraries in lockstep: settings, threads, ends of all kinds."""

import gc
import subprocess
import sys
import warnings

import numpy as np
import pytest
from joblib import Parallel, delayed, parallel_config
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_info, threadpool_limits

from sklearn_superior.model_selection import StagedSearchCV
from sklearn_superior.staged._training import Training
from sklearn_superior.utils._checks import Rows
from tests.early_stopping.families import FAMILIES, make_data

pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")
CV = StratifiedKFold(3)


def search(name, **options):
    options = {"scoring": "log_loss", "cv": CV, "refit": False} | options
    return StagedSearchCV(FAMILIES[name](), **options)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_training_that_is_dropped_does_no_harm(name):
    X, y, X_val, _ = make_data("five")
    for n_stages in (0, 1, 3):
        training = Training(
            FAMILIES[name](),
            lambda: Rows(X, y),
            {"part": lambda: X_val},
            np.unique(y),
        )
        for _ in range(n_stages):
            training.advance()
        del training
        gc.collect()


def test_a_process_may_end_with_trainings_that_wait():
    catboost = pytest.importorskip("catboost")
    assert catboost
    code = """
import numpy as np
from catboost import CatBoostClassifier
from sklearn_superior.staged._training import Training
from sklearn_superior.utils._checks import Rows
X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 2
model = CatBoostClassifier(iterations=9, verbose=False, allow_writing_files=False)
training = Training(model, lambda: Rows(X, y), {"part": lambda: X}, np.unique(y))
training.advance()
print("advanced")
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, "advanced\n"), done.stderr


class CountsThreads(ClassifierMixin, BaseEstimator):
    """Notes how many OpenMP threads each stage may use."""

    seen: list = []

    def __init__(self, max_iter=3):
        self.max_iter = max_iter

    def fit(self, X, y):
        return self.partial_fit(X, y)

    def partial_fit(self, X, y, classes=None):
        self.classes_ = np.unique(y)
        infos = [i for i in threadpool_info() if i["user_api"] == "openmp"]
        self.seen.append({i["num_threads"] for i in infos})
        return self

    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))


@pytest.mark.filterwarnings("ignore:All . scores of the validation data are equal")
def test_limits_of_threads_hold_in_every_fold():
    HistGradientBoostingClassifier(max_iter=1).fit([[0], [1]] * 20, [0, 1] * 20)
    X, y, _, _ = make_data("binary")
    CountsThreads.seen.clear()
    with threadpool_limits(1):
        StagedSearchCV(CountsThreads(), cv=CV, refit=False).fit(X, y)
    assert CountsThreads.seen == [{1}] * 9


@pytest.mark.parametrize("name", ["HistGradientBoosting", "XGBoost", "CatBoost"])
def test_a_search_in_threads_does_not_switch_off_the_warnings(name):
    if name not in FAMILIES:
        pytest.skip("not installed")
    X, y, _, _ = make_data("binary")
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        with parallel_config(backend="threading"):
            search(name, param_grid={}, n_jobs=2).fit(X, y)
        Parallel(n_jobs=2, backend="threading")(
            delayed(search(name, refit="folds").fit)(X, y) for _ in range(4)
        )
        assert ("ignore", None, Warning, None, 0) not in warnings.filters


def test_a_backend_without_generators():
    """With a model without OpenMP, which does not survive the fork."""
    X, y, _, _ = make_data("binary")
    options = {"param_grid": {"learning_rate": [0.1, 0.2]}, "n_jobs": 2}
    expected = search("GradientBoosting", **options).fit(X, y)
    with parallel_config(backend="multiprocessing"):
        found = search("GradientBoosting", **options).fit(X, y)
    for one, other in zip(expected.stage_scores_, found.stage_scores_, strict=True):
        assert_array_equal(one, other)
