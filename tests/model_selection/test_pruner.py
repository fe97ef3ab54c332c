"""Candidates that a pruner gives up, and what remains of them."""

import threading

import numpy as np
import pytest
from joblib import parallel_config
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingClassifier

from sklearn_superior.metrics import get_scorer
from sklearn_superior.model_selection import StagedSearchCV
from tests.early_stopping.families import FAMILIES
from tests.model_selection.searches import CV, data, small

GRID = {"max_depth": [1, 2, 3]}


class GiveUp:
    """Give up some of the candidates, counted from 0, after a stage.

    Remembers its calls: for each candidate, the arguments of each stage.
    """

    def __init__(self, *numbers, after=3):
        self.numbers, self.after, self.calls = numbers, after, []

    def __call__(self, stage, mean_score, fold_scores):
        if stage == 0:
            self.calls.append([])
        self.calls[-1].append((mean_score, fold_scores))
        assert stage == len(self.calls[-1]) - 1
        return len(self.calls) - 1 in self.numbers and stage == self.after


def give_up_deep_ones(stage, mean_score, fold_scores):
    """Give up what learns fast: in any order, and in any process."""
    return stage == 3 and mean_score > -1.52


def search_for(pruner=None, grid=GRID, **options):
    options = {"cv": CV, "refit": False} | options
    return StagedSearchCV(small(), grid, pruner=pruner, **options)


def test_the_pruner_sees_the_scores_of_every_stage_and_changes_nothing():
    X, y = data()
    plain = search_for(refit="all").fit(X, y)
    pruner = GiveUp()
    search = search_for(pruner, refit="all").fit(X, y)
    assert len(pruner.calls) == 3
    for calls, ours, theirs in zip(
        pruner.calls, search.stage_scores_, plain.stage_scores_, strict=True
    ):
        assert_array_equal(ours, theirs)
        assert_array_equal([scores for _, scores in calls], ours)
        assert [mean for mean, _ in calls] == [float(s.mean()) for s in ours]
        assert all(type(mean) is float for mean, _ in calls)
    assert_array_equal(search.predict_proba(X), plain.predict_proba(X))
    assert not search.cv_results_["pruned"].any()
    assert set(search.cv_results_) - set(plain.cv_results_) == {"pruned"}


@pytest.mark.parametrize("error_score", [np.nan, 5.0, "raise"])
@pytest.mark.parametrize("scoring", [None, ["log_loss", "accuracy"]])
def test_a_pruned_candidate_has_a_curve_but_no_score(error_score, scoring):
    X, y = data()
    plain = search_for(scoring=scoring).fit(X, y)
    best = plain.best_index_
    pruner = GiveUp(best)
    search = search_for(pruner, scoring=scoring, error_score=error_score).fit(X, y)
    results = search.cv_results_
    assert results["pruned"].dtype == bool
    assert_array_equal(results["pruned"], np.arange(3) == best)
    for name in ("score",) if scoring is None else ("log_loss", "accuracy"):
        assert_array_equal(np.isnan(results[f"mean_test_{name}"]), results["pruned"])
        assert np.isnan(results[f"split2_test_{name}"][best])
        assert results[f"rank_test_{name}"][best] == 3
    assert search.best_index_ != best
    assert search.best_params_ == results["params"][search.best_index_]
    assert_array_equal(np.ma.getmaskarray(results["best_iteration"]), results["pruned"])
    assert results["n_iter"][best] == 4
    assert results["mean_fit_time"][best] > 0
    assert_array_equal(search.stage_scores_[best], plain.stage_scores_[best][:4])
    others = np.flatnonzero(~results["pruned"])
    for k in others:
        assert_array_equal(search.stage_scores_[k], plain.stage_scores_[k])


def test_nobody_left_is_an_error():
    X, y = data("binary")
    match = r"'pruner' gave up 3 of 3 candidates\. It must let at least one"
    with pytest.raises(ValueError, match=match) as caught:
        search_for(GiveUp(0, 1, 2)).fit(X, y)
    assert caught.value.__cause__ is None
    with pytest.raises(ValueError, match="gave up 1 of 1 candidates"):
        search_for(GiveUp(0, after=0), grid=None).fit(X, y)
    grid = {"learning_rate": [0.1, -1]}
    match = "gave up 1 of 2 candidates, and the other 1 failed"
    with pytest.raises(ValueError, match=match) as caught:
        search_for(GiveUp(0), grid).fit(X, y)
    assert "learning_rate" in str(caught.value.__cause__)


def test_a_candidate_can_be_pruned_before_it_has_a_valid_score():
    X, y = data("binary")

    def scorer(model, X, y):
        return np.nan

    def prune_nan(stage, mean_score, fold_scores):
        return np.isnan(mean_score)

    with pytest.raises(ValueError, match="gave up 3 of 3"):
        search_for(prune_nan, scoring=scorer).fit(X, y)


# Errors of the pruner


class Recording(GradientBoostingClassifier):
    """Records when its trainings begin and end."""

    log: list = []

    def fit(self, X, y, **options):
        self.log.append("begin")
        try:
            return super().fit(X, y, **options)
        finally:
            self.log.append("end")


class StudyOverError(Exception):
    """Raised by a pruner; cannot be pickled."""

    def __init__(self, stage, reason):
        super().__init__(f"stage {stage}: {reason}")


@pytest.mark.parametrize("kind", [StudyOverError, StopIteration, GeneratorExit])
@pytest.mark.parametrize("error_score", [np.nan, "raise"])
@pytest.mark.parametrize("grid", [None, GRID])
def test_an_error_of_the_pruner_is_raised_as_it_is(kind, error_score, grid):
    X, y = data("binary")
    error = kind(2, "enough")

    def pruner(stage, mean_score, fold_scores):
        if stage == 2:
            raise error

    Recording.log.clear()
    model = Recording(n_estimators=15, max_depth=1, random_state=0)
    search = StagedSearchCV(model, grid, cv=CV, pruner=pruner, error_score=error_score)
    with pytest.raises(kind) as caught:
        search.fit(X, y)
    assert caught.value is error
    assert not hasattr(error, "__notes__")
    # All folds of the first candidate have ended, and no other one has begun.
    assert Recording.log == ["begin"] * 3 + ["end"] * 3
    assert not hasattr(search, "cv_results_")


def refuse(stage, mean_score, fold_scores):
    raise LookupError("no trial")


def refuse_unpicklably(stage, mean_score, fold_scores):
    raise StudyOverError(stage, "enough")


def test_an_error_of_the_pruner_in_another_process():
    X, y = data("binary")
    with pytest.raises(LookupError, match="no trial"):
        search_for(refuse, n_jobs=2).fit(X, y)
    with pytest.raises(RuntimeError, match="StudyOverError: stage 0: enough"):
        search_for(refuse_unpicklably, n_jobs=2).fit(X, y)


# The search ignores joblib's warning, unless another thread restores the filters.
@pytest.mark.filterwarnings("ignore:.* tasks (have been|which were)")
def test_an_error_of_the_pruner_in_another_thread():
    X, y = data("binary")
    before = set(threading.enumerate())
    with parallel_config(backend="threading"), pytest.raises(StudyOverError):
        search_for(refuse_unpicklably, n_jobs=2).fit(X, y)
    # joblib cannot end the threads of the other candidates. Wait for them: as long as
    # they train, they may change the warning filters of the next test.
    for thread in set(threading.enumerate()) - before:
        thread.join(60)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_can_be_pruned(family):
    X, y = data("binary")
    pruner = GiveUp(0, after=1)
    options = {"cv": CV, "n_iter_no_change": 3, "refit": False}
    search = StagedSearchCV(FAMILIES[family](), [{}, {}], pruner=pruner, **options)
    search.fit(X, y)
    first, second = search.stage_scores_
    assert search.cv_results_["pruned"].tolist() == [True, False]
    assert len(first) == 2 < len(second)
    with pytest.raises(LookupError, match="no trial"):
        search.set_params(pruner=refuse).fit(X, y)


def test_ctrl_c_in_the_pruner_keeps_the_finished_candidates():
    X, y = data("binary")
    stages = []

    def pruner(stage, mean_score, fold_scores):
        stages.append(stage)
        if stages.count(0) == 3:
            raise KeyboardInterrupt
        return stages.count(0) == 1

    with pytest.warns(UserWarning, match="interrupted after 2 of 3 candidates"):
        search = search_for(pruner).fit(X, y)
    assert search.cv_results_["pruned"].tolist() == [True, False]
    assert search.best_index_ == 1


# In parallel, on disk, on the screen


def test_pruning_in_other_processes():
    X, y = data()
    one = search_for(give_up_deep_ones).fit(X, y)
    assert 0 < sum(one.cv_results_["pruned"]) < 3
    two = search_for(give_up_deep_ones, n_jobs=2).fit(X, y)
    assert_array_equal(one.cv_results_["pruned"], two.cv_results_["pruned"])
    for ours, theirs in zip(one.stage_scores_, two.stage_scores_, strict=True):
        assert_array_equal(ours, theirs)
    assert one.best_params_ == two.best_params_


def test_folds_in_several_threads_are_reported_in_the_thread_of_fit():
    X, y = data("binary")
    threads = set()

    def pruner(stage, mean_score, fold_scores):
        threads.add(threading.current_thread())

    search_for(pruner, grid=None, n_jobs=2).fit(X, y)
    assert threads == {threading.current_thread()}


def test_what_is_pruned_is_not_on_disk(tmp_path):
    X, y = data()
    options = {"checkpoint_dir": tmp_path, "resume": True}
    pruner = GiveUp(0, 1)
    search_for(pruner, **options).fit(X, y)
    assert len(list(tmp_path.glob("candidate-*"))) == 1
    again = GiveUp(0)  # the first of those that are trained
    search = search_for(again, **options).fit(X, y)
    assert [len(calls) for calls in again.calls] == [4, 15]
    assert search.cv_results_["pruned"].tolist() == [True, False, False]
    assert len(list(tmp_path.glob("candidate-*"))) == 2
    whole, plain = search_for(**options).fit(X, y), search_for().fit(X, y)
    assert_array_equal(
        whole.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"]
    )


def test_fold_models_are_trained_again_without_the_pruner(tmp_path):
    X, y = data("binary")
    options = {"checkpoint_dir": tmp_path, "resume": True, "refit": "folds"}
    first = search_for(**options).fit(X, y)
    second = search_for(refuse, **options).fit(X, y)
    assert_array_equal(first.predict_proba(X), second.predict_proba(X))


def test_progress_counts_the_stages_that_pruning_saved(capsys):
    X, y = data("binary")
    search_for(GiveUp(0, 2), verbose=1).fit(X, y)
    assert capsys.readouterr().err.splitlines()[-1] == "Searching: 45 of 45 stages"


def test_the_figure_leaves_out_what_was_pruned():
    pytest.importorskip("matplotlib")
    X, y = data("binary")
    display = search_for(GiveUp(1)).fit(X, y).plot()
    assert sorted(display.labels) == ["max_depth=1", "max_depth=3"]


def test_the_parameter_itself():
    X, y = data("binary")
    with pytest.raises(ValueError, match="'pruner' parameter.*must be a callable or"):
        search_for("median").fit(X, y)
    assert clone(search_for(refuse)).pruner is refuse
    scorer = get_scorer("neg_log_loss")
    search = search_for(GiveUp(1), scoring=scorer).fit(X, y)
    search.set_params(pruner=None).fit(X, y)
    assert "pruned" not in search.cv_results_
