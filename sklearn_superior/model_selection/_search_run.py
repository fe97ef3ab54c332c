"""The candidates of a search: trained in parallel, read from disk, or failed."""

from dataclasses import dataclass

import numpy as np
from joblib import cpu_count, effective_n_jobs
from sklearn.exceptions import FitFailedWarning

from sklearn_superior.early_stopping._training import StagedModel
from sklearn_superior.model_selection._candidate import train_candidate
from sklearn_superior.model_selection._search_store import open_store
from sklearn_superior.model_selection._settings import warn_of_budgets, with_params
from sklearn_superior.utils._parallel import in_parallel, picklable
from sklearn_superior.utils._progress import Meter
from sklearn_superior.utils._warnings import warn


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
        return _index_of_best(self.candidates)

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

    callbacks : SearchCallbacks
        Is told of each candidate.

    Returns
    -------
    finished : Finished
    """
    estimators = [with_params(search.estimator, params) for params in settings]
    warn_of_budgets(estimators, settings)
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
        stored = {k: store.read(params) for k, params in enumerate(settings)}
        found = {k: candidate for k, candidate in stored.items() if candidate}
    todo = [k for k in range(len(settings)) if k not in found]
    try:
        for number, candidate, error in _outcomes(search, todo, estimators, plan):
            if error is None:
                found[number] = candidate
                if store is not None:
                    store.write(settings[number], candidate)
                _drop_members(found)
            elif search.error_score == "raise" or len(settings) == 1:
                raise error
            else:
                errors[number] = error
            if callbacks.candidate_done() and found:
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


def _outcomes(search, todo, estimators, plan):
    """Yield the number of each candidate, what came of it, and what went wrong."""
    n_jobs = effective_n_jobs(search.n_jobs)
    n_at_once = max(1, min(n_jobs, len(todo)))
    plan.folds_at_once = min(n_jobs // n_at_once, len(plan.folds), cpu_count())
    if n_at_once * plan.folds_at_once > 1:  # they share the threads of the machine
        plan.max_threads = max(1, cpu_count() // (n_at_once * plan.folds_at_once))
    tasks = [(k, estimators[k], plan) for k in todo]
    n_jobs = 1 if n_at_once == 1 else search.n_jobs  # then folds have the cores
    outcomes = in_parallel(_try_candidate, tasks, n_jobs=n_jobs)
    if not (search.verbose and todo):
        yield from outcomes
        return
    n_stages = {k: _count_stages(estimators[k]) for k in todo}
    with Meter(sum(n_stages.values()), task="Searching", unit="stages") as meter:
        n_shown = 0

        def on_stage():
            nonlocal n_shown
            n_shown += 1
            meter.advance()

        plan.on_stage = on_stage
        for outcome in outcomes:
            meter.advance(n_stages[outcome[0]] - n_shown)  # those it did without
            n_shown = 0
            yield outcome
        plan.on_stage = None


def _count_stages(estimator):
    """Return the budget of a candidate; 1 if it is going to fail."""
    try:
        return StagedModel(estimator).stages.n_stages
    except Exception:
        return 1


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


def _try_candidate(number, estimator, plan):
    """Return a candidate, or what went wrong."""
    try:
        return number, train_candidate(estimator, plan), None
    except Exception as exc:
        return number, None, picklable(exc)


def describe(error):
    """Return the kind of an error, its message and its notes as sentences."""
    notes = "".join(f" {note}" for note in getattr(error, "__notes__", ()))
    return f"{type(error).__name__}: {str(error).rstrip('.')}.{notes}"


def _index_of_best(candidates):
    """Return the place of the best candidate, the first one of equals."""
    scores = [
        -np.inf if c is None else np.mean(next(iter(c.test_scores.values())))
        for c in candidates
    ]
    return int(np.argmax(scores))


def _drop_members(found):
    """Forget the models of all candidates but the best one so far."""
    numbers = sorted(found)
    best = numbers[_index_of_best([found[k] for k in numbers])]
    for number in numbers:
        if number != best:
            found[number].members = None


def train_members(finished, plan):
    """Train the best candidate once more, if its models are not there.

    Those of candidates that were read from disk are not. Without a seed they come out
    otherwise; then what is trained now counts.
    """
    while finished.best.members is None:
        index, before = finished.index, finished.best
        again = train_candidate(finished.estimators[index], plan)
        if again.best_iteration != before.best_iteration or not np.allclose(
            again.oof_proba, before.oof_proba, atol=1e-4, equal_nan=True
        ):
            warn(
                "The models of the folds came out otherwise when they were trained "
                "again after resuming, and their new scores count. Set random_state "
                "to an int for a search that can resume with refit='folds'."
            )
        finished.candidates[index] = again
