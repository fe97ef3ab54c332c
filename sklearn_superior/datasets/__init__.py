"""Recordings to learn from: made-up ones, and those of the paper."""

from sklearn_superior.datasets._synthetic import make_motion_signals

__all__ = ["make_motion_signals"]
