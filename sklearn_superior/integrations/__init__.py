"""Metrics for the training loops of other libraries.

Each module is named after its library, which is needed only to train with it.
"""

from sklearn_superior.integrations import catboost, lightgbm, xgboost

__all__ = ["catboost", "lightgbm", "xgboost"]
