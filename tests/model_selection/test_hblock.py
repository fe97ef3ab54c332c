"""HBlockSplit against a brute-force reference, and in scikit-learn's tools."""

import pickle
from copy import deepcopy
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn import clone, config_context
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    TimeSeriesSplit,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    permutation_test_score,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_superior.model_selection import HBlockSplit
from tests.logistic_path import logistic_path, path_scores

IRIS = load_iris(return_X_y=True)


def reference_folds(
    n_rows,
    groups,
    n_blocks,
    n_val,
    n_test,
    step,
    circular,
    gap,
    past_only,
    validates=True,
):
    """All folds as lists of rows, one row after the other, in plain Python."""
    groups = [0] * n_rows if groups is None else list(groups)
    members = {g: [r for r in range(n_rows) if groups[r] == g] for g in set(groups)}
    block_of = {}
    for rows in members.values():
        for number, part in enumerate(np.array_split(rows, n_blocks)):
            block_of.update(dict.fromkeys(part.tolist(), number))
    if past_only:
        last = n_blocks - n_val - n_test
        starts = [s for s in range(1, last + 1) if (last - s) % step == 0]
    elif circular:
        starts = list(range(0, n_blocks, step))
    else:
        starts = [s for s in range(0, n_blocks, step) if s + n_val + n_test <= n_blocks]
    folds = []
    for start in starts:
        val_blocks = {(start + k) % n_blocks for k in range(n_val)}
        test_blocks = {(start + n_val + k) % n_blocks for k in range(n_test)}
        first_judged = start
        if not validates:  # these blocks train
            val_blocks, first_judged = set(), start + n_val
        train, val, test = [], [], []
        for rows in members.values():
            for place, row in enumerate(rows):
                near = rows[max(0, place - gap) : place + gap + 1]
                near_blocks = {block_of[other] for other in near}
                if block_of[row] in test_blocks:
                    test.append(row)
                elif block_of[row] in val_blocks:
                    if not near_blocks & test_blocks:
                        val.append(row)
                elif past_only and block_of[row] > first_judged:
                    continue
                elif not near_blocks & (test_blocks | val_blocks):
                    train.append(row)
        folds.append((sorted(train), sorted(val), sorted(test)))
    return folds


@st.composite
def problems(draw):
    n_blocks = draw(st.integers(3, 9))
    n_val = draw(st.integers(0, n_blocks - 2))
    n_test = draw(st.integers(1, n_blocks - n_val - 1))
    n_groups = draw(st.integers(0, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    groups = None
    n_rows = int(rng.integers(n_blocks, 60))
    if n_groups:
        sizes = rng.integers(n_blocks, 40, n_groups)
        names = rng.permutation(["d", "b", "a", "c"])[:n_groups]
        groups = np.repeat(names, sizes)
        if draw(st.booleans()):
            groups = rng.permutation(groups)  # interleaved
        n_rows = len(groups)
    options = {
        "n_blocks": n_blocks,
        "n_validation_blocks": n_val,
        "n_test_blocks": n_test,
        "step": draw(st.integers(1, n_blocks)),
        "circular": draw(st.booleans()),
        "gap": draw(st.integers(0, 8)),
        "past_only": draw(st.booleans()),
    }
    return n_rows, groups, options


@pytest.mark.filterwarnings("ignore:gap=. leaves no training row of . of . groups")
@given(problem=problems())
def test_folds_equal_the_reference(problem):
    n_rows, groups, options = problem
    cv = HBlockSplit(**options)
    X = np.zeros((n_rows, 2))
    expected = reference_folds(n_rows, groups, *options.values())
    assert cv.get_n_splits() == len(expected)
    n_val = options["n_validation_blocks"]
    if any(not train or (n_val and not val) for train, val, _ in expected):
        with pytest.raises(ValueError, match=r"gap=\d leaves no (train|valid).* row"):
            list(cv.split_with_validation(X, groups=groups))
        return
    folds = list(cv.split_with_validation(X, groups=groups))
    for fold, reference in zip(folds, expected, strict=True):
        for part, rows in zip(fold, reference, strict=True):
            assert part.dtype == np.int64
            assert_array_equal(part, rows)
    if n_val:
        tuning = HBlockSplit(**options, evaluate_on="validation")
        for (train, val), fold in zip(
            tuning.split(X, groups=groups), folds, strict=True
        ):
            assert_array_equal(train, fold[0])
            assert_array_equal(val, fold[1])


@pytest.mark.filterwarnings("ignore:gap=. leaves no training row of . of . groups")
@given(problem=problems())
def test_split_trains_on_all_rows_outside_of_the_gap(problem):
    n_rows, groups, options = problem
    cv, X = HBlockSplit(**options), np.zeros((n_rows, 2))
    expected = reference_folds(n_rows, groups, *options.values(), validates=False)
    if not all(train for train, _, _ in expected):
        with pytest.raises(ValueError, match=r"gap=\d leaves no training row"):
            list(cv.split(X, groups=groups))
        return
    for (train, test), reference in zip(
        cv.split(X, groups=groups), expected, strict=True
    ):
        assert train.dtype == test.dtype == np.int64
        assert_array_equal(train, reference[0])
        assert_array_equal(test, reference[2])


@pytest.mark.filterwarnings("ignore:gap=. leaves no training row of . of . groups")
@given(problem=problems())
def test_split_adds_the_validation_rows_to_training(problem):
    """Both splits have the same test rows; with no gap, nothing else is lost."""
    n_rows, groups, options = problem
    cv, X = HBlockSplit(**options), np.zeros(n_rows)
    try:
        in_three = list(cv.split_with_validation(X, groups=groups))
    except ValueError:
        return
    for (train, val, test), (more, same) in zip(
        in_three, cv.split(X, groups=groups), strict=True
    ):
        assert_array_equal(same, test)
        together = np.union1d(train, val)
        assert np.isin(together, more).all()
        assert not np.isin(more, test).any()
        if options["gap"] == 0:
            assert_array_equal(more, together)


def test_split_leaves_out_the_gap_only():
    sizes = [len(train) for train, _ in HBlockSplit(5, gap=3).split(np.zeros(100))]
    # 80 rows but for the gaps; the last two test parts are at an end of the series.
    assert sizes == [74, 74, 74, 77, 77]


@given(problem=problems())
def test_blocks_are_those_of_array_split(problem):
    n_rows, groups, options = problem
    blocks = HBlockSplit(**options).block_ids(np.zeros(n_rows), groups)
    assert blocks.dtype == np.int64
    names = ["all"] * n_rows if groups is None else groups
    for name in set(names):
        own = blocks[np.asarray(names) == name]
        parts = np.array_split(np.arange(len(own)), options["n_blocks"])
        assert_array_equal(own, np.repeat(np.arange(len(parts)), list(map(len, parts))))


@given(problem=problems())
def test_parts_are_disjoint_and_with_no_gap_complete(problem):
    n_rows, groups, options = problem
    cv = HBlockSplit(**options | {"gap": 0, "past_only": False})
    for fold in cv.split_with_validation(np.zeros(n_rows), groups=groups):
        assert_array_equal(np.sort(np.concatenate(fold)), np.arange(n_rows))


@pytest.mark.filterwarnings("ignore:gap=. leaves no training row of . of . groups")
@given(problem=problems())
def test_past_only_keeps_the_order_of_time(problem):
    n_rows, groups, options = problem
    cv = HBlockSplit(**options | {"gap": 0, "past_only": True})
    folds = list(cv.split_with_validation(np.zeros(n_rows), groups=groups))
    groups = np.zeros(n_rows) if groups is None else groups
    for name in np.unique(groups):
        own = np.flatnonzero(groups == name)
        for parts in folds:
            parts = [np.intersect1d(rows, own) for rows in parts]
            parts = [rows for rows in parts if len(rows)]
            for before, after in pairwise(parts):
                assert before.max() < after.min()
        assert own[-1] in folds[-1][2]  # the last fold tests the end


def test_past_only_has_the_folds_of_time_series_split_for_divisible_lengths():
    X = np.zeros((12, 1))
    ours = HBlockSplit(6, n_validation_blocks=0, n_test_blocks=1, past_only=True)
    for one, other in zip(ours.split(X), TimeSeriesSplit(5).split(X), strict=True):
        for part, expected in zip(one, other, strict=True):
            assert_array_equal(part, expected)


@pytest.mark.parametrize(
    ("n_blocks", "parts", "n_folds"),
    [(10, (5, 2, 3), 6), (15, (8, 3, 4), 9), (3, (2, 0, 1), 3), (4, (3, 0, 1), 4)],
)
def test_the_default_numbers_of_blocks(n_blocks, parts, n_folds):
    cv = HBlockSplit(n_blocks, circular=False)
    X = np.zeros(n_blocks * 7)
    for fold in cv.split_with_validation(X):
        assert tuple(len(part) // 7 for part in fold) == parts
    assert cv.get_n_splits() == n_folds
    assert HBlockSplit(n_blocks).get_n_splits() == n_blocks


def test_the_papers_15_blocks():
    cv = HBlockSplit(15, n_validation_blocks=2, n_test_blocks=4)
    sizes = {tuple(map(len, fold)) for fold in cv.split_with_validation(np.zeros(150))}
    assert sizes == {(90, 20, 40)}


def test_every_block_is_tested_equally_often():
    cv = HBlockSplit(10)
    tested = np.concatenate([test for _, test in cv.split(np.zeros(50))])
    assert_array_equal(np.bincount(tested), np.full(50, 3))


@pytest.mark.parametrize(
    "convert",
    [
        np.asarray,
        list,
        csr_array,
        lambda X: pd.DataFrame(X, index=range(500, 500 + len(X))),
        lambda X: pl.DataFrame(X),
        lambda X: np.asarray(X)[:, :, None] * np.ones(5),
    ],
)
@pytest.mark.parametrize("as_groups", [list, np.asarray, pd.Series, pl.Series])
def test_rows_of_any_container_are_split(convert, as_groups):
    X = np.arange(60.0).reshape(30, 2)
    groups = np.array(["u", "v", "w"] * 10)
    expected = HBlockSplit(5).split(X, groups=groups)
    for ours, reference in zip(
        HBlockSplit(5).split(convert(X), groups=as_groups(groups)),
        expected,
        strict=True,
    ):
        assert_array_equal(ours[0], reference[0])
        assert_array_equal(ours[1], reference[1])


def test_repr_clone_and_pickle():
    cv = HBlockSplit(8, n_test_blocks=2, gap=3)
    text = (
        "HBlockSplit(circular=True, evaluate_on='test', gap=3, n_blocks=8,\n"
        "      n_test_blocks=2, n_validation_blocks=None, past_only=False, step=1)"
    )
    assert repr(cv) == text
    for copied in (clone(cv, safe=False), deepcopy(cv), pickle.loads(pickle.dumps(cv))):
        assert repr(copied) == text
        for one, other in zip(
            cv.split(np.zeros(80)), copied.split(np.zeros(80)), strict=True
        ):
            assert_array_equal(one[0], other[0])


def make_groups(y):
    """Three recordings of each class: rows of a group share their class."""
    return np.array([f"{label}-{k % 2}" for k, label in enumerate(y)])


@pytest.mark.parametrize("routing", [False, True])
def test_scikit_learns_tools_take_the_splitter(routing):
    X, y = IRIS
    groups = make_groups(y)
    model = make_pipeline(StandardScaler(), LogisticRegression())
    cv = HBlockSplit(5, gap=1)
    tuning = HBlockSplit(5, gap=1, evaluate_on="validation")
    by_hand = [
        clone(model).fit(X[train], y[train]).score(X[test], y[test])
        for train, test in cv.split(X, y, groups)
    ]
    passed = {"params": {"groups": groups}} if routing else {"groups": groups}
    with config_context(enable_metadata_routing=routing):
        assert_allclose(cross_val_score(model, X, y, cv=cv, **passed), by_hand)
        result = cross_validate(model, X, y, cv=cv, **passed)
        assert_allclose(result["test_score"], by_hand)
        grid = {"logisticregression__C": [0.01, 1]}
        search = GridSearchCV(model, grid, cv=tuning).fit(X, y, groups=groups)
        assert search.n_splits_ == 5
        score, permuted, _ = permutation_test_score(
            model, X, y, cv=cv, n_permutations=3, **passed
        )
        assert_allclose(score, np.mean(by_hand))
        assert np.isfinite(permuted).all()
        path = logistic_path(
            Cs=[1],
            cv=cv if routing else list(cv.split(X, y, groups)),
            scoring="neg_log_loss",
            max_iter=500,
        ).fit(X, y, **({"groups": groups} if routing else {}))
        assert path_scores(path).size == 5


def test_partitioning_step_suits_cross_val_predict():
    X, y = IRIS
    cv = HBlockSplit(10, n_validation_blocks=2, n_test_blocks=5, step=5)
    predicted = cross_val_predict(GaussianNB(), X, y, groups=y, cv=cv)
    assert np.mean(predicted == y) > 0.9
    tested = np.concatenate([test for _, test in cv.split(X, y, y)])
    assert_array_equal(np.sort(tested), np.arange(len(y)))
    with pytest.raises(ValueError, match="only works for partitions"):
        cross_val_predict(GaussianNB(), X, y, groups=y, cv=HBlockSplit(10))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_blocks": 2}, r"'n_blocks' .*\[3, inf\).* Got 2"),
        ({"n_blocks": 5.0}, r"'n_blocks' .* Got 5.0"),
        ({"n_blocks": "10"}, "'n_blocks' .* Got '10'"),
        ({"n_blocks": True}, "'n_blocks' .* Got True"),
        ({"n_validation_blocks": -1}, r"'n_validation_blocks' .*\[0, inf\).* Got -1"),
        ({"n_test_blocks": 0}, r"'n_test_blocks' .*\[1, inf\).* Got 0"),
        (
            {"n_validation_blocks": 5, "n_test_blocks": 5},
            "5 validation and 5 test blocks leave no training block: n_blocks=10",
        ),
        ({"step": 0}, r"'step' .*\[1, inf\).* Got 0"),
        ({"gap": -1}, r"'gap' .*\[0, inf\).* Got -1"),
        ({"gap": 0.5}, "'gap' .* Got 0.5"),
        ({"circular": "yes"}, "'circular' parameter .* 'bool' .* Got 'yes'"),
        ({"evaluate_on": "train"}, "'evaluate_on' .*str among .* Got 'train'"),
        (
            {"evaluate_on": np.array(["test", "validation"])},
            r"'evaluate_on' .*str among .* Got array\(\['test'",
        ),
        (
            {"n_validation_blocks": 0, "evaluate_on": "validation"},
            "evaluate_on='validation' requires validation blocks, but n_valid.*=0",
        ),
    ],
)
def test_bad_parameters_are_reported(options, message):
    with pytest.raises(ValueError, match=message):
        HBlockSplit(**options)
    # Set afterwards, they are found at the first split.
    cv = HBlockSplit()
    for name, value in options.items():
        setattr(cv, name, value)
    with pytest.raises(ValueError, match=message):
        next(cv.split(np.zeros(100)))


@pytest.mark.parametrize(
    ("X", "groups", "message"),
    [
        (np.zeros(9), None, "X has 9 rows, too few for n_blocks=10"),
        (
            np.zeros(25),
            ["a"] * 19 + ["b"] * 6,
            "group 'b' has 6 rows, too few for n_bl",
        ),
        (np.zeros(20), [1] * 9 + [2] * 11, "group 1 has 9 rows, too few"),
        (np.zeros(20), [0] * 19, "inconsistent numbers of samples"),
        (np.zeros(20), np.zeros((20, 2)), r"groups must be 1-dim.*\(20, 2\)"),
        (np.zeros(20), ["a"] * 10 + [None] * 10, "groups must .* missing"),
        (np.zeros(20), [0.0] * 10 + [np.nan] * 10, "groups contains NaN"),
        (
            np.zeros(20),
            pd.Series(["a"] * 10 + [pd.NA] * 10, dtype="string"),
            "groups must .* missing",
        ),
        (None, None, "X must be an array-like with rows. Got None"),
        (20, None, "X must be an array-like with rows. Got 20"),
        (np.float64(1), None, r"X must be an array-like with rows. Got np.float64\(1"),
    ],
)
def test_bad_data_is_reported(X, groups, message):
    with pytest.raises(ValueError, match=message):
        next(HBlockSplit(10).split(X, groups=groups))


def test_a_gap_that_empties_a_part_says_so():
    X = np.zeros(20)
    with pytest.raises(ValueError, match="gap=4 leaves no validation row in fold 0"):
        next(HBlockSplit(10, gap=4).split_with_validation(X))
    cv = HBlockSplit(4, n_validation_blocks=0, n_test_blocks=3, gap=5)
    message = "gap=5 leaves no training row in fold 0, with 20 rows and n_blocks=4"
    with pytest.raises(ValueError, match=message):
        next(cv.split(X))


def test_a_gap_that_takes_a_whole_series_out_of_training_warns():
    groups = np.repeat(["long", "short"], [280, 20])
    message = "gap=8 leaves no training row of 1 of 2 groups in fold .* 'short'"
    with pytest.warns(UserWarning, match=message) as caught:
        list(HBlockSplit(10, gap=8).split(np.zeros(300), groups=groups))
    assert [w.filename for w in caught] == [__file__]


@given(seed=st.integers(0, 1000))
def test_order_of_groups_in_X_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.repeat([3, 1, 2], [12, 20, 15]))
    order = np.argsort(groups, kind="stable")
    cv = HBlockSplit(5, gap=1)
    X = np.zeros(47)
    for mixed, tidy in zip(
        cv.split_with_validation(X, groups=groups),
        cv.split_with_validation(X, groups=groups[order]),
        strict=True,
    ):
        for part, other in zip(mixed, tidy, strict=True):
            assert_array_equal(part, np.sort(order[other]))


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int64])
def test_numpy_integers_count_as_python_integers_do(dtype):
    most = min(200, np.iinfo(dtype).max)
    X = np.zeros(5 * most)
    ours = HBlockSplit(dtype(most), step=dtype(50), gap=dtype(2))
    expected = HBlockSplit(most, step=50, gap=2)
    assert repr(ours) == repr(expected)
    assert ours.get_n_splits() == expected.get_n_splits()
    for one, other in zip(
        ours.split_with_validation(X), expected.split_with_validation(X), strict=True
    ):
        for part, same in zip(one, other, strict=True):
            assert_array_equal(part, same)
    ours.gap = dtype(100)  # set later
    assert_array_equal(
        next(ours.split(X))[0], next(HBlockSplit(most, step=50, gap=100).split(X))[0]
    )


TEXT = [
    lambda names: np.array(names, dtype=object),
    lambda names: pd.Series(names, dtype=object),
    pd.Categorical,
    lambda names: pd.Series(names, dtype="string"),
    lambda names: pl.Series(names, dtype=pl.Categorical),
]


@pytest.mark.parametrize("convert", TEXT)
def test_groups_of_text_are_named_in_errors_and_warnings(convert):
    groups = convert(["long"] * 30 + ["b"] * 6)
    with pytest.raises(ValueError, match="group 'b' has 6 rows, too few for n_blocks"):
        next(HBlockSplit(10).split(np.zeros(36), groups=groups))
    groups = convert(["long"] * 280 + ["short"] * 20)
    with pytest.warns(UserWarning, match="1 of 2 groups in fold .* 'short'"):
        list(HBlockSplit(10, gap=8).split(np.zeros(300), groups=groups))


@pytest.mark.parametrize(
    ("groups", "name"),
    [
        (np.array(["2026-11-17", "2026-11-18"], "datetime64[ns]"), "2026-11-18"),
        (pd.array([2**53, 2**53 + 1], dtype="Int64"), "9007199254740993"),
        (pd.array([True, False], dtype="boolean"), "False"),
    ],
)
def test_groups_of_dates_and_numbers_are_named_as_they_are(groups, name):
    groups = groups[np.repeat([0, 1], [30, 6])]
    with pytest.raises(ValueError, match=f"group {name}.* has 6 rows"):
        next(HBlockSplit(10).split(np.zeros(36), groups=groups))


def test_masked_groups_are_refused():
    groups = np.ma.masked_equal(np.repeat([0, 1], 10), 1)
    with pytest.raises(ValueError, match="groups must not have masked values"):
        next(HBlockSplit(5).split(np.zeros(20), groups=groups))


def test_past_only_differs_from_time_series_split_where_blocks_are_unequal():
    ours = HBlockSplit(6, n_validation_blocks=0, n_test_blocks=1, past_only=True)
    X = np.zeros(20)
    folds = list(zip(ours.split(X), TimeSeriesSplit(5).split(X), strict=True))
    # 20 rows in 6 blocks: ours puts the longer blocks first, the other trains on them.
    assert [len(test) for (_, test), _ in folds] == [4, 3, 3, 3, 3]
    assert [len(test) for _, (_, test) in folds] == [3, 3, 3, 3, 3]
