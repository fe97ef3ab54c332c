"""The table of scoring rules.

A row says how one forecast is scored and how far the rule can go wrong: the worst
score of a correct prediction and the best score of a wrong one. The penalties follow
from these two. The public functions in `_losses.py` and the scorers in `_scorers.py`
look up their rule here, and the property tests run over every row.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import log, sqrt
from numbers import Real
from typing import Any

import numpy as np

__all__ = [
    "PRIOR_SCALE",
    "RULES",
    "TEMPERATURE_OPTIONS",
    "Loss",
    "ScoringRule",
    "check_options",
    "column_sums",
    "find_rule",
    "rule_names",
]

# The default of `prior_scale`: standard deviation of the logarithm of a temperature.
PRIOR_SCALE = 0.5
# The options of refined rules.
TEMPERATURE_OPTIONS = ("prior_scale", "sharpen")
_TIES = ("first", "split", "correct")


@dataclass(frozen=True)
class ScoringRule:
    """A proper scoring rule; lower is better, 0 is perfect.

    `score` takes `p_true` of shape (n,), the probability given to the true class;
    `p_rest` of shape (n_classes, n), the forecast with a 0 in place of the true class;
    `eps`, below which probabilities are clipped; and `xp`, the array namespace. Written
    in terms of these two parts no score subtracts nearly equal numbers, so
    near-perfect forecasts keep all their digits.
    """

    name: str
    score: Callable[..., Any]
    worst_correct: Callable[[int], float]
    best_wrong: float
    # The public function of the penalized loss; other names follow from it.
    loss_name: str
    # The public function of its skill score, if there is one.
    d2_name: str | None = None
    # Values of the `scale` option: factor as a function of n_classes.
    scales: Mapping[str, Callable[[int], float]] = field(
        default_factory=lambda: {"sum": lambda c: 1.0}
    )

    def penalty(self, penalty, n_classes):
        """Turn ``"paper"``, ``"minimal"`` or a number into the penalty's value."""
        if penalty == "paper":
            return self.worst_correct(n_classes)
        if penalty == "minimal":
            return max(0.0, self.worst_correct(n_classes) - self.best_wrong)
        return float(penalty)

    @property
    def plain_name(self):
        """Name of the loss without a penalty, such as ``"brier_score_loss"``."""
        return self.loss_name.removeprefix("penalized_")

    @property
    def samples_name(self):
        """Name of the public function of the losses of the samples."""
        return f"{self.loss_name.replace('score_loss', 'score')}_samples"

    @property
    def title(self):
        """What the loss is called in a sentence, such as "penalized Brier score"."""
        words = self.loss_name.replace("score_loss", "score").replace("_", " ")
        return words.replace("brier", "Brier")

    @property
    def options(self):
        """Names of the options of the loss."""
        return ("penalty", "ties", "scale" if len(self.scales) > 1 else "normalize")


@dataclass(frozen=True, slots=True)
class Loss:
    """A rule with the options of its loss, as `check_options` returns it.

    `temperature` holds the options `prior_scale` and `sharpen` if the loss is refined,
    that is computed after temperature scaling. With `d2` it is the skill score: 1 minus
    the mean loss relative to that of always predicting the class frequencies.
    """

    rule: ScoringRule
    penalty: str | float = "paper"
    ties: str = "first"
    scale: str = "sum"
    normalize: bool = True
    d2: bool = False
    temperature: tuple | None = None

    def finish(self, total, weight, reference=1.0):
        """Return the mean loss, from the sums of the losses and of the weights.

        It is the sum without `normalize`, and the skill relative to `reference` with
        `d2`.
        """
        if self.d2:
            return float(1 - total / weight / reference)
        return float(total / weight if self.normalize else total)


def check_options(
    rule,
    *,
    penalty="paper",
    ties="first",
    scale="sum",
    normalize=True,
    refined=False,
    d2=False,
    **temperature,
):
    """Check the options of the loss of a rule; return them as a `Loss`."""
    is_name = isinstance(penalty, str) and penalty in ("paper", "minimal")
    if not (is_name or is_nonnegative(penalty)):
        raise ValueError(
            "The 'penalty' parameter must be 'paper', 'minimal' or a float in the "
            f"range [0, inf). Got {penalty!r} instead."
        )
    for name, value, allowed in (("ties", ties, _TIES), ("scale", scale, rule.scales)):
        if not (isinstance(value, str) and value in allowed):
            raise ValueError(
                f"The {name!r} parameter must be one of {sorted(allowed)}. "
                f"Got {value!r} instead."
            )
    normalize = _check_bool(normalize, "normalize")
    options = check_temperature_options(**temperature) if refined else None
    return Loss(rule, penalty, ties, scale, normalize, d2, options)


def is_nonnegative(value):
    """Return whether a value is a finite number from 0 up."""
    is_number = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    return is_number and 0 <= value < np.inf


def check_temperature_options(prior_scale=PRIOR_SCALE, sharpen=False):
    """Check the options of a temperature; return both."""
    if prior_scale is not None:
        if not (is_nonnegative(prior_scale) and prior_scale > 0):
            raise ValueError(
                "The 'prior_scale' parameter must be None or a float in the range "
                f"(0, inf). Got {prior_scale!r} instead."
            )
        prior_scale = float(prior_scale)
    return prior_scale, _check_bool(sharpen, "sharpen")


def _check_bool(value, name):
    if not isinstance(value, bool | np.bool_):
        raise TypeError(
            f"The {name!r} parameter must be a bool. Got {value!r} instead."
        )
    return bool(value)


def column_sums(columns, xp, factors=None):
    """Sum each column, or its products with those of an array of the same layout."""
    if xp is not np:
        return xp.sum(columns if factors is None else columns * factors, axis=0)
    if columns.flags.f_contiguous:  # each column is contiguous in memory
        factors = np.ones(len(columns)) if factors is None else factors.T
        return np.vecdot(columns.T, factors)
    if factors is None:
        return np.add.reduce(columns)
    return np.einsum("ij,ij->j", columns, factors)  # without a temporary array


def _brier(p_true, p_rest, eps, xp):
    return (1 - p_true) ** 2 + column_sums(p_rest, xp, p_rest)


def _log(p_true, p_rest, eps, xp):
    return -xp.log(xp.clip(p_true, eps, 1 - eps))


def _spherical(p_true, p_rest, eps, xp):
    # 1 - p / |q|, rewritten without the cancellation: r / (|q| (|q| + p)) with
    # r = |q|^2 - p^2. A forecast of zeros gives its true class nothing: loss 1.
    rest = column_sums(p_rest, xp, p_rest)
    norm = xp.sqrt(p_true * p_true + rest)
    return xp.where(norm > 0, rest / (norm * (norm + p_true)), 1.0)


RULES = {
    rule.name: rule
    for rule in (
        ScoringRule(
            name="brier",
            score=_brier,
            worst_correct=lambda c: (c - 1) / c,
            best_wrong=1 / 2,
            loss_name="penalized_brier_score_loss",
            d2_name="d2_penalized_brier_score",
            scales={
                "sum": lambda c: 1.0,
                "mean": lambda c: 1 / c,
                "half": lambda c: 0.5,
                "auto": lambda c: 0.5 if c == 2 else 1.0,
            },
        ),
        ScoringRule(
            name="log_loss",
            score=_log,
            worst_correct=log,
            best_wrong=log(2),
            loss_name="penalized_log_loss",
            d2_name="d2_penalized_log_loss_score",
        ),
        ScoringRule(
            name="spherical",
            score=_spherical,
            worst_correct=lambda c: 1 - 1 / sqrt(c),
            best_wrong=1 - 1 / sqrt(2),
            loss_name="penalized_spherical_loss",
        ),
    )
}


def rule_names(*, refined=False):
    """Return the names of all rules, plain and penalized, and refined if asked for."""
    prefixes = ["", "penalized_"]
    prefixes += ["refined_", "refined_penalized_"] if refined else []
    return [prefix + name for prefix in prefixes for name in RULES]


def find_rule(name, *, refined=False):
    """Split a rule's name into the row of the table and its default penalty.

    Refined names, such as ``"refined_brier"``, are allowed if `refined`.

    Examples
    --------
    >>> rule, penalty = find_rule("penalized_brier")
    >>> rule.name, penalty
    ('brier', 'paper')
    >>> find_rule("log_loss")[1]
    0.0
    """
    names = rule_names(refined=refined)
    if not (isinstance(name, str) and name in names):
        raise ValueError(
            f"The 'rule' parameter must be one of {names}. Got {name!r} instead."
        )
    name = name.removeprefix("refined_")
    plain = name.removeprefix("penalized_")
    return RULES[plain], 0.0 if plain == name else "paper"
