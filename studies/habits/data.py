"""Data of the study of habits: tables and signals, and how they are split."""

import zlib
from functools import lru_cache

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from studies._sets import (
    SIGNAL_DIM,
    Task,
    find_set,
    read_set,
    shorten_signals,
    thin_out,
)

TIMED = "_timed"  # how a set's name ends if procedures run there by the clock
_MISSING = {"keep_default_na": False, "na_values": [""]}  # "None" is a category


@lru_cache(maxsize=2)
def load(plan, name, data_home=None):
    """Read a data set and split it; `data_home` has the folder ``study3``.

    Whole groups are held out if there are groups. Otherwise, rows that are alike in
    all features stay in one fold, and training rows come in random order.
    """
    name = name.removesuffix(TIMED)  # the same rows
    path = find_set("study3", name, data_home)
    options = {} if path.suffix == ".npz" else _MISSING
    X, y, groups, categories = read_set(path, **options)
    if X.ndim == SIGNAL_DIM:
        X = shorten_signals(X, plan["most_points"])
    together = number_copies(X) if groups is None else groups
    rng = np.random.RandomState(zlib.crc32(name.encode()) % 2**31)
    folds = []
    for train, test in _split(y, together, plan["n_folds"]):
        train = thin_out(train, y, plan["most_rows"], rng)
        test = thin_out(test, y, plan["most_test_rows"], rng)
        if groups is None:
            train = rng.permutation(train)  # as train_test_split leaves them
        folds.append((train, test[np.isin(y[test], y[train])]))
    return Task(X, y, groups, categories, folds)


def _split(y, together, n_folds):
    if len(np.unique(together)) == len(y):
        return StratifiedKFold(n_folds, shuffle=True, random_state=0).split(y, y)
    cv = StratifiedGroupKFold(n_folds, shuffle=True, random_state=0)
    return cv.split(y, y, together)


def number_copies(X):
    """Return a number for each row: the same for rows that are alike in all features.

    Examples
    --------
    >>> number_copies(np.array([[1.0, np.nan], [2.0, 0.0], [1.0, np.nan]])).tolist()
    [0, 1, 0]
    """
    numbers = {}
    rows = np.ascontiguousarray(np.nan_to_num(X, nan=np.inf).reshape(len(X), -1) + 0.0)
    return np.array([numbers.setdefault(row.tobytes(), len(numbers)) for row in rows])
