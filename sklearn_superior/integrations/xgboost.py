"""Scoring rules as XGBoost metrics."""

import numpy as np

from sklearn_superior.integrations._rule_metric import RuleMetric, unpack
from sklearn_superior.metrics._kernel import LossSums

__all__ = ["eval_metric"]


class _XGBoostMetric(RuleMetric):
    """Metric for `XGBClassifier`, `xgboost.train` and their `xgboost.dask` versions."""

    def __call__(self, first, second, sample_weight=None):
        mean = self._mean_over_workers(*unpack(first, second, sample_weight))
        return (self.rule, mean) if hasattr(second, "get_label") else mean

    def sums(self, y_true, y_proba, weight=None):
        if np.ndim(y_proba) == 1 and np.max(y_true, initial=0) > 1:
            raise ValueError(
                "XGBoost must predict a probability for each class. Set the objective "
                "to 'multi:softprob', not 'multi:softmax'."
            )
        return super().sums(y_true, y_proba, weight)

    def _mean_over_workers(self, y_true, y_proba, weight):
        """Return the mean over the rows of all workers; this one may have none.

        XGBoost averages the values of the workers regardless of their weights, so all
        of them return the same value.
        """
        from xgboost import collective

        if not collective.is_distributed():
            return self.mean(y_true, y_proba, weight)
        if self.is_refined:
            raise ValueError(
                f"The rule {self.rule} needs all rows on one worker, because its "
                "temperature cannot be computed from sums. Use a rule without it."
            )
        failure, own = None, [np.nan, np.nan]
        try:
            sums = self.sums(y_true, y_proba, weight)
            sums.check(allow_no_weight=True)
            own = [sums.loss, sums.weight]
        except Exception as exc:  # raised below, when the other workers know
            failure = exc
        loss, weight = collective.allreduce(np.array(own), collective.Op.SUM)
        all_sums = LossSums(np.array([loss, weight, 0.0]))
        if failure is not None:
            raise failure
        if np.isnan(all_sums.loss):
            raise RuntimeError(f"The metric {self.rule} failed on another worker.")
        all_sums.check()
        return float(all_sums.loss / all_sums.weight)


def eval_metric(rule="penalized_brier", **options):
    """Make a metric for XGBoost; lower is better.

    Parameters
    ----------
    rule : str, default="penalized_brier"
        ``"penalized_brier"``, ``"penalized_log_loss"``, ``"penalized_spherical"``, or
        one of these without ``"penalized_"``. The prefix ``"refined_"`` selects the
        score after recalibration.

    **options : dict
        Options of the loss: `penalty`, `ties`, `scale` of the Brier score, and
        `prior_scale` and `sharpen` of the refined rules.

    Returns
    -------
    metric : callable
        For ``XGBClassifier(eval_metric=metric)`` and
        ``xgboost.train(custom_metric=metric)``. It uses sample weights, handles missing
        classes in the evaluation data, and is named after the rule.

    Notes
    -----
    With `xgboost.dask`, it is the mean over the rows of all workers, which exchange two
    sums. A worker may have no rows, or lack a class.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from xgboost import XGBClassifier
    >>> from sklearn_superior.integrations.xgboost import eval_metric
    >>> X, y = load_iris(return_X_y=True)
    >>> model = XGBClassifier(
    ...     n_estimators=200, eval_metric=eval_metric(), early_stopping_rounds=5
    ... )
    >>> model = model.fit(X[::2], y[::2], eval_set=[(X[1::2], y[1::2])], verbose=False)
    >>> model.best_iteration < 200
    True
    """
    return _XGBoostMetric(rule, **options)
