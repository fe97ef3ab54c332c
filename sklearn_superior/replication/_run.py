"""Do all jobs that are not done yet, several at once."""

import sys
import traceback
from pathlib import Path

from sklearn_superior.replication._store import DamagedRecordError, RecordStore
from sklearn_superior.utils._device import find_device
from sklearn_superior.utils._parallel import in_parallel
from sklearn_superior.utils._progress import with_progress


def run(
    jobs,
    folder,
    *,
    load,
    train,
    compress=False,
    n_jobs=None,
    data_home=None,
    device="auto",
    report=print,
):
    """Do the jobs and store each record as soon as it is there.

    A plan gives `load`, which reads a data set, and `train`, which does a job and
    returns its record. Returns the number of jobs that failed.
    """
    if data_home is not None:
        data_home = Path(data_home).resolve()  # workers may be in other folders
    store = RecordStore(folder, compress)
    store.folder.mkdir(parents=True, exist_ok=True)
    if any(job.estimator.startswith("cnn") for job in jobs):
        find_device(device)  # an error if it is not there
    left = []
    for job in jobs:
        try:
            done = store.is_done(job)
        except DamagedRecordError as exc:
            report(f"{exc}. It is done again.")
            done = False
        left += [] if done else [job]
    report(f"{len(jobs) - len(left)} of {len(jobs)} trainings are done already.")
    left, n_failed = _leave_out_missing_data(left, load, data_home, report)
    tasks = [(job, train, store, data_home, device) for job in left]
    outcomes = in_parallel(_do, tasks, n_jobs=n_jobs)
    if sys.stderr.isatty():
        about = {"n_all": len(left), "task": "Training", "unit": "trainings"}
        outcomes = with_progress(outcomes, **about)
    for n_done, (job, seconds, problem) in enumerate(outcomes, start=1):
        if problem is not None:
            report(f"{job.name} failed: {problem}")
            n_failed += 1
        elif not sys.stderr.isatty():
            report(f"[{n_done}/{len(left)}] {job.name}: {seconds} s")
    return n_failed


def _leave_out_missing_data(jobs, load, data_home, report):
    """Read, or download, each data set once before anything is trained."""
    missing = []
    for dataset in dict.fromkeys(job.dataset for job in jobs):
        try:
            load(dataset, data_home)
        except (OSError, ValueError) as exc:
            report(f"{dataset} is left out: {exc}")
            missing.append(dataset)
    left = [job for job in jobs if job.dataset not in missing]
    return left, len(jobs) - len(left)


def _do(job, train, store, data_home, device):
    try:
        if store.is_done(job):  # another run was faster
            return job, 0, None
    except DamagedRecordError:
        pass
    try:
        record = train(job, data_home, device)
        store.save(job, record)
        return job, record["seconds"], None
    except Exception:
        return job, 0, traceback.format_exc(limit=-3)
