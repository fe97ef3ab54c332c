"""Docstrings of the functions that are made from the table of rules."""

_INPUTS = """y_true : array-like of shape (n_samples,) or (n_samples, n_classes)
        True labels of any type (numbers, strings, booleans), or a one-hot matrix.

    y_proba : array-like of shape (n_samples, n_classes), (n_samples,) or (n_samples, 1)
        Predicted probabilities. The columns follow the *sorted* labels, as in
        scikit-learn; the names of a data frame's columns are not looked at. A
        single column is for the class `pos_label` of two classes."""

_WEIGHT = """

    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights."""

_OPTIONS = """labels : array-like of shape (n_classes,), default=None
        All class labels. If None, they are the labels in `y_true`, where each
        class must then occur. Their order does not matter, but a warning recalls
        how the columns are read if they are not sorted.

    pos_label : int, float, bool or str, default=None
        The class that a single column of `y_proba` speaks of. If None, the
        greater of the two labels. Of no effect with two or more columns.

    penalty : {"paper", "minimal"} or float, default="paper"
        What a wrong prediction costs on top: ``"paper"`` is the worst loss of a
        correct prediction; ``"minimal"`` is that minus the best loss of a wrong
        one, the least that never ranks wrong above right, which is 0 for two
        classes; 0 gives the loss without a penalty.

    ties : {"first", "split", "correct"}, default="first"
        What is predicted when several classes share the highest probability:
        ``"first"`` is the first of them, as in `predict`; ``"split"`` charges the
        expected error of a random pick; ``"correct"`` charges nothing if the true
        class is among them, and is *not* a proper scoring rule."""

_SCALE = """

    scale : {"sum", "mean", "half"}, default="sum"
        Factor of the whole loss, penalty included: ``"sum"`` is the equation
        as it stands, in whose units a float `penalty` is given; ``"mean"`` averages
        over the classes; ``"half"`` halves, as scikit-learn does for two classes."""

_NORMALIZE = """

    normalize : bool, default=True
        Return the weighted mean if True, else the weighted sum."""

_LOSS = """Penalized {title} of probabilistic predictions.

    The loss of a forecast :math:`q` when :math:`i` is the true class is

    .. math:: {formula} + P \\cdot [\\mathrm{{arg\\,max}}\\, q \\ne i]

    with the penalty :math:`P`. It is strictly proper, and no wrong prediction
    has a lower loss than a correct one. Lower is better; 0 is perfect.

    Parameters
    ----------
    {inputs}{weight}

    {options}{own_option}

    Returns
    -------
    loss : float
        The weighted mean of the samples' losses{or_sum}.

    See Also
    --------
    {samples_name} : The loss of every sample.

    Notes
    -----
    The mean is the mean {title} plus :math:`P` times the share of wrong
    predictions. It is computed in float64, whatever the dtype of `y_proba`.
    {note}
    Examples
    --------
    >>> from sklearn_superior.metrics import {loss_name}
    >>> y_proba = [[0.33, 0.34, 0.33], [0.51, 0.49, 0.00]]
    >>> {loss_name}([1, 1], y_proba, labels=[0, 1, 2])
    {example:.5f}
    """

_SAMPLES = """Penalized {title} of every sample.

    Parameters
    ----------
    {inputs}

    {options}{own_option}

    Returns
    -------
    losses : ndarray of shape (n_samples,)
        The loss of every sample, in float64. On the device of `y_proba` if that
        is another library's array and scikit-learn's array API dispatch is on.

    See Also
    --------
    {loss_name} : Their weighted mean, with the formula.

    Examples
    --------
    A correct prediction and a wrong one, which costs more:

    >>> from sklearn_superior.metrics import {samples_name}
    >>> y_proba = [[0.33, 0.34, 0.33], [0.51, 0.49, 0.00]]
    >>> {samples_name}([1, 1], y_proba, labels=[0, 1, 2]).tolist()
    [{examples[0]:.5f}, {examples[1]:.5f}]
    """

_D2 = """Share of the penalized {title} that the predictions explain.

    The score is 1 minus the loss over the loss of a forecast that always gives
    the class frequencies of `y_true`. The best score is 1; 0 is as good as the
    frequencies; below 0 is worse than them.

    Parameters
    ----------
    {inputs}{weight}

    {options}

    Returns
    -------
    score : float
        At most 1. A `ValueError` is raised where it is not defined, that is when
        all samples are of one class.

    See Also
    --------
    {loss_name} : The loss, with the formula.

    Examples
    --------
    The class frequencies as a forecast, then something better:

    >>> from sklearn_superior.metrics import {d2_name}
    >>> {d2_name}([0, 1, 1, 1], [0.75, 0.75, 0.75, 0.75])
    0.0
    >>> {d2_name}([0, 1, 1, 1], [0.25, 0.75, 0.75, 0.75]) > 0.5
    True
    """

_TEMPLATES = {"loss": _LOSS, "samples": _SAMPLES, "d2": _D2}


def describe(function, rule, *, kind, template=None):
    """Name `function` after `rule` and give it its docstring, then return it."""
    own_option = _SCALE if rule.scales else _NORMALIZE if kind == "loss" else ""
    function.__name__ = function.__qualname__ = getattr(rule, f"{kind}_name")
    function.__doc__ = (template or _TEMPLATES[kind]).format(
        title=rule.title,
        formula=rule.formula,
        loss_name=rule.loss_name,
        samples_name=rule.samples_name,
        d2_name=rule.d2_name,
        inputs=_INPUTS,
        weight=_WEIGHT,
        options=_OPTIONS,
        own_option=own_option,
        or_sum="" if rule.scales else ", or their sum",
        note=f"\n    {rule.note}\n" if rule.note else "",
        example=sum(rule.example) / 2,
        examples=rule.example,
    )
    return function
