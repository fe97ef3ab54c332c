"""The study of signals: networks, options of their training, and what else there is."""

from functools import partial
from pathlib import Path

from studies._plan import Plan
from studies.signals import data, report, trainings
from studies.signals.trainings import FIELDS

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
QUICK = ("racket_sports",)
load = partial(data.load, PLAN)
make_jobs = partial(trainings.make_jobs, PLAN)
train = partial(trainings.train, PLAN)
make_parts = partial(report.make_parts, PLAN)
