"""The pass over a forecast: from rows to a few sums, for all losses at once.

The rows are read in blocks that fit the processor's cache. All that the losses and the
checks of the values need is computed from a block while it is there: the scores of each
rule, and the shares of wrong predictions. A loss is a sum of the two, so that many
losses cost little more than one. What is left are the few numbers of a `LossSums`. From
other devices than the host only these numbers are transferred, once, at the end.

A refined loss is that of the same forecast after its temperature, see `_logs.py`. The
temperature does not change what is predicted, so the wrong predictions are the same.

This module is written to be shared by the folders of the package: what they need of the
metrics beyond the public names and the table of rules stands in `__all__`.
"""

from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

import numpy as np

from sklearn_superior.metrics._labels import encode_labels, unique_labels
from sklearn_superior.metrics._logs import Logs
from sklearn_superior.metrics._rules import column_sums
from sklearn_superior.metrics._validation import (
    Forecast,
    as_dtype,
    check_forecast,
    check_labels,
    check_options,
    class_totals,
    replace_proba,
    warn_of_column_order,
    weigh_classes,
)
from sklearn_superior.utils._sklearn_compat import namespace_of, to_numpy
from sklearn_superior.utils._warnings import warn

__all__ = [
    "NUMBERS",
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
# on other devices larger, because it takes time to start an operation.
_HOST_BLOCK = 1 << 17
_DEVICE_BLOCK = 1 << 19
# Most rows of a block on the host: vectors of this length fit the cache, too.
_HOST_ROWS = 1 << 14
# With fewer classes a block is transposed, so that operations run over many rows at
# once. With this number or more, operations along the rows are as fast.
_MANY_CLASSES = 32


@dataclass(slots=True)
class LossSums:
    """What is left of the rows of a forecast; parts are merged by ``+``.

    The numbers are Python floats, or scalars on the device of the forecast.

    Parameters
    ----------
    losses : tuple of float
        Weighted sum of each of the losses.

    weight : float
        Sum of the weights; the number of rows if there are none.

    n_invalid : float
        Number of rows whose label is not valid, where that is not reported earlier.

    low, high : float
        Smallest and largest probability.

    low_sum, high_sum : float
        Smallest and largest sum of a row of probabilities.

    low_weight : float
        Smallest weight.

    tolerance : float
        By which the sum of a row may differ from 1.

    Examples
    --------
    >>> sums = LossSums((2.0,), weight=3.0) + LossSums((1.0,), weight=1.0)
    >>> sums.loss / sums.weight
    0.75
    """

    losses: tuple
    weight: Any
    n_invalid: Any = 0.0
    low: Any = 0.0
    high: Any = 1.0
    low_sum: Any = 1.0
    high_sum: Any = 1.0
    low_weight: Any = 0.0
    tolerance: Any = 0.0

    @property
    def loss(self):
        """The first of the losses."""
        return self.losses[0]

    def __add__(self, other):
        xp = np if isinstance(self.weight, float) else namespace_of(self.weight)
        pairs = zip(self.losses, other.losses, strict=True)
        return LossSums(
            losses=tuple(own + more for own, more in pairs),
            weight=self.weight + other.weight,
            n_invalid=self.n_invalid + other.n_invalid,
            low=xp.minimum(self.low, other.low),
            high=xp.maximum(self.high, other.high),
            low_sum=xp.minimum(self.low_sum, other.low_sum),
            high_sum=xp.maximum(self.high_sum, other.high_sum),
            low_weight=xp.minimum(self.low_weight, other.low_weight),
            tolerance=xp.maximum(self.tolerance, other.tolerance),
        )

    def to_host(self):
        """Return the same numbers as floats, after one transfer."""
        xp = namespace_of(self.weight)
        return self.of(to_numpy(xp.stack(self.values()), xp).tolist())

    def values(self):
        """Return the losses, then the other numbers in the order of the parameters."""
        return [*self.losses, *(getattr(self, name) for name in NUMBERS)]

    @classmethod
    def of(cls, values):
        """Return the sums from their `values`."""
        n_losses = len(values) - len(NUMBERS)
        return cls(tuple(values[:n_losses]), *values[n_losses:])

    def are_valid(self):
        """Tell whether `check` would raise no error."""
        is_weighted = self.low_weight >= 0 and 0 < self.weight < float("inf")
        return 0 <= self.low <= self.high <= 1 and is_weighted and not self.n_invalid

    def check(
        self, label_error="", *, names=("y_true", "y_proba"), allow_no_weight=False
    ):
        """Raise an error, or warn, if the values that were summed are not valid.

        `label_error` says what is wrong with labels that are not valid, `names` are the
        names of the caller's parameters, and the sum of the weights may be zero if
        `allow_no_weight`.
        """
        y_name, proba_name = names
        low, high = float(self.low), float(self.high)
        if low != low or high != high:
            raise ValueError(f"{proba_name} must not contain NaN.")
        if low < 0 or high > 1:
            raise ValueError(
                f"{proba_name} must hold probabilities in [0, 1]. Got values from "
                f"{low} to {high}. Pass what predict_proba or a softmax returns, not "
                "logits or percentages."
            )
        if self.n_invalid:
            raise ValueError(
                f"{y_name} has {int(self.n_invalid)} rows that {label_error}."
            )
        if not (self.low_weight >= 0 and isfinite(self.weight)):
            raise ValueError(
                "sample_weight must be non-negative, without NaN or infinity. Got a "
                f"minimum of {self.low_weight:.6g} and a sum of {self.weight:.6g}."
            )
        if self.weight == 0 and not allow_no_weight:
            raise ValueError("sample_weight must not be zero for all samples.")
        off = max(1 - self.low_sum, self.high_sum - 1)
        if off > self.tolerance:
            warn(
                f"The rows of {proba_name} do not sum to one: a sum is off by "
                f"{off:.2g}. Make sure to pass probabilities.",
            )


# The numbers of a `LossSums` besides the losses.
NUMBERS = tuple(LossSums.__slots__[1:])


def extremes(forecast):
    """Return sums without losses, to check the values of a forecast."""
    xp, proba, weight = forecast.xp, forecast.proba, forecast.sample_weight
    sums = LossSums((), weight=float(forecast.n_samples))
    sums.low, sums.high = float(xp.min(proba)), float(xp.max(proba))
    sums.n_invalid = int(forecast.n_invalid)
    if weight is not None:
        sums.low_weight = float(xp.min(weight))
        sums.weight = float(xp.sum(as_dtype(weight, forecast.dtype, xp)))
    return sums


def mean_loss(loss, y_true, y_proba, *, class_weight=None, **inputs):
    """Return the weighted mean of the losses of the samples, or what follows from it.

    That is the weighted sum with ``normalize=False``, and the skill score with `d2`.
    """
    forecast = check_forecast(y_true, y_proba, **inputs)
    if class_weight is not None:
        weigh_classes(forecast, class_weight)
    sums = sum_losses(forecast, [loss])
    sums.check(forecast.label_error)
    (reference,) = _reference_losses(forecast, [loss])
    return loss.finish(sums.losses[0], sums.weight, reference)


def _reference_losses(forecast, losses):
    """Return the mean losses that skill scores are relative to; 1.0 for other losses.

    They are those of the forecast that always gives the class frequencies.
    """
    references = [1.0] * len(losses)
    places = [k for k, loss in enumerate(losses) if loss.d2]
    if not places:
        return references
    frequency = class_totals(forecast)
    frequency = frequency / frequency.sum()
    if np.count_nonzero(frequency) == 1:
        raise ValueError(
            "The d2 score is not defined when y_true holds a single class: the class "
            "frequencies then are a perfect forecast."
        )
    # One row for each class, which weighs as often as the class occurs.
    reference = check_forecast(
        np.arange(len(frequency)),
        np.broadcast_to(frequency, (len(frequency),) * 2),
        sample_weight=frequency,
    )
    sums = sum_losses(reference, [losses[k] for k in places])
    for k, total in zip(places, sums.losses, strict=True):
        references[k] = total / sums.weight
    return references


def sum_losses(forecast, losses, *, samples=None, checks=True, to_host=True):
    """Pass over a forecast once, for all losses.

    Parameters
    ----------
    forecast : Forecast
        Labels, probabilities and weights.

    losses : list of Loss
        Rules with their options, some of them maybe refined.

    samples : list, default=None
        To which the losses of the rows are added, an array for each block, without the
        factor of the scale. There must be one loss then, not refined.

    checks : bool, default=True
        Whether to look for values that are not valid, for `LossSums.check`.

    to_host : bool, default=True
        Whether to transfer the sums to the host if the forecast is on another device,
        as refined losses need it.

    Returns
    -------
    sums : LossSums
        Where values are not valid the refined losses are NaN.
    """
    xp, n_classes = forecast.xp, forecast.n_classes
    # What the losses are sums of: scores of rules, and shares of wrong predictions.
    rules, ties, penalties, refined = {}, {}, [], []
    for loss in losses:
        penalties.append(loss.rule.penalty(loss.penalty, n_classes))
        if penalties[-1]:
            ties[loss.ties] = None
        if loss.refined:
            refined.append(loss)
        else:
            rules[loss.rule.name] = loss.rule
    sums = None if rules or ties or checks else LossSums((), weight=1.0)
    n_rows, memory = _block_size(forecast)
    with np.errstate(all="ignore"):  # values that are not valid are reported later
        for start in range(0, forecast.n_samples if sums is None else 0, n_rows):
            rows = slice(start, min(start + n_rows, forecast.n_samples))
            block, terms = _Block(forecast, rows, memory, checks), []
            for rule in rules.values():
                terms.append(rule.score(block.p_true, block.p_rest, forecast.eps, xp))
            for kind in ties:
                terms.append(block.wrong(kind, xp))
            if samples is not None:
                penalty = penalties[0] * terms[1] if ties else 0.0
                samples.append(terms[0] + penalty)
            part = block.sum(terms, forecast, checks)
            sums = part if start == 0 else sums + part
    if xp is not np:
        n_invalid = xp.asarray(forecast.n_invalid, device=forecast.device)
        sums.n_invalid = xp.astype(n_invalid, forecast.dtype)
        sums = sums.to_host() if to_host else sums
    totals = dict(zip([*rules, *ties], sums.losses, strict=True))
    if refined:
        totals |= _sum_refined(forecast, refined, sums)
    finished = []
    for loss, penalty in zip(losses, penalties, strict=True):
        name = loss.rule.name
        total = totals[(name, loss.prior_scale) if loss.refined else name]
        total = total + penalty * totals[loss.ties] if penalty else total
        finished.append(total * loss.rule.scales[loss.scale](n_classes))
    sums.losses = tuple(finished)
    return sums


def _sum_refined(forecast, losses, sums):
    """Sum the scores after the best temperatures, by rule and scale of the prior.

    They are NaN if the forecast has values that are not valid.
    """
    totals = {(loss.rule.name, loss.prior_scale): np.nan for loss in losses}
    if not sums.are_valid():
        return totals
    logs = of_samples = Logs(forecast)
    if forecast.has_class_weight:  # the temperature is for the data as it is
        of_samples = Logs(replace(forecast, sample_weight=forecast.own_weight))
    for prior_scale in {loss.prior_scale for loss in losses}:
        rules = [loss.rule for loss in losses if loss.prior_scale == prior_scale]
        rules = {rule.name: rule for rule in rules}
        inverse = of_samples.best_inverse(prior_scale)
        for name, total in logs.sum_scores(inverse, rules).items():
            totals[name, prior_scale] = total
    return totals


def _block_size(forecast):
    """Return the number of rows of a block, and memory that serves all blocks."""
    xp, n_classes = forecast.xp, forecast.n_classes
    size = _HOST_BLOCK if xp is np else _DEVICE_BLOCK
    size = 2 * size if n_classes >= _MANY_CLASSES else size  # with shorter vectors
    # With many classes at least 256 rows, unless the block becomes too large.
    n_rows = max(size // n_classes, min(256, (1 << 20) // n_classes), 1)
    n_rows = min(n_rows, forecast.n_samples)
    if xp is not np:
        return n_rows, None
    n_rows = min(n_rows, _HOST_ROWS)
    return n_rows, (np.empty(n_rows * n_classes), np.arange(n_rows))


class PreparedLosses:
    """The mean losses of one forecast after another of the same labels.

    Labels, weights and options are checked once. A call takes the pass over the
    probabilities, a NumPy array with a column for each of the sorted `labels`, or with
    the second of two alone. Only the values of the first forecast are checked.

    Parameters
    ----------
    losses : list of Loss
        Rules with their options.

    y_true, labels, sample_weight
        As in `check_forecast`.

    class_weight : dict or "balanced", default=None
        As in `weigh_classes`.
    """

    def __init__(
        self, losses, y_true, *, labels, sample_weight=None, class_weight=None
    ):
        self._losses = losses
        uniform = np.broadcast_to(1 / len(labels), (len(y_true), len(labels)))
        self._forecast = check_forecast(
            y_true, uniform, sample_weight=sample_weight, labels=labels
        )
        if class_weight is not None:
            weigh_classes(self._forecast, class_weight)
        sums = extremes(self._forecast)
        sums.check()
        self._weight = sums.weight
        self._references = _reference_losses(self._forecast, losses)
        self._is_first = True

    def __call__(self, y_proba):
        """Return the losses of probabilities for the same rows."""
        replace_proba(self._forecast, y_proba)
        sums = sum_losses(self._forecast, self._losses, checks=self._is_first)
        if self._is_first:
            sums.check()
            self._is_first = False
        return [
            loss.finish(total, self._weight, reference)
            for loss, total, reference in zip(
                self._losses, sums.losses, self._references, strict=True
            )
        ]


class _Block:
    """Some rows of a forecast, split into the true class and the rest.

    Attributes
    ----------
    p_true : array of shape (n_rows,)
        Probability of the true class.

    p_rest : array of shape (n_classes, n_rows)
        The other probabilities, with a 0 in place of the true class.

    top_rest : array of shape (n_rows,)
        The largest of these.

    y_index, weight : array of shape (n_rows,)
        Index of the true class, and the weight or None.
    """

    def __init__(self, forecast, rows, memory, checks):
        xp = forecast.xp
        self.y_index, self.weight = forecast.y_index[rows], forecast.sample_weight
        if self.weight is not None:
            self.weight = as_dtype(self.weight[rows], forecast.dtype, xp)
        self.proba = forecast.proba[rows, ...]
        if checks:  # first, so that what follows finds the rows in the cache
            self.low = self.proba.min() if xp is np else xp.min(self.proba)
        if xp is np:
            self._split_on_host(forecast, *memory)
        else:
            self._split_on_device(forecast)

    def _split_on_host(self, forecast, memory, row_numbers):
        n_rows, n_classes = len(self.proba), forecast.n_classes
        flat, row_numbers = memory[: n_classes * n_rows], row_numbers[:n_rows]
        by_rows = n_classes >= _MANY_CLASSES
        if by_rows:
            q = flat.reshape(n_rows, n_classes).T
            row_start = row_numbers * n_classes
            position = row_start + self.y_index
        else:
            q = flat.reshape(n_classes, n_rows)
            position = np.multiply(self.y_index, n_rows, dtype=np.intp)
            position += row_numbers
        if self.proba.ndim == 2:
            q[...] = self.proba.T
        else:
            q[forecast.positive] = self.proba
            np.subtract(1, q[forecast.positive], out=q[1 - forecast.positive])
        self.p_true = flat[position]
        flat[position] = 0
        self.p_rest = q
        # The same as q.max(axis=0), but faster along rows.
        self.top_rest = (
            np.maximum.reduceat(flat, row_start) if by_rows else q.max(axis=0)
        )

    def _split_on_device(self, forecast):
        q = forecast.columns_on_device(self.proba)
        self.p_true, self.p_rest = forecast.split_on_device(q, self.y_index)
        self.top_rest = forecast.xp.max(self.p_rest, axis=0)

    def wrong(self, ties, xp):
        """Return the share of the penalty for each row: 0 or 1, unless ties split."""
        dtype = self.p_true.dtype
        is_beaten = self.p_true < self.top_rest
        is_tied = self.p_true == self.top_rest
        if xp is np and not is_tied.any():
            return is_beaten
        is_beaten = as_dtype(is_beaten, dtype, xp)
        if ties == "correct":
            return is_beaten
        if ties == "first":
            first = xp.argmax(self.p_rest, axis=0)
            return is_beaten + as_dtype(is_tied & (first < self.y_index), dtype, xp)
        # How many classes share the highest probability. Where that is 0, the true
        # class has been counted through the 0 that stands in its place.
        n_top = xp.count_nonzero(self.p_rest == self.top_rest, axis=0)
        n_top = as_dtype(n_top, dtype, xp) + as_dtype(self.top_rest > 0, dtype, xp)
        return is_beaten + xp.where(is_tied, 1 - 1 / n_top, xp.zeros_like(n_top))

    def sum(self, terms, forecast, checks):
        """Reduce the rows to their sums: those of the terms, and of the checks."""
        xp, weight = forecast.xp, self.weight
        low, high, totals = xp.min, xp.max, []
        if xp is np:  # whose methods are faster than its functions
            low, high = np.ndarray.min, np.ndarray.max
        for term in terms:
            if weight is not None:
                term = term * weight
            is_count = xp is np and term.dtype == bool
            totals.append(np.count_nonzero(term) if is_count else xp.sum(term))
        sums = LossSums(
            losses=tuple(totals),
            weight=float(self.y_index.shape[0]) if weight is None else xp.sum(weight),
            tolerance=forecast.tolerance,
        )
        if checks:
            sums.low = self.low
            if self.proba.ndim == 1:
                sums.high = high(self.proba)
            else:
                sums.high = xp.maximum(high(self.top_rest), high(self.p_true))
                row_sum = column_sums(self.p_rest, xp) + self.p_true
                sums.low_sum, sums.high_sum = low(row_sum), high(row_sum)
            if weight is not None:
                sums.low_weight = low(weight)
        if xp is np:
            return sums
        dtype, device = forecast.dtype, forecast.device
        return LossSums.of(
            [xp.asarray(x, dtype=dtype, device=device) for x in sums.values()]
        )


def sample_losses(forecast, loss):
    """Loss of every sample, on the device of the forecast."""
    samples = []
    sums = sum_losses(forecast, [loss], samples=samples)
    sums.check(forecast.label_error, allow_no_weight=True)
    factor = loss.rule.scales[loss.scale](forecast.n_classes)
    return forecast.xp.concat(samples) * factor
