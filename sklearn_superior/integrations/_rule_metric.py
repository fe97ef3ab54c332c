"""A scoring rule as a metric for libraries that number the classes from 0."""

import numpy as np

from sklearn_superior.metrics._kernel import (
    LossSums,
    check_forecast,
    check_options,
    sum_losses,
)
from sklearn_superior.metrics._rules import TEMPERATURE_OPTIONS, find_rule


class RuleMetric:
    """Mean loss of probabilities; lower is better.

    Parameters
    ----------
    rule : str
        Name of a rule, for example ``"penalized_brier"`` or ``"log_loss"``.

    **options : dict
        Options of the loss: `penalty`, `ties`, and `scale` if the rule has several;
        `prior_scale` and `sharpen` of a refined rule.
    """

    def __init__(self, rule, **options):
        row, penalty = find_rule(rule, refined=True)
        self.rule = rule
        allowed = set(row.options) - {"normalize"}
        allowed |= set(TEMPERATURE_OPTIONS) if self.is_refined else set()
        if not options.keys() <= allowed:
            raise TypeError(
                f"The options of rule={rule!r} are {sorted(allowed)}. "
                f"Got {sorted(options)}."
            )
        self._options = {"penalty": penalty, "ties": "first"} | options
        self._loss()

    def _loss(self):
        """Return the rule with its options."""
        row, _ = find_rule(self.rule, refined=True)
        return check_options(row, refined=self.is_refined, **self._options)

    @property
    def __name__(self):
        return self.rule

    @property
    def is_refined(self):
        """Whether the rule is a refined one."""
        return self.rule.startswith("refined_")

    def mean(self, y_true, y_proba, weight=None):
        """Return the mean loss of probabilities for class numbers."""
        sums = self.sums(y_true, y_proba, weight)
        sums.check()
        return float(sums.loss / sums.weight)

    def sums(self, y_true, y_proba, weight=None):
        """Return the sums of the losses; there may be no rows."""
        y_true, y_proba = np.asarray(y_true), np.asarray(y_proba)
        if len(y_true) == len(y_proba) == 0:
            return LossSums(np.zeros(3))
        n_classes = y_proba.shape[1] if y_proba.ndim == 2 else 2
        if weight is not None and len(weight) == 0:  # how XGBoost says None
            weight = None
        labels = np.arange(n_classes)
        forecast = check_forecast(y_true, y_proba, sample_weight=weight, labels=labels)
        return sum_losses(forecast, [self._loss()])

    def __deepcopy__(self, memo):
        return self  # CatBoost copies its parameters, and clone compares by identity

    def __repr__(self):
        options = "".join(f", {k}={v!r}" for k, v in self._options.items())
        return f"{type(self).__name__}({self.rule!r}{options})"


def unpack(first, second, weight):
    """Return labels, probabilities and weights from the arguments of a metric.

    The training functions pass predictions and a data set; the scikit-learn interfaces
    pass labels, predictions and weights.
    """
    if hasattr(second, "get_label"):
        return second.get_label(), first, second.get_weight()
    return first, second, weight
