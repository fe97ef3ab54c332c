"""The training loop in torch: from parameters to a network, and an epoch."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

torch = pytest.importorskip("torch")

from sklearn_superior.neural_network import CNNClassifier, _devices  # noqa: E402
from sklearn_superior.neural_network._module import make_cnn  # noqa: E402
from sklearn_superior.neural_network._trainer import (  # noqa: E402
    LOSSES,
    Trainer,
    dump_tensors,
    load_tensors,
    predict_proba,
    to_proba,
)
from sklearn_superior.neural_network._windows_input import (  # noqa: E402
    Encoding,
    Windows,
)
from tests.neural_network.signals import make_tensors  # noqa: E402

WINDOWS = np.random.default_rng(0).normal(size=(50, 3, 20))


def make_encoding(n_classes=4, standardize=True):
    classes = np.arange(n_classes)
    encoding = Encoding(Windows(WINDOWS), classes, standardize=standardize)
    return encoding.knowing(classes)


def make_trainer(device="cpu", built=None, **params):
    model = CNNClassifier(**{"learning_rate": 0.01, "random_state": 0} | params)
    return Trainer(model, make_encoding(), built, device=torch.device(device))


def paper_cnn():
    return make_cnn(
        3, 20, 4, channels=(64, 32, 16), kernel_size=3, hidden=1024, dropout=0.2
    )


def make_perceptron(n_channels, length, n_classes):
    return torch.nn.Sequential(
        torch.nn.Flatten(),
        torch.nn.Dropout(0.1),
        torch.nn.LazyLinear(8),
        torch.nn.BatchNorm1d(8),
        torch.nn.Linear(8, n_classes),
    )


needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
VARIANTS = {
    "plain": {},
    "weighted": {},
    "streamed": {},
    "amp": {"amp": True},
    "residual": {"module": "residual"},
    "averaged": {"ema": 0.9},
    "shortened": {"clip_norm": 1},
    "custom": {"module": make_perceptron, "ema": 0.9},
    "streamed, residual, averaged": {"module": "residual", "ema": 0.9},
}
DEVICES = ["cpu", "meta", pytest.param("cuda", marks=needs_cuda)]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("loss", ["log_loss", "brier"])
@pytest.mark.parametrize("optimizer", ["nadam", "adam", "sgd"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_an_epoch_stays_on_the_device(device, loss, optimizer, variant, monkeypatch):
    # On the meta device a tensor of the host, or a value that is read, is an error.
    if variant == "amp" and device == "meta":
        pytest.skip("the meta device has no mixed precision")
    params = VARIANTS[variant]
    trainer = make_trainer(device, loss=loss, optimizer=optimizer, **params)
    X, y, weight = make_tensors()
    data = [X.numpy(), y.numpy(), weight.numpy() if variant == "weighted" else None]
    if "streamed" in variant:
        monkeypatch.setattr(_devices, "free_memory", lambda device: 0)
        data = trainer.place(make_encoding().transform(X.numpy()), *data[1:])
        assert not isinstance(data[0], torch.Tensor)
        assert data[1].device.type == "cpu"
    else:
        data = trainer.place(*data)
        assert data[0].device.type == device
    mean_loss = trainer.train_epoch(*data)
    assert mean_loss.device.type == device
    logits = trainer.logits(data[0])
    assert logits.device.type == device
    assert logits.shape == (len(X), 4)
    if device == "meta":
        with pytest.raises(RuntimeError):
            mean_loss.item()
    else:
        assert torch.isfinite(mean_loss)


def test_the_meta_device_catches_a_tensor_left_on_the_host():
    trainer = make_trainer("meta")
    X, *_ = make_tensors()
    with pytest.raises((RuntimeError, NotImplementedError)):
        trainer.module(X)


@pytest.mark.parametrize("loss", ["log_loss", "brier"])
def test_losses_are_those_of_scikit_learn(loss):
    from sklearn import metrics

    logits, y = torch.randn(50, 4, dtype=torch.float64), torch.arange(50) % 4
    proba = logits.softmax(1).numpy()
    expected = {
        "log_loss": lambda: metrics.log_loss(y, proba),
        "brier": lambda: metrics.brier_score_loss(y, proba, scale_by_half=False),
    }[loss]()
    assert LOSSES[loss](logits, y).mean().item() == pytest.approx(expected, rel=1e-12)


def test_state_goes_over_to_another_device():
    data = make_tensors()
    there, here = make_trainer("cpu"), make_trainer("cpu")
    there.train_epoch(*data)
    state = load_tensors(dump_tensors(there.state() | {"device": "cuda"}))
    before = here.dropout.get_state()
    here.load_state(state)
    assert torch.equal(here.dropout.get_state(), before)
    assert torch.equal(here.order.get_state(), there.order.get_state())
    for a, b in zip(here.module.parameters(), there.module.parameters(), strict=True):
        assert torch.equal(a, b)
    assert torch.isfinite(here.train_epoch(*data))


@needs_cuda
def test_cpu_and_cuda_train_alike():
    data = [t.numpy() for t in make_tensors()]
    losses = []
    for device in ("cpu", "cuda"):
        trainer = make_trainer(device)
        losses.append(float(trainer.train_epoch(*trainer.place(*data))))
    assert losses[0] == pytest.approx(losses[1], abs=0.1)


def test_a_file_with_code_in_it_is_refused():
    import pickle

    class Evil:
        def __reduce__(self):
            return (print, ("run",))

    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        load_tensors(pickle.dumps(Evil(), protocol=2))


def test_the_seed_decides_the_first_weights():
    one, same, other = (
        make_trainer(random_state=seed).module.state_dict() for seed in (0, 0, 1)
    )
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert not all(torch.equal(one[name], other[name]) for name in one)


def test_predictions_are_the_softmax_of_the_network():
    module, encoding = paper_cnn(), make_encoding()
    found = predict_proba(module, encoding, WINDOWS, device="cpu", n_jobs=1)
    module.eval()
    with torch.no_grad():
        logits = module(torch.from_numpy(encoding.transform(WINDOWS)[:]))
    assert_allclose(found, torch.softmax(logits.double(), dim=1).numpy(), atol=1e-6)


def test_probabilities_are_in_double_precision():
    logits = torch.tensor([[0.0, 1.0], [-100.0, 100.0]])
    found = to_proba(logits, make_encoding(2, standardize=False))
    assert found.dtype == np.float64
    assert_array_equal(found.sum(axis=1), 1)


def test_training_continues_with_a_given_network():
    module = paper_cnn()
    assert make_trainer(built=module).module is module
