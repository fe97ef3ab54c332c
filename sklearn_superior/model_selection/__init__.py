"""Splits of time series, staged searches, and comparisons of stopping rules."""

from sklearn_superior.model_selection._bayes_decision import BayesDecisionClassifier
from sklearn_superior.model_selection._comparison import compare_stopping_rules
from sklearn_superior.model_selection._fold_ensemble import FoldEnsembleClassifier
from sklearn_superior.model_selection._hblock import HBlockSplit
from sklearn_superior.model_selection._pooling import pool_comparisons
from sklearn_superior.model_selection._search import StagedSearchCV
from sklearn_superior.model_selection._summary import StoppingRuleComparison
from sklearn_superior.model_selection._trajectory import Trajectory
from sklearn_superior.model_selection._windows import (
    Windows,
    recommended_gap,
    sliding_windows,
)

__all__ = [
    "BayesDecisionClassifier",
    "FoldEnsembleClassifier",
    "HBlockSplit",
    "StagedSearchCV",
    "StoppingRuleComparison",
    "Trajectory",
    "Windows",
    "compare_stopping_rules",
    "pool_comparisons",
    "recommended_gap",
    "sliding_windows",
]
