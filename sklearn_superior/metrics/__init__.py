"""Superior scoring rules: losses, per-sample values, skill scores and scorers."""

from sklearn_superior.metrics import _penalized, _scorer
from sklearn_superior.metrics._penalized import *  # noqa: F403
from sklearn_superior.metrics._scorer import *  # noqa: F403
from sklearn_superior.metrics._superiority import superiority_rate

__all__ = ["superiority_rate"]
__all__ += _penalized.__all__
__all__ += _scorer.__all__
