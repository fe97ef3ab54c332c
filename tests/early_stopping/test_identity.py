"""Two trainings are the same exactly if all that decides the result is the same."""

import json
import subprocess
import sys
from functools import partial, wraps
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csc_matrix, csr_matrix
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import make_scorer, recall_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_superior.early_stopping import _identity
from sklearn_superior.early_stopping._identity import (
    NoStableIdentityError,
    differences,
    digest_of,
    identify,
    stable_text,
)
from sklearn_superior.metrics import get_scorer, neg_penalized_brier_scorer

X = np.arange(12.0).reshape(6, 2)


def changed(table, row=3):
    """Copy a table with another value."""
    if isinstance(table, np.ndarray):
        table = table.copy()
        table[row] = table[0]
        return table
    return type(table)(changed(np.asarray(table.todense()), row))


@pytest.mark.parametrize("kind", [np.asarray, csr_matrix, csc_matrix])
def test_other_values_are_another_digest(kind):
    table = kind(X)
    assert digest_of(table) == digest_of(kind(X.copy()))
    other = X.copy()
    other[4, 1] += 1e-12
    assert digest_of(table) != digest_of(kind(other))
    assert digest_of(table) != digest_of(kind(X.T.copy()))


def test_data_frames_with_values_names_and_types():
    frame = pd.DataFrame({"a": [1, 2, 3], "b": ["x", "y", None]})
    base = digest_of(frame)
    assert base == digest_of(frame.copy())
    others = [
        frame.rename(columns={"a": "c"}),
        frame.astype({"a": float}),
        frame.assign(a=[1, 2, 4]),
        frame.assign(b=["x", "z", None]),
        frame[["b", "a"]],
        frame[:2],
        frame.assign(b=frame.b.astype("category")),
    ]
    digests = [digest_of(other) for other in others]
    assert len({base, *digests}) == len(others) + 1


def test_categories_count_also_those_that_are_absent():
    values = pd.Categorical(["x", "y"])
    frames = [
        pd.DataFrame({"a": values.set_categories(categories)})
        for categories in (["x", "y"], ["y", "x"], ["x", "y", "z"])
    ]
    assert len({digest_of(frame) for frame in frames}) == 3


def test_other_tables():
    assert digest_of(pl.DataFrame({"a": [1, 2]})) != digest_of(
        pl.DataFrame({"a": [1, 3]})
    )
    assert digest_of([[1, 2], [3, 4]]) != digest_of([[1, 2], [3, 5]])
    assert digest_of(pd.Series(["a", "b"])) != digest_of(pd.Series(["a", "c"]))
    dates = np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]")
    assert digest_of(dates) != digest_of(dates[::-1])
    assert digest_of(np.array([])) == digest_of(np.array([]))
    twice = pd.DataFrame([[1, 2]], columns=["a", "a"])
    other = pd.DataFrame([[1, 3]], columns=["a", "a"])
    assert digest_of(twice) != digest_of(other)
    cells = [np.array([None, None], dtype=object) for _ in range(2)]
    for k, cell in enumerate(cells):
        cell[:] = [np.arange(2000), np.arange(2000) + (np.arange(2000) == 999 + k)]
    assert digest_of(cells[0]) != digest_of(cells[1])


def at_top(estimator, X, y, factor=1):
    return factor


def make_closure(factor):
    def scorer(estimator, X, y):
        return factor

    return scorer


class Silent:
    """An object whose repr says nothing."""

    def __init__(self, factor):
        self.factor = factor

    def __call__(self, estimator, X, y):
        return self.factor


class Telling(Silent):
    def __repr__(self):
        return f"Telling({self.factor})"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (partial(at_top, factor=1), partial(at_top, factor=2)),
        (Telling(1), Telling(2)),
        (get_scorer("f1_macro"), get_scorer("accuracy")),
        (neg_penalized_brier_scorer, get_scorer("neg_penalized_log_loss")),
        (
            neg_penalized_brier_scorer,
            get_scorer("neg_penalized_brier_score", penalty=2.0),
        ),
        (
            make_scorer(recall_score, average="macro"),
            make_scorer(recall_score, average="micro"),
        ),
        (lambda e, X, y: 1, lambda e, X, y: 2),
        (lambda e, X, y: e.predict(X), lambda e, X, y: e.predict_proba(X)),
        (lambda e, X, y: [1 for _ in X], lambda e, X, y: [2 for _ in X]),
        (np.random.RandomState(0), np.random.RandomState(1)),
        (np.random.default_rng(0), np.random.default_rng(1)),
        (SGDClassifier(alpha=1), SGDClassifier(alpha=2)),
        (np.arange(3), np.arange(4)),
        ({"a": {1, 2}}, {"a": {1, 3}}),
        (Silent, Telling),
        (pd.Series(range(1000)), pd.Series([*range(500), -1, *range(501, 1000)])),
    ],
)
def test_what_differs_has_another_text(one, other):
    assert stable_text(one) == stable_text(one)
    assert stable_text(one) != stable_text(other)
    assert "0x" not in stable_text(one)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (
            make_closure(3),
            r"captures values from outside \(factor\).*functools.partial",
        ),
        (Silent(3), "Silent object has no __repr__ that shows its values"),
        (make_scorer(make_closure(3)), "captures values"),
        (partial(at_top, factor=Silent(1)), "Silent object"),
        ([1, {"a": Silent(1)}], "Silent object"),
        (Silent(1).__call__, "Silent object"),
    ],
)
def test_what_cannot_be_told_apart_is_refused(value, reason):
    with pytest.raises(NoStableIdentityError, match=reason):
        stable_text(value)


SCRIPT = """
import json, sys
from functools import partial, wraps
from sklearn_superior.metrics import get_scorer
from sklearn_superior.early_stopping._identity import stable_text
from tests.early_stopping.test_identity import at_top, Telling, Silent
values = [partial(at_top, factor=1), Telling(2), Silent, {"b", "a", "c"},
          get_scorer("neg_penalized_brier_score", penalty=2.0), get_scorer("f1_macro"),
          lambda e, X, y: 1 if y in {"u", "v", "w"} else {"k": 2}]
print(json.dumps([stable_text(value) for value in values]))
"""


def test_the_text_is_the_same_in_every_process():
    texts = [
        json.loads(
            subprocess.run(
                [sys.executable, "-c", SCRIPT],
                capture_output=True,
                text=True,
                check=True,
                cwd=Path(__file__).parents[2],
                env={"PYTHONHASHSEED": seed, "PATH": ""},
            ).stdout
        )
        for seed in ("1", "2")
    ]
    assert texts[0] == texts[1]


def test_identity_of_a_pipeline_names_what_differs():
    def make(with_mean, **params):
        return make_pipeline(
            make_column_transformer((StandardScaler(with_mean=with_mean), [0])),
            HistGradientBoostingClassifier(**params),
        )

    def of(model, **data):
        left_out = {"histgradientboostingclassifier__max_iter"}
        data = {"X": X, "y": np.arange(6)} | data
        identity, unstable = identify(
            model, scoring=at_top, data=data, left_out=left_out
        )
        assert not unstable
        return identity

    one = of(make(True, max_iter=3, max_depth=2))
    assert not differences(one, of(make(True, max_iter=9, max_depth=2)))
    found = differences(one, of(make(True, max_depth=4)))
    name = "parameter histgradientboostingclassifier__max_depth (2 there, 4 here)"
    assert found == name
    assert "with_mean" in differences(one, of(make(False, max_depth=2)))
    assert differences(one, of(make(True, max_depth=2), X=X + 1)) == "X"
    assert differences(one, of(make(True, max_depth=2), groups=X)) == "groups"
    assert "version of scikit-learn" in one


def test_versions_are_part_of_it(monkeypatch):
    data = {"X": X}
    one, _ = identify(SGDClassifier(), scoring=None, data=data)
    version = _identity.metadata.version

    def later(name):
        return "99.0" if name == "scikit-learn" else version(name)

    monkeypatch.setattr(_identity.metadata, "version", later)
    other, _ = identify(SGDClassifier(), scoring=None, data=data)
    assert "version of scikit-learn" in differences(one, other)
    assert "99.0 here" in differences(one, other)


def test_unstable_parts_are_listed():
    _, unstable = identify(SGDClassifier(), scoring=Silent(1), data={})
    assert list(unstable) == ["scoring"]


FACTOR = 1.0


def helper(X):
    return FACTOR * X


def calls_a_helper(X):
    return helper(X)


def logged(function):
    @wraps(function)
    def wrapper(X):
        return function(X)

    return wrapper


@logged
def decorated(X):
    return helper(X)


@pytest.mark.parametrize("function", [helper, calls_a_helper, decorated])
def test_constants_and_helpers_of_a_function_are_part_of_it(function, monkeypatch):
    before = stable_text(function)
    assert stable_text(function) == before
    monkeypatch.setattr(sys.modules[__name__], "FACTOR", 2.0)
    assert stable_text(function) != before
    monkeypatch.undo()
    assert stable_text(function) == before
    monkeypatch.setattr(sys.modules[__name__], "helper", lambda X: -X)
    if function.__name__ != "helper":
        assert stable_text(function) != before


class OwnClass:
    def transform(self, X):
        return FACTOR * X

    def __repr__(self):
        return "OwnClass()"


def test_constants_that_methods_read_are_part_of_a_class(monkeypatch):
    before = stable_text(OwnClass)
    monkeypatch.setattr(sys.modules[__name__], "FACTOR", 2.0)
    assert stable_text(OwnClass) != before


@pytest.mark.parametrize("make", [csr_matrix, pd.DataFrame, lambda X: X.tolist()])
def test_tables_as_parameters_are_compared_by_value(make):
    big = np.zeros((200, 30))
    other = big.copy()
    other[100, 15] = 1
    assert stable_text({"W": make(big)}) == stable_text({"W": make(big.copy())})
    assert stable_text({"W": make(big)}) != stable_text({"W": make(other)})
