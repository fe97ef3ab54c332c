"""The search for a temperature, on functions whose minima are known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from sklearn_superior.metrics._best_temperature import (
    HIGH,
    LOW,
    best_inverse,
    best_with_prior,
)


def parabola(at, width=1.0):
    """Return a convex function of the inverse temperature and its derivatives."""
    return lambda b: ((b - at) ** 2 / width, 2 * (b - at) / width, 2 / width)


def logistic(weights, margins):
    """Sum of the log losses of two classes with the given margins."""
    weights, margins = np.asarray(weights), np.asarray(margins)

    def evaluate(b):
        losses = np.logaddexp(0, -b * margins)
        p = 1 / (1 + np.exp(np.clip(b * margins, -700, 700)))
        first = -weights @ (margins * p)
        return weights @ losses, first, weights @ (margins**2 * p * (1 - p))

    return evaluate


@pytest.mark.parametrize("at", [1e-4, 0.3, 1.0, 7.0, 1e5])
@pytest.mark.parametrize("start", [1.0, 0.01, 50.0])
def test_the_root_is_found_from_any_start(at, start):
    assert_allclose(best_inverse(parabola(at), start), at, rtol=1e-6)


def test_a_loss_that_falls_all_the_way_ends_at_the_end_of_the_range():
    assert best_inverse(lambda b: (-b, -1.0, 0.0)) == 1 / LOW
    assert best_inverse(lambda b: (b, 1.0, 0.0)) == 1 / HIGH
    assert best_inverse(lambda b: (0.0, 0.0, 0.0)) == 1
    # Correct forecasts, whose loss ends at zero.
    assert best_inverse(logistic([1.0, 1.0], [2.0, 0.5])) == 1 / LOW


def test_the_prior_alone_keeps_the_temperature():
    assert best_with_prior(lambda b: (0.0, 0.0, 0.0), 4.0) == 1
    assert_allclose(best_with_prior(parabola(7.0), 1e9), 1, rtol=1e-4)
    assert_allclose(best_with_prior(parabola(7.0), 1e-9), 7, rtol=1e-6)


@given(
    seed=st.integers(0, 10**6),
    n_rows=st.integers(1, 30),
    log_scale=st.floats(-6, 2),
    strength=st.sampled_from([0.1, 1.0, 4.0, 40.0]),
    factor=st.sampled_from([1.0, 30.0, 1000.0]),
    start=st.sampled_from([1.0, 0.1, 30.0]),
)
def test_no_other_place_is_better(seed, n_rows, log_scale, strength, factor, start):
    """Also where the prior and the data have a minimum each."""
    rng = np.random.default_rng(seed)
    margins = 10**log_scale * (rng.normal(size=n_rows) + 2 * rng.random())
    evaluate = logistic(np.full(n_rows, factor), margins)

    def objective(u):
        return evaluate(np.exp(u))[0] + strength * u**2 / 2

    with np.errstate(all="ignore"):
        found = objective(np.log(best_with_prior(evaluate, strength, start)))
        others = [objective(u) for u in np.linspace(-np.log(HIGH), np.log(HIGH), 2001)]
    assert found <= min(others) + 1e-7 * (1 + abs(min(others)))


def test_a_typical_search_takes_few_evaluations():
    rng = np.random.default_rng(0)
    margins = rng.normal(size=500) + 0.7
    for scale, most in ((4.0, 8), (0.7, 8), (0.1, 25)):
        evaluate, calls = logistic(np.ones(500), margins * scale), []

        def counted(b, evaluate=evaluate, calls=calls):
            calls.append(b)
            return evaluate(b)

        best_with_prior(counted, 4.0)
        assert len(calls) <= most
