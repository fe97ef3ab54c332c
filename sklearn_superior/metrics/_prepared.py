"""A loss that is computed again and again for the same labels."""

import numpy as np

from sklearn_superior.metrics._reduce import sum_losses
from sklearn_superior.metrics._temperature import refined_sums
from sklearn_superior.metrics._validation import (
    check_forecast,
    check_options,
    replace_proba,
)


class PreparedLoss:
    """The mean loss of one forecast after another of the same labels.

    Labels, weights and options are checked once. A call takes the pass over the
    probabilities, a NumPy array with a column for each of the sorted `labels`, or with
    the second of two alone. Only the values of the first forecast are checked. With
    `refined` it is the loss after the best temperature.
    """

    def __init__(
        self,
        rule,
        y_true,
        *,
        labels,
        sample_weight=None,
        penalty="paper",
        ties="first",
        scale="sum",
        normalize=True,
        refined=False,
    ):
        check_options(
            rule, penalty=penalty, ties=ties, scale=scale, normalize=normalize
        )
        uniform = np.full((len(y_true), len(labels)), 1 / len(labels))
        self._forecast = check_forecast(
            y_true, uniform, sample_weight=sample_weight, labels=labels
        )
        self._rule = rule
        self._options = {"penalty": penalty, "ties": ties, "scale": scale}
        sums = sum_losses(self._forecast, rule, **self._options)
        sums.check()
        self._divisor = sums.weight if normalize else 1.0
        self._is_first = True
        self._sum = refined_sums if refined else sum_losses

    def __call__(self, y_proba):
        """Return the loss of probabilities for the same rows."""
        replace_proba(self._forecast, y_proba)
        sums = self._sum(
            self._forecast, self._rule, **self._options, checks=self._is_first
        )
        if self._is_first:
            sums.check()
            self._is_first = False
        return float(sums.loss / self._divisor)
