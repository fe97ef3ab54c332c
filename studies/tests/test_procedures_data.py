"""The data of the study of procedures."""

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from studies._sets import Task, thin_out
from studies.procedures import PLAN
from studies.procedures.data import COPIES, load, share_of_copies
from studies.tests.rules_records import DATA

needs_data = pytest.mark.skipif(
    not (DATA / "study2").exists(), reason="needs the data of the study"
)


@needs_data
@pytest.mark.parametrize("name", ["yeast", "bird_strikes"])
def test_folds_of_a_table(name):
    task = load(PLAN, name, DATA)
    assert len(task.folds) == 5
    assert task.groups is None
    (train, test), (other, _) = task.folds[:2]
    assert len(train) == min(PLAN["most_rows"], len(train))
    assert not np.intersect1d(train, test).size
    assert np.any(np.diff(train) < 0)  # not in the order of the file
    assert set(task.y[test]) <= set(task.y[train])
    assert len(task.categories) == (0 if name == "yeast" else 7)
    assert not np.array_equal(train, other)


def test_no_class_gets_lost():
    y = np.repeat([0, 1, 2], [1000, 5, 20])
    rng = np.random.RandomState(0)
    (train, _), *_ = StratifiedKFold(5).split(y, y)
    rows = thin_out(train, y, 100, rng)
    assert len(rows) == 100
    assert np.bincount(y[rows]).tolist()[1] == 4
    assert np.bincount(y[rows])[2] >= 6
    assert np.array_equal(thin_out(train, y, 2000, rng), train)


def test_copies_of_training_rows_are_counted():
    X = np.array([[1.0, np.nan], [2, 3], [1, np.nan], [4, 5], [2, 3], [6, 7]])
    folds = [(np.array([0, 1, 3]), np.array([2, 4, 5, 5]))]
    assert share_of_copies(Task(X, np.zeros(6), None, [], folds)) == 50


@needs_data
@pytest.mark.parametrize("name", [*COPIES, "wifi_room"])
def test_data_sets_with_copies(name):
    share = share_of_copies(load(PLAN, name, DATA))
    assert share == pytest.approx(COPIES.get(name, 0.0), abs=0.05)


@pytest.mark.parametrize("home", [None, "nowhere"])
def test_missing_data_are_named(home, monkeypatch):
    monkeypatch.delenv("SKLEARN_SUPERIOR_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match="study2"):
        load(PLAN, "yeast", home)
