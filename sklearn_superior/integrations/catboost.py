"""Scoring rules as CatBoost metrics."""

import numpy as np
from scipy.special import expit, softmax

from sklearn_superior.integrations._rule_metric import RuleMetric

__all__ = ["EvalMetric"]

_LOSS_FUNCTIONS = ("Logloss", "MultiClass", "MultiClassOneVsAll")


class EvalMetric(RuleMetric):
    """Metric for CatBoost; lower is better.

    Parameters
    ----------
    rule : str, default="penalized_brier"
        ``"penalized_brier"``, ``"penalized_log_loss"``, ``"penalized_spherical"``, or
        one of these without ``"penalized_"``. The prefix ``"refined_"`` selects the
        score after recalibration.

    loss_function : {"Logloss", "MultiClass", "MultiClassOneVsAll"}, default=None
        The loss that CatBoost minimizes, which it does not pass to the metric. None
        means ``"Logloss"`` for two classes and ``"MultiClass"`` for more; scores that
        look like those of ``"MultiClassOneVsAll"`` then raise an error.

    **options : dict
        Options of the loss: `penalty`, `ties`, `scale` of the Brier score, and
        `prior_scale` and `sharpen` of the refined rules.

    Notes
    -----
    For ``CatBoostClassifier(eval_metric=EvalMetric())``. CatBoost calls it with
    additive scores, not probabilities, and with the numbers of the classes. The value
    is the loss of `predict_proba`, whose rows do not sum to one with
    ``"MultiClassOneVsAll"``. In `evals_result_` it is listed as EvalMetric.

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

    no_jit = True  # CatBoost would try to compile it where numba is installed

    def __init__(self, rule="penalized_brier", *, loss_function=None, **options):
        super().__init__(rule, **options)
        if loss_function not in (None, *_LOSS_FUNCTIONS):
            raise ValueError(
                f"The 'loss_function' parameter must be one of {_LOSS_FUNCTIONS} or "
                f"None. Got {loss_function!r}."
            )
        self.loss_function = loss_function

    def is_max_optimal(self):
        """Return False: lower is better."""
        return False

    def evaluate(self, approxes, target, weight):
        """Return the weighted sum of the losses and the sum of the weights."""
        scores = np.array([np.asarray(column) for column in approxes])
        sums = self.sums(target, self._to_probabilities(scores), weight)
        if self.loss_function == "MultiClassOneVsAll":
            sums.lows[2] = 0.0  # its rows do not sum to one
        sums.check(allow_no_weight=True)
        return sums.loss, sums.weight

    def _to_probabilities(self, scores):
        """Turn scores of shape (n_classes, n) into what `predict_proba` returns."""
        if len(scores) == 1:
            return expit(scores[0])
        if self.loss_function == "MultiClassOneVsAll":
            return expit(scores.T)
        if self.loss_function is None:
            _check_multiclass(scores)
        return softmax(scores, axis=0).T

    def __repr__(self):  # noqa: D105
        if self.loss_function is None:
            return super().__repr__()
        return f"{super().__repr__()[:-1]}, loss_function={self.loss_function!r})"

    def get_final_error(self, error, weight):
        """Return the mean from the two sums."""
        return error / (weight + 1e-38)


def _check_multiclass(scores):
    """Raise an error if the scores may not come from the MultiClass loss.

    Its gradients add up to zero over the classes, and so do its scores. With two
    classes those of MultiClassOneVsAll do as well.
    """
    if len(scores) == 2:
        raise ValueError(
            "For two classes with a score each, pass the loss to the metric: "
            "EvalMetric(loss_function='MultiClass') or 'MultiClassOneVsAll'."
        )
    if np.any(np.abs(scores.sum(axis=0)) > 1e-6 * (1 + np.abs(scores).sum(axis=0))):
        raise ValueError(
            "The scores of the classes do not add up to zero, as those of the loss "
            "MultiClass do. Pass the loss to the metric: "
            "EvalMetric(loss_function='MultiClassOneVsAll'), or 'MultiClass' if the "
            "data has a baseline."
        )
