"""Jobs that are lost are given out again, each result comes once."""

from concurrent.futures import CancelledError

import pytest
from joblib import parallel_config

from sklearn_superior.utils._parallel import in_parallel


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_lost_jobs_are_done_again(n_jobs):
    calls = []

    def work(number):
        calls.append(number)
        if number == 3 and calls.count(3) < 3:
            raise CancelledError
        return number**2

    jobs = [(number,) for number in range(6)]
    with parallel_config(backend="threading"):
        results = list(in_parallel(work, jobs, n_jobs=n_jobs))
    assert sorted(results) == [0, 1, 4, 9, 16, 25]
    assert calls.count(3) == 3
    assert n_jobs > 1 or len(calls) == 8


def test_jobs_that_are_always_lost_end():
    def work():
        raise CancelledError

    with pytest.raises(CancelledError):
        list(in_parallel(work, [()], n_jobs=1))


def test_no_jobs_have_no_results():
    assert list(in_parallel(pow, [], n_jobs=2)) == []
