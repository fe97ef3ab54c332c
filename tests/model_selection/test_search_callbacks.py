"""What callbacks of scikit-learn are told of a search."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.ensemble import GradientBoostingClassifier

from sklearn_superior.model_selection import StagedSearchCV
from tests.early_stopping.families import make_data

pytest.importorskip("sklearn.callback")  # from 1.9 on

from sklearn.callback import ProgressBar

X, y, X_new, _ = make_data("five")
GRID = {"max_depth": [1, 2, 3]}


class Watcher:
    """A callback that asks for all that there is."""

    def __init__(self, stop_after=None):
        self.stop_after, self.tasks, self.fitted = stop_after, [], None

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context, *, X, y):
        assert len(X) == len(y)

    def on_fit_task_end(self, estimator, context, *, X, y, metadata, fitted_estimator):
        self.tasks.append(context.task_name)
        self.fitted = fitted_estimator
        assert metadata is None or len(metadata["sample_weight"]) == len(y)
        return len(self.tasks) == self.stop_after


def make_search(**options):
    model = GradientBoostingClassifier(n_estimators=4, random_state=0)
    return StagedSearchCV(model, GRID, cv=3, **options)


@pytest.mark.parametrize("refit", ["all", "folds", False])
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_candidates_are_tasks_and_the_end_brings_a_model(refit, n_jobs):
    watcher = Watcher()
    search = make_search(refit=refit, n_jobs=n_jobs).set_callbacks(watcher)
    search.fit(X, y, sample_weight=np.ones(len(y)))
    assert watcher.tasks == ["candidate"] * 3 + ["fit"]
    assert watcher.fitted.best_params_ == search.best_params_
    if refit:
        assert_array_equal(
            watcher.fitted.predict_proba(X_new), search.predict_proba(X_new)
        )


def test_a_callback_can_end_the_search():
    search = make_search().set_callbacks(Watcher(stop_after=2)).fit(X, y)
    assert search.cv_results_["params"] == [{"max_depth": 1}, {"max_depth": 2}]


def test_a_progress_bar_of_scikit_learn():
    pytest.importorskip("rich")
    search = make_search().set_callbacks(ProgressBar()).fit(X, y)
    assert len(search.stage_scores_) == 3


def test_a_callback_cannot_end_a_search_without_a_finished_candidate():
    search = make_search()
    n_begun = 0

    def give_up_the_first(stage, mean_score, fold_scores):
        nonlocal n_begun
        n_begun += stage == 0
        return n_begun == 1

    search.set_params(pruner=give_up_the_first).set_callbacks(Watcher(stop_after=1))
    search.fit(X, y)
    assert search.cv_results_["pruned"].tolist()[:2] == [True, False]
