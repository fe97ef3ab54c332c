"""Runs on a Dask cluster, some of whose workers are killed."""

import os
import signal
import time
from threading import Thread

import pytest

from studies.__main__ import main
from studies.tests.paper_records import contents

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=3,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            memory_limit=0,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_a_cluster_that_is_not_there(client, tmp_path, capsys):
    options = ["paper", "run", "--quick", "--folder", str(tmp_path)]
    assert main([*options, "--dask", "nonsense"]) == 2
    assert "no workers at --dask nonsense" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([*options, "--dask", client.scheduler.address, "--jobs", "2"])
    assert "not allowed with argument --dask" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_run_survives_the_loss_of_a_worker(client, tmp_path):
    options = "paper run --datasets synthetic --estimators hgb --epochs 4"
    options = [*options.split(), "--repeats", "2"]
    main([*options, "--folder", str(tmp_path / "here")])
    pids = client.run(os.getpid)

    def kill():
        while not list(tmp_path.glob("there/*.jsonl.gz")):
            time.sleep(0.01)
        os.kill(min(pids.values()), signal.SIGKILL)

    thread = Thread(target=kill, daemon=True)
    thread.start()
    address = client.scheduler.address
    assert main([*options, "--folder", str(tmp_path / "there"), "--dask", address]) == 0
    thread.join(timeout=1)
    assert not thread.is_alive()
    assert contents(tmp_path / "there") == contents(tmp_path / "here")
