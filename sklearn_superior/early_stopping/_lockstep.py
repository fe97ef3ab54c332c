"""Trainings that advance in step: all of them meet after every stage.

The libraries call us after each stage, not the other way round. So each training has a
thread of its own, which waits in that call until the others have come as far.
"""

import warnings
from collections import deque
from contextvars import copy_context
from queue import SimpleQueue
from threading import Thread
from time import sleep

from sklearn import config_context, get_config


class _CancelledError(BaseException):
    """Ends a training whose result is not wanted any more."""


class _Worker:
    """Runs a task that stops at each meeting until it is told to go on."""

    def __init__(self, number, task, events):
        self.number = number
        name = f"training in step {number}"
        self.thread = Thread(target=self._run, name=name, daemon=True)
        self._task, self._events, self._inbox = task, events, SimpleQueue()
        self._context, self._config = copy_context(), get_config()
        self._is_cancelled = False

    def resume(self, verdict):
        """Let the task go on, with what was decided."""
        self._inbox.put(verdict)

    def cancel(self):
        """End the task: at once if it waits, else when it comes to the meeting."""
        self._is_cancelled = True
        self._inbox.put(None)

    def _wait(self):
        verdict = None if self._is_cancelled else self._inbox.get()
        if self._is_cancelled:  # also again, if the task has swallowed it
            raise _CancelledError
        return verdict

    def _meet(self, value):
        self._events.put((self, "met", value))
        return self._wait()

    def _run(self):
        try:
            self._wait()
            with config_context(**self._config):
                result = self._context.run(self._task, self._meet)
            self._events.put((self, "ended", result))
        except BaseException as exc:
            self._events.put((self, "failed", exc))


def run_in_step(tasks, decide, *, n_at_once=1):
    """Run tasks that meet after each of their steps.

    An exception in a task, in `decide` or in the calling thread, such as that of
    Ctrl-C, ends all tasks before it is raised: those that wait at once, those that
    compute at the end of their step. No thread is left.

    Parameters
    ----------
    tasks : list of callable
        Each runs in a thread of its own, and is called with the function `meet`. A task
        calls ``meet(value)`` after each step. That waits for all others and returns
        what was decided. A task that returns has left, and is not waited for.

    decide : callable
        Called in the calling thread with the values of all tasks, in their order, when
        they have met. The last value of a task stands for those after it has left.

    n_at_once : int, default=1
        So many tasks compute at the same time. By default they take turns, always in
        the same order.

    Returns
    -------
    results : list
        What the tasks returned.

    Examples
    --------
    >>> def count_to(n):
    ...     def task(meet):
    ...         for k in range(n):
    ...             if meet(k):
    ...                 return "stopped"
    ...         return "ended"
    ...
    ...     return task
    >>> def decide(values):
    ...     print(values)
    ...     return values[0] == 2
    >>> run_in_step([count_to(9), count_to(2)], decide)
    [0, 0]
    [1, 1]
    [2, 1]
    ['stopped', 'ended']
    """
    events: SimpleQueue = SimpleQueue()
    workers = [_Worker(number, task, events) for number, task in enumerate(tasks)]
    latest, results = [None] * len(tasks), [None] * len(tasks)
    active, verdict = list(workers), None
    # What a thread changes about warnings is undone here: the filters are those of the
    # whole process, and threads do not put them back in the order of their changes.
    with warnings.catch_warnings():
        try:
            for worker in workers:
                worker.thread.start()
            while active:
                for worker, kind, value in _next_step(
                    active, verdict, events, n_at_once
                ):
                    if kind == "met":
                        latest[worker.number] = value
                    else:
                        active.remove(worker)
                        results[worker.number] = value
                if active:
                    verdict = decide(list(latest))
        finally:
            _end(workers)
    return results


def _next_step(workers, verdict, events, n_at_once):
    """Resume the workers; yield what becomes of each, or raise what one of them has."""
    waiting, n_running = deque(workers), 0
    while waiting or n_running:
        while waiting and n_running < n_at_once:
            waiting.popleft().resume(verdict)
            n_running += 1
        worker, kind, value = events.get()
        n_running -= 1
        if kind == "failed":
            raise value
        yield worker, kind, value


def _end(workers):
    for worker in workers:
        worker.cancel()
    for worker in workers:
        _join(worker)


def _join(worker):
    """Wait until a thread has ended, also one that Ctrl-C found while it started."""
    for _ in range(10):
        try:
            worker.thread.join()
            return
        except RuntimeError:  # not started, or not yet; it would end at once
            sleep(0.001)
