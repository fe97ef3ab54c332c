"""The curve of costs against referrals."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

from sklearn_superior.metrics import bayes_decision, decision_cost
from sklearn_superior.plotting import ReferralCurveDisplay

COSTS = np.array([[0, 1, 4], [1, 0, 1], [4, 1, 0.0]])


def forecasts():
    rng = np.random.default_rng(0)
    y_proba = rng.dirichlet(np.ones(3), size=60)
    return np.array([rng.choice(3, p=q) for q in y_proba]), y_proba


@pytest.mark.parametrize("referral_cost", [0.0, 0.2, 0.5, 10.0])
def test_each_referral_cost_is_a_point_of_the_curve(referral_cost):
    y_true, y_proba = forecasts()
    display = ReferralCurveDisplay.from_predictions(
        y_true, y_proba, cost_matrix=COSTS, referral_cost=referral_cost
    )
    assert display.cost[0] == decision_cost(y_true, y_proba, cost_matrix=COSTS)
    with_referral = np.column_stack([COSTS, np.full(3, referral_cost)])
    decision = bayes_decision(y_proba, with_referral)
    kept = decision != 3
    (marker,) = [line for line in display.ax_.lines if line.get_marker() == "o"]
    share, cost = marker.get_xydata()[0]
    if kept.any():
        assert_allclose(share, 100 * np.mean(~kept))
        assert_allclose(cost, COSTS[y_true[kept], decision[kept]].mean())


def test_curves_of_estimators():
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(max_iter=500).fit(X, y)
    display = ReferralCurveDisplay.from_estimator(model, X, y, cost_matrix=COSTS)
    assert display.ax_.get_legend().get_texts()[0].get_text() == "LogisticRegression"
    other = ReferralCurveDisplay.from_estimator(
        model, X, y, cost_matrix=COSTS, name="again", ax=display.ax_
    )
    assert other.figure_ is display.figure_
    assert other.line_.get_color() != display.line_.get_color()
