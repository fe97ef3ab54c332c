"""Which data to train on and which to validate on."""

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.utils import assert_all_finite, indexable
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

from sklearn_superior.utils._params import check_real
from sklearn_superior.utils._sklearn_compat import count_rows, take_rows


def check_target(y, sample_weight, n_least=2):
    """Check labels and weights; return the labels and the classes."""
    if y is None:
        raise ValueError("fit requires y to be passed, but the target y is None.")
    y = column_or_1d(y, warn=True)
    assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    try:
        classes = np.unique(y)
    except TypeError as exc:
        raise ValueError(
            f"y must hold labels of one type, none of them missing: {exc}"
        ) from exc
    present = classes
    if sample_weight is not None:
        sample_weight = np.asarray(sample_weight)
        if sample_weight.ndim != 1:
            raise ValueError(
                f"sample_weight must be 1-dimensional. Got shape {sample_weight.shape}."
            )
        if not (np.all(np.isfinite(sample_weight)) and sample_weight.min() >= 0):
            raise ValueError(
                "sample_weight must be non-negative, without NaN or infinity."
            )
        if not np.any(sample_weight):
            raise ValueError("sample_weight must not be zero for all samples.")
        present = np.unique(y[sample_weight > 0])
    if len(present) < n_least:
        raise ValueError(
            f"y must hold at least {n_least} classes with positive weight. "
            f"Got {len(present)} class: {present.tolist()}."
        )
    return y, classes


def split_validation(classifier, data, validation, groups):
    """Return the training and the validation part as (X, y, weight).

    Parameters
    ----------
    classifier : estimator
        Its parameters tell how to split.

    data, validation : tuple of X, y, sample_weight
        What `fit` was given. Without validation data a part of `data` is taken.

    groups : array-like or None
        Groups for the split.
    """
    X_val, y_val, weight_val = validation
    if (X_val is None) != (y_val is None):
        absent = "X_val" if X_val is None else "y_val"
        raise ValueError(f"X_val and y_val go together, but {absent} is missing.")
    if X_val is not None:
        validate_data(classifier, X_val, reset=False, skip_check_array=True)
        X_val, y_val, weight_val = indexable(*validation)
        y_val = column_or_1d(y_val)
        assert_all_finite(y_val, input_name="y_val")
        return data, (X_val, y_val, weight_val)
    if weight_val is not None:
        raise ValueError("sample_weight_val is given, but X_val is not.")
    if groups is not None and classifier.validation_split is None:
        raise ValueError(
            "groups are given, but validation_split=None takes no notice of them. "
            "Set validation_split to 'last' or to a splitter."
        )
    rows = validation_rows(
        *data[:2],
        groups,
        split=classifier.validation_split,
        fraction=classifier.validation_fraction,
        random_state=classifier.random_state,
    )
    return tuple(
        tuple(None if part is None else take_rows(part, k) for part in data)
        for k in rows
    )


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
