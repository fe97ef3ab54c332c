"""Decisions from probabilities: those of least expected cost, and what they cost."""

from collections.abc import Mapping

import numpy as np

from sklearn_superior.metrics._forecast import (
    check_forecast,
    check_probabilities,
    check_values,
    resolution,
    warn_of_column_order,
)
from sklearn_superior.utils._arrays import read_numbers
from sklearn_superior.utils._sklearn_compat import (
    array_namespace,
    to_numpy,
    widest_float,
)
from sklearn_superior.utils._warnings import warn

__all__ = [
    "bayes_decision",
    "cost_by_share_referred",
    "decision_cost",
    "expected_costs",
    "mean_cost",
    "read_costs",
]

_LARGEST = 1e100  # so that sums of costs are finite
_TWO_BY_TWO = ("true_negative", "false_positive", "false_negative", "true_positive")


def bayes_decision(y_proba, cost_matrix):
    r"""Choose the decision with the lowest expected cost for each sample.

    With the cost :math:`C_{jk}` of decision :math:`k` when :math:`j` is the true class,
    the Bayes decision of a forecast :math:`q` is

    .. math:: \arg\min_k \sum_j q_j C_{jk}

    Parameters
    ----------
    y_proba : array-like of shape (n_samples, n_classes), (n_samples,) or (n_samples, 1)
        Predicted probabilities. A single column is for the second of two classes.

    cost_matrix : array-like of shape (n_classes, n_decisions), data frame or dict
        Costs, see Notes. The rows of an array follow the sorted classes. A decision
        need not be a class: one more column may be the cost of asking an expert, for
        example.

    Returns
    -------
    decisions : ndarray of shape (n_samples,)
        The column of `cost_matrix` that is cheapest for each row; in case of a tie, the
        first one.

    See Also
    --------
    decision_cost : The mean cost of these decisions.
    sklearn_superior.model_selection.BayesDecisionClassifier : A classifier that makes
        these decisions.

    Notes
    -----
    Instead of an array, `cost_matrix` can be a pandas data frame with the classes as
    index and the decisions as columns, or a dict of dicts
    ``{class: {decision: cost}}``, which ``pd.DataFrame.from_dict(costs,
    orient="index")`` turns into such a frame. For two classes, ``{"false_positive": 1,
    "false_negative": 20}`` is enough, to which the costs of ``"true_positive"`` and
    ``"true_negative"`` can be added. The positive class is the greater one, such as 1
    or True; for classes with names, use a data frame or dict of dicts.

    Adding a constant to a row of `cost_matrix` changes no decision. Expected costs are
    computed after subtracting the maximum of each row. With costs of 0 on the diagonal
    and 1 elsewhere the decision is then exactly the arg max of the probabilities.

    With two classes, costs of 0 for what is right, and costs :math:`a` of a false
    positive and :math:`b` of a false negative, the positive class is chosen if its
    probability exceeds :math:`a / (a + b)`. At the threshold, rounding may decide.

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
    names = list(getattr(y_proba, "columns", ()))
    y_proba, (costs, _) = _as_columns(y_proba), read_costs(cost_matrix, columns=names)
    if len(costs) != y_proba.shape[1]:
        raise ValueError(
            "cost_matrix must have a row for each class. Got "
            f"{len(costs)} rows for {y_proba.shape[1]} columns of y_proba."
        )
    return _decide(y_proba, costs)


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

    cost_matrix : array-like of shape (n_classes, n_decisions), data frame or dict
        Cost of each decision for each true class, in one of the forms that
        :func:`bayes_decision` takes. The rows of an array follow the sorted labels;
        those of a data frame or dict are found by name.

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
    paid, _ = _pay(forecast, cost_matrix)
    weight = forecast.weight
    weight = None if weight is None else to_numpy(weight, forecast.xp)
    return float(np.average(paid, weights=weight))


def _pay(forecast, cost_matrix):
    """Return what the decision for each row costs, and what it was expected to cost."""
    forecast.check_values()
    costs, _ = read_costs(cost_matrix, forecast.classes)
    y_proba = to_numpy(forecast.columns(), forecast.xp).T
    _check_sums(y_proba, forecast.proba.dtype, forecast.xp)
    decisions = _decide(y_proba, costs)
    paid = costs[to_numpy(forecast.y_index, forecast.xp), decisions]
    return paid, np.einsum("ij,ji->i", y_proba, costs[:, decisions])


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
    paid, expected = _pay(forecast, cost_matrix)
    order = np.argsort(-expected, kind="stable")  # referred first
    n_left = np.arange(len(paid), 0, -1)
    cost = np.cumsum(paid[order][::-1])[::-1] / n_left
    return 1 - n_left / len(paid), cost, expected[order]


def read_costs(cost_matrix, classes=None, columns=()):
    """Read a cost matrix of any form.

    Parameters
    ----------
    cost_matrix : array-like, data frame or dict
        See `bayes_decision`.

    classes : ndarray of shape (n_classes,), default=None
        The sorted classes. None: as many as there are rows, sorted if they have names.

    columns : list, default=()
        Names of the columns of probabilities, if they have names. Warns if the rows
        have the same names, sorted into another order.

    Returns
    -------
    costs : ndarray of shape (n_classes, n_decisions)
        Rows follow `classes`.

    decisions : list or None
        Names of the columns; None if they have none.
    """
    rows = decisions = None
    if isinstance(cost_matrix, Mapping):
        are_rows = any(isinstance(row, Mapping) for row in cost_matrix.values())
        if cost_matrix and cost_matrix.keys() <= set(_TWO_BY_TWO) and not are_rows:
            cost_matrix = _two_by_two(cost_matrix, classes)
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
    if not np.all(np.abs(costs) <= _LARGEST):
        raise ValueError(
            "The 'cost_matrix' parameter must hold finite costs, at most "
            f"{_LARGEST:.0e} in size."
        )
    if rows is not None:
        names = _sorted(rows) if classes is None else classes.tolist()
        warn_of_column_order(columns, names)
        costs = costs[_find_rows(rows, names)]
    elif classes is not None and len(costs) != len(classes):
        raise ValueError(
            f"The 'cost_matrix' parameter must have a row for each of the classes "
            f"{classes.tolist()}. Got {len(costs)} rows. If a fold may lack a class, "
            "name the rows: use a data frame or a dict of dicts."
        )
    return costs, decisions


def _as_columns(y_proba):
    """Return probabilities with a column for each class, as a NumPy array."""
    xp, device = array_namespace(y_proba)
    y_proba = check_probabilities(y_proba, xp)
    dtype = y_proba.dtype
    if xp is not np:  # NumPy has no bfloat16
        y_proba = to_numpy(xp.astype(y_proba, widest_float(xp, device)), xp)
    y_proba = y_proba.astype(np.float64)
    check_values(float(y_proba.min()), -float(y_proba.max()))
    if y_proba.ndim == 1:
        return np.column_stack([1 - y_proba, y_proba])
    _check_sums(y_proba, dtype, xp)
    return y_proba


def _check_sums(y_proba, dtype, xp):
    """Warn if the rows of probabilities, given as `dtype`, do not sum to one."""
    off = float(np.abs(y_proba.sum(axis=1) - 1).max())
    if off > resolution(dtype, xp)[1]:
        check_values(0.0, -1.0, -off)


def _two_by_two(costs, classes):
    """Return the costs of two classes, the greater of which is the positive one."""
    names = [0, 1] if classes is None else classes.tolist()
    if len(names) != 2 or np.array(names).dtype.kind not in "biuf":
        # Which of two names is the positive class would be a guess.
        raise ValueError(
            "The 'cost_matrix' parameter must have the form {class: {decision: cost}} "
            "unless there are two classes that are numbers or booleans. Got "
            f"{costs} for the classes {names}."
        )
    if not {"false_positive", "false_negative"} <= costs.keys():
        raise ValueError(
            "The 'cost_matrix' parameter must give the costs of false_positive and "
            f"false_negative. Got {sorted(costs)}."
        )
    cells = [costs.get(name, 0) for name in _TWO_BY_TWO]
    return [cells[:2], cells[2:]]


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


def _sorted(rows):
    """Return the names of rows as sorted classes."""
    try:
        return sorted(rows)
    except TypeError as exc:
        raise TypeError(
            "The 'cost_matrix' parameter must name its classes by labels of one type. "
            f"Got {rows}."
        ) from exc


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


def _decide(y_proba, costs):
    # With 0/1 costs only minus the probability of each class remains, so that rounding
    # does not decide between equals.
    return np.argmin(y_proba @ (costs - costs.max(axis=1, keepdims=True)), axis=1)
