"""The second study: rules, defaults and whole procedures, tested on new data."""

from functools import partial
from pathlib import Path

from studies._plan import Plan
from studies._report import frame
from studies.procedures import data, trainings
from studies.procedures.answers import answer
from studies.procedures.trainings import FIELDS, NAMES

__all__ = [
    "FIELDS",
    "PLAN",
    "QUICK",
    "TITLE",
    "load",
    "make_jobs",
    "make_parts",
    "train",
]

PLAN = Plan.read(Path(__file__).with_name("plan.toml"))
TITLE = PLAN["title"]
QUICK = ("yeast",)
make_jobs = PLAN.make_jobs
load = partial(data.load, PLAN)
train = partial(trainings.train, PLAN)


def make_parts(records):
    """Return the parts of the report."""
    return frame(PLAN, NAMES, answer(PLAN, records), records)
