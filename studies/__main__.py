"""Command line of the replication."""

import argparse
import sys
from pathlib import Path

from sklearn_superior.datasets import list_paper_datasets
from sklearn_superior.replication import _protocol
from studies._runner import (
    add_options,
    report_command,
    run_command,
)
from studies._store import RecordStore


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
        "run",
        help="train; what is done already is not done again",
        description="Train the network (cnn), or what --estimators names: 100 epochs "
        "or trees, 5 folds and 1 repeat unless others are given.",
    )
    training.set_defaults(command=_run)
    add_options(training, _protocol.DATASETS, tuple(_protocol.ESTIMATORS))
    report = commands.add_parser("report", help="write the report of what is done")
    report.set_defaults(command=_report)
    report.add_argument(
        "--home", help="address of the documentation's pages, for links to them"
    )
    for command in (training, report):
        command.add_argument(
            "--folder",
            type=Path,
            default=Path("replication"),
            help="where the records are; default: %(default)s",
        )
    return parser


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
    return run_command(
        _protocol.make_jobs,
        RecordStore(options.folder, _protocol.FIELDS),
        options,
        load=_protocol.load_windows,
        train=_protocol.train,
    )


def _report(options):
    from studies.paper.report import write_report

    return report_command(write_report, options.folder, options.home)


if __name__ == "__main__":
    sys.exit(main())
