"""The data of the study of signals."""

import numpy as np
import pytest

from sklearn_superior.model_selection import HBlockSplit
from studies.signals import PLAN, load
from studies.signals.data import find_blocks, hold_out, thin
from studies.tests.rules_records import DATA

needs_data = pytest.mark.skipif(
    not (DATA / "study2").exists(), reason="needs the data of the study"
)


def test_blocks_are_found_by_their_roles():
    cv = HBlockSplit(10, n_validation_blocks=2, n_test_blocks=3)
    X = np.zeros((95, 2))
    folds = list(cv.split_with_validation(X))
    blocks = find_blocks(folds, len(X))
    expected = cv.block_ids(X)
    pairs = set(zip(blocks.tolist(), expected.tolist(), strict=True))
    assert len(pairs) == len(set(blocks)) == 10


def test_groups_are_held_out_as_a_whole():
    y, groups = np.arange(200) % 4, np.arange(200) // 20
    train, val = hold_out(y, groups, "any")
    assert not set(groups[train]) & set(groups[val])
    assert len(val) == 40
    train, val = hold_out(y, None, "any")
    assert np.bincount(y[val]).tolist() == [10] * 4


def test_thinned_rows_are_stratified_and_in_order():
    y = np.repeat([0, 1], [300, 100])
    rows = thin(np.arange(400), y, 40, np.random.RandomState(0))
    assert np.bincount(y[rows]).tolist() == [30, 10]
    assert (np.diff(rows) > 0).all()


@needs_data
@pytest.mark.parametrize("name", ["utd_mhad", "ering", "ble_rssi", "tetouan_power"])
def test_parts_of_a_set(name):
    parts = load(name, DATA)
    n_fit = len(parts.y["train"]) + len(parts.y["validation"])
    assert n_fit <= PLAN["most_rows"]
    assert len(parts.y["test"]) <= PLAN["most_test_rows"]
    for part, X in parts.X.items():
        assert np.isfinite(X).all()
        assert X.shape[2] <= PLAN["most_points"]
        assert set(parts.y[part]) <= set(parts.y["train"])
    assert set(parts.y["train"]) == set(range(parts.n_classes))
    assert (parts.groups is None) == (name == "ering")
    if parts.groups is not None:
        own = [set(groups) for groups in parts.groups.values()]
        assert not own[0] & own[1]
        assert not own[2] & (own[0] | own[1])
    X, y, _ = parts.fit_rows()
    assert len(X) == len(y) == n_fit
