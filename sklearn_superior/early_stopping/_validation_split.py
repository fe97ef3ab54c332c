"""Which rows to validate on."""

import numpy as np
from sklearn.model_selection import train_test_split

from sklearn_superior.utils._params import check_real
from sklearn_superior.utils._sklearn_compat import count_rows


def validation_rows(X, y, groups, *, split, fraction, random_state):
    """Return the rows to train on and the rows to validate on.

    Parameters
    ----------
    X, y, groups : array-like
        The data.

    split : splitter, "last" or None
        The first split of a splitter; the last rows of each group; or a random part
        in which the classes keep their shares.

    fraction : float
        Size of the validation part, where it is not given by a splitter.

    random_state : int, RandomState or None
        For the random part.
    """
    if hasattr(split, "split") and not isinstance(split, str):
        return next(iter(split.split(X, y, groups)))
    if split is not None and not (isinstance(split, str) and split == "last"):
        raise ValueError(
            "The 'validation_split' parameter must be a splitter, 'last' or None. "
            f"Got {split!r}."
        )
    check_real("validation_fraction", fraction, below=1, open_low=True)
    if split == "last":
        return _last_rows(count_rows(X), groups, fraction)
    return _random_rows(y, fraction, random_state)


def _last_rows(n_rows, groups, fraction):
    groups = np.zeros(n_rows) if groups is None else np.asarray(groups)
    is_last = np.zeros(n_rows, dtype=bool)
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        is_last[rows[len(rows) - round(fraction * len(rows)) :]] = True
    if not is_last.any() or is_last.all():
        raise ValueError(
            f"validation_fraction={fraction} of {n_rows} rows leaves no row to "
            f"{'train' if is_last.all() else 'validate'} on."
        )
    return np.flatnonzero(~is_last), np.flatnonzero(is_last)


def _random_rows(y, fraction, random_state):
    _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    n_val = int(np.ceil(fraction * len(y)))
    # A class of one sample, or more classes than places, cannot be shared out.
    can_stratify = counts.min() > 1 and len(counts) <= min(n_val, len(y) - n_val)
    return train_test_split(
        np.arange(len(y)),
        test_size=fraction,
        stratify=codes if can_stratify else None,
        random_state=random_state,
    )
