"""The average of the weights of a network, which is scored and kept."""

import pickle

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from sklearn_superior.model_selection import StagedSearchCV  # noqa: E402
from sklearn_superior.neural_network._trainer import Trainer  # noqa: E402
from sklearn_superior.neural_network._windows_input import (  # noqa: E402
    Encoding,
    Windows,
)
from tests.neural_network.signals import make_windows, small_cnn, weights  # noqa: E402

X, y = make_windows(150)
CLASSES = np.unique(y)


def make_trainer(**params):
    model = small_cnn(batch_size=len(X), **params)
    encoding = Encoding(Windows(X), CLASSES, standardize=True).knowing(CLASSES)
    data = encoding.transform(X)[:], np.searchsorted(CLASSES, y), None
    return Trainer(model, encoding), [
        None if part is None else torch.from_numpy(part) for part in data
    ]


def values_of(module):
    return {name: value.clone() for name, value in module.state_dict().items()}


@pytest.mark.parametrize("module", ["paper", "residual"])
def test_the_average_is_that_of_the_formula(module):
    averaged, data = make_trainer(module=module, ema=0.6)
    plain, _ = make_trainer(module=module)
    expected = values_of(plain.module)
    for step in range(1, 16):  # an epoch is one step
        for trainer in (averaged, plain):
            trainer.train_epoch(*data)
        decay = min(0.6, (1 + step) / (10 + step))
        for name, value in plain.module.state_dict().items():
            if value.is_floating_point():
                expected[name] = decay * expected[name] + (1 - decay) * value
            else:
                expected[name] = value.clone()
    torch.testing.assert_close(averaged.kept.state_dict(), expected)
    # The weights that are trained do not know of the average.
    torch.testing.assert_close(
        averaged.module.state_dict(), plain.module.state_dict(), rtol=0, atol=0
    )


def test_what_is_scored_and_kept_is_the_average():
    seen = []

    def scorer(estimator, X, y):
        seen.append(estimator.predict_proba(X))
        return len(seen) if len(seen) < 5 else 0

    model = small_cnn(ema=0.9, scoring=scorer, calibration=None)
    model.fit(X[:100], y[:100], X_val=X[100:], y_val=y[100:])
    assert model.best_iteration_ == 3
    np.testing.assert_allclose(model.predict_proba(X[100:]), seen[3], atol=1e-6)
    plain = small_cnn(early_stopping=False, max_iter=4).fit(X[:100], y[:100])
    assert not np.allclose(plain.predict_proba(X[100:]), seen[3], atol=1e-3)


def test_calls_of_partial_fit_go_on_with_weights_and_average():
    whole = small_cnn(ema=0.9, early_stopping=False, max_iter=4, standardize=False)
    whole.fit(X, y)
    parts = small_cnn(ema=0.9, standardize=False)
    for _ in range(4):
        parts.partial_fit(X, y)
        parts = pickle.loads(pickle.dumps(parts))
    np.testing.assert_array_equal(weights(parts), weights(whole))


def test_the_average_may_begin_and_end_between_calls_of_partial_fit():
    model = small_cnn().partial_fit(X, y)
    plain = pickle.loads(pickle.dumps(model)).partial_fit(X, y).partial_fit(X, y)
    model.set_params(ema=0.9).partial_fit(X, y)
    model.set_params(ema=None).partial_fit(X, y)
    # Without the average, the weights are those that were trained all the time.
    np.testing.assert_array_equal(weights(model), weights(plain))


@pytest.mark.parametrize("refit", ["all", "folds"])
def test_averages_in_a_search(refit):
    grid = {"ema": [None, 0.9], "module": ["residual"]}
    search = StagedSearchCV(small_cnn(max_iter=4), grid, cv=3, refit=refit)
    search.fit(X, y)
    one, other = search.stage_scores_
    assert one.shape == other.shape
    assert not np.allclose(one, other)
    assert search.predict_proba(X).shape == (150, 3)
