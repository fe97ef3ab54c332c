"""The training loop in torch.

Data lies on the device, or comes there batch by batch if it does not fit. Nothing is
read back before an epoch is over, so that a GPU never waits for Python.
"""

from contextlib import contextmanager, nullcontext
from copy import deepcopy
from io import BytesIO
from threading import Lock, current_thread, main_thread

import numpy as np
import torch
from joblib import effective_n_jobs
from torch.nn import functional as F

from sklearn_superior.neural_network._cnn_module import seed_dropout
from sklearn_superior.neural_network._optimizers import make_optimizer
from sklearn_superior.utils._parallel import limit_threads

# Values of the input that are predicted at once: bounds the memory, fits the caches.
_EVALUATION_SIZE = 2**17

_generator_lock = Lock()


@contextmanager
def use_threads(n_jobs):
    """Limit the threads of torch in this context, for the calling thread alone."""
    n_threads = min(effective_n_jobs(n_jobs), torch.get_num_threads())
    if current_thread() is not main_thread():  # others are likely to be at work, too
        n_threads = 1
    with limit_threads(n_threads):
        yield


@contextmanager
def flush_tiny_numbers():
    """Round numbers next to zero down to it: a CPU computes slowly with them.

    They come when a network is sure of itself, and can double the time of an epoch.
    """
    before = np.float32(2e-38) * np.float32(0.1) == 0
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(bool(before))


def build_module(build, seed, window_shape, n_classes):
    """Build a network with torch's global generator seeded, and leave that as it was.

    Parameters
    ----------
    build : callable
        Called with the number of channels, the length and the number of classes.
    """
    with _generator_lock, torch.random.fork_rng(devices=[]):
        torch.random.default_generator.manual_seed(seed)
        module = build(*window_shape, n_classes)
        if not isinstance(module, torch.nn.Module):
            raise ValueError(
                "The 'module' parameter must be a callable that returns a "
                f"torch.nn.Module. It returned {module!r}."
            )
        try:  # here, because lazy layers draw their weights now
            with torch.no_grad():  # what they draw in inference mode cannot be trained
                shape = tuple(module.eval()(torch.zeros(2, *window_shape)).shape)
        except Exception as exc:
            raise ValueError(
                "The 'module' parameter must build a network that takes float32 "
                f"batches of shape (n, {window_shape[0]}, {window_shape[1]}): {exc}"
            ) from exc
    if shape != (2, n_classes):
        raise ValueError(
            "The 'module' parameter must build a network that gives a logit for each "
            f"of {n_classes} classes. For two windows it gave shape {shape}."
        )
    return module


def draw_batches(tensors, order, batch_size, device):
    """Yield the rows of the tensors in the given order, in batches of equal size.

    Tensors that lie on the host are copied through pinned memory, while the device
    is still busy with the batch before.
    """
    home = tensors[0].device
    n_batches = -(-len(order) // batch_size)
    for rows in order.to(home, non_blocking=True).tensor_split(n_batches):
        batch = [None if tensor is None else tensor[rows] for tensor in tensors]
        if home != device:
            batch = [_send(part, device) for part in batch]
        yield batch


def _send(tensor, device):
    if tensor is not None and device.type == "cuda":
        tensor = tensor.pin_memory()
    return None if tensor is None else tensor.to(device, non_blocking=True)


@flush_tiny_numbers()
@torch.no_grad()  # not inference mode: what a network stores then cannot be trained
def forward(module, batches, device):
    """Return the outputs for some batches, as one tensor on the device."""
    module.eval()
    batches = (torch.as_tensor(batch) for batch in batches)
    return torch.cat([module(batch.to(device, non_blocking=True)) for batch in batches])


def n_evaluation_rows(shape):
    """Return how many windows of a shape to predict at once."""
    return max(1, _EVALUATION_SIZE // (shape[0] * shape[1]))


def brier_loss(logits, y):
    """Brier scores of the softmax of the logits."""
    proba = logits.softmax(dim=1)
    own = proba.gather(1, y.unsqueeze(1)).squeeze(1)
    return proba.square().sum(dim=1) - 2 * own + 1


def log_loss(logits, y):
    """Log losses of the softmax of the logits."""
    return F.cross_entropy(logits, y, reduction="none")


LOSSES = {"brier": brier_loss, "log_loss": log_loss}


class Trainer:
    """A network in training: its weights, its optimizer and its random numbers.

    Parameters
    ----------
    module : torch.nn.Module
        The network; it gives logits.

    device : torch.device
        Where to train.

    seeds : pair of int
        For the order of the samples and for dropout.

    optimizer, learning_rate, batch_size, loss, amp, compile
        Settings, as the parameters of `CNNClassifier`.

    may_draw : bool, default=False
        Whether layers may draw from torch's own generator, as those of a user's network
        may. Then they are seeded, and such networks are not trained at the same time.
    """

    def __init__(
        self,
        module,
        device,
        seeds,
        *,
        optimizer,
        learning_rate,
        batch_size,
        loss,
        amp=False,
        compile=False,
        may_draw=False,
    ):
        self.device = device
        # The order is drawn on the host: the same on every device.
        self.order = torch.Generator().manual_seed(seeds[0])
        self.dropout = None
        if device.type != "meta":
            self.dropout = torch.Generator(device).manual_seed(seeds[1])
        self.module = seed_dropout(module, self.dropout).to(device)
        self.optimizer = make_optimizer(
            optimizer, self.module.parameters(), learning_rate
        )
        self.batch_size = batch_size
        self.loss = LOSSES[loss]
        self.amp = amp
        # Evaluation takes the plain module, so that predictions later are the same.
        self._forward = torch.compile(self.module) if compile else self.module
        self._may_draw = may_draw
        self._own_draws = torch.Generator().manual_seed(seeds[1]).get_state()

    def place(self, *arrays):
        """Return arrays as tensors, on the device if they take half of it at most."""
        tensors = [None if part is None else torch.from_numpy(part) for part in arrays]
        if self.device.type == "cuda":
            free, _ = torch.cuda.mem_get_info(self.device)
            if 2 * sum(part.nbytes for part in tensors if part is not None) > free:
                return tensors
        return [None if part is None else part.to(self.device) for part in tensors]

    def train_epoch(self, X, y, weight=None):
        """Train on all rows once; return the mean loss, a tensor on the device."""
        if not self._may_draw:
            return self._train_epoch(X, y, weight)
        with _generator_lock:  # threads share torch's own generator
            before = torch.get_rng_state()
            torch.set_rng_state(self._own_draws)
            try:
                return self._train_epoch(X, y, weight)
            finally:
                self._own_draws = torch.get_rng_state()
                torch.set_rng_state(before)

    @flush_tiny_numbers()
    def _train_epoch(self, X, y, weight):
        self.module.train()
        total = torch.zeros((), device=self.device)
        order = torch.randperm(len(X), generator=self.order)
        for X_batch, y_batch, w_batch in draw_batches(
            (X, y, weight), order, self.batch_size, self.device
        ):
            self.optimizer.zero_grad()
            with self._precision():
                losses = self.loss(self._forward(X_batch), y_batch)
                loss = (losses if w_batch is None else losses * w_batch).mean()
            loss.backward()
            self.optimizer.step()
            total += loss.detach() * (len(X_batch) / len(X))
        return total

    def _precision(self):
        if self.amp:
            return torch.autocast(self.device.type, dtype=torch.bfloat16)
        return nullcontext()

    def logits(self, X):
        """Return the outputs for all rows, a tensor on the device."""
        batches = X.split(n_evaluation_rows(X.shape[1:]))
        return forward(self.module, batches, self.device)

    def weights(self):
        """Return a copy of weights and buffers, on the device."""
        return {
            part: {name: deepcopy(value) for name, value in tensors.items()}
            for part, tensors in network_state(self.module).items()
        }

    def load_weights(self, weights):
        """Take over what `weights` returned; an error if it does not fit."""
        load_network_state(self.module, weights, self.device)

    def state(self):
        """Return all that is needed to resume."""
        return {
            "module": network_state(self.module),
            "optimizer": self.optimizer.state_dict(),
            "order": self.order.get_state(),
            "dropout": self.dropout.get_state(),
            "own draws": self._own_draws,
            "device": self.device.type,
        }

    def load_state(self, state):
        """Resume from `state`.

        On another kind of device the numbers that dropout draws are others.
        """
        self.load_weights(state["module"])
        self.optimizer.load_state_dict(state["optimizer"])
        for param, values in self.optimizer.state.items():
            # Fused kernels do not check shapes: a wrong one would crash the process.
            shapes = {v.shape for v in values.values() if v.ndim}
            if not shapes <= {param.shape}:
                raise ValueError("the state of the optimizer is of another network")
        self.order.set_state(state["order"])
        self._own_draws = state["own draws"]
        if state["device"] == self.device.type:
            self.dropout.set_state(state["dropout"])


def network_state(module):
    """Return weights and buffers of a network, also buffers that are not persistent.

    A network computes with these as with all others; torch only leaves them out of
    `state_dict`.
    """
    saved = module.state_dict()
    others = {name: b for name, b in module.named_buffers() if name not in saved}
    return {"saved": saved, "others": others}


def network_bytes(module):
    """Return bytes that are the same for the same weights and buffers."""
    parts = []
    for part, tensors in network_state(module).items():
        for name, tensor in tensors.items():
            head = f"{part} {name} {tensor.dtype} {tuple(tensor.shape)} "
            values = tensor.detach().cpu().contiguous().flatten().view(torch.uint8)
            parts += [head.encode(), values.numpy().tobytes()]
    return b"".join(parts)


@torch.no_grad()
def load_network_state(module, state, device):
    """Give a network on a device the weights and buffers of `network_state`."""
    module.load_state_dict(state["saved"])
    present = network_state(module)["others"]
    for name in present.keys() | state["others"].keys():
        value, before = state["others"].get(name), present.get(name)
        owner, _, own_name = name.rpartition(".")
        owner = module.get_submodule(owner)
        if before is None and getattr(owner, own_name) is not None:
            raise ValueError(f"{name} is no buffer of the network")
        if value is None or before is None or before.shape != value.shape:
            value = None if value is None else value.to(device, copy=True)
            setattr(owner, own_name, value)
        else:
            before.copy_(value)


def dump_tensors(state):
    """Bytes of tensors, numbers, lists and dicts."""
    buffer = BytesIO()
    torch.save(state, buffer)
    return buffer.getvalue()


def load_tensors(data):
    """Load what `dump_tensors` gave, onto the host; nothing but data is accepted."""
    return torch.load(BytesIO(data), map_location="cpu", weights_only=True)
