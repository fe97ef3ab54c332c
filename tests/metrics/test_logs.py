"""Logarithms that are held in memory, and those that are computed again."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sklearn_superior.metrics import _logs
from sklearn_superior.metrics._logs import Logs
from sklearn_superior.metrics._rules import RULES
from sklearn_superior.metrics._validation import check_forecast
from tests.metrics.forecasts import random_forecast


@pytest.mark.parametrize("n_classes", [2, 3, 40])
@pytest.mark.parametrize("weights", [None, "random", "every other row"])
@pytest.mark.parametrize("prior_scale", [None, 0.5])
def test_what_is_held_in_memory_does_not_matter(
    n_classes, weights, prior_scale, monkeypatch
):
    rng = np.random.default_rng(0)
    y, q = random_forecast(rng, 3000, n_classes)
    weight = None if weights is None else rng.random(3000)
    if weights == "every other row":
        weight[::2] = 0
    forecast = check_forecast(y, q, sample_weight=weight)
    found = []
    for most in (1 << 22, 1000):
        monkeypatch.setattr(_logs, "_MOST_HELD", most)
        monkeypatch.setattr(_logs, "_HOST_BLOCK", 1 << 12)
        logs = Logs(forecast)
        inverse = logs.best_inverse(prior_scale)
        found.append([inverse, *logs.sum_scores(inverse, RULES).values()])
    assert_allclose(found[0], found[1], rtol=1e-6)


def test_derivatives_are_those_of_the_sum():
    y, q = random_forecast(np.random.default_rng(1), 200, 4)
    logs = Logs(check_forecast(y, q))
    step = 1e-4
    for inverse in (0.3, 1.0, 2.5):
        value, first, second = logs.evaluate(inverse)
        scaled = q**inverse / (q**inverse).sum(axis=1, keepdims=True)
        assert_allclose(value, -np.log(scaled[np.arange(200), y]).sum())
        low, high = logs.evaluate(inverse - step), logs.evaluate(inverse + step)
        assert_allclose(first, (high[0] - low[0]) / (2 * step), rtol=1e-5)
        assert_allclose(second, (high[1] - low[1]) / (2 * step), rtol=1e-5)
