"""Which rows to train on and which to validate on, and the checks of their labels."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.utils import assert_all_finite, check_consistent_length, indexable
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from sklearn_superior.utils._sklearn_compat import count_rows, take_rows


@dataclass
class Rows:
    """Data with labels and, maybe, weights."""

    X: Any
    y: np.ndarray
    sample_weight: np.ndarray | None = None

    def take(self, rows):
        """Return some of the rows."""
        weight = self.sample_weight
        return Rows(
            take_rows(self.X, rows),
            self.y[rows],
            None if weight is None else weight[rows],
        )


def check_labels(y, name="y"):
    """Return labels as a 1-D array, or say what is wrong with them."""
    if y is None:
        raise ValueError(
            f"fit requires {name} to be passed, but the target {name} is None."
        )
    if isinstance(y, list | tuple):
        kinds = {isinstance(label, str) for label in y}
        if len(kinds) > 1:  # which NumPy would make text
            raise ValueError(
                f"{name} must hold labels of one type. Got text beside others."
            )
    y = column_or_1d(y, warn=True)
    if y.dtype.kind == "O":
        _check_objects(y, name)
    assert_all_finite(y, input_name=name)
    check_classification_targets(y)
    return y


def _check_objects(y, name):
    types = sorted({type(label).__name__ for label in y.tolist()})
    missing = [label for label in y.tolist() if label is None or _is_missing(label)]
    if missing:
        raise ValueError(f"{name} must not hold missing values. Got {missing[0]!r}.")
    try:
        np.unique(y)
    except TypeError as exc:
        raise ValueError(
            f"{name} must hold values of one type. Got values of {' and '.join(types)}."
        ) from exc


def _is_missing(label):
    try:
        return bool(label != label)
    except TypeError:  # pandas.NA is neither equal nor unequal to itself
        return True


def check_weights(sample_weight, y, name="sample_weight"):
    """Return weights as an array of floats, or say what is wrong with them."""
    if sample_weight is None:
        return None
    try:
        weight = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as exc:
        raise ValueError(f"{name} must hold numbers: {exc}") from exc
    if weight.ndim != 1:
        raise ValueError(f"{name} must be 1-dimensional. Got shape {weight.shape}.")
    check_consistent_length(y, weight)
    if not (np.all(np.isfinite(weight)) and weight.min() >= 0):
        raise ValueError(f"{name} must be non-negative, without NaN or infinity.")
    if not np.any(weight):
        raise ValueError(f"{name} must not be zero for all samples.")
    return weight


def check_groups(groups, y):
    """Return groups as a 1-D array without missing values; None if there are none."""
    if groups is None:
        return None
    groups = np.asarray(groups)
    if groups.ndim != 1:
        raise ValueError(f"groups must be 1-dimensional. Got shape {groups.shape}.")
    check_consistent_length(y, groups)
    if groups.dtype.kind == "O":
        _check_objects(groups, "groups")
    assert_all_finite(groups, input_name="groups")
    return groups


def check_target(y, sample_weight=None, n_least=2):
    """Check labels and weights; return labels, weights and the classes."""
    y = check_labels(y)
    weight = check_weights(sample_weight, y)
    classes = np.unique(y)
    present = classes if weight is None else np.unique(y[weight > 0])
    if len(present) < n_least:
        raise ValueError(
            f"y must hold at least {n_least} classes with positive weight. "
            f"Got {len(present)} class: {present.tolist()}."
        )
    return y, weight, classes


@dataclass
class Split:
    """What to train on, what to validate on, and what both were made of."""

    train: Rows
    val: Rows | None
    inputs: dict  # all that `fit` was given, by name, and the rows that validate


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
    inputs = {
        "X": data.X,
        "y": data.y,
        "sample_weight": data.sample_weight,
        "groups": groups,
        "X_val": X_val,
        "y_val": y_val,
        "sample_weight_val": weight_val,
    }
    if not validates:
        if not all(values is None for values in validation):
            raise ValueError("early_stopping=False has no use for validation data.")
        return Split(data, None, inputs)
    if (X_val is None) != (y_val is None):
        absent = "X_val" if X_val is None else "y_val"
        raise ValueError(f"X_val and y_val go together, but {absent} is missing.")
    if X_val is not None:
        X_val, y_val, weight_val = indexable(X_val, y_val, weight_val)
        y_val = check_labels(y_val, "y_val")
        weight_val = check_weights(weight_val, y_val, "sample_weight_val")
        return Split(data, Rows(X_val, y_val, weight_val), inputs)
    if weight_val is not None:
        raise ValueError("sample_weight_val is given, but X_val is not.")
    if groups is not None and classifier.validation_split is None:
        raise ValueError(
            "groups are given, but validation_split=None takes no notice of them. "
            "Set validation_split to 'last' or to a splitter that uses groups."
        )
    train, val = validation_rows(
        data.X,
        data.y,
        check_groups(groups, data.y),
        split=classifier.validation_split,
        fraction=classifier.validation_fraction,
        random_state=classifier.random_state,
    )
    inputs |= {"training rows": train, "validation rows": val}
    return Split(data.take(train), data.take(val), inputs)


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
    # A class of one sample, or more classes than places, cannot be shared out.
    can_stratify = counts.min() > 1 and len(counts) <= min(n_val, len(y) - n_val)
    return train_test_split(
        np.arange(len(y)),
        test_size=fraction,
        stratify=codes if can_stratify else None,
        random_state=random_state,
    )
