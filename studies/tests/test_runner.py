"""The runs: kills, two at once, damage, failures."""

import gzip
import os
import random
import re
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from threading import Thread

import numpy as np
import pytest

from studies import paper
from studies.__main__ import main
from studies._runner import run
from studies._store import RecordStore
from studies.paper import protocol
from studies.paper.protocol import FIELDS, Job, train
from studies.tests.paper_records import contents
from studies.tests.rules_records import ROOT

TINY = "paper run --datasets synthetic --estimators hgb --epochs 2 --folds 6".split()
JOB = Job("synthetic", "hgb", "log_loss", 2, 0, 0)


def command(folder):
    return [sys.executable, "-m", "studies", *TINY, "--folder", str(folder)]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished")
    assert main([*TINY, "--folder", str(folder)]) == 0
    return folder


def test_networks_of_both_losses_start_from_the_same_seed(tmp_path):
    pytest.importorskip("torch")
    args = "paper run --datasets synthetic --epochs 1 --folds 1".split()
    assert main([*args, "--folder", str(tmp_path)]) == 0
    brier, log_loss = contents(tmp_path).values()
    assert (brier["job"]["loss"], log_loss["job"]["loss"]) == ("brier", "log_loss")
    assert brier["seed"] == log_loss["seed"]


def test_killed_runs_resume_to_the_same_records(finished, tmp_path):
    random.seed(1)
    n_killed = 0
    for _ in range(3):
        process = subprocess.Popen(
            command(tmp_path),
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        before = len(contents(tmp_path))
        deadline = time.monotonic() + 60
        while len(contents(tmp_path)) == before and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(random.uniform(0, 0.05))
        os.kill(process.pid, signal.SIGKILL)
        n_killed += process.wait() == -signal.SIGKILL
    assert n_killed >= 2
    n_kept = len(contents(tmp_path))
    assert n_kept >= 2
    finish = subprocess.run(command(tmp_path), cwd=ROOT, capture_output=True, text=True)
    assert finish.returncode == 0, finish.stderr
    assert f"{n_kept} of 6 trainings are done already" in finish.stdout
    assert contents(tmp_path) == contents(finished)
    # A killed run may leave a temporary file, and the lock of a finished training.
    names = [path.name for path in tmp_path.iterdir() if path.name[0] != "."]
    assert names == ["synthetic.jsonl.gz"]


def test_two_runs_at_once_train_each_job_once(finished, tmp_path):
    runs = [
        subprocess.Popen(command(tmp_path), cwd=ROOT, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    outputs = [process.communicate(timeout=120)[0] for process in runs]
    assert [process.returncode for process in runs] == [0, 0]
    trained = re.findall(r"\] (\S+): [\d.]+ s", "".join(outputs))
    assert sorted(trained) == sorted(contents(finished))
    assert contents(tmp_path) == contents(finished)
    assert [path.name for path in tmp_path.iterdir()] == ["synthetic.jsonl.gz"]


HOLD = """
import sys, time
from studies.paper.protocol import Job
from studies._store import RecordStore
with RecordStore(sys.argv[1]).claim(Job("synthetic", "hgb", "log_loss", 2, 0, 0)):
    print("claimed", flush=True)
    time.sleep(60)
"""


def test_a_run_waits_for_another_and_takes_over_when_that_is_killed(tmp_path, capsys):
    args = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(args, cwd=ROOT, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "claimed\n"
        thread = Thread(target=lambda: (time.sleep(2), other.kill()))
        thread.start()
        assert run(paper, [JOB], RecordStore(tmp_path, FIELDS)) == 0
        thread.join()
    out = capsys.readouterr().out
    assert "1 trainings are being done by another run" in out
    assert f"[1/1] {JOB.name}" in out
    assert len(contents(tmp_path)) == 1


def test_a_run_does_not_do_what_another_has_finished_meanwhile(
    tmp_path, capsys, monkeypatch
):
    store = RecordStore(tmp_path, FIELDS)
    record = train(JOB)
    monkeypatch.setattr(paper, "train", None)  # would fail

    def finish_elsewhere():
        time.sleep(1)
        store.add(record)

    with store.claim(JOB):
        thread = Thread(target=finish_elsewhere)
        thread.start()
        assert run(paper, [JOB], store) == 0
        thread.join()
    assert "by another run" in capsys.readouterr().out


def test_what_is_lost_of_a_damaged_file_is_done_again(finished, tmp_path, capsys):
    path = tmp_path / "synthetic.jsonl.gz"
    path.write_bytes((finished / path.name).read_bytes()[:-1000])
    assert main([*TINY, "--folder", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert f"{path} is damaged" in out
    assert "done again" in out
    assert contents(tmp_path) == contents(finished)


def test_nothing_is_done_twice(finished, monkeypatch, capsys):
    monkeypatch.setattr(paper, "train", None)  # would fail
    assert main([*TINY, "--folder", str(finished)]) == 0
    assert "6 of 6 trainings are done already" in capsys.readouterr().out


def test_a_failure_is_reported_and_the_others_are_done(tmp_path, monkeypatch, capsys):
    def fail_once(job, *args):
        if job.fold == 0:
            raise RuntimeError("no luck")
        return train(job, *args)

    monkeypatch.setattr(paper, "train", fail_once)
    assert main([*TINY, "--folder", str(tmp_path)]) == 1
    out, err = capsys.readouterr()
    assert "no luck" in out
    assert "1 trainings failed" in err
    assert len(contents(tmp_path)) == 5


def test_a_data_set_that_is_missing_is_left_out(tmp_path, capsys, monkeypatch):
    def fail(*args, **kwargs):
        raise OSError("offline")

    monkeypatch.setattr(protocol, "fetch_paper_dataset", fail)
    args = (
        "paper run --datasets ble_rssi synthetic --estimators hgb --epochs 2 --folds 1"
    )
    assert main([*args.split(), "--folder", str(tmp_path)]) == 1
    assert "ble_rssi is left out: offline" in capsys.readouterr().out
    assert len(contents(tmp_path)) == 1


def write_recordings(folder, shift):
    """Write a small data set of the paper."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    rows = [
        f"{label},{label},{rssi},{rssi}"
        for label in "abc"
        for rssi in (rng.normal(size=1000) + shift).round(3)
    ]
    text = "\n".join(["series,label,rssiOne,rssiTwo", *rows])
    (folder / "ble_rssi.csv.gz").write_bytes(gzip.compress(text.encode()))
    return ["--data-home", str(folder)]


def test_runs_with_other_data_are_never_in_one_table(tmp_path, capsys):
    args = "paper run --datasets ble_rssi --estimators hgb --epochs 2".split()
    args += ["--folder", str(tmp_path / "records")]
    here = write_recordings(tmp_path / "here", shift=0)
    there = write_recordings(tmp_path / "there", shift=1)
    assert main([*args, *here, "--folds", "1"]) == 0
    before = contents(tmp_path / "records")
    for n_folds in ("1", "2"):  # all of them done, and one more
        capsys.readouterr()
        assert main([*args, *there, "--folds", n_folds]) == 1
        out = capsys.readouterr().out
        assert "ble_rssi is left out" in out
        assert "must have records of the same data" in out
        assert contents(tmp_path / "records") == before
    assert main([*args, *here, "--folds", "2"]) == 0
    assert len(contents(tmp_path / "records")) == 2


def test_what_is_done_needs_no_data(tmp_path):
    args = "paper run --datasets ble_rssi --estimators hgb --epochs 2 --folds 1".split()
    args += ["--folder", str(tmp_path / "records")]
    args += write_recordings(tmp_path / "data", shift=0)
    assert main(args) == 0
    (tmp_path / "data" / "ble_rssi.csv.gz").write_bytes(b"")
    protocol.load_windows.cache_clear()
    assert main(args) == 0


def test_several_trainings_at_once_give_the_same_records(finished, tmp_path):
    assert main([*TINY, "--jobs", "2", "--folder", str(tmp_path)]) == 0
    assert contents(tmp_path) == contents(finished)


def test_the_record_is_that_of_its_job(finished):
    for name, record in contents(finished).items():
        job = Job(**record["job"])
        assert (job.name, asdict(job)) == (name, record["job"])
