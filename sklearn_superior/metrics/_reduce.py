"""The pass over a forecast: from rows to a few sums.

The rows are read in blocks that fit the processor's cache. All that the rules, the ties
and the checks of the values need is computed from a block while it is there, and what
is left of it are the few numbers of a `LossSums`. From other devices than the host only
these numbers are transferred, once, at the end.

This module is written to be shared by the folders of the package: what they need of the
metrics beyond the public names and the table of rules stands in `__all__`.
"""

from dataclasses import dataclass, fields
from math import isfinite
from typing import Any

import numpy as np

from sklearn_superior.metrics._rules import column_sums
from sklearn_superior.metrics._validation import (
    Forecast,
    as_host_array,
    check_forecast,
    check_labels,
    check_options,
    encode_labels,
    unique_labels,
)
from sklearn_superior.utils._sklearn_compat import namespace_of, to_numpy
from sklearn_superior.utils._warnings import warn

__all__ = [
    "Forecast",
    "LossSums",
    "as_host_array",
    "check_forecast",
    "check_labels",
    "check_options",
    "encode_labels",
    "sum_losses",
    "unique_labels",
]

# Elements of a block: on the host 1 MiB of float64, about the cache of a core;
# elsewhere larger, because each operation has a cost of its own.
_HOST_BLOCK = 1 << 17
_DEVICE_BLOCK = 1 << 19
# At most so many rows of few classes: the vectors of a block are to fit the cache, too.
_HOST_ROWS = 1 << 14
# With fewer classes a block is transposed, so that operations run over many rows at
# once; from so many on, operations along the rows are as fast.
_MANY_CLASSES = 32


@dataclass(slots=True)
class LossSums:
    """What is left of the rows of a forecast; parts are merged by ``+``.

    The numbers are Python floats, or scalars on the device of the forecast.

    Parameters
    ----------
    loss : float
        Weighted sum of the losses.

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
    >>> sums = LossSums(loss=2.0, weight=3.0) + LossSums(loss=1.0, weight=1.0)
    >>> sums.loss / sums.weight
    0.75
    """

    loss: Any
    weight: Any
    n_invalid: Any = 0.0
    low: Any = 0.0
    high: Any = 1.0
    low_sum: Any = 1.0
    high_sum: Any = 1.0
    low_weight: Any = 0.0
    tolerance: Any = 0.0

    def __add__(self, other):
        xp = np if isinstance(self.loss, float) else namespace_of(self.loss)
        return LossSums(
            loss=self.loss + other.loss,
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
        xp = namespace_of(self.loss)
        return LossSums(*to_numpy(xp.stack(self.values()), xp).tolist())

    def values(self):
        """Return the numbers in the order of the parameters."""
        return [getattr(self, field.name) for field in fields(self)]

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


def sum_losses(
    forecast,
    rule,
    *,
    penalty,
    ties,
    scale="sum",
    samples=None,
    checks=True,
    to_host=True,
):
    """Pass over a forecast once.

    Parameters
    ----------
    forecast : Forecast
        Labels, probabilities and weights.

    rule : ScoringRule
        A row of the table of rules.

    penalty, ties, scale
        Options of the loss.

    samples : list, default=None
        To which the losses of the rows are added, an array for each block.

    checks : bool, default=True
        Whether to look for values that are not valid, for `LossSums.check`.

    to_host : bool, default=True
        Whether to transfer the sums to the host if the forecast is on another device.

    Returns
    -------
    sums : LossSums
    """
    xp, n_samples, n_classes = forecast.xp, forecast.n_samples, forecast.n_classes
    penalty = rule.penalty(penalty, n_classes)
    size = _HOST_BLOCK if xp is np else _DEVICE_BLOCK
    size = 2 * size if n_classes >= _MANY_CLASSES else size  # fewer vectors of rows
    # Rows must not be too few where there are many classes, nor the block too large.
    n_rows = max(size // n_classes, min(256, (1 << 20) // n_classes), 1)
    n_rows = min(n_rows, n_samples)
    memory = None
    if xp is np:
        n_rows = min(n_rows, _HOST_ROWS)
        # The same memory serves block after block.
        memory = np.empty(n_rows * n_classes), np.arange(n_rows)
    sums = None
    with np.errstate(all="ignore"):  # values that are not valid are reported later
        for start in range(0, n_samples, n_rows):
            block = _Block(forecast, slice(start, start + n_rows), memory, checks)
            loss = rule.score(block.p_true, block.p_rest, forecast.eps, xp)
            if penalty:
                loss = loss + penalty * block.wrong(ties, xp)
            if samples is not None:
                samples.append(loss)
            part = block.sum(loss, forecast, checks)
            sums = part if sums is None else sums + part
    sums.loss = sums.loss * rule.scales[scale](n_classes)
    if xp is not np:
        n_invalid = xp.asarray(forecast.n_invalid, device=forecast.device)
        sums.n_invalid = xp.astype(n_invalid, forecast.dtype)
        sums = sums.to_host() if to_host else sums
    return sums


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
        if checks:  # the first to read the rows: what follows finds them in the cache
            self.low = xp.min(self.proba)
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
        xp, dtype = forecast.xp, forecast.dtype
        if self.proba.ndim == 2:
            q = xp.astype(xp.permute_dims(self.proba, (1, 0)), dtype)
        else:
            p = xp.astype(self.proba, dtype)
            q = xp.stack([1 - p, p] if forecast.positive else [p, 1 - p])
        numbers = xp.arange(forecast.n_classes, device=forecast.device)
        is_true = xp.reshape(numbers, (-1, 1)) == xp.reshape(self.y_index, (1, -1))
        zeros = xp.zeros_like(q)
        self.p_true = xp.sum(xp.where(is_true, q, zeros), axis=0)
        self.p_rest = xp.where(is_true, zeros, q)
        self.top_rest = xp.max(self.p_rest, axis=0)

    def wrong(self, ties, xp):
        """Share of the penalty that each row is charged: 0, 1 or, split, between."""
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

    def sum(self, loss, forecast, checks):
        """Reduce the rows to their sums."""
        xp, weight = forecast.xp, self.weight
        sums = LossSums(
            loss=xp.sum(loss if weight is None else loss * weight),
            weight=float(loss.shape[0]) if weight is None else xp.sum(weight),
            tolerance=forecast.tolerance,
        )
        if checks:
            sums.low = self.low
            if self.proba.ndim == 1:
                sums.high = xp.max(self.proba)
            else:
                sums.high = xp.maximum(xp.max(self.top_rest), xp.max(self.p_true))
                row_sum = column_sums(self.p_rest, xp) + self.p_true
                sums.low_sum, sums.high_sum = xp.min(row_sum), xp.max(row_sum)
            if weight is not None:
                sums.low_weight = xp.min(weight)
        if xp is np:
            return sums
        dtype, device = forecast.dtype, forecast.device
        return LossSums(
            *(xp.asarray(x, dtype=dtype, device=device) for x in sums.values())
        )


def as_dtype(array, dtype, xp):
    """Convert an array; NumPy has no function for it before 2.1."""
    return array.astype(dtype) if xp is np else xp.astype(array, dtype)


def sample_losses(forecast, rule, *, scale="sum", **options):
    """Loss of every sample, on the device of the forecast."""
    samples = []
    sums = sum_losses(forecast, rule, **options, samples=samples)
    sums.check(forecast.label_error, allow_no_weight=True)
    return forecast.xp.concat(samples) * rule.scales[scale](forecast.n_classes)
