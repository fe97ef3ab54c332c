"""The first study: which rule to trust for choosing a model."""

from functools import partial
from pathlib import Path

from studies._plan import Plan
from studies._report import frame
from studies.paper.protocol import SYNTHETIC
from studies.rules import trainings
from studies.rules.answers import answer
from studies.rules.trainings import FIELDS, NAMES

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
QUICK = (SYNTHETIC,)
make_jobs = PLAN.make_jobs
load = partial(trainings.load, PLAN)
train = partial(trainings.train, PLAN)


def make_parts(records):
    """Return the parts of the report."""
    return frame(PLAN, NAMES, answer(PLAN, records), records)
