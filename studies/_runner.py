"""A run from the command line: its options, and the jobs that are left to do."""

import argparse
import sys
import time
import traceback
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from joblib import Parallel, delayed, parallel_config

from studies._store import DIGEST, RecordStore, digest_data

_PAUSE = 0.5  # seconds between two looks at what another run is doing
_N_LOSSES = 2  # workers of a cluster that may be lost


def add_options(parser):
    """Add the options of a run to a parser."""
    add = parser.add_argument
    help_ = "names of data sets, or synthetic; default: all, downloaded if need be"
    add("--datasets", nargs="+", metavar="NAME", help=help_)
    add("--estimators", nargs="+", metavar="NAME", help="what to train")
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
    add("--quick", action="store_true", help="12 epochs, 2 folds, small data")


def _positive(text):
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be an int from 1 up, got {text!r}")
    return int(text)


def _jobs(text):
    return -1 if text == "-1" else _positive(text)


def check_names(option, names, known):
    """Check the names that an option was given; None is all."""
    unknown = sorted(set(names or ()) - set(known))
    if unknown:
        raise ValueError(
            f"{option} must be among {', '.join(known)}. Got {', '.join(unknown)}."
        )


def choose_jobs(study, options):
    """List the jobs that the options select; None means no restriction."""
    if options.quick:
        options.datasets = options.datasets or list(study.QUICK)
        options.epochs = options.epochs or 12
        options.folds = options.folds or 2
        options.repeats = options.repeats or 1
    jobs = study.make_jobs(
        options.datasets,
        options.estimators,
        max_iter=options.epochs,
        n_folds=options.folds,
        n_repeats=options.repeats,
        data_home=options.data_home,
    )
    losses = options.losses
    jobs = [j for j in jobs if losses is None or getattr(j, "loss", None) in losses]
    if not jobs:
        raise ValueError(
            "There is no such training: only the network can be trained with the Brier "
            "score."
        )
    return jobs


def run_command(study, options):
    """Run the selected jobs and print progress; return the exit code."""
    if options.data_home is not None:  # workers may be in other folders
        options.data_home = Path(options.data_home).resolve()
    jobs = choose_jobs(study, options)
    store = RecordStore(options.folder, study.FIELDS)
    try:
        with _cluster(options.dask):
            n_failed = run(
                study,
                jobs,
                store,
                n_jobs=options.jobs,
                data_home=options.data_home,
                device=options.device,
            )
    except KeyboardInterrupt:
        print("Stopped. Run the same command again to resume.", file=sys.stderr)
        return 130
    print(f"The records are in {options.folder}.")
    if n_failed:
        print(f"{n_failed} trainings failed.", file=sys.stderr)
    return int(n_failed > 0)


@contextmanager
def _cluster(address):
    """Send the trainings to the Dask cluster at this address, if there is one."""
    if address is None:
        yield
        return
    import distributed

    print(f"Looking for workers at {address}.")
    try:
        client = distributed.Client(address)
        client.wait_for_workers(1, timeout=30)
    except (OSError, ValueError) as exc:
        raise OSError(f"There are no workers at --dask {address}: {exc}") from exc
    with client, parallel_config(backend="dask"):
        yield


def run(study, jobs, store, *, n_jobs=None, data_home=None, device="auto"):
    """Run the jobs and store each record as soon as it is ready.

    Jobs claimed by another run are waited for, and done here if that run ends without
    a record. Returns the number of jobs that failed.
    """
    store.folder.mkdir(parents=True, exist_ok=True)
    left = _list_undone(jobs, store)
    print(f"{len(jobs) - len(left)} of {len(jobs)} trainings are done already.")
    bad = _find_bad_data(jobs, left, study.load, store, data_home)
    left = [job for job in left if job.dataset not in bad]
    failed, n_losses = set(), 0
    while left:
        tasks = [
            delayed(_do)(job, study.train, study.load, store, data_home, device)
            for job in left
        ]
        outcomes = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(tasks)
        try:
            for n_seen, (job, seconds, problem) in enumerate(outcomes, start=1):
                if problem is not None:
                    print(f"{job.name} failed: {problem}")
                    failed.add(job)
                elif seconds is not None:
                    print(f"[{n_seen}/{len(left)}] {job.name}: {seconds} s", flush=True)
        except CancelledError:
            # joblib keeps an argument of many jobs on a single worker of Dask. If that
            # one is lost, jobs that wait for the argument are cancelled.
            n_losses += 1
            if n_losses > _N_LOSSES:
                raise
        left = _wait_for_others([job for job in left if job not in failed], store)
    return sum(job.dataset in bad for job in jobs) + len(failed)


def _list_undone(jobs, store, report=print):
    """List the jobs without a valid record; report damaged files."""
    done = set()
    for dataset in dict.fromkeys(job.dataset for job in jobs):
        records, problem = store.load(dataset)
        done |= {frozenset(record["job"].items()) for record in records}
        if problem:
            report(f"{problem}. What is lost is done again.")
    return [job for job in jobs if frozenset(asdict(job).items()) not in done]


def _find_bad_data(jobs, left, load, store, data_home):
    """Read, or download, each data set once; list those that cannot be used."""
    needed, bad = {job.dataset for job in left}, []
    for dataset in dict.fromkeys(job.dataset for job in jobs):
        problem = _check_data(dataset, dataset in needed, load, store, data_home)
        if problem is not None:
            print(f"{dataset} is left out: {problem}")
            bad.append(dataset)
    return bad


def _check_data(dataset, is_needed, load, store, data_home):
    """Return the problem if data is missing or does not match its records."""
    if not is_needed and DIGEST not in store.load(dataset)[0][0]:
        return None  # all was done before there were digests
    try:
        digest = digest_data(load(dataset, data_home))
    except (OSError, ValueError) as exc:
        return exc if is_needed else None
    try:
        store.check_data(dataset, digest)
    except ValueError as exc:
        return exc


def _do(job, train, load, store, data_home, device):
    """Return the job, its seconds (None if another run has it), and the problem."""
    try:
        with store.claim(job) as is_mine:
            if not is_mine or store.is_done(job):
                return job, None, None
            record = train(job, data_home, device)
            # The worker may see other files.
            record[DIGEST] = digest_data(load(job.dataset, data_home))
            store.add(record)
            return job, record["seconds"], None
    except Exception:
        return job, 0, traceback.format_exc(limit=-3)


def _wait_for_others(jobs, store):
    """Return the jobs that are not done, as soon as one of them can be claimed."""
    jobs = _list_undone(jobs, store, report=lambda text: None)
    if jobs and not _one_is_free(jobs, store):
        print(f"{len(jobs)} trainings are being done by another run.", flush=True)
    while jobs and not _one_is_free(jobs, store):
        time.sleep(_PAUSE)
        jobs = _list_undone(jobs, store, report=lambda text: None)
    return jobs


def _one_is_free(jobs, store):
    for job in jobs:
        with store.claim(job) as is_free:
            if is_free:
                return True
    return False
