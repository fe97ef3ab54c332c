"""Command line of the studies."""

import argparse
import sys
from functools import partial
from pathlib import Path

from benchmarks.studies._plan import Plan
from sklearn_superior.replication._run import (
    add_options,
    report_command,
    run_command,
)
from sklearn_superior.replication._store import RecordStore


def main(args=None):
    """Run the command that the arguments give; return its exit code."""
    options = _make_parser().parse_args(args)
    try:
        plan = Plan.read(options.plan)
    except (OSError, ValueError) as exc:
        print(exc, file=sys.stderr)
        return 2
    options.folder = options.folder or Path(plan.name)
    return options.command(plan, options)


def _make_parser():
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.studies",
        description="Do the trainings of a plan, and write its report. Run it in the "
        "folder that has the folder benchmarks.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    training = commands.add_parser(
        "run", help="train; what is done already is not done again"
    )
    training.set_defaults(command=_run)
    report = commands.add_parser("report", help="write the report of what is done")
    report.set_defaults(command=_report)
    for command in (training, report):
        command.add_argument("plan", help="file, such as benchmarks/studies/rules.toml")
        command.add_argument(
            "--folder",
            type=Path,
            help="where the records are; default: one of the name of the plan",
        )
    add_options(training, None, None)
    report.add_argument(
        "--home", help="address of the documentation's pages, for links to them"
    )
    return parser


def _run(plan, options):
    return run_command(
        plan.make_jobs,
        RecordStore(options.folder, plan.functions.FIELDS),
        options,
        load=partial(plan.functions.load, plan),
        train=partial(plan.functions.train, plan),
    )


def _report(plan, options):
    from benchmarks.studies._report import write_report

    return report_command(write_report, plan, options.folder, options.home)


if __name__ == "__main__":
    sys.exit(main())
