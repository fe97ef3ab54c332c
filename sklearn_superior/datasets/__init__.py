"""Synthetic recordings, and the data sets of the paper."""

from sklearn_superior.datasets._paper import fetch_paper_dataset, list_paper_datasets
from sklearn_superior.datasets._synthetic import make_motion_signals

__all__ = ["fetch_paper_dataset", "list_paper_datasets", "make_motion_signals"]
