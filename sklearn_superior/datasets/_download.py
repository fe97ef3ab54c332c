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
from sklearn_superior.utils._progress import with_progress

_MANIFEST = json.loads(Path(__file__).with_name("authors_files.json").read_bytes())
BASE_URL = "https://raw.githubusercontent.com/{repository}/{commit}/".format(
    **_MANIFEST
)
AUTHORS_FILES = _MANIFEST["files"]  # data set -> path -> hash of its git blob

_N_AT_ONCE = 4
_TIMEOUT = 30  # seconds without an answer
_WAITS = (0.5, 1, 2)  # seconds before each further attempt


def download_files(hashes, folder):
    """Download the files that are missing, several at once.

    Parameters
    ----------
    hashes : dict
        The git blob hash of each file, by its path in the repository.

    folder : Path
        Where to put them, with the same paths.
    """
    missing = [path for path in hashes if not (folder / path).exists()]
    with ThreadPoolExecutor(_N_AT_ONCE) as pool:
        jobs = [
            pool.submit(_download, path, hashes[path], folder / path)
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


def _download(path, expected_hash, target):
    content = _fetch(BASE_URL + quote(path), expected_hash)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(target, content)
    except OSError as exc:
        problem = f"The download cannot be written: {exc.strerror}"
        raise OSError(exc.errno, problem, str(target)) from exc


def _fetch(url, expected_hash):
    """Content of a file, after several attempts if need be."""
    for wait in (0, *_WAITS):
        time.sleep(wait)
        try:
            with urlopen(url, timeout=_TIMEOUT) as response:
                content = response.read()
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
