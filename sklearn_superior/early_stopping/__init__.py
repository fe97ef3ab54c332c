"""Early stopping by any scorer, for boosting and for networks."""

from sklearn_superior.early_stopping._classifier import EarlyStoppingClassifier
from sklearn_superior.early_stopping._staged_scores import staged_scores
from sklearn_superior.early_stopping._stopper import EarlyStopper
from sklearn_superior.staged.adapters import Stages, register_stages

__all__ = [
    "EarlyStopper",
    "EarlyStoppingClassifier",
    "Stages",
    "register_stages",
    "staged_scores",
]
