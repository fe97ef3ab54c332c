"""The table of scoring rules.

A row says how one forecast is scored and how far the rule can go wrong: the
worst score that a correct prediction can get and the best that a wrong one can
get. Penalties, public functions, scorers and property tests all follow from
the row; adding one to `RULES` is all it takes to add a rule.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import log, sqrt
from typing import Any

import numpy as np


@dataclass(frozen=True)
class ScoringRule:
    """A proper scoring rule; lower is better, 0 is perfect.

    `score` takes `p_true` of shape (n,), the probability given to the true
    class; `p_rest` of shape (n_classes, n), the forecast with a 0 in place of
    the true class; `eps`, the resolution of the caller's dtype; and `xp`, the
    array namespace. Written with these two parts no score needs a difference
    of nearly equal numbers, so near-perfect forecasts keep all their digits.
    """

    name: str
    title: str
    formula: str
    score: Callable[..., Any]
    worst_correct: Callable[[int], float]
    best_wrong: float
    # For the docstrings: a remark, and the penalized losses of the paper's two
    # forecasts (0.33, 0.34, 0.33) and (0.51, 0.49, 0) when class 1 is true.
    example: tuple[float, float]
    note: str = ""
    # Public names; these defaults are for rules without a name to live up to.
    loss_name: str = ""
    samples_name: str = ""
    scoring_name: str = ""
    scorer_name: str = ""
    d2_name: str = ""
    # Scales other than 1 in circulation: factor as a function of n_classes.
    scales: Mapping[str, Callable[[int], float]] = field(default_factory=dict)

    def __post_init__(self):
        defaults = {
            "loss_name": f"penalized_{self.name}_loss",
            "samples_name": f"penalized_{self.name}_loss_samples",
            "scoring_name": f"neg_penalized_{self.name}_loss",
            "scorer_name": f"neg_penalized_{self.name}_scorer",
        }
        for key, value in defaults.items():
            if not getattr(self, key):
                object.__setattr__(self, key, value)

    def penalty(self, penalty, n_classes):
        """Turn ``"paper"``, ``"minimal"`` or a number into the penalty's value."""
        if penalty == "paper":
            return self.worst_correct(n_classes)
        if penalty == "minimal":
            return self.worst_correct(n_classes) - self.best_wrong
        return float(penalty)

    def scale(self, scale, n_classes):
        """Factor of the whole score, penalty included."""
        return self.scales[scale](n_classes) if scale in self.scales else 1.0


def _sum_of_squares(p_rest, xp):
    if xp is np:  # without a temporary array as large as the block
        return np.einsum("ij,ij->j", p_rest, p_rest)
    return xp.sum(p_rest * p_rest, axis=0)


def _brier(p_true, p_rest, eps, xp):
    return (1 - p_true) ** 2 + _sum_of_squares(p_rest, xp)


def _log(p_true, p_rest, eps, xp):
    return -xp.log(xp.clip(p_true, eps, 1 - eps))


def _spherical(p_true, p_rest, eps, xp):
    # 1 - p / |q|, rewritten without the cancellation: r / (|q| (|q| + p)) with
    # r = |q|^2 - p^2. A forecast of zeros gives its true class nothing: loss 1.
    rest = _sum_of_squares(p_rest, xp)
    norm = xp.sqrt(p_true * p_true + rest)
    return xp.where(norm > 0, rest / (norm * (norm + p_true)), 1.0)


RULES = {
    rule.name: rule
    for rule in (
        ScoringRule(
            name="brier",
            title="Brier score",
            formula=r"\sum_j (q_j - [j = i])^2",
            score=_brier,
            worst_correct=lambda c: (c - 1) / c,
            best_wrong=1 / 2,
            example=(0.6534, 1.1868667),
            loss_name="penalized_brier_score_loss",
            samples_name="penalized_brier_score_samples",
            scoring_name="neg_penalized_brier_score",
            d2_name="d2_penalized_brier_score",
            scales={
                "sum": lambda c: 1.0,
                "mean": lambda c: 1 / c,
                "half": lambda c: 0.5,
            },
        ),
        ScoringRule(
            name="log_loss",
            title="log loss",
            formula=r"-\ln q_i",
            score=_log,
            worst_correct=log,
            best_wrong=log(2),
            example=(1.0788097, 1.8119622),
            note="Probabilities are clipped to [eps, 1 - eps] of the input's dtype.",
            loss_name="penalized_log_loss",
            samples_name="penalized_log_loss_samples",
            scoring_name="neg_penalized_log_loss",
            d2_name="d2_penalized_log_loss_score",
        ),
        ScoringRule(
            name="spherical",
            title="spherical loss",
            formula=r"1 - q_i / \lVert q \rVert_2",
            score=_spherical,
            worst_correct=lambda c: 1 - 1 / sqrt(c),
            best_wrong=1 - 1 / sqrt(2),
            example=(0.4111616, 0.7298236),
        ),
    )
}


def find_rule(name):
    """Split a rule's name into the row of the table and its default penalty.

    Examples
    --------
    >>> rule, penalty = find_rule("penalized_brier")
    >>> rule.title, penalty
    ('Brier score', 'paper')
    >>> find_rule("log_loss")[1]
    0.0
    """
    names = {prefix + key for prefix in ("", "penalized_") for key in RULES}
    if not (isinstance(name, str) and name in names):
        raise ValueError(
            f"The 'rule' parameter must be one of {sorted(names)}. "
            f"Got {name!r} instead."
        )
    plain = name.removeprefix("penalized_")
    return RULES[plain], 0.0 if plain == name else "paper"
