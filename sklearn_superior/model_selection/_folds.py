"""The folds of a cross-validation, by the numbers of their rows."""

from collections.abc import Iterable
from itertools import combinations
from numbers import Integral

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold, check_cv


def find_splitter(cv, y, groups):
    """Return the splitter that `cv` means; with groups, folds keep them together."""
    if groups is not None and (cv is None or isinstance(cv, Integral)):
        n_folds, n_groups = 5 if cv is None else cv, len(np.unique(groups))
        if n_folds > n_groups:
            raise ValueError(
                "The 'cv' parameter must be at most the number of groups, because a "
                f"group stays in one fold: there are {n_groups} groups. Got {cv}"
                f"{', which means 5 folds' if cv is None else ''}."
            )
        cv = StratifiedGroupKFold(n_folds)
    return check_cv(cv, y, classifier=True)


def split_in_parts(cv, X, y, groups):
    """Return the parts of each fold, as many as `cv` gives."""
    if not hasattr(cv, "split") and isinstance(cv, Iterable):
        return [tuple(parts) for parts in cv]
    return list(find_splitter(cv, y, groups).split(X, y, groups))


def split_in_two(cv, X, y, groups):
    """Return the rows to train on and the rows to test on, of each fold."""
    folds = split_in_parts(cv, X, y, groups)
    n_parts = {len(parts) for parts in folds}
    if n_parts - {2}:
        raise ValueError(
            "The 'cv' parameter must give two parts in every fold, the rows to train "
            f"on and the rows to test on. Got {sorted(n_parts)} parts."
        )
    return check_folds(folds, len(y), ("training", "test"))


def check_folds(folds, n_rows, names):
    """Return the rows of each fold by their numbers, without common ones.

    Parameters
    ----------
    folds : list of tuple of array-like
        The parts of each fold: numbers of rows, or masks.

    n_rows : int
        Number of rows in all.

    names : tuple of str
        What the parts are called.
    """
    if not folds:
        raise ValueError("The 'cv' parameter must give at least one fold. Got none.")
    checked = []
    for fold, parts in enumerate(folds):
        named = [
            (name, as_numbers(rows, n_rows, f"the {name} part of fold {fold}"))
            for name, rows in zip(names, parts, strict=True)
        ]
        checked.append([rows for _, rows in named])
        for name, rows in named:
            if len(rows) == 0:
                raise ValueError(
                    f"The 'cv' parameter must give a {name} part in every fold. Got "
                    f"none in fold {fold}."
                )
        for (name, rows), (other, other_rows) in combinations(named, 2):
            n_shared = len(np.intersect1d(rows, other_rows))
            if n_shared:
                raise ValueError(
                    f"The 'cv' parameter must give parts without common rows. In fold "
                    f"{fold} the {name} and the {other} part share {n_shared} rows."
                )
    return checked


def as_numbers(rows, n_rows, where):
    """Return numbers from 0 up, also of negative numbers and of a mask.

    `where` names the part of the fold, for the message.
    """
    rows = np.asarray(rows)
    got = None
    if rows.ndim != 1:
        got = f"an array of the shape {rows.shape}"
    elif len(rows) == 0:
        rows = rows.astype(int)
    elif rows.dtype.kind == "b":
        got = None if len(rows) == n_rows else f"a mask of {len(rows)}"
    elif rows.dtype.kind not in "iu":
        got = f"values of the dtype {rows.dtype}"
    else:
        outside = rows[(rows < -n_rows) | (rows >= n_rows)]
        got = f"{outside[0]}" if len(outside) else None
    if got is not None:
        raise ValueError(
            f"The 'cv' parameter must give numbers of rows from {-n_rows} to "
            f"{n_rows - 1}, or masks of {n_rows} values. Got {got} in {where}."
        )
    return np.arange(n_rows)[rows]
