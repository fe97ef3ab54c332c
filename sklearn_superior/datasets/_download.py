"""Checked downloads from the repository of the paper's authors."""

import hashlib
import json
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import urlopen

from sklearn_superior.utils._files import write_atomically
from sklearn_superior.utils._progress_bar import with_progress

# The facts about each data set and its files, and where they come from.
MANIFEST = json.loads(Path(__file__).with_name("authors_files.json").read_bytes())
BASE_URL = "https://raw.githubusercontent.com/{repository}/{commit}/".format(**MANIFEST)
# data set -> path -> git blob hash, and size in bytes or None
AUTHORS_FILES = {name: facts["files"] for name, facts in MANIFEST["datasets"].items()}

_N_AT_ONCE = 4
_TIMEOUT = 30  # seconds without a response
_LARGEST = 2**25  # bytes, for files of unknown size
_SLOWEST = 20_000  # bytes per second, on average
_CHUNK = 2**16  # bytes
_WAITS = (0.5, 1, 2)  # seconds before each retry


def download_files(files, folder):
    """Download missing files, several at once.

    Parameters
    ----------
    files : dict
        Maps paths in the repository to the git blob hash and the size, or None.

    folder : Path
        Where to save the files, under the same paths.
    """
    missing = [path for path in files if not (folder / path).exists()]
    with ThreadPoolExecutor(_N_AT_ONCE) as pool:
        jobs = [pool.submit(_download, path, *files[path], folder) for path in missing]
        about = {"n_all": len(jobs), "task": "Downloading", "unit": "files"}
        try:
            for job in with_progress(as_completed(jobs), **about):
                job.result()
        finally:
            pool.shutdown(cancel_futures=True)


def git_blob_hash(content):
    """Return the hash that git gives to a file with this content.

    Examples
    --------
    >>> git_blob_hash(b"")
    'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391'
    """
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def _download(path, expected_hash, size, folder):
    content = _fetch(BASE_URL + quote(path), expected_hash, size)
    target = folder / path
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(target, content)
    except OSError as exc:
        problem = f"Cannot write the download: {exc.strerror}"
        raise OSError(exc.errno, problem, str(target)) from exc


def _fetch(url, expected_hash, size):
    """Return the content of a file, retrying a few times."""
    for wait in (0, *_WAITS):
        time.sleep(wait)
        try:
            with urlopen(url, timeout=_TIMEOUT) as response:
                content = _read(response, size)
            actual_hash = git_blob_hash(content)
            if actual_hash == expected_hash:
                return content
            raise OSError(f"expected hash {expected_hash}, got {actual_hash}")
        except (OSError, HTTPException) as exc:
            problem = exc
        if isinstance(problem, HTTPError):
            problem.close()
            if problem.code < 500 and problem.code != 429:  # retrying is pointless
                break
    raise OSError(
        f"Cannot download {url}: {problem}. Check the connection, or set data_home to "
        "a folder that has the files."
    ) from problem


def _read(response, size):
    """Read a response of the given size, or of unknown size if None."""
    most = _LARGEST if size is None else size
    seconds = _TIMEOUT + most / _SLOWEST
    deadline = time.monotonic() + seconds
    content = bytearray()
    # Unlike read, read1 returns after each packet, so the deadline is always checked.
    while chunk := response.read1(_CHUNK):
        content += chunk
        if len(content) > most:
            raise OSError(f"the file is larger than {most} bytes")
        if time.monotonic() > deadline:
            raise OSError(f"the download took more than {seconds:.0f} seconds")
    if size is not None and len(content) < size:
        raise OSError(f"the download ended after {len(content)} of {size} bytes")
    return bytes(content)
