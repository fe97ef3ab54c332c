"""The data of the study of procedures: only tables that were seen before are read."""

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from studies.procedures import PLAN
from studies.procedures.data import _thinned, load
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
    rows = _thinned(train, y, 100, rng)
    assert len(rows) == 100
    assert np.bincount(y[rows]).tolist()[1] == 4
    assert np.bincount(y[rows])[2] >= 6
    assert np.array_equal(_thinned(train, y, 2000, rng), train)


@pytest.mark.parametrize("home", [None, "nowhere"])
def test_missing_data_are_named(home, monkeypatch):
    monkeypatch.delenv("SKLEARN_SUPERIOR_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match="study2"):
        load(PLAN, "yeast", home)
