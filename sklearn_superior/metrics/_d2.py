"""Skill scores: the penalized losses relative to those of the class frequencies."""

from sklearn_superior.metrics._kernel import mean_loss
from sklearn_superior.metrics._rules import RULES
from sklearn_superior.metrics._validation import check_options

__all__ = ["d2_penalized_brier_score", "d2_penalized_log_loss_score"]


def d2_penalized_brier_score(
    y_true,
    y_proba,
    *,
    sample_weight=None,
    labels=None,
    pos_label=None,
    penalty="paper",
    ties="first",
):
    """Share of the penalized Brier score that the predictions explain.

    The score is 1 minus the loss over the loss of a forecast that always gives the
    class frequencies of `y_true`. The best score is 1; 0 is as good as the frequencies.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes)
        True labels of any type (numbers, strings, booleans), or a one-hot matrix.

    y_proba : array-like of shape (n_samples, n_classes), (n_samples,) or (n_samples, 1)
        Predicted probabilities. The columns follow the *sorted* labels, as in
        scikit-learn. A single column is for the class `pos_label` of two classes.

    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights.

    labels : array-like of shape (n_classes,), default=None
        All class labels. If None, they are the labels in `y_true`, where each class
        must then occur.

    pos_label : int, float, bool or str, default=None
        The class of a single column of `y_proba`. If None, the greater label.

    penalty : {"paper", "minimal"} or float, default="paper"
        Added to the loss of every wrong prediction. See `penalized_brier_score_loss`.

    ties : {"first", "split", "correct"}, default="first"
        What counts as wrong when several classes share the highest probability.

    Returns
    -------
    score : float
        At most 1. A `ValueError` is raised where it is not defined, that is when all
        samples are of one class.

    See Also
    --------
    penalized_brier_score_loss : The loss, with the formula.
    get_scorer : ``get_scorer("d2_penalized_brier_score")`` is its scorer.

    Examples
    --------
    The class frequencies as a forecast, then a better one:

    >>> from sklearn_superior.metrics import d2_penalized_brier_score
    >>> d2_penalized_brier_score([0, 1, 1, 1], [0.75, 0.75, 0.75, 0.75])
    0.0
    >>> d2_penalized_brier_score([0, 1, 1, 1], [0.25, 0.75, 0.75, 0.75]) > 0.5
    True
    """
    loss = check_options(RULES["brier"], penalty=penalty, ties=ties, d2=True)
    return mean_loss(
        loss,
        y_true,
        y_proba,
        sample_weight=sample_weight,
        labels=labels,
        pos_label=pos_label,
    )


def d2_penalized_log_loss_score(
    y_true,
    y_proba,
    *,
    sample_weight=None,
    labels=None,
    pos_label=None,
    penalty="paper",
    ties="first",
):
    """Share of the penalized log loss that the predictions explain.

    The score is 1 minus the loss over the loss of a forecast that always gives the
    class frequencies of `y_true`. The best score is 1; 0 is as good as the frequencies.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes)
        True labels of any type (numbers, strings, booleans), or a one-hot matrix.

    y_proba : array-like of shape (n_samples, n_classes), (n_samples,) or (n_samples, 1)
        Predicted probabilities. The columns follow the *sorted* labels, as in
        scikit-learn. A single column is for the class `pos_label` of two classes.

    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights.

    labels : array-like of shape (n_classes,), default=None
        All class labels. If None, they are the labels in `y_true`, where each class
        must then occur.

    pos_label : int, float, bool or str, default=None
        The class of a single column of `y_proba`. If None, the greater label.

    penalty : {"paper", "minimal"} or float, default="paper"
        Added to the loss of every wrong prediction. See `penalized_log_loss`.

    ties : {"first", "split", "correct"}, default="first"
        What counts as wrong when several classes share the highest probability.

    Returns
    -------
    score : float
        At most 1. A `ValueError` is raised where it is not defined, that is when all
        samples are of one class.

    See Also
    --------
    penalized_log_loss : The loss, with the formula.
    get_scorer : ``get_scorer("d2_penalized_log_loss_score")`` is its scorer.

    Examples
    --------
    The class frequencies as a forecast, then a better one:

    >>> from sklearn_superior.metrics import d2_penalized_log_loss_score
    >>> d2_penalized_log_loss_score([0, 1, 1, 1], [0.75, 0.75, 0.75, 0.75])
    0.0
    >>> d2_penalized_log_loss_score([0, 1, 1, 1], [0.25, 0.75, 0.75, 0.75]) > 0.5
    True
    """
    loss = check_options(RULES["log_loss"], penalty=penalty, ties=ties, d2=True)
    return mean_loss(
        loss,
        y_true,
        y_proba,
        sample_weight=sample_weight,
        labels=labels,
        pos_label=pos_label,
    )
