"""One pass over the forecasts, in blocks that stay in the processor's cache.

A block is laid out classes first, in float64. All that the rules, the ties and
the checks of the values need is read off it while it is there, and a few sums
are all that is left of it. On other devices than the host nothing is brought
back but these sums, once, at the end.
"""

import numpy as np

from sklearn_superior.metrics._validation import check_values
from sklearn_superior.utils._sklearn_compat import to_numpy

# Elements of a block: on the host 512 KiB of float64, which fits a core's cache;
# elsewhere larger, because each operation has a price of its own.
_HOST_BLOCK = 1 << 16
_DEVICE_BLOCK = 1 << 19


def loss_sums(forecast, rule, *, penalty, ties):
    """Weighted sum of the losses, and the sum of the weights."""
    found = loss_findings(forecast, rule, penalty=penalty, ties=ties)
    found = to_numpy(found, forecast.xp)
    return conclude(found, forecast.tolerance, forecast.targets.fault)


def loss_findings(forecast, rule, *, penalty, ties):
    """Vector of what the pass finds, still on the device: sums, then maxima.

    Findings of several parts are merged by adding the first `N_SUMS` and taking the
    greater of the others, which are maxima and the negatives of minima.
    """
    with np.errstate(all="ignore"):  # bad values are reported when all are seen
        losses = _losses(forecast, rule, penalty, ties)
        findings = [_findings(block, forecast, loss) for block, loss in losses]
        return _merged(forecast, findings)


def loss_total(forecast, rule, *, penalty, ties):
    """Weighted sum of the losses alone, of values in NumPy that need no checks."""
    total = 0.0
    with np.errstate(all="ignore"):
        for block, loss in _losses(forecast, rule, penalty, ties, checks=False):
            total += float(
                (loss if block.weight is None else loss * block.weight).sum()
            )
    return total


def sample_losses(forecast, rule, *, penalty, ties):
    """Loss of every sample, on the device of the forecast."""
    findings, losses = [], []
    with np.errstate(all="ignore"):
        for block, loss in _losses(forecast, rule, penalty, ties):
            findings.append(_findings(block, forecast, loss))
            losses.append(loss)
    found = to_numpy(_merged(forecast, findings), forecast.xp)
    conclude(found, forecast.tolerance, forecast.targets.fault)
    return forecast.xp.concat(losses)


def class_weights(forecast):
    """Sum of the weights of each class, as a NumPy array."""
    xp, sums = forecast.xp, 0.0
    for block in _blocks(forecast):
        if xp is np:
            sums += np.bincount(block.index, block.weight, forecast.n_classes)
        else:
            weight = xp.astype(block.is_true, forecast.dtype)
            weight = weight if block.weight is None else weight * block.weight
            sums = xp.sum(weight, axis=1) + sums
    return to_numpy(sums, xp)


class _Block:
    """Some rows: `p_true` (m,), `p_rest` (n_classes, m), `index` and `weight` (m,)."""

    def __init__(self, forecast, start, stop, workspace, checks):
        xp = forecast.xp
        self.index, self.n_bad = forecast.targets.read(start, stop)
        self.weight = forecast.sample_weight
        if self.weight is not None:
            self.weight = _as_dtype(self.weight[start:stop], forecast.dtype, xp)
        proba = forecast.proba[start:stop, ...]
        if checks:
            # Read first, in the input's dtype: what follows finds it in the cache.
            self.low, self.high = _min(proba, xp), _max(proba, xp)
        self.is_full = proba.ndim == 2
        if xp is np:
            self._split_on_host(proba, forecast, workspace)
        else:
            self._split_on_device(proba, forecast)
        self.top_rest = _max(self.p_rest, xp, axis=0)

    def _split_on_host(self, proba, forecast, workspace):
        n_rows = len(proba)
        memory, row_numbers = workspace
        flat = memory[: forecast.n_classes * n_rows]
        q = flat.reshape(forecast.n_classes, n_rows)
        if self.is_full:
            q[...] = proba.T
        else:
            q[forecast.positive] = proba
            np.subtract(1, q[forecast.positive], out=q[1 - forecast.positive])
        position = self.index * n_rows
        position += row_numbers[:n_rows]
        self.p_true = flat[position]
        flat[position] = 0
        self.p_rest = q

    def _split_on_device(self, proba, forecast):
        xp, dtype = forecast.xp, forecast.dtype
        if self.is_full:
            q = xp.astype(xp.permute_dims(proba, (1, 0)), dtype)
        else:
            p = xp.astype(proba, dtype)
            q = xp.stack([1 - p, p] if forecast.positive else [p, 1 - p])
        numbers = xp.arange(forecast.n_classes, device=forecast.device)
        self.is_true = xp.reshape(numbers, (-1, 1)) == xp.reshape(self.index, (1, -1))
        nothing = xp.zeros_like(q)
        self.p_true = xp.sum(xp.where(self.is_true, q, nothing), axis=0)
        self.p_rest = xp.where(self.is_true, nothing, q)

    def wrong(self, ties, xp):
        """Share of the penalty that each row is charged: 0, 1 or, split, between."""
        dtype = self.p_true.dtype
        beaten = self.p_true < self.top_rest
        level = self.p_true == self.top_rest
        if xp is np and not level.any():
            return beaten
        beaten = _as_dtype(beaten, dtype, xp)
        if ties == "correct":
            return beaten
        if ties == "first":
            first = xp.argmax(self.p_rest, axis=0)
            return beaten + _as_dtype(level & (first < self.index), dtype, xp)
        # How many classes share the top. Where that is 0, the true class has been
        # counted through the 0 that stands in its place.
        n_top = xp.count_nonzero(self.p_rest == self.top_rest, axis=0)
        n_top = _as_dtype(n_top, dtype, xp) + _as_dtype(self.top_rest > 0, dtype, xp)
        return beaten + xp.where(level, 1 - 1 / n_top, xp.zeros_like(n_top))


# NumPy's methods do not take the detour that its functions take.
def _min(array, xp):
    return array.min() if xp is np else xp.min(array)


def _max(array, xp, axis=None):
    return array.max(axis) if xp is np else xp.max(array, axis=axis)


def _sum(array, xp, axis=None):
    return array.sum(axis) if xp is np else xp.sum(array, axis=axis)


def _as_dtype(array, dtype, xp):
    return array.astype(dtype) if xp is np else xp.astype(array, dtype)


def _blocks(forecast, checks=True):
    n_samples, n_classes = forecast.n_samples, forecast.n_classes
    size = _HOST_BLOCK if forecast.xp is np else _DEVICE_BLOCK
    # Rows must not be too few where there are many classes, nor the block too large.
    rows = max(size // n_classes, min(256, (1 << 20) // n_classes), 1)
    rows = min(rows, n_samples)
    workspace = None
    if forecast.xp is np:  # the same memory serves block after block
        workspace = np.empty(rows * n_classes), np.arange(rows)
    for start in range(0, n_samples, rows):
        stop = min(start + rows, n_samples)
        yield _Block(forecast, start, stop, workspace, checks)


def _losses(forecast, rule, penalty, ties, checks=True):
    """Yield every block with the losses of its rows."""
    xp = forecast.xp
    penalty = rule.penalty(penalty, forecast.n_classes)
    for block in _blocks(forecast, checks):
        loss = rule.score(block.p_true, block.p_rest, forecast.eps, xp)
        if penalty:
            loss = loss + penalty * block.wrong(ties, xp)
        yield block, loss


# How many of the findings are sums over the rows; the others are maxima.
N_SUMS = 3


def _findings(block, forecast, loss):
    """Note three sums, two maxima and three minima of a block."""
    xp, weight = forecast.xp, block.weight
    row_sum = _sum(block.p_rest, xp, axis=0) + block.p_true if block.is_full else None
    return (
        _sum(loss if weight is None else loss * weight, xp),
        loss.shape[0] if weight is None else _sum(weight, xp),
        block.n_bad,
        block.high,
        1.0 if row_sum is None else _max(row_sum, xp),
        block.low,
        1.0 if row_sum is None else _min(row_sum, xp),
        0.0 if weight is None else _min(weight, xp),
    )


def _merged(forecast, findings):
    xp, dtype, device = forecast.xp, forecast.dtype, forecast.device
    if xp is np and len(findings) == 1:
        *others, low, low_sum, low_weight = findings[0]
        return np.array([*others, -low, -low_sum, -low_weight])
    if xp is np:
        table = np.asarray(findings, dtype=np.float64)
    else:
        table = xp.stack(
            [
                xp.stack([xp.asarray(x, dtype=dtype, device=device) for x in row])
                for row in findings
            ]
        )
    sums, maxima, minima = table[:, :3], table[:, 3:5], table[:, 5:]
    return xp.concat(
        [xp.sum(sums, axis=0), xp.max(maxima, axis=0), xp.max(-minima, axis=0)]
    )


def merge_findings(parts):
    """Merge the findings of several parts, as NumPy arrays."""
    table = np.asarray(parts)
    return np.append(table[:, :N_SUMS].sum(axis=0), table[:, N_SUMS:].max(axis=0))


def conclude(found, tolerance, fault, *, names=("y_true", "y_proba")):
    """Check the values by what was `found`; return the sums of losses and weights.

    `tolerance` is that of the sums of rows, `fault` is what is wrong with labels that
    are not valid, `names` are those of the caller's parameters.
    """
    loss, weight, n_bad, high, high_sum, *minima = map(float, found)
    low, low_sum, low_weight = (-value for value in minima)
    check_values(
        low=low,
        high=high,
        off=max(1 - low_sum, high_sum - 1),
        low_weight=low_weight,
        weight=weight,
        n_bad=n_bad,
        tolerance=tolerance,
        fault=fault,
        names=names,
    )
    return loss, weight
