"""A plain training loop in torch, with the options that `CNNClassifier` has not.

The weights of every epoch are judged in several ways along one trajectory: as they are,
and as exponential moving averages. Each way has its own early stopping, and training
ends when all have stopped.
"""

import math
from copy import deepcopy
from dataclasses import dataclass, field
from time import perf_counter, process_time

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from torch.nn import functional as F

from sklearn_superior.early_stopping import EarlyStopper
from sklearn_superior.metrics import fit_temperature, get_scorer, scale_temperature

DECAYS = (0.9, 0.99)  # of averages, for each step
_LEARNING_RATE, _BATCH_SIZE, _PATIENCE = 1e-3, 32, 20  # of CNNClassifier


@dataclass(frozen=True)
class Options:
    """How to train.

    Parameters
    ----------
    weight_decay : float, default=None
        Of AdamW. None: NAdam without weight decay.

    cosine : bool, default=False
        Whether the learning rate falls to 0 along a cosine over the budget.

    clip_norm : float, default=None
        The largest norm of a gradient.

    smoothing : float, default=0.0
        Of the labels.

    noise : float, default=0.0
        Standard deviation of the noise that is added to standardised values, and of the
        factors of the channels of a window.
    """

    weight_decay: float | None = None
    cosine: bool = False
    clip_norm: float | None = None
    smoothing: float = 0.0
    noise: float = 0.0


@dataclass
class Way:
    """One way to judge the weights: its stopper, and what it has kept.

    Parameters
    ----------
    module : torch.nn.Module
        The network with the weights that are judged.

    decay : float, default=None
        Decay of the average. None: the weights as they are.
    """

    module: torch.nn.Module
    decay: float | None = None
    stopper: EarlyStopper = field(
        default_factory=lambda: EarlyStopper(n_iter_no_change=_PATIENCE)
    )
    best: dict | None = None
    proba: np.ndarray | None = None  # of the validation part, at the best epoch
    has_stopped: bool = False
    clocks: np.ndarray = field(default_factory=lambda: np.zeros(2))

    def follow(self, module, n_steps):
        """Move the average towards the weights after a step."""
        if self.decay is not None and not self.has_stopped:
            update_average(self.module, module, self.decay, n_steps)

    def judge(self, X, y, scorer):
        """Score the weights after an epoch, and keep them if they are the best."""
        proba = predict_proba(self.module, X)
        self.has_stopped = self.stopper.update(scorer(Forecast(proba), X, y))
        if self.stopper.best_iteration == self.stopper.n_iter - 1:
            self.best, self.proba = deepcopy(self.module.state_dict()), proba


class Forecast(ClassifierMixin, BaseEstimator):
    """Probabilities that are known, as a scorer wants them."""

    def __init__(self, proba):
        self.proba, self.classes_ = proba, np.arange(proba.shape[1])

    def predict_proba(self, X):
        """Return the probabilities."""
        return self.proba


@torch.no_grad()
def update_average(average, module, decay, n_steps):
    """Move an average of weights and buffers towards those after `n_steps` steps.

    The decay is smaller in the first steps, so that the initial weights are forgotten.
    """
    decay = min(decay, (1 + n_steps) / (10 + n_steps))
    own, new = average.state_dict(), module.state_dict()
    names = [name for name, value in own.items() if value.is_floating_point()]
    for name in names:
        own[name].lerp_(new[name], 1 - decay)


@torch.no_grad()
def predict_proba(module, X):
    """Return the probabilities of standardised windows."""
    module.eval()
    logits = torch.cat([module(part) for part in torch.as_tensor(X).split(256)])
    return logits.double().softmax(dim=1).numpy()


def train(build, X, y, X_val, y_val, *, n_classes, options, max_iter, seed):
    """Train a network; return the fitted ways by name.

    Parameters
    ----------
    build : callable
        Builds the network: takes number of channels, length and number of classes.

    X, y, X_val, y_val : ndarray
        Windows and class numbers.

    n_classes : int
        Number of classes.

    options : Options
        How to train.

    max_iter : int
        Number of epochs.

    seed : int
        Of the weights, the order of the windows, dropout and noise.

    Returns
    -------
    fits : dict of str to Fit
    """
    torch.set_flush_denormal(True)  # as CNNClassifier does, for speed
    start = _clocks()
    scaler = Scaler(X)
    X, X_val = scaler(X), scaler(X_val)
    torch.manual_seed(seed)
    module = build(X.shape[1], X.shape[2], n_classes)
    run = _Run(module, len(X), options, max_iter, seed)
    ways = {"plain": Way(module)}
    ways |= {f"ema {d}": Way(deepcopy(module), d) for d in DECAYS}
    scorer = get_scorer("neg_refined_log_loss")
    elapsed = _clocks() - start
    for _ in range(max_iter):
        # An average costs the training of the weights and its own updates.
        elapsed += run.train_epoch(X, torch.as_tensor(y), ways.values())
        for way in ways.values():
            if not way.has_stopped:
                start = _clocks()
                way.judge(X_val, y_val, scorer)
                way.clocks += _clocks() - start
                way.total = elapsed + way.clocks
        if all(way.has_stopped for way in ways.values()):
            break
    return {name: Fit(way, scaler, y_val) for name, way in ways.items()}


class Fit:
    """The best weights of a way, with their temperature."""

    def __init__(self, way, scaler, y_val):
        self.module, self.scaler = way.module, scaler
        self.module.load_state_dict(way.best)
        labels = np.arange(way.proba.shape[1])
        self.temperature_ = fit_temperature(y_val, way.proba, labels=labels)
        self.best_iteration_ = way.stopper.best_iteration
        self.n_iter_, self.clocks = way.stopper.n_iter, way.total

    def predict_proba(self, X):
        """Return calibrated probabilities."""
        proba = predict_proba(self.module, self.scaler(X))
        return scale_temperature(proba, self.temperature_)


class Scaler:
    """Standardises each channel by the training windows."""

    def __init__(self, X):
        self.mean = X.mean(axis=(0, 2), keepdims=True, dtype=float)
        scale = X.std(axis=(0, 2), keepdims=True, dtype=float)
        self.scale = np.where(scale > 1e-6 * np.abs(X).max(), scale, 1.0)

    def __call__(self, X):
        """Return windows as a tensor."""
        return torch.as_tensor(((X - self.mean) / self.scale).astype(np.float32))


class _Run:
    """Module, optimizer, schedule and random numbers of a training."""

    def __init__(self, module, n_rows, options, max_iter, seed):
        self.module, self.options, self.n_steps = module, options, 0
        self.n_batches = max(1, min(-(-n_rows // _BATCH_SIZE), n_rows // 2))
        self.order, self.noise = (torch.Generator().manual_seed(seed) for _ in "12")
        self.optimizer = make_optimizer(module, options.weight_decay)
        n_all = max_iter * self.n_batches
        self.schedule = torch.optim.lr_scheduler.LambdaLR(
            self.optimizer,
            lambda k: 0.5 + 0.5 * math.cos(math.pi * k / n_all),
        )

    def train_epoch(self, X, y, ways):
        """Train on all rows once; return the time without that of the averages."""
        start = _clocks()
        self.module.train()
        order = torch.randperm(len(X), generator=self.order)
        for rows in order.tensor_split(self.n_batches):
            self._step(X[rows], y[rows])
            before = _clocks()
            for way in ways:
                lap = _clocks()
                way.follow(self.module, self.n_steps)
                way.clocks += _clocks() - lap
            start += _clocks() - before
        return _clocks() - start

    def _step(self, X, y):
        options = self.options
        if options.noise:
            X = augment(X, options.noise, self.noise)
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.module(X), y, label_smoothing=options.smoothing)
        loss.backward()
        if options.clip_norm is not None:
            torch.nn.utils.clip_grad_norm_(self.module.parameters(), options.clip_norm)
        self.optimizer.step()
        self.n_steps += 1
        if options.cosine:
            self.schedule.step()


def make_optimizer(module, weight_decay):
    """Return AdamW, or NAdam as in `CNNClassifier`."""
    if weight_decay is None:
        return torch.optim.NAdam(module.parameters(), lr=_LEARNING_RATE)
    return torch.optim.AdamW(
        module.parameters(), lr=_LEARNING_RATE, weight_decay=weight_decay
    )


def augment(X, noise, generator):
    """Return windows with jitter, and with each channel scaled by a random factor."""
    jitter = torch.empty_like(X).normal_(0, noise, generator=generator)
    factor = X.new_empty((*X.shape[:2], 1)).normal_(1, noise, generator=generator)
    return X * factor + jitter


def _clocks():
    """Return CPU time and time by the clock."""
    return np.array([process_time(), perf_counter()])
