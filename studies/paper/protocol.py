"""One training of the replication.

Each series is cut into blocks, and windows are cut inside the blocks. Missing values
are filled and channels are standardised with statistics of the training part. Each fold
trains a new network once for each loss, and every rule chooses among its epochs.
"""

import platform
import zlib
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib import metadata

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sklearn_superior.datasets import (
    fetch_paper_dataset,
    list_paper_datasets,
    make_motion_signals,
)
from sklearn_superior.model_selection import (
    HBlockSplit,
    compare_stopping_rules,
    sliding_windows,
)
from sklearn_superior.neural_network import CNNClassifier
from studies._runner import check_names

SYNTHETIC = "synthetic"
DATASETS = (SYNTHETIC, *(dataset.name for dataset in list_paper_datasets()))
RULES = ("brier", "penalized_brier", "log_loss", "penalized_log_loss")
PATIENCE = 10
N_FOLDS = 5  # of a full run
FIELDS = ("job", "seed", "status", "n_rows", "seconds", "validation", "test")
# The losses that each kind of estimator can be trained with.
ESTIMATORS = {
    "cnn": ("brier", "log_loss"),
    "hgb": ("log_loss",),
    "xgboost": ("log_loss",),
}
_OVERLAP = 0.75
_PACKAGES = ("numpy", "scikit-learn", "sklearn-superior", "torch", "xgboost")


@dataclass(frozen=True)
class Job:
    """One training: everything its result depends on, apart from the data."""

    dataset: str
    estimator: str
    loss: str
    max_iter: int
    fold: int
    repeat: int

    @property
    def name(self):
        """Unique name of the job."""
        return (
            f"{self.dataset}/{self.estimator}-{self.loss}-{self.max_iter}/"
            f"fold{self.fold:02}-repeat{self.repeat}"
        )

    @property
    def seed(self):
        """Seed of the estimator: the same for both losses."""
        return zlib.crc32(f"{self.dataset} {self.fold} {self.repeat}".encode()) % 2**31


class ChannelImputer(TransformerMixin, BaseEstimator):
    """Fill missing values of windows with the means of the channels."""

    def fit(self, X, y=None):
        """Take the means from the training part."""
        n_known = np.isfinite(X).sum(axis=(0, 2))
        self.means_ = np.nansum(X, axis=(0, 2)) / np.maximum(n_known, 1)
        return self

    def transform(self, X):
        """Return windows without a missing value."""
        return np.where(np.isfinite(X), X, self.means_[:, np.newaxis])


@dataclass
class Part:
    """Windows of a data set, and the windows of each part in each fold."""

    X: np.ndarray
    y: np.ndarray
    folds: list
    status: str


@lru_cache(maxsize=1)
def load_windows(name, data_home=None):
    """Read a data set, cut it and split it."""
    if name == SYNTHETIC:
        data = make_motion_signals(n_timepoints=1500, random_state=0)
        length, blocks, status = 50, (5, 2, 3), "synthetic"
    else:
        data = fetch_paper_dataset(name, data_home=data_home)
        length, blocks, status = data.window, data.blocks, data.status
    cv = HBlockSplit(
        sum(blocks), n_validation_blocks=blocks[1], n_test_blocks=blocks[2]
    )
    _, series = np.unique(data.groups, return_inverse=True)
    block = cv.block_ids(data.data, groups=series)
    windows = sliding_windows(
        data.data,
        data.target,
        length=length,
        overlap=_OVERLAP,
        groups=series * sum(blocks) + block,
    )
    folds = []
    for parts in cv.split_with_validation(data.data, groups=series):
        role = np.empty(len(data.data), dtype=np.int8)
        for k, rows in enumerate(parts):
            role[rows] = k
        # A window lies in one block, so its first row decides.
        of_window = role[windows.start]
        folds.append(tuple(np.flatnonzero(of_window == k) for k in range(3)))
    return Part(windows.X, windows.y, folds, status)


def make_estimator(job, device="auto"):
    """Return the estimator of a job."""
    if job.estimator == "cnn":
        network = CNNClassifier(loss=job.loss, max_iter=job.max_iter, device=device)
        return make_pipeline(ChannelImputer(), network)
    booster = make_booster(job)
    return make_pipeline(ChannelImputer(), FunctionTransformer(flatten), booster)


def make_booster(job):
    """Return the boosting classifier of a job."""
    if job.estimator == "hgb":
        return HistGradientBoostingClassifier(max_iter=job.max_iter)
    import xgboost

    return xgboost.XGBClassifier(n_estimators=job.max_iter, n_jobs=1)


def flatten(X):
    """Windows as rows of a table."""
    return X.reshape(len(X), -1)


def train(job, data_home=None, device="auto"):
    """Run a job; return its record, ready for JSON."""
    data = load_windows(job.dataset, data_home)
    comparison = compare_stopping_rules(
        make_estimator(job, device),
        data.X,
        data.y,
        cv=[data.folds[job.fold]],
        rules=RULES,
        n_iter_no_change=PATIENCE,
        random_state=job.seed,
    )
    (trajectory,) = comparison.trajectories
    return describe_training(job, trajectory) | {
        "status": data.status,
        "validation": _rounded(trajectory.validation),
        "test": _rounded(trajectory.test),
    }


def describe_training(job, trajectory):
    """Return what every record has, whatever the study."""
    return {
        "job": asdict(job),
        "seed": trajectory.seed,
        "n_rows": trajectory.n_rows,
        "seconds": round(trajectory.time, 1),
        "versions": versions(),
    }


def _rounded(scores):
    return {
        name: [round(float(v), 7) for v in values] for name, values in scores.items()
    }


def versions(*more):
    """Return the versions of the packages that the numbers depend on."""
    versions = {"python": platform.python_version()}
    for package in (*_PACKAGES, *more):
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return versions


def describe_versions(records):
    """Say which versions made the records."""
    combinations = sorted({tuple(sorted(r["versions"].items())) for r in records})
    texts = [", ".join(" ".join(pair) for pair in one) for one in combinations]
    return f"Versions: {'; '.join(texts)}."


def make_jobs(
    datasets=None, estimators=None, *, max_iter=None, n_folds=None, n_repeats=None, **_
):
    """List the jobs; the chosen folds are spread evenly over all folds."""
    check_names("--datasets", datasets, DATASETS)
    check_names("--estimators", estimators, ESTIMATORS)
    return [
        Job(dataset, estimator, loss, max_iter or 100, fold, repeat)
        for dataset in datasets or DATASETS[1:]
        for repeat in range(n_repeats or 1)
        for fold in spread_folds(dataset, n_folds or N_FOLDS)
        for estimator in estimators or ["cnn"]
        for loss in ESTIMATORS[estimator]
    ]


def spread_folds(dataset, n_folds):
    """Choose `n_folds` of the folds of a data set, spread evenly; return numbers."""
    n_blocks = {d.name: sum(d.blocks) for d in list_paper_datasets()} | {SYNTHETIC: 10}
    n = min(n_folds, n_blocks[dataset])
    return [k * n_blocks[dataset] // n for k in range(n)]
