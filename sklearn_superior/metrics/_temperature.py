"""Temperatures: recalibration of probabilities by one number."""

from numbers import Real

import numpy as np

from sklearn_superior.metrics._kernel import LossSums, extremes
from sklearn_superior.metrics._logs import Logs
from sklearn_superior.metrics._rules import PRIOR_SCALE
from sklearn_superior.metrics._validation import (
    as_dtype,
    check_forecast,
    check_prior_scale,
    check_probabilities,
    resolution,
)
from sklearn_superior.utils._sklearn_compat import (
    Interval,
    array_namespace,
    check_parameters,
    widest_float,
)

__all__ = ["fit_temperature", "scale_temperature"]

# The largest inverse temperature: above it 0 would become NaN.
_MOST_INVERSE = 1e300
# Elements that are scaled at once.
_BLOCK = 1 << 17


def fit_temperature(
    y_true,
    y_proba,
    *,
    sample_weight=None,
    labels=None,
    pos_label=None,
    prior_scale=PRIOR_SCALE,
):
    r"""Find the temperature that recalibrates probabilities best.

    The temperature :math:`T` turns a forecast :math:`q` into probabilities proportional
    to :math:`q^{1/T}`: above 1 they become more even, below 1 more extreme, and the
    predicted classes stay the same. The best temperature minimises

    .. math:: \sum_k L_k(T) + \frac{(\ln T)^2}{2 \sigma^2}

    with the log loss :math:`L_k` of each sample and the `prior_scale` :math:`\sigma`.
    The second term, a Gaussian prior, holds the temperature near 1 where few samples
    say little of it. Its weight against the samples falls with their number.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes)
        True labels of any type (numbers, strings, booleans), or a one-hot matrix.

    y_proba : array-like of shape (n_samples, n_classes), (n_samples,) or (n_samples, 1)
        Predicted probabilities. The columns follow the *sorted* labels, as in
        scikit-learn. A single column is for the class `pos_label` of two classes.

    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights. Whole numbers are repetitions: a sample of weight 2 counts as
        two samples, also against the prior; see the notes.

    labels : array-like of shape (n_classes,), default=None
        All class labels. If None, they are the labels in `y_true`, where each class
        must then occur.

    pos_label : int, float, bool or str, default=None
        The class of a single column of `y_proba`. If None, the greater label.

    prior_scale : float or None, default=0.5
        Standard deviation of the logarithm of the temperature before any sample is
        seen. None is no prior: the temperature with the lowest log loss.

    Returns
    -------
    temperature : float
        Between 1e-6 and 1e6. It is the end of this range to which the log loss falls,
        if it falls all the way: without a prior this is 1e-6 if all predictions are
        correct, for example. It is 1 if it does not matter, as for uniform forecasts.

    See Also
    --------
    scale_temperature : Apply a temperature.

    Notes
    -----
    Probabilities below the resolution of the dtype of `y_proba` count as that. So with
    zeros in `y_proba` the temperature depends on the dtype.

    Because weights are repetitions, those that sum to 1 count as a single sample: let
    them sum to the number of samples, if only their proportions have a meaning.
    :class:`~sklearn_superior.early_stopping.EarlyStoppingClassifier` and
    :class:`~sklearn_superior.model_selection.StagedSearchCV` do so.

    Examples
    --------
    A model that is too sure: it says 0.99, and is right in 3 of 4 cases. Four samples
    are not enough to be sure of that, a thousand are.

    >>> from sklearn_superior.metrics import fit_temperature, scale_temperature
    >>> y_true, y_proba = [1, 1, 1, 0], [0.99, 0.99, 0.99, 0.99]
    >>> fit_temperature(y_true, y_proba, prior_scale=None)
    4.1827
    >>> fit_temperature(y_true, y_proba)
    1.6786
    >>> temperature = fit_temperature(y_true * 250, y_proba * 250)
    >>> scale_temperature(y_proba, temperature).round(2)
    array([0.75, 0.75, 0.75, 0.75])
    """
    prior_scale = check_prior_scale(prior_scale)
    forecast = check_forecast(
        y_true, y_proba, sample_weight=sample_weight, labels=labels, pos_label=pos_label
    )
    extremes(forecast).check(forecast.label_error)
    return float(1 / Logs(forecast).best_inverse(prior_scale))


def scale_temperature(y_proba, temperature):
    """Recalibrate probabilities with a temperature.

    Parameters
    ----------
    y_proba : array-like of shape (n_samples, n_classes), (n_samples,) or (n_samples, 1)
        Predicted probabilities. A single column is for one of two classes.

    temperature : float
        Above 1 the probabilities become more even, below 1 more extreme.

    Returns
    -------
    y_proba : array of the same shape
        Probabilities proportional to ``y_proba ** (1 / temperature)``, in the floating
        dtype of `y_proba`. Rows sum to one, and the most probable class of each row
        stays the same.

    See Also
    --------
    fit_temperature : Find the temperature.

    Examples
    --------
    >>> from sklearn_superior.metrics import scale_temperature
    >>> scale_temperature([[0.5, 0.3, 0.2]], 2.0).round(3)
    array([[0.415, 0.322, 0.263]])
    """
    positive = Interval(Real, 0, None, closed="neither")
    check_parameters("scale_temperature", {"temperature": [positive]}, locals())
    xp, device = array_namespace(y_proba)
    shape = np.shape(y_proba) if xp is np else y_proba.shape
    y_proba = check_probabilities(y_proba, xp)
    LossSums((), 1.0, low=float(xp.min(y_proba)), high=float(xp.max(y_proba))).check()
    wide = np.float64 if xp is np else widest_float(xp, device)
    is_float = xp.isdtype(y_proba.dtype, "real floating")
    dtype = y_proba.dtype if is_float else wide
    n_samples = y_proba.shape[0]
    n_rows = max(_BLOCK // (y_proba.shape[1] if y_proba.ndim == 2 else 2), 1)
    result = xp.empty(y_proba.shape, dtype=dtype, device=device)
    with np.errstate(all="ignore"):  # small powers are 0
        for start in range(0, n_samples, n_rows):
            rows = slice(start, min(start + n_rows, n_samples))
            scaled = _scaled(y_proba[rows, ...], 1 / temperature, wide, dtype, xp)
            result[rows, ...] = as_dtype(scaled, dtype, xp)
    return xp.reshape(result, shape)


def _scaled(proba, inverse, wide, dtype, xp):
    """Return probabilities to the power of an inverse temperature, over their sum.

    They are of the dtype `wide`, and stay in order when they are rounded to `dtype`.
    """
    q = as_dtype(proba, wide, xp)
    if proba.ndim == 1:
        q = xp.stack([1 - q, q], axis=1)
    eps, _ = resolution(proba.dtype, xp)
    top = xp.max(q, axis=1, keepdims=True)
    logs = xp.log(xp.clip(q, eps, None)) - xp.log(xp.clip(top, eps, None))
    power = xp.exp(min(inverse, _MOST_INVERSE) * logs)
    # Rounding must not lift another class to the level of the most probable one.
    limit = 1 - 4 * float(xp.finfo(dtype).eps)
    power = xp.where((q < top) & (power > limit), limit, power)
    result = power / xp.sum(power, axis=1, keepdims=True)
    return result[:, 1] if proba.ndim == 1 else result
