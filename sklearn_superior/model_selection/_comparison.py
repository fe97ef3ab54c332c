"""Which rule picks the best model? All of them read off one training."""

import math
import traceback
from collections.abc import Mapping
from functools import partial
from time import perf_counter

import numpy as np
from joblib import cpu_count, effective_n_jobs
from sklearn.model_selection import GroupShuffleSplit
from sklearn.utils import check_random_state, indexable

from sklearn_superior.early_stopping._holdout import (
    STOPPING_CONSTRAINTS,
    validation_rows,
)
from sklearn_superior.metrics import scale_temperature
from sklearn_superior.model_selection._comparison_result import StoppingRuleComparison
from sklearn_superior.model_selection._folds import (
    as_numbers,
    check_folds,
    split_in_parts,
)
from sklearn_superior.model_selection._trajectory import (
    Judge,
    Trajectory,
    find_judges,
    find_scorers,
)
from sklearn_superior.staged._engine import FixedBudget, run
from sklearn_superior.staged._scoring import (
    StageScorers,
    align_columns,
    best_temperature,
    warn_of_class_weight,
)
from sklearn_superior.staged._training import Training, prepare_estimator
from sklearn_superior.utils._checks import PATIENCE, Rows, check_target, says_instead
from sklearn_superior.utils._parallel import in_parallel, picklable
from sklearn_superior.utils._progress_bar import with_progress
from sklearn_superior.utils._sklearn_compat import (
    check_parameters,
    integer_from,
    take_rows,
)
from sklearn_superior.utils._warnings import warn

_VALIDATION_FRACTION = 0.2
_TIES = object()  # stands for the rule that decides between equal stages


@says_instead(**PATIENCE)
def compare_stopping_rules(
    estimator,
    X,
    y,
    *,
    groups=None,
    cv=None,
    rules=None,
    scoring="f1_macro",
    n_iter_no_change=10,
    tol=0.0,
    n_repeats=1,
    n_jobs=None,
    random_state=None,
    verbose=0,
):
    """Compare scoring rules by the models that they choose.

    For each fold the estimator is trained once, to its last stage. Every rule scores
    the validation data after each stage and chooses in two ways: the *checkpoint* (CP)
    is the stage with the best score, *early stopping* (ES) the one with the best score
    until the patience ran out. The test data shows how good the choice was. All rules
    choose among the same stages, so they are compared in pairs.

    Accuracy and F1 are often equal for many stages. Of stages with the same score, the
    one with the best log loss on the validation data is chosen. When early stopping
    ends does not depend on that.

    Parameters
    ----------
    estimator : estimator
        Any that `EarlyStoppingClassifier` can train: boosting of scikit-learn, XGBoost,
        LightGBM, CatBoost, `CNNClassifier`, anything with `partial_fit`, or a pipeline
        that ends in one. It is trained to its last stage, whatever its own early
        stopping says.

    X : array-like of shape (n_samples, ...)
        Data.

    y : array-like of shape (n_samples,)
        Class labels.

    groups : array-like of shape (n_samples,), default=None
        Groups, for the splits.

    cv : int, splitter, iterable or None, default=None
        The folds. `HBlockSplit` gives training, validation and test parts, and so may
        an iterable of their rows. With others a fifth of the training part becomes the
        validation part: whole groups if there are groups, else random samples. None is
        5 stratified folds, which keep groups together if there are any.

    rules : list, dict or None, default=None
        Names of rules (``"brier"``, ``"log_loss"``, ``"spherical"``, and each with
        ``"penalized_"`` before it; the first two also with ``"refined_"`` before all,
        which is after recalibration), ``"last"`` for no choice at all, names of scorers
        of scikit-learn (``"accuracy"``, ...), and scorers. A dict gives them other
        names, as in ``{"kappa": scorer, "ll": "log_loss", "last": "last"}``; a scorer
        in a list goes by the name of its function. None is the log loss and the
        Brier score, both penalized, the refined penalized log loss, the accuracy, and
        no choice.

    scoring : str, callable, list or dict, default="f1_macro"
        The score that really counts, or several judges, of which the first one does.
        Names are those of `rules`; with ``"calibrated_"`` before it a judge looks at
        the probabilities after recalibration by the temperature that is best on the
        validation part, as in ``"calibrated_log_loss"``.

    n_iter_no_change : int, default=10
        Patience of early stopping.

    tol : float, default=0.0
        By how much a score must exceed the best one to reset the patience.

    n_repeats : int, default=1
        How often to train on each fold, with other seeds.

    n_jobs : int or None, default=None
        Number of trainings at once, by joblib: under
        ``joblib.parallel_config(backend="dask")`` on a cluster.

    random_state : int, RandomState instance or None, default=None
        Seeds of the estimator for each fold and repeat, and the random validation
        parts. With None and one repeat the estimator keeps its own seed.

    verbose : int, default=0
        With 1, show progress: a bar if tqdm is installed, else lines.

    Returns
    -------
    comparison : StoppingRuleComparison
        Has `summary`, `to_frame`, `trajectories` and `errors`.

    See Also
    --------
    StoppingRuleComparison : The result.
    HBlockSplit : Folds of time series.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.ensemble import GradientBoostingClassifier
    >>> from sklearn_superior.model_selection import compare_stopping_rules
    >>> X, y = load_wine(return_X_y=True)
    >>> comparison = compare_stopping_rules(
    ...     GradientBoostingClassifier(n_estimators=20, max_depth=1),
    ...     X,
    ...     y,
    ...     rules=["brier", "penalized_brier"],
    ...     random_state=0,
    ... )
    >>> [row["rule"] for row in comparison.summary()]
    ['brier', 'brier', 'penalized_brier', 'penalized_brier']
    """
    names = ("n_iter_no_change", "tol")
    constraints = {name: STOPPING_CONSTRAINTS[name] for name in names}
    constraints["n_repeats"] = [integer_from(1)]
    check_parameters("compare_stopping_rules", constraints, locals())
    scorers = find_scorers(rules)
    judges = find_judges(scoring)
    shared = sorted(scorers.keys() & judges.keys())
    if shared and not (_are_names(rules) and _are_names(scoring)):
        raise ValueError(
            "The 'scoring' parameter must not have the names of rules, if one of both "
            f"is a dict or holds scorers. Got {shared} in both."
        )
    _, stages = prepare_estimator(estimator)  # an error if it has no stages
    warn_of_class_weight(stages, scorers.values())
    X, y, groups = indexable(X, y, groups)
    y, _, _ = check_target(y)
    rng = check_random_state(random_state)
    folds = _split(X, y, groups, cv, rng)
    folds = check_folds(folds, len(y), ("training", "validation", "test"))
    seeded = random_state is not None or n_repeats > 1
    jobs = [
        (fold, repeat, rng.randint(np.iinfo(np.int32).max) if seeded else None)
        for fold in range(len(folds))
        for repeat in range(n_repeats)
    ]
    # So many trainings at once share the threads of the machine.
    n_at_once = min(effective_n_jobs(n_jobs), len(jobs))
    threads = None if n_at_once == 1 else max(1, cpu_count() // n_at_once)
    tasks = [
        (estimator, X, y, folds[fold], fold, repeat, seed, scorers, judges, threads)
        for fold, repeat, seed in jobs
    ]
    outcomes = in_parallel(_try_to_trace, tasks, n_jobs=n_jobs)
    if verbose:
        about = {"n_all": len(jobs), "task": "Training", "unit": "folds"}
        outcomes = with_progress(outcomes, **about)
    trajectories, errors = [], []
    for trajectory, error in outcomes:
        trajectories += [trajectory] if error is None else []
        errors += [] if error is None else [error]
    _report_errors(errors, n_jobs=len(jobs))
    return StoppingRuleComparison(
        trajectories=sorted(trajectories, key=lambda t: (t.fold, t.repeat)),
        errors=errors,
        rules=list(scorers),
        n_iter_no_change=n_iter_no_change,
        tol=tol,
        scoring=next(iter(judges)),
        judges=list(judges)[1:],
    )


def _are_names(scorers):
    """Whether nothing but names of scorers is given, which mean the same everywhere."""
    return not isinstance(scorers, Mapping) and (
        scorers is None
        or isinstance(scorers, str)
        or (
            not callable(scorers) and all(isinstance(scorer, str) for scorer in scorers)
        )
    )


def _split(X, y, groups, cv, rng):
    """Return (train, validation, test) of each fold."""
    if hasattr(cv, "split_with_validation"):
        return list(cv.split_with_validation(X, y, groups))
    in_parts = split_in_parts(cv, X, y, groups)
    n_parts = {len(parts) for parts in in_parts}
    if n_parts == {3}:
        return in_parts
    if n_parts - {2}:
        raise ValueError(
            "The 'cv' parameter must give two parts in every fold (training, test) "
            "or three (training, validation, test). Got "
            f"{sorted(n_parts)} parts."
        )
    carve = None
    if groups is not None:
        carve = GroupShuffleSplit(1, test_size=_VALIDATION_FRACTION, random_state=rng)
    folds = []
    for train, test in in_parts:
        where = f"the training part of fold {len(folds)}"
        train = as_numbers(train, len(y), where)
        if carve is not None and len(np.unique(take_rows(groups, train))) < 2:
            raise ValueError(
                "groups must leave at least two groups to train on, one of which "
                "becomes the validation part. Use more groups, or fewer folds."
            )
        fit, val = validation_rows(
            train,
            y[train],
            None if groups is None else take_rows(groups, train),
            split=carve,
            fraction=_VALIDATION_FRACTION,
            random_state=rng,
        )
        folds.append((train[fit], train[val], test))
    return folds


def _try_to_trace(estimator, X, y, rows, fold, repeat, *args):
    """Return a trajectory, or what went wrong."""
    try:
        return _trace(estimator, X, y, rows, fold, repeat, *args), None
    except Exception as exc:
        return None, {
            "fold": fold,
            "repeat": repeat,
            "error": f"{type(exc).__name__}: {exc}",
            "traceback": traceback.format_exc(),
            "exception": picklable(exc),
        }


def _trace(estimator, X, y, rows, fold, repeat, seed, scorers, judges, threads):
    """Train once and score every stage."""
    start = perf_counter()
    train, val, test = (np.asarray(part) for part in rows)
    parts = {"validation": val, "test": test}
    classes = np.unique(y)
    training = Training(
        estimator,
        lambda: Rows(take_rows(X, train), y[train]),
        {part: partial(take_rows, X, rows) for part, rows in parts.items()},
        classes,
        seed=seed,
        max_threads=threads,
    )
    first = next(iter(judges))
    named = {name: Judge(scorer) for name, scorer in scorers.items() if scorer}
    named |= {"target": judges[first]} | {k: v for k, v in judges.items() if k != first}
    scores = {part: {name: [] for name in named} for part in parts}
    calibrates = any(judge.is_calibrated for judge in judges.values())
    # One pass for all that look at the same probabilities of a part.
    scorers_of = {
        (part, is_calibrated): {
            k: v.scorer for k, v in named.items() if v.is_calibrated == is_calibrated
        }
        for part in parts
        for is_calibrated in (False, True)
    }
    scorers_of["validation", False][_TIES] = "log_loss"
    scores["validation"][_TIES] = []
    score = {
        (part, is_calibrated): StageScorers(
            scorers_of[part, is_calibrated],
            classes,
            take_rows(X, part_rows),
            y[part_rows],
        )
        for part, part_rows in parts.items()
        for is_calibrated in (False, True)
        if scorers_of[part, is_calibrated]
    }
    temperatures = []

    def record(_, predicted):
        temperature, calibrated = np.nan, predicted
        if calibrates and all(np.isfinite(q).all() for q in predicted.values()):
            temperature, calibrated = _calibrate(training, y[val], predicted)
        temperatures.append(temperature)
        for (part, is_calibrated), score_part in score.items():
            seen = calibrated if is_calibrated else predicted
            for name, value in score_part(seen[part]).items():
                scores[part][name].append(value)
        return np.nan

    run([training], record, FixedBudget(math.inf), max_threads=threads)
    tie_scores = scores["validation"].pop(_TIES)
    return Trajectory(
        fold=fold,
        repeat=repeat,
        seed=seed,
        n_rows={"train": len(train), "validation": len(val), "test": len(test)},
        validation={name: np.array(v) for name, v in scores["validation"].items()},
        test={name: np.array(v) for name, v in scores["test"].items()},
        time=perf_counter() - start,
        n_classes=len(classes),
        temperature=np.array(temperatures) if calibrates else None,
        tie_scores=np.array(tie_scores),
    )


def _calibrate(training, y_val, predicted):
    """Return the temperature that is best on the validation part, and scaled parts."""
    classes, own_classes = training.classes, training.own_classes
    own = np.searchsorted(classes, own_classes)
    temperature = best_temperature(y_val, predicted["validation"][:, own], own_classes)
    scaled = {
        part: align_columns(
            scale_temperature(y_proba[:, own], temperature), own_classes, classes
        )
        for part, y_proba in predicted.items()
    }
    return temperature, scaled


def _report_errors(errors, n_jobs):
    """Warn of trainings that failed; raise an error if all of them did."""

    def where(error):
        return f"Fold {error['fold']}, repeat {error['repeat']}"

    if n_jobs == len(errors) == 1:
        (error,) = errors
        raise ValueError(f"Training failed: {error['error']}") from error["exception"]
    if len(errors) == n_jobs:
        first = min(errors, key=lambda error: (error["fold"], error["repeat"]))
        raise ValueError(
            f"All {n_jobs} trainings failed. {where(first)}: {first['error']}"
        ) from first["exception"]
    for error in errors:
        warn(f"{where(error)} failed and is left out: {error['error']}")
