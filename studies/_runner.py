"""A run from the command line: its options, and all jobs that are not done yet."""

import argparse
import sys
import time
import traceback
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from joblib import parallel_config

from studies.paper.protocol import SYNTHETIC
from sklearn_superior.utils._device import find_device
from sklearn_superior.utils._optional import import_optional
from sklearn_superior.utils._parallel import in_parallel
from sklearn_superior.utils._progress import with_progress

_PAUSE = 0.5  # seconds between two looks at what another run is doing


def add_options(parser, datasets, estimators):
    """Add the options of a run to a parser.

    A study whose plan is not known yet has None for the names that are allowed.
    """
    add = parser.add_argument
    help_ = "names of data sets, or synthetic; default: all, downloaded if need be"
    add("--datasets", nargs="+", choices=datasets, metavar="NAME", help=help_)
    add("--estimators", nargs="+", choices=estimators, help="what to train")
    losses = ("brier", "log_loss")
    add("--losses", nargs="+", choices=losses, help="what a network minimises")
    add("--epochs", type=_positive, help="epochs or trees")
    add("--folds", type=_positive, help="folds of each data set")
    add("--repeats", type=_positive, help="trainings of each fold")
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--jobs", type=_jobs, help="trainings at once; -1: all cores; default: 1"
    )
    where.add_argument(
        "--dask",
        metavar="ADDRESS",
        help="train on a Dask cluster, for example tcp://host:8786, whose workers see "
        "the same files; as many trainings at once as it has threads",
    )
    add("--device", default="auto", help="auto, cpu, cuda, cuda:1 or mps")
    add("--data-home", help="folder of the data sets")
    add("--quick", action="store_true", help="12 epochs, 2 folds, synthetic data")


def _positive(text):
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be an int from 1 up, got {text!r}")
    return int(text)


def _jobs(text):
    return -1 if text == "-1" else _positive(text)


def choose_jobs(make_jobs, options):
    """List the jobs that the options ask for; an option that is None restricts none."""
    if options.quick:
        options.datasets = options.datasets or [SYNTHETIC]
        options.epochs = options.epochs or 12
        options.folds = options.folds or 2
        options.repeats = options.repeats or 1
    jobs = make_jobs(
        options.datasets,
        options.estimators,
        max_iter=options.epochs,
        n_folds=options.folds,
        n_repeats=options.repeats,
    )
    jobs = [j for j in jobs if options.losses is None or j.loss in options.losses]
    if not jobs:
        raise ValueError(
            "There is no such training: only the network can be trained with the Brier "
            "score."
        )
    return jobs


def run_command(make_jobs, store, options, *, load, train):
    """Do what the options ask for, in words on the terminal; return the exit code."""
    try:
        jobs = choose_jobs(make_jobs, options)
        with _cluster(options.dask):
            n_failed = run(
                jobs,
                store,
                load=load,
                train=train,
                n_jobs=options.jobs,
                data_home=options.data_home,
                device=options.device,
            )
    except (OSError, ImportError, ValueError) as exc:
        print(exc, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Stopped. Run the same command again to resume.", file=sys.stderr)
        return 130
    print(f"The records are in {options.folder}.")
    if n_failed:
        print(f"{n_failed} trainings failed.", file=sys.stderr)
    return int(n_failed > 0)


def report_command(write, *args):
    """Write a report, and print its files; return the exit code."""
    try:
        paths = write(*args)
    except (OSError, ImportError, ValueError) as exc:
        print(exc, file=sys.stderr)
        return 2
    for path in paths:
        print(path)
    return 0


@contextmanager
def _cluster(address):
    """Send the trainings to the Dask cluster at this address, if there is one."""
    if address is None:
        yield
        return
    distributed = import_optional("distributed", caller="--dask", extra="dask")
    print(f"Looking for workers at {address}.")
    try:
        client = distributed.Client(address)
        client.wait_for_workers(1, timeout=30)
    except (OSError, ValueError) as exc:
        raise OSError(f"There are no workers at --dask {address}: {exc}") from exc
    with client, parallel_config(backend="dask"):
        yield


def run(jobs, store, *, load, train, n_jobs=None, data_home=None, device="auto"):
    """Do the jobs and store each record as soon as it is there.

    A study gives `load`, which reads a data set, and `train`, which does a job and
    returns its record. A job that another run is doing is waited for, and done here if
    that run ends without its record. Returns the number of jobs that failed.
    """
    if data_home is not None:
        data_home = Path(data_home).resolve()  # workers may be in other folders
    store.folder.mkdir(parents=True, exist_ok=True)
    if any(job.estimator.startswith("cnn") for job in jobs):
        find_device(device)  # an error if it is not there
    left = _list_undone(jobs, store)
    print(f"{len(jobs) - len(left)} of {len(jobs)} trainings are done already.")
    left, n_failed = _leave_out_missing_data(left, load, data_home)
    while left:
        tasks = [(job, train, store, data_home, device) for job in left]
        outcomes = in_parallel(_do, tasks, n_jobs=n_jobs)
        if sys.stderr.isatty():
            about = {"n_all": len(left), "task": "Training", "unit": "trainings"}
            outcomes = with_progress(outcomes, **about)
        n_all, left = len(left), []
        for n_seen, (job, seconds, problem) in enumerate(outcomes, start=1):
            if problem is not None:
                print(f"{job.name} failed: {problem}")
                n_failed += 1
            elif seconds is None:
                left.append(job)
            elif not sys.stderr.isatty():
                print(f"[{n_seen}/{n_all}] {job.name}: {seconds} s", flush=True)
        _wait_for_others(left, store)
    return n_failed


def _list_undone(jobs, store, report=print):
    """List the jobs without a sound record; damaged files are reported."""
    done = set()
    for dataset in dict.fromkeys(job.dataset for job in jobs):
        records, problem = store.load(dataset)
        done |= {frozenset(record["job"].items()) for record in records}
        if problem:
            report(f"{problem}. What is lost is done again.")
    return [job for job in jobs if frozenset(asdict(job).items()) not in done]


def _leave_out_missing_data(jobs, load, data_home):
    """Read, or download, each data set once before anything is trained."""
    missing = []
    for dataset in dict.fromkeys(job.dataset for job in jobs):
        try:
            load(dataset, data_home)
        except (OSError, ValueError) as exc:
            print(f"{dataset} is left out: {exc}")
            missing.append(dataset)
    left = [job for job in jobs if job.dataset not in missing]
    return left, len(jobs) - len(left)


def _do(job, train, store, data_home, device):
    """Return the job, its seconds (None if another run is at it), and the problem."""
    try:
        with store.claim(job) as is_mine:
            if not is_mine or store.is_done(job):
                return job, None, None
            record = train(job, data_home, device)
            store.add(record)
            return job, record["seconds"], None
    except Exception:
        return job, 0, traceback.format_exc(limit=-3)


def _wait_for_others(jobs, store):
    """Drop jobs that are done by now, and wait until another one can be claimed."""
    jobs[:] = _list_undone(jobs, store, report=lambda text: None)
    if not jobs or _one_is_free(jobs, store):
        return
    print(f"{len(jobs)} trainings are being done by another run.", flush=True)
    while jobs and not _one_is_free(jobs, store):
        time.sleep(_PAUSE)
        jobs[:] = _list_undone(jobs, store, report=lambda text: None)


def _one_is_free(jobs, store):
    for job in jobs:
        with store.claim(job) as is_free:
            if is_free:
                return True
    return False
