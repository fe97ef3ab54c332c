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


class Masked(torch.nn.Module):
    """Hides an output by minus infinity, and has a frozen and a tied parameter."""

    def __init__(self, n_channels, length, n_classes):
        super().__init__()
        size = n_channels * length
        self.first = torch.nn.Linear(size, size, bias=False)
        self.second = torch.nn.Linear(size, size, bias=False)
        self.second.weight = self.first.weight
        self.last = torch.nn.Linear(size, n_classes + 1)
        mask = torch.zeros(n_classes + 1)
        mask[-1] = -torch.inf
        self.register_buffer("mask", mask)
        self.frozen = torch.nn.Parameter(mask.clone(), requires_grad=False)
        self.register_buffer("limits", torch.tensor([0, 9]))

    def forward(self, X):
        X = self.second(self.first(X.flatten(1)).relu())
        logits = self.last(X) + self.mask + self.frozen
        return logits.log_softmax(dim=1)[:, :-1]


@pytest.mark.parametrize("early_stopping", [True, False])
def test_values_that_are_not_trained_are_copied(early_stopping):
    params = {"early_stopping": early_stopping, "learning_rate": 0.001}
    model = small_cnn(module=Masked, ema=0.9, max_iter=3, **params).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()
    expected = Masked(2, 16, 3)
    for name in ("mask", "frozen", "limits"):
        assert torch.equal(getattr(model.module_, name), getattr(expected, name))


def test_frozen_values_that_change_are_copied():
    trainer, data = make_trainer(module=Masked, ema=0.6)
    trainer.module.frozen.data[0] = 1
    trainer.train_epoch(*data)
    assert trainer.kept.frozen[0] == 1
    trainer.module.limits += 1
    assert trainer.kept.limits.tolist() == [0, 9]  # nothing is shared


def test_the_average_of_tied_weights_moves_once():
    averaged, data = make_trainer(module=Masked, ema=0.6)
    weight = averaged.module.first.weight
    before = weight.clone()
    averaged.train_epoch(*data)
    expected = torch.lerp(before, weight, 9 / 11)
    torch.testing.assert_close(averaged.kept.first.weight, expected)
    assert averaged.kept.second.weight is averaged.kept.first.weight
