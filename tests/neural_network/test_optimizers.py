"""Our NAdam against that of torch and against the formula."""

import copy

import pytest

torch = pytest.importorskip("torch")

from sklearn_superior.neural_network._optimizers import (  # noqa: E402
    NAdam,
    make_optimizer,
)
from sklearn_superior.neural_network._training import log_loss  # noqa: E402
from tests.neural_network.networks import make_tensors, paper_cnn  # noqa: E402


@pytest.mark.parametrize("fused", [False, True])
def test_nadam_is_the_one_of_torch(fused):
    torch.manual_seed(0)
    ours = paper_cnn().double().eval()
    theirs = copy.deepcopy(ours)
    optimizers = [
        NAdam(ours.parameters(), lr=0.01, fused=fused),
        torch.optim.NAdam(theirs.parameters(), lr=0.01),
    ]
    X, y, _ = make_tensors()
    for _ in range(30):
        for module, optimizer in zip((ours, theirs), optimizers, strict=True):
            optimizer.zero_grad()
            log_loss(module(X.double()), y).mean().backward()
            optimizer.step()
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


def test_nadam_does_without_the_kernel_for_all_tensors(monkeypatch):
    X, y, _ = make_tensors()

    def train():
        torch.manual_seed(0)
        module = paper_cnn().eval()
        optimizer = NAdam(module.parameters(), lr=0.01, fused=True)
        for _ in range(5):
            optimizer.zero_grad()
            log_loss(module(X), y).mean().backward()
            optimizer.step()
        return torch.cat([p.detach().ravel() for p in module.parameters()])

    assert hasattr(torch, "_foreach_lerp_")  # the private name that is used
    expected = train()
    monkeypatch.delattr(torch, "_foreach_lerp_")
    torch.testing.assert_close(train(), expected)


def test_the_fused_kernel_is_used_where_there_is_one():
    optimizer = make_optimizer("nadam", paper_cnn().parameters(), 0.01)
    assert optimizer.defaults["fused"]
    with pytest.raises(ValueError, match="'optimizer'.*'adam', 'nadam', 'sgd'.*'bgd'"):
        make_optimizer("bgd", paper_cnn().parameters(), 0.01)
