"""Which rows to train on and which to validate on."""

from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.utils import indexable

from sklearn_superior.utils._rows import Rows, check_groups, check_labels, check_weights
from sklearn_superior.utils._sklearn_compat import count_rows


@dataclass
class Split:
    """What to train on, and what to validate on."""

    train: Rows
    val: Rows | None


def split_validation(classifier, data, validation, groups, *, validates=True):
    """Split off the validation part.

    Parameters
    ----------
    classifier : estimator
        Its parameters say how to split.

    data : Rows
        What `fit` was given, checked.

    validation : tuple of X, y, sample_weight
        Validation data. Without it a part of `data` is taken.

    groups : array-like or None
        Groups for the split.

    validates : bool
        Whether there is to be a validation part at all.

    Returns
    -------
    split : Split
    """
    X_val, y_val, weight_val = validation
    if not validates:
        if not all(values is None for values in validation):
            raise ValueError("early_stopping=False has no use for validation data.")
        return Split(data, None)
    if (X_val is None) != (y_val is None):
        absent = "X_val" if X_val is None else "y_val"
        raise ValueError(f"X_val and y_val go together, but {absent} is missing.")
    if X_val is not None:
        X_val, y_val, weight_val = indexable(X_val, y_val, weight_val)
        y_val = check_labels(y_val, "y_val")
        weight_val = check_weights(weight_val, y_val, "sample_weight_val")
        return Split(data, Rows(X_val, y_val, weight_val))
    if weight_val is not None:
        raise ValueError("sample_weight_val is given, but X_val is not.")
    if groups is not None and classifier.validation_split is None:
        raise ValueError(
            "groups are given, but validation_split=None takes no notice of them. Set "
            "validation_split to a splitter that uses groups, such as "
            "GroupShuffleSplit(1) for new groups, or to 'last' for the last rows of "
            "each group."
        )
    train, val = validation_rows(
        data.X,
        data.y,
        check_groups(groups, data.y),
        split=classifier.validation_split,
        fraction=classifier.validation_fraction,
        random_state=classifier.random_state,
    )
    return Split(data.take(train), data.take(val))


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
    check_split(split)
    if split is not None and not isinstance(split, str):
        try:
            train, val = next(iter(split.split(X, y, groups)), ((), ()))
        except ValueError as exc:
            if groups is None and "groups" in str(exc):
                raise ValueError(
                    f"validation_split={split} needs groups: pass them to fit, as "
                    "cross_val_score(..., params={'groups': groups}) does."
                ) from exc
            raise
        if len(train) == 0 or len(val) == 0:
            raise ValueError(
                "The 'validation_split' parameter must give a split with rows to train "
                f"on and rows to validate on. {split!r} gives {len(train)} and "
                f"{len(val)}."
            )
        return train, val
    if split == "last":
        return _last_rows(count_rows(X), groups, fraction)
    return _random_rows(y, fraction, random_state)


def check_split(split):
    """Check that the parameter `validation_split` is what it may be."""
    if split is None or (isinstance(split, str) and split == "last"):
        return
    if isinstance(split, type | str) or not hasattr(split, "split"):
        remedy = f" Did you mean {split.__name__}()?" if isinstance(split, type) else ""
        raise ValueError(
            "The 'validation_split' parameter must be a splitter, 'last' or None. "
            f"Got {split!r}.{remedy}"
        )


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
    # A class of one sample cannot be shared out: it is trained on.
    shared = np.flatnonzero(counts[codes] > 1)
    if len(shared) <= n_val:
        shared = np.arange(len(y))
    own = codes[shared]
    has_places = len(np.unique(own)) <= min(n_val, len(shared) - n_val)
    train, val = train_test_split(
        shared,
        test_size=n_val,
        stratify=own if has_places and counts[own].min() > 1 else None,
        random_state=random_state,
    )
    return np.r_[train, np.setdiff1d(np.arange(len(y)), shared)], val
