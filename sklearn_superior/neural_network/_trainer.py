"""The training loop in torch.

Nothing is read back before the end of an epoch, so that a GPU never waits for Python.
"""

from contextlib import ExitStack, contextmanager, nullcontext
from copy import deepcopy
from functools import partial
from io import BytesIO
from threading import Lock

import joblib
import numpy as np
import torch
from scipy.special import softmax
from sklearn.utils import check_random_state
from torch.nn import functional as F

from sklearn_superior.neural_network._devices import (
    find_device,
    iterate_batches,
    iterate_rows,
    own_settings,
    place,
    use_threads,
)
from sklearn_superior.neural_network._module import (
    SeededDropout,
    make_cnn,
    make_residual,
)
from sklearn_superior.neural_network._optimizers import Updates
from sklearn_superior.utils._warnings import warn

# Input values that are predicted at once: bounds the memory, and fits into the caches.
_EVALUATION_SIZE = 2**17

_generator_lock = Lock()


# From the parameters of a classifier to its network and its probabilities


def build_module(params, window_shape, n_classes, seed):
    """Return a new network for the parameters of a `CNNClassifier`.

    It is a copy of the given or built network: a callable may return the same one every
    time, or one that the user keeps using. torch's global generator is seeded for the
    callable, and restored.
    """
    source = params.module
    if source == "paper":
        names = ("channels", "kernel_size", "hidden", "dropout")
        source = partial(make_cnn, **{name: getattr(params, name) for name in names})
    elif source == "residual":
        source = make_residual
    with ExitStack() as stack:
        stack.enter_context(own_settings(torch.device("cpu")))
        # A network with the old `weight_norm` can only be copied without gradients.
        stack.enter_context(torch.no_grad())
        stack.enter_context(_generator_lock)
        stack.callback(torch.set_default_dtype, torch.get_default_dtype())
        torch.set_default_dtype(torch.float32)
        stack.enter_context(torch.random.fork_rng(devices=[]))
        torch.random.default_generator.manual_seed(seed)
        if not isinstance(source, torch.nn.Module):
            source = _call_builder(source, *window_shape, n_classes)
        module = copy_network(source).cpu().eval()
        generator = torch.Generator("cpu").manual_seed(0)
        X = torch.randn(2, *window_shape, generator=generator)
        try:  # still seeded, because lazy layers initialise their weights now
            outputs = module(X)
            shape = tuple(outputs.shape)
        except Exception as exc:
            raise ValueError(
                "The 'module' parameter must give a network for float32 batches of "
                f"shape (n, {window_shape[0]}, {window_shape[1]}): {exc}"
            ) from exc
    if shape != (2, n_classes):
        raise ValueError(
            "The 'module' parameter must give a network with one logit for each of "
            f"{n_classes} classes. For two windows it returned shape {shape}."
        )
    outputs = outputs.double()
    if (outputs >= 0).all() and (outputs.sum(dim=1) - 1).abs().max() < 1e-3:
        warn(
            "The network of the 'module' parameter seems to end in a softmax: its "
            "outputs are non-negative and sum to one. They are treated as logits, to "
            "which another softmax is applied. Remove the softmax from the network."
        )
    return module


def _call_builder(build, *args):
    expected = "module(n_channels, length, n_classes)"
    try:
        module = build(*args)
    except TypeError as exc:
        exc.add_note(f"The 'module' parameter is called as {expected}.")
        raise
    if not isinstance(module, torch.nn.Module):
        raise ValueError(
            f"The 'module' parameter must be a callable, {expected}, that returns a "
            f"torch.nn.Module. It returned {module!r}."
        )
    return module


def copy_network(module):
    """Copy a network, even one with lazy buffers, which torch cannot copy."""
    lazy = torch.nn.UninitializedBuffer
    memo = {id(b): lazy(dtype=b.dtype) for b in module.buffers() if isinstance(b, lazy)}
    # Copies that are made in inference mode could not be trained.
    with own_settings(torch.device("cpu")):
        return deepcopy(module, memo)


def predict_proba(module, encoding, X, *, device, n_jobs):
    """Return the probabilities of the classes that a network knows.

    `X` holds checked windows, which `encoding` turns into the input of the network.
    """
    device = find_device(device, or_cpu=True)
    with use_threads(n_jobs):
        logits = forward(module.to(device), encoding.transform(X), device)
        y_proba = to_proba(logits, encoding)
    if not np.isfinite(y_proba).all():
        raise ValueError(
            "X has values that are too large for the network, in row "
            f"{np.flatnonzero(~np.isfinite(y_proba).all(axis=1))[0]}."
        )
    return y_proba


def to_proba(logits, encoding):
    """Return the probabilities of known classes in double precision, on the host."""
    logits = logits.cpu().numpy().astype(np.float64)
    return softmax(logits[:, encoding.is_known], axis=1)


def forward(module, X, device):
    """Return the logits of all rows, a tensor on the device."""
    n_rows = max(1, _EVALUATION_SIZE // (X.shape[1] * X.shape[2]))
    # Not in inference mode: tensors that a network stores there cannot be trained.
    with own_settings(device), torch.no_grad():
        module.eval()
        return torch.cat(
            [
                _at_least_single(module(batch))
                for batch in iterate_rows(X, n_rows, device)
            ]
        )


def _at_least_single(logits):
    """Convert logits of half precision to single precision."""
    return logits if logits.dtype == torch.float64 else logits.float()


# Losses


def brier_loss(logits, y):
    """Brier scores of the softmax of the logits."""
    proba = logits.softmax(dim=1)
    own = proba.gather(1, y.unsqueeze(1)).squeeze(1)
    return proba.square().sum(dim=1) - 2 * own + 1


LOSSES = {"brier": brier_loss, "log_loss": partial(F.cross_entropy, reduction="none")}

# The loop


class Trainer:
    """A network in training: its weights, its optimizer and its random generators.

    Parameters
    ----------
    params : CNNClassifier
        Provides the parameters.

    encoding : Encoding
        Turns windows and labels into the input of the network.

    module : torch.nn.Module, default=None
        The network to continue with. If None, a new one is built.

    state : dict, default=None
        The `state` of the trainer to continue from, without the network.

    device : torch.device, default=None
        Where to train. If None, `params` decides.
    """

    def __init__(self, params, encoding, module=None, state=None, device=None):
        self.device = find_device(params.device) if device is None else device
        seeds = (0, 0)  # not used: the state has the generators
        if state is None:
            rng = check_random_state(params.random_state)
            *seeds, init_seed = rng.randint(np.iinfo(np.int32).max, size=3).tolist()
        if module is None:
            n_classes = len(encoding.classes)
            module = build_module(params, encoding.window_shape, n_classes, init_seed)
        # The order is sampled on the host: it is the same on every device.
        self.order = torch.Generator("cpu").manual_seed(seeds[0])
        self.draws = torch.Generator("cpu").manual_seed(seeds[1])
        self.dropout = None
        if self.device.type != "meta":
            self.dropout = torch.Generator(self.device).manual_seed(seeds[1])
        self.module = module.to(self.device)
        # The network that is scored and kept.
        self.kept = self.module if params.ema is None else copy_network(self.module)
        for layer in self.module.modules():
            if isinstance(layer, SeededDropout):
                layer.generator = self.dropout
        self.updates = Updates(self.module, params, self.kept)
        self.batch_size, self.loss = params.batch_size, LOSSES[params.loss]
        self.amp = params.amp
        # Evaluation uses the plain module, so that later predictions are the same.
        self._forward = torch.compile(self.module) if params.compile else self.module
        # Layers of a user's network may use torch's global generators.
        self._uses_global_generators = not isinstance(params.module, str)
        # Outputs of classes that are not trained have no part in the loss.
        self._mask = None
        if not encoding.is_known.all():
            mask = np.where(encoding.is_known, 0, -np.inf).astype(np.float32)
            self._mask = torch.from_numpy(mask).to(self.device)
        if state is not None:
            self.load_state(state)

    def place(self, *arrays):
        """Return data as tensors on the device, or as it is if it does not fit."""
        with own_settings(self.device):
            return place(arrays, self.device)

    def train_epoch(self, X, y, weight=None):
        """Train on all rows once; return the mean loss, a tensor on the device."""
        precision = nullcontext()
        if self.amp:
            precision = torch.autocast(self.device.type, dtype=torch.bfloat16)
        with own_settings(self.device), self._seeded_globally():
            self.module.train()
            total = torch.zeros((), device=self.device, dtype=torch.float32)
            order = torch.randperm(len(X), generator=self.order, device="cpu")
            for X_batch, y_batch, w_batch in iterate_batches(
                (X, y, weight), order, self.batch_size, self.device
            ):
                with precision:
                    logits = _at_least_single(self._forward(X_batch))
                    if self._mask is not None:
                        logits = logits + self._mask
                    losses = self.loss(logits, y_batch)
                    loss = (losses if w_batch is None else losses * w_batch).mean()
                self.updates.step(loss)
                total += loss.detach() * (len(X_batch) / len(X))
            # The last step may have led to infinity: then the loss is NaN as well.
            return total + 0 * forward(self.module, X_batch[:2], self.device).sum()

    @contextmanager
    def _seeded_globally(self):
        """Seed torch's global generators for an epoch, if needed, and restore them."""
        if not self._uses_global_generators:
            yield
            return
        seed = int(torch.randint(2**62, (), generator=self.draws, device="cpu"))
        on_cpu, n_devices = self.device.type == "cpu", torch.cuda.device_count()
        with _generator_lock, torch.random.fork_rng([] if on_cpu else range(n_devices)):
            (torch.default_generator if on_cpu else torch).manual_seed(seed)
            yield

    def logits(self, X):
        """Return the logits of all rows, a tensor on the device."""
        return forward(self.kept, X, self.device)

    def weights(self):
        """Return a copy of the kept weights and buffers, on the device."""
        return deepcopy(network_state(self.kept))

    def load_weights(self, weights):
        """Load what `weights` returned, or raise an error if it does not fit."""
        self._load(self.kept, weights)

    def _load(self, module, weights):
        with own_settings(self.device):
            module.load_state_dict(weights["saved"])
            for name, value in weights["others"].items():
                owner, _, own_name = name.rpartition(".")
                value = value.to(self.device, copy=True)
                setattr(module.get_submodule(owner), own_name, value)

    def state(self):
        """Return all that is needed to resume, besides the parameters."""
        networks = {"kept": self.kept}
        if self.kept is not self.module:
            networks["trained"] = self.module
        return self.updates.state() | {
            "networks": {name: network_state(own) for name, own in networks.items()},
            "order": self.order.get_state(),
            "dropout": self.dropout.get_state(),
            "draws": self.draws.get_state(),
            "device": self.device.type,
        }

    def load_state(self, state):
        """Resume from `state`, with the weights that it has.

        Dropout is not reproduced on another type of device, and a different optimizer
        starts afresh.
        """
        for name, weights in state["networks"].items():
            self._load(self.kept if name == "kept" else self.module, weights)
        with own_settings(self.device):
            self.updates.load_state(state)
            self.order.set_state(state["order"])
            self.draws.set_state(state["draws"])
            if state["device"] == self.device.type:
                self.dropout.set_state(state["dropout"])


# Weights, buffers and checkpoints


def network_state(module):
    """Return the weights and all buffers of a network.

    A network computes with non-persistent buffers as well, which torch leaves out of
    `state_dict`.
    """
    saved = module.state_dict()
    others = {name: b for name, b in module.named_buffers() if name not in saved}
    return {"saved": saved, "others": others}


def hash_network(module):
    """Return bytes that identify the weights and buffers of a network."""
    arrays = {
        (part, name): value.detach().cpu().to(torch.complex128).numpy()
        for part, values in network_state(module).items()
        for name, value in values.items()
        if isinstance(value, torch.Tensor)
    }
    return joblib.hash(arrays).encode()


def dump_tensors(state):
    """Return tensors, numbers, lists and dicts as bytes."""
    buffer = BytesIO()
    torch.save(state, buffer)
    return buffer.getvalue()


def load_tensors(data):
    """Load what `dump_tensors` returned onto the host; refuse anything but data."""
    return torch.load(BytesIO(data), map_location="cpu", weights_only=True)
