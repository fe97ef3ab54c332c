import numpy as np
import pytest
from hypothesis import assume, given
from numpy.testing import assert_allclose

from sklearn_superior.metrics import superiority_rate
from sklearn_superior.metrics._rules import RULES
from tests.metrics.forecasts import SAMPLES, forecasts, random_forecast


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("prefix", ["", "penalized_"])
@given(data=forecasts(max_classes=8, max_samples=30))
def test_rate_is_the_share_of_pairs(name, prefix, data):
    y_index, y_proba = data
    labels = range(y_proba.shape[1])
    correct = y_proba.argmax(axis=1) == y_index
    assume(0 < correct.sum() < len(correct))
    losses = SAMPLES[name](
        y_index, y_proba, labels=labels, penalty="paper" if prefix else 0
    )
    pairs = [(a, b) for a in losses[correct] for b in losses[~correct]]
    expected = np.mean([(a < b) + 0.5 * (a == b) for a, b in pairs])
    rate = superiority_rate(y_index, y_proba, rule=prefix + name, labels=labels)
    assert_allclose(rate, expected, rtol=1e-12)
    if prefix:
        assert rate == 1.0


def test_plain_rules_are_superior_for_two_classes_only():
    rng = np.random.default_rng(0)
    for name in RULES:
        two, three = (random_forecast(rng, 500, c) for c in (2, 3))
        assert superiority_rate(*two, rule=name) == 1.0
        assert superiority_rate(*three, rule=name) < 1.0


def test_no_pair_no_rate():
    for y_true, n_correct in [([0, 1], 2), ([1, 0], 0)]:
        message = f"Got {n_correct} correct and {2 - n_correct} wrong"
        with pytest.raises(ValueError, match=message):
            superiority_rate(y_true, [0.1, 0.9])
