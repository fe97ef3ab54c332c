"""The plan of the comparison of rules, and synthetic records."""

from dataclasses import asdict
from pathlib import Path

from studies.paper.protocol import Job

ROOT = Path(__file__).parents[2]
RECORDS = ROOT / "studies" / "records"  # a distribution has none
DATA = ROOT.parent / "shared" / "data"


def make_record(dataset, estimator, fold, *, f1, loss="log_loss", repeat=0):
    """Three stages: the log loss likes the first, the errors the second."""
    job = Job(dataset, estimator, loss, 3, fold, repeat)
    validation = {
        "log_loss": [0.5, 0.6, 0.9],
        "brier": [0.5, 0.6, 0.9],
        "errors": [5, 2, 3],
        "f1_macro": [0.5, 0.8, 0.7],
        "calibrated_log_loss": [0.5, 0.4, 0.6],
        "calibrated_brier": [0.5, 0.4, 0.6],
    }
    return {
        "job": asdict(job),
        "seed": 1,
        "n_rows": {"train": 20, "validation": 10, "test": 10},
        "n_classes": 3,
        "seconds": 36.0,
        "versions": {"python": "3.11"},
        "validation": validation,
        "test": validation | {"f1_macro": list(f1)},
        "temperature": [1.0, 2.0, 3.0],
    }


SETS = {"walking_user_identification": 0.01, "ble_rssi": 0.02, "tetouan_power": 0.06}


def make_records():
    for dataset, gain in SETS.items():
        for fold in range(3):
            for estimator, factor in (("cnn", 1), ("mlp", 2)):
                f1 = (0.5, 0.5 + factor * gain, 0.4)
                yield make_record(dataset, estimator, fold, f1=f1)


def make_table_records():
    for dataset in ("glass", "vowel", "soybean"):
        for fold in range(3):
            yield make_record(dataset, "mlp", fold, f1=(0.9, 0.9, 0.95))
