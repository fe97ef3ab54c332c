"""The replication: the experiments of the paper, done again and without their flaws."""

from studies.paper.protocol import FIELDS, SYNTHETIC, load_windows, make_jobs, train
from studies.paper.report import make_parts

__all__ = ["FIELDS", "QUICK", "TITLE", "load", "make_jobs", "make_parts", "train"]

TITLE = "Superior scoring rules: replication"
QUICK = (SYNTHETIC,)
load = load_windows
