"""The validation part."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.model_selection import GroupShuffleSplit, KFold, ShuffleSplit

from sklearn_superior.early_stopping._holdout import (
    split_validation,
    validation_rows,
)
from sklearn_superior.neural_network import CNNClassifier
from sklearn_superior.utils._checks import Rows
from tests.early_stopping.families import (
    FAMILIES,
    make_data,
    plain_stopping,
)


@pytest.mark.parametrize("name", ["y", "y_val"])
def test_bad_labels_name_the_parameter(name):
    X, y, X_val, y_val = make_data("five")
    data = {"X": X, "y": y, "X_val": X_val, "y_val": y_val}
    bad = data[name].astype(object)
    bad[3] = None
    for model in (plain_stopping(FAMILIES["SGD"]()), CNNClassifier()):
        with pytest.raises(ValueError, match=f"{name} must not contain missing values"):
            model.fit(**data | {name: bad})
    with pytest.raises(ValueError, match="labels to score must be of the type of"):
        plain_stopping(FAMILIES["SGD"]()).fit(**data | {"y_val": y_val == "red"})


@pytest.mark.parametrize("name", ["sample_weight", "sample_weight_val"])
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda w: -w, "must be non-negative, without NaN"),
        (lambda w: np.where(w > 0, np.nan, w), "without NaN"),
        (lambda w: 0 * w, "must not be zero for all samples"),
        (lambda w: w[:, None], "must be 1-dimensional"),
    ],
)
def test_weights_of_both_parts_are_checked_alike(name, spoil, message):
    X, y, X_val, y_val = make_data("five")
    data = {"X": X, "y": y, "X_val": X_val, "y_val": y_val}
    weights = {"sample_weight": np.ones(300), "sample_weight_val": np.ones(200)}
    weights[name] = spoil(weights[name])
    for model in (plain_stopping(FAMILIES["SGD"]()), CNNClassifier()):
        with pytest.raises(ValueError, match=f"^{name} {message}|^{name} .*{message}"):
            model.fit(**data, **weights)


@pytest.mark.parametrize("split", [KFold, ShuffleSplit, "first", 3])
def test_splitters_that_are_none(split):
    X, y, _, _ = make_data("five")
    message = "'validation_split' parameter must be a splitter, 'last' or None"
    if isinstance(split, type):
        message += rf".*Did you mean {split.__name__}\(\)\?"
    for model in (
        plain_stopping(FAMILIES["SGD"](), validation_split=split),
        CNNClassifier(validation_split=split),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(X, y)


class NoSplit:
    def split(self, X, y=None, groups=None):
        yield from ()


class NoValidation:
    def split(self, X, y=None, groups=None):
        yield np.arange(len(X)), np.arange(0)


@pytest.mark.parametrize("split", [NoSplit(), NoValidation()])
def test_splitters_without_a_validation_part(split):
    X, y, _, _ = make_data("five")
    model = plain_stopping(FAMILIES["SGD"](), validation_split=split)
    with pytest.raises(
        ValueError, match="'validation_split' parameter must give two parts"
    ):
        model.fit(X, y)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (np.zeros((300, 2)), r"groups must be 1-dimensional. Got shape \(300, 2\)"),
        (["a", None] * 150, "groups must not contain missing values. Got None"),
        (np.zeros(10), "inconsistent numbers of samples"),
    ],
)
def test_bad_groups(groups, message):
    X, y, _, _ = make_data("five")
    model = plain_stopping(FAMILIES["SGD"](), validation_split="last")
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, groups=groups)


def test_last_rows_of_each_group():
    groups = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    train, val = validation_rows(
        np.zeros((8, 1)), groups, groups, split="last", fraction=0.25, random_state=None
    )
    assert val.tolist() == [3, 7]
    assert train.tolist() == [0, 1, 2, 4, 5, 6]


def test_whole_groups_may_validate():
    X, y, _, _ = make_data("five")
    groups = np.arange(300) // 30
    splitter = GroupShuffleSplit(1, test_size=0.2, random_state=0)
    model = plain_stopping(FAMILIES["SGD"](), validation_split=splitter)
    X = np.c_[X, groups]
    split = split_validation(model, Rows(X, y), (None, None, None), groups)
    parts = [set(part.X[:, -1]) for part in (split.train, split.val)]
    assert not parts[0] & parts[1]
    assert len(parts[1]) == 2


def test_a_split_that_needs_groups_says_where_to_pass_them():
    X, y = make_classification(60, random_state=0)
    model = plain_stopping(
        GradientBoostingClassifier(n_estimators=2),
        validation_split=GroupShuffleSplit(random_state=0),
    )
    with pytest.raises(ValueError, match=r"needs groups: pass them to fit"):
        model.fit(X, y)
    model.fit(X, y, groups=np.arange(60) // 6)


def test_a_class_of_one_sample_leaves_the_others_stratified():
    y = np.repeat(["a", "b", "c"], [80, 20, 1])
    for seed in range(5):
        train, val = validation_rows(
            np.zeros((101, 1)), y, None, split=None, fraction=0.2, random_state=seed
        )
        assert sorted([*train, *val]) == list(range(101))
        counts = dict(zip(*np.unique(y[val], return_counts=True), strict=True))
        assert counts in ({"a": 17, "b": 4}, {"a": 16, "b": 5})
        assert "c" in y[train]


def test_a_class_of_one_sample_is_trained_on_whatever_the_split():
    rng = np.random.default_rng(0)
    for seed in range(200):
        y = rng.integers(0, 12, size=30)
        values, counts = np.unique(y, return_counts=True)
        train, val = validation_rows(
            np.zeros((30, 1)), y, None, split=None, fraction=0.1, random_state=seed
        )
        assert sorted([*train, *val]) == list(range(30))
        assert len(val) == 3
        assert not np.isin(values[counts == 1], y[val]).any()
