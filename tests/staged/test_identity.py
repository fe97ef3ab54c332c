"""Two trainings are the same exactly if all that decides the result is the same."""

import importlib
import json
import subprocess
import sys
from functools import partial, wraps
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csc_matrix, csr_matrix
from sklearn.ensemble import AdaBoostClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import make_scorer, recall_score
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

from sklearn_superior.metrics import get_scorer, neg_penalized_brier_scorer
from sklearn_superior.staged import _identity
from sklearn_superior.staged._identity import (
    NoStableIdentityError,
    differences,
    digest_of,
    identify,
    stable_text,
)

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
    used = pd.DataFrame({"a": list("xyx"), "b": pd.Categorical(list("uvu"))})
    before = digest_of(used)
    np.asarray(used)
    assert digest_of(used) == before
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


class Scorer:
    """A scorer that is an object."""

    def __init__(self, factor):
        self.factor = factor

    def __call__(self, estimator, X, y):
        return self.factor


class OtherScorer(Scorer):
    """Another one."""


class Slots:
    __slots__ = ("factor",)


FACTOR = 1.0


def reads_a_constant(estimator, X, y):
    return FACTOR


def calls_a_helper(estimator, X, y):
    return at_top(estimator, np.asarray(X), y)


def logged(function):
    @wraps(function)
    def wrapper(*args):
        return function(*args)

    return wrapper


@logged
def decorated(estimator, X, y):
    return at_top(estimator, X, y)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (partial(at_top, factor=1), partial(at_top, factor=2)),
        (partial(at_top, factor=Scorer(1)), partial(at_top, factor=Scorer(2))),
        (calls_a_helper, decorated),
        (Scorer(1), Scorer(2)),
        (Scorer(1), OtherScorer(1)),
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
        (np.random.RandomState(0), np.random.RandomState(1)),
        (np.random.default_rng(0), np.random.default_rng(1)),
        (SGDClassifier(alpha=1), SGDClassifier(alpha=2)),
        (
            AdaBoostClassifier(DecisionTreeClassifier(max_depth=1)),
            AdaBoostClassifier(DecisionTreeClassifier(max_depth=2)),
        ),
        # Their parameter `dtype` does not make them arrays.
        (OneHotEncoder(dtype=np.float32), OneHotEncoder(dtype=np.float64)),
        (OrdinalEncoder(), OrdinalEncoder(encoded_missing_value=-1)),
        (np.arange(3), np.arange(4)),
        ({"a": {1, 2}}, {"a": {1, 3}}),
        (Scorer, OtherScorer),
        (np.float32, np.float64),
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
        (make_closure(3), "<locals>.scorer cannot be imported by this name"),
        (make_scorer(make_closure(3)), "cannot be imported"),
        (lambda e, X, y: 1, "<lambda> cannot be imported"),
        (Slots(), "Slots object does not expose its values"),
        ([1, {"a": Slots()}], "Slots object"),
        (Scorer(1).__call__, "cannot be imported"),
    ],
)
def test_what_cannot_be_told_apart_is_refused(value, reason):
    with pytest.raises(NoStableIdentityError, match=reason):
        stable_text(value)


def test_constants_that_a_function_reads_count(monkeypatch):
    one = stable_text(partial(reads_a_constant))
    assert one == stable_text(partial(reads_a_constant))
    monkeypatch.setitem(globals(), "FACTOR", 2.0)
    assert stable_text(partial(reads_a_constant)) != one
    monkeypatch.setitem(globals(), "FACTOR", make_closure(1))
    assert stable_text(reads_a_constant) != one


def test_a_scorer_of_a_session_without_a_file_is_refused(monkeypatch):
    module = ModuleType("session")
    exec("def scorer(estimator, X, y):\n    return 1", vars(module))
    monkeypatch.setitem(sys.modules, "session", module)
    with pytest.raises(NoStableIdentityError, match="module session has no file"):
        stable_text(module.scorer)


def test_numbers_of_numpy_are_those_of_python():
    assert stable_text(np.float64(0.1)) == stable_text(0.1)
    assert stable_text(np.int32(3)) == stable_text(3)
    assert stable_text([np.bool_(True)]) == stable_text([True])
    assert stable_text(1) != stable_text(1.0)


def test_code_of_the_user_is_known_by_its_file(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / "my_scorers.py"
    texts = []
    for number in (1, 2):
        file.write_text(f"def scorer(estimator, X, y):\n    return {number}\n")
        sys.modules.pop("my_scorers", None)
        importlib.invalidate_caches()
        texts.append(stable_text(importlib.import_module("my_scorers").scorer))
    assert texts[0] != texts[1]
    assert all(text.startswith("my_scorers.scorer my_scorers ") for text in texts)


@pytest.mark.parametrize("inside", [False, True], ids=["at the top", "in a function"])
def test_code_that_is_imported_counts(tmp_path, monkeypatch, inside):
    monkeypatch.syspath_prepend(tmp_path)
    name = f"package_{inside}"
    (tmp_path / name / "deep").mkdir(parents=True)
    (tmp_path / name / "__init__.py").write_text("")
    helper = tmp_path / name / "deep" / "helper.py"
    line = f"from {name}.deep import helper"
    code = f"def scorer(e, X, y):\n    {line}" if inside else f"{line}\nscorer = None"
    code += "\n\ndef scorer(e, X, y):\n    return 1" * (not inside)
    (tmp_path / f"scorers_{inside}.py").write_text(code)
    helper.write_text("a = 1")
    importlib.invalidate_caches()
    scorer = importlib.import_module(f"scorers_{inside}").scorer
    text = stable_text(scorer)
    importlib.import_module(f"{name}.deep.helper")
    assert stable_text(scorer) == text
    helper.write_text("a = 2")
    assert stable_text(scorer) != text


SCRIPT = """
import json, sys
from functools import partial
from sklearn_superior.metrics import get_scorer
from sklearn_superior.staged._identity import digest_of, stable_text
from tests.staged.test_identity import at_top, Scorer
import pandas as pd
values = [partial(at_top, factor=1), Scorer(2), Scorer, {"b", "a", "c"},
          get_scorer("neg_penalized_brier_score", penalty=2.0), get_scorer("f1_macro")]
frame = pd.DataFrame({"a": ["x", "y"], "b": pd.Categorical(["u", "v"])})
print(json.dumps([*map(stable_text, values), digest_of(frame)]))
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


def identity_of(model, scorer=at_top, **data):
    data = {"training data": X, "training labels": np.arange(6)} | data
    identity, unstable = identify(
        model, scorer=scorer, data=data, left_out={"max_iter"}
    )
    assert not unstable
    return identity


def test_differences_are_named():
    model = HistGradientBoostingClassifier
    one = identity_of(model(max_iter=3, max_depth=2))
    assert not differences(one, identity_of(model(max_iter=9, max_depth=np.int64(2))))
    found = differences(one, identity_of(model(max_depth=4)))
    assert found == "parameter max_depth (2 there, 4 here)"
    other = identity_of(model(max_depth=2), **{"training data": X + 1})
    assert differences(one, other) == "training data"
    other = identity_of(model(max_depth=2), **{"validation weights": X})
    assert differences(one, other) == "validation weights"
    other = identity_of(model(max_depth=2), scorer=Scorer(1))
    assert "scoring" in differences(one, other)
    assert "version of scikit-learn" in one


def test_versions_are_part_of_it(monkeypatch):
    one = identity_of(SGDClassifier())
    version = _identity.metadata.version

    def later(name):
        return "99.0" if name == "scikit-learn" else version(name)

    monkeypatch.setattr(_identity.metadata, "version", later)
    _identity.version_of.cache_clear()
    try:
        found = differences(one, identity_of(SGDClassifier()))
    finally:
        _identity.version_of.cache_clear()
    assert "version of scikit-learn" in found
    assert "99.0 here" in found


def test_unstable_parts_are_listed():
    _, unstable = identify(SGDClassifier(), scorer=make_closure(1), data={})
    assert list(unstable) == ["scoring"]


@pytest.mark.parametrize("make", [csr_matrix, pd.DataFrame, lambda X: X.tolist()])
def test_tables_as_parameters_are_compared_by_value(make):
    big = np.zeros((200, 30))
    other = big.copy()
    other[100, 15] = 1
    assert stable_text({"W": make(big)}) == stable_text({"W": make(big.copy())})
    assert stable_text({"W": make(big)}) != stable_text({"W": make(other)})


def test_the_order_in_memory_does_not_count():
    assert digest_of(np.asfortranarray(X)) == digest_of(X)
    assert digest_of(np.repeat(X, 2, axis=0)[::2]) == digest_of(X)


def test_the_order_of_a_dict_does_not_count():
    assert stable_text({"a": 1, "b": 2}) == stable_text({"b": 2, "a": 1})
