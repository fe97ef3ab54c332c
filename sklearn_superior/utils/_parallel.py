"""Jobs in parallel with joblib, and the number of threads they may use."""

import pickle
import warnings
from contextlib import contextmanager

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits


def in_parallel(function, jobs, *, n_jobs):
    """Yield ``function(*job)`` for each job, in the order in which they finish.

    Closing the generator cancels the jobs that have not finished.

    Examples
    --------
    >>> sorted(in_parallel(pow, [(2, 3), (3, 2)], n_jobs=1))
    [8, 9]
    """
    try:
        parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    except ValueError:  # a backend without generators, such as multiprocessing
        parallel = Parallel(n_jobs=n_jobs)
    results = parallel(delayed(function)(*job) for job in jobs)
    try:
        for result in results:  # noqa: UP028 (`yield from` would close them first)
            yield result
    except GeneratorExit:
        with warnings.catch_warnings():  # joblib warns of results that are not used
            warnings.simplefilter("ignore")
            getattr(results, "close", list)()
        raise


@contextmanager
def limit_threads(n_threads):
    """Limit the number of OpenMP threads in this context; None sets no limit."""
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
