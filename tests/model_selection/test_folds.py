"""Folds by the numbers of their rows."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.model_selection import KFold, StratifiedGroupKFold, StratifiedKFold

from sklearn_superior.model_selection._folds import (
    as_numbers,
    check_folds,
    find_splitter,
)

PARTS = ("training", "test")


def test_masks_and_negative_numbers_become_numbers():
    mask = np.array([True, False, True, False])
    ((train, test),) = check_folds([(mask, ~mask)], 4, PARTS)
    assert_array_equal(train, [0, 2])
    assert_array_equal(test, [1, 3])
    assert_array_equal(as_numbers([-1, 0], 4, "a part"), [3, 0])
    assert len(as_numbers([], 4, "a part")) == 0


@pytest.mark.parametrize(
    ("folds", "message"),
    [
        ([], "at least one fold. Got none"),
        ([([0, 1], [])], "must give a test part in every fold. Got none in fold 0"),
        ([([0], [1]), ([], [1])], "must give a training part.*none in fold 1"),
        ([([0, 1], [1, -4])], "the training and the test part share 2 rows"),
        (
            [([0, 1], [2, 4])],
            "'cv' .* from -4 to 3, .* Got 4 in the test part of f",
        ),
        ([([0], [1]), ([-5], [1])], "Got -5 in the training part of fold 1"),
        ([([True, False], [2, 3])], "Got a mask of 2 in the training part"),
        ([([0.0, 1.0], [2, 3])], "Got values of the dtype float64 in the training"),
        ([([[0, 1]], [2, 3])], r"Got an array of the shape \(1, 2\) in the training"),
        ([(["a"], [2, 3])], "Got values of the dtype <U1 in the training part of f"),
    ],
)
def test_folds_that_are_refused(folds, message):
    with pytest.raises(ValueError, match=message):
        check_folds(folds, 4, PARTS)


def test_groups_choose_a_splitter_that_keeps_them_together():
    y = np.arange(10) % 2
    assert isinstance(find_splitter(None, y, None), StratifiedKFold)
    groups = np.arange(10) // 2
    assert isinstance(find_splitter(None, y, groups), StratifiedGroupKFold)
    assert find_splitter(3, y, groups).get_n_splits() == 3
    own = KFold(4)
    assert find_splitter(own, y, groups) is own


@pytest.mark.parametrize(
    ("cv", "got"), [(None, "Got None, which means 5 folds"), (4, "Got 4")]
)
def test_more_folds_than_groups(cv, got):
    y = np.arange(12) % 2
    with pytest.raises(ValueError, match=f"'cv' .* there are 3 groups. {got}"):
        find_splitter(cv, y, np.arange(12) % 3)
