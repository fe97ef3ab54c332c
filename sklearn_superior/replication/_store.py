"""Records on disk: one file for each training, written whole or not at all."""

import hashlib
import json
from pathlib import Path

from sklearn_superior.utils._files import write_atomically


class DamagedRecordError(ValueError):
    """A record that cannot be trusted."""


class RecordStore:
    """Where the records of a replication are kept.

    Parameters
    ----------
    folder : str or path
        Created if it is missing. Several runs may share it.
    """

    def __init__(self, folder):
        self.folder = Path(folder).resolve()  # workers may be in other folders

    def path(self, job):
        """Return the file of a job."""
        return self.folder / f"{job.name}.json"

    def save(self, job, record):
        """Write a record, with a checksum."""
        path = self.path(job)
        path.parent.mkdir(parents=True, exist_ok=True)
        content = {"sha256": _checksum(record)} | record
        write_atomically(path, json.dumps(content).encode())

    def is_done(self, job):
        """Tell whether a job has a sound record; a damaged one is an error."""
        return self.path(job).exists() and bool(_load(self.path(job)))

    def load_all(self):
        """Return all sound records, and the damaged files."""
        records, damaged = [], []
        for path in sorted(self.folder.glob("*/*/*.json")):
            try:
                records.append(_load(path))
            except DamagedRecordError:
                damaged.append(path)
        return records, damaged


def _load(path):
    try:
        record = json.loads(path.read_text())
        checksum = record.pop("sha256")
        if checksum == _checksum(record):
            return record
        problem = "its checksum is wrong"
    except (ValueError, KeyError, TypeError, AttributeError, OSError) as exc:
        problem = f"{type(exc).__name__}: {exc}"
    raise DamagedRecordError(f"{path} is damaged: {problem}")


def _checksum(record):
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()
