"""Scoring rules as metrics of torchmetrics, for Lightning and for loops of your own."""

from dataclasses import asdict
from math import inf
from zlib import crc32

import numpy as np

from sklearn_superior.metrics._reduce import (
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

__all__ = ["PenalizedBrierScore", "PenalizedLogLoss"]


# The states before the first batch: the sums of no rows.
_NOTHING = LossSums(
    loss=0.0,
    weight=0.0,
    low=inf,
    high=-inf,
    low_sum=inf,
    high_sum=-inf,
    low_weight=inf,
)
_SUMS = tuple(asdict(_NOTHING))
# Batches must be for the same number of classes.
_STATES = (*_SUMS, "low_n_classes", "high_n_classes", "mark")


class _PenalizedLoss(torchmetrics.Metric):  # type: ignore[name-defined]
    """Mean loss whose states are those of a `LossSums`."""

    is_differentiable = False
    higher_is_better = False
    full_state_update = False

    def __init__(self, rule, options, kwargs):
        super().__init__(**kwargs)
        check_options(RULES[rule], **options)
        self._rule, self._options = rule, options
        # MetricCollection takes metrics for the same if their states are equal after
        # the first batch, as those of perfect predictions can be: this number differs.
        mark = float(crc32(repr((rule, options)).encode()))
        initial = asdict(_NOTHING)
        initial |= {"low_n_classes": inf, "high_n_classes": -inf, "mark": mark}
        for name, value in initial.items():
            merge = "sum"
            if name not in ("loss", "weight", "n_invalid"):
                merge = "min" if name.startswith("low") else "max"
            value = torch.tensor(value, dtype=torch.float64)
            self.add_state(name, value, dist_reduce_fx=merge)

    def update(self, preds, target, sample_weight=None):
        """Add a batch."""
        preds, n_classes = _check_preds(preds)
        target = _check_rows("target", target, preds, n_columns=n_classes)
        if sample_weight is not None:
            sample_weight = _check_rows("sample_weight", sample_weight, preds)
        if len(preds) == 0:
            return
        forecast = check_forecast(
            target,
            preds,
            sample_weight=sample_weight,
            labels=np.arange(n_classes),
            namespace=(namespace_of(preds), preds.device),
        )
        batch = sum_losses(forecast, RULES[self._rule], **self._options, to_host=False)
        sums = LossSums(*(getattr(self, name) for name in _SUMS)) + batch
        for name, value in zip(_SUMS, sums.values(), strict=True):
            setattr(self, name, value)
        self.low_n_classes = self.low_n_classes.clamp(max=n_classes)
        self.high_n_classes = self.high_n_classes.clamp(min=n_classes)

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
        states = torch.stack([getattr(self, name) for name in _STATES])
        *sums, least, most, _ = states.tolist()  # the one transfer
        if most == -inf:
            raise ValueError("There is no sample yet: compute needs an update before.")
        if most != least:
            raise ValueError(
                "preds must be for the same number of classes in each update. "
                f"Got {least:.0f} to {most:.0f} classes."
            )
        label_error = f"are neither class numbers below {most:.0f} nor one-hot"
        LossSums(*sums).check(label_error, names=("target", "preds"))
        return self.loss / self.weight


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
    """Return `values` with a number, or a row of so many, for each row of `preds`."""
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


class PenalizedBrierScore(_PenalizedLoss):
    """Penalized Brier score of probabilities; lower is better.

    Parameters
    ----------
    penalty : {"paper", "minimal"} or float, default="paper"
        What a wrong prediction costs on top; 0 gives the Brier score.

    ties : {"first", "split", "correct"}, default="first"
        What is predicted when several classes share the highest probability.

    scale : {"sum", "mean", "half"}, default="sum"
        Factor of the whole loss, penalty included.

    **kwargs : dict
        Options of `torchmetrics.Metric`, for example `dist_sync_on_step`.

    See Also
    --------
    PenalizedLogLoss : The same for the log loss.
    sklearn_superior.metrics.penalized_brier_score_loss : The same number from arrays,
        with the formula and more about the options.

    Notes
    -----
    ``update(preds, target, sample_weight=None)`` takes probabilities, not logits: a
    column for each class, or a single one for class 1 of two. `target` holds the
    numbers of the classes, from 0 up, or is one-hot. A batch is reduced to a few sums
    in float64 on its device, which is not waited for.

    ``compute()`` returns the weighted mean of all samples so far, of all processes in
    a distributed training. Only then are values that are not valid reported.

    Examples
    --------
    >>> import torch
    >>> from sklearn_superior.integrations.torchmetrics import PenalizedBrierScore
    >>> metric = PenalizedBrierScore()
    >>> metric.update(torch.tensor([[0.33, 0.34, 0.33]]), torch.tensor([1]))
    >>> metric.update(torch.tensor([[0.51, 0.49, 0.00]]), torch.tensor([1]))
    >>> metric.compute().item()
    0.92013
    """

    def __init__(self, *, penalty="paper", ties="first", scale="sum", **kwargs):
        options = {"penalty": penalty, "ties": ties, "scale": scale}
        super().__init__("brier", options, kwargs)


class PenalizedLogLoss(_PenalizedLoss):
    """Penalized log loss of probabilities; lower is better.

    Parameters
    ----------
    penalty : {"paper", "minimal"} or float, default="paper"
        What a wrong prediction costs on top; 0 gives the log loss.

    ties : {"first", "split", "correct"}, default="first"
        What is predicted when several classes share the highest probability.

    **kwargs : dict
        Options of `torchmetrics.Metric`, for example `dist_sync_on_step`.

    See Also
    --------
    PenalizedBrierScore : The same for the Brier score, with more notes.
    sklearn_superior.metrics.penalized_log_loss : The same number from arrays, with the
        formula and more about the options.

    Examples
    --------
    >>> import torch
    >>> from sklearn_superior.integrations.torchmetrics import PenalizedLogLoss
    >>> metric = PenalizedLogLoss()
    >>> metric.update(torch.tensor([[0.33, 0.34, 0.33]]), torch.tensor([1]))
    >>> metric.update(torch.tensor([[0.51, 0.49, 0.00]]), torch.tensor([1]))
    >>> metric.compute().item()
    1.44538
    """

    def __init__(self, *, penalty="paper", ties="first", **kwargs):
        super().__init__("log_loss", {"penalty": penalty, "ties": ties}, kwargs)
