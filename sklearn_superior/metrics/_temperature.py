"""Temperatures: recalibration of probabilities by one number.

With the inverse temperature b the probabilities become ``q**b``, over their sum. Their
log loss is convex in b. The logarithms of many rows are not held in memory but computed
again in each step of the search.
"""

from functools import cache
from math import copysign, exp, inf, log, log1p
from numbers import Real

import numpy as np

from sklearn_superior.metrics._forecast import (
    as_dtype,
    check_forecast,
    check_probabilities,
    check_values,
    resolution,
)
from sklearn_superior.metrics._rules import (
    PRIOR_SCALE,
    check_temperature_options,
    column_sums,
)
from sklearn_superior.utils._sklearn_compat import (
    Interval,
    array_namespace,
    check_parameters,
    widest_float,
)

# The range of temperatures.
LOW, HIGH = 1e-6, 1e6
_LIMIT = log(HIGH)
_MAX_STEPS = 200
# Places between 1 and the end of the range at which a minimum is looked for, evenly
# spaced in the logarithm: about 0.3 apart.
_N_PLACES = 48
# The largest inverse temperature to scale with: above it 0 would become NaN.
_MOST_INVERSE = 1e300
# Elements that are scaled at once.
_BLOCK = 1 << 17
# Elements of a block of logarithms: 256 KiB on the host, two of which fit the cache.
_HOST_BLOCK, _DEVICE_BLOCK = 1 << 15, 1 << 19
# Most elements whose logarithms are kept in memory: 32 MiB.
_MOST_HELD = 1 << 22


def fit_temperature(
    y_true,
    y_proba,
    *,
    sample_weight=None,
    labels=None,
    pos_label=None,
    prior_scale=PRIOR_SCALE,
    sharpen=False,
):
    r"""Find the temperature that recalibrates probabilities best.

    A temperature :math:`T` turns a forecast :math:`q` into probabilities proportional
    to :math:`q^{1/T}`: above 1 they become more even, below 1 more extreme, and the
    predicted classes stay the same. The best temperature minimizes

    .. math:: \sum_k L_k(T) + \frac{(\ln T)^2}{2 \sigma^2}

    with the log loss :math:`L_k` of each sample and the `prior_scale` :math:`\sigma`,
    by default among temperatures of at least 1. The second term, a Gaussian prior,
    keeps the temperature near 1 when there are few samples. Its weight relative to the
    samples decreases with their number.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes)
        True labels of any type (numbers, strings, booleans), or a one-hot matrix.

    y_proba : array-like of shape (n_samples, n_classes), (n_samples,) or (n_samples, 1)
        Predicted probabilities. The columns follow the *sorted* labels, as in
        scikit-learn. A single column holds the probabilities of `pos_label`.

    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights. Whole numbers are repetitions: a sample of weight 2 counts as
        two samples, also against the prior; see the notes.

    labels : array-like of shape (n_classes,), default=None
        All class labels. If None, they are inferred from `y_true`, in which every class
        must then occur.

    pos_label : int, float, bool or str, default=None
        The class of a single column of `y_proba`. If None, the greater label.

    prior_scale : float or None, default=0.5
        Standard deviation of the logarithm of the temperature before any sample is
        seen. None means no prior: the temperature with the lowest log loss.

    sharpen : bool, default=False
        Whether the temperature may be below 1. By default probabilities are softened or
        left as they are: when the data asks for sharper ones, the temperature is
        exactly 1.

    Returns
    -------
    temperature : float
        Between 1 and 1e6, or between 1e-6 and 1e6 with ``sharpen=True``. If the log
        loss falls all the way to an end of this range, it is that end: without a prior
        it is 1e-6 if all predictions are correct, for example. It is 1 if it does not
        matter, as for uniform forecasts.

    See Also
    --------
    scale_temperature : Apply a temperature.

    Notes
    -----
    Temperatures below 1 favour early, underfitted stages, which they sharpen. In our
    second study, every model with a temperature of 0.5 or less was worse than the one
    chosen by the penalized Brier score. Hence ``sharpen=False``.

    Probabilities below the resolution of the dtype of `y_proba` are clipped to it, so
    with zeros in `y_proba` the temperature depends on the dtype.

    Because weights are repetitions, weights that sum to 1 count as a single sample. If
    only their proportions matter, let them sum to the number of samples.
    :class:`~sklearn_superior.early_stopping.EarlyStoppingClassifier` and
    :class:`~sklearn_superior.model_selection.StagedSearchCV` do so.

    Examples
    --------
    An overconfident model: it says 0.99 and is right in 3 of 4 cases. Four samples are
    weak evidence of that, a thousand are strong:

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
    options = check_temperature_options(prior_scale, sharpen)
    forecast = check_forecast(y_true, y_proba, sample_weight, labels, pos_label)
    forecast.check_values()
    return 1 / Logs(forecast).best_inverse(*options)


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
    check_values(float(xp.min(y_proba)), -float(xp.max(y_proba)))
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


class Logs:
    """Logarithms of probabilities, minus the largest of each row.

    Parameters
    ----------
    forecast : Forecast
        Labels, probabilities and weights, whose values are valid.
    """

    def __init__(self, forecast):
        self._forecast = forecast
        self._held = self._memory = None

    def best_inverse(self, prior_scale, sharpen):
        """Return the best inverse temperature, see `best_inverse`.

        It is the one for the samples as they are, without the weights of classes.
        """
        forecast, start = self._forecast, 1.0
        step = -(-forecast.n_samples * forecast.n_classes // _MOST_HELD)
        strength = 0.0 if prior_scale is None else 1 / prior_scale**2
        with np.errstate(all="ignore"):
            if step > 1:  # many rows: start from the best one for some of them
                some = Logs(forecast.take(slice(None, None, step)))
                start = best_inverse(some.evaluate, strength / step, sharpen=sharpen)
            return best_inverse(self.evaluate, strength, sharpen=sharpen, start=start)

    def evaluate(self, inverse):
        """Return the sum of the log losses at an inverse temperature.

        Its first and second derivative are returned as well.
        """
        xp, sums = self._forecast.xp, [0.0, 0.0, 0.0]
        total = np.add.reduce if xp is np else xp.sum  # faster than np.sum
        for block, logs, log_true in self._blocks():
            power = self._power(inverse, logs)
            whole = column_sums(power, xp)
            power *= logs
            mean = column_sums(power, xp)
            mean /= whole
            square = column_sums(power, xp, logs)
            square /= whole
            square -= mean * mean
            mean -= log_true
            rows = [xp.log(whole) - inverse * log_true, mean, square]
            weight = block.sample_weight
            for k, row in enumerate(rows):
                sums[k] += total(row) if weight is None else row @ weight
        return [float(value) for value in sums]

    def _power(self, inverse, logs):
        if self._forecast.xp is not np:
            return self._forecast.xp.exp(inverse * logs)
        # Into memory that is used again: new memory for each block takes longer.
        if self._memory is None:
            self._memory = np.empty(logs.size)
        power = self._memory[: logs.size].reshape(logs.shape)
        np.multiply(logs, inverse, out=power)
        return np.exp(power, out=power)

    def sum_scores(self, inverse, rules):
        """Return the weighted sum of the scores after scaling, by the rules' names."""
        xp = self._forecast.xp
        # What was clipped before must not be clipped again.
        tiny = float(xp.finfo(self._forecast.dtype).smallest_normal)
        totals = {rule.name: 0.0 for rule in rules}
        with np.errstate(all="ignore"):
            for block, logs, _ in self._blocks():
                power = self._power(inverse, logs)
                power /= xp.sum(power, axis=0)
                p_true, p_rest = block.split(power)
                for rule in rules:
                    score = rule.score(p_true, p_rest, tiny, xp)
                    weight = block.weight
                    total = xp.sum(score) if weight is None else score @ weight
                    totals[rule.name] = totals[rule.name] + total
        return {name: float(total) for name, total in totals.items()}

    def _blocks(self):
        """Return blocks of the forecast with their logarithms, held if they fit."""
        if self._forecast.n_samples * self._forecast.n_classes > _MOST_HELD:
            return self._make_blocks()
        if self._held is None:
            self._held = list(self._make_blocks())
        return self._held

    def _make_blocks(self):
        xp, n_classes = self._forecast.xp, self._forecast.n_classes
        size = _HOST_BLOCK if xp is np else _DEVICE_BLOCK
        eps, _ = resolution(self._forecast.proba.dtype, xp)
        for block in self._forecast.blocks(max(size // n_classes, 64)):
            logs = block.columns()
            if xp is np:
                logs = np.log(np.maximum(logs, eps, out=logs), out=logs)
            else:
                logs = xp.log(xp.clip(logs, eps, None))
            logs -= xp.max(logs, axis=0)
            yield block, logs, block.of_true(logs)


def best_inverse(evaluate, strength=0.0, *, sharpen, start=1.0):
    """Return the inverse temperature b with the lowest sum of log losses and prior.

    Parameters
    ----------
    evaluate : callable
        Returns the sum of the log losses at b, which is convex in b, and its first and
        second derivative.

    strength : float, default=0.0
        The prior is ``strength * log(b)**2 / 2``.

    sharpen : bool
        Whether b may be above 1.

    start : float, default=1.0
        The best b for a sample of the data, to start from; 1 if it is not known.
    """

    @cache
    def objective(u):
        """Return value, slope and Newton step at the logarithm u of b."""
        b = exp(u)
        value, first, second = evaluate(b)
        slope, curvature = b * first + strength * u, b * (first + b * second) + strength
        step = -slope / curvature if curvature > 0 else copysign(inf, -slope)
        # Without a prior Newton's method is better off with b, in which all is convex.
        if strength == 0 < second and first < b * second:
            step = log1p(-first / (b * second))
        return value + strength * u**2 / 2, slope, step

    value, slope, _ = objective(0.0)
    if slope == 0 or (slope < 0 and not sharpen):
        return 1.0
    low, high = (-_LIMIT, 0.0) if slope > 0 else (0.0, _LIMIT)
    place = min(max(log(start), low), high)
    # There may be several minima above 1. A good start is close to the best one.
    if slope < 0 < strength and objective(place)[0] >= value:
        return exp(_best_above(objective, strength))
    # Otherwise there is one. Without a prior the sum of the losses is convex in b. With
    # it, b is below 1: where the sum falls the prior falls, too, and elsewhere both are
    # convex in u.
    end = None if strength else low if slope > 0 else high
    return exp(_descend(objective, place, low, high, end))


def _best_above(objective, strength):
    """Return the best place above 0.

    The prior and the data may have a minimum each, and a coarse grid shows where. It
    ends where the sum of the losses rises, or where the prior alone is worse than what
    has been found: there is no better place beyond.
    """
    places, values = [], []
    for place in np.linspace(0, _LIMIT, _N_PLACES).tolist():
        value, slope, _ = objective(place)
        places.append(place)
        values.append(value)
        if slope >= strength * place or strength * place**2 / 2 > min(values):
            break
    around = [inf, *values, inf]
    minima = [
        _descend(objective, place, places[max(k - 1, 0)], [*places, place][k + 1])
        for k, place in enumerate(places)
        if around[k] >= values[k] <= around[k + 2]
    ]
    if len(minima) == 1:
        return minima[0]
    return min(minima, key=lambda place: objective(place)[0])


def _descend(objective, place, low, high, end=None):
    """Return the minimum in an interval, by Newton steps that stay between bounds.

    The objective may fall all the way to the bound `end`, or so far that nothing
    changes any more. If the steps lead there, it is tried.
    """
    last = 0.0
    for n_steps in range(_MAX_STEPS):
        _, slope, step = objective(place)
        if slope == 0:
            break
        low, high = (place, high) if slope < 0 else (low, place)
        is_newton = low < place + step < high
        if end == (high if slope < 0 else low) and (n_steps > 7 or not is_newton):
            if objective(end)[1] * slope >= 0:
                return end
            end = None
        step = step if is_newton else (low + high) / 2 - place
        place += step
        # Newton's method squares the error, so two steps foretell the next one.
        if abs(step) <= 1e-6 or (is_newton and abs(step) ** 3 <= 1e-7 * last**2):
            break
        last = step if is_newton else 0.0
    return place
