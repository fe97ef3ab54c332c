"""Policies of the study of few validation rows, and what is recorded of a stage."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from sklearn_superior.early_stopping import EarlyStopper
from sklearn_superior.metrics import fit_temperature, scale_temperature
from studies._scores import (
    ANY_TEMPERATURE,
    brier_score,
    log_losses,
    macro_f1,
    paper_penalty,
    shorten,
)

# How the temperature is fitted. A number is the scale of the prior; "bare" minimises
# the log loss, "smoothed" that of smoothed labels, "mixed" is bare, and then mixes the
# probabilities with uniform ones (the "ts-mix" of probmetrics).
PRIORS = {"1": 1.0, "0.7": 0.7, "0.5": 0.5, "0.3": 0.3}
CALIBRATIONS = ("bare", *PRIORS, "smoothed", "mixed")


@dataclass(frozen=True)
class Policy:
    """How the stage is chosen, and what is shipped.

    Parameters
    ----------
    rule : {"log_loss", "brier"}
        What is computed from the validation part.

    patience : int
        Stages without improvement after which training stops.

    penalized : bool, default=False
        Whether wrong predictions are penalized as in the paper.

    judged : str or None, default=None
        The calibration before the rule is computed: of a refined rule.

    shipped : str or None, default=None
        The calibration of the kept stage. If None, that of `judged`.

    soften : bool, default=False
        Whether temperatures below 1 count as 1. That is the best temperature of at
        least 1, see `studies.defaults.soften`.
    """

    rule: str
    patience: int
    penalized: bool = False
    judged: str | None = None
    shipped: str | None = None
    soften: bool = False

    def _read(self, row, name, calibration):
        """Return a loss at a stage, or at all, after a calibration."""
        if calibration is None:
            return np.asarray(row[name])
        value = np.asarray(row[f"{name} {calibration}"])
        if self.soften:
            sharpens = np.less(row[f"temperature {calibration}"], 1)
            return np.where(sharpens, row[name], value)
        return value

    def score(self, row, n_rows, n_classes):
        """Return the value of the rule at a stage, or at all; lower is better."""
        value = self._read(row, self.rule, self.judged)
        if not self.penalized:
            return value
        penalty = paper_penalty(self.rule, n_classes)
        return value + penalty * np.asarray(row["errors"]) / n_rows

    def choose(self, record):
        """Return the stage that is kept."""
        n_rows = record["n_rows"]["validation"]
        stopper = EarlyStopper(n_iter_no_change=self.patience, greater_is_better=False)
        for score in self.score(record["stages"], n_rows, record["n_classes"]):
            if stopper.update(score):
                break
        return stopper.best_iteration

    def judge(self, record):
        """Return the log loss and macro F1 of the kept model on the test part."""
        best, stages = self.choose(record), record["stages"]
        loss = self._read(stages, "test_log_loss", self.shipped or self.judged)
        return float(loss[best]), stages["test_f1"][best]


OLD, PLAIN = "PBS, 10, no temperature", "log loss, 10, no temperature"
POLICIES = {
    OLD: Policy("brier", 10, penalized=True),
    PLAIN: Policy("log_loss", 10),
    "log loss, 20, σ = 0.5": Policy("log_loss", 20, shipped="0.5"),
    "refined log loss, 20, no prior": Policy("log_loss", 20, judged="bare"),
    **{
        f"refined log loss, 20, σ = {name}": Policy("log_loss", 20, judged=name)
        for name in PRIORS
    },
    "refined log loss, 20, ts-mix": Policy("log_loss", 20, judged="mixed"),
    "refined PLL, 20, no prior": Policy("log_loss", 20, True, "bare"),
    **{
        f"refined PLL, 20, σ = {name}": Policy("log_loss", 20, True, name)
        for name in PRIORS
    },
    "refined PLL, 20, smoothed labels": Policy("log_loss", 20, True, "smoothed"),
    "refined PLL, 20, ts-mix": Policy("log_loss", 20, True, "mixed"),
    "refined log loss, 20, no prior, T ≥ 1": Policy(
        "log_loss", 20, judged="bare", soften=True
    ),
    "refined log loss, 20, σ = 0.5, T ≥ 1": Policy(
        "log_loss", 20, judged="0.5", soften=True
    ),
    "refined PLL, 20, σ = 0.5, T ≥ 1": Policy("log_loss", 20, True, "0.5", soften=True),
}


def fit_calibrations(y, proba):
    """Return the temperature of each calibration but the mixed one."""
    labels = np.arange(proba.shape[1])

    def fit(prior_scale):
        return fit_temperature(
            y, proba, labels=labels, prior_scale=prior_scale, **ANY_TEMPERATURE
        )

    return {
        "bare": fit(None),
        **{name: fit(scale) for name, scale in PRIORS.items()},
        "smoothed": fit_smoothed(y, proba),
    }


def fit_smoothed(y, proba):
    """Return the temperature with the lowest log loss of smoothed labels.

    The labels are mixed with uniform ones that weigh as much as one row in total.
    """
    logs = np.log(np.maximum(proba, np.finfo(proba.dtype).eps)).astype(float)
    weight = 1 / (len(y) + 1)
    target = (1 - weight) * logs[np.arange(len(y)), y] + weight * logs.mean(axis=1)

    def loss(log_inverse):
        inverse = np.exp(log_inverse)
        return np.sum(logsumexp(inverse * logs, axis=1) - inverse * target)

    found = minimize_scalar(loss, bounds=(-7, 14), method="bounded")
    return float(np.exp(-found.x))


def measure(y, proba):
    """Return what is recorded of a stage; `y` and `proba` have both parts."""
    (y_val, y_test), (val, test) = y, proba
    row = {
        "log_loss": log_losses(y_val, val).mean(),
        "brier": brier_score(y_val, val),
        "errors": int(np.sum(val.argmax(axis=1) != y_val)),
        "test_log_loss": log_losses(y_test, test).mean(),
        "test_f1": macro_f1(y_test, test.argmax(axis=1), test.shape[1]),
    }
    uniform = 1 / (len(y_val) + 1)
    for name, temperature in fit_calibrations(y_val, val).items():
        scaled = (
            scale_temperature(val, temperature),
            scale_temperature(test, temperature),
        )
        kinds = {name: 0.0, "mixed": uniform} if name == "bare" else {name: 0.0}
        row[f"temperature {name}"] = temperature
        for kind, share in kinds.items():
            row[f"log_loss {kind}"] = log_losses(y_val, scaled[0], share).mean()
            row[f"test_log_loss {kind}"] = log_losses(y_test, scaled[1], share).mean()
    # Most digits for what the stage is chosen by.
    n_digits = {"test": 5, "temp": 3}
    return {
        name: value if name == "errors" else shorten(value, n_digits.get(name[:4], 6))
        for name, value in row.items()
    }
