"""Command line of the replication."""

import argparse
import sys
from pathlib import Path

from sklearn_superior.datasets import list_paper_datasets
from sklearn_superior.replication._protocol import (
    DATASETS,
    ESTIMATORS,
    SYNTHETIC,
    make_jobs,
)
from sklearn_superior.replication._run import run

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
    paper = [name for name in DATASETS if name != SYNTHETIC]
    add("--datasets", nargs="+", choices=DATASETS, default=paper, metavar="NAME")
    add("--estimators", nargs="+", choices=tuple(ESTIMATORS), default=["cnn"])
    add("--losses", nargs="+", choices=_LOSSES, default=list(_LOSSES))
    add("--epochs", type=_positive, default=100, help="epochs or trees (100)")
    add("--folds", type=_positive, default=5, help="folds of each data set (5)")
    add("--repeats", type=_positive, default=1, help="trainings of each fold (1)")
    add("--jobs", type=int, default=None, help="trainings at once; -1: all cores")
    add("--device", default="auto", help="auto, cpu, cuda, cuda:1 or mps")
    add("--data-home", default=None, help="folder of the data sets")
    add("--quick", action="store_true", help="a minute on made-up data")
    report = commands.add_parser("report", help="write the report of what is done")
    report.set_defaults(command=_report)
    for command in (training, report):
        command.add_argument(
            "--folder", type=Path, default=Path("replication"), help="of the records"
        )
    return parser


def _positive(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {text}")
    return value


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
    if options.quick:
        options.datasets, options.epochs, options.folds = [SYNTHETIC], 12, 2
    jobs = make_jobs(
        options.datasets,
        options.estimators,
        options.losses,
        options.epochs,
        options.folds,
        options.repeats,
    )
    if not jobs:
        print(
            f"No estimator among {options.estimators} has a loss among "
            f"{options.losses}.",
            file=sys.stderr,
        )
        return 2
    n_failed = run(
        jobs,
        options.folder,
        n_jobs=options.jobs,
        data_home=options.data_home,
        device=options.device,
    )
    print(f"The records are in {options.folder}.")
    if n_failed:
        print(f"{n_failed} trainings failed.", file=sys.stderr)
    return int(n_failed > 0)


def _report(options):
    from sklearn_superior.replication._report import write_report

    try:
        paths = write_report(options.folder)
    except FileNotFoundError as exc:
        print(exc, file=sys.stderr)
        return 2
    for path in paths:
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
