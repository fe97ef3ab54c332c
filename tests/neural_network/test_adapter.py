"""Networks of all kinds: the kept network is the scored one, also after resuming."""

import pickle
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone

torch = pytest.importorskip("torch")

from sklearn_superior.early_stopping import EarlyStoppingClassifier  # noqa: E402
from sklearn_superior.metrics import neg_penalized_brier_scorer  # noqa: E402
from sklearn_superior.model_selection import compare_stopping_rules  # noqa: E402
from sklearn_superior.neural_network import CNNClassifier  # noqa: E402
from tests.neural_network.signals import make_windows, small_cnn  # noqa: E402


class Forgetful(torch.nn.Module):
    """Has a running mean that `state_dict` does not show."""

    def __init__(self, n_channels, length, n_classes):
        super().__init__()
        self.last = torch.nn.Linear(n_channels * length, n_classes)
        self.register_buffer("mean", torch.zeros(n_classes), persistent=False)
        self.register_buffer("saved", torch.zeros(()))

    def forward(self, X):
        logits = self.last(X.flatten(1))
        if self.training:
            self.mean += 0.02 * (logits.detach().mean(dim=0) - self.mean + 1)
            self.saved += 1
        return logits + 3 * self.mean * torch.tensor([1.0, -1.0, 0.0])


class Late(Forgetful):
    """Has a buffer that comes with the first batch, and grows."""

    def __init__(self, *args):
        super().__init__(*args)
        self.register_buffer("extra", None, persistent=False)

    def forward(self, X):
        logits = super().forward(X)
        if self.training:
            old = [] if self.extra is None else [self.extra]
            self.extra = torch.cat([*old, 0.01 * torch.ones(1)])
        bias = 0 if self.extra is None else self.extra.sum()
        return logits + bias * torch.tensor([0.0, 1.0, 0.0])


class Lazy(torch.nn.Module):
    """Infers its sizes from the first batch."""

    def __init__(self, n_channels, length, n_classes):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.LazyConv1d(8, 3),
            torch.nn.LazyBatchNorm1d(),
            torch.nn.ReLU(),
            torch.nn.Dropout(0.2),
            torch.nn.Flatten(),
            torch.nn.LazyLinear(n_classes),
        )

    def forward(self, X):
        return self.layers(X)


class Caching(torch.nn.Module):
    """Caches a tensor, also when it predicts."""

    def __init__(self, n_channels, length, n_classes):
        super().__init__()
        self.last = torch.nn.Linear(n_channels * length, n_classes)
        self.register_buffer("ramp", None, persistent=False)

    def forward(self, X):
        if self.ramp is None or len(self.ramp) != len(X):
            self.ramp = torch.ones(len(X), 1)
        return self.last(X.flatten(1) * self.ramp)


MODULES = [Forgetful, Late, Lazy, Caching]
OPTIONS = {"learning_rate": 0.03, "n_iter_no_change": 20}


@pytest.fixture(scope="module")
def data():
    X, y = make_windows(n=300)
    return X[:200], y[:200], X[200:], y[200:]


seen = []


def record_and_score(estimator, X, y):
    seen.append(estimator.predict_proba(X))
    return neg_penalized_brier_scorer(estimator, X, y)


@pytest.mark.parametrize("ema", [None, 0.9])
@pytest.mark.parametrize("module", MODULES)
def test_the_kept_network_predicts_as_it_was_scored(data, module, ema):
    X, y, X_val, y_val = data
    options = {"scoring": record_and_score, "n_iter_no_change": 20}
    model = small_cnn(module=module, ema=ema, learning_rate=0.1, max_iter=20)
    for fitted in (
        clone(model).set_params(**options),
        EarlyStoppingClassifier(model, **options),
    ):
        seen.clear()
        fitted.fit(X, y, X_val=X_val, y_val=y_val)
        assert fitted.best_iteration_ < fitted.n_iter_ - 1  # an earlier one is kept
        expected = seen[fitted.best_iteration_]
        np.testing.assert_allclose(fitted.predict_proba(X_val), expected, atol=1e-6)
        again = pickle.loads(pickle.dumps(fitted))
        np.testing.assert_array_equal(
            again.predict_proba(X_val), fitted.predict_proba(X_val)
        )


@pytest.mark.parametrize("ema", [None, 0.9])
@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize("early_stopping", [True, False])
def test_a_resumed_network_is_that_of_training_without_a_break(
    data, module, early_stopping, ema, tmp_path
):
    X, y, X_val, _ = data
    options = {"module": module, "early_stopping": early_stopping, "ema": ema}
    options |= OPTIONS
    whole = small_cnn(max_iter=9, **options).fit(X, y)
    options["checkpoint_dir"] = tmp_path
    small_cnn(max_iter=4, **options).fit(X, y)
    for _ in range(2):  # the second time nothing is left to train
        resumed = small_cnn(max_iter=9, resume=True, **options).fit(X, y)
        np.testing.assert_array_equal(
            resumed.predict_proba(X_val), whole.predict_proba(X_val)
        )


@pytest.mark.parametrize("module", MODULES)
def test_networks_continue_from_a_pickle_and_from_a_fit(data, module):
    X, y, X_val, _ = data
    one = small_cnn(module=module, learning_rate=0.01).partial_fit(X, y)
    other = pickle.loads(pickle.dumps(one))
    for model in (one, other):
        model.partial_fit(X, y).partial_fit(X, y)
    np.testing.assert_array_equal(one.predict_proba(X_val), other.predict_proba(X_val))
    options = {"early_stopping": False, "warm_start": True, "max_iter": 2}
    warm = small_cnn(module=module, **options).fit(X, y)
    kept = pickle.loads(pickle.dumps(warm))
    warm.fit(X, y)
    np.testing.assert_array_equal(
        kept.fit(X, y).predict_proba(X_val), warm.predict_proba(X_val)
    )


def test_lazy_layers_are_seeded_and_compared(data):
    X, y, X_val, _ = data
    one, two = (small_cnn(module=Lazy, max_iter=2).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(one.predict_proba(X_val), two.predict_proba(X_val))
    comparison = compare_stopping_rules(
        small_cnn(module=Lazy, max_iter=2), X, y, cv=2, random_state=0
    )
    assert len(comparison.trajectories) == 2
    copy = clone(one)
    assert not hasattr(copy, "module_")
    np.testing.assert_array_equal(
        copy.fit(X, y).predict_proba(X_val), one.predict_proba(X_val)
    )


def test_what_a_warm_start_continues_from_is_part_of_its_identity(data, tmp_path):
    X, y, *_ = data
    options = {"module": Forgetful, "warm_start": True, "max_iter": 2}
    model = small_cnn(**options).fit(X, y)
    model.set_params(checkpoint_dir=tmp_path)
    kept = pickle.dumps(model)
    model.fit(X, y)
    same = pickle.loads(kept).set_params(resume=True)
    assert same.fit(X, y).n_iter_ == 2
    other = pickle.loads(kept).set_params(resume=True)
    other.module_.mean += 1
    with pytest.raises(ValueError, match="checkpoint"):
        other.fit(X, y)


class DrawsItself(torch.nn.Module):
    """A network that uses torch's global generator and has an extra state."""

    def __init__(self, n_channels, length, n_classes):
        super().__init__()
        self.layer = torch.nn.Linear(n_channels * length, n_classes)

    def forward(self, X):
        X = torch.nn.functional.dropout(X.flatten(1), 0.5, training=self.training)
        return self.layer(X)

    def get_extra_state(self):
        return {"note": 1}

    def set_extra_state(self, state):
        assert state == {"note": 1}


def test_layers_that_draw_from_torch_are_seeded_and_resume(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 2, 6)), np.arange(80) % 2
    options = {"module": DrawsItself, "n_iter_no_change": 50, "random_state": 0}

    def fit(n_epochs, **more):
        model = CNNClassifier(max_iter=n_epochs, **options, **more)
        return model.fit(X, y).validation_scores_

    whole = fit(6)
    before = torch.get_rng_state()
    torch.manual_seed(5)
    np.testing.assert_array_equal(fit(6), whole)
    fit(3, checkpoint_dir=tmp_path, resume=True)
    np.testing.assert_array_equal(fit(6, checkpoint_dir=tmp_path, resume=True), whole)
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    fit(2)
    assert torch.rand(1) == expected  # the user's own numbers are left alone
    torch.set_rng_state(before)


class BreaksDown(torch.nn.Module):
    """Gives NaN from the fifth batch of training on."""

    def __init__(self, n_channels, length, n_classes):
        super().__init__()
        self.layer = torch.nn.Linear(n_channels * length, n_classes)
        self.register_buffer("n_batches", torch.zeros(()))

    def forward(self, X):
        if self.training:
            self.n_batches += 1
        nan = torch.where(self.n_batches > 4, torch.nan, 0.0)
        return self.layer(X.flatten(1)) + nan


def test_a_network_that_diverged_leaves_a_checkpoint_that_can_be_read(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 2, 6)), np.arange(80) % 2
    model = CNNClassifier(
        module=BreaksDown,
        batch_size=80,
        max_iter=8,
        checkpoint_dir=tmp_path,
        resume=True,
        random_state=0,
    )
    found = []
    for _ in range(2):
        with pytest.warns(UserWarning, match="Training diverged in epoch 4"):
            model.fit(X, y)
        assert model.n_iter_ == 4
        found.append(model.predict_proba(X))
    np.testing.assert_array_equal(*found)


class Draws(torch.nn.Module):
    """A layer that uses torch's global generator."""

    def forward(self, X):
        return X + torch.randn_like(X) if self.training else X


def with_layer(n_channels, length, n_classes, *, layer):
    last = torch.nn.Linear(n_channels * length, n_classes)
    return torch.nn.Sequential(layer(), torch.nn.Flatten(), last)


@pytest.mark.parametrize(
    "layer",
    [
        torch.nn.Dropout,
        torch.nn.Dropout1d,
        torch.nn.AlphaDropout,
        torch.nn.RReLU,
        Draws,
    ],
)
def test_random_layers_of_any_kind_resume_exactly(data, layer, tmp_path):
    X, y, X_val, _ = data
    options = {"module": partial(with_layer, layer=layer), "early_stopping": False}
    whole = small_cnn(max_iter=4, **options).fit(X, y)
    small_cnn(max_iter=2, checkpoint_dir=tmp_path, **options).fit(X, y)
    torch.manual_seed(7)
    resumed = small_cnn(max_iter=4, checkpoint_dir=tmp_path, resume=True, **options)
    np.testing.assert_array_equal(
        resumed.fit(X, y).predict_proba(X_val), whole.predict_proba(X_val)
    )


@pytest.mark.parametrize(
    "params",
    [
        {"learning_rate": np.float64(0.01)},
        {"learning_rate": np.float32(0.01), "dropout": np.float32(0.5)},
        {"dropout": np.float64(0.2), "batch_size": np.int64(16), "tol": np.float64(0)},
        {"optimizer": np.str_("adam"), "loss": np.str_("brier")},
    ],
)
def test_numpy_numbers_as_parameters_resume(data, tmp_path, params):
    X, y, X_val, _ = data
    options = params | {"early_stopping": False}
    whole = small_cnn(max_iter=4, **options).fit(X, y)
    options["checkpoint_dir"] = tmp_path
    small_cnn(max_iter=2, **options).fit(X, y)
    resumed = small_cnn(max_iter=4, resume=True, **options).fit(X, y)
    np.testing.assert_array_equal(
        resumed.predict_proba(X_val), whole.predict_proba(X_val)
    )


class OddState(Forgetful):
    """Has an extra state that torch saves but does not load."""

    def get_extra_state(self):
        return np.float64(1.0)

    def set_extra_state(self, state):
        pass


def test_a_checkpoint_that_could_not_be_read_is_not_written(data, tmp_path):
    X, y, *_ = data
    model = small_cnn(module=OddState, max_iter=3, checkpoint_dir=tmp_path)
    with pytest.warns(UserWarning, match="cannot be loaded again"):
        model.fit(X, y)


def test_a_template_cannot_resume(data, tmp_path):
    X, y, *_ = data
    model = small_cnn(module=Lazy(2, 16, 3), max_iter=1, checkpoint_dir=tmp_path)
    with pytest.warns(UserWarning, match="module.*builds it"):
        model.fit(X, y)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("class_weight", [{"one": 0.0}, {"one": 0, "two": 3.0}])
def test_a_class_without_weight_in_early_stopping(data, class_weight):
    X, y, X_val, y_val = data
    model = small_cnn(max_iter=2, class_weight=class_weight)
    wrapped = EarlyStoppingClassifier(model)
    wrapped.fit(X, y, X_val=X_val, y_val=y_val)
    own = model.fit(X, y, X_val=X_val, y_val=y_val)
    assert (own.predict_proba(X_val)[:, 0] == 0).all()
    assert wrapped.predict_proba(X_val)[:, 0].max() < 1e-6
    # Its validation samples would drive the temperature to infinity.
    assert wrapped.temperature_ < 3
