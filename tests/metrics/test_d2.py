"""The skill scores against scikit-learn and known forecasts."""

import numpy as np
import pytest
import sklearn.metrics
from numpy.testing import assert_allclose
from sklearn.metrics import (
    d2_log_loss_score,
)

from sklearn_superior.metrics import (
    d2_penalized_brier_score,
    d2_penalized_log_loss_score,
)
from tests.metrics.forecasts import D2_SCORES, random_forecast


def test_d2_without_penalty_is_scikit_learns():
    if not hasattr(sklearn.metrics, "d2_brier_score"):
        pytest.skip("scikit-learn has it from 1.8 on")
    y_true, y_proba = random_forecast(np.random.default_rng(13), 200, 4)
    weight = np.random.default_rng(14).random(200)
    for options in [{}, {"sample_weight": weight}]:
        assert_allclose(
            d2_penalized_brier_score(y_true, y_proba, penalty=0, **options),
            sklearn.metrics.d2_brier_score(y_true, y_proba, **options),
        )
        assert_allclose(
            d2_penalized_log_loss_score(y_true, y_proba, penalty=0, **options),
            d2_log_loss_score(y_true, y_proba, **options),
        )


@pytest.mark.parametrize("ties", ["first", "split", "correct"])
@pytest.mark.parametrize("name", D2_SCORES)
def test_d2_of_perfect_and_of_frequency_forecasts(name, ties):
    y_true = np.array([0, 1, 1, 2, 2, 2, 3, 3, 3])  # two classes tie at the top
    weight = np.array([1, 1, 1, 2, 1, 1, 1, 2, 1.0])
    frequency = np.bincount(y_true, weight) / weight.sum()
    options = {"sample_weight": weight, "ties": ties}
    d2 = D2_SCORES[name]
    assert_allclose(d2(y_true, np.tile(frequency, (9, 1)), **options), 0, atol=1e-15)
    assert_allclose(d2(y_true, np.eye(4)[y_true], **options), 1)
    with pytest.raises(ValueError, match="is not defined when .* a single class"):
        d2([1, 1], [[0.2, 0.8], [0.4, 0.6]], labels=[0, 1])
