"""The plain training loop of the study of signals, against ones written by hand."""

import warnings

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from sklearn_superior.datasets import make_motion_signals
from sklearn_superior.metrics import fit_temperature, scale_temperature
from sklearn_superior.model_selection import sliding_windows
from sklearn_superior.neural_network import CNNClassifier

torch = pytest.importorskip("torch")

from studies.signals import loop  # noqa: E402

EPOCHS, SEED = 5, 3


@pytest.fixture(scope="module")
def parts():
    data = make_motion_signals(n_classes=3, n_timepoints=600, random_state=0)
    windows = sliding_windows(data.data, data.target, length=20, overlap=0.5)
    _, y = np.unique(windows.y, return_inverse=True)
    X = 5 + 3 * windows.X.astype(np.float32)
    return train_test_split(X, y, test_size=0.4, stratify=y, random_state=0)


def build(n_channels, length, n_classes):
    return torch.nn.Sequential(
        torch.nn.Flatten(),
        torch.nn.Linear(n_channels * length, 8, bias=False),
        torch.nn.BatchNorm1d(8),
        torch.nn.ReLU(),
        torch.nn.Linear(8, n_classes),
    )


def fit(parts, max_iter=EPOCHS, **options):
    X, X_val, y, y_val = parts
    return loop.train(
        build,
        X,
        y,
        X_val,
        y_val,
        n_classes=3,
        options=loop.Options(**options),
        max_iter=max_iter,
        seed=SEED,
    )


def by_hand(parts, optimizer=torch.optim.NAdam, **options):
    """Train all epochs; return the probabilities of each for the validation part."""
    X, X_val, y, _ = parts
    mean, std = X.mean(axis=(0, 2)), X.std(axis=(0, 2))
    X, X_val = (
        torch.tensor((Z - mean[:, None]) / std[:, None], dtype=torch.float32)
        for Z in (X, X_val)
    )
    torch.manual_seed(SEED)
    module, y = build(X.shape[1], 20, 3), torch.tensor(y)
    order = torch.Generator().manual_seed(SEED)
    steps = optimizer(module.parameters(), lr=1e-3, **options)
    stages, weights = [], []
    for _ in range(EPOCHS):
        module.train()
        rows = torch.randperm(len(X), generator=order).tolist()
        for batch in np.array_split(rows, -(-len(X) // 32)):
            logits = module(X[batch])
            loss = -torch.log_softmax(logits, 1)[range(len(batch)), y[batch]].mean()
            steps.zero_grad()
            loss.backward()
            steps.step()
            weights.append(
                {k: v.detach().numpy().copy() for k, v in module.state_dict().items()}
            )
        module.eval()
        with torch.no_grad():
            stages.append(softmax(module(X_val).double().numpy(), axis=1))
    return stages, weights


def test_the_plain_variant_is_early_stopping_by_hand(parts):
    *_, X_val, _, y_val = parts
    stages, _ = by_hand(parts)
    temperatures = [fit_temperature(y_val, proba) for proba in stages]
    refined = [
        scale_temperature(proba, T)
        for proba, T in zip(stages, temperatures, strict=True)
    ]
    best = int(np.argmin([log_loss(y_val, proba) for proba in refined]))
    plain = fit(parts)["plain"]
    assert (plain.best_iteration_, plain.n_iter_) == (best, EPOCHS)
    np.testing.assert_allclose(plain.predict_proba(X_val), refined[best], atol=1e-5)


def test_the_plain_variant_is_the_classifier(parts, monkeypatch):
    """With one batch per epoch nothing depends on the order of the windows."""
    monkeypatch.setattr(loop, "_BATCH_SIZE", 1000)
    X, X_val, y, y_val = parts

    def build_seeded(*args):
        torch.manual_seed(SEED)
        return build(*args)

    model = CNNClassifier(
        module=build_seeded, batch_size=1000, max_iter=30, random_state=0
    )
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        model.fit(X, y, X_val=X_val, y_val=y_val)
    plain = fit(parts, max_iter=30)["plain"]
    assert (plain.best_iteration_, plain.n_iter_) == (
        model.best_iteration_,
        model.n_iter_,
    )
    assert plain.temperature_ == pytest.approx(model.temperature_, rel=1e-3)
    expected = model.predict_proba(X_val)
    np.testing.assert_allclose(plain.predict_proba(X_val), expected, atol=1e-4)


def test_adamw_is_that_of_torch(parts):
    *_, X_val, _, y_val = parts
    stages, _ = by_hand(parts, torch.optim.AdamW, weight_decay=0.5)
    model = fit(parts, weight_decay=0.5)["plain"]
    proba = stages[model.best_iteration_]
    proba = scale_temperature(proba, fit_temperature(y_val, proba))
    np.testing.assert_allclose(model.predict_proba(X_val), proba, atol=1e-5)


@pytest.mark.parametrize("decay", loop.DECAYS)
def test_averages_are_what_the_formula_says(parts, decay):
    _, weights = by_hand(parts)
    torch.manual_seed(SEED)
    X = parts[0]
    average = build(X.shape[1], 20, 3).state_dict()
    average = {k: v.double().numpy() for k, v in average.items()}
    n_steps = 0
    n_batches = len(weights) // EPOCHS
    model = fit(parts)[f"ema {decay}"]
    for own in weights[: (model.best_iteration_ + 1) * n_batches]:
        n_steps += 1
        share = min(decay, (1 + n_steps) / (10 + n_steps))
        average = {k: share * v + (1 - share) * own[k] for k, v in average.items()}
    for name, value in model.module.state_dict().items():
        if value.is_floating_point():
            np.testing.assert_allclose(value, average[name], atol=2e-5)


def test_averages_change_nothing_in_the_plain_weights(parts, monkeypatch):
    with_averages = fit(parts)["plain"].predict_proba(parts[1])
    monkeypatch.setattr(loop, "DECAYS", ())
    assert np.array_equal(fit(parts)["plain"].predict_proba(parts[1]), with_averages)


def test_training_ends_when_all_ways_have_stopped(parts, monkeypatch):
    monkeypatch.setattr(loop, "_PATIENCE", 2)
    X, X_val, y, y_val = parts
    noise = np.random.RandomState(0).permutation(y)
    fits = fit((X, X_val, noise, y_val), max_iter=60)
    for model in fits.values():
        assert model.n_iter_ in (60, model.best_iteration_ + 3)
    assert min(model.n_iter_ for model in fits.values()) < 60


def test_the_cosine_ends_at_zero():
    run = loop._Run(build(3, 20, 3), 64, loop.Options(cosine=True), 10, SEED)
    rates = []
    X, y = torch.randn(64, 3, 20), torch.zeros(64, dtype=torch.long)
    for _ in range(10):
        run.train_epoch(X, y, [])
        rates.append(run.optimizer.param_groups[0]["lr"])
    expected = 1e-3 * (1 + np.cos(np.pi * np.arange(1, 11) / 10)) / 2
    np.testing.assert_allclose(rates, expected, atol=1e-12)


def test_gradients_are_clipped():
    run = loop._Run(build(3, 20, 3), 8, loop.Options(clip_norm=1e-3), 1, SEED)
    run._step(torch.randn(8, 3, 20), torch.zeros(8, dtype=torch.long))
    gradients = [p.grad.flatten() for p in run.module.parameters()]
    assert torch.cat(gradients).norm() == pytest.approx(1e-3, rel=1e-3)


def test_jitter_and_scaling_have_the_size_that_was_asked_for():
    generator = torch.Generator().manual_seed(0)
    X = torch.full((2000, 2, 30), 2.0)
    Z = loop.augment(X, 0.1, generator).double().numpy()
    factors = Z.mean(axis=2) / 2
    assert factors.std() == pytest.approx(0.1, rel=0.05)
    assert (Z - Z.mean(axis=2, keepdims=True)).std() == pytest.approx(0.1, rel=0.05)
    assert abs(np.corrcoef(factors.T)[0, 1]) < 0.1


@pytest.mark.parametrize(
    "options",
    [{"smoothing": 0.1}, {"noise": 0.1}, {"cosine": True}, {"clip_norm": 0.1}],
)
def test_each_option_changes_the_training(parts, options):
    plain, other = fit(parts)["plain"], fit(parts, **options)["plain"]
    X = parts[1]
    assert np.abs(plain.predict_proba(X) - other.predict_proba(X)).max() > 1e-4
