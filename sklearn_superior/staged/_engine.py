"""The one loop over stages: trainings in lockstep, scored, stopped and observed.

A hold-out is one training, a search has one for each fold, and a comparison is
trainings that never stop.
"""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, field
from itertools import cycle, islice
from time import perf_counter

import numpy as np
from sklearn import get_config, set_config
from threadpoolctl import threadpool_info, threadpool_limits

from sklearn_superior.utils._parallel import limit_threads


@dataclass
class Result:
    """What came of some trainings.

    Parameters
    ----------
    n_trainings : int
        Number of trainings.

    scores : list of list of float
        The score of each training, stage by stage.

    present : list of dict
        What the last stage of each training predicts, by part.

    best : list of dict or None
        The same of the best stage.

    best_iteration : int or None
        The best stage, which every training remembers.

    fit_times, score_times : ndarray of shape (n_trainings,)
        Seconds.
    """

    n_trainings: int
    scores: list = field(default_factory=list)
    present: list = field(default_factory=list)
    best: list | None = None
    best_iteration: int | None = None

    def __post_init__(self):
        self.present = self.present or [{} for _ in range(self.n_trainings)]
        self.fit_times = np.zeros(self.n_trainings)
        self.score_times = np.zeros(self.n_trainings)


class FixedBudget:
    """Stops after a number of stages, the last of which is the best one.

    Parameters
    ----------
    n_stages : int
        Number of stages.
    """

    def __init__(self, n_stages):
        self.n_stages, self.n_iter = n_stages, 0

    @property
    def is_best(self):
        """Whether the last stage is the best one so far."""
        return self.n_iter == self.n_stages

    def update(self, score):
        """Count a stage; return whether to stop."""
        self.n_iter += 1
        return self.is_best


def run(
    trainings,
    judge,
    stopper,
    *,
    observers=(),
    n_at_once=1,
    max_threads=None,
    result=None,
):
    """Advance trainings in lockstep until they are stopped or have all ended.

    After each stage every training is judged, the mean of the scores decides, and the
    observers are told. A training may end by itself before the others; its last stage
    then stands for those that it lacks. An exception in a training, in the judge or in
    an observer closes all trainings before it is raised.

    Parameters
    ----------
    trainings : list of Training
        What is trained.

    judge : callable
        Called with the number of a training and its probabilities by part, returns a
        score; greater is better.

    stopper : EarlyStopper or FixedBudget
        Decides by the mean score which stage is the best and when to stop.

    observers : iterable of object
        Each has a method `begin_stage`, and `stage_done`, which is called with the
        result so far and whether this was the last stage. It returns whether to stop.

    n_at_once : int, default=1
        With 1, trainings take turns in the calling thread. Otherwise they are dealt to
        so many threads.

    max_threads : int, default=None
        At most so many OpenMP threads for each of them.

    result : Result, default=None
        To continue with, and to have at hand after an exception.

    Returns
    -------
    result : Result
    """
    result = Result(len(trainings)) if result is None else result
    latest = [np.nan] * len(trainings)

    def step(k):
        try:
            return advance_and_judge(k)
        except Exception as exc:
            if len(trainings) > 1:
                exc.add_note(f"This was in fold {k}.")
            raise

    def advance_and_judge(k):
        start = perf_counter()
        parts = trainings[k].advance()
        trained = perf_counter()
        result.fit_times[k] += trained - start
        if parts is not None:
            result.present[k], latest[k] = parts, judge(k, parts)
            result.score_times[k] += perf_counter() - trained
        elif len(trainings) > 1 and trainings[k].stages.has_failed:
            raise ValueError("The training of a fold has failed on the way.")
        return parts is not None

    def finish(k):
        start = perf_counter()
        trainings[k].finish()
        result.fit_times[k] += perf_counter() - start

    with _workers(trainings, n_at_once, max_threads) as call_for_all:
        stop = False
        while not stop and any(training.is_open for training in trainings):
            for observer in observers:
                observer.begin_stage()
            if not any(call_for_all(step)):
                break
            result.scores.append(list(latest))
            stop = stopper.update(np.mean(latest))
            if stopper.is_best:
                for training in trainings:
                    training.remember()
                result.best = list(result.present)
                result.best_iteration = len(result.scores) - 1
            for observer in observers:
                is_last = stop or not any(t.is_open for t in trainings)
                stop = bool(observer.stage_done(result, is_last)) or stop
        call_for_all(finish)
    return result


@contextmanager
def _workers(trainings, n_at_once, max_threads):
    """Give a function that calls another with the number of each training.

    A training is always advanced in the same thread, as coroutines have to be. At the
    end all trainings are closed.
    """
    numbers = range(len(trainings))
    n_threads = n_at_once
    if len(trainings) > 1 and any(t.stages.needs_own_thread for t in trainings):
        n_threads = len(trainings)
    if n_threads == 1:
        with limit_threads(max_threads):
            try:
                yield lambda function: [function(k) for k in numbers]
            finally:
                for training in trainings:
                    training.close()
        return
    n_openmp = _openmp_threads() if max_threads is None else max_threads
    pools = [
        ThreadPoolExecutor(1, "training", _begin_thread, (get_config(), n_openmp))
        for _ in range(n_threads)
    ]
    # Each thread has its trainings, and a context that no other thread enters.
    places = [(pool, copy_context()) for pool in pools]
    places = list(islice(cycle(places), len(trainings)))
    # With more threads than are to compute at once, they take turns.
    size = len(places) if n_threads == n_at_once else n_at_once
    futures = []

    def call_for_all(function):
        results = []
        for start in range(0, len(places), size):
            futures[:] = [
                pool.submit(context.run, function, start + k)
                for k, (pool, context) in enumerate(places[start : start + size])
            ]
            results += [future.result() for future in futures]
        return results

    try:
        yield call_for_all
    finally:
        for future in futures:  # those that compute end with their stage
            future.cancel()
        for training, (pool, _) in zip(trainings, places, strict=True):
            pool.submit(training.close)
        for pool in pools:
            pool.shutdown()


def _openmp_threads():
    """Return the number of OpenMP threads that the present thread may use, if known."""
    return min(
        (
            library["num_threads"]
            for library in threadpool_info()
            if library["user_api"] == "openmp"
        ),
        default=None,
    )


def _begin_thread(config, n_threads):
    """Give a thread the settings of the caller, until it ends."""
    set_config(**config)
    if n_threads is not None:
        threadpool_limits(limits=n_threads, user_api="openmp")
