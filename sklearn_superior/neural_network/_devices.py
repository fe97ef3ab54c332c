"""Devices, their settings, and how data gets there.

Data is placed on the device if it fits, and otherwise sent batch by batch: on CUDA
without waiting for the device, and while it computes.
"""

import math
from contextlib import ExitStack, contextmanager, suppress
from itertools import chain
from threading import current_thread, main_thread

import joblib
import numpy as np
import torch

from sklearn_superior.utils._parallel import limit_threads

_SMALL = 2**24  # bytes of windows that are encoded once, instead of in every epoch


# Devices, threads and settings of torch


def find_device(device, *, or_cpu=False):
    """Return the torch device named `device`, or raise if it is not available.

    ``"auto"`` is the first available of cuda, mps and cpu. With `or_cpu`, the CPU takes
    the place of an unavailable device.
    """
    counts = {
        "cuda": torch.cuda.device_count() if torch.cuda.is_available() else 0,
        "mps": int(torch.backends.mps.is_available()),
        "cpu": 1,
    }
    present = [kind for kind, count in counts.items() if count]
    with suppress(RuntimeError, TypeError):  # of names that torch does not know
        found = torch.device(present[0] if device == "auto" else device)
        if (found.index or 0) < counts.get(found.type, 0):
            return found
        if or_cpu:
            return torch.device("cpu")
    raise ValueError(
        f"The 'device' parameter must be 'auto' or an available device: {present}. "
        f"Got {device!r}."
    )


@contextmanager
def use_threads(n_jobs):
    """Limit torch's threads in this context, for the calling thread only."""
    n_threads = min(joblib.effective_n_jobs(n_jobs), torch.get_num_threads())
    if current_thread() is not main_thread():  # other threads are likely busy, too
        n_threads = 1
    with limit_threads(n_threads):
        yield


@contextmanager
def own_settings(device):
    """Override what the user may have set for the code around a fit or a prediction.

    These are the modes for gradients and mixed precision, the default device, and the
    treatment of denormal numbers.
    """
    with ExitStack() as stack:
        stack.enter_context(torch.inference_mode(False))
        stack.enter_context(torch.enable_grad())
        for kind in {"cpu", device.type}:
            if torch.amp.is_autocast_available(kind):
                stack.enter_context(torch.autocast(kind, enabled=False))
        if torch.get_default_device().type not in ("cpu", device.type):
            stack.enter_context(torch.device(device))
        # A confident network produces denormal numbers. A CPU is so slow with them that
        # an epoch can take twice as long; round them to zero instead.
        flushed = bool(np.float32(2e-38) * np.float32(0.1) == 0)
        stack.callback(torch.set_flush_denormal, flushed)
        torch.set_flush_denormal(True)
        yield


# Data


def free_memory(device):
    """Return how many bytes tensors may still take on a device."""
    if device.type == "cuda":
        held, used = torch.cuda.memory_reserved, torch.cuda.memory_allocated
        # torch keeps the memory of former tensors for new ones.
        return torch.cuda.mem_get_info(device)[0] + held(device) - used(device)
    if device.type == "mps":
        return torch.mps.recommended_max_memory() - torch.mps.driver_allocated_memory()
    return math.inf  # on a CPU, the data is there already


def place(arrays, device):
    """Return data as tensors on the device, if that takes half of its free memory.

    Otherwise, windows stay where they are, to be encoded batch by batch. So do large
    windows on a CPU.
    """
    n_bytes = sum(part.nbytes for part in arrays if part is not None)
    fits = 2 * n_bytes <= free_memory(device)
    return [None if part is None else _place(part, device, fits) for part in arrays]


def _place(part, device, fits):
    is_large = device.type == "cpu" and part.nbytes > _SMALL
    if not isinstance(part, np.ndarray) and (is_large or not fits):
        return part
    tensor = torch.from_numpy(part[:])
    return tensor.to(device) if fits else tensor


def iterate_batches(data, order, batch_size, device):
    """Yield the rows of the data in the given order, in batches of equal size.

    Unless `batch_size` is 1, no batch has a single row, for which batch normalisation
    has no variance.
    """
    n_batches = -(-len(order) // batch_size)
    if batch_size > 1:
        n_batches = max(1, min(n_batches, len(order) // 2))
    order = _send(order, _home(data[0]))
    batches = (
        [None if part is None else part[rows] for part in data]
        for rows in order.tensor_split(n_batches)
    )
    return send_ahead(batches, _home(data[0]), device)


def iterate_rows(X, n_rows, device):
    """Yield the rows of `X` in their order, `n_rows` at a time."""
    batches = ([X[start : start + n_rows]] for start in range(0, len(X), n_rows))
    return (batch for (batch,) in send_ahead(batches, _home(X), device))


def _home(part):
    return getattr(part, "device", torch.device("cpu"))


def send_ahead(batches, home, device):
    """Yield batches on the device. CUDA copies the next one during a computation."""
    if device.type != "cuda" or home.type == "cuda":
        for batch in batches:
            yield _send_batch(batch, device)
        return
    computing, copying = torch.cuda.current_stream(device), torch.cuda.Stream(device)

    def send(batch):
        # The memory of this batch may be that of an earlier one, still in use.
        copying.wait_stream(computing)
        with torch.cuda.stream(copying):
            return _send_batch(batch, device)

    ready = None
    for following in chain(map(send, batches), [None]):
        if ready is not None:
            yield ready
        computing.wait_stream(copying)
        ready = following


def _send_batch(batch, device):
    return [None if part is None else _send(part, device) for part in batch]


def _send(part, device):
    part = part if isinstance(part, torch.Tensor) else torch.from_numpy(part)
    if device.type == "cuda" and part.device.type == "cpu":
        # A copy waits for the device unless the memory is pinned. Only CUDA keeps that
        # memory until the copy is made; on mps, the batch could be overwritten before.
        return part.pin_memory().to(device, non_blocking=True)
    return part.to(device)
