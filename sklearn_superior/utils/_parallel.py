"""Many jobs at once, through joblib, that survive the loss of a worker."""

import pickle
from concurrent.futures import CancelledError
from contextlib import contextmanager

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

# How often jobs are submitted that were lost with a worker.
_N_ATTEMPTS = 3


def in_parallel(function, jobs, *, n_jobs):
    """Yield ``function(*job)`` for every job, in the order in which they finish.

    On a Dask cluster joblib keeps an argument of many jobs on a single worker at first.
    If that one is lost, Dask does the jobs of the worker again, but cancels those that
    still wait for the argument. These are submitted once more.

    Examples
    --------
    >>> sorted(in_parallel(pow, [(2, 3), (3, 2)], n_jobs=1))
    [8, 9]
    """
    left = dict(enumerate(jobs))
    for attempt in range(1, _N_ATTEMPTS + 1):
        tasks = [delayed(_numbered)(number, function, *left[number]) for number in left]
        try:
            parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
        except ValueError:  # a backend without generators, such as multiprocessing
            parallel = Parallel(n_jobs=n_jobs)
        try:
            for number, result in parallel(tasks):
                del left[number]
                yield result
            return
        except CancelledError:
            if attempt == _N_ATTEMPTS:
                raise


def _numbered(number, function, *job):
    return number, function(*job)


@contextmanager
def limit_threads(n_threads):
    """Limit the threads of OpenMP in this context; None sets no limit."""
    if n_threads is None:
        yield
    else:
        with threadpool_limits(limits=n_threads, user_api="openmp"):
            yield


def picklable(exc):
    """Return an exception that a worker process can send back."""
    try:
        pickle.loads(pickle.dumps(exc))
    except Exception:
        return RuntimeError(f"{type(exc).__name__}: {exc}")
    return exc
