"""Downloads from a local server that can be made to fail."""

import errno
import os
import threading
import time
from collections import Counter
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import repeat
from urllib.parse import unquote

import pytest
from numpy.testing import assert_array_equal

from sklearn_superior.datasets import _download, fetch_paper_dataset
from sklearn_superior.datasets._download import download_files, git_blob_hash

FILES = {
    f"datasets/Power_consumption/Zone {k}.csv": (
        "Temperature,Humidity,Wind Speed,general diffuse flows,diffuse flows,"
        f"Consumption\n1,2,3,4,5,{k}\n"
    ).encode()
    for k in (1, 2, 3)
}
FIRST, SECOND, THIRD = FILES
KNOWN = {path: (git_blob_hash(text), len(text)) for path, text in FILES.items()}


class Server(ThreadingHTTPServer):
    """Serves `files`; fails a path as often as `failures` says, in the way it says."""

    daemon_threads = False  # so that closing waits for the answers under way

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = dict(FILES)
        self.failures = {}  # path -> (way, how often)
        self.requests = Counter()
        self.meeting = None  # a barrier that every request waits at

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        server, path = self.server, unquote(self.path[1:])
        server.requests[path] += 1
        if server.meeting is not None:
            server.meeting.wait(timeout=5)
        way, how_often = server.failures.get(path, (None, 0))
        if server.requests[path] > how_often:
            way = None
        content = server.files.get(path)
        if content is None:
            self.send_error(404)
        elif isinstance(way, int):
            self.send_error(way)
        else:
            self.send_response(200)
            if way != "no end":
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if way in ("no end", "slow"):
                self.write_for_long(content, way)
                return
            if way == "break off":
                content = content[: len(content) // 2]
            elif way == "corrupt":
                content = b"X" + content[1:]
            self.wfile.write(content)

    def write_for_long(self, content, way):
        """Write without end, or byte by byte, until the other side hangs up."""
        pieces = repeat(content) if way == "no end" else (bytes([b]) for b in content)
        with suppress(ConnectionError):
            for piece in pieces:
                self.wfile.write(piece)
                if way == "slow":
                    time.sleep(0.05)

    def log_message(self, *args):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(_download, "_WAITS", (0, 0))
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        monkeypatch.setattr(_download, "BASE_URL", server.url)
        yield server
        server.shutdown()
        thread.join()


def files_in(folder):
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def test_the_manifest_names_one_commit_and_all_files():
    assert _download.BASE_URL == (
        "https://raw.githubusercontent.com/Ruhallah93/superior-scoring-rules/"
        "696787fad7b262b953e8d69a314001838307d203/"
    )
    known = [f for files in _download.AUTHORS_FILES.values() for f in files.values()]
    hashes = [file_hash for file_hash, _ in known]
    assert len(hashes) == len(set(hashes)) == 80
    assert all(len(h) == 40 and set(h) <= set("0123456789abcdef") for h in hashes)
    sizes = [size for _, size in known if size is not None]
    assert len(sizes) == 67
    assert 20_000 < min(sizes) < max(sizes) == 4_065_614


def test_hash_is_that_of_git():
    assert git_blob_hash(b"hello\n") == "ce013625030ba8dba906f756967f9e9ca394464a"


def test_all_files_are_downloaded(server, tmp_path):
    download_files(KNOWN, tmp_path / "new" / "folder")
    assert files_in(tmp_path / "new" / "folder") == FILES
    assert server.requests == dict.fromkeys(FILES, 1)


def test_several_files_are_downloaded_at_once(server, tmp_path):
    server.meeting = threading.Barrier(3)
    download_files(KNOWN, tmp_path)
    assert files_in(tmp_path) == FILES


def test_only_missing_files_are_downloaded(server, tmp_path):
    download_files({SECOND: KNOWN[SECOND]}, tmp_path)
    server.requests.clear()
    download_files(KNOWN, tmp_path)
    assert server.requests == {FIRST: 1, THIRD: 1}
    download_files(KNOWN, tmp_path)
    assert server.requests.total() == 2


@pytest.mark.parametrize("way", ["break off", "corrupt", 503, 429])
def test_a_failed_download_is_tried_again(server, tmp_path, way):
    server.failures = {SECOND: (way, 2)}
    download_files(KNOWN, tmp_path)
    assert files_in(tmp_path) == FILES
    assert server.requests[SECOND] == 3


@pytest.mark.parametrize(
    ("way", "problem", "n_requests"),
    [
        ("break off", "ended after 4[0-9] of 9[0-9] bytes", 3),
        ("no end", "larger than 9[0-9] bytes", 3),
        ("slow", "took more than 0 seconds", 3),
        ("corrupt", f"expected hash {KNOWN[SECOND][0]}, got ", 3),
        (500, "HTTP Error 500", 3),
        (403, "HTTP Error 403", 1),
        (404, "HTTP Error 404", 1),
    ],
)
def test_a_download_that_keeps_failing_is_an_error(
    server, tmp_path, monkeypatch, way, problem, n_requests
):
    server.failures = {SECOND: (way, 99)}
    if way == "slow":  # the others are not
        monkeypatch.setattr(_download, "_TIMEOUT", 0.3)
        monkeypatch.setattr(_download, "_SLOWEST", 1e9)
    message = f"Cannot download {server.url}datasets/.*/Zone%202.csv: .*{problem}.*home"
    with pytest.raises(OSError, match=message):
        download_files(KNOWN, tmp_path)
    assert server.requests[SECOND] == n_requests
    left = files_in(tmp_path)
    assert SECOND not in left
    assert left.items() <= FILES.items()

    server.failures.clear()
    download_files(KNOWN, tmp_path)
    assert files_in(tmp_path) == FILES


@pytest.mark.parametrize("is_known", [True, False])
def test_an_answer_without_end_is_not_read(server, tmp_path, monkeypatch, is_known):
    """Files of unknown size are bounded as well."""
    monkeypatch.setattr(_download, "_LARGEST", 1000)
    file_hash, size = KNOWN[FIRST]
    files = {FIRST: (file_hash, size if is_known else None)}
    download_files(files, tmp_path / "sound")
    assert files_in(tmp_path / "sound") == {FIRST: FILES[FIRST]}
    server.failures = {FIRST: ("no end", 99)}
    with pytest.raises(
        OSError, match=f"larger than {size if is_known else 1000} bytes"
    ):
        download_files(files, tmp_path / "other")


def test_no_connection_is_an_error_with_advice(monkeypatch, tmp_path):
    monkeypatch.setenv("no_proxy", "*")
    with Server() as server:
        url = server.url
    monkeypatch.setattr(_download, "BASE_URL", url)
    monkeypatch.setattr(_download, "_WAITS", (0,))
    with pytest.raises(OSError, match=f"Cannot download {url}.*Check the connection"):
        download_files(KNOWN, tmp_path)
    assert files_in(tmp_path) == {}


def test_a_full_disk_leaves_no_half_of_a_file(server, tmp_path, monkeypatch):
    def full(fd):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    message = r"Cannot write the download: No space left on device: '.*Zone \d.csv"
    with pytest.raises(OSError, match=message) as caught:
        download_files(KNOWN, tmp_path)
    assert caught.value.errno == errno.ENOSPC
    assert files_in(tmp_path) == {}


def test_no_folder_can_be_made(server, tmp_path):
    (tmp_path / "datasets").write_text("a file is in the way")
    with pytest.raises(OSError, match=r"Cannot write the download: .*Zone \d.csv"):
        download_files(KNOWN, tmp_path)


def test_progress_is_shown(server, tmp_path, capsys):
    download_files(KNOWN, tmp_path)
    assert capsys.readouterr().err.endswith("Downloading: 3 of 3 files\n")


def test_fetches_a_data_set(server, tmp_path, monkeypatch):
    monkeypatch.setitem(_download.AUTHORS_FILES, "tetouan_power", KNOWN)
    for _ in range(2):
        dataset = fetch_paper_dataset("tetouan_power", data_home=tmp_path)
        assert_array_equal(dataset.data, [[1, 2, 3, 4, 5, k] for k in (1, 2, 3)])
        assert_array_equal(dataset.target, ["Zone 1", "Zone 2", "Zone 3"])
        assert dataset.status == "complete"
    assert server.requests.total() == 3
