"""Records on disk: damage, other studies, several processes."""

import gzip
import json
import subprocess
import sys
import time
from threading import Thread

import numpy as np
import pytest

from studies._store import DIGEST, RecordStore, digest_data, lock, pack, unpack
from studies.paper.protocol import Job, Part
from studies.tests.paper_records import make_record
from studies.tests.rules_records import ROOT

RECORDS = [make_record("ble_rssi", "brier", fold, 0.1) for fold in range(5)]


def job_of(record):
    return Job(**record["job"])


def test_a_record_is_found_again(tmp_path):
    store = RecordStore(tmp_path / "new")
    assert not store.is_done(job_of(RECORDS[0]))
    store.add(RECORDS[0])
    assert store.is_done(job_of(RECORDS[0]))
    assert not store.is_done(job_of(RECORDS[1]))
    assert store.load_all() == ([RECORDS[0]], [])


def test_there_is_one_compressed_file_of_lines_for_each_data_set(tmp_path):
    store = RecordStore(tmp_path)
    for record in [*RECORDS, make_record("tetouan_power", "brier", 0, 0.1)]:
        store.add(record)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["ble_rssi.jsonl.gz", "tetouan_power.jsonl.gz"]
    lines = gzip.decompress(store.path("ble_rssi").read_bytes()).splitlines()
    found = [json.loads(line) for line in lines]
    assert all(len(record.pop("sha256")) == 64 for record in found)
    assert found == RECORDS


def test_the_order_of_adding_does_not_matter(tmp_path):
    contents = []
    for name, records in (("a", RECORDS), ("b", RECORDS[::-1])):
        store = RecordStore(tmp_path / name)
        for record in records:
            store.add(record)
        contents.append(store.path("ble_rssi").read_bytes())
    assert contents[0] == contents[1]


def test_a_job_has_one_record(tmp_path):
    store = RecordStore(tmp_path)
    store.add(RECORDS[0])
    store.add(RECORDS[0] | {"seed": 7})
    ((record,), _) = store.load_all()
    assert record["seed"] == 7


def change_a_line(data):
    text = gzip.decompress(data).decode().replace('"seed": 1', '"seed": 2', 1)
    return gzip.compress(text.encode())


@pytest.mark.parametrize(
    ("damage", "n_sound"),
    [
        (lambda data: data[:-9], 5),
        (lambda data: gzip.compress(gzip.decompress(data)[:-99]), 4),
        (change_a_line, 4),
        (lambda data: b"", 0),
        (lambda data: b"{}", 0),
        (lambda data: gzip.compress(b"[1, 2]\n"), 0),
    ],
    ids=["no end", "cut line", "changed", "empty", "no gzip", "no record"],
)
def test_sound_records_of_a_damaged_file_are_kept(tmp_path, damage, n_sound):
    store = RecordStore(tmp_path)
    path = store.path("ble_rssi")
    path.write_bytes(damage(pack(RECORDS)))
    records, damaged = store.load_all()
    assert len(records) == n_sound
    assert all(record in RECORDS for record in records)
    assert damaged == [path]
    assert f"{path} is damaged" in store.load("ble_rssi")[1]
    for record in RECORDS:
        store.add(record)
    assert store.load_all() == (RECORDS, [])


def test_what_is_before_a_damaged_place_can_be_read():
    records = [make_record("ble_rssi", "brier", k, k / 7) for k in range(2000)]
    data = bytearray(pack(records))
    data[len(data) // 2] ^= 255
    sound, problem = unpack(bytes(data))
    assert problem
    assert 500 < len(sound) < 1500
    assert sound == records[: len(sound)]


def test_records_of_another_study_are_refused(tmp_path):
    RecordStore(tmp_path).add(RECORDS[0])
    with pytest.raises(ValueError, match="of another study: they lack temperature"):
        RecordStore(tmp_path, ["job", "temperature"]).is_done(job_of(RECORDS[0]))


def test_records_of_other_data_are_refused(tmp_path):
    store = RecordStore(tmp_path)
    first, second, third = (
        r | {DIGEST: d} for r, d in zip(RECORDS, "aab", strict=False)
    )
    store.add(first)
    store.add(second)
    with pytest.raises(ValueError, match=r"must have records of the same .* a and b"):
        store.add(third)
    with pytest.raises(ValueError, match="a and unknown"):
        store.add(RECORDS[2])
    assert store.load_all() == ([first, second], [])
    store.path("ble_rssi").write_bytes(pack([first, second, third]))
    with pytest.raises(ValueError, match=r"ble_rssi.jsonl.gz must have records of the"):
        store.load_all()


def test_a_digest_depends_on_every_value_and_its_place():
    X, y = np.arange(6.0).reshape(3, 2), np.array(["a", "b", "a"])
    different = [
        Part(X, y, [(np.array([0]), np.array([1, 2]))], "complete"),
        Part(X, y, [(np.array([0, 1]), np.array([2]))], "complete"),
        Part(X, y, [(np.array([0]), np.array([1, 2]))], "incomplete"),
        Part(X.T, y, [(np.array([0]), np.array([1, 2]))], "complete"),
        Part(X.reshape(2, 3), y, [(np.array([0]), np.array([1, 2]))], "complete"),
        Part(X.astype(int), y, [(np.array([0]), np.array([1, 2]))], "complete"),
        Part(X, y.astype(object), [(np.array([0]), np.array([1, 2]))], "complete"),
        (X, y),
        (y, X),
        (X, y, None),
        (X, [y]),
    ]
    assert len({digest_data(data) for data in different}) == len(different)
    assert digest_data((X, y)) == digest_data((np.asfortranarray(X), y.copy()))
    # The same with any version of NumPy.
    assert digest_data((X, y)).startswith("20c0e9d7294aee70")


def test_only_one_holds_a_claim(tmp_path):
    store, job = RecordStore(tmp_path), job_of(RECORDS[0])
    with store.claim(job) as first, store.claim(job) as second:
        assert (first, second) == (True, False)
        with store.claim(job_of(RECORDS[1])) as other:
            assert other
    assert not list(tmp_path.iterdir())
    with store.claim(job) as again:
        assert again


def test_threads_take_turns(tmp_path):
    """Each adds one to a number in a file; without a lock some would be lost."""
    number = tmp_path / "number"
    number.write_text("0")

    def add():
        for _ in range(20):
            with lock(tmp_path / "lock"):
                before = int(number.read_text())
                time.sleep(0.0005)
                number.write_text(str(before + 1))

    threads = [Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert number.read_text() == "80"


def start(code, *args):
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, args)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )


ADD = """
import sys
from studies._store import RecordStore
store, first = RecordStore(sys.argv[1]), int(sys.argv[2])
for fold in range(first, 40, 2):
    store.add({"job": {"dataset": "x", "fold": fold}, "scores": list(range(50))})
"""


def test_two_processes_do_not_lose_records_of_each_other(tmp_path):
    processes = [start(ADD, tmp_path, first) for first in (0, 1)]
    for process in processes:
        process.communicate(timeout=60)
        assert process.returncode == 0
    records, damaged = RecordStore(tmp_path).load_all()
    assert [record["job"]["fold"] for record in records] == list(range(40))
    assert not damaged
    assert [path.name for path in tmp_path.iterdir()] == ["x.jsonl.gz"]


HOLD = """
import sys, time
from studies.paper.protocol import Job
from studies._store import RecordStore
with RecordStore(sys.argv[1]).claim(Job("ble_rssi", "cnn", "brier", 3, 0, 0)) as mine:
    print(mine, flush=True)
    time.sleep(60)
"""


def test_the_claim_of_a_killed_process_is_free(tmp_path):
    process = start(HOLD, tmp_path)
    assert process.stdout.readline() == "True\n"
    store, job = RecordStore(tmp_path), job_of(RECORDS[0])
    with store.claim(job) as mine:
        assert not mine
    process.kill()
    process.wait(timeout=10)
    process.stdout.close()
    with store.claim(job) as mine:
        assert mine
