"""The candidates of a search: parameters, training, failures, and the final model."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np
from joblib import cpu_count, effective_n_jobs
from scipy.stats import entropy
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline

from sklearn_superior.model_selection._folds import Pruning, train_candidate
from sklearn_superior.model_selection._store import open_store
from sklearn_superior.staged._observers import Observer
from sklearn_superior.staged._scoring import StageScorer
from sklearn_superior.staged._training import (
    Training,
    check_n_stages,
    prepare_estimator,
    private_copy,
)
from sklearn_superior.utils._checks import with_mean_one
from sklearn_superior.utils._parallel import in_parallel, picklable
from sklearn_superior.utils._progress_bar import Meter
from sklearn_superior.utils._sklearn_compat import take_rows
from sklearn_superior.utils._warnings import warn

# The loss of the final model on so many training rows shows whether it diverged.
_N_KNOWN_ROWS = 500


def find_settings(param_grid):
    """Return the parameters of each candidate."""
    if param_grid is None:
        return [{}]
    if isinstance(param_grid, Mapping):
        for name, value in param_grid.items():
            if hasattr(value, "rvs"):
                raise ValueError(
                    f"The 'param_grid' parameter has a distribution for {name}. To "
                    "sample settings, pass ParameterSampler(space, n_iter) from "
                    "sklearn.model_selection instead of the dict."
                )
    if isinstance(param_grid, Mapping) or _holds_grids(param_grid):
        settings = list(ParameterGrid(param_grid))
    elif isinstance(param_grid, Iterable) and not isinstance(param_grid, str):
        settings = list(param_grid)
    else:
        settings = []
    if not settings or not all(isinstance(params, Mapping) for params in settings):
        raise ValueError(
            "The 'param_grid' parameter must be a dict of lists, a list of such dicts, "
            "a non-empty iterable of dicts of parameters, or None. Got "
            f"{param_grid!r}."
        )
    return [dict(params) for params in settings]


def _holds_grids(param_grid):
    """Whether a list holds grids, rather than settings: dicts of single values.

    A tuple is a list of values in a grid, but a single value in a setting.
    """
    if not isinstance(param_grid, list | tuple) or not all(
        isinstance(params, Mapping) for params in param_grid
    ):
        return False
    items = [item for params in param_grid for item in params.items()]
    tuples = [(name, value) for name, value in items if isinstance(value, tuple)]
    if any(  # what ParameterGrid takes apart, but for tuples
        isinstance(value, Sequence | np.ndarray) and not isinstance(value, str | tuple)
        for _, value in items
    ):
        return True
    for name, value in tuples:
        raise ValueError(
            "The 'param_grid' parameter is ambiguous: in a list of dicts, "
            f"{{{name!r}: {value!r}}} could be several values or a single one. Use "
            f"{{{name!r}: {list(value)!r}}} to try its values, {{{name!r}: "
            f"[{value!r}]}} to try the tuple, and lists for the other parameters; or "
            "pass a ParameterSampler itself instead of a list of its settings."
        )
    return False


def _with_params(estimator, params):
    """Return a copy of an estimator with the parameters of a candidate."""
    copy = private_copy(estimator)
    if not params:
        return copy
    try:
        return copy.set_params(**clone(params, safe=False))
    except (ValueError, TypeError, AttributeError) as exc:
        raise ValueError(
            "The 'param_grid' parameter must hold parameters of the estimator. Got "
            f"{params}: {exc}"
        ) from exc


def _warn_of_budgets(estimator, settings):
    """Warn if settings differ only in the number of stages; return whether they do."""
    try:
        name = prepare_estimator(estimator)[1].budget_name()
    except Exception:  # training will fail, and say why
        return False
    if isinstance(estimator, Pipeline):
        name = f"{estimator.steps[-1][0]}__{name}"
    budgets = {}
    for params in settings:
        if name in params:
            others = str(sorted((k, repr(v)) for k, v in params.items() if k != name))
            budgets.setdefault(others, {})[str(params[name])] = None
    for values in budgets.values():
        if len(values) > 1:
            warn(
                f"The 'param_grid' parameter has several values of {name}: "
                f"{', '.join(values)}. StagedSearchCV chooses the number of stages by "
                "itself, up to this budget: pass the largest value only."
            )
            return True
    return False


def _warn_of_equal(settings, candidates):
    """Warn if all candidates have the same scores: libraries ignore unknown names."""
    first, *others = [candidate.stage_scores for candidate in candidates]
    if others and all(np.array_equal(first, own) for own in others):
        names = sorted({name for params in settings for name in params})
        warn(
            f"All {len(candidates)} candidates, with values of {', '.join(names)}, "
            "have the same scores at every stage. Check the names in 'param_grid': "
            "LightGBM and XGBoost ignore parameters that they do not know."
        )


@dataclass
class Finished:
    """The finished candidates of a search.

    Parameters
    ----------
    settings : list of dict
        The parameters of each.

    estimators : list of estimator
        The estimators with these parameters, not fitted.

    candidates : list of Candidate or None
        The results; None for candidates that failed.
    """

    settings: list
    estimators: list
    candidates: list

    @property
    def index(self):
        """The index of the best candidate, the first one of ties."""
        scores = [-np.inf if c is None else c.score for c in self.candidates]
        return int(np.nanargmax(scores))  # those that were pruned are NaN

    @property
    def best(self):
        """The best candidate."""
        return self.candidates[self.index]


def run_search(search, settings, plan, callbacks):
    """Train the candidates of a search, or read them from disk.

    Parameters
    ----------
    search : StagedSearchCV
        Its parameters are used.

    settings : list of dict
        The parameters of each candidate.

    plan : Plan
        What the candidates have in common.

    callbacks : Callbacks
        Called when a candidate is finished, because several may be trained at once, in
        other processes.

    Returns
    -------
    finished : Finished
    """
    estimators = [_with_params(search.estimator, params) for params in settings]
    has_warned = _warn_of_budgets(estimators[0], settings)
    store, found, pruned, errors = open_store(search, settings, plan), {}, {}, {}
    if store is not None and search.resume:
        for number, params in enumerate(settings):
            if candidate := store.read(params):
                _add(found, number, candidate)
        if search.verbose and found:
            n = f"{len(found)} of {len(settings)}"
            print(f"{n} candidates were read from {search.checkpoint_dir}.")
    todo = [k for k in range(len(settings)) if k not in found]
    try:
        # Close at once what is still being trained if an error ends the search.
        with closing(_outcomes(search, todo, estimators, plan)) as outcomes:
            for number, result in outcomes:
                if isinstance(result, _PrunerError):
                    raise result.error
                if isinstance(result, Exception):
                    if search.error_score == "raise" or len(settings) == 1:
                        raise result
                    errors[number] = result
                elif result.is_pruned:  # never stored: it is not finished
                    pruned[number] = result
                else:
                    if store is not None:
                        store.write(settings[number], result)
                    _add(found, number, result)
                callbacks.begin_stage()
                if callbacks.stage_done() and found:
                    break
    except KeyboardInterrupt:
        if not found:
            raise
        n_done = len(found) + len(pruned) + len(errors)
        warn(
            f"The search was interrupted after {n_done} of {len(settings)} candidates; "
            "the best of these is kept."
        )
    if not found:
        _raise_without_candidates(pruned, errors)
    for number in sorted(errors):
        warn(
            f"The candidate {settings[number]} failed. Its score is set to "
            f"{search.error_score}. {describe(errors[number])}",
            FitFailedWarning,
        )
    if not has_warned:
        _warn_of_equal(settings, list(found.values()))
    results = found | pruned
    kept = sorted(results | errors)  # without those left out by an interrupt
    return Finished(
        [settings[k] for k in kept],
        [estimators[k] for k in kept],
        [results.get(k) for k in kept],
    )


def _raise_without_candidates(pruned, errors):
    """Raise the error of a search without a finished candidate."""
    first = errors[min(errors)] if errors else None
    if not pruned:
        first.add_note(f"All {len(errors)} candidates failed; this was the first one.")
        raise first
    n_candidates = len(pruned) + len(errors)
    failed = f", and the other {len(errors)} failed" if errors else ""
    raise ValueError(
        f"There is no best candidate: the 'pruner' gave up {len(pruned)} of "
        f"{n_candidates} candidates{failed}. It must let at least one of them finish."
    ) from first


def _add(found, number, candidate):
    """Add a candidate; only the best one keeps its probabilities and models."""
    found[number] = candidate
    best = max(found, key=lambda k: (found[k].score, -k))
    for k, other in found.items():
        if k != best:
            other.test_proba = other.members = None


def _outcomes(search, todo, estimators, plan):
    """Yield the number of each candidate, and its result or its error."""
    n_jobs = effective_n_jobs(search.n_jobs)
    n_at_once = max(1, min(n_jobs, len(todo)))
    plan.folds_at_once = min(n_jobs // n_at_once, len(plan.folds), cpu_count())
    if n_at_once * plan.folds_at_once > 1:  # they share the threads of the machine
        plan.max_threads = max(1, cpu_count() // (n_at_once * plan.folds_at_once))
    n_jobs = 1 if n_at_once == 1 else search.n_jobs  # a single one stays here
    if not (search.verbose and todo):
        tasks = [(k, estimators[k], plan, search.pruner) for k in todo]
        yield from in_parallel(_try_candidate, tasks, n_jobs=n_jobs)
        return
    n_stages = {k: _count_stages(estimators[k]) for k in todo}
    with _StageMeter(sum(n_stages.values()), task="Searching", unit="stages") as meter:
        observers = (meter,) if n_at_once == 1 else ()
        tasks = [(k, estimators[k], plan, search.pruner, observers) for k in todo]
        for number, result in in_parallel(_try_candidate, tasks, n_jobs=n_jobs):
            # Early stopping saved the rest of the stages.
            meter.advance(n_stages[number] - meter.n_shown)
            meter.n_shown = 0
            yield number, result


class _StageMeter(Observer, Meter):
    """Also shows the stages of a candidate that is trained in this process."""

    n_shown = 0

    def stage_done(self, *_):
        """Show the current stage."""
        self.n_shown += 1
        self.advance()


def _count_stages(estimator):
    """Return the budget of a candidate; 1 if it is going to fail."""
    try:
        return check_n_stages(prepare_estimator(estimator)[1])
    except Exception:
        return 1


def _try_candidate(number, estimator, plan, pruner, observers=()):
    """Return the number of a candidate, and its result or its error."""
    pruning = None if pruner is None else Pruning(pruner)
    try:
        return number, train_candidate(estimator, plan, observers, pruning)
    except Exception as exc:
        if pruning is not None and exc is pruning.error:
            return number, _PrunerError(exc)
        return number, picklable(exc)


class _PrunerError:
    """Carries an exception of the pruner, which is no failure of the candidate."""

    def __init__(self, error):
        self.error = error

    def __reduce__(self):  # only in another process it has to be picklable
        return _PrunerError, (picklable(self.error),)


def describe(error):
    """Return the type of an error, its message and its notes as sentences."""
    notes = "".join(f" {note}" for note in getattr(error, "__notes__", ()))
    return f"{type(error).__name__}: {str(error).rstrip('.')}.{notes}"


def train_members(finished, plan):
    """Train the best candidate again if it was read from disk, without its models."""
    while finished.best.members is None:
        index, before = finished.index, finished.best
        again = train_candidate(finished.estimators[index], plan)
        if again.best_iteration != before.best_iteration or not np.allclose(
            np.concatenate(again.test_proba),
            np.concatenate(before.test_proba),
            atol=1e-4,
        ):
            warn(
                "Retraining the fold models gave different results; the new scores are "
                "used. Set random_state to an int to resume with refit='folds'."
            )
        finished.candidates[index] = again  # which may not be the best one any more


def train_on_all(estimator, best, plan):
    """Train a candidate on all rows, for the chosen number of stages.

    Warns if its loss on these rows is above that of the fold models on unseen rows.

    Parameters
    ----------
    estimator : estimator
        The candidate, not fitted.

    best : Candidate
        Its results on the folds.

    plan : Plan
        Holds the data.

    Returns
    -------
    model : estimator
    """
    data, is_pipeline = plan.data, isinstance(estimator, Pipeline)
    rows = np.flatnonzero(plan.counts)
    rows = rows[:: -(-len(rows) // _N_KNOWN_ROWS)]  # evenly spread
    training = Training(
        estimator,
        # A copy, because the steps of a pipeline may work in place.
        lambda: data.take(np.arange(len(data.y))) if is_pipeline else data,
        {"known": lambda: take_rows(data.X, rows)},
        plan.classes,
    )
    y_proba = training.train_to(best.best_iteration)["known"]
    model, unit = training.estimator(), training.stages.unit
    difference = training.differs(model, "known", y_proba)
    if difference:
        raise ValueError(
            "The final model does not predict as it did after its last "
            f"{unit}, but {difference}. {training.stages.known_causes}"
        )
    loss = _log_loss(plan, rows, y_proba)
    folds = zip(plan.folds, best.test_proba, strict=True)
    of_folds = max(_log_loss(plan, test, own) for (_, test), own in folds)
    codes = np.searchsorted(plan.classes, data.y)
    slack = 0.1 * entropy(np.bincount(codes, with_mean_one(data.sample_weight)))
    if not loss <= 1.25 * of_folds + slack:  # also if it is NaN
        warn(
            f"After {best.best_iteration + 1} {unit}s, the model trained on all rows "
            f"has a log loss of {loss:.3g} on these rows, while the fold models have "
            f"at most {of_folds:.3g} on unseen rows: its training probably diverged. "
            "Use refit='folds' or a smaller learning rate."
        )
    return model


def _log_loss(plan, rows, y_proba):
    data = plan.data.take(rows)
    weight = with_mean_one(data.sample_weight)
    return -StageScorer("log_loss", plan.classes, data.X, data.y, weight)(y_proba)
