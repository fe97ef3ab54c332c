"""Jobs in parallel."""

import pytest
from joblib import parallel_config

from sklearn_superior.utils._parallel import in_parallel


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("backend", ["threading", "multiprocessing"])
def test_each_job_has_one_result(backend, n_jobs):
    with parallel_config(backend=backend):
        results = list(in_parallel(pow, [(k, 2) for k in range(6)], n_jobs=n_jobs))
    assert sorted(results) == [0, 1, 4, 9, 16, 25]


def test_no_jobs_have_no_results():
    assert list(in_parallel(pow, [], n_jobs=2)) == []
