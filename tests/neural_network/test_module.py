"""The networks, and dropout with a generator of its own."""

import numpy as np
import pytest

from tests.neural_network.signals import make_windows, small_cnn

torch = pytest.importorskip("torch")

from sklearn_superior.neural_network._module import SeededDropout  # noqa: E402


def seeded(p):
    layer = SeededDropout(p)
    layer.generator = torch.Generator().manual_seed(0)
    return layer


@pytest.mark.parametrize("p", [0.0, 0.2, 0.5, 0.9])
def test_dropout_drops_and_keeps_the_mean(p):
    layer = seeded(p)
    x = torch.ones(1001, 501)
    dropped = layer(x)
    assert (dropped == 0).float().mean().item() == pytest.approx(p, abs=3e-3)
    assert dropped.mean().item() == pytest.approx(1, abs=0.01)
    assert layer.eval()(x) is x


@pytest.mark.parametrize("p", [0.2, 0.5])
def test_dropout_is_distributed_as_the_one_of_torch(p):
    torch.manual_seed(0)
    ours = seeded(p)
    theirs = torch.nn.Dropout(p)
    x = torch.full((400, 500), 3.0)
    a, b = ours(x), theirs(x)
    # The same two values, up to the 1 / 65536 to which the probability is exact.
    torch.testing.assert_close(a.unique(), b.unique(), rtol=2**-14, atol=0)
    for one, other in ((a, b), (a[0], b[0]), (a[:, 0], b[:, 0])):
        n = one.numel()
        tolerance = 5 * (2 * p * (1 - p) / n) ** 0.5
        shares = [(part == 0).float().mean().item() for part in (one, other)]
        assert shares[0] == pytest.approx(shares[1], abs=tolerance)
    # Neighbours are dropped independently.
    both = ((a[:, 1:] == 0) & (a[:, :-1] == 0)).float().mean().item()
    assert both == pytest.approx(p**2, abs=5e-3)


def test_dropout_of_the_gradient_is_that_of_the_values():
    layer = seeded(0.3)
    x = torch.ones(50, 7, requires_grad=True)
    out = layer(x)
    out.sum().backward()
    torch.testing.assert_close(x.grad, out.detach())


def test_the_architecture_is_that_of_the_paper():
    X, y = make_windows(150)
    model = small_cnn(channels=(64, 32, 16), hidden=1024, max_iter=1).fit(X, y)
    kinds = [type(layer).__name__ for layer in model.module_]
    convolutions = [k for k, kind in enumerate(kinds) if kind == "Conv1d"]
    filters = [model.module_[k].out_channels for k in convolutions]
    assert filters == [64, 32, 16]
    assert [model.module_[k].kernel_size for k in convolutions] == [(3,)] * 3
    follows = [kinds[k + 1] for k in convolutions]
    assert follows == ["ReLU", "BatchNorm1d", "BatchNorm1d"]
    assert kinds.count("SeededDropout") == 4
    dense = [layer for layer in model.module_ if isinstance(layer, torch.nn.Linear)]
    assert [layer.out_features for layer in dense] == [1024, 3]
    assert dense[0].in_features == 16 * X.shape[2]


def test_the_residual_network_is_that_of_wang_and_others():
    X, y = make_windows(150)
    network = small_cnn(module="residual", max_iter=2).fit(X, y).module_
    *blocks, mean, flatten, last = network
    for block, width in zip(blocks, (2, 32, 32), strict=True):
        convolutions = [k for k in block.steps if isinstance(k, torch.nn.Conv1d)]
        assert [k.kernel_size for k in convolutions] == [(7,), (5,), (3,)]
        assert [k.in_channels for k in convolutions] == [width, 32, 32]
        assert block.shortcut[0].kernel_size == (1,)
    # By hand: what a block adds to its input, and the mean over time.
    x = windows = torch.from_numpy(X[:5].astype(np.float32))
    for block in blocks:
        x = (block.steps(x) + block.shortcut(x)).clamp(min=0)
    torch.testing.assert_close(network(windows), last(x.mean(dim=2)))
    assert flatten(mean(x)).shape == (5, 32)


@pytest.mark.parametrize("length", [1, 2, 5])
def test_the_residual_network_takes_windows_of_any_length(length):
    X, y = make_windows(60, length=length)
    model = small_cnn(module="residual", max_iter=1).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("kernel_size", [1, 2, 4, 5])
def test_kernels_of_any_size_keep_the_length(kernel_size):
    X, y = make_windows(150)
    model = small_cnn(kernel_size=kernel_size, max_iter=1).fit(X, y)
    dense = [k for k in model.module_ if isinstance(k, torch.nn.Linear)][0]
    assert dense.in_features == 4 * X.shape[2]


def test_dropout_has_the_interface_of_torch():
    X, y = make_windows(150)
    model = small_cnn(max_iter=1, dropout=0.3).fit(X, y)
    layers = [k for k in model.module_.modules() if isinstance(k, torch.nn.Dropout)]
    assert [layer.p for layer in layers] == [0.3] * 3
    layer, ones = layers[0].train(), torch.ones(10_000)
    for p in (0.0, 0.5, 1.0):  # it is read at each call
        layer.p = p
        assert (layer(ones) == 0).float().mean().item() == pytest.approx(p, abs=0.03)
    layer.p, layer.inplace = 0.5, True
    assert layer(ones) is ones
    assert (ones == 0).any()


@pytest.mark.parametrize("p", [1 - 2**-17, 0.9999, 0.001, 2**-17])
def test_dropout_next_to_its_limits_keeps_the_mean(p):
    layer = seeded(p)
    dropped = layer(torch.ones(4000, 1000))
    tolerance = 5 * (p / (1 - p) / dropped.numel()) ** 0.5
    assert dropped.mean().item() == pytest.approx(1, abs=tolerance)
    assert dropped.max().item() == pytest.approx(1 / (1 - p), rel=1e-4)


def test_layers_of_a_users_network_stay_as_they_are():
    X, y = make_windows(150)

    def build(n_channels, length, n_classes):
        dropout = torch.nn.Dropout(0.5, inplace=True)
        dropout.register_forward_hook(lambda *_: calls.append(1))
        last = torch.nn.Linear(n_channels * length, n_classes)
        return torch.nn.Sequential(torch.nn.Flatten(), dropout, last)

    calls = []
    model = small_cnn(module=build, max_iter=1).fit(X, y)
    assert type(model.module_[1]) is torch.nn.Dropout
    assert model.module_[1].inplace
    assert len(calls) > 2
