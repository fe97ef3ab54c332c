"""Compare stopping rules: all of them read off the same trainings."""

import math
import traceback
from functools import partial
from time import perf_counter

import numpy as np
from joblib import cpu_count, effective_n_jobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GroupShuffleSplit
from sklearn.utils import check_random_state, indexable

from sklearn_superior.early_stopping._holdout import (
    STOPPING_CONSTRAINTS,
    validation_rows,
)
from sklearn_superior.metrics import scale_temperature
from sklearn_superior.model_selection._folds import find_folds
from sklearn_superior.model_selection._summary import StoppingRuleComparison
from sklearn_superior.model_selection._trajectory import (
    Judge,
    Trajectory,
    find_judges,
    find_scorers,
)
from sklearn_superior.staged._engine import FixedBudget, run
from sklearn_superior.staged._scoring import (
    StageScorers,
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
_TIES = object()  # the key of the scores that break ties


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
    n_iter_no_change=20,
    tol=0.0,
    n_repeats=1,
    n_jobs=None,
    random_state=None,
    verbose=0,
):
    """Compare scoring rules by the stages that they choose.

    For each fold the estimator is trained once, to its last stage. After each stage,
    all rules score the validation data. Each rule chooses in two ways: the *checkpoint*
    (CP) is the stage with the best score, *early stopping* (ES) the one with the best
    score before the patience ran out. The test data shows how good the choice is. All
    rules choose among the same stages, so they are compared in pairs.

    Accuracy and F1 are often equal for many stages. Ties are broken by the log loss on
    the validation data. They do not affect when early stopping ends.

    Parameters
    ----------
    estimator : estimator
        Any estimator that `EarlyStoppingClassifier` can train: boosting from
        scikit-learn, XGBoost, LightGBM or CatBoost, `CNNClassifier`, anything with
        `partial_fit`, or a pipeline that ends in one. It is trained to its last stage;
        its own early stopping is ignored.

    X : array-like of shape (n_samples, ...)
        Data.

    y : array-like of shape (n_samples,)
        Class labels.

    groups : array-like of shape (n_samples,), default=None
        Groups for `cv`.

    cv : int, splitter, iterable or None, default=None
        The folds. `HBlockSplit` gives training, validation and test parts, and so may
        an iterable of row indices. With other splitters, a fifth of the training part
        is used for validation: whole groups if there are groups, otherwise random
        samples. None means 5 stratified folds, which keep groups together if there are
        any.

    rules : list, dict or None, default=None
        Names of rules: ``"brier"``, ``"log_loss"``, ``"spherical"``, each optionally
        with the prefix ``"penalized_"``; Brier and log loss also with ``"refined_"``
        before that, which means after calibration. Also ``"last"`` to keep the last
        stage, names of scikit-learn scorers (``"accuracy"``, ...), and scorers. A dict
        gives them other names, as in ``{"kappa": scorer, "ll": "log_loss", "last":
        "last"}``; in a list, a scorer has the name of its function. None means the log
        loss and the Brier score, plain and penalized, the refined log loss, the
        accuracy, and the last stage.

    scoring : str, callable, list or dict, default="f1_macro"
        The score that counts, or several judges, of which the first is the main one.
        The names are those of `rules`. With the prefix ``"calibrated_"``, as in
        ``"calibrated_log_loss"``, a judge uses probabilities that are calibrated by the
        best temperature for the validation data.

    n_iter_no_change : int, default=20
        Patience of early stopping.

    tol : float, default=0.0
        Minimum improvement over the best score. Absolute, in units of the score.

    n_repeats : int, default=1
        Number of trainings on each fold, with different random seeds.

    n_jobs : int or None, default=None
        Number of trainings in parallel with joblib: on a cluster, for example, under
        ``joblib.parallel_config(backend="dask")``.

    random_state : int, RandomState instance or None, default=None
        Determines the seed of the estimator for each fold and repeat, and the random
        validation parts. With None and one repeat, the estimator keeps its own seed.

    verbose : int, default=0
        With 1, show progress: a bar if tqdm is installed, otherwise lines.

    Returns
    -------
    comparison : StoppingRuleComparison
        With `summary`, `to_frame`, `trajectories` and `errors`.

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
    shared = [
        name
        for name in sorted(scorers.keys() & judges.keys())
        if repr(Judge(scorers[name])) != repr(judges[name])
    ]
    if shared:
        raise ValueError(
            "The 'scoring' parameter must not use the name of a rule for another "
            f"scorer. Got {shared} in both."
        )
    _, stages = prepare_estimator(estimator)  # raises an error if it has no stages
    warn_of_class_weight(stages, scorers.values())
    X, y, groups = indexable(X, y, groups)
    y, _, _ = check_target(y)
    rng = check_random_state(random_state)
    folds = _split(X, y, groups, cv, rng)
    seeded = random_state is not None or n_repeats > 1
    jobs = [
        (fold, repeat, rng.randint(np.iinfo(np.int32).max) if seeded else None)
        for fold in range(len(folds))
        for repeat in range(n_repeats)
    ]
    # Trainings in parallel share the threads of the machine.
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
        if error is None:
            trajectories.append(trajectory)
        else:
            errors.append(error)
    errors.sort(key=lambda error: (error["fold"], error["repeat"]))
    _report_errors(errors, n_all=len(jobs))
    comparison = StoppingRuleComparison(
        trajectories=sorted(trajectories, key=lambda t: (t.fold, t.repeat)),
        errors=errors,
        rules=list(scorers),
        n_iter_no_change=n_iter_no_change,
        tol=tol,
        scoring=next(iter(judges)),
        judges=list(judges)[1:],
    )
    _warn_of_budget(comparison, stages)
    return comparison


def _split(X, y, groups, cv, rng):
    """Return (train, validation, test) of each fold."""
    if hasattr(cv, "split_with_validation"):
        cv = cv.split_with_validation(X, y, groups)
    folds = find_folds(cv, X, y, groups, n_parts=(2, 3))
    if len(folds[0]) == 3:
        return folds
    carve = None
    if groups is not None:
        carve = GroupShuffleSplit(1, test_size=_VALIDATION_FRACTION, random_state=rng)
    in_three = []
    for train, test in folds:
        own = None if groups is None else take_rows(groups, train)
        if own is not None and len(np.unique(own)) < 2:
            raise ValueError(
                "groups must leave at least two groups for training, one of which is "
                "used for validation. Use more groups or fewer folds."
            )
        fit, val = validation_rows(
            train,
            y[train],
            own,
            split=carve,
            fraction=_VALIDATION_FRACTION,
            random_state=rng,
        )
        in_three.append((train[fit], train[val], test))
    return in_three


def _try_to_trace(estimator, X, y, rows, fold, repeat, *args):
    """Return a trajectory and no error, or the other way round."""
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
    train, *others = rows
    parts = dict(zip(("validation", "test"), others, strict=True))
    classes = np.unique(y)
    training = Training(
        estimator,
        lambda: Rows(take_rows(X, train), y[train]),
        {part: partial(take_rows, X, own) for part, own in parts.items()},
        classes,
        seed=seed,
        max_threads=threads,
    )
    named = {name: Judge(scorer) for name, scorer in scorers.items() if scorer}
    named |= dict(zip(("target", *list(judges)[1:]), judges.values(), strict=True))
    named[_TIES] = Judge("log_loss")
    # One pass over the probabilities of a part for all scorers, or two if some of them
    # see calibrated probabilities.
    score = {}
    for flag in {judge.is_calibrated for judge in named.values()}:
        own = {k: v.scorer for k, v in named.items() if v.is_calibrated == flag}
        for part, part_rows in parts.items():
            data = take_rows(X, part_rows), y[part_rows]
            score[part, flag] = StageScorers(own, classes, *data)
    scores = {part: {name: [] for name in named} for part in parts}
    calibrates = ("test", True) in score
    temperatures = []

    def record(_, predicted):
        temperature, calibrated = np.nan, predicted
        if calibrates and all(np.isfinite(q).all() for q in predicted.values()):
            y_val = y[parts["validation"]]
            temperature, calibrated = _calibrate(training, y_val, predicted)
        temperatures.append(temperature)
        for (part, is_calibrated), score_part in score.items():
            seen = calibrated if is_calibrated else predicted
            for name, value in score_part(seen[part]).items():
                scores[part][name].append(value)
        return np.nan  # which never stops the training

    run([training], record, FixedBudget(math.inf), max_threads=threads)
    validation, test = (
        {name: np.array(values) for name, values in scores[part].items()}
        for part in parts
    )
    test.pop(_TIES)
    return Trajectory(
        fold=fold,
        repeat=repeat,
        seed=seed,
        n_rows={"train": len(train)} | {part: len(own) for part, own in parts.items()},
        tie_scores=validation.pop(_TIES),
        validation=validation,
        test=test,
        time=perf_counter() - start,
        n_classes=len(classes),
        temperature=np.array(temperatures) if calibrates else None,
    )


def _calibrate(training, y_val, predicted):
    """Return the best temperature for the validation data, and the scaled parts."""
    is_known = np.isin(y_val, training.own_classes)  # others have probability 0
    y_proba = predicted["validation"][is_known]
    temperature = best_temperature(y_val[is_known], y_proba, training.classes)
    scaled = {k: scale_temperature(q, temperature) for k, q in predicted.items()}
    return temperature, scaled


def _report_errors(errors, n_all):
    """Warn of trainings that failed; raise an error if all of them did."""
    texts = [f"Fold {e['fold']}, repeat {e['repeat']}: {e['error']}" for e in errors]
    if len(errors) == n_all:
        message = f"All trainings failed. {texts[0]}"
        raise ValueError(message) from errors[0]["exception"]
    for text in texts:
        warn(f"A training failed and is left out. {text}")


def _warn_of_budget(comparison, stages):
    """Warn if most of the best stages are near the end of the budget.

    As for a single training, that is within a quarter of the patience.
    """
    n_stages = stages.n_stages
    start = n_stages - 1 - min(comparison.n_iter_no_change, n_stages) // 4
    best = [
        trajectory.choose(rule, "CP")[0]
        for trajectory in comparison.trajectories
        for rule in set(comparison.rules) & trajectory.validation.keys()  # not "last"
    ]
    if n_stages > 1 and 2 * sum(b is not None and b >= start for b in best) > len(best):
        warn(
            f"The best {stages.unit} of most rules is one of the last of {n_stages}. A "
            f"larger value of {stages.budget_name()} may give a better model.",
            ConvergenceWarning,
        )
