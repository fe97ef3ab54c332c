"""Superior scoring rules: losses, per-sample values, skill scores and scorers."""

from typing import TYPE_CHECKING

from sklearn_superior.metrics import _penalized, _scorer
from sklearn_superior.metrics._penalized import *  # noqa: F403
from sklearn_superior.metrics._scorer import *  # noqa: F403
from sklearn_superior.metrics._superiority import superiority_rate

__all__ = ["superiority_rate"]
__all__ += _penalized.__all__
__all__ += _scorer.__all__

if TYPE_CHECKING:
    # Most names are made from the table of rules, where type checkers cannot look.
    from collections.abc import Callable
    from typing import Any

    penalized_brier_score_loss: Callable[..., float]
    penalized_log_loss: Callable[..., float]
    penalized_spherical_loss: Callable[..., float]
    penalized_brier_score_samples: Callable[..., Any]
    penalized_log_loss_samples: Callable[..., Any]
    penalized_spherical_loss_samples: Callable[..., Any]
    d2_penalized_brier_score: Callable[..., float]
    d2_penalized_log_loss_score: Callable[..., float]
    neg_penalized_brier_scorer: Callable[..., float]
    neg_penalized_log_loss_scorer: Callable[..., float]
    neg_penalized_spherical_scorer: Callable[..., float]
