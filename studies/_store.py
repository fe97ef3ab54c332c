"""Records on disk: one compressed file for each data set, one line for each training.

A line is a record as JSON, with a checksum. To add a record, the file is rewritten
under a lock and replaced as a whole, so several runs can share a folder. A run claims a
training with a lock, which the system releases when the process ends, whatever ends it.

The runner adds a digest of the data to each record, as ``data_sha256``. All records of
a data set in a folder must come from the same data: a record of other data is refused,
and so is a file that mixes both. Older records have no digest. They can be read and
compared with each other, but never mixed with records that have one, because nobody
knows whether the data was the same.
"""

import gzip
import hashlib
import json
import os
import sys
import time
import zlib
from contextlib import contextmanager, suppress
from dataclasses import asdict, is_dataclass
from pathlib import Path

import numpy as np

DIGEST = "data_sha256"  # the field of a record with the digest of its data
_SUFFIX = ".jsonl.gz"
_CHUNK = 4096  # bytes unpacked at once; all before a damaged chunk is read


class RecordStore:
    """Where the records of a study are kept.

    Parameters
    ----------
    folder : str or path
        Created if it is missing. Several runs may share it.

    fields : iterable of str, default=()
        What every record must have, to recognise records of another study.
    """

    def __init__(self, folder, fields=()):
        self.folder = Path(folder).resolve()  # workers may be in other folders
        self.fields = frozenset(fields)

    def path(self, dataset):
        """Return the file of a data set."""
        return self.folder / f"{dataset}{_SUFFIX}"

    def add(self, record):
        """Add a record; it replaces one of the same job.

        Raises a ValueError if it comes from other data than the records there.
        """
        path = self.path(record["job"]["dataset"])
        with lock(path.with_name(f".{path.name}.lock")):
            records, _ = self.load(record["job"]["dataset"])
            _check_data(path, [*records, record])
            records = [r for r in records if r["job"] != record["job"]] + [record]
            # One name is safe under the lock. The next run replaces what a killed one
            # left behind.
            temporary = path.with_name(f".{path.name}.tmp")
            temporary.write_bytes(pack(sorted(records, key=_order)))
            os.replace(temporary, path)

    def check_data(self, dataset, digest):
        """Raise a ValueError if the records of a data set come from other data."""
        records, _ = self.load(dataset)
        _check_data(self.path(dataset), [*records, {DIGEST: digest}])

    def load(self, dataset):
        """Return the valid records of a data set, and a message if some are damaged."""
        path = self.path(dataset)
        if not path.exists():
            return [], None
        records, problem = unpack(path.read_bytes())
        for record in records:
            if not self.fields <= record.keys():
                raise ValueError(
                    f"{path} has the records of another study: they lack "
                    f"{', '.join(sorted(self.fields - record.keys()))}. Give another "
                    "folder."
                )
        _check_data(path, records)
        return records, problem and f"{path} is damaged: {problem}"

    def load_all(self):
        """Return all valid records, and the damaged files."""
        records, damaged = [], []
        for path in sorted(self.folder.glob(f"*{_SUFFIX}")):
            of_set, problem = self.load(path.name.removesuffix(_SUFFIX))
            records += sorted(of_set, key=_order)
            damaged += [path] if problem else []
        return records, damaged

    def is_done(self, job):
        """Return whether a job has a valid record."""
        return any(r["job"] == asdict(job) for r in self.load(job.dataset)[0])

    def claim(self, job):
        """Return a context in which no other run trains this job.

        Its value is whether the claim succeeded.
        """
        name = job.name.replace("/", ".")
        return lock(self.folder / f".{name}.lock", wait=False)


def _check_data(path, records):
    """Raise an error if records come from different data."""
    digests = sorted({record.get(DIGEST) or "unknown" for record in records})
    if len(digests) > 1:
        raise ValueError(
            f"{path} must have records of the same data. Those of different data, by "
            f"their {DIGEST} {' and '.join(d[:12] for d in digests)}, need folders of "
            "their own: give another one."
        )


def digest_data(data):
    """Return a digest of the data of a study: arrays and their containers.

    Functions are ignored.

    Examples
    --------
    >>> data = {"X": np.array([[1.0, 2.0]]), "y": ["a"]}
    >>> digest_data(data) == digest_data({"X": np.array([[1.0, 2.5]]), "y": ["a"]})
    False
    """
    digest = hashlib.sha256()
    _update(digest, data)
    return digest.hexdigest()


def _update(digest, data):
    """Add data to a digest, each part after its kind and its size."""
    if is_dataclass(data):
        data = vars(data)
    if isinstance(data, dict):
        data = list(data.items())
    if isinstance(data, np.ndarray) and data.dtype != object:
        digest.update(f"{data.dtype.str} {data.shape}".encode())
        digest.update(np.ascontiguousarray(data))
    elif isinstance(data, list | tuple | np.ndarray):
        digest.update(f"list {len(data)}".encode())
        for part in data:
            _update(digest, part)
    elif not callable(data):
        digest.update(f"{type(data).__name__} {data!r}".encode())


def _order(record):
    return list(record["job"].values())


def pack(records):
    """Return the content of a file of records."""
    lines = [json.dumps({"sha256": _checksum(r)} | r) + "\n" for r in records]
    return gzip.compress("".join(lines).encode(), mtime=0)


def unpack(data):
    """Return the valid records of a file, and what is wrong with the others, if any."""
    content, engine = bytearray(), zlib.decompressobj(wbits=31)
    with suppress(zlib.error):
        for start in range(0, len(data), _CHUNK):
            content += engine.decompress(data[start : start + _CHUNK])
    records, n_wrong = [], 0
    for line in content.splitlines():
        try:
            record = json.loads(line)
            if record.pop("sha256") != _checksum(record):
                raise ValueError("wrong checksum")
            records.append(record)
        except (ValueError, KeyError, TypeError, AttributeError):
            n_wrong += 1
    if n_wrong:
        return records, f"{n_wrong} lines are not records with the right checksum"
    return records, None if engine.eof else "it ends too early or is not compressed"


def _checksum(record):
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


@contextmanager
def lock(path, *, wait=True):
    """Hold a lock file; the value of the context is whether the lock is held.

    Without `wait` it is False if another process or thread holds the lock.
    """
    while (file := _try_to_lock(path)) is None and wait:
        time.sleep(0.01)
    try:
        yield file is not None
    finally:
        if file is not None:
            with suppress(OSError):  # Windows does not remove open files
                path.unlink()
            file.close()


def _try_to_lock(path):
    """Return the lock file, open and locked, or None if another holds it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        file = open(path, "ab")
        try:
            _lock_file(file)
        except (BlockingIOError, PermissionError):
            file.close()
            return None
        except OSError as exc:
            file.close()
            problem = f"The folder must be on a file system that can lock files: {exc}"
            raise OSError(exc.errno, problem, str(path)) from exc
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file
        file.close()  # its last holder has removed it in the meantime


def _lock_file(file):
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
