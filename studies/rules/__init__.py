"""The comparison of stopping rules: the functions of its plan, ``rules.toml``."""

from studies.rules.answers import answer
from studies.rules.trainings import FIELDS, NAMES, load, train

__all__ = ["FIELDS", "NAMES", "answer", "load", "train"]
