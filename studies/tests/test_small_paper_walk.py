"""The walk from our F1 to the paper's."""

import joblib
import numpy as np
import pytest
from sklearn.metrics import f1_score

from studies.small.paper_walk import (
    COMPLETE,
    SYNTHETIC,
    WITH_GAPS,
    Job,
    batch_f1,
    level,
    load,
    make_jobs,
    make_parts,
    train,
)
from studies.tests.rules_records import DATA


def test_f1_of_batches_is_the_mean_of_micro_averages_of_rounded_probabilities():
    rng = np.random.default_rng(0)
    y, y_proba = rng.integers(3, size=75), rng.dirichlet(np.full(3, 0.5), size=75)
    one_hot, rounded = np.eye(3)[y], y_proba.round()
    own = [
        f1_score(one_hot[k : k + 32], rounded[k : k + 32], average="micro")
        for k in (0, 32, 64)
    ]
    assert batch_f1(y, y_proba, np.arange(3)) == pytest.approx(np.mean(own))


def test_only_sets_with_missing_values_need_means_of_all_rows():
    jobs = make_jobs()
    assert {job.dataset for job in jobs if job.means == "all"} == set(WITH_GAPS)
    assert len(jobs) == 2 * len(COMPLETE) + 2 * len(WITH_GAPS)


@pytest.mark.skipif(not DATA.exists(), reason="no data sets here")
@pytest.mark.parametrize("name", ["ble_rssi", "driver_identification"])
def test_the_sets_with_missing_values_are_named(name):
    assert np.isnan(load(name, DATA).X).any() == (name in WITH_GAPS)


def make_record(dataset, network, means, value):
    scores = {"log_loss": [[2, 1, 3]] * 2}
    scores["f1"] = [[0, value, value + 0.1]] * 2
    scores["batch_f1"] = [[0, value + 0.2, value + 0.3]] * 2
    job = {"dataset": dataset, "network": network, "means": means, "max_iter": 3}
    return {"job": job} | scores


def test_the_table_walks_from_our_f1_to_the_papers():
    records = [
        make_record("ble_rssi", "new", "training", 0.2),
        make_record("ble_rssi", "carried on", "training", 0.5),
        make_record("driver_identification", "new", "training", 0.2),
    ]
    step = ("new", "training", "last", "f1")
    assert level(records, "ble_rssi", step) == pytest.approx(30)
    *_, alone = parts = make_parts(records)  # the other set is not complete
    assert parts[2].rows[0][:6] == ["ble rssi", "20.0", "30.0", "60.0", "60.0", "80.0"]
    assert alone.rows[0] == ["ble rssi", "+10.0", "+30.0", "+0.0", "+20.0", "+60.0"]


@pytest.fixture
def jobs(monkeypatch, tmp_path):
    pytest.importorskip("torch")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    names = ("new", "carried on")
    return {name: Job(SYNTHETIC, name, "training", 1) for name in names}


def test_a_carried_network_differs_from_the_second_fold_on(jobs):
    new, carried = (train(job)["log_loss"] for job in jobs.values())
    assert new[0] == carried[0]
    assert all(a != b for a, b in zip(new[1:], carried[1:], strict=True))


def test_a_killed_run_resumes_after_the_last_finished_fold(jobs, monkeypatch):
    job, whole = jobs["carried on"], train(jobs["carried on"])
    real = joblib.dump

    def dump_once(*args):
        monkeypatch.setattr(joblib, "dump", lambda *_: pytest.fail("killed"))
        return real(*args)

    monkeypatch.setattr(joblib, "dump", dump_once)
    with pytest.raises((pytest.fail.Exception, FileNotFoundError)):
        train(job)
    monkeypatch.setattr(joblib, "dump", real)
    assert train(job)["f1"] == whole["f1"]
