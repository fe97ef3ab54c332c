"""Scoring rules as metrics of XGBoost."""

from sklearn_superior.integrations._rule_metric import RuleMetric

__all__ = ["eval_metric"]


class _XGBoostMetric(RuleMetric):
    """Metric for `XGBClassifier` and for `xgboost.train`."""

    def __call__(self, first, second, sample_weight=None):
        if hasattr(second, "get_label"):  # xgboost.train: predictions and a DMatrix
            value = self.mean(second.get_label(), first, second.get_weight())
            return self.rule, value
        return self.mean(first, second, sample_weight)


def eval_metric(rule="penalized_brier", **options):
    """Make a metric for XGBoost; lower is better.

    Parameters
    ----------
    rule : str, default="penalized_brier"
        ``"penalized_brier"``, ``"penalized_log_loss"``, ``"penalized_spherical"`` or
        one of these without ``"penalized_"``.

    **options : dict
        Options of the loss: `penalty`, `ties`, and `scale` of the Brier score.

    Returns
    -------
    metric : callable
        For ``XGBClassifier(eval_metric=metric)`` and
        ``xgboost.train(custom_metric=metric)``. Sample weights are used, and a class
        may be missing from the evaluation data. Its name is that of the rule.

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
