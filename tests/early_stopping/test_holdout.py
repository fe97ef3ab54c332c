"""The run through the stages: interruptions, errors of scorers, warnings."""

import os
import signal
import time
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning

from sklearn_superior.early_stopping._holdout import warn_of_scores
from sklearn_superior.metrics import neg_penalized_brier_scorer
from sklearn_superior.staged.adapters import find_stages
from tests.early_stopping.families import (
    FAMILIES,
    make_data,
    plain_stopping,
    reference_stages,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),
    pytest.mark.filterwarnings("ignore:The validation data has classes that training"),
]


class InterruptingScorer:
    """Sends Ctrl-C when it is called for the n-th time."""

    def __init__(self, n):
        self.n = n

    def __call__(self, estimator, X, y):
        self.n -= 1
        if self.n == 0:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.05)
        return neg_penalized_brier_scorer(estimator, X, y)


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("name", FAMILIES)
def test_ctrl_c_keeps_the_best_stage(name):
    X, y, X_val, y_val = make_data("five")
    model = plain_stopping(
        FAMILIES[name](), scoring=InterruptingScorer(5), n_iter_no_change=50
    )
    with pytest.warns(
        UserWarning, match=r"interrupted after \d (stage|epoch)s; the be"
    ):
        model.fit(X, y, X_val=X_val, y_val=y_val)
    assert model.n_iter_ == 4
    scores = model.validation_scores_
    assert model.best_iteration_ == np.argmax(scores)
    _, stages = reference_stages(name, X, y, X_val)
    assert_allclose(
        model.predict_proba(X_val),
        stages[model.best_iteration_],
        rtol=1e-6,
        atol=1e-7,
    )
    assert_allclose(
        neg_penalized_brier_scorer(model, X_val, y_val), model.best_score_, rtol=1e-5
    )
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("name", FAMILIES)
def test_ctrl_c_before_the_first_stage_is_raised(name):
    X, y, X_val, y_val = make_data("five")
    model = plain_stopping(FAMILIES[name](), scoring=InterruptingScorer(1))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y, X_val=X_val, y_val=y_val)


class FailingScorer:
    def __call__(self, estimator, X, y):
        raise RuntimeError("the scorer failed")


@pytest.mark.parametrize("name", FAMILIES)
def test_errors_of_a_scorer_come_as_they_are(name):
    X, y, X_val, y_val = make_data("five")
    model = plain_stopping(FAMILIES[name](), scoring=FailingScorer())
    with pytest.raises(RuntimeError, match="the scorer failed"):
        model.fit(X, y, X_val=X_val, y_val=y_val)


def test_a_failed_fit_leaves_the_old_model_whole():
    X, y, _, _ = make_data("binary")
    model = plain_stopping(
        FAMILIES["SGD"](), calibration="temperature", random_state=0
    ).fit(X, y)
    before = model.predict_proba(X)
    model.set_params(scoring=FailingScorer())
    with pytest.raises(RuntimeError, match="the scorer failed"):
        model.fit(X[:, :5], np.arange(300) % 3)
    assert_array_equal(model.predict_proba(X), before)
    assert model.n_features_in_ == X.shape[1]
    first = plain_stopping(FAMILIES["SGD"](), scoring=FailingScorer())
    with pytest.raises(RuntimeError, match="the scorer failed"):
        first.fit(X, y)
    assert not hasattr(first, "n_features_in_")


def test_warnings_point_at_the_line_of_the_caller():
    X, y, X_val, y_val = make_data("missing")
    model = plain_stopping(FAMILIES["SGD"](), n_iter_no_change=1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, X_val=X_val, y_val=y_val)
    (found,) = [w for w in caught if "training has not" in str(w.message)]
    assert found.filename == __file__


def test_a_rule_that_is_flat_at_the_start_does_not_stop_there():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5))
    y = (X[:, 0] + 0.5 * rng.normal(size=600) > 1.8).astype(int)
    inner = HistGradientBoostingClassifier(
        max_iter=150, learning_rate=0.03, random_state=0
    )
    model = plain_stopping(
        inner, scoring="f1_macro", n_iter_no_change=10, random_state=0
    ).fit(X, y)
    assert model.validation_scores_[0] == model.validation_scores_[10]
    assert model.best_iteration_ > 10
    assert len(np.unique(model.predict(X))) == 2


def test_scores_that_are_all_equal_warn():
    X, y, _, _ = make_data("five")
    model = plain_stopping(
        FAMILIES["SGD"](), scoring=lambda estimator, X, y: 1.0, random_state=0
    )
    with pytest.warns(UserWarning, match="All 40 scores .* equal, so the first"):
        model.fit(X, y)
    assert model.best_iteration_ == 0


def test_a_best_stage_at_the_end_of_the_budget_warns():
    X, y, _, _ = make_data("five")
    inner = HistGradientBoostingClassifier(max_iter=3, learning_rate=0.03)
    model = plain_stopping(inner, scoring="log_loss", random_state=0)
    message = "The best stage is the last of 3: .* A larger value of max_iter may"
    with pytest.warns(ConvergenceWarning, match=message):
        model.fit(X, y)


@pytest.mark.parametrize(
    ("best", "n_stages", "patience", "warns"),
    [
        (99, 100, 20, "is the last of 100"),
        (98, 100, 20, "is number 99 of 100"),
        (94, 100, 20, "is number 95 of 100"),  # a quarter of the patience
        (93, 100, 20, None),
        (98, 100, 3, None),
        (28, 30, 1000, "is number 29 of 30"),
        (22, 30, 1000, "is number 23 of 30"),  # a quarter of the budget
        (21, 30, 1000, None),
        (1, 3, 20, None),
        (0, 1, 20, None),
    ],
)
def test_a_best_stage_near_the_end_of_the_budget_warns(best, n_stages, patience, warns):
    scores = [-abs(k - best) for k in range(n_stages)]
    stages = find_stages(HistGradientBoostingClassifier(max_iter=n_stages))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_scores(scores, best, stages, patience)
    if warns is None:
        assert not caught
        return
    (warning,) = caught
    assert warning.category is ConvergenceWarning
    assert f"The best stage {warns}" in str(warning.message)
    assert "A larger value of max_iter may give a better model" in str(warning.message)


def test_training_that_ended_before_its_budget_does_not_warn():
    """By Ctrl-C, or by itself as AdaBoost does."""
    stages = find_stages(HistGradientBoostingClassifier(max_iter=100))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_scores([0.1, 0.2, 0.3], 2, stages, 20)
        warn_of_scores([-abs(k - 96) for k in range(98)], 96, stages, 20)
