"""The one loop over stages: trainings in lockstep, scored, stopped and observed.

A hold-out is one training, a search has one per fold, and a comparison is trainings
that never stop.
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
    """The outcome of a run so far.

    Parameters
    ----------
    n_trainings : int
        Number of trainings.

    scores : list of list of float
        The score of each training, stage by stage.

    present : list of dict
        What the last stage of each training predicts, by part.

    best : list of dict or None
        What the best stage predicts.

    best_iteration : int or None
        The best stage, which every training remembers.

    fit_times, score_times : ndarray of shape (n_trainings,)
        Seconds spent on each training.
    """

    n_trainings: int
    scores: list = field(default_factory=list)
    best: list | None = None
    best_iteration: int | None = None

    def __post_init__(self):
        self.present = [{} for _ in range(self.n_trainings)]
        self.fit_times, self.score_times = np.zeros((2, self.n_trainings))


class FixedBudget:
    """Stop after `n_stages` stages, and call the last one the best."""

    def __init__(self, n_stages):
        self.n_stages, self.n_iter = n_stages, 0

    @property
    def is_best(self):
        """Whether the last stage is the best so far."""
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

    After each stage, every training is scored, the mean score decides whether to stop,
    and the observers are notified. If a training ends before the others, its last stage
    stands in for the missing ones. An exception in a training, the judge or an observer
    closes all trainings before it propagates.

    Parameters
    ----------
    trainings : list of Training
        What to train.

    judge : callable
        Called with the index of a training and its probabilities by part, returns a
        score; greater is better.

    stopper : EarlyStopper or FixedBudget
        Decides from the mean score which stage is the best and when to stop.

    observers : iterable of Observer
        Notified of each stage; any of them may stop the run.

    n_at_once : int, default=1
        With 1, trainings take turns in the calling thread. Otherwise they are
        distributed over this many threads.

    max_threads : int, default=None
        Maximum number of OpenMP threads for each of them.

    result : Result, default=None
        A result to continue, which the caller still has after an exception.

    Returns
    -------
    result : Result
    """
    result = Result(len(trainings)) if result is None else result
    latest = [np.nan] * len(trainings)

    def step(k):
        try:
            start = perf_counter()
            parts = trainings[k].advance()
            trained = perf_counter()
            result.fit_times[k] += trained - start
            if parts is not None:
                result.present[k], latest[k] = parts, judge(k, parts)
                result.score_times[k] += perf_counter() - trained
            elif len(trainings) > 1 and trainings[k].stages.has_failed:
                raise ValueError("The training of a fold failed before its last stage.")
            return parts is not None
        except Exception as exc:
            if len(trainings) > 1:
                exc.add_note(f"This was in fold {k}.")
            raise

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
    """Yield a function that calls another one with the index of each training.

    A training always advances in the same thread, because a coroutine cannot change
    threads. All trainings are closed at the end.
    """
    n_threads = n_at_once
    if len(trainings) > 1 and any(t.stages.needs_own_thread for t in trainings):
        n_threads = len(trainings)
    if n_threads == 1:
        with limit_threads(max_threads):
            try:
                yield lambda function: [function(k) for k in range(len(trainings))]
            finally:
                for training in trainings:
                    training.close()
        return
    # A new thread starts from OpenMP's defaults, not from the limits of the caller.
    openmp = [info for info in threadpool_info() if info["user_api"] == "openmp"]
    limit = min((info["num_threads"] for info in openmp), default=None)
    limit = limit if max_threads is None else max_threads
    pools = [
        ThreadPoolExecutor(1, "training", _begin_thread, (get_config(), limit))
        for _ in range(n_threads)
    ]
    # A context can only be entered by one thread at a time, so each has its own copy.
    places = [(pool, copy_context()) for pool in pools]
    places = list(islice(cycle(places), len(trainings)))
    # With more threads than may compute at once, they take turns.
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
        for future in futures:  # those already running finish their stage
            future.cancel()
        for training, (pool, _) in zip(trainings, places, strict=True):
            pool.submit(training.close)
        for pool in pools:
            pool.shutdown()


def _begin_thread(config, n_openmp):
    set_config(**config)
    if n_openmp is not None:
        threadpool_limits(limits=n_openmp, user_api="openmp")
