"""The folds of one candidate, trained in lockstep."""

import threading

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold

from sklearn_superior.metrics import get_scorer
from sklearn_superior.model_selection._fold_training import Plan, train_candidate
from sklearn_superior.utils._checks import Rows
from tests.early_stopping.families import FAMILIES, make_data


def make_plan(scorer="log_loss", n_rows=300, **options):
    X, y, _, _ = make_data("binary")
    X, y = X[:n_rows], y[:n_rows]
    scorer = get_scorer(scorer) if isinstance(scorer, str) else scorer
    options = {
        "data": Rows(X, y),
        "classes": np.unique(y),
        "folds": list(StratifiedKFold(3).split(X, y)),
        "scorers": {"score": scorer},
        "weights": {"score": None},
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
