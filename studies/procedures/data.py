"""Data of the study of procedures: tables and signals, their folds and their parts."""

import os
import zlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from studies._tables import as_numbers, read_table
from studies.rules.trainings import average_down

AT_RANDOM, TUNED = "_at_random", "_tuned"  # how a set's name ends if it is used so
_FOLDERS = ("tables", "binary", "signals")
N_FOLDS = 5  # of a partition; fewer if there are fewer groups
# Data sets of the tests in which more than 5 % of the test rows have an exact copy in
# the training part, by `share_of_copies` over the three folds that were used.
COPIES = {"cmc": 12.9, "spambase": 8.9, "splice": 7.7, "crop": 6.8}
SIGNAL_DIM = 3


@dataclass
class Task:
    """A data set, its groups if folds keep them together, and its folds.

    Parameters
    ----------
    X : ndarray of shape (n, n_features) or (n, n_channels, length)
        Numbers; the categories of a table are codes.

    y : ndarray of shape (n,)
        Class labels, as text.

    groups : ndarray of shape (n,) or None
        Groups of the rows, unless the set is split at random.

    categories : list of int
        Columns of a table that are categories.

    folds : list of tuple
        Rows to train on and rows to test on.
    """

    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray | None
    categories: list
    folds: list


@lru_cache(maxsize=4)
def load(plan, name, data_home=None):
    """Read a data set and split it; `data_home` has the folder ``study2``."""
    source = name.removesuffix(AT_RANDOM).removesuffix(TUNED)
    X, y, groups, categories = _read(_find(source, data_home))
    if name.endswith(AT_RANDOM):
        groups = None
    if X.ndim == SIGNAL_DIM:
        X = average_down(_trimmed(X, plan["most_points"]), plan["most_points"])
    n_test = plan["most_test_rows"]
    n_train = plan["most_tuned_rows" if name.endswith(TUNED) else "most_rows"]
    rng = np.random.RandomState(zlib.crc32(name.encode()) % 2**31)
    folds = []
    for train, test in _splitter(groups).split(X, y, groups):
        train, test = _thinned(train, y, n_train, rng), _thinned(test, y, n_test, rng)
        if groups is None:
            train = rng.permutation(train)  # as train_test_split leaves them
        folds.append((train, test[np.isin(y[test], y[train])]))
    return Task(X, y, groups, categories, folds)


def _find(name, data_home):
    home = data_home or os.environ.get("SKLEARN_SUPERIOR_DATA")
    if home is None:
        raise FileNotFoundError(
            "Give --data-home, or the environment variable SKLEARN_SUPERIOR_DATA: the "
            "folder that has the folder study2."
        )
    for folder in _FOLDERS:
        for suffix in (".csv.gz", ".npz"):
            path = Path(home) / "study2" / folder / f"{name}{suffix}"
            if path.exists():
                return path
    raise FileNotFoundError(f"{Path(home) / 'study2'} must have the set {name}.")


def _read(path):
    """Return features, classes, groups or None, and the columns of categories."""
    if path.suffix == ".npz":
        file = np.load(path, allow_pickle=False)
        groups = file["groups"]
        known = np.unique(groups).size > 1
        X = file["X"].astype(np.float32)
        if not np.isfinite(X).all():
            raise ValueError(f"{path} must have no missing values.")
        return X, file["y"].astype(str), groups if known else None, []
    frame = read_table(path)
    features = frame.iloc[:, :-1]
    kinds = [column.dtype.kind for _, column in features.items()]
    categories = [k for k, kind in enumerate(kinds) if kind not in "biuf"]
    groups = path.parents[1] / "groups" / path.name
    return (
        as_numbers(features),
        frame.iloc[:, -1].astype(str).to_numpy(str),
        read_table(groups)["group"].to_numpy() if groups.exists() else None,
        categories,
    )


def _trimmed(X, most_points):
    """Cut the end of signals, so that neighbours can be averaged evenly."""
    factor = -(-X.shape[2] // most_points)
    return X[:, :, : X.shape[2] // factor * factor]


def _splitter(groups):
    if groups is None:
        return StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
    n_folds = min(N_FOLDS, len(np.unique(groups)))
    return StratifiedGroupKFold(n_folds, shuffle=True, random_state=0)


def _thinned(rows, y, n_most, rng):
    """Return at most so many rows at random, in their order.

    Six rows of each class are kept if it has them, so that no class gets lost.
    """
    if len(rows) <= n_most:
        return rows
    rows = rng.permutation(rows)
    _, codes = np.unique(y[rows], return_inverse=True)
    rank = np.empty(len(rows), dtype=int)  # of a row among those of its class
    for code in range(codes.max() + 1):
        of_class = np.flatnonzero(codes == code)
        rank[of_class] = np.arange(len(of_class))
    return np.sort(rows[np.argsort(rank >= 6, kind="stable")][:n_most])


def share_of_copies(task, n_folds=3):
    """Return the percentage of test rows that have an exact copy in training rows."""
    rows = [row.tobytes() for row in task.X]
    shares = []
    for train, test in task.folds[:n_folds]:
        known = {rows[k] for k in train}
        shares.append(np.mean([rows[k] in known for k in test]))
    return 100 * float(np.mean(shares))
