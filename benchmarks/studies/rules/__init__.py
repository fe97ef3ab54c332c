"""The comparison of stopping rules: the functions of its plan, ``rules.toml``."""

from benchmarks.studies.rules.answers import answer
from benchmarks.studies.rules.trainings import FIELDS, NAMES, load, train

__all__ = ["FIELDS", "NAMES", "answer", "load", "train"]
