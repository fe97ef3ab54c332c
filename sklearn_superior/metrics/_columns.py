"""Columns of probabilities for all classes, also those that an estimator lacks."""

import numpy as np

from sklearn_superior.metrics._validation import as_host_array, shown, unique_labels
from sklearn_superior.utils._sklearn_compat import array_namespace, to_numpy
from sklearn_superior.utils._warnings import warn


def with_all_classes(y_true, y_proba, classes, pos_label, declared):
    """Sort the columns of `y_proba` and add one of zeros for each class it lacks."""
    classes = _to_host(classes, "classes")
    added = not_among(check_declared(declared, classes), classes)
    unseen = not_among(labels_of(y_true, classes), union(classes, added))
    if len(unseen):
        warn(
            f"y_true has classes that the estimator has never seen: {shown(unseen)}. "
            "They count with probability 0.",
        )
    n_added = len(added) + len(unseen)
    order = np.argsort(classes)
    is_sorted = bool(np.all(order == np.arange(len(classes))))
    if n_added == 0 and (is_sorted or np.ndim(y_proba) == 1):
        return classes[order], y_proba, pos_label

    xp, device = array_namespace(y_proba)
    if xp is np:
        y_proba = as_host_array(y_proba, "y_proba")
    if y_proba.ndim == 1:
        positive = classes[-1] if pos_label is None else pos_label
        columns = [y_proba if c == positive else 1 - y_proba for c in classes]
        y_proba = xp.stack(columns, axis=1)
    shape = (y_proba.shape[0], n_added)
    zeros = xp.zeros(shape, dtype=y_proba.dtype, device=device)
    y_proba = xp.concat([y_proba, zeros], axis=1)
    # The columns are now those of the classes, then of what was added to them.
    in_columns = classes.tolist() + added.tolist() + unseen.tolist()
    all_classes = union(classes, added, unseen)
    order = [in_columns.index(label) for label in all_classes.tolist()]
    y_proba = xp.take(y_proba, xp.asarray(order, device=device), axis=1)
    return all_classes, y_proba, pos_label


def check_declared(declared, classes):
    """Return the `labels` option of a scorer, if it fits the estimator's classes."""
    declared = as_host_array(declared, "labels")
    if len(declared) and _is_text(declared) != _is_text(classes):
        raise ValueError(
            f"The 'labels' option of the scorer must be of the type of the classes "
            f"{shown(classes)} of the estimator. Got labels={shown(declared)}."
        )
    return np.unique(declared)


def labels_of(y_true, classes):
    """Distinct labels in `y_true`; none if it is one-hot."""
    xp, _ = array_namespace(y_true)
    y_true = as_host_array(y_true, "y_true") if xp is np else y_true
    if y_true.ndim != 1:
        return classes[:0]
    if xp is not np:
        y_true = to_numpy(xp.unique_values(y_true), xp)
    labels = unique_labels(y_true, "y_true")
    if _is_text(labels) != _is_text(classes):
        raise ValueError(
            f"y_true has labels {shown(labels)}, of another type than the classes "
            f"{shown(classes)} of the estimator."
        )
    return labels


def _is_text(labels):
    return isinstance(labels.tolist()[0], str)


def not_among(labels, classes):
    """Those of the labels that are not among the classes."""
    known = set(classes.tolist())
    is_new = [label not in known for label in labels.tolist()]
    return labels[is_new] if any(is_new) else classes[:0]


def union(*arrays):
    """Sorted distinct labels of several arrays."""
    are_integers = all(array.dtype.kind in "iu" for array in arrays)
    if are_integers and np.result_type(*arrays).kind == "f":  # int64 beside uint64
        arrays = [array.astype(object) for array in arrays]
    return unique_labels(np.concatenate(arrays), "labels")


def _to_host(values, name):
    xp, _ = array_namespace(values)
    return as_host_array(values, name) if xp is np else to_numpy(values, xp)
