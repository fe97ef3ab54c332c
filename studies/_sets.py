"""Data sets in a folder: where they are, their signals and groups, fewer rows."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from studies._tables import as_numbers, read_table
from studies.rules.trainings import average_down

SIGNAL_DIM = 3
_FOLDERS = ("tables", "binary", "signals")


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


def find_set(collection, name, data_home=None):
    """Return the file of a set; `data_home` has the folder of the collection."""
    home = data_home or os.environ.get("SKLEARN_SUPERIOR_DATA")
    if home is None:
        raise FileNotFoundError(
            "Give --data-home, or the environment variable SKLEARN_SUPERIOR_DATA: the "
            f"folder that has the folder {collection}."
        )
    for folder in _FOLDERS:
        for suffix in (".csv.gz", ".npz"):
            path = Path(home) / collection / folder / f"{name}{suffix}"
            if path.exists():
                return path
    raise FileNotFoundError(f"{Path(home) / collection} must have the set {name}.")


def read_set(path, **options):
    """Return features, classes, groups or None, and the columns of categories.

    Options are those of pandas for a table.
    """
    if path.suffix == ".npz":
        return *_read_signals(path), []
    frame = read_table(path, **options)
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


def _read_signals(path):
    """Return windows, classes, and groups or None."""
    file = np.load(path, allow_pickle=False)
    groups = file["groups"]
    known = np.unique(groups).size > 1
    X = file["X"].astype(np.float32)
    if not np.isfinite(X).all():
        raise ValueError(f"{path} must have no missing values.")
    return X, file["y"].astype(str), groups if known else None


def shorten_signals(X, most_points):
    """Average neighbouring points, until there are few; the end may be cut."""
    factor = -(-X.shape[2] // most_points)
    return average_down(X[:, :, : X.shape[2] // factor * factor], most_points)


def thin_out(rows, y, n_most, rng):
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
