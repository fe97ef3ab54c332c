"""The study of procedures: the functions of its plan, ``procedures.toml``."""

from studies.procedures.answers import answer
from studies.procedures.data import load
from studies.procedures.trainings import FIELDS, NAMES, train

__all__ = ["FIELDS", "NAMES", "answer", "load", "train"]
