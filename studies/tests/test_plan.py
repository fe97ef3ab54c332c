"""The plan of a study: what is planned, and what a plan must have."""

import pickle

import pytest

from sklearn_superior.datasets import list_paper_datasets
from studies._plan import Plan
from studies._tables import TABLES
from studies.rules import PLAN
from studies.rules.evidence import SHORT, TARGET
from studies.rules.trainings import NAMES


def test_all_trainings_of_the_plan_are_listed_round_by_round():
    jobs = PLAN.make_jobs()
    assert len({job.name for job in jobs}) == len(jobs) == 1515
    rounds = [job.fold // 5 if job.dataset in TABLES else job.repeat for job in jobs]
    assert rounds == sorted(rounds)


def test_the_plan_names_only_what_there_is():
    assert {*PLAN["rules"], "accuracy_then_brier"} == set(SHORT)
    assert {name for pair in PLAN["contrasts"] for name in pair} <= set(SHORT)
    assert PLAN["judges"][0] == TARGET
    known = {d.name for d in list_paper_datasets()}
    assert set(PLAN["data"]["signals"]["sets"]) < known
    assert set(PLAN["data"]["tables"]["sets"]) == set(TABLES)
    assert set(PLAN.estimators) == set(NAMES)


def test_arguments_cut_the_plan_down():
    options = {"max_iter": 3, "n_folds": 2, "n_repeats": 1}
    jobs = PLAN.make_jobs(["synthetic", "glass"], ["mlp", "sgd"], **options)
    assert {(job.dataset, job.max_iter) for job in jobs} == {
        ("synthetic", 3),
        ("glass", 3),
    }
    assert len(jobs) == 2 * 2 * 2
    assert {job.fold for job in jobs if job.dataset == "synthetic"} == {0, 5}


def test_data_that_are_not_planned_count_as_signals():
    assert PLAN.kind_of("glass") == "tables"
    assert PLAN.kind_of("ble_rssi") == PLAN.kind_of("synthetic") == "signals"


@pytest.mark.parametrize(
    ("datasets", "estimators", "message"),
    [
        (["glass", "wisdm_phone_accel"], None, "--datasets.*vowel.*Got wisdm"),
        (None, ["svm"], "--estimators.*xgboost.*Got svm"),
    ],
)
def test_names_that_are_not_in_the_plan_are_refused(datasets, estimators, message):
    with pytest.raises(ValueError, match=message):
        PLAN.make_jobs(datasets, estimators)


@pytest.mark.parametrize(
    ("text", "message"),
    [("title = 1", "It lacks .*questions"), ("title =", "must be a TOML file")],
)
def test_a_plan_that_is_not_complete_is_refused(tmp_path, text, message):
    path = tmp_path / "plan.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        Plan.read(path)


def test_plans_travel_to_workers_and_are_equal_if_their_text_is():
    PLAN["title"]  # read
    copy = pickle.loads(pickle.dumps(PLAN))
    assert copy == PLAN
    assert hash(copy) == hash(PLAN)
