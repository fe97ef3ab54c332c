"""Command line of the studies: ``python -m studies STUDY COMMAND``."""

import argparse
import sys
from importlib import import_module
from pathlib import Path

from studies._page import Paragraph, write_pages
from studies._runner import add_options, run_command
from studies._store import RecordStore

STUDIES = {
    "paper": "studies.paper",
    "rules": "studies.rules",
    "procedures": "studies.procedures",
    "habits": "studies.habits",
    "small": "studies.small.validation",
    "racing": "studies.small.racing",
    "paper_walk": "studies.small.paper_walk",
    "race_live": "studies.small.race_live",
    "search_table": "studies.small.search_table",
    "decisions": "studies.small.decisions",
    "signals": "studies.signals",
}


def main(args=None):
    """Run the command that the arguments give; return its exit code."""
    options = _make_parser().parse_args(args)
    options.folder = options.folder or Path("results") / options.study
    try:
        return options.command(import_module(STUDIES[options.study]), options)
    except (OSError, ImportError, ValueError) as exc:
        print(exc, file=sys.stderr)
        return 2


def _make_parser():
    parser = argparse.ArgumentParser(
        prog="python -m studies",
        description="Do the trainings of a study, and write its report. Run it in the "
        "folder that has the folder studies.",
    )
    names = ", ".join(STUDIES)
    parser.add_argument("study", choices=STUDIES, metavar="STUDY", help=names)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    training = commands.add_parser(
        "run", help="train; what is done already is not done again"
    )
    training.set_defaults(command=run_command)
    report = commands.add_parser("report", help="write the report of what is done")
    report.set_defaults(command=_report)
    for command in (training, report):
        help_ = "where the records are; default: results/STUDY"
        command.add_argument("--folder", type=Path, help=help_)
    add_options(training)
    return parser


def _report(study, options):
    for path in write_report(study, options.folder):
        print(path)
    return 0


def write_report(study, folder, target=None):
    """Write the report of the records in a folder; return its two files.

    It is written beside the records, or into the folder `target`.
    """
    path = Path(target or folder) / "report"
    return write_pages(path, study.TITLE, make_report(study, folder))


def make_report(study, folder):
    """Return the parts of the report of the records in a folder."""
    records, damaged = RecordStore(folder, study.FIELDS).load_all()
    if not records:
        raise FileNotFoundError(
            f"{folder} has no records. Make some with `python -m studies STUDY run`."
        )
    parts = study.make_parts(records)
    if damaged:
        names = ", ".join(path.name for path in damaged)
        parts.append(Paragraph(f"Damaged records were left out: {names}."))
    return parts


if __name__ == "__main__":
    sys.exit(main())
