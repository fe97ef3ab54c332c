"""Training with a hold-out: its parameters, its rows, when to stop, what to keep.

`EarlyStoppingClassifier` and `CNNClassifier` are built on this module. Other folders
may use what is in `__all__`.
"""

import math
from copy import deepcopy
from dataclasses import dataclass
from numbers import Real
from os import PathLike

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline
from sklearn.utils import indexable

from sklearn_superior.early_stopping._checkpoint import PART, open_checkpoint
from sklearn_superior.early_stopping._stopper import EarlyStopper
from sklearn_superior.staged._engine import Result, run
from sklearn_superior.staged._observers import Callbacks, StagePrinter
from sklearn_superior.staged._scoring import (
    StageScorer,
    best_temperature,
    calibrates,
    check_scorer,
    temperature_options,
)
from sklearn_superior.staged._training import Training
from sklearn_superior.utils._checks import (
    Rows,
    check_groups,
    check_labels,
    check_weights,
    says_instead,
    with_mean_one,
)
from sklearn_superior.utils._sklearn_compat import (
    Interval,
    StrOptions,
    check_parameters,
    count_rows,
    integer_from,
)
from sklearn_superior.utils._warnings import warn

__all__ = [
    "STOPPING_CONSTRAINTS",
    "check_stopping_parameters",
    "fit_holdout",
    "make_training",
    "names_validation_data",
    "split_validation",
    "validation_rows",
    "warn_of_scores",
]

# Parameters

STOPPING_CONSTRAINTS = {
    "scoring": [str, callable, None],
    "n_iter_no_change": [integer_from(1)],
    "tol": [Interval(Real, 0, None, closed="left")],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    "calibration": [StrOptions({"auto", "temperature"}), None],
    "checkpoint_dir": [str, PathLike, None],
    "resume": ["boolean"],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
}

# A decorator of `fit`: the names of the validation data in other libraries.
names_validation_data = says_instead(
    **dict.fromkeys(
        ("eval_set", "validation_data"),
        "pass the validation data as X_val= and y_val=, its weights as "
        "sample_weight_val=",
    )
)


def check_stopping_parameters(classifier, constraints=STOPPING_CONSTRAINTS):
    """Check the parameters of a classifier with early stopping."""
    params = classifier.get_params(deep=False)
    check_parameters(type(classifier).__name__, constraints, params)
    check_split(classifier.validation_split)
    if isinstance(classifier.checkpoint_dir, str) and not classifier.checkpoint_dir:
        raise ValueError(
            "The 'checkpoint_dir' parameter must be a folder or None. Got ''; use '.' "
            "for the current one."
        )
    if classifier.resume and classifier.checkpoint_dir is None:
        raise ValueError("resume=True needs a checkpoint_dir.")


# Rows


@dataclass
class Split:
    """What to train on, and what to validate on."""

    train: Rows
    val: Rows | None
    was_split: bool = False  # if not, the training rows are the caller's own


def split_validation(classifier, data, validation, groups, *, validates=True):
    """Split off the validation part.

    Parameters
    ----------
    classifier : estimator
        Its parameters define the split.

    data : Rows
        The checked arguments of `fit`.

    validation : tuple of X, y, sample_weight
        Validation data. If None, a part of `data` is held out.

    groups : array-like or None
        Groups for the split.

    validates : bool
        Whether to have a validation part at all.

    Returns
    -------
    split : Split
    """
    X_val, y_val, weight_val = validation
    if not validates:
        if any(values is not None for values in validation):
            raise ValueError("early_stopping=False does not use validation data.")
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
            "groups are given, but validation_split=None ignores them. Set "
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
    return Split(data.take(train), data.take(val), was_split=True)


def validation_rows(X, y, groups, *, split, fraction, random_state):
    """Return the rows to train on and the rows to validate on.

    Parameters
    ----------
    X, y, groups : array-like
        The data.

    split : splitter, "last" or None
        The first split of a splitter; the last rows of each group; or a stratified
        random part.

    fraction : float
        Size of the validation part, unless a splitter defines it.

    random_state : int, RandomState or None
        For the random part.
    """
    check_split(split)
    if split is None:
        return _random_rows(y, fraction, random_state)
    if isinstance(split, str):
        return _last_rows(count_rows(X), groups, fraction)
    try:
        parts = next(iter(split.split(X, y, groups)), ((), ()))
    except ValueError as exc:
        if groups is None and "groups" in str(exc):
            raise ValueError(
                f"validation_split={split} needs groups: pass them to fit, as "
                "cross_val_score(..., params={'groups': groups}) does."
            ) from exc
        raise
    sizes = [len(part) for part in parts]
    if len(sizes) != 2 or 0 in sizes:
        raise ValueError(
            "The 'validation_split' parameter must give two parts, rows to train on "
            f"and rows to validate on. Got {len(sizes)} parts with {sizes} rows from "
            f"{split!r}."
        )
    return parts


def check_split(split):
    """Check the parameter `validation_split`."""
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
    # A class with a single sample cannot be split: it is trained on.
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


# Training


def make_training(estimator, split, classes, **options):
    """Return the training of an estimator on a hold-out."""
    # Some steps of pipelines work in place, so they get copies of the rows.
    is_pipeline = isinstance(estimator, Pipeline)

    def train():
        copies = is_pipeline and not split.was_split
        return deepcopy(split.train) if copies else split.train

    def validation():
        return deepcopy(split.val.X) if is_pipeline else split.val.X

    seen = {} if split.val is None else {PART: validation}
    return Training(estimator, train, seen, classes, **options)


class Holdout(dict):
    """The attributes of a classifier that was trained with a hold-out."""

    def set_on(self, classifier):
        """Set the attributes."""
        vars(classifier).update(self)


def fit_holdout(classifier, training, split, attributes_of):
    """Train until the score stops improving, and keep the best stage.

    Parameters
    ----------
    classifier : estimator
        Its parameters define when to stop and where to write checkpoints, and it has
        the callbacks. It is not changed.

    training : Training
        What to train.

    split : Split
        Training and validation data. Without validation data, all stages are trained
        and the last one is kept.

    attributes_of : callable
        Returns the attributes that make a copy of the classifier predict as an
        estimator does.

    Returns
    -------
    holdout : Holdout
    """
    val, stages, n_stages = split.val, training.stages, training.n_stages
    patience = n_stages + 1 if val is None else classifier.n_iter_no_change
    stopper = EarlyStopper(n_iter_no_change=patience, tol=classifier.tol)
    scorer, score = None, lambda y_proba: math.nan
    if val is not None:
        scorer = check_scorer(classifier.scoring)
        weight = with_mean_one(val.sample_weight)
        score = StageScorer(scorer, training.classes, val.X, val.y, weight)
    training.begin()
    if val is not None and not np.isin(val.y, split.train.y).any():
        raise ValueError(
            "The validation data must have classes of the training data. Got "
            f"{np.unique(val.y).tolist()} and {np.unique(split.train.y).tolist()}."
        )
    result, stop = Result(1), False
    checkpoint = open_checkpoint(classifier, training, stopper, scorer, val)
    if checkpoint and classifier.resume:
        stop = checkpoint.resume(result, score)
        if classifier.verbose and stopper.n_iter:
            print(f"resumed after {stopper.n_iter} {stages.unit}s: {checkpoint.path}")

    def attributes():
        last = stages.snapshot()
        return None if last is None else attributes_of(training.estimator(last))

    callbacks = Callbacks(classifier, split.train, n_stages, stages.unit, attributes)
    observers = [StagePrinter(stages, stopper)] if classifier.verbose else []
    observers += [callbacks, *([checkpoint] if checkpoint else [])]
    try:
        if not stop:
            run(
                [training],
                lambda _, parts: score(parts.get(PART)),
                stopper,
                observers=observers,
                result=result,
            )
            if checkpoint:
                checkpoint.save(result)
    except KeyboardInterrupt:
        # It may have come after the best stage was scored, but before it was stored.
        best = stopper.best_iteration
        has_best = best is not None and best == result.best_iteration
        if not (stopper.n_iter if val is None else has_best):
            raise
        kept = "the present weights are" if val is None else "the best of them is"
        warn(
            f"Training was interrupted after {stopper.n_iter} {stages.unit}s; {kept} "
            "kept."
        )
    holdout = Holdout(n_iter_=stopper.n_iter, temperature_=1.0)
    if val is not None:
        holdout |= _keep_best(training, result, stopper)
        holdout["scorer_"] = scorer
        if calibrates(classifier.calibration, scorer):
            own_classes = training.own_classes
            columns = np.isin(training.classes, own_classes)
            holdout["temperature_"] = best_temperature(
                val.y,
                result.best[0][PART][:, columns],
                own_classes,
                with_mean_one(val.sample_weight),
                **temperature_options(scorer),
            )
    callbacks.finished(lambda: attributes_of(training.estimator()))
    return holdout


def _keep_best(training, result, stopper):
    """Keep the best stage; return the attributes that describe it."""
    best = stopper.best_iteration
    if best is None:
        raise ValueError(
            f"No stage has a valid score: all {stopper.n_iter} scores of the "
            "'scoring' parameter are NaN or minus infinity."
        )
    training.keep_as_scored(best, PART, result.best[0][PART])
    warn_of_scores(stopper.scores, best, training.stages, stopper.n_iter_no_change)
    return {
        "best_iteration_": best,
        "best_score_": stopper.best_score,
        "validation_scores_": np.array(stopper.scores),
    }


def warn_of_scores(scores, best, stages, patience):
    """Warn if all scores are equal, or if the best stage is near the end of the budget.

    It is near the end if at most a quarter of the patience has passed since, or of the
    budget if that is smaller. In this case, further training usually helps.
    """
    unit, n_stages = stages.unit, stages.n_stages
    n_since = len(scores) - 1 - best
    ended_by_budget = len(scores) == n_stages > 1
    if len(scores) > 1 and all(score == scores[0] for score in scores):
        warn(
            f"All {len(scores)} scores of the validation data are equal, so the first "
            f"{unit} is kept. Use a 'scoring' that distinguishes the {unit}s, such as "
            "the default, or more validation data."
        )
    elif ended_by_budget and n_since <= min(patience, n_stages) // 4:
        place = f"the last of {n_stages}: the score was still improving"
        if n_since:
            place = f"number {best + 1} of {n_stages}, shortly before the budget ended"
        warn(
            f"The best {unit} is {place}. A larger value of {stages.budget_name()} may "
            "give a better model.",
            ConvergenceWarning,
        )
