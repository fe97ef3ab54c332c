"""Devices, threads, and data that is placed on a device or sent batch by batch."""

import threading
from contextlib import contextmanager

import numpy as np
import pytest
from sklearn.base import clone

torch = pytest.importorskip("torch")

from sklearn_superior.neural_network import _devices  # noqa: E402
from sklearn_superior.neural_network._devices import (  # noqa: E402
    find_device,
    free_memory,
    iterate_batches,
    place,
    send_ahead,
    use_threads,
)
from sklearn_superior.neural_network._windows_input import (  # noqa: E402
    Encoding,
    Windows,
)
from tests.neural_network.signals import (  # noqa: E402
    make_tensors,
    make_windows,
    small_cnn,
    weights,
)

CPU = torch.device("cpu")


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


def test_batches_hold_every_row_once_and_are_of_equal_size():
    X, y, _ = make_tensors(65)
    order = torch.randperm(65)
    batches = list(iterate_batches((X, y, None), order, 32, CPU))
    assert sorted(len(batch[0]) for batch in batches) == [21, 22, 22]
    torch.testing.assert_close(torch.cat([batch[0] for batch in batches]), X[order])
    torch.testing.assert_close(torch.cat([batch[1] for batch in batches]), y[order])
    assert all(batch[2] is None for batch in batches)


def test_no_batch_has_a_single_row():
    X, y, _ = make_tensors(7)
    for n_rows, batch_size, sizes in [(7, 2, [2, 2, 3]), (7, 1, [1] * 7), (1, 8, [1])]:
        batches = iterate_batches((X, y, None), torch.arange(n_rows), batch_size, CPU)
        assert sorted(len(batch[0]) for batch in batches) == sizes


def test_free_memory_is_what_the_device_and_torch_have_left(monkeypatch):
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (100, 500))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: 70)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: 30)
    monkeypatch.setattr(torch.mps, "recommended_max_memory", lambda: 100)
    monkeypatch.setattr(torch.mps, "driver_allocated_memory", lambda: 60)
    assert free_memory(torch.device("cuda", 1)) == 140
    assert free_memory(torch.device("mps")) == 40
    assert free_memory(CPU) == float("inf")


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_data_is_placed_if_it_takes_half_of_the_free_memory(monkeypatch, device):
    X, y, weight = (t.numpy() for t in make_tensors())
    windows = Encoding(Windows(X), np.arange(4), standardize=True).transform(X)
    n_bytes = windows.nbytes + y.nbytes + weight.nbytes
    device = torch.device(device)
    monkeypatch.setattr(_devices, "free_memory", lambda device: 2 * n_bytes)
    placed = place((windows, y, weight), device)
    assert all(part.device == device for part in placed)
    monkeypatch.setattr(_devices, "free_memory", lambda device: 2 * n_bytes - 1)
    kept = place((windows, y, None, weight), device)
    assert kept[0] is windows
    assert kept[2] is None
    assert kept[1].device == kept[3].device == CPU
    assert kept[1].data_ptr() == y.ctypes.data  # not copied


SETTINGS = {
    "plain": {},
    "weighted": {"class_weight": {"one": 2.0}},
    "brier": {"loss": "brier", "optimizer": "sgd", "learning_rate": 0.1},
    "mixed precision": {"amp": True},
    "averaged": {"ema": 0.9, "clip_norm": 1.0},
    "residual": {"module": "residual", "ema": 0.9, "amp": True},
    "own network": {
        "module": lambda n_channels, length, n_classes: torch.nn.Sequential(
            torch.nn.Flatten(),
            torch.nn.Dropout(0.1),
            torch.nn.Linear(n_channels * length, n_classes),
        )
    },
}


@pytest.mark.parametrize("name", SETTINGS)
def test_data_that_does_not_fit_gives_the_same_network(monkeypatch, name):
    X, y = make_windows()
    weight = np.random.default_rng(0).uniform(size=len(y))
    model = small_cnn(max_iter=3, **SETTINGS[name])

    def train():
        fitted = clone(model).fit(X, y, sample_weight=weight)
        continued = clone(model).partial_fit(X, y).partial_fit(X[:50], y[:50])
        history = fitted.history_["train_loss"], fitted.validation_scores_
        return [weights(fitted), weights(continued), *history, fitted.predict_proba(X)]

    expected, asked = train(), []
    monkeypatch.setattr(
        _devices, "free_memory", lambda device: asked.append(device) or 0
    )
    for found, wanted in zip(train(), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)
    assert len(asked) == 4  # training and validation windows, and two parts


def test_training_resumes_where_the_data_does_not_fit(monkeypatch, tmp_path):
    X, y = make_windows()
    model = small_cnn(n_iter_no_change=9)
    expected = clone(model).set_params(max_iter=4).fit(X, y)
    model.set_params(checkpoint_dir=tmp_path, resume=True)
    clone(model).set_params(max_iter=2).fit(X, y)
    monkeypatch.setattr(_devices, "free_memory", lambda device: 0)
    resumed = clone(model).set_params(max_iter=4).fit(X, y)
    np.testing.assert_array_equal(weights(resumed), weights(expected))


class FakeStreams:
    """A clock for each stream, which says when what is queued there will be done."""

    def __init__(self):
        self.computing, self.copying = Stream(), Stream()
        self.current = self.computing

    def current_stream(self, device):
        return self.current

    def Stream(self, device):
        return self.copying

    @contextmanager
    def stream(self, stream):
        self.current, before = stream, self.current
        yield
        self.current = before

    def run(self, seconds):
        """Queue something on the current stream; return when it starts and ends."""
        start = self.current.now
        self.current.now += seconds
        return start, self.current.now


class Stream:
    now = 0

    def wait_stream(self, other):
        self.now = max(self.now, other.now)


def test_cuda_copies_a_batch_during_the_computation_before_it(monkeypatch):
    streams, copies, computations = FakeStreams(), [], []
    for name in ("current_stream", "Stream", "stream"):
        monkeypatch.setattr(torch.cuda, name, getattr(streams, name))

    def send(part, device):
        copies.append(streams.run(seconds=1))
        return part

    monkeypatch.setattr(_devices, "_send", send)
    n_batches = 5
    batches = ([number] for number in range(n_batches))
    for k, batch in enumerate(send_ahead(batches, CPU, torch.device("cuda"))):
        assert batch == [k]
        computations.append(streams.run(seconds=3))
    # Nothing waits but the first computation.
    assert computations[-1][1] == 1 + 3 * n_batches
    for copy, computation in zip(copies, computations, strict=True):
        assert copy[1] <= computation[0]
    # By then, its memory is that of the batch after the next one.
    for copy, computation in zip(copies[2:], computations[:-2], strict=True):
        assert computation[1] <= copy[0]
