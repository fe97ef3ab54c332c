"""The training loop in torch: devices, batches, checkpoints, threads."""

import threading

import pytest

torch = pytest.importorskip("torch")

from sklearn_superior.neural_network._cnn_module import seed_dropout  # noqa: E402
from sklearn_superior.neural_network._training import (  # noqa: E402
    Trainer,
    brier_loss,
    draw_batches,
    dump_tensors,
    load_tensors,
    log_loss,
    use_threads,
)
from tests.neural_network.networks import make_tensors, paper_cnn  # noqa: E402

needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
DEVICES = ["cpu", "meta", pytest.param("cuda", marks=needs_cuda)]


def make_trainer(device, **settings):
    defaults = {
        "optimizer": "nadam",
        "learning_rate": 0.01,
        "batch_size": 32,
        "loss": "log_loss",
    }
    return Trainer(paper_cnn(), torch.device(device), (1, 2), **defaults | settings)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("loss", ["log_loss", "brier"])
@pytest.mark.parametrize("optimizer", ["nadam", "adam", "sgd"])
@pytest.mark.parametrize("variant", ["plain", "weighted", "streamed", "amp"])
def test_an_epoch_stays_on_the_device(device, loss, optimizer, variant):
    # On the meta device a tensor of the host, or a value that is read, is an error.
    if variant == "amp" and device == "meta":
        pytest.skip("the meta device has no mixed precision")
    trainer = make_trainer(device, loss=loss, optimizer=optimizer, amp=variant == "amp")
    X, y, weight = make_tensors()
    data = [X, y, weight if variant == "weighted" else None]
    if variant != "streamed":
        data = trainer.place(*(None if t is None else t.numpy() for t in data))
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


@pytest.mark.parametrize("loss", [log_loss, brier_loss])
def test_losses_are_those_of_scikit_learn(loss):
    from sklearn import metrics

    logits, y = torch.randn(50, 4, dtype=torch.float64), torch.arange(50) % 4
    proba = logits.softmax(1).numpy()
    expected = {
        log_loss: lambda: metrics.log_loss(y, proba),
        brier_loss: lambda: metrics.brier_score_loss(y, proba, scale_by_half=False),
    }[loss]()
    assert loss(logits, y).mean().item() == pytest.approx(expected, rel=1e-12)


def test_batches_hold_every_row_once_and_are_of_equal_size():
    X, y, _ = make_tensors(65)
    order = torch.randperm(65)
    cpu = torch.device("cpu")
    batches = list(draw_batches((X, y, None), order, 32, cpu))
    assert sorted(len(batch[0]) for batch in batches) == [21, 22, 22]
    torch.testing.assert_close(torch.cat([batch[0] for batch in batches]), X[order])
    torch.testing.assert_close(torch.cat([batch[1] for batch in batches]), y[order])
    assert all(batch[2] is None for batch in batches)


def test_data_that_does_not_fit_stays_on_the_host(monkeypatch):
    trainer = make_trainer("cpu")
    trainer.device = torch.device("cuda")
    X, y, _ = (t.numpy() for t in make_tensors())
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (X.nbytes, 0))
    X, y, weight = trainer.place(X, y, None)
    assert X.device.type == y.device.type == "cpu"
    assert weight is None


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
        torch.manual_seed(0)
        trainer = make_trainer(device)
        seed_dropout(trainer.module, trainer.dropout).eval()
        losses.append(float(trainer.train_epoch(*trainer.place(*data))))
    assert losses[0] == pytest.approx(losses[1], abs=0.1)


def test_threads_are_set_in_the_calling_thread_only():
    before = torch.get_num_threads()
    seen = {}

    def elsewhere():
        with use_threads(None):
            seen["inside"] = torch.get_num_threads()
        seen["after"] = torch.get_num_threads()

    with use_threads(-1):
        assert torch.get_num_threads() == before
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        assert torch.get_num_threads() == before
    assert seen == {"inside": 1, "after": before}
    assert torch.get_num_threads() == before


def test_a_file_with_code_in_it_is_refused():
    import pickle

    class Evil:
        def __reduce__(self):
            return (print, ("run",))

    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        load_tensors(pickle.dumps(Evil(), protocol=2))
