"""Columns of probabilities for all classes, also those that an estimator lacks."""

import numpy as np

from sklearn_superior.metrics._labels import shown, unique_labels
from sklearn_superior.utils._arrays import read_array
from sklearn_superior.utils._sklearn_compat import array_namespace, to_numpy
from sklearn_superior.utils._warnings import warn


def with_all_classes(y_true, y_proba, classes, pos_label, declared=None):
    """Return all classes, sorted, and `y_proba` with a column for each of them.

    The columns of classes that it lacks are zeros. A single column, of `pos_label` of
    two classes, is returned as it is if no class is to be added.
    """
    added = declared_only(declared, classes)
    known = union(classes, added) if len(added) else classes
    unseen = not_among(labels_of(y_true, classes), known)
    if len(unseen):
        warn(
            f"y_true has classes that the estimator has never seen: {shown(unseen)}. "
            "They count with probability 0.",
        )
    n_added = len(added) + len(unseen)
    order = np.argsort(classes)
    is_sorted = bool(np.all(order == np.arange(len(classes))))
    is_column = np.ndim(y_proba) == 1
    is_one_hot = np.ndim(y_true) == 2 and np.shape(y_true)[1] > 1
    fits = n_added == 0 and not (is_column and is_one_hot)
    if fits and (is_sorted or is_column):
        return classes[order], y_proba

    xp, device = array_namespace(y_proba)
    if xp is np:
        y_proba = read_array(y_proba, "y_proba")
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
    return all_classes, y_proba


def declared_only(declared, classes):
    """Return those of the `labels` option of a scorer that are not among `classes`."""
    if declared is None:
        return classes[:0]
    declared = read_array(declared, "labels")
    if _kind(declared) != _kind(classes):
        raise ValueError(
            f"The 'labels' option of the scorer must be of the type of the classes "
            f"{shown(classes)} of the estimator. Got labels={shown(declared)}."
        )
    return not_among(np.unique(declared), classes)


def labels_of(y_true, classes):
    """Distinct labels in `y_true`; none if it is one-hot."""
    xp, _ = array_namespace(y_true)
    y_true = read_array(y_true, "y_true") if xp is np else y_true
    if y_true.ndim != 1:
        return classes[:0]
    if y_true.shape[0] == 0:
        raise ValueError("y_true must hold at least one label. Got none.")
    if xp is not np:
        y_true = to_numpy(xp.unique_values(y_true), xp)
    labels = unique_labels(y_true, "y_true")
    if _kind(labels) != _kind(classes):
        raise ValueError(
            f"y_true has labels {shown(labels)}, of another type than the classes "
            f"{shown(classes)} of the estimator."
        )
    return labels


def _kind(labels):
    """Return the type of labels, as far as they can be compared."""
    first = labels.tolist()[0]
    return type(first) if isinstance(first, str | bytes) else "number"


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


def classes_on_host(classes):
    """Classes as a NumPy array: they may be a list, or a tensor on a device."""
    xp, _ = array_namespace(classes)
    return read_array(classes, "classes_") if xp is np else to_numpy(classes, xp)
