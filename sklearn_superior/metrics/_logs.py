"""The logarithms of a forecast: its best temperature, and its scores after one.

With the inverse temperature b the probabilities become ``q**b``, over their sum. Their
log loss is convex in b. The logarithms of many rows are not held in memory but computed
again for each step of the search.
"""

from dataclasses import replace

import numpy as np

from sklearn_superior.metrics._best_temperature import best_inverse, best_with_prior
from sklearn_superior.metrics._validation import as_dtype
from sklearn_superior.utils._sklearn_compat import to_numpy

# Elements of a block: 256 KiB on the host, two of which fit the cache of a core.
_HOST_BLOCK, _DEVICE_BLOCK = 1 << 15, 1 << 19
# Most elements whose logarithms are kept in memory: 32 MiB.
_MOST_HELD = 1 << 22


class Logs:
    """Logarithms of probabilities, each row less its largest, which is then 0.

    Parameters
    ----------
    forecast : Forecast
        Labels, probabilities and weights, whose values are valid.
    """

    def __init__(self, forecast):
        self._forecast = forecast
        self._is_small = forecast.n_samples * forecast.n_classes <= _MOST_HELD
        self._held = None
        self._memory = None

    def best_inverse(self, prior_scale):
        """Return the best inverse temperature.

        It has the lowest sum of log losses, plus the square of its logarithm over twice
        the square of `prior_scale`, if that is not None.
        """
        strength = 0.0
        if prior_scale is not None:
            strength = 1 / prior_scale**2
        with np.errstate(all="ignore"):
            start = 1.0 if self._is_small else self._thin().best_inverse(prior_scale)
            if strength == 0:
                return best_inverse(self.evaluate, start)
            return best_with_prior(self.evaluate, strength, start)

    def _thin(self):
        """Return some of the rows, evenly spaced, for a first guess."""
        forecast = self._forecast
        size = forecast.n_samples * forecast.n_classes
        rows = slice(0, forecast.n_samples, -(-size // _MOST_HELD))
        weight = forecast.sample_weight
        y_index = forecast.y_index[rows]
        return Logs(
            replace(
                forecast,
                proba=forecast.proba[rows, ...],
                y_index=y_index,
                sample_weight=None if weight is None else weight[rows],
                n_samples=y_index.shape[0],
            )
        )

    def evaluate(self, inverse):
        """Sum of the log losses at an inverse temperature, and two derivatives."""
        is_host = self._forecast.xp is np
        step = self._evaluate_on_host if is_host else self._evaluate_on_device
        total = 0.0
        for block in self._blocks():
            total = total + step(inverse, *block)
        total = total if is_host else to_numpy(total, self._forecast.xp)
        return total.tolist()

    def sum_scores(self, inverse, rules):
        """Weighted sum of the scores after a temperature, by the names of the rules."""
        xp = self._forecast.xp
        # What was clipped before must not be clipped again.
        tiny = float(xp.finfo(self._forecast.dtype).smallest_normal)
        totals = dict.fromkeys(rules, 0.0)
        with np.errstate(all="ignore"):
            for logs, _, y_index, weight in self._blocks():
                p_true, p_rest = self._scaled(inverse, logs, y_index)
                for name, rule in rules.items():
                    score = rule.score(p_true, p_rest, tiny, xp)
                    score = score if weight is None else score * weight
                    totals[name] = totals[name] + xp.sum(score)
        return {name: float(total) for name, total in totals.items()}

    def _scaled(self, inverse, logs, y_index):
        """Probabilities of the true class and of the others, after a temperature."""
        xp = self._forecast.xp
        power = xp.exp(inverse * logs)
        power = power / xp.sum(power, axis=0)
        if xp is np:
            rows = np.arange(power.shape[1])
            p_true = power[y_index, rows]
            power[y_index, rows] = 0
            return p_true, power
        return self._forecast.split_on_device(power, y_index)

    def _blocks(self):
        """Logarithms, those of the true classes, indices of these, and weights."""
        if not self._is_small:
            return self._make_blocks()
        if self._held is None:
            self._held = list(self._make_blocks())
        return self._held

    def _make_blocks(self):
        forecast, xp = self._forecast, self._forecast.xp
        size = _HOST_BLOCK if xp is np else _DEVICE_BLOCK
        n_rows = max(size // forecast.n_classes, 64)
        read = _read_on_host if xp is np else _read_on_device
        for start in range(0, forecast.n_samples, n_rows):
            rows = slice(start, min(start + n_rows, forecast.n_samples))
            weight = forecast.sample_weight
            if weight is not None:
                weight = as_dtype(weight[rows], forecast.dtype, xp)
            yield *read(forecast, rows), forecast.y_index[rows], weight

    def _evaluate_on_host(self, inverse, logs, log_true, y_index, weight):
        if self._memory is None:
            self._memory = np.empty(logs.size)
        power = self._memory[: logs.size].reshape(logs.shape)
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
        np.log(total, out=total)
        total -= inverse * log_true
        rows = (total, mean, square)
        if weight is None:
            return np.array([row.sum() for row in rows])
        return np.array([row @ weight for row in rows])

    def _evaluate_on_device(self, inverse, logs, log_true, y_index, weight):
        xp = self._forecast.xp
        power = xp.exp(inverse * logs)
        total = xp.sum(power, axis=0)
        mean = xp.sum(power * logs, axis=0) / total
        square = xp.sum(power * logs * logs, axis=0) / total - mean * mean
        rows = (xp.log(total) - inverse * log_true, mean - log_true, square)
        weigh = (lambda row: row) if weight is None else (lambda row: row * weight)
        return xp.stack([xp.sum(weigh(row)) for row in rows])


def _read_on_host(forecast, rows):
    q = forecast.proba[rows].T
    if q.ndim == 1:
        q = np.stack([1 - q, q] if forecast.positive else [q, 1 - q])
    logs = np.array(q, dtype=np.float64, order="C")
    np.maximum(logs, forecast.eps, out=logs)
    np.log(logs, out=logs)
    logs -= logs.max(axis=0)
    return logs, logs[forecast.y_index[rows], np.arange(logs.shape[1])]


def _read_on_device(forecast, rows):
    xp, q = forecast.xp, forecast.columns_on_device(forecast.proba[rows, ...])
    logs = xp.log(xp.clip(q, forecast.eps, None))
    logs = logs - xp.max(logs, axis=0)
    return logs, forecast.split_on_device(logs, forecast.y_index[rows])[0]
