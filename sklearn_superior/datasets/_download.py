"""Downloads from the repository of the paper's authors, each file checked."""

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

_MANIFEST = json.loads(Path(__file__).with_name("authors_files.json").read_bytes())
BASE_URL = "https://raw.githubusercontent.com/{repository}/{commit}/".format(
    **_MANIFEST
)
# data set -> path -> hash of its git blob, and its size in bytes or None
AUTHORS_FILES = _MANIFEST["files"]

_N_AT_ONCE = 4
_TIMEOUT = 30  # seconds without an answer
_LARGEST = 2**25  # bytes, of files whose size is not known
_SLOWEST = 20_000  # bytes in a second, on average
_CHUNK = 2**16  # bytes
_WAITS = (0.5, 1, 2)  # seconds before each further attempt


def download_files(files, folder):
    """Download the files that are missing, several at once.

    No more is read than the size of a file, and no longer than a slow connection takes
    for it.

    Parameters
    ----------
    files : dict
        The git blob hash of each file and its size, or None, by its path in the
        repository.

    folder : Path
        Where to put them, with the same paths.
    """
    missing = [path for path in files if not (folder / path).exists()]
    with ThreadPoolExecutor(_N_AT_ONCE) as pool:
        jobs = [
            pool.submit(_download, path, *files[path], folder / path)
            for path in missing
        ]
        try:
            done = as_completed(jobs)
            about = {"n_all": len(jobs), "task": "Downloading", "unit": "files"}
            for job in with_progress(done, **about):
                job.result()
        finally:
            pool.shutdown(cancel_futures=True)


def git_blob_hash(content):
    """Hash that git gives to a file with this content.

    Examples
    --------
    >>> git_blob_hash(b"")
    'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391'
    """
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def _download(path, expected_hash, size, target):
    content = _fetch(BASE_URL + quote(path), expected_hash, size)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(target, content)
    except OSError as exc:
        problem = f"The download cannot be written: {exc.strerror}"
        raise OSError(exc.errno, problem, str(target)) from exc


def _fetch(url, expected_hash, size):
    """Content of a file, after several attempts if need be."""
    for wait in (0, *_WAITS):
        time.sleep(wait)
        try:
            with urlopen(url, timeout=_TIMEOUT) as response:
                content = _read(response, size)
            actual_hash = git_blob_hash(content)
            if actual_hash == expected_hash:
                return content
            raise OSError(f"the hash must be {expected_hash}, but is {actual_hash}")
        except (OSError, HTTPException) as exc:
            problem = exc
        if isinstance(problem, HTTPError):
            problem.close()
            if problem.code < 500 and problem.code != 429:  # asking again is no use
                break
    raise OSError(
        f"Cannot download {url}: {problem}. Check the connection, or give a data_home "
        "that has the files."
    ) from problem


def _read(response, size):
    """Return the body of an answer, of this size if it is not None."""
    most = _LARGEST if size is None else size
    seconds = _TIMEOUT + most / _SLOWEST
    deadline = time.monotonic() + seconds
    content = bytearray()
    # Unlike read, read1 returns after each packet, so that the time can be checked.
    while chunk := response.read1(_CHUNK):
        content += chunk
        if len(content) > most:
            raise OSError(f"it has more than {most} bytes")
        if time.monotonic() > deadline:
            raise OSError(f"it took more than {seconds:.0f} seconds")
    if size is not None and len(content) < size:
        raise OSError(f"it ended after {len(content)} of {size} bytes")
    return bytes(content)
