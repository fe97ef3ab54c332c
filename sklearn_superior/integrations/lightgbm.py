"""Scoring rules as LightGBM metrics."""

from sklearn_superior.integrations._rule_metric import RuleMetric, unpack

__all__ = ["eval_metric"]


class _LightGBMMetric(RuleMetric):
    """Metric for `LGBMClassifier.fit` and for `lightgbm.train`."""

    def __call__(self, first, second, weight=None):
        return self.rule, self.mean(*unpack(first, second, weight)), False


def eval_metric(rule="penalized_brier", **options):
    """Make a metric for LightGBM; lower is better.

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
        For ``LGBMClassifier.fit(eval_metric=metric)``, alone or in a list, and for
        ``lightgbm.train(feval=metric)``. It uses sample weights and handles missing
        classes in the evaluation data.

    Notes
    -----
    LightGBM's own metric takes part in early stopping unless the model has
    ``metric="None"``.

    On Dask, each worker computes the metric on its own rows of the evaluation data, and
    ``DaskLGBMClassifier`` reports the value of one worker, not of all rows. Do not use
    it for early stopping. To get the loss of all rows, score the predictions with
    :func:`sklearn_superior.integrations.dask.penalized_brier_score_loss`, or train with
    XGBoost, where our metric covers the rows of all workers.

    Examples
    --------
    >>> import lightgbm
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_superior.integrations.lightgbm import eval_metric
    >>> X, y = load_digits(n_class=3, return_X_y=True)
    >>> model = lightgbm.LGBMClassifier(n_estimators=200, metric="None", verbose=-1)
    >>> model = model.fit(
    ...     X[::2],
    ...     y[::2],
    ...     eval_X=X[1::2],
    ...     eval_y=y[1::2],
    ...     eval_metric=eval_metric(),
    ...     callbacks=[lightgbm.early_stopping(5, verbose=False)],
    ... )
    >>> model.best_iteration_ < 200
    True
    """
    return _LightGBMMetric(rule, **options)
