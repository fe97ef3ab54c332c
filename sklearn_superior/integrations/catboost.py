"""Scoring rules as metrics of CatBoost."""

import numpy as np
from scipy.special import expit, softmax

from sklearn_superior.integrations._rule_metric import RuleMetric

__all__ = ["EvalMetric"]


class EvalMetric(RuleMetric):
    """Metric for CatBoost; lower is better.

    Parameters
    ----------
    rule : str, default="penalized_brier"
        ``"penalized_brier"``, ``"penalized_log_loss"``, ``"penalized_spherical"`` or
        one of these without ``"penalized_"``.

    **options : dict
        Options of the loss: `penalty`, `ties`, and `scale` of the Brier score.

    Notes
    -----
    For ``CatBoostClassifier(eval_metric=EvalMetric())`` with the losses ``"Logloss"``
    and ``"MultiClass"``. CatBoost calls it with additive scores, not probabilities,
    and with the numbers of the classes. In `evals_result_` it is listed as EvalMetric.

    Examples
    --------
    >>> from catboost import CatBoostClassifier
    >>> from sklearn.datasets import load_iris
    >>> from sklearn_superior.integrations.catboost import EvalMetric
    >>> X, y = load_iris(return_X_y=True)
    >>> model = CatBoostClassifier(
    ...     iterations=200,
    ...     eval_metric=EvalMetric("penalized_log_loss"),
    ...     allow_writing_files=False,
    ...     verbose=False,
    ... )
    >>> import warnings
    >>> with warnings.catch_warnings():  # CatBoost recommends numba
    ...     warnings.simplefilter("ignore")
    ...     model = model.fit(
    ...         X[::2], y[::2], eval_set=(X[1::2], y[1::2]), early_stopping_rounds=5
    ...     )
    >>> model.tree_count_ < 200
    True
    """

    def __init__(self, rule="penalized_brier", **options):
        super().__init__(rule, **options)

    def is_max_optimal(self):
        """Tell CatBoost that lower is better."""
        return False

    def evaluate(self, approxes, target, weight):
        """Return the weighted sum of the losses and the sum of the weights."""
        scores = np.array([np.asarray(column) for column in approxes])
        y_proba = expit(scores[0]) if len(scores) == 1 else softmax(scores, axis=0).T
        return self.sums(target, y_proba, weight)

    def get_final_error(self, error, weight):
        """Return the mean from the two sums."""
        return error / (weight + 1e-38)
