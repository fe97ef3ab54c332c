"""The validation part, and the checks of labels and weights."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_matrix
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.model_selection import GroupShuffleSplit, KFold, ShuffleSplit

from sklearn_superior.early_stopping import EarlyStoppingClassifier
from sklearn_superior.early_stopping._validation_split import (
    Rows,
    check_labels,
    check_target,
    check_weights,
    split_validation,
    validation_rows,
)
from sklearn_superior.neural_network import CNNClassifier
from tests.early_stopping.families import FAMILIES, make_data


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "fit requires y to be passed, but the target y is None"),
        ([1, "a"], "y must hold labels of one type. Got text beside others"),
        (np.array([1, "a"], dtype=object), "of one type. Got values of int and str"),
        (["a", None], "of one type|missing"),
        (np.array(["a", None], dtype=object), "must not hold missing values. Got None"),
        (np.array([1.0, np.nan]), "y contains NaN"),
        (np.array(["a", np.nan], dtype=object), "missing values. Got nan"),
        (pd.Series(["a", pd.NA], dtype=object), "missing values. Got <NA>"),
        ([0.5, 1.5], "Unknown label type: continuous"),
    ],
)
def test_labels_that_are_none(y, message):
    with pytest.raises(ValueError, match=message):
        check_labels(y)


@pytest.mark.parametrize("name", ["y", "y_val"])
def test_bad_labels_name_the_parameter(name):
    X, y, X_val, y_val = make_data("five")
    data = {"X": X, "y": y, "X_val": X_val, "y_val": y_val}
    bad = data[name].astype(object)
    bad[3] = None
    for model in (EarlyStoppingClassifier(FAMILIES["SGD"]()), CNNClassifier()):
        with pytest.raises(ValueError, match=f"{name} must not hold missing values"):
            model.fit(**data | {name: bad})
    with pytest.raises(ValueError, match="labels to score must be of the type of"):
        EarlyStoppingClassifier(FAMILIES["SGD"]()).fit(
            **data | {"y_val": y_val == "red"}
        )


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.ones((3, 1)), r"must be 1-dimensional. Got shape \(3, 1\)"),
        ([1, -1, 1], "must be non-negative"),
        ([1, np.nan, 1], "without NaN"),
        ([1, np.inf, 1], "infinity"),
        ([0, 0, 0], "must not be zero for all samples"),
        (["a", "b", "c"], "must hold numbers"),
        ([1, 1], "inconsistent numbers of samples"),
    ],
)
def test_weights_that_are_none(weight, message):
    with pytest.raises(ValueError, match=message):
        check_weights(weight, np.arange(3))


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
    for model in (EarlyStoppingClassifier(FAMILIES["SGD"]()), CNNClassifier()):
        with pytest.raises(ValueError, match=f"^{name} {message}|^{name} .*{message}"):
            model.fit(**data, **weights)


def test_target():
    y, weight, classes = check_target(["a", "b", "b"], [1, 0, 2])
    assert classes.tolist() == ["a", "b"]
    assert weight.dtype == np.float64
    with pytest.raises(ValueError, match="at least 2 classes with positive weight"):
        check_target(["a", "b", "b"], [1, 0, 0])
    assert len(check_target(["a"], n_least=1)[2]) == 1


@pytest.mark.parametrize("split", [KFold, ShuffleSplit, "first", 3])
def test_splitters_that_are_none(split):
    X, y, _, _ = make_data("five")
    message = "'validation_split' parameter must be a splitter, 'last' or None"
    if isinstance(split, type):
        message += rf".*Did you mean {split.__name__}\(\)\?"
    for model in (
        EarlyStoppingClassifier(FAMILIES["SGD"](), validation_split=split),
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
    model = EarlyStoppingClassifier(FAMILIES["SGD"](), validation_split=split)
    with pytest.raises(
        ValueError, match="'validation_split' parameter must give a spl"
    ):
        model.fit(X, y)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (np.zeros((300, 2)), r"groups must be 1-dimensional. Got shape \(300, 2\)"),
        (["a", None] * 150, "groups must not hold missing values. Got None"),
        (np.zeros(10), "inconsistent numbers of samples"),
    ],
)
def test_bad_groups(groups, message):
    X, y, _, _ = make_data("five")
    model = EarlyStoppingClassifier(FAMILIES["SGD"](), validation_split="last")
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
    model = EarlyStoppingClassifier(FAMILIES["SGD"](), validation_split=splitter)
    split = split_validation(model, Rows(X, y), (None, None, None), groups)
    parts = [
        set(groups[split.inputs[f"{name} rows"]]) for name in ("training", "validation")
    ]
    assert not parts[0] & parts[1]
    assert len(parts[1]) == 2


@pytest.mark.parametrize("kind", ["array", "frame", "sparse", "list"])
def test_rows_of_any_table(kind):
    X, y, _, _ = make_data("five")
    table = {
        "array": lambda: X,
        "frame": lambda: pd.DataFrame(X),
        "sparse": lambda: csr_matrix(X),
        "list": lambda: X.tolist(),
    }[kind]()
    part = Rows(table, y, np.arange(300.0)).take(np.array([5, 2]))
    values = part.X.toarray() if kind == "sparse" else np.asarray(part.X)
    assert_array_equal(values, X[[5, 2]])
    assert_array_equal(part.y, y[[5, 2]])
    assert part.sample_weight.tolist() == [5, 2]


def test_a_split_that_needs_groups_says_where_to_pass_them():
    X, y = make_classification(60, random_state=0)
    model = EarlyStoppingClassifier(
        GradientBoostingClassifier(n_estimators=2),
        validation_split=GroupShuffleSplit(random_state=0),
    )
    with pytest.raises(ValueError, match=r"needs groups: pass them to fit"):
        model.fit(X, y)
    model.fit(X, y, groups=np.arange(60) // 6)
