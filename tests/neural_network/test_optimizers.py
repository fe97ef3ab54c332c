"""NAdam by the kernel of Adam, against torch's and the formula."""

import copy
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from sklearn_superior.neural_network._optimizers import (  # noqa: E402
    NAdam,
    Updates,
    make_optimizer,
)
from sklearn_superior.neural_network._trainer import (  # noqa: E402
    LOSSES,
    hash_network,
)
from tests.neural_network.signals import (  # noqa: E402
    make_tensors,
    make_windows,
    small_cnn,
)


def make_network():
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Conv1d(3, 8, 3),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(144, 4),
    )


@pytest.mark.parametrize("scheduled", [False, True])
@pytest.mark.parametrize("fused", [False, True])
def test_nadam_is_the_one_of_torch(fused, scheduled):
    ours = make_network().double()
    theirs = copy.deepcopy(ours)
    optimizers = [
        NAdam(ours.parameters(), lr=0.01, fused=fused),
        torch.optim.NAdam(theirs.parameters(), lr=0.01),
    ]
    schedules = [
        torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9 if scheduled else 1.0)
        for optimizer in optimizers
    ]
    X, y, _ = make_tensors()
    for _ in range(30):
        for module, optimizer in zip((ours, theirs), optimizers, strict=True):
            optimizer.zero_grad()
            LOSSES["log_loss"](module(X.double()), y).mean().backward()
            optimizer.step()
        for schedule in schedules:
            schedule.step()
    # torch keeps the product of the momenta in single precision.
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("fused", [False, True])
def test_nadam_is_the_one_of_the_formula(fused):
    # A loss whose gradient is the weight itself, so that all is one number.
    weight = torch.tensor([3.0], dtype=torch.float64, requires_grad=True)
    optimizer = NAdam([weight], lr=0.1, fused=fused)
    p, m, v, product = 3.0, 0.0, 0.0, 1.0
    for t in range(1, 101):
        optimizer.zero_grad()
        (0.5 * weight**2).sum().backward()
        optimizer.step()
        mu, mu_next = (0.9 * (1 - 0.5 * 0.96 ** (k * 0.004)) for k in (t, t + 1))
        product *= mu
        m, v = 0.9 * m + 0.1 * p, 0.999 * v + 0.001 * p**2
        direction = mu_next * m / (1 - product * mu_next) + (1 - mu) * p / (1 - product)
        p -= 0.1 * direction / ((v / (1 - 0.999**t)) ** 0.5 + 1e-8)
        assert weight.item() == pytest.approx(p, rel=1e-9, abs=1e-12)


def test_the_fused_kernel_is_used_where_there_is_one():
    optimizer = make_optimizer("nadam", make_network().parameters(), 0.01)
    assert optimizer.defaults["fused"]


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("resumes", [False, True])
def test_nadam_is_the_one_of_torch_where_gradients_are_missing(fused, resumes):
    rng = np.random.default_rng(0)
    ours = [torch.randn(5, dtype=torch.float64, requires_grad=True) for _ in range(3)]
    theirs = [p.detach().clone().requires_grad_() for p in ours]
    one = NAdam(ours, lr=0.1, fused=fused)
    other = torch.optim.NAdam(theirs, lr=0.1)
    for step in range(40):
        for pair in zip(ours, theirs, strict=True):
            gradient = torch.from_numpy(rng.normal(size=5))
            has_one = rng.random() < 0.6
            for p in pair:
                p.grad = gradient.clone() if has_one else None
        if resumes and step == 20:
            state = copy.deepcopy(one.state_dict()["state"])
            one = NAdam(ours, lr=0.1, fused=fused)
            one.load_state_dict(one.state_dict() | {"state": state})
        one.step()
        other.step()
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-7)


def make_updates(module, **params):
    params = {"learning_rate": 0.01, "clip_norm": None, "ema": None} | params
    return Updates(module, SimpleNamespace(**params), module)


@pytest.mark.parametrize("norm", [1e-3, 0.1, 1e3])
def test_gradients_are_shortened(norm):
    X, y, _ = make_tensors()
    module = make_network()
    expected = copy.deepcopy(module)
    plain = torch.optim.SGD(expected.parameters(), lr=0.5)
    updates = make_updates(module, optimizer="sgd", learning_rate=0.5, clip_norm=norm)
    for _ in range(3):
        updates.step(LOSSES["log_loss"](module(X), y).mean())
        plain.zero_grad()
        LOSSES["log_loss"](expected(X), y).mean().backward()
        gradients = [p.grad for p in expected.parameters()]
        length = sum((g**2).sum() for g in gradients).sqrt()
        assert (length > norm) == (norm < 1)
        for g in gradients:
            g.mul_(min(1, norm / length))
        plain.step()
    for a, b in zip(module.parameters(), expected.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("later", ["adam", "nadam"])
def test_another_optimizer_starts_afresh(later):
    X, y, _ = make_tensors()
    module = make_network()

    def updates_of(name, module):
        return make_updates(module, optimizer=name)

    def step(updates):
        updates.step(LOSSES["log_loss"](updates.module(X), y).mean())

    before = updates_of("nadam", module)
    step(before)
    found = updates_of(later, copy.deepcopy(module))
    found.load_state(before.state())
    # The same optimizer continues, any other one has nothing to continue from.
    expected = before if later == "nadam" else updates_of(later, module)
    for updates in (expected, found):
        step(updates)
    for a, b in zip(module.parameters(), found.module.parameters(), strict=True):
        assert torch.equal(a, b)


class Filter(torch.nn.Module):
    """Complex weights on the spectrum of a signal, and a frozen integer."""

    def __init__(self, n_channels, length, n_classes):
        super().__init__()
        size = n_channels * (length // 2 + 1)
        self.weight = torch.nn.Parameter(
            0.1 * torch.randn(size, n_classes, dtype=torch.complex64)
        )
        self.n_classes = torch.nn.Parameter(
            torch.tensor(n_classes), requires_grad=False
        )

    def forward(self, X):
        return (torch.fft.rfft(X).flatten(1) @ self.weight).real


@pytest.mark.parametrize("optimizer", ["nadam", "adam", "sgd"])
def test_complex_weights_are_trained(optimizer, tmp_path):
    X, y = make_windows(150)
    params = {"module": Filter, "optimizer": optimizer, "ema": 0.9, "max_iter": 6}
    params["clip_norm"] = 10.0
    whole = small_cnn(**params).fit(X, y)
    losses = whole.history_["train_loss"]
    assert losses[-1] < losses[0]
    params |= {"checkpoint_dir": tmp_path, "resume": True}
    small_cnn(**params).set_params(max_iter=3).fit(X, y)
    resumed = small_cnn(**params).fit(X, y)
    np.testing.assert_array_equal(resumed.predict_proba(X), whole.predict_proba(X))
    assert hash_network(whole.module_) == hash_network(resumed.module_)
    before = hash_network(whole.module_)
    whole.module_.weight.data += 1j
    assert hash_network(whole.module_) != before
