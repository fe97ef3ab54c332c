"""Temperatures: recalibration of probabilities by one number.

With the inverse temperature b the probabilities become ``q**b``, over their sum. Their
log loss is convex in b, so that the best b is the root of an increasing function.

This module is shared with the other folders of the package, see `__all__`.
"""

from abc import ABC, abstractmethod
from dataclasses import replace
from numbers import Real

import numpy as np

from sklearn_superior.metrics._reduce import LossSums, as_dtype, sum_losses
from sklearn_superior.metrics._validation import (
    check_forecast,
    check_probabilities,
    resolution,
)
from sklearn_superior.utils._sklearn_compat import (
    Interval,
    array_namespace,
    check_parameters,
    to_numpy,
    widest_float,
)

__all__ = ["fit_temperature", "refined_sums", "scale_temperature"]

# The temperatures among which the best one is looked for.
LOW, HIGH = 1e-3, 1e3
# Steps of the search, and how many of them are taken before it tries the ends.
_MAX_STEPS, _PATIENCE = 200, 8
# Larger ones would turn 0 into NaN.
_MOST_INVERSE = 1e300
# Elements of a block, 256 KiB: two of them fit the cache of a core.
_BLOCK = 1 << 15


def fit_temperature(
    y_true, y_proba, *, sample_weight=None, labels=None, pos_label=None
):
    r"""Find the temperature that recalibrates probabilities best.

    The temperature :math:`T` turns a forecast :math:`q` into probabilities proportional
    to :math:`q^{1/T}`: above 1 they become more even, below 1 more extreme, and the
    predicted classes stay the same. The best temperature has the lowest log loss.

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

    Returns
    -------
    temperature : float
        Between 0.001 and 1000. It is 1 if there is no best temperature: if every
        forecast is uniform, or if the log loss falls however extreme the probabilities
        become, as it does if all predictions are correct. It is 1000 if the log loss
        falls however even they become.

    See Also
    --------
    scale_temperature : Apply a temperature.

    Notes
    -----
    Probabilities below the resolution of the dtype of `y_proba` count as that. So with
    zeros in `y_proba` the temperature depends on the dtype.

    Examples
    --------
    A model that is too sure: it says 0.99, and is right in 3 of 4 cases.

    >>> from sklearn_superior.metrics import fit_temperature, scale_temperature
    >>> y_proba = [0.99, 0.99, 0.99, 0.99]
    >>> temperature = fit_temperature([1, 1, 1, 0], y_proba)
    >>> temperature
    4.1827
    >>> scale_temperature(y_proba, temperature).round(3)
    array([0.75, 0.75, 0.75, 0.75])
    """
    forecast = check_forecast(
        y_true, y_proba, sample_weight=sample_weight, labels=labels, pos_label=pos_label
    )
    logs = _make_logs(forecast)
    logs.sums.check(forecast.label_error)
    return float(1 / logs.best_inverse())


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
    extremes = LossSums(0.0, 1.0, low=xp.min(y_proba), high=xp.max(y_proba))
    extremes.check()
    wide = np.float64 if xp is np else widest_float(xp, device)
    is_float = xp.isdtype(y_proba.dtype, "real floating")
    dtype = y_proba.dtype if is_float else wide
    result = _scaled(y_proba, 1 / temperature, wide, dtype, xp)
    return xp.reshape(as_dtype(result, dtype, xp), shape)


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


def refined_sums(forecast, rule, *, checks=True, **options):
    """Sum the losses after the temperature that is best on the same data.

    Parameters
    ----------
    forecast : Forecast
        Labels, probabilities and weights.

    rule : ScoringRule
        A row of the table of rules.

    checks : bool, default=True
        Whether to look for values that are not valid, for `LossSums.check`.

    **options
        Options of the loss.

    Returns
    -------
    sums : LossSums
    """
    sums = None
    if checks:
        sums = sum_losses(forecast, rule, **options)
        if not 0 <= sums.low <= sums.high <= 1:
            return sums  # whose check raises an error
    wide, xp = forecast.dtype, forecast.xp
    inverse = _make_logs(forecast).best_inverse()
    proba = _scaled(forecast.proba, inverse, wide, wide, xp)
    # What was clipped before must not be clipped again.
    after = replace(forecast, proba=proba, eps=float(xp.finfo(wide).smallest_normal))
    after = sum_losses(after, rule, **options, checks=False)
    return after if sums is None else replace(sums, loss=after.loss)


def _make_logs(forecast):
    """Return the logarithms of the probabilities of a forecast."""
    return _HostLogs(forecast) if forecast.xp is np else _DeviceLogs(forecast)


class _Logs(ABC):
    """Logarithms of probabilities, each row less its largest, which is then 0.

    Attributes
    ----------
    sums : LossSums
        For the check of the values.
    """

    sums: LossSums

    @abstractmethod
    def derivatives(self, inverse):
        """First and second derivative of the log loss by the inverse temperature."""

    def best_inverse(self):
        """Return the inverse temperature with the lowest log loss; 1 if none has."""
        return _find_root(self.derivatives)


def _find_root(derivatives):
    """Root of the first derivative of a convex function, by safeguarded Newton steps.

    The root is kept between the largest place where the derivative is negative and the
    smallest where it is positive. A step that leaves them is replaced by their
    geometric mean.
    """
    least, most = 1 / HIGH, 1 / LOW
    low, high, place = None, None, 1.0
    for n_steps in range(_MAX_STEPS):
        first, second = derivatives(place)
        if first == 0 and (second > 0 or n_steps == 0):
            return place
        if first <= 0:
            low = place
        else:
            high = place
        if low == most or (first == 0 and second == 0):
            return 1.0  # the more extreme, the better
        if high == least:
            return least
        step = -first / second if second > 0 else np.inf
        new = min(max(place + step, least), most)
        if low is None or high is None:
            # Where there is no root the steps would be many: try the end of the range.
            if n_steps > _PATIENCE:
                new = most if high is None else least
        elif not low < new < high:
            new = (low * high) ** 0.5
        if abs(new - place) <= 1e-6 * place:
            return new
        place = new
    return place


class _HostLogs(_Logs):
    """Logarithms in NumPy, in blocks of shape (n_classes, n_rows)."""

    def __init__(self, forecast):
        weight = forecast.sample_weight
        n_rows = max(_BLOCK // forecast.n_classes, 64)
        self.blocks = []
        low, high = np.inf, -np.inf
        with np.errstate(all="ignore"):
            for start in range(0, forecast.n_samples, n_rows):
                rows = slice(start, start + n_rows)
                q = forecast.proba[rows]
                low, high = np.minimum(low, q.min()), np.maximum(high, q.max())
                if q.ndim == 1:
                    q = np.stack(
                        [1 - q, q] if forecast.positive else [q, 1 - q], axis=1
                    )
                logs = np.array(q.T, dtype=np.float64, order="C")
                np.maximum(logs, forecast.eps, out=logs)
                np.log(logs, out=logs)
                logs -= logs.max(axis=0)
                log_true = logs[forecast.y_index[rows], np.arange(len(q))]
                own_weight = None if weight is None else weight[rows].astype(float)
                self.blocks.append((logs, log_true, own_weight))
        self.memory = np.empty(self.blocks[0][0].size)
        n_samples = float(forecast.n_samples)
        self.sums = LossSums(
            loss=0.0,
            weight=n_samples if weight is None else float(weight.sum(dtype=float)),
            low=low,
            high=high,
            low_weight=0.0 if weight is None else weight.min(),
        )

    def derivatives(self, inverse):
        """First and second derivative of the log loss by the inverse temperature."""
        first = second = 0.0
        for logs, log_true, weight in self.blocks:
            power = self.memory[: logs.size].reshape(logs.shape)
            np.multiply(logs, inverse, out=power)
            np.exp(power, out=power)
            total = power.sum(axis=0)
            power *= logs
            mean = power.sum(axis=0)
            mean /= total
            square = np.einsum("ij,ij->j", power, logs)
            square /= total
            square -= mean * mean
            mean -= log_true
            if weight is None:
                first += mean.sum()
                second += square.sum()
            else:
                first += mean @ weight
                second += square @ weight
        return first, second


class _DeviceLogs(_Logs):
    """Logarithms on another device; a step transfers two numbers."""

    def __init__(self, forecast):
        xp, dtype, device = forecast.xp, forecast.dtype, forecast.device
        q, weight = xp.astype(forecast.proba, dtype), forecast.sample_weight
        n_rows = q.shape[0]
        self.xp = xp
        self.weight = xp.ones(n_rows, dtype=dtype, device=device)
        if weight is not None:
            self.weight = xp.astype(weight, dtype)
        one = xp.asarray(1.0, dtype=dtype, device=device)
        n_invalid = xp.asarray(forecast.n_invalid, device=device)
        values = LossSums(
            loss=0 * one,
            weight=xp.sum(self.weight),
            n_invalid=xp.astype(n_invalid, dtype),
            low=xp.min(q),
            high=xp.max(q),
            low_sum=one,
            high_sum=one,
            low_weight=xp.min(self.weight),
            tolerance=one,
        )
        if q.ndim == 1:
            q = xp.stack([1 - q, q] if forecast.positive else [q, 1 - q], axis=1)
        logs = xp.log(xp.clip(q, forecast.eps, None))
        self.logs = logs - xp.max(logs, axis=1, keepdims=True)
        numbers = xp.arange(forecast.n_classes, device=device)
        is_true = xp.reshape(numbers, (1, -1)) == xp.reshape(forecast.y_index, (-1, 1))
        zeros = xp.zeros_like(self.logs)
        self.log_true = xp.sum(xp.where(is_true, self.logs, zeros), axis=1)
        self.sums = values.to_host()

    def derivatives(self, inverse):
        """First and second derivative of the log loss by the inverse temperature."""
        xp, logs = self.xp, self.logs
        power = xp.exp(inverse * logs)
        total = xp.sum(power, axis=1)
        mean = xp.sum(power * logs, axis=1) / total
        square = xp.sum(power * logs * logs, axis=1) / total
        first = xp.sum(self.weight * (mean - self.log_true))
        second = xp.sum(self.weight * (square - mean * mean))
        first, second = to_numpy(xp.stack([first, second]), xp).tolist()
        return first, second
