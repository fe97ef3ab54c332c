"""Pictures, by scikit-learn's convention of displays. Needs matplotlib."""

from sklearn_superior.plotting._trajectory import StoppingTrajectoryDisplay

__all__ = ["StoppingTrajectoryDisplay"]
