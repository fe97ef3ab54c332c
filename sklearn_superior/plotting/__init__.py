"""Displays in the style of scikit-learn. Requires matplotlib."""

from sklearn_superior.plotting._blocks import HBlockDisplay
from sklearn_superior.plotting._forest import PooledDifferenceDisplay
from sklearn_superior.plotting._penalty_path import PenaltyPathDisplay
from sklearn_superior.plotting._referral import ReferralCurveDisplay
from sklearn_superior.plotting._search import StagedSearchDisplay
from sklearn_superior.plotting._simplex import ScoringRuleDisplay
from sklearn_superior.plotting._trajectory import StoppingTrajectoryDisplay

__all__ = [
    "HBlockDisplay",
    "PenaltyPathDisplay",
    "PooledDifferenceDisplay",
    "ReferralCurveDisplay",
    "ScoringRuleDisplay",
    "StagedSearchDisplay",
    "StoppingTrajectoryDisplay",
]
