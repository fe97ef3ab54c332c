"""The training loop in torch: from parameters to a network, optimizers, batches."""

import copy
import threading

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

torch = pytest.importorskip("torch")

from sklearn_superior.neural_network import CNNClassifier  # noqa: E402
from sklearn_superior.neural_network._module import make_cnn  # noqa: E402
from sklearn_superior.neural_network._trainer import (  # noqa: E402
    LOSSES,
    NAdam,
    Trainer,
    dump_tensors,
    find_device,
    iterate_batches,
    load_tensors,
    make_optimizer,
    predict_proba,
    to_proba,
    use_threads,
)
from sklearn_superior.neural_network._windows_input import (  # noqa: E402
    Encoding,
    Windows,
)

WINDOWS = np.random.default_rng(0).normal(size=(50, 3, 20))


def make_encoding(n_classes=4, standardize=True):
    classes = np.arange(n_classes)
    encoding = Encoding(Windows(WINDOWS), classes, standardize=standardize)
    return encoding.knowing(classes)


def make_trainer(device="cpu", module=None, **params):
    model = CNNClassifier(**{"learning_rate": 0.01, "random_state": 0} | params)
    return Trainer(model, make_encoding(), module, device=torch.device(device))


def paper_cnn():
    return make_cnn(
        3, 20, 4, channels=(64, 32, 16), kernel_size=3, hidden=1024, dropout=0.2
    )


def make_tensors(n=70):
    torch.manual_seed(0)
    return torch.randn(n, 3, 20), torch.randint(0, 4, (n,)), torch.rand(n)


needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
DEVICES = ["cpu", "meta", pytest.param("cuda", marks=needs_cuda)]


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


def test_batches_hold_every_row_once_and_are_of_equal_size():
    X, y, _ = make_tensors(65)
    order = torch.randperm(65)
    cpu = torch.device("cpu")
    batches = list(iterate_batches((X, y, None), order, 32, cpu))
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
        trainer = make_trainer(device)
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
    assert make_trainer(module=module).module is module


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
            LOSSES["log_loss"](module(X.double()), y).mean().backward()
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


def test_the_fused_kernel_is_used_where_there_is_one():
    optimizer = make_optimizer("nadam", paper_cnn().parameters(), 0.01)
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


def test_no_batch_has_a_single_row():
    X, y, _ = make_tensors(7)
    for n_rows, batch_size, sizes in [(7, 2, [2, 2, 3]), (7, 1, [1] * 7), (1, 8, [1])]:
        batches = iterate_batches(
            (X, y, None), torch.arange(n_rows), batch_size, torch.device("cpu")
        )
        assert sorted(len(batch[0]) for batch in batches) == sizes


@pytest.mark.parametrize(
    ("cuda", "mps", "expected"),
    [(True, True, "cuda"), (False, True, "mps"), (False, False, "cpu")],
)
def test_auto_takes_the_fastest_available_device(monkeypatch, cuda, mps, expected):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2 if cuda else 0)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    assert find_device("auto").type == expected
    assert find_device("cpu").type == "cpu"
    if cuda:
        assert find_device("cuda:1") == torch.device("cuda", 1)
    for absent in ["cuda:2" if cuda else "cuda", "meta"]:
        with pytest.raises(ValueError, match=f"'device' parameter.*{absent}"):
            find_device(absent)
        assert find_device(absent, or_cpu=True).type == "cpu"
    with pytest.raises(ValueError, match="'device' parameter.*'gpu'"):
        find_device("gpu")
