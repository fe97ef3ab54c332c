"""Losses after recalibration: those of the best temperature on the same data.

They ask how good the probabilities will be once they are recalibrated. A temperature
does not change the predicted classes, so the penalty is the same as before.
"""

from collections.abc import Callable

from sklearn_superior.metrics._penalized import mean_loss
from sklearn_superior.metrics._rules import RULES
from sklearn_superior.metrics._temperature import refined_sums


def refined_brier_score_loss(
    y_true,
    y_proba,
    *,
    sample_weight=None,
    labels=None,
    pos_label=None,
    penalty="paper",
    ties="first",
    scale="sum",
):
    """Penalized Brier score after the best temperature."""
    return mean_loss(
        RULES["brier"],
        y_true,
        y_proba,
        sample_weight=sample_weight,
        labels=labels,
        pos_label=pos_label,
        penalty=penalty,
        ties=ties,
        scale=scale,
        sum_up=refined_sums,
    )


def refined_log_loss(
    y_true,
    y_proba,
    *,
    sample_weight=None,
    labels=None,
    pos_label=None,
    penalty="paper",
    ties="first",
    normalize=True,
):
    """Penalized log loss after the best temperature."""
    return mean_loss(
        RULES["log_loss"],
        y_true,
        y_proba,
        sample_weight=sample_weight,
        labels=labels,
        pos_label=pos_label,
        penalty=penalty,
        ties=ties,
        normalize=normalize,
        sum_up=refined_sums,
    )


REFINED_LOSSES: dict[str, Callable[..., float]] = {
    "brier": refined_brier_score_loss,
    "log_loss": refined_log_loss,
}
