"""The third study: the defaults against what people do today, also on large data."""

from functools import partial
from pathlib import Path

from studies._frozen import git_state
from studies._plan import Plan
from studies._report import frame
from studies.habits import data

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
QUICK = ("fishing_mode",)
FIELDS = ("job", "plan_commit", "started", "n_rows", "n_classes", "ways", "problem")
load = partial(data.load, PLAN)


def make_jobs(*args, **options):
    """List the trainings, if the plan is as it was committed."""
    git_state(PLAN.path)
    return PLAN.make_jobs(*args, **options)


def train(*args):
    """Do a training; return its record."""
    from studies.habits import trainings

    return trainings.train(PLAN, *args)


def make_parts(records):
    """Return the parts of the report."""
    from studies.habits.answers import NAMES, answer

    return frame(PLAN, NAMES, answer(PLAN, records), records)
