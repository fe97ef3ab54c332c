"""Records for the tests."""

from studies._store import RecordStore
from studies.paper.protocol import FIELDS, Job


def contents(folder):
    """Records of a folder by the names of their jobs; what differs is left out."""
    records, damaged = RecordStore(folder, FIELDS).load_all()
    assert not damaged
    return {
        Job(**record["job"]).name: {k: v for k, v in record.items() if k != "seconds"}
        for record in records
    }


def fill(folder, records):
    """Add records to a folder, and return it."""
    for record in records:
        RecordStore(folder).add(record)
    return folder


def make_record(dataset, loss, fold, gain, max_iter=3, estimator="cnn", status=None):
    """A training in which the penalized rules choose a stage better by `gain`."""
    val = {
        "brier": [-1.0, -0.2, -0.5],
        "penalized_brier": [-1.0, -0.5, -0.2],
        "log_loss": [-1.0, -0.2, -0.5],
        "penalized_log_loss": [-1.0, -0.5, -0.2],
        "target": [0.1, 0.4, 0.5],
    }
    base = 0.4 + 0.01 * fold
    return {
        "job": vars(Job(dataset, estimator, loss, max_iter, fold, 0)),
        "seed": 1,
        "status": status or "complete",
        "n_rows": {"train": 5, "validation": 2, "test": 3},
        "seconds": 36.0,
        "versions": {"python": "3.11"},
        "validation": val,
        "test": val | {"target": [0.1, base, base + gain]},
    }


def make_records():
    """Two complete sets, one up and one down, a substituted one, and boosting."""
    for dataset, gain in (("walking_user_identification", 0.05), ("ble_rssi", -0.02)):
        for loss in ("brier", "log_loss"):
            for fold in range(5):
                yield make_record(dataset, loss, fold, gain)
    for fold in range(4):
        yield make_record("wisdm_phone_accel", "brier", fold, 0.3, status="substituted")
        yield make_record("ble_rssi", "log_loss", fold, 0.1, estimator="hgb")
