"""The candidates of a search: their settings, their training, and what is left of it.

They are trained in parallel, read from disk, or fail.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np
from joblib import cpu_count, effective_n_jobs
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline

from sklearn_superior.model_selection._fold_training import train_candidate
from sklearn_superior.model_selection._store import open_store
from sklearn_superior.staged._training import (
    check_n_stages,
    prepare_estimator,
    private_copy,
)
from sklearn_superior.utils._parallel import in_parallel, picklable
from sklearn_superior.utils._progress_bar import Meter
from sklearn_superior.utils._warnings import warn

# Settings


def find_settings(param_grid):
    """Return the parameters of each candidate."""
    if param_grid is None:
        return [{}]
    if isinstance(param_grid, Mapping) or _holds_grids(param_grid):
        settings = list(ParameterGrid(param_grid))
    elif isinstance(param_grid, Iterable) and not isinstance(param_grid, str):
        settings = list(param_grid)
    else:
        settings = [param_grid]
    if not settings or not all(isinstance(params, Mapping) for params in settings):
        raise ValueError(
            "The 'param_grid' parameter must be a dict of lists, a list of these, an "
            "iterable of at least one dict from parameters to values, or None. Got "
            f"{param_grid!r}."
        )
    return [dict(params) for params in settings]


def _holds_grids(param_grid):
    """Tell whether a list holds grids, or settings: dicts of single values.

    A tuple is a list of values in a grid, and a value in a setting.
    """
    if not isinstance(param_grid, list | tuple):
        return False
    if not all(isinstance(params, Mapping) for params in param_grid):
        return False
    items = [item for params in param_grid for item in params.items()]
    if any(_is_list(value) and not isinstance(value, tuple) for _, value in items):
        return True
    for name, value in items:
        if isinstance(value, tuple):
            raise ValueError(
                "The 'param_grid' parameter must say whether a tuple is a list of "
                f"values or a single one. Got a list of dicts with {{{name!r}: "
                f"{value!r}}}, which could be both. Use {{{name!r}: {list(value)!r}}} "
                f"to try its values, {{{name!r}: [{value!r}]}} to try the tuple, with "
                "lists for the other parameters as well; or pass the ParameterSampler "
                "itself instead of a list of it."
            )
    return False


def _is_list(value):
    """Tell whether a value is one that `ParameterGrid` takes apart."""
    return isinstance(value, Sequence | np.ndarray) and not isinstance(value, str)


def with_params(estimator, params):
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


def _warn_of_budgets(estimators, settings):
    """Warn of settings that differ in nothing but the number of stages."""
    names: dict = {}  # by the parameters that are set: a budget has several names
    budgets: dict = {}
    for estimator, params in zip(estimators, settings, strict=True):
        if not params:
            continue
        key = frozenset(params)
        if key not in names:
            names[key] = _budget_name(estimator)
        name = names[key]
        if name in params:
            others = sorted((k, repr(v)) for k, v in params.items() if k != name)
            found = budgets.setdefault((name, *others), [])
            if params[name] not in found:
                found.append(params[name])
    for (name, *_), values in budgets.items():
        if len(values) > 1:
            warn(
                f"The 'param_grid' parameter holds several values of {name}: "
                f"{', '.join(map(str, _in_order(values)))}. StagedSearchCV chooses the "
                "number of stages by itself, up to this budget, and a smaller budget "
                "as a rule trains the same stages again. Give the largest value alone."
            )
            return


def _in_order(values):
    """Return numbers in their order, and then what is none."""
    numbers = [value for value in values if isinstance(value, Real)]
    return sorted(numbers) + [value for value in values if not isinstance(value, Real)]


def _budget_name(estimator):
    """Return the parameter with the number of stages; None if training will fail."""
    try:
        _, stages = prepare_estimator(estimator)
    except Exception:
        return None
    name = stages.budget_name()
    is_pipeline = isinstance(estimator, Pipeline)
    return f"{estimator.steps[-1][0]}__{name}" if is_pipeline else name


# Training


@dataclass
class Finished:
    """The candidates that were finished, one place for each.

    Parameters
    ----------
    settings : list of dict
        Their parameters.

    estimators : list of estimator
        The estimator with these, not fitted.

    candidates : list of Candidate or None
        What came of each; None if it failed.
    """

    settings: list
    estimators: list
    candidates: list

    @property
    def index(self):
        """The place of the best candidate, the first one of equals."""
        scores = [-np.inf if c is None else c.score for c in self.candidates]
        return int(np.argmax(scores))

    @property
    def best(self):
        """The best candidate."""
        return self.candidates[self.index]


def run_search(search, settings, plan, callbacks):
    """Train the candidates of a search; return those that were finished.

    Parameters
    ----------
    search : StagedSearchCV
        Its parameters say how.

    settings : list of dict
        The parameters of each candidate.

    plan : Plan
        What the candidates have in common.

    callbacks : Callbacks
        Are told of each candidate when it is finished, for several may be trained at
        once, in other processes.

    Returns
    -------
    finished : Finished
    """
    estimators = [with_params(search.estimator, params) for params in settings]
    _warn_of_budgets(estimators, settings)
    store, found, errors = None, {}, {}
    if search.checkpoint_dir is not None:
        store = open_store(
            search.checkpoint_dir,
            search.estimator,
            settings,
            plan,
            resume=search.resume,
        )
    if store is not None and search.resume:
        for number, params in enumerate(settings):
            if candidate := store.read(params):
                _add(found, number, candidate)
    todo = [k for k in range(len(settings)) if k not in found]
    try:
        for number, candidate, error in _outcomes(search, todo, estimators, plan):
            if error is None:
                if store is not None:
                    store.write(settings[number], candidate)
                _add(found, number, candidate)
            elif search.error_score == "raise" or len(settings) == 1:
                raise error
            else:
                errors[number] = error
            callbacks.begin_stage()
            if callbacks.stage_done() and found:
                break
    except KeyboardInterrupt:
        if not found:
            raise
        warn(
            f"The search was interrupted after {len(found) + len(errors)} of "
            f"{len(settings)} candidates; the best of these is kept."
        )
    _report(errors, settings, is_all=not found, error_score=search.error_score)
    # Those that an interrupt has left out are not in the results.
    kept = [k for k in range(len(settings)) if k in found or k in errors]
    return Finished(
        [settings[k] for k in kept],
        [estimators[k] for k in kept],
        [found.get(k) for k in kept],
    )


def _add(found, number, candidate):
    """Add a candidate; only the best one keeps its probabilities and models."""
    found[number] = candidate
    best = max(found, key=lambda k: (found[k].score, -k))
    for k, other in found.items():
        if k != best:
            other.forget_models()


def _outcomes(search, todo, estimators, plan):
    """Yield the number of each candidate, what came of it, and what went wrong."""
    n_jobs = effective_n_jobs(search.n_jobs)
    n_at_once = max(1, min(n_jobs, len(todo)))
    plan.folds_at_once = min(n_jobs // n_at_once, len(plan.folds), cpu_count())
    if n_at_once * plan.folds_at_once > 1:  # they share the threads of the machine
        plan.max_threads = max(1, cpu_count() // (n_at_once * plan.folds_at_once))
    n_jobs = 1 if n_at_once == 1 else search.n_jobs  # then folds have the cores
    if not (search.verbose and todo):
        tasks = [(k, estimators[k], plan) for k in todo]
        yield from in_parallel(_try_candidate, tasks, n_jobs=n_jobs)
        return
    n_stages = {k: _count_stages(estimators[k]) for k in todo}
    with Meter(sum(n_stages.values()), task="Searching", unit="stages") as meter:
        stages = _StageMeter(meter)
        observers = (stages,) if n_at_once == 1 else ()
        tasks = [(k, estimators[k], plan, observers) for k in todo]
        for outcome in in_parallel(_try_candidate, tasks, n_jobs=n_jobs):
            meter.advance(n_stages[outcome[0]] - stages.n_shown)  # those it did without
            stages.n_shown = 0
            yield outcome


class _StageMeter:
    """Shows the stages of a candidate that is trained in this process."""

    def __init__(self, meter):
        self._meter, self.n_shown = meter, 0

    def begin_stage(self):
        """Do nothing: a stage is shown when it is done."""

    def stage_done(self, *_):
        """Show the present stage."""
        self.n_shown += 1
        self._meter.advance()


def _count_stages(estimator):
    """Return the budget of a candidate; 1 if it is going to fail."""
    try:
        return check_n_stages(prepare_estimator(estimator)[1])
    except Exception:
        return 1


def _try_candidate(number, estimator, plan, observers=()):
    """Return a candidate, or what went wrong."""
    try:
        return number, train_candidate(estimator, plan, observers), None
    except Exception as exc:
        return number, None, picklable(exc)


def _report(errors, settings, *, is_all, error_score):
    """Warn of candidates that failed; raise an error if all of them did."""
    if is_all:
        first = errors[min(errors)]
        message = f"All {len(errors)} candidates failed. The first of them: "
        kinds = {type(error) for error in errors.values()}
        raise _make_error(kinds, message + describe(first)) from first
    for number in sorted(errors):
        warn(
            f"The candidate {settings[number]} failed. Its score is {error_score}. "
            f"{describe(errors[number])}",
            FitFailedWarning,
        )


def _make_error(kinds, message):
    """Return an error of the one kind; a `ValueError` if there are several."""
    if len(kinds) == 1:
        try:
            error = next(iter(kinds))(message)
            if str(error) == message:
                return error
        except TypeError:  # it is not made of a message alone
            pass
    return ValueError(message)


def describe(error):
    """Return the kind of an error, its message and its notes as sentences."""
    notes = "".join(f" {note}" for note in getattr(error, "__notes__", ()))
    return f"{type(error).__name__}: {str(error).rstrip('.')}.{notes}"


def train_members(finished, plan):
    """Train the best candidate once more, if its models are not there.

    Those of candidates that were read from disk are not. Without a seed they come out
    otherwise; then what is trained now counts.
    """
    while finished.best.members is None:
        index, before = finished.index, finished.best
        again = train_candidate(finished.estimators[index], plan)
        if again.best_iteration != before.best_iteration or not np.allclose(
            np.concatenate(again.test_proba),
            np.concatenate(before.test_proba),
            atol=1e-4,
        ):
            warn(
                "The models of the folds came out otherwise when they were trained "
                "again after resuming, and their new scores count. Set random_state "
                "to an int for a search that can resume with refit='folds'."
            )
        finished.candidates[index] = again
