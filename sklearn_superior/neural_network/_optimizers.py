"""How the weights of a network change from batch to batch."""

from collections import defaultdict
from copy import deepcopy

import torch
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.utils import clip_grad_norm_
from torch.optim.swa_utils import get_ema_multi_avg_fn

_BETA, _MOMENTUM_DECAY = 0.9, 4e-3  # the defaults of torch's NAdam


class NAdam(torch.optim.Adam):
    r"""NAdam by the fused kernel of Adam.

    NAdam steps along :math:`a g + b m_t`, where :math:`g` is the gradient and
    :math:`m_t = \beta_1 m_{t-1} + (1 - \beta_1) g` the first moment. Both are
    combinations of :math:`m_{t-1}` and :math:`g`. So Adam, given another
    :math:`\beta_1` and another learning rate, takes that very step, and its first
    moment is :math:`m_t` after a small correction towards the gradient.

    A step reads and writes every weight, its gradient and two moments, which takes
    longer than the gradients of a small batch. torch has a fused kernel for Adam but
    none for NAdam. On a CPU, a step of the network of the paper takes a seventh of the
    time of torch's NAdam.
    """

    def __init__(self, params, lr, **rest):
        super().__init__(params, lr=lr, betas=(_BETA, 0.999), **rest)
        self._n_steps, self._mu_products = {}, [1.0]

    def load_state_dict(self, state_dict):
        """Load the moments, and the number of steps of each parameter."""
        super().load_state_dict(state_dict)
        self._n_steps = {p: int(own["step"]) for p, own in self.state.items()}

    @torch.no_grad()
    def step(self, closure=None):
        """Take a step."""
        # A step depends on the number of steps before it, and a parameter without a
        # gradient makes none. Usually all parameters have made the same number of
        # steps, and a single kernel updates them.
        by_n_steps = defaultdict(list)
        (group,) = self.param_groups
        own = dict(group)
        for p in own["params"]:
            if p.grad is not None:
                self._n_steps[p] = self._n_steps.get(p, 0) + 1
                by_n_steps[self._n_steps[p]].append(p)
        try:
            for n_steps, alike in by_n_steps.items():
                posed, correction = self._pose_as_adam(own, n_steps)
                group.update(posed, params=alike)
                super().step()
                moments = [self.state[p]["exp_avg"] for p in alike]
                # A private name, because the public way is a kernel per tensor.
                torch._foreach_lerp_(moments, [p.grad for p in alike], correction)
        finally:
            group.update(own)  # a schedule changes the learning rate of the group

    def _pose_as_adam(self, own, t):
        """Return Adam's parameters for step t, and the correction of the moment."""
        products = self._mu_products
        while len(products) <= t:
            products.append(products[-1] * _momentum(len(products)))
        mu_next = _momentum(t + 1)
        on_gradient = own["lr"] * (1 - _momentum(t)) / (1 - products[t])
        on_moment = own["lr"] * mu_next / (1 - products[t] * mu_next)
        size = on_gradient + on_moment
        adam_beta = _BETA * on_moment / size
        posed = {"betas": (adam_beta, own["betas"][1]), "lr": size * (1 - adam_beta**t)}
        return posed, 1 - _BETA / adam_beta


def _momentum(t):
    return _BETA * (1 - 0.5 * 0.96 ** (t * _MOMENTUM_DECAY))


_OPTIMIZERS = {"adam": torch.optim.Adam, "nadam": NAdam, "sgd": torch.optim.SGD}


def make_optimizer(name, params, learning_rate):
    """Make an optimizer by its name, with the fused kernel if there is one."""
    params = list(params)
    if not any(p.requires_grad for p in params):
        frozen = "no parameters" if not params else "frozen parameters only"
        raise ValueError(
            f"The network must have parameters to train, but it has {frozen}: see the "
            "'module' parameter and requires_grad."
        )
    fused = all(
        p.device.type in ("cpu", "cuda", "mps") and p.is_floating_point()
        for p in params
    )
    return _OPTIMIZERS[name](params, lr=float(learning_rate), fused=fused)


class Updates:
    """The updates of the weights: the optimizer, and what surrounds its steps.

    Whatever is added to a step keeps what it needs to resume in the `state`.

    Parameters
    ----------
    module : torch.nn.Module
        The network, on its device.

    params : CNNClassifier
        Provides the parameters.

    kept : torch.nn.Module
        The network that is scored and kept: the same one, or a copy of it, which
        becomes the average of its weights.
    """

    def __init__(self, module, params, kept):
        self.module, self.kept = module, kept
        self.name, self.ema = str(params.optimizer), params.ema
        self.clip_norm = params.clip_norm
        self.optimizer = make_optimizer(
            self.name, module.parameters(), params.learning_rate
        )
        self.n_steps = 0

    def step(self, loss):
        """Update the weights by the gradients of a loss, and free the gradients."""
        loss.backward()
        if self.clip_norm is not None:
            clip_grad_norm_(self.module.parameters(), float(self.clip_norm))
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.n_steps += 1
        if self.kept is not self.module:
            self._move_average()

    @torch.no_grad()
    def _move_average(self):
        """Move the average towards the present weights, and copy all the rest.

        Statistics of batch normalisation are averaged as well. Other buffers and frozen
        parameters may be masks, counters or caches, of which there is no average. The
        decay begins small, so that the initial weights are soon forgotten.
        """
        pairs = []
        parameters = self.kept.parameters(), self.module.parameters()
        for mean, value in zip(*parameters, strict=True):
            if value.requires_grad:
                pairs.append((mean, value))
            else:
                mean.copy_(value)
        layers = self.kept.modules(), self.module.modules()
        for own, layer in zip(*layers, strict=True):
            for name, value in layer.named_buffers(recurse=False):
                if isinstance(layer, _BatchNorm) and value.is_floating_point():
                    pairs.append((getattr(own, name), value))
                else:
                    setattr(own, name, value.clone())
        decay = min(float(self.ema), (1 + self.n_steps) / (10 + self.n_steps))
        get_ema_multi_avg_fn(decay)(*zip(*pairs, strict=True), None)

    def state(self):
        """Return what is needed to resume, besides parameters and networks."""
        moments = self.optimizer.state_dict()["state"]
        return {"optimizer": self.name, "moments": moments, "n_steps": self.n_steps}

    def load_state(self, state):
        """Resume from `state`; a different optimizer starts afresh."""
        self.n_steps = state["n_steps"]
        if state["optimizer"] == self.name:
            moments = deepcopy(state["moments"])
            self.optimizer.load_state_dict(
                self.optimizer.state_dict() | {"state": moments}
            )
