"""Records on disk: one file for each training, written whole or not at all."""

import gzip
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

    compress : bool, default=False
        Whether to write compressed records.
    """

    def __init__(self, folder, compress=False):
        self.folder = Path(folder).resolve()  # workers may be in other folders
        self.compress = compress

    def path(self, job):
        """Return the file of a job."""
        return self.folder / f"{job.name}.json{'.gz' if self.compress else ''}"

    def save(self, job, record):
        """Write a record, with a checksum."""
        path = self.path(job)
        path.parent.mkdir(parents=True, exist_ok=True)
        content = {"sha256": _checksum(record)} | record
        data = json.dumps(content).encode()
        write_atomically(path, gzip.compress(data, mtime=0) if self.compress else data)

    def is_done(self, job):
        """Tell whether a job has a sound record; a damaged one is an error."""
        return self.path(job).exists() and bool(_load(self.path(job)))

    def load_all(self):
        """Return all sound records of its own kind, and the damaged files."""
        records, damaged = [], []
        pattern = "*/*/*.json.gz" if self.compress else "*/*/*.json"
        for path in sorted(self.folder.glob(pattern)):
            try:
                records.append(_load(path))
            except DamagedRecordError:
                damaged.append(path)
        return records, damaged


def _load(path):
    try:
        data = path.read_bytes()
        record = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
        checksum = record.pop("sha256")
        if checksum == _checksum(record):
            return record
        problem = "its checksum is wrong"
    except (ValueError, KeyError, TypeError, AttributeError, OSError, EOFError) as exc:
        problem = f"{type(exc).__name__}: {exc}"
    raise DamagedRecordError(f"{path} is damaged: {problem}")


def _checksum(record):
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()
