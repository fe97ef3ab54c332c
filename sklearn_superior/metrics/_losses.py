"""The public losses: weighted means, losses of samples, skill scores.

Each function looks its rule up in the table of `_rules.py`, checks its options and
leaves the rest to the pass of `_kernel.py`.
"""

import numpy as np
from scipy.stats import rankdata

from sklearn_superior.metrics._forecast import check_forecast
from sklearn_superior.metrics._kernel import mean_loss, sample_losses
from sklearn_superior.metrics._rules import RULES, check_options, find_rule
from sklearn_superior.utils._sklearn_compat import to_numpy


def penalized_brier_score_loss(
    y_true,
    y_proba,
    *,
    sample_weight=None,
    labels=None,
    pos_label=None,
    penalty="paper",
    ties="first",
    scale="sum",
):
    r"""Penalized Brier score of probabilistic predictions.

    The Brier score plus a penalty for every wrong prediction. The loss of a forecast
    :math:`q` when :math:`i` is the true class is

    .. math:: \sum_j (q_j - [j = i])^2 + P \cdot [\mathrm{arg\,max}\, q \ne i]

    with the penalty :math:`P = (c - 1) / c` for :math:`c` classes. It is strictly
    proper, and no wrong prediction has a lower loss than a correct one. Lower is
    better; 0 is perfect.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes)
        True labels of any type (numbers, strings, booleans), or a one-hot matrix.

    y_proba : array-like of shape (n_samples, n_classes), (n_samples,) or (n_samples, 1)
        Predicted probabilities. The columns follow the *sorted* labels, as in
        scikit-learn. A single column holds the probabilities of `pos_label`.

    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights.

    labels : array-like of shape (n_classes,), default=None
        All class labels. If None, they are inferred from `y_true`, in which every class
        must then occur.

    pos_label : int, float, bool or str, default=None
        The class of a single column of `y_proba`. If None, the greater label.

    penalty : {"paper", "minimal"} or float, default="paper"
        Added to the loss of every wrong prediction: ``"paper"`` is the worst loss of a
        correct prediction; ``"minimal"`` is the smallest penalty that never ranks a
        wrong prediction above a correct one, 0 for two classes; 0 gives the loss
        without a penalty.

    ties : {"first", "split", "correct"}, default="first"
        How ties for the highest probability are charged: ``"first"`` predicts the first
        of the tied classes, as `predict` does; ``"split"`` charges the expected error
        of a random choice; ``"correct"`` charges nothing if the true class is among
        them, and is *not* a proper scoring rule.

    scale : {"sum", "mean", "half", "auto"}, default="sum"
        Factor of the whole loss, penalty included. ``"sum"`` sums over classes, as in
        the paper, and a float `penalty` is in its units. ``"mean"`` averages over the
        classes, ``"half"`` halves, and ``"auto"`` halves for two classes, as
        scikit-learn does.

    Returns
    -------
    loss : float
        The weighted mean of the losses of the samples.

    See Also
    --------
    penalized_brier_score_samples : The loss of every sample.

    Notes
    -----
    The mean is the mean Brier score plus :math:`P` times the error rate. It is
    computed in float64, whatever the dtype of `y_proba`.

    Examples
    --------
    >>> from sklearn_superior.metrics import penalized_brier_score_loss
    >>> y_proba = [[0.33, 0.34, 0.33], [0.51, 0.49, 0.00]]
    >>> penalized_brier_score_loss([1, 1], y_proba, labels=[0, 1, 2])
    0.92013
    """
    loss = check_options(RULES["brier"], penalty=penalty, ties=ties, scale=scale)
    return mean_loss(loss, y_true, y_proba, sample_weight, labels, pos_label)


def penalized_log_loss(
    y_true,
    y_proba,
    *,
    sample_weight=None,
    labels=None,
    pos_label=None,
    penalty="paper",
    ties="first",
    normalize=True,
):
    r"""Penalized log loss of probabilistic predictions.

    The log loss plus a penalty for every wrong prediction. The loss of a forecast
    :math:`q` when :math:`i` is the true class is

    .. math:: -\ln q_i + P \cdot [\mathrm{arg\,max}\, q \ne i]

    with the penalty :math:`P = \ln c` for :math:`c` classes. It is strictly
    proper, and no wrong prediction has a lower loss than a correct one. Lower is
    better; 0 is perfect.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes)
        True labels of any type (numbers, strings, booleans), or a one-hot matrix.

    y_proba : array-like of shape (n_samples, n_classes), (n_samples,) or (n_samples, 1)
        Predicted probabilities. The columns follow the *sorted* labels, as in
        scikit-learn. A single column holds the probabilities of `pos_label`.

    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights.

    labels : array-like of shape (n_classes,), default=None
        All class labels. If None, they are inferred from `y_true`, in which every class
        must then occur.

    pos_label : int, float, bool or str, default=None
        The class of a single column of `y_proba`. If None, the greater label.

    penalty : {"paper", "minimal"} or float, default="paper"
        Added to the loss of every wrong prediction: ``"paper"`` is the worst loss of a
        correct prediction; ``"minimal"`` is the smallest penalty that never ranks a
        wrong prediction above a correct one, 0 for two classes; 0 gives the loss
        without a penalty.

    ties : {"first", "split", "correct"}, default="first"
        How ties for the highest probability are charged: ``"first"`` predicts the first
        of the tied classes, as `predict` does; ``"split"`` charges the expected error
        of a random choice; ``"correct"`` charges nothing if the true class is among
        them, and is *not* a proper scoring rule.

    normalize : bool, default=True
        Return the weighted mean if True, else the weighted sum.

    Returns
    -------
    loss : float
        The weighted mean of the losses of the samples, or their sum.

    See Also
    --------
    penalized_log_loss_samples : The loss of every sample.

    Notes
    -----
    The mean is the mean log loss plus :math:`P` times the error rate. It is
    computed in float64, whatever the dtype of `y_proba`.

    Probabilities are clipped to [eps, 1 - eps] of the dtype of `y_proba`.

    Examples
    --------
    >>> from sklearn_superior.metrics import penalized_log_loss
    >>> y_proba = [[0.33, 0.34, 0.33], [0.51, 0.49, 0.00]]
    >>> penalized_log_loss([1, 1], y_proba, labels=[0, 1, 2])
    1.44539
    """
    loss = check_options(
        RULES["log_loss"], penalty=penalty, ties=ties, normalize=normalize
    )
    return mean_loss(loss, y_true, y_proba, sample_weight, labels, pos_label)


def penalized_spherical_loss(
    y_true,
    y_proba,
    *,
    sample_weight=None,
    labels=None,
    pos_label=None,
    penalty="paper",
    ties="first",
    normalize=True,
):
    r"""Penalized spherical loss of probabilistic predictions.

    The spherical loss plus a penalty for every wrong prediction. The loss of a
    forecast :math:`q` when :math:`i` is the true class is

    .. math:: 1 - q_i / \lVert q \rVert_2 + P \cdot [\mathrm{arg\,max}\, q \ne i]

    with the penalty :math:`P = 1 - 1 / \sqrt{c}` for :math:`c` classes. It is strictly
    proper, and no wrong prediction has a lower loss than a correct one. Lower is
    better; 0 is perfect.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes)
        True labels of any type (numbers, strings, booleans), or a one-hot matrix.

    y_proba : array-like of shape (n_samples, n_classes), (n_samples,) or (n_samples, 1)
        Predicted probabilities. The columns follow the *sorted* labels, as in
        scikit-learn. A single column holds the probabilities of `pos_label`.

    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights.

    labels : array-like of shape (n_classes,), default=None
        All class labels. If None, they are inferred from `y_true`, in which every class
        must then occur.

    pos_label : int, float, bool or str, default=None
        The class of a single column of `y_proba`. If None, the greater label.

    penalty : {"paper", "minimal"} or float, default="paper"
        Added to the loss of every wrong prediction: ``"paper"`` is the worst loss of a
        correct prediction; ``"minimal"`` is the smallest penalty that never ranks a
        wrong prediction above a correct one, 0 for two classes; 0 gives the loss
        without a penalty.

    ties : {"first", "split", "correct"}, default="first"
        How ties for the highest probability are charged: ``"first"`` predicts the first
        of the tied classes, as `predict` does; ``"split"`` charges the expected error
        of a random choice; ``"correct"`` charges nothing if the true class is among
        them, and is *not* a proper scoring rule.

    normalize : bool, default=True
        Return the weighted mean if True, else the weighted sum.

    Returns
    -------
    loss : float
        The weighted mean of the losses of the samples, or their sum.

    See Also
    --------
    penalized_spherical_loss_samples : The loss of every sample.

    Notes
    -----
    The mean is the mean spherical loss plus :math:`P` times the error rate. It is
    computed in float64, whatever the dtype of `y_proba`.

    Examples
    --------
    >>> from sklearn_superior.metrics import penalized_spherical_loss
    >>> y_proba = [[0.33, 0.34, 0.33], [0.51, 0.49, 0.00]]
    >>> penalized_spherical_loss([1, 1], y_proba, labels=[0, 1, 2])
    0.57049
    """
    loss = check_options(
        RULES["spherical"], penalty=penalty, ties=ties, normalize=normalize
    )
    return mean_loss(loss, y_true, y_proba, sample_weight, labels, pos_label)


def penalized_brier_score_samples(
    y_true,
    y_proba,
    *,
    labels=None,
    pos_label=None,
    penalty="paper",
    ties="first",
    scale="sum",
):
    """Penalized Brier score of every sample.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes)
        True labels of any type (numbers, strings, booleans), or a one-hot matrix.

    y_proba : array-like of shape (n_samples, n_classes), (n_samples,) or (n_samples, 1)
        Predicted probabilities. The columns follow the *sorted* labels, as in
        scikit-learn. A single column holds the probabilities of `pos_label`.

    labels : array-like of shape (n_classes,), default=None
        All class labels. If None, they are inferred from `y_true`, in which every class
        must then occur.

    pos_label : int, float, bool or str, default=None
        The class of a single column of `y_proba`. If None, the greater label.

    penalty : {"paper", "minimal"} or float, default="paper"
        Added to the loss of every wrong prediction. See `penalized_brier_score_loss`.

    ties : {"first", "split", "correct"}, default="first"
        How ties for the highest probability are charged.

    scale : {"sum", "mean", "half", "auto"}, default="sum"
        Factor of the whole loss, penalty included.

    Returns
    -------
    losses : ndarray of shape (n_samples,)
        The losses, in float64. With scikit-learn's array API dispatch they are an array
        of the same library, and on the same device, as `y_proba`.

    See Also
    --------
    penalized_brier_score_loss : Their weighted mean, with the formula.

    Examples
    --------
    A correct prediction and a wrong one, which costs more:

    >>> from sklearn_superior.metrics import penalized_brier_score_samples
    >>> y_proba = [[0.33, 0.34, 0.33], [0.51, 0.49, 0.00]]
    >>> penalized_brier_score_samples([1, 1], y_proba, labels=[0, 1, 2]).tolist()
    [0.65340, 1.18687]
    """
    loss = check_options(RULES["brier"], penalty=penalty, ties=ties, scale=scale)
    forecast = check_forecast(y_true, y_proba, labels=labels, pos_label=pos_label)
    return sample_losses(forecast, loss)


def penalized_log_loss_samples(
    y_true, y_proba, *, labels=None, pos_label=None, penalty="paper", ties="first"
):
    """Penalized log loss of every sample.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes)
        True labels of any type (numbers, strings, booleans), or a one-hot matrix.

    y_proba : array-like of shape (n_samples, n_classes), (n_samples,) or (n_samples, 1)
        Predicted probabilities. The columns follow the *sorted* labels, as in
        scikit-learn. A single column holds the probabilities of `pos_label`.

    labels : array-like of shape (n_classes,), default=None
        All class labels. If None, they are inferred from `y_true`, in which every class
        must then occur.

    pos_label : int, float, bool or str, default=None
        The class of a single column of `y_proba`. If None, the greater label.

    penalty : {"paper", "minimal"} or float, default="paper"
        Added to the loss of every wrong prediction. See `penalized_log_loss`.

    ties : {"first", "split", "correct"}, default="first"
        How ties for the highest probability are charged.

    Returns
    -------
    losses : ndarray of shape (n_samples,)
        The losses, in float64. With scikit-learn's array API dispatch they are an array
        of the same library, and on the same device, as `y_proba`.

    See Also
    --------
    penalized_log_loss : Their weighted mean, with the formula.

    Examples
    --------
    A correct prediction and a wrong one, which costs more:

    >>> from sklearn_superior.metrics import penalized_log_loss_samples
    >>> y_proba = [[0.33, 0.34, 0.33], [0.51, 0.49, 0.00]]
    >>> penalized_log_loss_samples([1, 1], y_proba, labels=[0, 1, 2]).tolist()
    [1.07881, 1.81196]
    """
    loss = check_options(RULES["log_loss"], penalty=penalty, ties=ties)
    forecast = check_forecast(y_true, y_proba, labels=labels, pos_label=pos_label)
    return sample_losses(forecast, loss)


def penalized_spherical_loss_samples(
    y_true, y_proba, *, labels=None, pos_label=None, penalty="paper", ties="first"
):
    """Penalized spherical loss of every sample.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes)
        True labels of any type (numbers, strings, booleans), or a one-hot matrix.

    y_proba : array-like of shape (n_samples, n_classes), (n_samples,) or (n_samples, 1)
        Predicted probabilities. The columns follow the *sorted* labels, as in
        scikit-learn. A single column holds the probabilities of `pos_label`.

    labels : array-like of shape (n_classes,), default=None
        All class labels. If None, they are inferred from `y_true`, in which every class
        must then occur.

    pos_label : int, float, bool or str, default=None
        The class of a single column of `y_proba`. If None, the greater label.

    penalty : {"paper", "minimal"} or float, default="paper"
        Added to the loss of every wrong prediction. See `penalized_spherical_loss`.

    ties : {"first", "split", "correct"}, default="first"
        How ties for the highest probability are charged.

    Returns
    -------
    losses : ndarray of shape (n_samples,)
        The losses, in float64. With scikit-learn's array API dispatch they are an array
        of the same library, and on the same device, as `y_proba`.

    See Also
    --------
    penalized_spherical_loss : Their weighted mean, with the formula.

    Examples
    --------
    A correct prediction and a wrong one, which costs more:

    >>> from sklearn_superior.metrics import penalized_spherical_loss_samples
    >>> y_proba = [[0.33, 0.34, 0.33], [0.51, 0.49, 0.00]]
    >>> penalized_spherical_loss_samples([1, 1], y_proba, labels=[0, 1, 2]).tolist()
    [0.41116, 0.72982]
    """
    loss = check_options(RULES["spherical"], penalty=penalty, ties=ties)
    forecast = check_forecast(y_true, y_proba, labels=labels, pos_label=pos_label)
    return sample_losses(forecast, loss)


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
    """Skill score (D2) of the penalized Brier score.

    It is 1 minus the loss divided by that of always predicting the class frequencies
    of `y_true`. The best score is 1; 0 is no better than the class frequencies.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes)
        True labels of any type (numbers, strings, booleans), or a one-hot matrix.

    y_proba : array-like of shape (n_samples, n_classes), (n_samples,) or (n_samples, 1)
        Predicted probabilities. The columns follow the *sorted* labels, as in
        scikit-learn. A single column holds the probabilities of `pos_label`.

    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights.

    labels : array-like of shape (n_classes,), default=None
        All class labels. If None, they are inferred from `y_true`, in which every class
        must then occur.

    pos_label : int, float, bool or str, default=None
        The class of a single column of `y_proba`. If None, the greater label.

    penalty : {"paper", "minimal"} or float, default="paper"
        Added to the loss of every wrong prediction. See `penalized_brier_score_loss`.

    ties : {"first", "split", "correct"}, default="first"
        How ties for the highest probability are charged.

    Returns
    -------
    score : float
        At most 1. It is undefined, and raises a `ValueError`, if all samples belong to
        one class.

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
    return mean_loss(loss, y_true, y_proba, sample_weight, labels, pos_label)


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
    """Skill score (D2) of the penalized log loss.

    It is 1 minus the loss divided by that of always predicting the class frequencies
    of `y_true`. The best score is 1; 0 is no better than the class frequencies.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes)
        True labels of any type (numbers, strings, booleans), or a one-hot matrix.

    y_proba : array-like of shape (n_samples, n_classes), (n_samples,) or (n_samples, 1)
        Predicted probabilities. The columns follow the *sorted* labels, as in
        scikit-learn. A single column holds the probabilities of `pos_label`.

    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights.

    labels : array-like of shape (n_classes,), default=None
        All class labels. If None, they are inferred from `y_true`, in which every class
        must then occur.

    pos_label : int, float, bool or str, default=None
        The class of a single column of `y_proba`. If None, the greater label.

    penalty : {"paper", "minimal"} or float, default="paper"
        Added to the loss of every wrong prediction. See `penalized_log_loss`.

    ties : {"first", "split", "correct"}, default="first"
        How ties for the highest probability are charged.

    Returns
    -------
    score : float
        At most 1. It is undefined, and raises a `ValueError`, if all samples belong to
        one class.

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
    return mean_loss(loss, y_true, y_proba, sample_weight, labels, pos_label)


def superiority_rate(y_true, y_proba, *, rule="brier", labels=None, pos_label=None):
    """Share of pairs of a correct and a wrong prediction that a rule ranks correctly.

    A pair counts 1 if the correct prediction has the lower loss, 1/2 in case of a tie,
    and 0 otherwise. The mean over all pairs is the area under a ROC curve: how well the
    rule separates correct from wrong predictions. It is 1 for the penalized rules on
    any data whose rows sum to one. With more than two classes it is below 1 for the
    plain rules as soon as a wrong prediction beats a correct one.

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
        All class labels. If None, they are inferred from `y_true`.

    pos_label : int, float, bool or str, default=None
        The class of a single column of `y_proba`. If None, the greater label.

    Returns
    -------
    rate : float
        Between 0 and 1. If all predictions are correct, or all are wrong, there is no
        pair and a `ValueError` is raised.

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
    xp, predicted = forecast.xp, forecast.xp.argmax(forecast.columns(), axis=0)
    is_wrong = to_numpy(predicted != forecast.y_index, xp)
    n_wrong = np.count_nonzero(is_wrong)
    n_correct = len(is_wrong) - n_wrong
    if n_wrong == 0 or n_correct == 0:
        raise ValueError(
            "superiority_rate needs at least one correct and one wrong prediction. "
            f"Got {n_correct} correct and {n_wrong} wrong."
        )
    # Not roc_auc_score, whose rounding would spoil an exact 1.
    n_right_way = rankdata(to_numpy(losses, xp))[is_wrong].sum()
    n_right_way -= n_wrong * (n_wrong + 1) / 2
    return float(n_right_way / (n_correct * n_wrong))
