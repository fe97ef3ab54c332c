"""What the tests of the metrics of the boosting libraries share."""

import numpy as np

from sklearn_superior.metrics._rules import find_rule, rule_names
from tests.early_stopping.families import make_data
from tests.metrics.forecasts import LOSSES, REFINED_LOSSES

NAMES = rule_names(refined=True)


def numbered_data(kind):
    """Class numbers, a validation part that lacks a class, and weights."""
    X, y, X_val, y_val = make_data(kind)
    classes, y = np.unique(y, return_inverse=True)
    y_val = np.searchsorted(classes, y_val)
    if kind == "five":
        keep = y_val != 3
        X_val, y_val = X_val[keep], y_val[keep]
    weight = np.random.default_rng(0).random(len(y_val)) + 0.1  # kept in float32
    return X, y, X_val, y_val, weight


def expected(name, y, proba, weight=None, **options):
    rule, penalty = find_rule(name, refined=True)
    labels = range(proba.shape[1])
    options = {"penalty": penalty} | options
    losses = REFINED_LOSSES if name.startswith("refined") else LOSSES
    return losses[rule.name](y, proba, sample_weight=weight, labels=labels, **options)
