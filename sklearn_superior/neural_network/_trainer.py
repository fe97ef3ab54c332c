"""The training loop in torch.

Data lies on the device, or comes there batch by batch if it does not fit. Nothing is
read back before an epoch is over, so that a GPU never waits for Python.
"""

from collections import defaultdict
from contextlib import ExitStack, contextmanager, nullcontext
from copy import deepcopy
from functools import partial, wraps
from inspect import signature
from io import BytesIO
from threading import Lock, current_thread, main_thread

import numpy as np
import torch
from joblib import effective_n_jobs
from scipy.special import softmax
from sklearn.utils import check_random_state
from torch.nn import functional as F

from sklearn_superior.neural_network._module import make_cnn, seed_dropout
from sklearn_superior.utils._device import find_device
from sklearn_superior.utils._parallel import limit_threads
from sklearn_superior.utils._warnings import warn

# Parameters of the classifier that the network, and its training, depend on.
_ARCHITECTURE = ("channels", "kernel_size", "hidden", "dropout")
_TRAINING = ("optimizer", "learning_rate", "batch_size", "loss", "amp", "compile")
# Values of the input that are predicted at once: bounds the memory, fits the caches.
_EVALUATION_SIZE = 2**17
_SMALL = 2**24  # bytes of windows that are encoded once, instead of in every epoch

_generator_lock = Lock()


# What torch keeps for a thread or for the process


@contextmanager
def use_threads(n_jobs):
    """Limit the threads of torch in this context, for the calling thread alone."""
    n_threads = min(effective_n_jobs(n_jobs), torch.get_num_threads())
    if current_thread() is not main_thread():  # others are likely to be at work, too
        n_threads = 1
    with limit_threads(n_threads):
        yield


@contextmanager
def own_settings(device):
    """Set all that a user may have set for code around a fit or a prediction.

    These are the default type and device of tensors, the modes for gradients and mixed
    precision, and what becomes of numbers next to zero.
    """
    with ExitStack() as stack:
        stack.enter_context(_default_dtype)
        stack.enter_context(torch.inference_mode(False))
        stack.enter_context(torch.enable_grad())
        for kind in {"cpu", device.type}:
            if torch.amp.is_autocast_available(kind):
                stack.enter_context(torch.autocast(kind, enabled=False))
        around = torch.get_default_device()
        if around.type not in ("cpu", device.type):
            stack.enter_context(torch.device(device))
        stack.enter_context(_flush_tiny_numbers())
        yield


def in_own_settings(method):
    """Run a method with the settings for the device of its object."""

    @wraps(method)
    def wrapper(self, *args):
        with own_settings(self.device):
            return method(self, *args)

    return wrapper


@contextmanager
def _flush_tiny_numbers():
    """Round numbers next to zero down to it: a CPU computes slowly with them.

    They come when a network is sure of itself, and can double the time of an epoch.
    """
    before = np.float32(2e-38) * np.float32(0.1) == 0
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(bool(before))


class _DefaultDtype:
    """Single precision while it is entered; threads share the setting of torch."""

    def __init__(self):
        self._lock, self._n_inside = Lock(), 0

    def __enter__(self):
        with self._lock:
            if self._n_inside == 0:
                self._before = torch.get_default_dtype()
                torch.set_default_dtype(torch.float32)
            self._n_inside += 1

    def __exit__(self, *_):
        with self._lock:
            self._n_inside -= 1
            if self._n_inside == 0:
                torch.set_default_dtype(self._before)


_default_dtype = _DefaultDtype()


# From the parameters of a classifier to its network and its probabilities


def make_trainer(params, encoding, module=None, state=None):
    """Make a trainer of a new network, or of a given one.

    Parameters
    ----------
    params : CNNClassifier
        Has the parameters.

    encoding : Encoding
        What the network takes.

    module : torch.nn.Module, default=None
        The network to continue with.

    state : dict, default=None
        The `state` of the trainer to continue from, without the network.
    """
    device = find_device(params.device)
    seeds = (0, 0)  # the state has the random numbers
    if state is None:
        rng = check_random_state(params.random_state)
        *seeds, init_seed = rng.randint(np.iinfo(np.int32).max, size=3).tolist()
    if module is None:
        options = {name: getattr(params, name) for name in _ARCHITECTURE}
        module = build_module(
            partial(make_cnn, **options) if params.module is None else params.module,
            init_seed,
            encoding.window_shape,
            len(encoding.classes),
        )
    trainer = Trainer(
        module,
        device,
        seeds,
        may_draw=params.module is not None,
        is_known=encoding.is_known,
        **{name: getattr(params, name) for name in _TRAINING},
    )
    if state is not None:
        trainer.load_state(state)
    return trainer


def build_module(source, seed, window_shape, n_classes):
    """Return a new network: a copy of one, or of what a callable builds.

    The callable may return the same network every time, or one that the user goes on
    to use. torch's global generator is seeded for it, and left as it was.
    """
    cpu = torch.device("cpu")
    # Without gradients, or a network with the old `weight_norm` could not be copied.
    with own_settings(cpu), torch.no_grad(), _generator_lock:
        with torch.random.fork_rng(devices=[]):
            torch.random.default_generator.manual_seed(seed)
            if not isinstance(source, torch.nn.Module):
                source = _call_builder(source, (*window_shape, n_classes))
            module = copy_network(source).cpu().eval()
            generator = torch.Generator("cpu").manual_seed(0)
            X = torch.randn(2, *window_shape, generator=generator)
            try:  # here, because lazy layers draw their weights now
                outputs = module(X)
                shape = tuple(outputs.shape)
            except Exception as exc:
                raise ValueError(
                    "The 'module' parameter must give a network that takes float32 "
                    f"batches of shape (n, {window_shape[0]}, {window_shape[1]}): {exc}"
                ) from exc
    if shape != (2, n_classes):
        raise ValueError(
            "The 'module' parameter must give a network with a logit for each of "
            f"{n_classes} classes. For two windows it gave shape {shape}."
        )
    outputs = outputs.double()
    if (outputs >= 0).all() and (outputs.sum(dim=1) - 1).abs().max() < 1e-3:
        warn(
            "The network of the 'module' parameter seems to end in a softmax: its "
            "outputs are not negative and sum to one. They are taken for logits, and "
            "another softmax is applied. Remove that of the network."
        )
    return module


def copy_network(module):
    """Copy a network, also one with lazy buffers, which torch does not copy."""
    lazy = torch.nn.UninitializedBuffer
    memo = {id(b): lazy(dtype=b.dtype) for b in module.buffers() if isinstance(b, lazy)}
    with own_settings(torch.device("cpu")):  # to train what comes from inference mode
        return deepcopy(module, memo)


def _call_builder(build, args):
    expected = "module(n_channels, length, n_classes)"
    try:
        signature(build).bind(*args)
    except (TypeError, ValueError) as exc:
        raise ValueError(
            f"The 'module' parameter must be a callable with the signature {expected}, "
            f"or a network. Got {build!r}: {exc}."
        ) from exc
    module = build(*args)
    if not isinstance(module, torch.nn.Module):
        raise ValueError(
            f"The 'module' parameter must be a callable, {expected}, that returns a "
            f"torch.nn.Module. It returned {module!r}."
        )
    return module


def predict_proba(module, encoding, X, *, device, n_jobs):
    """Return the probabilities of the classes that a network knows.

    Parameters
    ----------
    module : torch.nn.Module
        The network.

    encoding : Encoding
        What it takes.

    X : ndarray
        Windows that are checked.

    device, n_jobs
        Where to predict, and with how many threads.
    """
    device = find_device(device, or_cpu=True)
    with use_threads(n_jobs):
        y_proba = to_proba(
            forward(module.to(device), encoding.transform(X), device), encoding
        )
    if not np.isfinite(y_proba).all():
        raise ValueError(
            "X holds values that are too large for the network, in row "
            f"{np.flatnonzero(~np.isfinite(y_proba).all(axis=1))[0]}."
        )
    return y_proba


def to_proba(logits, encoding):
    """Probabilities of the known classes in double precision, on the host."""
    logits = logits.cpu().numpy().astype(np.float64)
    return softmax(logits[:, encoding.is_known], axis=1)


def forward(module, X, device):
    """Return the outputs for all rows, as one tensor on the device."""
    n_rows = max(1, _EVALUATION_SIZE // (X.shape[1] * X.shape[2]))
    outputs = []
    # Not inference mode: what a network stores in it cannot be trained later.
    with own_settings(device), torch.no_grad():
        module.eval()
        for start in range(0, len(X), n_rows):
            batch = _as_tensor(X[start : start + n_rows])
            outputs.append(
                _at_least_single(module(batch.to(device, non_blocking=True)))
            )
    return torch.cat(outputs)


def _at_least_single(logits):
    """Return logits in single precision, if they have less."""
    return logits if logits.dtype == torch.float64 else logits.float()


# What is minimised, and how


def brier_loss(logits, y):
    """Brier scores of the softmax of the logits."""
    proba = logits.softmax(dim=1)
    own = proba.gather(1, y.unsqueeze(1)).squeeze(1)
    return proba.square().sum(dim=1) - 2 * own + 1


def log_loss(logits, y):
    """Log losses of the softmax of the logits."""
    return F.cross_entropy(logits, y, reduction="none")


LOSSES = {"brier": brier_loss, "log_loss": log_loss}

_FUSED_DEVICES = ("cpu", "cuda", "mps")
_BETA, _MOMENTUM_DECAY = 0.9, 4e-3  # the defaults of torch's NAdam


class NAdam(torch.optim.Adam):
    r"""NAdam by the fused kernel of Adam.

    NAdam steps along :math:`a g + b m_t`, where :math:`g` is the gradient and
    :math:`m_t = \beta_1 m_{t-1} + (1 - \beta_1) g` the first moment. Both are
    combinations of :math:`m_{t-1}` and :math:`g`. So Adam, given another
    :math:`\beta_1` and another learning rate, takes that very step, and its first
    moment is :math:`m_t` after a small correction towards the gradient.

    What it buys: a step reads and writes every weight, its gradient and two moments,
    which takes longer than the gradients of a small batch. torch has a fused kernel for
    Adam but none for NAdam. On a CPU, a step of the network of the paper takes a
    seventh of the time of torch's NAdam.
    """

    def __init__(self, params, lr, **rest):
        super().__init__(params, lr=lr, betas=(_BETA, 0.999), **rest)
        self._lr, self._n_steps, self._mu_products = lr, {}, [1.0]

    def load_state_dict(self, state_dict):
        """Take over the moments, and the number of steps of each parameter."""
        super().load_state_dict(state_dict)
        self._n_steps = {p: int(own["step"]) for p, own in self.state.items()}

    @torch.no_grad()
    def step(self, closure=None):
        """Take a step."""
        # All steps depend on how many a parameter has made: it makes none without a
        # gradient. Mostly all parameters have made the same, and there is one kernel.
        by_n_steps = defaultdict(list)
        (group,) = self.param_groups
        params = group["params"]
        for p in params:
            if p.grad is not None:
                self._n_steps[p] = self._n_steps.get(p, 0) + 1
                by_n_steps[self._n_steps[p]].append(p)
        try:
            for n_steps, alike in by_n_steps.items():
                group["params"] = alike
                correction = self._pose_as_adam(group, n_steps)
                super().step()
                moments = [self.state[p]["exp_avg"] for p in alike]
                _lerp_all(moments, [p.grad for p in alike], correction)
        finally:
            group["params"] = params

    def _pose_as_adam(self, group, t):
        """Set Adam's parameters for step t; return how to correct the moment."""
        products = self._mu_products
        while len(products) <= t:
            products.append(products[-1] * _momentum(len(products)))
        mu_next = _momentum(t + 1)
        on_gradient = self._lr * (1 - _momentum(t)) / (1 - products[t])
        on_moment = self._lr * mu_next / (1 - products[t] * mu_next)
        size = on_gradient + on_moment
        adam_beta = _BETA * on_moment / size
        group["betas"] = (adam_beta, group["betas"][1])
        group["lr"] = size * (1 - adam_beta**t)
        return 1 - _BETA / adam_beta


def _momentum(t):
    return _BETA * (1 - 0.5 * 0.96 ** (t * _MOMENTUM_DECAY))


def _lerp_all(tensors, ends, weight):
    """Move all tensors towards their ends, in place, by one kernel if there is one."""
    # The one private name of torch: the public way is a kernel for each tensor.
    foreach = getattr(torch, "_foreach_lerp_", None)
    if foreach is not None:
        foreach(tensors, ends, weight)
        return
    for tensor, end in zip(tensors, ends, strict=True):
        tensor.lerp_(end, weight)


_OPTIMIZERS = {"adam": torch.optim.Adam, "nadam": NAdam, "sgd": torch.optim.SGD}


def make_optimizer(name, params, learning_rate):
    """Make an optimizer by its name, with the fused kernel where there is one."""
    params = list(params)
    if not any(p.requires_grad for p in params):
        frozen = "no parameters" if not params else "frozen parameters only"
        raise ValueError(
            f"The network must have parameters to train. Got one with {frozen}: see "
            "the 'module' parameter and requires_grad."
        )
    fused = all(p.device.type in _FUSED_DEVICES for p in params)
    return _OPTIMIZERS[name](params, lr=float(learning_rate), fused=fused)


# The loop


def draw_batches(data, order, batch_size, device):
    """Yield the rows of the data in the given order, in batches of equal size.

    No batch has a single row, which has no variance for batch normalisation, unless
    `batch_size` is 1. What lies on the host is copied through pinned memory, while the
    device is still busy with the batch before.
    """
    n_batches = -(-len(order) // batch_size)
    if batch_size > 1:
        n_batches = max(1, min(n_batches, len(order) // 2))
    home = getattr(data[0], "device", torch.device("cpu"))
    for rows in order.to(home, non_blocking=True).tensor_split(n_batches):
        batch = [None if part is None else _as_tensor(part[rows]) for part in data]
        if home != device:
            batch = [_send(part, device) for part in batch]
        yield batch


def _as_tensor(part):
    return part if isinstance(part, torch.Tensor) else torch.from_numpy(part)


def _send(tensor, device):
    if tensor is not None and device.type == "cuda":
        tensor = tensor.pin_memory()
    return None if tensor is None else tensor.to(device, non_blocking=True)


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
        Whether layers may draw from torch's own generators, as those of a user's
        network may. Then these are seeded, and such networks are not trained at the
        same time.

    is_known : ndarray of bool, default=None
        Which outputs are of classes to train on. The others have no part in the loss.
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
        is_known=None,
    ):
        self.device = device
        # The order is drawn on the host: the same on every device.
        self.order = torch.Generator("cpu").manual_seed(seeds[0])
        self.dropout = None
        if device.type != "meta":
            self.dropout = torch.Generator(device).manual_seed(seeds[1])
        self.module = seed_dropout(module, self.dropout, replace=not may_draw)
        self.module.to(device)
        self.optimizer = make_optimizer(
            optimizer, self.module.parameters(), learning_rate
        )
        self.optimizer_name, self.batch_size = str(optimizer), batch_size
        self.loss = LOSSES[loss]
        self.amp = amp
        # Evaluation takes the plain module, so that predictions later are the same.
        self._forward = torch.compile(self.module) if compile else self.module
        self.draws = torch.Generator("cpu").manual_seed(seeds[1])
        self._may_draw = may_draw
        self._closed = None
        if is_known is not None and not is_known.all():
            closed = np.where(is_known, 0, -np.inf).astype(np.float32)
            self._closed = torch.from_numpy(closed).to(device)

    @in_own_settings
    def place(self, *arrays):
        """Return data for the device: as tensors there, if it takes half of it at most.

        On a CPU, windows that take much memory are encoded batch by batch.
        """
        n_bytes = sum(part.nbytes for part in arrays if part is not None)
        fits = self.device.type != "cuda"
        fits = fits or 2 * n_bytes <= torch.cuda.mem_get_info(self.device)[0]
        return [self._place(part, fits) for part in arrays]

    def _place(self, part, fits):
        if not isinstance(part, np.ndarray):
            on_cpu = self.device.type == "cpu"
            if part is None or not fits or (on_cpu and part.nbytes > _SMALL):
                return part
            part = part[:]
        tensor = torch.from_numpy(part)
        return tensor.to(self.device) if fits else tensor

    @in_own_settings
    def train_epoch(self, X, y, weight=None):
        """Train on all rows once; return the mean loss, a tensor on the device."""
        with self._own_generators() if self._may_draw else nullcontext():
            return self._train_epoch(X, y, weight)

    @contextmanager
    def _own_generators(self):
        """Seed torch's own generators for an epoch, and leave them as they were."""
        seed = int(torch.randint(2**62, (), generator=self.draws, device="cpu"))
        on_cpu, n_devices = self.device.type == "cpu", torch.cuda.device_count()
        with _generator_lock, torch.random.fork_rng([] if on_cpu else range(n_devices)):
            (torch.default_generator if on_cpu else torch).manual_seed(seed)
            yield

    def _train_epoch(self, X, y, weight):
        self.module.train()
        total = torch.zeros((), device=self.device)
        order = torch.randperm(len(X), generator=self.order, device="cpu")
        for X_batch, y_batch, w_batch in draw_batches(
            (X, y, weight), order, self.batch_size, self.device
        ):
            self.optimizer.zero_grad()
            with self._precision():
                losses = self.loss(self._logits(X_batch), y_batch)
                loss = (losses if w_batch is None else losses * w_batch).mean()
            loss.backward()
            self.optimizer.step()
            total += loss.detach() * (len(X_batch) / len(X))
        # The last step may have led to infinity: then the loss is NaN as well.
        return total + 0 * forward(self.module, X_batch[:2], self.device).sum()

    def _logits(self, X):
        try:
            logits = _at_least_single(self._forward(X))
        except ValueError as exc:
            if len(X) > 1 or "more than 1 value per channel" not in str(exc):
                raise
            raise ValueError(
                "Batch normalisation needs at least two windows in a batch. Got one: "
                f"batch_size={self.batch_size}, or a single window to train on."
            ) from exc
        return logits if self._closed is None else logits + self._closed

    def _precision(self):
        if self.amp:
            return torch.autocast(self.device.type, dtype=torch.bfloat16)
        return nullcontext()

    def logits(self, X):
        """Return the outputs for all rows, a tensor on the device."""
        return forward(self.module, X, self.device)

    def weights(self):
        """Return a copy of weights and buffers, on the device."""
        return {
            part: {name: deepcopy(value) for name, value in tensors.items()}
            for part, tensors in network_state(self.module).items()
        }

    @in_own_settings
    def load_weights(self, weights):
        """Take over what `weights` returned; an error if it does not fit."""
        load_network_state(self.module, weights, self.device)

    def state(self):
        """Return all that is needed to resume, besides the settings."""
        return {
            "module": network_state(self.module),
            "optimizer": self.optimizer_name,
            "moments": self.optimizer.state_dict()["state"],
            "order": self.order.get_state(),
            "dropout": self.dropout.get_state(),
            "draws": self.draws.get_state(),
            "device": self.device.type,
        }

    @in_own_settings
    def load_state(self, state):
        """Resume from `state`, with the weights of it if it has some.

        On another kind of device the numbers that dropout draws are others. Another
        optimizer starts afresh.
        """
        if "module" in state:
            self.load_weights(state["module"])
        if state["optimizer"] == self.optimizer_name:
            self._load_moments(state["moments"])
        self.order.set_state(state["order"])
        self.draws.set_state(state["draws"])
        if state["device"] == self.device.type:
            self.dropout.set_state(state["dropout"])

    def _load_moments(self, moments):
        shapes = [p.shape for p in self.module.parameters()]
        for number, own in moments.items():
            # Fused kernels do not check shapes: a wrong one would crash the process.
            found = {v.shape for v in own.values() if v is not None and v.ndim}
            if number >= len(shapes) or not found <= {shapes[number]}:
                raise ValueError("the state of the optimizer is of another network")
        state = self.optimizer.state_dict() | {"state": deepcopy(moments)}
        self.optimizer.load_state_dict(state)


# Weights, buffers and checkpoints


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
