"""Folds as row indices, and a candidate trained on them in lockstep."""

import threading

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold, StratifiedKFold

from sklearn_superior.metrics import get_scorer
from sklearn_superior.model_selection._folds import Plan, find_folds, train_candidate
from sklearn_superior.utils._checks import Rows
from tests.early_stopping.families import FAMILIES, make_data

X4, Y4 = np.zeros((4, 1)), np.arange(4) % 2


def test_masks_and_negative_indices_become_indices():
    mask = np.array([True, False, True, False])
    for train, test in [(mask, ~mask), ([0, 2], [1, -1]), ([-4, 2], [1, 3])]:
        ((train, test),) = find_folds([(train, test)], X4, Y4, None)
        assert_array_equal(train, [0, 2])
        assert_array_equal(test, [1, 3])


@pytest.mark.parametrize(
    ("folds", "message"),
    [
        ([], "at least one fold. Got none"),
        ([([0, 1], [])], "non-empty parts. Got no rows in the test part of fold 0"),
        ([([0], [1]), ([], [1])], "no rows in the training part of fold 1"),
        ([(4 * [False], [1])], "no rows in the training part of fold 0"),
        ([([0, 1], [1, -4])], "the training and the test part share 2 rows"),
        (
            [([0, 1], [2, 4])],
            r"from -4 to 3, .* Got array\(\[2, 4\]\) as the test part",
        ),
        (
            [([0], [1]), ([-5], [1])],
            r"Got array\(\[-5\]\) as the training part of fold 1",
        ),
        ([([True, False], [2, 3])], r"masks of length 4. Got array\(\[ True, False"),
        ([([0.0, 1.0], [2, 3])], r"Got array\(\[0., 1.\]\) as the training"),
        ([([[0, 1]], [2, 3])], r"Got array\(\[\[0, 1\]\]\) as the training"),
        ([(["a"], [2, 3])], r"Got array\(\['a'\].* as the training part of f"),
        ([([0], [1], [2])], r"must give 2 parts \(training, test\) .* Got \[3\] parts"),
    ],
)
def test_folds_that_are_refused(folds, message):
    with pytest.raises(ValueError, match=f"'cv' parameter .*{message}"):
        find_folds(folds, X4, Y4, None)


def test_groups_stay_together():
    X, y, groups = np.zeros((20, 1)), np.arange(20) % 2, np.arange(20) // 2

    def assert_same(cv, groups, splitter):
        for ours, theirs in zip(
            find_folds(cv, X, y, groups), splitter.split(X, y, groups), strict=True
        ):
            assert_array_equal(ours[0], theirs[0])
            assert_array_equal(ours[1], theirs[1])

    assert_same(None, None, StratifiedKFold(5))
    assert_same(None, groups, StratifiedGroupKFold(5))
    assert_same(3, groups, StratifiedGroupKFold(3))
    assert_same(GroupKFold(4), groups, GroupKFold(4))


@pytest.mark.parametrize(
    ("cv", "got"), [(None, r"Got None \(5 folds\) with"), (4, "Got 4 with")]
)
def test_more_folds_than_groups(cv, got):
    y = np.arange(12) % 2
    with pytest.raises(ValueError, match=f"'cv' .* {got} 3 groups"):
        find_folds(cv, y, y, np.arange(12) % 3)


def make_plan(scorer="log_loss", n_rows=300, **options):
    X, y, _, _ = make_data("binary")
    X, y = X[:n_rows], y[:n_rows]
    scorer = get_scorer(scorer) if isinstance(scorer, str) else scorer
    options = {
        "data": Rows(X, y),
        "classes": np.unique(y),
        "folds": list(StratifiedKFold(3).split(X, y)),
        "scorers": {"score": scorer},
        "n_iter_no_change": 5,
        "tol": 0.0,
    } | options
    return Plan(**options)


def model(**options):
    return GradientBoostingClassifier(n_estimators=12, random_state=0, **options)


@pytest.mark.parametrize("name", ["HistGradientBoosting", "XGBoost", "LightGBM", "MLP"])
@pytest.mark.parametrize("folds_at_once", [2, 3])
def test_folds_at_once_give_what_folds_in_turn_give(name, folds_at_once):
    in_turn = train_candidate(FAMILIES[name](), make_plan())
    plan = make_plan(folds_at_once=folds_at_once, max_threads=1)
    at_once = train_candidate(FAMILIES[name](), plan)
    assert_array_equal(at_once.stage_scores, in_turn.stage_scores)
    assert_array_equal(at_once.test_proba, in_turn.test_proba)


def test_members_are_the_models_of_the_folds_at_the_chosen_stage():
    plan = make_plan(keeps_members=True)
    found = train_candidate(model(), plan)
    for (_, test), member, y_proba in zip(
        plan.folds, found.members, found.test_proba, strict=True
    ):
        assert len(member.estimators_) == found.best_iteration + 1
        assert_array_equal(member.predict_proba(plan.data.X[test]), y_proba)


def test_times_are_those_of_the_folds():
    found = train_candidate(model(), make_plan())
    assert (found.fit_times > 0).all()
    assert (found.score_times > 0).all()


def test_scores_that_are_never_valid_are_an_error():
    plan = make_plan(lambda estimator, X, y: np.nan)
    with pytest.raises(ValueError, match="No stage has a valid score.*all 5 stages"):
        train_candidate(model(), plan)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("name", FAMILIES)
def test_an_error_in_one_fold_ends_all(name, error):
    n_calls = []

    def scorer(estimator, X, y):
        n_calls.append(1)
        if len(n_calls) == 8:
            raise error("in the third stage")
        return get_scorer("log_loss")(estimator, X, y)

    before = set(threading.enumerate())
    with pytest.raises(error, match="in the third stage") as info:
        train_candidate(FAMILIES[name](), make_plan(scorer))
    if error is ValueError:
        assert info.value.__notes__ == ["This was in fold 1."]
    assert set(threading.enumerate()) == before
    assert len(n_calls) == 8
