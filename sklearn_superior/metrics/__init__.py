"""Superior scoring rules: losses, per-sample values, skill scores and scorers."""

from sklearn_superior.metrics._penalized import *  # noqa: F403
from sklearn_superior.metrics._penalized import __all__ as _losses

__all__ = [*_losses]
