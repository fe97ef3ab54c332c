"""One pass over a forecast: from rows to a few sums, for all losses at once.

The rows are read in blocks that fit the processor's cache. Everything that the losses
and the checks of the values need is computed while a block is there: the scores of each
rule, and the shares of wrong predictions. A loss is a sum of the two, so many losses
cost little more than one. What is left are the few numbers of a `LossSums`. On other
devices only these numbers are transferred to the host, once, at the end.

A refined loss is the loss of the same forecast after temperature scaling, see
`_temperature.py`. Scaling does not change what is predicted, so the wrong predictions
are the same.

Other folders of the package may import the names in `__all__`.
"""

from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np

from sklearn_superior.metrics._forecast import (
    Forecast,
    as_dtype,
    check_forecast,
    check_labels,
    check_probabilities,
    check_values,
    encode_labels,
    resolution,
    row_starts,
    unique_labels,
    warn_of_column_order,
)
from sklearn_superior.metrics._rules import check_options, column_sums
from sklearn_superior.metrics._temperature import Logs
from sklearn_superior.utils._sklearn_compat import namespace_of, to_numpy

__all__ = [
    "Forecast",
    "LossSums",
    "PreparedLosses",
    "check_forecast",
    "check_labels",
    "check_options",
    "encode_labels",
    "sum_losses",
    "unique_labels",
    "warn_of_column_order",
]

# Elements of a block: on the host 1 MiB of float64, about the cache of a core;
# larger on other devices, where it takes time to start an operation.
_HOST_BLOCK = 1 << 17
_DEVICE_BLOCK = 1 << 19
# Most rows of a block on the host: vectors of this length fit the cache, too.
_HOST_ROWS = 1 << 14
# With fewer classes a block is transposed, so that operations run over many rows at
# once. With this number or more, operations along the rows are as fast.
_MANY_CLASSES = 32
# The `lows` of a forecast with nothing to complain about.
_VALID = (0.0, -1.0, 0.0, 0.0)
# What NumPy's min, max and sum call in the end, after a while if there are few rows.
_REDUCTIONS = np.minimum.reduce, np.maximum.reduce, np.add.reduce


@dataclass(slots=True)
class LossSums:
    """What is left of the rows of a forecast; parts are merged by ``+``.

    Parameters
    ----------
    sums : array of shape (n_losses + 2,)
        The weighted sum of each loss, the sum of the weights (the number of rows if
        there are none), and the number of rows with an invalid label.

    lows : array of shape (4,)
        The smallest probability, minus the largest one, minus the largest error of a
        row's sum if it is not rounding, and the smallest weight.

    Examples
    --------
    >>> sums = LossSums(np.array([2.0, 3.0, 0.0])) + LossSums(np.array([1.0, 1.0, 0.0]))
    >>> float(sums.loss / sums.weight)
    0.75
    """

    sums: Any
    lows: Any = field(default_factory=lambda: np.array(_VALID))

    @property
    def losses(self):
        """The weighted sum of each loss."""
        return self.sums[:-2]

    @property
    def loss(self):
        """The first of the losses."""
        return self.sums[0]

    @property
    def weight(self):
        """The sum of the weights."""
        return self.sums[-2]

    def __add__(self, other):
        xp = np if isinstance(self.lows, np.ndarray) else namespace_of(self.lows)
        return LossSums(self.sums + other.sums, xp.minimum(self.lows, other.lows))

    def check(self, label_error="", **options):
        """Raise an error, or warn, if the values that were summed are not valid.

        The options are those of `check_values`.
        """
        weight, n_invalid = map(float, self.sums[-2:])
        options |= {"n_invalid": n_invalid, "label_error": label_error}
        check_values(*map(float, self.lows), weight=weight, **options)


def mean_loss(loss, *inputs):
    """Return the weighted mean of the losses of the samples, or what follows from it.

    That is the weighted sum with ``normalize=False``, and the skill score with `d2`.
    The inputs are those of `check_forecast`.
    """
    forecast = check_forecast(*inputs)
    sums = sum_losses(forecast, [loss])
    sums.check(forecast.label_error)
    reference = _reference_loss(forecast, loss) if loss.d2 else 1.0
    return loss.finish(sums.loss, sums.weight, reference)


def sample_losses(forecast, loss):
    """Return the loss of every sample, on the device of the forecast."""
    samples = []
    sums = sum_losses(forecast, [loss], samples=samples)
    sums.check(forecast.label_error)
    factor = loss.rule.scales[loss.scale](forecast.n_classes)
    return forecast.xp.concat(samples) * factor


def _reference_loss(forecast, loss):
    """Return the mean loss of a forecast that always gives the class frequencies."""
    frequency = forecast.class_totals()
    frequency = frequency / frequency.sum()
    if np.count_nonzero(frequency) == 1:
        raise ValueError(
            "The d2 score is not defined when y_true holds a single class: the class "
            "frequencies are then a perfect forecast."
        )
    # One row for each class, which weighs as much as the class occurs.
    y_true, y_proba = np.arange(len(frequency)), np.tile(frequency, (len(frequency), 1))
    reference = check_forecast(y_true, y_proba, frequency)
    sums = sum_losses(reference, [loss])
    return sums.loss / sums.weight


def sum_losses(forecast, losses, *, samples=None, checks=True, to_host=True):
    """Pass over a forecast once, for all losses.

    Parameters
    ----------
    forecast : Forecast
        Labels, probabilities and weights.

    losses : list of Loss
        Rules with their options; some of them may be refined.

    samples : list, default=None
        A list to which the losses of the rows are appended, one array per block,
        without the factor of the scale. There must be a single loss, not refined.

    checks : bool, default=True
        Whether to look for values that are not valid, for `LossSums.check`.

    to_host : bool, default=True
        Whether to transfer the sums to the host if the forecast is on another device.
        Refined losses need it.

    Returns
    -------
    sums : LossSums
        Refined losses mean nothing where values are not valid.
    """
    xp, n_classes = forecast.xp, forecast.n_classes
    # What the losses are sums of: scores of rules, and shares of wrong predictions.
    rules, ties, penalties, refined = {}, {}, [], []
    for loss in losses:
        penalties.append(loss.rule.penalty(loss.penalty, n_classes))
        if penalties[-1]:
            ties[loss.ties] = None
        if loss.temperature:
            refined.append(loss)
        else:
            rules[loss.rule.name] = loss.rule
    sums, lows = [] if rules or ties or checks else [[1.0]], [] if checks else [_VALID]
    with np.errstate(all="ignore"):  # invalid values are reported by `LossSums.check`
        for block in () if sums else forecast.blocks(_block_rows(forecast)):
            terms = _sum_block(block, rules.values(), ties, checks, sums, lows)
            if samples is not None:
                samples.append(terms[0] + penalties[0] * terms[1] if ties else terms[0])
    numbers = [*map(sum, zip(*sums, strict=True)), forecast.n_invalid]
    lows = reduce(xp.minimum, [_vector(part, forecast) for part in lows])
    if xp is not np:
        numbers = _vector(numbers, forecast)
        if to_host:
            on_host = to_numpy(xp.concat([numbers, lows]), xp)
            numbers, lows = on_host[:-4], on_host[-4:]
    totals = dict(zip([*rules, *ties], numbers[:-2], strict=True))
    totals |= _sum_refined(forecast, refined) if refined else {}
    finished = []
    for loss, penalty in zip(losses, penalties, strict=True):
        name = loss.rule.name
        total = totals[(name, loss.temperature) if loss.temperature else name]
        total = total + penalty * totals[loss.ties] if penalty else total
        finished.append(total * loss.rule.scales[loss.scale](n_classes))
    finished += [numbers[-2], numbers[-1]]
    return LossSums(np.array(finished) if to_host else xp.stack(finished), lows)


def _sum_block(block, rules, ties, checks, sums, lows):
    """Append the numbers of a block to two lists; return the terms of its rows."""
    xp, proba, weight = block.xp, block.proba, block.weight
    least, most, total = _REDUCTIONS if xp is np else (xp.min, xp.max, xp.sum)
    eps, tolerance = resolution(proba.dtype, xp)
    if checks:  # first, so that what follows finds the rows in the cache
        low = least(proba, axis=None)
    order = "C" if block.n_classes < _MANY_CLASSES else "F"
    p_true, p_rest = block.split(block.columns(order))
    terms = [rule.score(p_true, p_rest, eps, xp) for rule in rules]
    if ties or checks:
        top_rest = _top(p_rest, xp)
    if ties:
        terms += _wrong(p_true, p_rest, top_rest, block.y_index, ties, xp)
    numbers = []
    for term in terms:
        term = term if weight is None else term * weight
        is_count = xp is np and term.dtype == bool  # of which this is the fastest sum
        numbers.append(np.count_nonzero(term) if is_count else total(term))
    numbers.append(float(p_true.shape[0]) if weight is None else total(weight))
    sums.append(numbers)
    if checks:
        _, minus_high, minus_off, low_weight = _VALID
        if proba.ndim == 2:
            minus_high = -xp.maximum(most(top_rest), most(p_true))
            row_sum = column_sums(p_rest, xp)
            row_sum += p_true
            off = xp.maximum(1 - least(row_sum), most(row_sum) - 1)
            if xp is not np:
                minus_off = xp.where(off > tolerance, -off, 0 * off)
            elif off > tolerance:
                minus_off = -off
        else:
            minus_high = -as_dtype(most(proba), block.dtype, xp)  # may be unsigned
        if weight is not None:
            low_weight = least(weight)
        lows.append([low, minus_high, minus_off, low_weight])
    return terms


def _vector(values, forecast):
    """Return a few numbers as an array, on the device of a forecast."""
    xp = forecast.xp
    if xp is np:
        return np.array(values)
    kind = {"dtype": forecast.dtype, "device": forecast.device}
    return xp.stack([xp.asarray(value, **kind) for value in values])


def _top(p_rest, xp):
    """Return the highest of the other probabilities of each row."""
    if xp is not np:
        return xp.max(p_rest, axis=0)
    if p_rest.flags.c_contiguous:
        return np.maximum.reduce(p_rest)
    # The same, but faster along rows.
    starts = row_starts(p_rest.shape[1], len(p_rest))
    return np.maximum.reduceat(p_rest.ravel("K"), starts)


def _wrong(p_true, p_rest, top_rest, y_index, ties, xp):
    """Return the shares of the penalty of each row, for each way to count ties."""
    is_beaten, is_tied = p_true < top_rest, p_true == top_rest
    if xp is np and not is_tied.any():
        return [is_beaten] * len(ties)
    dtype = p_true.dtype
    is_beaten = as_dtype(is_beaten, dtype, xp)
    shares = {"correct": is_beaten}
    if "first" in ties:
        is_later = is_tied & (xp.argmax(p_rest, axis=0) < y_index)
        shares["first"] = is_beaten + as_dtype(is_later, dtype, xp)
    if "split" in ties:
        # How many classes share the highest probability. If that is 0, the true class
        # has been counted through the 0 that stands in its place.
        n_top = xp.count_nonzero(p_rest == top_rest, axis=0)
        n_top = as_dtype(n_top, dtype, xp) + as_dtype(top_rest > 0, dtype, xp)
        split = xp.where(is_tied, 1 - 1 / n_top, xp.zeros_like(n_top))
        shares["split"] = is_beaten + split
    return [shares[kind] for kind in ties]


def _block_rows(forecast):
    """Return the number of rows of a block."""
    n_classes = forecast.n_classes
    size = _HOST_BLOCK if forecast.xp is np else _DEVICE_BLOCK
    size = 2 * size if n_classes >= _MANY_CLASSES else size  # with shorter vectors
    # With many classes at least 256 rows, unless the block becomes too large.
    n_rows = max(size // n_classes, min(256, (1 << 20) // n_classes), 1)
    return min(n_rows, _HOST_ROWS) if forecast.xp is np else n_rows


def _sum_refined(forecast, losses):
    """Sum the scores after the best temperatures, by rule and kind of temperature."""
    rules = {loss.rule.name: loss.rule for loss in losses}
    logs, totals = Logs(forecast), {}
    for kind in {loss.temperature for loss in losses}:
        scores = logs.sum_scores(logs.best_inverse(*kind), rules.values())
        totals |= {(name, kind): total for name, total in scores.items()}
    return totals


class PreparedLosses:
    """The mean losses of one forecast after another for the same labels.

    Labels, weights and options are checked once. A call costs the pass over the
    probabilities, a NumPy array with a column for each of the sorted `labels`, or with
    the second of two alone. Only the values of the first forecast are checked.

    Parameters
    ----------
    losses : list of Loss
        Rules with their options.

    y_true, labels, sample_weight, class_weight
        As in `check_forecast`.
    """

    def __init__(
        self, losses, y_true, *, labels, sample_weight=None, class_weight=None
    ):
        self._losses = losses
        y_proba = np.broadcast_to(1 / len(labels), (len(y_true), len(labels)))
        inputs = y_true, y_proba, sample_weight, labels
        self._forecast = check_forecast(*inputs, class_weight=class_weight)
        self._weight = self._forecast.check_values()
        self._references = [
            _reference_loss(self._forecast, loss) if loss.d2 else 1.0 for loss in losses
        ]
        self._shape = self._forecast.n_samples, self._forecast.n_classes
        self._is_first = True

    def __call__(self, y_proba):
        """Return the losses of probabilities for the same rows."""
        y_proba = check_probabilities(y_proba, np)
        if y_proba.shape != self._shape and (*y_proba.shape, 2) != self._shape:
            raise ValueError(
                f"y_proba must have the shape {self._shape}. Got {y_proba.shape}."
            )
        self._forecast.proba = y_proba
        sums = sum_losses(self._forecast, self._losses, checks=self._is_first)
        if self._is_first:
            sums.check()
            self._is_first = False
        parts = zip(self._losses, sums.losses, self._references, strict=True)
        return [
            loss.finish(total, self._weight, reference)
            for loss, total, reference in parts
        ]
