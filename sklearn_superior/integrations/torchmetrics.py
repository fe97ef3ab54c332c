"""Scoring rules as torchmetrics metrics, for Lightning and for your own loops."""

import re
from math import inf
from zlib import crc32

import numpy as np

import sklearn_superior.metrics
from sklearn_superior.metrics._kernel import (
    LossSums,
    check_forecast,
    check_options,
    sum_losses,
)
from sklearn_superior.metrics._rules import RULES
from sklearn_superior.utils._optional import import_optional
from sklearn_superior.utils._sklearn_compat import namespace_of

_caller = {"caller": "sklearn_superior.integrations.torchmetrics"}
torch = import_optional("torch", **_caller, extra="torchmetrics")
torchmetrics = import_optional("torchmetrics", **_caller, extra="torchmetrics")

_STATES = ("sums", "lows", "mark")


class _PenalizedLoss(torchmetrics.Metric):  # type: ignore[name-defined]
    """Mean loss whose states are those of a `LossSums`."""

    is_differentiable = False
    higher_is_better = False
    full_state_update = False
    _rule = ""  # of the subclass: the name of a row of the table of rules

    def __init__(self, *, penalty="paper", ties="first", **kwargs):
        options = {"penalty": penalty, "ties": ties}
        if len(RULES[self._rule].scales) > 1:
            options["scale"] = kwargs.pop("scale", "sum")
        super().__init__(**kwargs)
        check_options(RULES[self._rule], **options)
        self._options = options
        # MetricCollection merges metrics whose states are equal after the first batch,
        # as those of perfect predictions can be: this number keeps them apart.
        mark = float(crc32(repr((self._rule, options)).encode()))
        # Two more lows, n_classes and its negative: batches must have the same.
        values = {"sums": [0.0] * 3, "lows": [inf] * 6, "mark": mark}
        for name, merge in zip(_STATES, ("sum", "min", "max"), strict=True):
            value = torch.tensor(values[name], dtype=torch.float64)
            self.add_state(name, value, dist_reduce_fx=merge)

    def update(self, preds, target, sample_weight=None):
        """Add a batch."""
        preds, n_classes = _check_preds(preds)
        target = _check_rows("target", target, preds, n_columns=n_classes)
        if sample_weight is not None:
            sample_weight = _check_rows("sample_weight", sample_weight, preds)
        if len(preds) == 0:
            return
        inputs = target, preds, sample_weight, np.arange(n_classes)
        namespace = namespace_of(preds), preds.device
        forecast = check_forecast(*inputs, namespace=namespace)
        losses = [check_options(RULES[self._rule], **self._options)]
        batch = sum_losses(forecast, losses, to_host=False)
        one = torch.ones_like(batch.lows[:1])
        lows = torch.cat([batch.lows, n_classes * one, -n_classes * one])
        self.sums = self.sums + batch.sums
        self.lows = torch.minimum(self.lows, lows)

    def _apply(self, fn, exclude_state=()):
        """Follow the module to another device, but not to a coarser dtype."""
        this = super()._apply(fn, exclude_state=_STATES)
        dtype = torch.float32 if this.device.type == "mps" else torch.float64
        for name in _STATES:
            this._defaults[name] = this._defaults[name].to(this.device, dtype)
            setattr(this, name, getattr(this, name).to(this.device, dtype))
        return this

    def compute(self):
        """Return the weighted mean of all batches, from all processes."""
        states = torch.cat([self.sums, self.lows]).tolist()  # the one transfer
        *lows, least, most = states[3:]
        if least == inf:
            raise ValueError("There are no samples yet: call update before compute.")
        if least != -most:
            raise ValueError(
                "preds must be for the same number of classes in each update. "
                f"Got {least:.0f} to {-most:.0f} classes."
            )
        label_error = f"are neither class numbers below {least:.0f} nor one-hot"
        sums = LossSums(states[:3], lows)
        sums.check(label_error, names=("target", "preds"))
        return self.sums[0] / self.sums[1]


def _check_preds(preds):
    """Return probabilities of shape (n,) or (n, n_classes), and n_classes."""
    if not (isinstance(preds, torch.Tensor) and preds.is_floating_point()):
        kind = preds.dtype if isinstance(preds, torch.Tensor) else type(preds).__name__
        raise TypeError(f"preds must be a tensor of floats. Got {kind}.")
    if preds.ndim not in (1, 2) or preds.shape[1:] == (0,):
        raise ValueError(
            "preds must be of shape (n_samples,) or (n_samples, n_classes). "
            f"Got {tuple(preds.shape)}."
        )
    preds = _without_column_axis(preds.detach())
    return preds, preds.shape[1] if preds.ndim == 2 else 2


def _check_rows(name, values, preds, *, n_columns=None):
    """Return `values` with a number, or with `n_columns`, for each row of `preds`."""
    if not isinstance(values, torch.Tensor):
        raise TypeError(f"{name} must be a tensor. Got a {type(values).__name__}.")
    values = _without_column_axis(values)
    allowed = [(len(preds),)] + ([(len(preds), n_columns)] if n_columns else [])
    if tuple(values.shape) not in allowed:
        raise ValueError(
            f"{name} must be of shape {' or '.join(map(str, allowed))}, to fit preds. "
            f"Got {tuple(values.shape)}."
        )
    return values


def _without_column_axis(values):
    return values[:, 0] if values.shape[1:] == (1,) else values


# The options are documented as those of the loss of arrays.
_DOC = """Mean {title} of probabilities; lower is better.

    Parameters
    ----------
{options}    **kwargs : dict
        Options of `torchmetrics.Metric`, for example `dist_sync_on_step`.

    See Also
    --------
    sklearn_superior.metrics.{name} : The same number from arrays.

    Notes
    -----
    ``update(preds, target, sample_weight=None)`` takes probabilities, not logits: a
    column for each class, or a single one for class 1 of two. `target` holds the
    numbers of the classes, from 0 up, or is one-hot. A batch is reduced to a few sums
    in float64 on its device, without waiting for the device.

    ``compute()`` returns the weighted mean of all samples so far, over all processes
    of a distributed training. Invalid values are reported only then.

    The value is a loss: positive, lower is better. Lightning callbacks that monitor it
    need ``mode="min"``, whatever its name in the logs. The ``"val_pbs"`` of
    :class:`sklearn_superior.integrations.keras.ScorerCallback` is a negated loss, which
    needs ``mode="max"``.

    Examples
    --------
    >>> import torch
    >>> from sklearn_superior.integrations.torchmetrics import {class_name}
    >>> from sklearn_superior.metrics import {name}
    >>> metric = {class_name}()
    >>> metric.update(torch.tensor([[0.33, 0.34, 0.33]]), torch.tensor([1]))
    >>> metric.update(torch.tensor([[0.51, 0.49, 0.00]]), torch.tensor([1]))
    >>> y_proba = [[0.33, 0.34, 0.33], [0.51, 0.49, 0.00]]
    >>> expected = {name}([1, 1], y_proba, labels=[0, 1, 2])
    >>> abs(metric.compute().item() - expected) < 1e-6
    True
    """


def _make_metric(rule):
    """Return the public class of a row of the table of rules."""
    name = rule.loss_name
    class_name = name.replace("score_loss", "score").title().replace("_", "")
    in_memory = getattr(sklearn_superior.metrics, name).__doc__ or ""
    options = re.search(
        r"    penalty :.*?(?=    (normalize :|Returns))", in_memory, re.S
    )
    doc = _DOC.format(
        title=rule.title,
        options=options.group() if options else "",
        name=name,
        class_name=class_name,
    )
    attributes = {"_rule": rule.name, "__doc__": doc, "__module__": __name__}
    return type(class_name, (_PenalizedLoss,), attributes)


# The public classes: one for each row of the table of rules.
_METRICS = {metric.__name__: metric for metric in map(_make_metric, RULES.values())}
globals().update(_METRICS)
__all__ = list(_METRICS)
