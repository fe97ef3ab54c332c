"""Forecasts for the tests: random and adversarial ones, and exact grids."""

from functools import partial
from itertools import product

import numpy as np
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris

import sklearn_superior.metrics
from sklearn_superior.metrics._kernel import (
    check_forecast,
    check_options,
    mean_loss,
    sample_losses,
)
from sklearn_superior.metrics._rules import RULES

IRIS = load_iris(return_X_y=True)
CANCER = load_breast_cancer(return_X_y=True)

# The public functions of every rule.
LOSSES = {
    name: getattr(sklearn_superior.metrics, rule.loss_name)
    for name, rule in RULES.items()
}
D2_SCORES = {
    "brier": sklearn_superior.metrics.d2_penalized_brier_score,
    "log_loss": sklearn_superior.metrics.d2_penalized_log_loss_score,
}


def text(y):
    """Labels as text, in the order of the numbers."""
    return np.array(["one", "three", "two", "zero"])[y]


def samples_of(rule):
    """Return the function of the losses of samples, also where none is public."""
    if hasattr(sklearn_superior.metrics, rule.samples_name):
        return getattr(sklearn_superior.metrics, rule.samples_name)

    def samples(y_true, y_proba, *, labels=None, pos_label=None, **options):
        forecast = check_forecast(y_true, y_proba, labels=labels, pos_label=pos_label)
        return sample_losses(forecast, check_options(rule, **options))

    samples.__name__ = rule.samples_name
    return samples


SAMPLES = {name: samples_of(rule) for name, rule in RULES.items()}


def refined_loss(name, y_true, y_proba, **options):
    """Loss of a rule after the best temperature."""
    names = ("sample_weight", "labels", "pos_label")
    inputs = [options.pop(name, None) for name in names]
    loss = check_options(RULES[name], refined=True, **options)
    return mean_loss(loss, y_true, y_proba, *inputs)


REFINED_LOSSES = {name: partial(refined_loss, name) for name in RULES}


def simplex_grid(n_classes, n_steps):
    """Every forecast whose probabilities are multiples of 1 / n_steps."""
    counts = product(range(n_steps + 1), repeat=n_classes)
    return [c for c in counts if sum(c) == n_steps]


def random_forecast(rng, n_samples, n_classes):
    """Labels and probabilities that are right about as often as wrong."""
    y_true = rng.permutation(np.arange(n_samples) % n_classes)
    y_proba = rng.dirichlet(np.full(n_classes, 0.7), n_samples)
    swap = rng.random(n_samples) < 0.5
    best = y_proba.argmax(axis=1)
    rows = np.flatnonzero(swap)
    top = y_proba[rows, best[rows]]
    y_proba[rows, best[rows]] = y_proba[rows, y_true[rows]]
    y_proba[rows, y_true[rows]] = top
    return y_true, y_proba


@st.composite
def forecasts(draw, max_classes=50, max_samples=60):
    """Indices of the true classes and probabilities with ties, zeros and ones."""
    n_classes = draw(st.integers(2, max_classes))
    n_samples = draw(st.integers(1, max_samples))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    y_true = rng.integers(0, n_classes, n_samples)
    kinds = {
        "smooth": lambda: rng.dirichlet(np.ones(n_classes), n_samples),
        "sharp": lambda: rng.dirichlet(np.full(n_classes, 0.02), n_samples),
        "one-hot": lambda: np.eye(n_classes)[rng.integers(0, n_classes, n_samples)],
        "uniform": lambda: np.full((n_samples, n_classes), 1 / n_classes),
        "tied": lambda: _tied(rng, n_samples, n_classes),
    }
    y_proba = kinds[draw(st.sampled_from(sorted(kinds)))]()
    return y_true, y_proba


def _tied(rng, n_samples, n_classes):
    """Small whole numbers over their sum: many ties, at the top and below."""
    counts = rng.integers(0, 3, (n_samples, n_classes))
    counts[np.arange(n_samples), rng.integers(0, n_classes, n_samples)] = 2
    return counts / counts.sum(axis=1, keepdims=True)
