"""Cross-validation for time series that does not leak."""

from sklearn_superior.model_selection._split import HBlockSplit
from sklearn_superior.model_selection._windows import (
    Windows,
    recommended_gap,
    sliding_windows,
)

__all__ = ["HBlockSplit", "Windows", "recommended_gap", "sliding_windows"]
