"""A scoring rule as the metric of a library that numbers the classes from 0."""

import inspect

import numpy as np

from sklearn_superior.metrics._penalized import LOSSES
from sklearn_superior.metrics._rules import find_rule


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
        table_row, penalty = find_rule(rule)
        allowed = set(inspect.signature(LOSSES[table_row.name]).parameters)
        allowed &= {"penalty", "ties", "scale"}
        if not options.keys() <= allowed:
            raise TypeError(
                f"The options of rule={rule!r} are {sorted(allowed)}. "
                f"Got {sorted(options)}."
            )
        self.rule = rule
        self._loss = table_row.name
        self._options = {"penalty": penalty} | options
        # A bad value is told now and not in the middle of training.
        self.mean(np.array([0, 1]), np.array([0.5, 0.5]))

    @property
    def __name__(self):
        return self.rule

    def mean(self, y_true, y_proba, weight=None):
        """Mean loss of class numbers and probabilities."""
        y_proba = np.asarray(y_proba)
        n_classes = y_proba.shape[1] if y_proba.ndim == 2 else 2
        if weight is not None and len(weight) == 0:
            weight = None
        return LOSSES[self._loss](
            np.asarray(y_true),
            y_proba,
            sample_weight=weight,
            labels=np.arange(n_classes),
            **self._options,
        )

    def __deepcopy__(self, memo):
        return self  # it never changes, and CatBoost copies what clone compares

    def __repr__(self):
        options = "".join(f", {k}={v!r}" for k, v in self._options.items())
        return f"{type(self).__name__}({self.rule!r}{options})"
