"""Decisions of least expected cost, and what they cost."""

from collections.abc import Mapping

import numpy as np

from sklearn_superior.metrics._validation import check_forecast, check_probabilities
from sklearn_superior.utils._arrays import read_numbers
from sklearn_superior.utils._warnings import warn

__all__ = [
    "bayes_decision",
    "cost_by_share_referred",
    "decision_cost",
    "expected_costs",
    "read_costs",
]

_TWO_CLASSES = ("true_negative", "false_positive", "false_negative", "true_positive")


def bayes_decision(y_proba, cost_matrix):
    r"""Decide at the least expected cost.

    With the cost :math:`C_{jk}` of decision :math:`k` when class :math:`j` is true, the
    decision for a forecast :math:`q` is the one with the smallest
    :math:`\sum_j q_j C_{jk}`, the first of them if there are several.

    Parameters
    ----------
    y_proba : array-like of shape (n_samples, n_classes), (n_samples,) or (n_samples, 1)
        Predicted probabilities; columns follow the sorted classes. A single column is
        for the greater of two classes.

    cost_matrix : array-like of shape (n_classes, n_decisions), data frame or dict
        What each decision costs for each true class, see Notes.

    Returns
    -------
    decision : ndarray of shape (n_samples,)
        The column of `cost_matrix` that is cheapest for each row.

    See Also
    --------
    decision_cost : Mean cost of these decisions.
    sklearn_superior.model_selection.BayesDecisionClassifier : A classifier that decides
        in this way.

    Notes
    -----
    The decisions are usually the classes, but they need not be: a further column with
    the cost of a referral turns away cases that are too uncertain. Costs may be
    negative. Adding a constant to a row changes no decision.

    Instead of an array, `cost_matrix` can be a pandas data frame with the classes as
    index and the decisions as columns, a dict of dicts ``{class: {decision: cost}}``,
    or, for two classes, ``{"false_positive": 1, "false_negative": 20}``, to which
    ``"true_positive"`` and ``"true_negative"`` can be added. The positive class is the
    greater one.

    For two classes with costs `a` of a false positive and `b` of a false negative,
    class 1 is chosen exactly if its probability exceeds ``a / (a + b)``.

    Examples
    --------
    Missing a case costs 20 times as much as a false alarm.

    >>> from sklearn_superior.metrics import bayes_decision
    >>> costs = {"false_positive": 1, "false_negative": 20}
    >>> bayes_decision([0.01, 0.04, 0.06, 0.9], costs)
    array([0, 0, 1, 1])

    Three classes and the option to refer a case for 0.3.

    >>> costs = [[0, 1, 1, 0.3], [1, 0, 1, 0.3], [1, 1, 0, 0.3]]
    >>> bayes_decision([[0.8, 0.1, 0.1], [0.5, 0.4, 0.1]], costs)
    array([0, 3])
    """
    costs, _ = read_costs(cost_matrix)
    y_proba = _as_columns(y_proba)
    if y_proba.shape[1] != len(costs):
        raise ValueError(
            "cost_matrix must have a row for each class of y_proba. Got "
            f"{len(costs)} rows for {y_proba.shape[1]} classes."
        )
    # Less the largest cost of its row, a 0/1 matrix has -1 on the diagonal and 0
    # elsewhere: the product is exact, and the decision is the arg max of the forecast.
    return np.argmin(y_proba @ (costs - costs.max(axis=1, keepdims=True)), axis=1)


def decision_cost(y_true, y_proba, *, cost_matrix, labels=None, sample_weight=None):
    """Mean cost of the decisions that forecasts lead to; lower is better.

    Every row is decided at the least expected cost, see :func:`bayes_decision`, and
    costs what this decision costs for its true class.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.

    y_proba : array-like of shape (n_samples, n_classes), (n_samples,) or (n_samples, 1)
        Predicted probabilities; columns follow the sorted labels. A single column is
        for the greater of two labels.

    cost_matrix : array-like of shape (n_classes, n_decisions), data frame or dict
        What each decision costs for each true class, in one of the forms that
        :func:`bayes_decision` takes. Rows of an array follow the sorted labels; those
        of a data frame or dict are found by their names.

    labels : array-like of shape (n_classes,), default=None
        All class labels. If None, they are inferred from `y_true`.

    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights.

    Returns
    -------
    cost : float
        Weighted mean of the costs.

    See Also
    --------
    bayes_decision : The decisions.

    Notes
    -----
    This is a proper scoring rule, although not a strictly proper one: no forecast leads
    to cheaper decisions than the true probabilities do.

    Examples
    --------
    >>> from sklearn_superior.metrics import decision_cost
    >>> costs = {"false_positive": 1, "false_negative": 20}
    >>> decision_cost([0, 0, 1, 1], [0.01, 0.06, 0.04, 0.9], cost_matrix=costs)
    5.25
    """
    forecast = check_forecast(
        y_true, y_proba, sample_weight=sample_weight, labels=labels
    )
    costs, _ = read_costs(cost_matrix, forecast.classes)
    cost = costs[forecast.y_index, bayes_decision(y_proba, costs)]
    return float(np.average(cost, weights=forecast.sample_weight))


def expected_costs(y_proba, costs):
    """Return what each decision is expected to cost for each row."""
    return _as_columns(y_proba) @ costs


def cost_by_share_referred(y_true, y_proba, cost_matrix, labels=None):
    """Return what decisions cost if the most uncertain cases are referred.

    Returns
    -------
    share, cost, limit : ndarray of shape (n_samples,)
        For each number of referred cases from 0 up: their share, the mean cost of the
        decisions on the others, and the highest expected cost among those.
    """
    forecast = check_forecast(y_true, y_proba, labels=labels)
    costs, _ = read_costs(cost_matrix, forecast.classes)
    paid = costs[forecast.y_index, bayes_decision(y_proba, costs)]
    expected = expected_costs(y_proba, costs).min(axis=1)
    order = np.argsort(-expected, kind="stable")  # referred first
    n_left = np.arange(len(paid), 0, -1)
    cost = np.cumsum(paid[order][::-1])[::-1] / n_left
    return 1 - n_left / len(paid), cost, expected[order]


def read_costs(cost_matrix, classes=None):
    """Read a cost matrix of any form.

    Parameters
    ----------
    cost_matrix : array-like, data frame or dict
        See `bayes_decision`.

    classes : ndarray of shape (n_classes,), default=None
        The sorted classes. None: as many as there are rows, sorted if they have names.

    Returns
    -------
    costs : ndarray of shape (n_classes, n_decisions)
        Rows follow `classes`.

    decisions : list or None
        Names of the columns; None if they have none.
    """
    rows = decisions = None
    if isinstance(cost_matrix, Mapping):
        if cost_matrix and cost_matrix.keys() <= set(_TWO_CLASSES):
            cost_matrix = _two_by_two(cost_matrix)
        else:
            cost_matrix, rows, decisions = _from_dicts(cost_matrix)
    elif hasattr(cost_matrix, "columns"):
        if not hasattr(cost_matrix, "index"):
            raise TypeError(
                "The 'cost_matrix' parameter must name its classes: use a pandas data "
                "frame with the classes as index, or a dict of dicts. Got a "
                f"{type(cost_matrix).__module__.partition('.')[0]} data frame."
            )
        rows, decisions = list(cost_matrix.index), list(cost_matrix.columns)
    costs = read_numbers(cost_matrix, "cost_matrix").astype(np.float64)
    if costs.ndim != 2 or costs.shape[0] < 2 or costs.shape[1] < 1:
        raise ValueError(
            "The 'cost_matrix' parameter must have the shape (n_classes, n_decisions), "
            f"with at least two classes. Got shape {costs.shape}."
        )
    if not np.all(np.isfinite(costs)):
        raise ValueError("The 'cost_matrix' parameter must hold finite costs.")
    if rows is not None:
        names = sorted(rows) if classes is None else classes.tolist()
        costs = costs[_find_rows(rows, names)]
    elif classes is not None and len(costs) != len(classes):
        raise ValueError(
            f"The 'cost_matrix' parameter must have a row for each of the classes "
            f"{classes.tolist()}. Got {len(costs)} rows. If a fold may lack a class, "
            "name the rows: use a data frame or a dict of dicts."
        )
    return costs, decisions


def _as_columns(y_proba):
    """Return probabilities, with a column for each class."""
    y_proba = check_probabilities(y_proba, np)
    if y_proba.ndim == 1:
        return np.stack([1 - y_proba, y_proba], axis=1)
    return y_proba


def _two_by_two(costs):
    missing = {"false_positive", "false_negative"} - costs.keys()
    if missing:
        raise ValueError(
            "The 'cost_matrix' parameter must give the costs of false_positive and "
            f"false_negative. Got {sorted(costs)}."
        )
    return np.reshape([costs.get(name, 0) for name in _TWO_CLASSES], (2, 2))


def _from_dicts(costs):
    """Return costs, classes and decisions of ``{class: {decision: cost}}``."""
    if not all(isinstance(row, Mapping) for row in costs.values()) or not costs:
        raise TypeError(
            "The 'cost_matrix' parameter as a dict must have the form {class: "
            "{decision: cost}} or {'false_positive': cost, 'false_negative': cost}. "
            f"Got {costs!r}."
        )
    decisions = list(next(iter(costs.values())))
    for name, row in costs.items():
        if row.keys() != set(decisions):
            raise ValueError(
                "The 'cost_matrix' parameter must give every class a cost for the same "
                f"decisions {decisions}. Got {list(row)} for the class {name!r}."
            )
    values = [[row[decision] for decision in decisions] for row in costs.values()]
    return values, list(costs), decisions


def _find_rows(rows, classes):
    """Return the position of each class among the names of rows."""
    missing = [label for label in classes if label not in rows]
    if missing or len(set(rows)) < len(rows):
        raise ValueError(
            f"The 'cost_matrix' parameter must have one row for each of the classes "
            f"{classes}. Got rows for {rows}."
        )
    unseen = [label for label in rows if label not in classes]
    if unseen:
        warn(f"cost_matrix has rows for classes that are not in the data: {unseen}.")
    return [rows.index(label) for label in classes]
