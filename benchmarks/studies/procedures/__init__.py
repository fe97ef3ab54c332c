"""The study of procedures: the functions of its plan, ``procedures.toml``."""

from benchmarks.studies.procedures.answers import answer
from benchmarks.studies.procedures.data import load
from benchmarks.studies.procedures.trainings import FIELDS, NAMES, train

__all__ = ["FIELDS", "NAMES", "answer", "load", "train"]
