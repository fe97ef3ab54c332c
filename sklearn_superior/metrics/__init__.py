"""Superior scoring rules: losses, per-sample values, skill scores and scorers."""

from sklearn_superior.metrics._d2 import (
    d2_penalized_brier_score,
    d2_penalized_log_loss_score,
)
from sklearn_superior.metrics._decisions import bayes_decision, decision_cost
from sklearn_superior.metrics._penalized import (
    penalized_brier_score_loss,
    penalized_brier_score_samples,
    penalized_log_loss,
    penalized_log_loss_samples,
    penalized_spherical_loss,
    penalized_spherical_loss_samples,
)
from sklearn_superior.metrics._scorer import (
    get_scorer,
    neg_penalized_brier_scorer,
    neg_penalized_log_loss_scorer,
    neg_penalized_spherical_scorer,
    register_scorers,
)
from sklearn_superior.metrics._superiority import superiority_rate
from sklearn_superior.metrics._temperature import fit_temperature, scale_temperature

__all__ = [
    "bayes_decision",
    "decision_cost",
    "d2_penalized_brier_score",
    "d2_penalized_log_loss_score",
    "fit_temperature",
    "get_scorer",
    "neg_penalized_brier_scorer",
    "neg_penalized_log_loss_scorer",
    "neg_penalized_spherical_scorer",
    "penalized_brier_score_loss",
    "penalized_brier_score_samples",
    "penalized_log_loss",
    "penalized_log_loss_samples",
    "penalized_spherical_loss",
    "penalized_spherical_loss_samples",
    "register_scorers",
    "scale_temperature",
    "superiority_rate",
]
