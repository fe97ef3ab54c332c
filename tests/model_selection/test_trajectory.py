"""One training: what its rules choose, and what may be a rule or a judge."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.metrics import (
    cohen_kappa_score,
    f1_score,
    log_loss,
    make_scorer,
    matthews_corrcoef,
)

from sklearn_superior.metrics import get_scorer
from sklearn_superior.model_selection import Trajectory
from sklearn_superior.model_selection._trajectory import find_judges, find_scorers
from tests.early_stopping.families import make_data

KAPPA = make_scorer(cohen_kappa_score)


def tied(**options):
    scores = {"accuracy": [0.5, 0.8, 0.7, 0.8, 0.6, 0.8], "target": [0.5] * 6}
    return Trajectory(0, 0, validation=scores, test=scores, **options)


def test_of_tied_stages_the_one_with_the_best_tie_score_is_chosen():
    losses = [-0.1, -0.9, -0.2, -0.4, -0.3, -0.5]
    trajectory = tied(tie_scores=losses)
    assert trajectory.choose("accuracy", "CP") == (3, 6)
    assert trajectory.choose("target", "CP") == (0, 6)
    # Early stopping sees as many stages as it did, and chooses among these alone.
    assert trajectory.choose("accuracy", "ES", n_iter_no_change=1) == (1, 3)
    assert trajectory.choose("accuracy", "ES", n_iter_no_change=2) == (3, 4)


def test_without_tie_scores_the_first_of_tied_stages_is_chosen():
    assert tied().choose("accuracy", "CP") == (1, 6)
    unknown = tied(tie_scores=[np.nan] * 6)
    assert unknown.choose("accuracy", "CP") == (1, 6)
    partly = tied(tie_scores=[0, np.nan, 0, -3.0, 0, -2.0])
    assert partly.choose("accuracy", "CP") == (5, 6)


def test_a_rule_without_a_valid_score_still_chooses_nothing():
    scores = {"accuracy": [np.nan] * 3, "target": [0.5] * 3}
    trajectory = Trajectory(0, 0, scores, scores, tie_scores=[1.0, 2.0, 3.0])
    assert trajectory.choose("accuracy", "CP") == (None, 3)


def test_a_trajectory_prints_in_one_line():
    expected = "<Trajectory of fold 0, repeat 0: 6 stages scored by accuracy, target>"
    assert str(tied(tie_scores=range(6))) == repr(tied()) == expected
    assert "0 stages scored by nothing" in str(Trajectory(0, 0, {}, {}))


def test_ties_of_a_fitted_ensemble_are_broken_by_the_log_loss():
    X, y, X_val, y_val = make_data("five")
    model = GradientBoostingClassifier(n_estimators=30, max_depth=1, random_state=0)
    model.fit(X, y)
    trajectory = Trajectory.from_estimator(
        model, X_val[:40], y_val[:40], rules=["accuracy", "last"]
    )
    assert list(trajectory.validation) == ["accuracy", "target"]
    accuracy = trajectory.validation["accuracy"]
    best = np.flatnonzero(accuracy == accuracy.max())
    assert len(best) > 1
    losses = [
        log_loss(y_val[:40], proba, labels=model.classes_)
        for proba in model.staged_predict_proba(X_val[:40])
    ]
    expected = best[np.argmin(np.array(losses)[best])]
    assert expected != best[0]
    assert trajectory.choose("accuracy", "CP")[0] == expected
    assert trajectory.choose("last", "CP") == (29, 30)


def test_a_dict_of_rules_mixes_names_scorers_and_no_choice():
    found = find_scorers({"kappa": KAPPA, "ll": "log_loss", "last": "last"})
    assert list(found) == ["kappa", "ll", "last"]
    assert found["kappa"] is KAPPA
    assert found["last"] is None
    assert repr(found["ll"]) == repr(get_scorer("log_loss"))


def test_scorers_in_a_list_go_by_the_names_of_their_functions():
    def mine(estimator, X, y):
        return 0.0

    found = find_scorers(["brier", KAPPA, mine, "last"])
    assert list(found) == ["brier", "cohen_kappa_score", "mine", "last"]
    judges = find_judges([make_scorer(matthews_corrcoef), "calibrated_brier"])
    assert list(judges) == ["matthews_corrcoef", "calibrated_brier"]


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"last": "accuracy"}, "'last' .*reserved for keeping the last stage"),
        ({"none": "last"}, "'last' .*reserved.*Got {'none': 'last'}"),
        (
            {"ll": "logloss"},
            r"rules\['ll'\].*must be a scorer.*Got 'logloss'",
        ),
        ([lambda *args: 0.0], "must be a dict to name .*no name of its own"),
        ([KAPPA, KAPPA], "unique names; use a dict"),
        (
            [make_scorer(f1_score, average=a) for a in ("micro", "macro")],
            "unique names; use a dict",
        ),
    ],
)
def test_rules_that_are_refused(rules, message):
    with pytest.raises(ValueError, match=message):
        find_scorers(rules)


@pytest.mark.parametrize(
    "scoring",
    [
        {"mine": "refined_brier"},
        {"f1": "f1_macro", "mine": get_scorer("refined_log_loss")},
        get_scorer("neg_refined_penalized_brier_score"),
        ["f1_macro", get_scorer("refined_brier")],
        "calibrated_refined_brier",
    ],
)
def test_refined_rules_are_no_judges_in_any_form(scoring):
    with pytest.raises(ValueError, match=r"must not hold refined rules.*'calibrated_'"):
        find_judges(scoring)


def test_a_dict_of_judges_may_name_calibrated_rules():
    judges = find_judges({"f1": "f1_macro", "cal": "calibrated_log_loss"})
    assert [judge.is_calibrated for judge in judges.values()] == [False, True]
    assert_array_equal(list(judges), ["f1", "cal"])
