"""Command line of the replication."""

import argparse
import sys
from contextlib import contextmanager
from pathlib import Path

from joblib import parallel_config

from sklearn_superior.datasets import list_paper_datasets
from sklearn_superior.replication._protocol import (
    DATASETS,
    ESTIMATORS,
    SYNTHETIC,
    make_jobs,
)
from sklearn_superior.replication._run import run
from sklearn_superior.utils._optional import import_optional

_LOSSES = ("brier", "log_loss")


def main(args=None):
    """Run the command that the arguments give; return its exit code."""
    options = _make_parser().parse_args(args)
    return options.command(options)


def _make_parser():
    parser = argparse.ArgumentParser(
        prog="superior-replicate",
        description="Do the experiments of the paper on superior scoring rules again.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    listing = commands.add_parser("list", help="list the data sets")
    listing.set_defaults(command=_list)
    training = commands.add_parser(
        "run", help="train; what is done already is not done again"
    )
    training.set_defaults(command=_run)
    add = training.add_argument
    add(
        "--datasets",
        nargs="+",
        choices=DATASETS,
        metavar="NAME",
        help="names as in `list`, or synthetic; default: the nine of the paper, which "
        "are downloaded if need be",
    )
    add(
        "--estimators",
        nargs="+",
        choices=tuple(ESTIMATORS),
        default=["cnn"],
        help="what to train; default: cnn, the network",
    )
    add(
        "--losses",
        nargs="+",
        choices=_LOSSES,
        default=list(_LOSSES),
        help="what the network minimises; default: both, one after the other",
    )
    add("--epochs", type=_positive, help="epochs or trees; default: 100")
    add("--folds", type=_positive, help="folds of each data set; default: 5")
    add("--repeats", type=_positive, default=1, help="trainings of each fold")
    where = training.add_mutually_exclusive_group()
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
    report = commands.add_parser("report", help="write the report of what is done")
    report.set_defaults(command=_report)
    for command in (training, report):
        command.add_argument(
            "--folder",
            type=Path,
            default=Path("replication"),
            help="where the records are; default: replication",
        )
    return parser


def _positive(text):
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be an int from 1 up, got {text!r}")
    return int(text)


def _jobs(text):
    return -1 if text == "-1" else _positive(text)


def _list(options):
    print(f"{'name':29} classes  channels  window  step  blocks")
    for d in list_paper_datasets():
        blocks = "/".join(map(str, d.blocks))
        print(
            f"{d.name:29} {d.n_classes:7}  {len(d.feature_names):8}  {d.window:6}  "
            f"{d.step:4}  {blocks}"
        )
    return 0


def _run(options):
    paper = [name for name in DATASETS if name != SYNTHETIC]
    jobs = make_jobs(
        options.datasets or ([SYNTHETIC] if options.quick else paper),
        options.estimators,
        options.losses,
        options.epochs or (12 if options.quick else 100),
        options.folds or (2 if options.quick else 5),
        options.repeats,
    )
    if not jobs:
        print(
            f"No estimator among {options.estimators} has a loss among "
            f"{options.losses}.",
            file=sys.stderr,
        )
        return 2
    try:
        with _cluster(options.dask):
            n_failed = run(
                jobs,
                options.folder,
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


def _report(options):
    from sklearn_superior.replication._report import write_report

    try:
        paths = write_report(options.folder)
    except (OSError, ImportError) as exc:
        print(exc, file=sys.stderr)
        return 2
    for path in paths:
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
