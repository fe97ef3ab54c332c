"""The trainings of the comparison of rules."""

import numpy as np
import pytest

from sklearn_superior.model_selection import compare_stopping_rules
from studies.paper.protocol import Job
from studies.rules import PLAN
from studies.rules.evidence import as_trajectory
from studies.rules.trainings import (
    FIELDS,
    average_down,
    load,
    make_estimator,
    train,
)
from studies.tests.rules_records import DATA


@pytest.mark.parametrize("estimator", ["mlp", "sgd", "hgb", "cnn_relu"])
def test_a_record_gives_the_scores_of_all_rules(estimator):
    if estimator == "cnn_relu":
        pytest.importorskip("torch")
    job = Job("synthetic", estimator, "log_loss", 4, 3, 0)
    trajectory = as_trajectory(train(PLAN, job), PLAN["smoothing"])
    task = load(PLAN, "synthetic")
    rules = [r for r in PLAN["rules"] if r != "last" and "smoothed" not in r]
    comparison = compare_stopping_rules(
        make_estimator(job),
        task.X,
        task.y,
        cv=[task.folds[3]],
        rules=rules,
        scoring=PLAN["judges"],
        random_state=job.seed,
    )
    (expected,) = comparison.trajectories
    for rule in rules:
        np.testing.assert_allclose(
            trajectory.validation[rule], expected.validation[rule], rtol=1e-4
        )
    for judge in PLAN["judges"][1:]:
        np.testing.assert_allclose(
            trajectory.test[judge], expected.test[judge], rtol=1e-4
        )
    np.testing.assert_allclose(trajectory.temperature, expected.temperature, rtol=1e-4)
    assert trajectory.seed == expected.seed


def test_windows_are_averaged_down():
    X = np.arange(2 * 1 * 96.0).reshape(2, 1, 96)
    small = average_down(X, 32)
    assert small.shape == (2, 1, 32)
    assert small[0, 0, 0] == X[0, 0, :3].mean()
    X[0, 0, :2] = np.nan
    assert average_down(X, 32)[0, 0, 0] == X[0, 0, 2]
    assert average_down(X[..., :20], 32).shape == (2, 1, 20)


def test_parts_of_a_task():
    task = load(PLAN, "synthetic")
    for parts in task.folds:
        assert not set.intersection(*map(set, parts))
        assert max(map(len, parts)) <= PLAN["data"]["signals"]["most_rows"]
        for rows in parts:
            assert (np.diff(rows) > 0).all()


@pytest.mark.skipif(not DATA.exists(), reason="the data is not here")
@pytest.mark.parametrize("name", ["soybean", "vowel", "glass"])
def test_tables_are_tested_once_in_each_partition(name):
    task = load(PLAN, name, DATA)
    assert len(task.folds) == 10
    for parts in task.folds:
        assert sorted(np.concatenate(parts)) == list(range(len(task.y)))
        assert set(task.y[parts[0]]) == set(task.y)
    for start in (0, 5):  # every row is tested once in each partition
        tested = np.concatenate([test for _, _, test in task.folds[start : start + 5]])
        assert sorted(tested) == list(range(len(task.y)))


def test_a_record_has_its_fields():
    record = train(PLAN, Job("synthetic", "sgd", "log_loss", 2, 0, 0))
    assert set(FIELDS) <= set(record)
