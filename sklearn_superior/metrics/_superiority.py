"""How often a rule ranks a correct prediction above a wrong one."""

import numpy as np
from scipy.stats import rankdata

from sklearn_superior.metrics._kernel import sample_losses
from sklearn_superior.metrics._rules import find_rule
from sklearn_superior.metrics._validation import check_forecast, check_options
from sklearn_superior.utils._sklearn_compat import to_numpy


def superiority_rate(y_true, y_proba, *, rule="brier", labels=None, pos_label=None):
    """Share of (correct, wrong) pairs of predictions that a rule ranks rightly.

    A pair counts 1 if the correct prediction has the lower loss, 1/2 if both
    have the same, else 0. The mean over all pairs is an area under a ROC curve:
    the rule's ability to tell correct from wrong predictions. It is 1 for the
    penalized rules on any data whose rows sum to one; with more than two classes it
    is below 1 for the plain ones as soon as some wrong prediction beats a correct one.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes)
        True labels, or a one-hot matrix.

    y_proba : array-like of shape (n_samples, n_classes), (n_samples,) or (n_samples, 1)
        Predicted probabilities; the columns follow the sorted labels.

    rule : str, default="brier"
        ``"brier"``, ``"log_loss"``, ``"spherical"``, or one of these with
        ``"penalized_"`` in front.

    labels : array-like of shape (n_classes,), default=None
        All class labels. If None, they are the labels in `y_true`.

    pos_label : int, float, bool or str, default=None
        The class of a single column of `y_proba`. If None, the greater label.

    Returns
    -------
    rate : float
        Between 0 and 1. A `ValueError` is raised if all predictions are correct
        or all are wrong: then there is no pair.

    Examples
    --------
    The Brier score prefers the second forecast, which is wrong:

    >>> from sklearn_superior.metrics import superiority_rate
    >>> y_proba = [[0.33, 0.34, 0.33], [0.51, 0.49, 0.00]]
    >>> superiority_rate([1, 1], y_proba, labels=[0, 1, 2], rule="brier")
    0.0
    >>> superiority_rate([1, 1], y_proba, labels=[0, 1, 2], rule="penalized_brier")
    1.0
    """
    row, penalty = find_rule(rule)
    forecast = check_forecast(y_true, y_proba, labels=labels, pos_label=pos_label)
    losses = sample_losses(forecast, check_options(row, penalty=penalty))
    losses = to_numpy(losses, forecast.xp)
    is_wrong = to_numpy(_predict(forecast) != forecast.y_index, forecast.xp)
    n_wrong = np.count_nonzero(is_wrong)
    n_correct = len(is_wrong) - n_wrong
    if n_wrong == 0 or n_correct == 0:
        raise ValueError(
            "superiority_rate needs at least one correct and one wrong prediction. "
            f"Got {n_correct} correct and {n_wrong} wrong."
        )
    ranks = rankdata(losses)
    n_right_way = ranks[is_wrong].sum() - n_wrong * (n_wrong + 1) / 2
    return float(n_right_way / (n_correct * n_wrong))


def _predict(forecast):
    """Index of the predicted class of every row; of a tie the first."""
    xp, proba = forecast.xp, forecast.proba
    if proba.ndim == 2:
        return xp.argmax(proba, axis=1)
    is_positive = proba > 0.5 if forecast.positive else proba < 0.5
    return xp.astype(is_positive, xp.int64)
