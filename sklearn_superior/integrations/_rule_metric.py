"""A scoring rule as the metric of a library that numbers the classes from 0."""

import numpy as np

from sklearn_superior.metrics._reduce import (
    LossSums,
    check_forecast,
    check_options,
    sum_losses,
)
from sklearn_superior.metrics._rules import find_rule
from sklearn_superior.metrics._temperature import refined_sums


class RuleMetric:
    """Mean loss of probabilities; lower is better.

    Parameters
    ----------
    rule : str
        Name of a rule, for example ``"penalized_brier"`` or ``"log_loss"``.

    **options : dict
        Options of the loss: `penalty`, `ties`, `scale`.
    """

    def __init__(self, rule, **options):
        table_row, penalty = find_rule(rule, refined=True)
        allowed = {"penalty", "ties"} | (
            {"scale"} if len(table_row.scales) > 1 else set()
        )
        if not options.keys() <= allowed:
            raise TypeError(
                f"The options of rule={rule!r} are {sorted(allowed)}. "
                f"Got {sorted(options)}."
            )
        self.rule = rule
        self._options = {"penalty": penalty, "ties": "first"} | options
        check_options(table_row, **self._options)

    @property
    def __name__(self):
        return self.rule

    @property
    def is_refined(self):
        """Whether the rule is one after recalibration."""
        return self.rule.startswith("refined_")

    def mean(self, y_true, y_proba, weight=None):
        """Mean loss of class numbers and probabilities."""
        sums = self.sums(y_true, y_proba, weight)
        sums.check()
        return float(sums.loss / sums.weight)

    def sums(self, y_true, y_proba, weight=None):
        """Sum over the rows, of which there may be none."""
        y_true, y_proba = np.asarray(y_true), np.asarray(y_proba)
        if len(y_true) == len(y_proba) == 0:
            return LossSums(loss=0.0, weight=0.0)
        n_classes = y_proba.shape[1] if y_proba.ndim == 2 else 2
        inputs = {
            "sample_weight": None if weight is None or len(weight) == 0 else weight,
            "labels": np.arange(n_classes),
        }
        forecast = check_forecast(y_true, y_proba, **inputs)
        row, _ = find_rule(self.rule, refined=True)
        sum_up = refined_sums if self.is_refined else sum_losses
        return sum_up(forecast, row, **self._options)

    def __deepcopy__(self, memo):
        return self  # it never changes, and CatBoost copies what clone compares

    def __repr__(self):
        options = "".join(f", {k}={v!r}" for k, v in self._options.items())
        return f"{type(self).__name__}({self.rule!r}{options})"
