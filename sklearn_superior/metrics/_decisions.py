"""Decisions from probabilities: those of least expected cost, and what they cost."""

import numpy as np

from sklearn_superior.metrics._forecast import (
    check_forecast,
    check_probabilities,
    check_values,
)
from sklearn_superior.utils._arrays import read_numbers
from sklearn_superior.utils._sklearn_compat import array_namespace, to_numpy


def bayes_decision(y_proba, cost_matrix):
    r"""Choose the decision of least expected cost for each sample.

    With the cost :math:`C_{jk}` of decision :math:`k` when :math:`j` is the true class,
    the Bayes decision of a forecast :math:`q` is

    .. math:: \mathrm{arg\,min}_k \sum_j q_j C_{jk}

    Parameters
    ----------
    y_proba : array-like of shape (n_samples, n_classes), (n_samples,) or (n_samples, 1)
        Predicted probabilities. A single column is for the second of two classes.

    cost_matrix : array-like of shape (n_classes, n_decisions)
        Costs; the rows follow the sorted classes. A decision need not be a class: one
        more column may be the cost of asking an expert, for example.

    Returns
    -------
    decisions : ndarray of shape (n_samples,)
        The column of `cost_matrix` that is cheapest for each row; in case of a tie, the
        first one.

    See Also
    --------
    decision_cost : The mean cost of these decisions.

    Notes
    -----
    Adding a constant to a row of `cost_matrix` changes no decision. Expected costs are
    computed after subtracting the maximum of each row. With costs of 0 on the diagonal
    and 1 elsewhere the decision is then exactly the arg max of the probabilities.

    Examples
    --------
    A missed fault costs ten times as much as a false alarm, so a probability of 0.2 is
    enough to raise one:

    >>> from sklearn_superior.metrics import bayes_decision
    >>> bayes_decision([[0.95, 0.05], [0.8, 0.2]], [[0, 1], [10, 0]])
    array([0, 1])

    With a third column one can decline to decide, at a cost of 0.3:

    >>> bayes_decision([[0.9, 0.1], [0.6, 0.4]], [[0, 1, 0.3], [1, 0, 0.3]])
    array([0, 2])
    """
    xp, _ = array_namespace(y_proba)
    y_proba = to_numpy(check_probabilities(y_proba, xp), xp).astype(np.float64)
    check_values(float(y_proba.min()), -float(y_proba.max()))
    if y_proba.ndim == 1:
        y_proba = np.column_stack([1 - y_proba, y_proba])
    return _decide(y_proba, check_costs(cost_matrix, y_proba.shape[1]))


def decision_cost(y_true, y_proba, *, cost_matrix, labels=None, sample_weight=None):
    """Mean cost of the Bayes decisions of probabilistic predictions.

    Each sample is charged the cost of its :func:`bayes_decision`. The mean is a proper
    scoring rule, but not a strictly proper one: it only sees the decisions.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes)
        True labels of any type (numbers, strings, booleans), or a one-hot matrix.

    y_proba : array-like of shape (n_samples, n_classes), (n_samples,) or (n_samples, 1)
        Predicted probabilities. The columns follow the *sorted* labels, as in
        scikit-learn. A single column is for the greater of two labels.

    cost_matrix : array-like of shape (n_classes, n_decisions)
        Cost of each decision for each true class; the rows follow the sorted labels.

    labels : array-like of shape (n_classes,), default=None
        All class labels. If None, they are inferred from `y_true`, in which every class
        must then occur.

    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights.

    Returns
    -------
    cost : float
        The weighted mean of the costs.

    See Also
    --------
    bayes_decision : The decisions.
    get_scorer : ``get_scorer("neg_decision_cost", cost_matrix=...)`` is its scorer.

    Examples
    --------
    >>> from sklearn_superior.metrics import decision_cost
    >>> y_proba = [[0.95, 0.05], [0.8, 0.2], [0.99, 0.01]]
    >>> decision_cost([0, 0, 1], y_proba, cost_matrix=[[0, 1], [10, 0]])
    3.66667
    """
    forecast = check_forecast(y_true, y_proba, sample_weight, labels)
    return mean_cost(forecast, cost_matrix)


def mean_cost(forecast, cost_matrix):
    """Return the weighted mean cost of the decisions for a `Forecast`."""
    forecast.check_values()
    costs = check_costs(cost_matrix, forecast.n_classes)
    xp, weight = forecast.xp, forecast.weight
    decisions = _decide(to_numpy(forecast.columns(), xp).T, costs)
    paid = costs[to_numpy(forecast.y_index, xp), decisions]
    weight = None if weight is None else to_numpy(weight, xp)
    return float(np.average(paid, weights=weight))


def check_costs(cost_matrix, n_classes=None):
    """Return the `cost_matrix` parameter as floats; `n_classes` may be unknown."""
    costs = read_numbers(cost_matrix, "cost_matrix").astype(np.float64)
    if costs.ndim != 2 or 0 in costs.shape or n_classes not in (None, len(costs)):
        rows = "n_classes" if n_classes is None else n_classes
        raise ValueError(
            f"cost_matrix must have shape ({rows}, n_decisions), with a row for each "
            f"class. Got shape {costs.shape}."
        )
    if not np.all(np.isfinite(costs)):
        raise ValueError("cost_matrix must not contain NaN or infinite values.")
    return costs


def _decide(y_proba, costs):
    # With 0/1 costs only minus the probability of each class remains, so that rounding
    # does not decide between equals.
    return np.argmin(y_proba @ (costs - costs.max(axis=1, keepdims=True)), axis=1)
