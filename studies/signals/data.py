"""Data of the study of signals: one split of each set, in three parts."""

import zlib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold, train_test_split

from studies.paper.protocol import DATASETS, ChannelImputer, load_windows
from studies.procedures import data as procedures
from studies.rules.trainings import average_down

N_FOLDS = 5  # of the training part, one of which is the validation part


@dataclass
class Parts:
    """Windows without missing values, in three parts.

    Parameters
    ----------
    X : dict of ndarray of shape (n, n_channels, length)
        Windows, by part: ``"train"``, ``"validation"`` and ``"test"``.

    y : dict of ndarray of shape (n,)
        Class numbers. The training part has all of them.

    groups : dict of ndarray of shape (n,), or None
        Groups of the rows to train and validate on, if folds should keep them together.
    """

    X: dict
    y: dict
    groups: dict | None

    @property
    def n_classes(self):
        """Number of classes."""
        return int(self.y["train"].max()) + 1

    def fit_rows(self):
        """Return windows, classes and groups of training and validation together."""
        return [
            None if values is None else np.r_[values["train"], values["validation"]]
            for values in (self.X, self.y, self.groups)
        ]


@lru_cache(maxsize=32)
def load(plan, name, data_home=None):
    """Read a data set, split it and thin its parts."""
    read = _load_blocks if name in DATASETS else _load_fold
    X, y, groups, rows = read(plan, name, data_home)
    known = np.unique(y[rows["train"]])
    rows = {part: own[np.isin(y[own], known)] for part, own in rows.items()}
    imputer = ChannelImputer().fit(X[rows["train"]])
    return Parts(
        {part: imputer.transform(X[own]).astype("f4") for part, own in rows.items()},
        {part: np.searchsorted(known, y[own]) for part, own in rows.items()},
        groups if groups is None else {part: groups[own] for part, own in rows.items()},
    )


def _load_fold(plan, name, data_home):
    """Read a set of the second study; hold out a fifth of the training part."""
    task = procedures.load(plan, name, data_home)
    train, test = task.folds[0]
    groups = None if task.groups is None else task.groups[train]
    fit, val = hold_out(task.y[train], groups, name)
    rows = {"train": train[fit], "validation": train[val], "test": test}
    return task.X, task.y, task.groups, rows


def hold_out(y, groups, name):
    """Return the rows to train on and the rows to validate on."""
    seed = make_seed(name)
    if groups is None:
        return train_test_split(
            np.arange(len(y)), test_size=1 / N_FOLDS, stratify=y, random_state=seed
        )
    n_folds = min(N_FOLDS, len(np.unique(groups)))
    cv = StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed)
    return next(cv.split(y, y, groups))


def _load_blocks(plan, name, data_home):
    """Read a set of the paper, whose parts are blocks of time."""
    windows = load_windows(name, data_home)
    most = plan["most_rows"], plan["most_validation_rows"], plan["most_test_rows"]
    most = (most[0] - most[1], *most[1:])
    rng = np.random.RandomState(make_seed(name))
    names = ("train", "validation", "test")
    rows = {
        part: thin(own, windows.y, n, rng)
        for part, own, n in zip(names, windows.folds[0], most, strict=True)
    }
    X = average_down(windows.X, plan["most_points"])
    return X, windows.y, find_blocks(windows.folds, len(X)), rows


def find_blocks(folds, n_rows):
    """Return the block of each row, by the parts that it belongs to in all folds."""
    roles = np.empty((n_rows, len(folds)), dtype=np.int8)
    for fold, parts in enumerate(folds):
        for role, rows in enumerate(parts):
            roles[rows, fold] = role
    return np.unique(roles, axis=0, return_inverse=True)[1].ravel()


def thin(rows, y, n_most, rng):
    """Return at most so many rows at random, stratified, in their order."""
    if len(rows) <= n_most:
        return rows
    seed = rng.randint(2**31)
    kept, _ = train_test_split(
        rows, train_size=n_most, stratify=y[rows], random_state=seed
    )
    return np.sort(kept)


def make_seed(text):
    """Return a seed that depends on a text."""
    return zlib.crc32(text.encode()) % 2**31
