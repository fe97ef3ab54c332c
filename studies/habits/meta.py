"""The paper's claim over three studies: a mean over all units of the three.

Each unit, a data set or a family of them, weighs the same, whichever study it is of.
The first study made the hypothesis, so a row without it stands beside the others.
"""

from importlib import import_module
from pathlib import Path

from studies._measures import f1_gain
from studies._statistics import pool, summarize
from studies._store import RecordStore
from studies.habits.analysis import f1_of_rules

PAIRS = {
    "PBS − Brier score": ("penalized_brier", "brier"),
    "PLL − log loss": ("penalized_log_loss", "log_loss"),
}
_RECORDS = Path(__file__).parents[1] / "records"


def load_units(name, pair):
    """Return the units of an earlier study, or None if its records are not here."""
    study = import_module(f"studies.{name}")
    folder = _RECORDS / name
    if not folder.exists():
        return None
    records, _ = RecordStore(folder, study.FIELDS).load_all()
    if name == "rules":
        from studies.rules.evidence import Evidence

        evidence = Evidence(study.PLAN, records)
        gains = evidence.differences(*pair, evidence.groups()["signals"])
        return {name: 100 * gain for name, gain in gains.items()}
    from studies._evidence import Study

    own = Study(study.PLAN, records)
    return own.units(own.values(f1_gain(*pair), ["signals"]))


def find_units(study, pair):
    """Return the units of this study."""
    return study.units(study.values(f1_of_rules(*pair), ["signals"]))


def combine(study):
    """Return the rows of the meta-analysis: pair -> study -> summary."""
    rows = {}
    for name, pair in PAIRS.items():
        parts = {
            "first": load_units("rules", pair),
            "second": load_units("procedures", pair),
            "third": find_units(study, pair),
        }
        parts = {key: list(own.values()) for key, own in parts.items() if own}
        rows[name] = {key: summarize(values) for key, values in parts.items()}
        later = [v for key, own in parts.items() if key != "first" for v in own]
        rows[name]["second and third"] = pool(later)
        rows[name]["all"] = pool([v for own in parts.values() for v in own])
    return rows
