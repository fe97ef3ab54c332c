"""The runs: kills, two at once, damage, the command line."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

pytest.importorskip("torch")

from sklearn_superior.replication import _run as running
from sklearn_superior.replication.__main__ import PLANS, main
from sklearn_superior.replication._protocol import (
    ChannelImputer,
    Job,
    load_windows,
    make_jobs,
    train,
)
from sklearn_superior.replication._store import RecordStore

PAPER = PLANS["paper"]
TINY = "run --datasets synthetic --estimators cnn hgb --epochs 2 --folds 2".split()


def command(folder):
    return [
        sys.executable,
        "-m",
        "sklearn_superior.replication",
        *TINY,
        "--folder",
        str(folder),
    ]


def contents(folder):
    """Records without what differs from run to run."""
    found = {}
    for path in sorted(folder.glob("*/*/*.json")):
        record = json.loads(path.read_text())
        found[path.relative_to(folder).as_posix()] = {
            key: value
            for key, value in record.items()
            if key not in ("seconds", "sha256")
        }
    return found


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished")
    assert main([*TINY, "--folder", str(folder)]) == 0
    return folder


def test_records_hold_what_is_needed(finished):
    records = contents(finished)
    assert len(records) == 2 * 3
    record = records["synthetic/cnn-brier-2/fold00-repeat0.json"]
    assert record["job"]["loss"] == "brier"
    assert set(record["versions"]) >= {"python", "numpy", "scikit-learn", "torch"}
    assert set(record["n_rows"]) == {"train", "validation", "test"}
    for part in ("validation", "test"):
        assert {len(scores) for scores in record[part].values()} == {2}
        assert "target" in record[part]
    # Both losses start from the same seed.
    assert (
        record["seed"]
        == records["synthetic/cnn-log_loss-2/fold00-repeat0.json"]["seed"]
    )


def test_killed_runs_go_on_to_the_same_records(finished, tmp_path):
    random.seed(1)
    n_killed = 0
    for _ in range(3):
        process = subprocess.Popen(
            command(tmp_path), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        before = len(contents(tmp_path))
        deadline = time.monotonic() + 60
        while len(contents(tmp_path)) == before and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(random.uniform(0, 0.5))
        os.kill(process.pid, signal.SIGKILL)
        n_killed += process.wait() == -signal.SIGKILL
    assert n_killed >= 2
    n_kept = len(contents(tmp_path))
    assert n_kept >= 2
    run = subprocess.run(command(tmp_path), capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert f"{n_kept} of 6 trainings are done already" in run.stdout
    assert contents(tmp_path) == contents(finished)
    assert not list(tmp_path.rglob("*.tmp"))


def test_two_runs_at_once(finished, tmp_path):
    runs = [
        subprocess.Popen(command(tmp_path), stdout=subprocess.DEVNULL) for _ in range(2)
    ]
    assert [run.wait(timeout=120) for run in runs] == [0, 0]
    assert contents(tmp_path) == contents(finished)


@pytest.mark.parametrize("damage", ["cut", "changed", "empty", "no json"])
def test_a_damaged_record_is_named_and_done_again(finished, tmp_path, capsys, damage):
    job = Job("synthetic", "hgb", "log_loss", 2, 0, 0)
    store = RecordStore(tmp_path)
    good = (finished / f"{job.name}.json").read_text()
    path = store.path(job)
    path.parent.mkdir(parents=True)
    path.write_text(
        {
            "cut": good[: len(good) // 2],
            "changed": good.replace("0.", "1.", 1),
            "empty": "",
            "no json": "[1, 2]",
        }[damage]
    )
    assert store.load_all() == ([], [path])
    assert running.run([job], tmp_path, **PAPER) == 0
    out = capsys.readouterr().out
    assert f"{path} is damaged" in out
    assert "done again" in out
    name = f"{job.name}.json"
    assert contents(tmp_path)[name] == contents(finished)[name]


def test_nothing_is_done_twice(finished, monkeypatch, capsys):
    monkeypatch.setitem(PAPER, "train", None)  # would fail
    assert main([*TINY, "--folder", str(finished)]) == 0
    assert "6 of 6 trainings are done already" in capsys.readouterr().out


def test_a_failure_is_told_and_the_others_go_on(tmp_path, monkeypatch, capsys):
    def fail_once(job, *args):
        if job.fold == 0:
            raise RuntimeError("no luck")
        return train(job, *args)

    monkeypatch.setitem(PAPER, "train", fail_once)
    args = "run --datasets synthetic --estimators hgb --epochs 2 --folds 2".split()
    assert main([*args, "--folder", str(tmp_path)]) == 1
    out, err = capsys.readouterr()
    assert "no luck" in out
    assert "1 trainings failed" in err
    assert len(contents(tmp_path)) == 1


def test_windows_stay_inside_blocks_and_parts_do_not_touch():
    data = load_windows("synthetic")
    n_blocks, length, step = 10, 50, 13
    assert len(data.folds) == n_blocks
    # A block of 150 rows holds so many windows of 50.
    assert len(data.X) == 5 * n_blocks * ((150 - length) // step + 1)
    for train_rows, val, test in data.folds:
        assert len(train_rows) + len(val) + len(test) == len(data.X)
        assert not set(train_rows) & set(val)
        assert not set(val) & set(test)
        assert len(val) == 2 * len(data.X) // 10
        assert len(test) == 3 * len(data.X) // 10


def test_missing_values_are_filled_by_training_means():
    X = np.arange(12.0).reshape(2, 2, 3)
    X[0, 0, 0] = np.nan
    imputer = ChannelImputer().fit(X)
    np.testing.assert_allclose(imputer.means_, [np.nanmean(X[:, 0]), X[:, 1].mean()])
    assert imputer.transform(X)[0, 0, 0] == np.nanmean(X[:, 0])
    np.testing.assert_array_equal(imputer.transform(X)[1], X[1])
    empty = np.full((2, 1, 3), np.nan)
    assert (ChannelImputer().fit(empty).transform(empty) == 0).all()


def test_folds_are_spread_evenly():
    jobs = make_jobs(
        ["driver_identification"], ["hgb"], max_iter=5, n_folds=5, n_repeats=2
    )
    assert [job.fold for job in jobs] == [0, 3, 6, 9, 12] * 2
    assert len({job.name for job in jobs}) == 10
    assert len({job.seed for job in jobs}) == 10


def test_a_data_set_that_is_missing_is_left_out(tmp_path, capsys, monkeypatch):
    def fail(*args, **kwargs):
        raise OSError("offline")

    monkeypatch.setattr(
        "sklearn_superior.replication._protocol.fetch_paper_dataset", fail
    )
    args = "run --datasets ble_rssi synthetic --estimators hgb --epochs 2 --folds 1"
    assert main([*args.split(), "--folder", str(tmp_path)]) == 1
    assert "ble_rssi is left out: offline" in capsys.readouterr().out
    assert len(contents(tmp_path)) == 1


def test_a_folder_that_is_a_file(tmp_path, capsys):
    file = tmp_path / "file"
    file.touch()
    assert main(["run", "--quick", "--folder", str(file)]) == 2
    assert str(file) in capsys.readouterr().err


def test_command_line(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["list"]) == 0
    out = capsys.readouterr().out
    assert "walking_user_identification" in out
    assert "9/2/4" in out
    for args in (
        ["run", "--datasets", "nothing"],
        ["run", "--epochs", "0"],
        ["run", "--estimators", "svm"],
        [],
    ):
        with pytest.raises(SystemExit) as exit_info:
            main(args)
        assert exit_info.value.code == 2
    assert main(["run", "--quick", "--device", "cuda:77"]) == 2
    assert "'device' parameter" in capsys.readouterr().err
    assert main(["run", "--estimators", "hgb", "--losses", "brier"]) == 2
    assert "no such training" in capsys.readouterr().err
