"""Data of the study of procedures: tables and signals, their folds and their parts."""

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

AT_RANDOM, TUNED = "_at_random", "_tuned"  # how a set's name ends if it is used so
N_FOLDS = 5  # of a partition; fewer if there are fewer groups
# Data sets of the tests in which more than 5 % of the test rows have an exact copy in
# the training part, by `share_of_copies` over the three folds that were used.
COPIES = {"cmc": 12.9, "spambase": 8.9, "splice": 7.7, "crop": 6.8}


@lru_cache(maxsize=4)
def load(plan, name, data_home=None):
    """Read a data set and split it; `data_home` has the folder ``study2``."""
    source = name.removesuffix(AT_RANDOM).removesuffix(TUNED)
    X, y, groups, categories = read_set(find_set("study2", source, data_home))
    if name.endswith(AT_RANDOM):
        groups = None
    if X.ndim == SIGNAL_DIM:
        X = shorten_signals(X, plan["most_points"])
    n_test = plan["most_test_rows"]
    n_train = plan["most_tuned_rows" if name.endswith(TUNED) else "most_rows"]
    rng = np.random.RandomState(zlib.crc32(name.encode()) % 2**31)
    folds = []
    for train, test in _splitter(groups).split(X, y, groups):
        train, test = thin_out(train, y, n_train, rng), thin_out(test, y, n_test, rng)
        if groups is None:
            train = rng.permutation(train)  # as train_test_split leaves them
        folds.append((train, test[np.isin(y[test], y[train])]))
    return Task(X, y, groups, categories, folds)


def _splitter(groups):
    if groups is None:
        return StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
    n_folds = min(N_FOLDS, len(np.unique(groups)))
    return StratifiedGroupKFold(n_folds, shuffle=True, random_state=0)


def share_of_copies(task, n_folds=3):
    """Return the percentage of test rows that have an exact copy in training rows."""
    rows = [row.tobytes() for row in task.X]
    shares = []
    for train, test in task.folds[:n_folds]:
        known = {rows[k] for k in train}
        shares.append(np.mean([rows[k] in known for k in test]))
    return 100 * float(np.mean(shares))
