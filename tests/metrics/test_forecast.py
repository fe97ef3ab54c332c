"""Bad input is refused with an error that names the parameter and what came."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.naive_bayes import GaussianNB

from sklearn_superior import metrics
from sklearn_superior.metrics import (
    d2_penalized_brier_score,
    get_scorer,
    neg_penalized_brier_scorer,
    penalized_brier_score_loss,
    penalized_log_loss,
    superiority_rate,
)
from sklearn_superior.metrics._rules import RULES
from tests.metrics.forecasts import (
    CANCER,
    D2_SCORES,
    IRIS,
    LOSSES,
    SAMPLES,
    random_forecast,
    text,
)

Y = [0, 1, 2]
Q = np.full((3, 3), 1 / 3)
NAN, INF = np.nan, np.inf

every_function = pytest.mark.parametrize(
    "function",
    [*LOSSES.values(), *SAMPLES.values(), *D2_SCORES.values(), superiority_rate],
    ids=lambda function: function.__name__,
)


def changed(value, row=0, column=0):
    q = Q.copy()
    q[row, column] = value
    return q


BAD_DATA = {
    "NaN": (Y, changed(NAN), {}, ValueError, "y_proba must not contain NaN"),
    "NaN of the true class": (Y, changed(NAN, 1, 1), {}, ValueError, "y_proba .* NaN"),
    "infinite": (Y, changed(INF), {}, ValueError, "y_proba .* to inf"),
    "minus infinite": (Y, changed(-INF, 1, 1), {}, ValueError, "y_proba .* from -inf"),
    "above 1": (Y, changed(1.25), {}, ValueError, r"y_proba .*\[0, 1\].* to 1.25"),
    "below 0": (Y, changed(-0.5, 2, 2), {}, ValueError, "y_proba .* from -0.5"),
    "column NaN": ([0, 1], [0.5, NAN], {}, ValueError, "y_proba must not contain NaN"),
    "column above 1": ([0, 1], [0.5, 2], {}, ValueError, "y_proba .* from 0.5 to 2"),
    "3-D": (Y, np.ones((3, 3, 3)), {}, ValueError, r"y_proba .*shape \(3, 3, 3\)"),
    "scalar": (Y, 0.5, {}, ValueError, r"y_proba .*shape \(\)"),
    "empty": ([], [], {}, ValueError, r"y_proba must be a non-empty .*\(0,\)"),
    "no columns": (Y, np.ones((3, 0)), {}, ValueError, r"y_proba .*\(3, 0\)"),
    "ragged": (Y, [[1], [1, 2], [3]], {}, ValueError, "y_proba cannot be read"),
    "text": (Y, [["a"] * 3] * 3, {}, TypeError, "y_proba must hold real numbers"),
    "complex": (Y, Q + 1j, {}, TypeError, "y_proba must hold real numbers.*complex"),
    "objects": (Y, [[None] * 3] * 3, {}, ValueError, "y_proba must not contain NaN"),
    "odd objects": (Y, [[{}] * 3] * 3, {}, TypeError, "y_proba must hold numbers"),
    "none": (Y, None, {}, TypeError, "y_proba must be array-like. Got None"),
    "sparse": (Y, csr_array(Q), {}, TypeError, "y_proba must be dense"),
    "length": (Y, Q[:2], {}, ValueError, "y_true and y_proba .* Got 3 and 2"),
    "percent": (
        Y,
        Q * 300,
        {},
        ValueError,
        "to 100.0. Pass the output of predict_proba",
    ),
    "just above 1": (
        Y,
        np.eye(3, dtype=np.float32) * np.float32(1.0000001),
        {},
        ValueError,
        "from 0.0 to 1.00000011",
    ),
    "masked": (Y, np.ma.masked_less(Q, 1), {}, ValueError, "y_proba .* masked values"),
    "generator": (Y, (q for q in Q), {}, TypeError, "y_proba .* Got a generator"),
    "lazy frame": (Y, pl.LazyFrame(Q), {}, TypeError, "y_proba .* Got a LazyFrame"),
    "swapped": (Q, Y, {}, ValueError, "y_true .* swapped?"),
    "y mixed list": ([2, 10, "a"], Q, {}, TypeError, "y_true .* Got 2 beside text"),
    "y masked": (
        np.ma.masked_equal(Y, 1),
        Q,
        {},
        ValueError,
        "y_true must not have masked values",
    ),
    "y none": (None, Q, {}, TypeError, "y_true must be array-like. Got None"),
    "y text": ("abc", Q, {}, TypeError, "y_true must be array-like. Got 'abc'"),
    "y sparse": (csr_array(np.eye(3)), Q, {}, TypeError, "y_true must be dense"),
    "y 3-D": (np.ones((3, 3, 3)), Q, {}, ValueError, "y_true must be a non-empty"),
    "y dates": (np.array(Y, "M8[D]"), Q, {}, TypeError, "y_true .* Got dtype datetime"),
    "y NaN": ([0, 1, NAN], Q, {}, ValueError, "y_true must not contain NaN"),
    "y None": (["a", None, "b"], Q, {}, ValueError, "y_true .* missing values"),
    "y pandas NA": (
        pd.Series(["a", pd.NA, "b"], dtype="string"),
        Q,
        {},
        ValueError,
        "y_true must not contain missing values",
    ),
    "y Int64 NA": (
        pd.Series([0, pd.NA, 2], dtype="Int64"),
        Q,
        {},
        ValueError,
        "y_true must not contain (NaN|missing)",
    ),
    "y polars null": (
        pl.Series(["a", None, "b"]),
        Q,
        {},
        ValueError,
        "y_true must not contain missing values",
    ),
    "y mixed": (
        np.array([0, "a", 1], dtype=object),
        Q,
        {},
        TypeError,
        "y_true must hold labels of one type",
    ),
    "y continuous": ([0.5, 1, 2], Q, {}, ValueError, "y_true .* such as 0.5"),
    "one class": ([1, 1, 1], Q, {}, ValueError, r"two classes. Got \[1\].*'labels'"),
    "class missing": (
        [0, 1, 1],
        Q,
        {},
        ValueError,
        r"y_true holds 2 distinct classes, \[0, 1\], .* Pass all classes .* 'labels'",
    ),
    "too many classes": (
        Y,
        [0.1, 0.2, 0.3],
        {},
        ValueError,
        "y_true holds 3 .* one column is for 2. y_proba needs a column for each class",
    ),
    "labels short": (
        [0, 1, 1],
        Q,
        {"labels": [0, 1]},
        ValueError,
        r"labels holds 2 distinct classes, \[0, 1\], but y_proba with 3 columns",
    ),
    "one label": ([0, 0, 0], Q, {"labels": [0]}, ValueError, "labels must hold at le"),
    "labels 2-D": (Y, Q, {"labels": [[0, 1, 2]]}, ValueError, "labels must be 1-dim"),
    "labels scalar": (Y, Q, {"labels": 3}, ValueError, "labels must be 1-dim"),
    "labels NaN": (Y, Q, {"labels": [0, 1, NAN]}, ValueError, "labels must not con"),
    "stranger": (
        [0, 1, 7],
        Q,
        {"labels": [0, 1, 2]},
        ValueError,
        r"y_true has labels \[7\] that are not among the classes \[0, 1, 2\]",
    ),
    "negative stranger": ([0, -1, 2], Q, {"labels": Y}, ValueError, r"labels \[-1\]"),
    "stranger in a gap": ([0, 4, 9], Q, {"labels": [0, 5, 9]}, ValueError, r"\[4\]"),
    "text stranger": (
        ["a", "b", "z"],
        Q,
        {"labels": ["a", "b", "c"]},
        ValueError,
        r"labels \['z'\] that are not among the classes \['a', 'b', 'c'\]",
    ),
    "object stranger": (
        pd.Series(["a", "b", "z"]),
        Q,
        {"labels": ["a", "b", "c"]},
        ValueError,
        r"labels \['z'\]",
    ),
    "text for numbers": (Y, Q, {"labels": ["a", "b", "c"]}, ValueError, r"labels \[0"),
    "two ones": (
        [[1, 1, 0], [0, 1, 0], [0, 0, 1]],
        Q,
        {},
        ValueError,
        "y_true has 1 rows that are not one-hot",
    ),
    "soft targets": (Q, Q, {}, ValueError, "y_true has 3 rows that are not one-hot"),
    "one-hot width": (
        np.eye(3),
        Q[:, :2] * 1.5,
        {},
        ValueError,
        r"y_true must hold one label for each row.* 2 classes .* Got shape \(3, 3\)",
    ),
    "one-hot and labels": (
        np.eye(3),
        Q[:, :2] * 1.5,
        {"labels": [0, 1]},
        ValueError,
        r"y_true must hold one label for each row.* 2 classes .* Got shape \(3, 3\)",
    ),
    "pos_label": (
        ["a", "b"],
        [0.5, 0.6],
        {"pos_label": "c"},
        ValueError,
        r"'pos_label' parameter must be one of the classes \['a', 'b'\]. Got 'c'",
    ),
}


@every_function
@pytest.mark.parametrize("case", BAD_DATA)
def test_bad_data_is_refused(function, case):
    y_true, y_proba, options, error, message = BAD_DATA[case]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        with pytest.raises(error, match=message):
            function(y_true, y_proba, **options)


@pytest.mark.parametrize(
    ("weight", "error", "message"),
    [
        ([1, -1, 1], ValueError, "sample_weight must be non-negative.* minimum of -1"),
        ([1, NAN, 1], ValueError, "sample_weight must be non-negative, without NaN"),
        ([1, INF, 1], ValueError, "sample_weight .* sum of inf"),
        ([1e308] * 3, ValueError, "sample_weight .* sum of inf"),
        ([0, 0, 0], ValueError, "sample_weight must not be zero for all samples"),
        ([1, 1], ValueError, r"sample_weight must have shape \(3,\).*Got shape \(2,\)"),
        (2.0, ValueError, r"sample_weight must have shape \(3,\).*Got shape \(\)"),
        ([[1], [1], [1]], ValueError, r"sample_weight must have shape .*\(3, 1\)"),
        (["a"] * 3, TypeError, "sample_weight must hold real numbers"),
    ],
)
@pytest.mark.parametrize("loss", [*LOSSES.values(), d2_penalized_brier_score])
def test_bad_weights_are_refused(loss, weight, error, message):
    with pytest.raises(error, match=message):
        loss(Y, Q, sample_weight=weight)


@pytest.mark.parametrize(
    "penalty", [-0.1, NAN, INF, "none", None, True, [1.0], "papers"]
)
@pytest.mark.parametrize("function", [*LOSSES.values(), *SAMPLES.values()])
def test_a_bad_penalty_is_refused(function, penalty):
    with pytest.raises(ValueError, match=r"'penalty' parameter .*'paper', 'min.*Got"):
        function(Y, Q, penalty=penalty)


@pytest.mark.parametrize("ties", ["last", None, 1, ["first"]])
@pytest.mark.parametrize("function", [*LOSSES.values(), *SAMPLES.values()])
def test_bad_ties_are_refused(function, ties):
    with pytest.raises(ValueError, match=r"'ties' parameter must be one of .* Got"):
        function(Y, Q, ties=ties)


def test_bad_scale_and_normalize_are_refused():
    with pytest.raises(ValueError, match="'scale' parameter must be .* Got 'double'"):
        penalized_brier_score_loss(Y, Q, scale="double")
    with pytest.raises(TypeError, match="'normalize' parameter must be a bool. Got 1"):
        penalized_log_loss(Y, Q, normalize=1)
    with pytest.raises(ValueError, match="'rule' parameter must be one of"):
        superiority_rate(Y, Q, rule="pbs")


def test_rows_that_do_not_sum_to_one_warn_at_the_callers_line():
    public = [f for f in SAMPLES.values() if hasattr(metrics, f.__name__)]
    for function in (*LOSSES.values(), *public):
        for y_proba in (Q * 0.9, changed(0.4)):
            with pytest.warns(UserWarning, match="y_proba do not sum to one") as caught:
                function(Y, y_proba)
            assert [w.filename for w in caught] == [__file__]
    # Rounding of the dtype is no reason to warn.
    rng = np.random.default_rng(0)
    q = rng.dirichlet(np.ones(5), 2000)
    y = np.arange(2000) % 5
    for dtype in (np.float64, np.float32, np.float16):
        penalized_brier_score_loss(y, q.astype(dtype))


def test_unsorted_labels_recall_how_the_columns_are_read():
    message = r"follow the sorted labels \['a', 'b'\], .* labels=\['b', 'a'\]"
    with pytest.warns(UserWarning, match=message) as caught:
        loss = penalized_brier_score_loss(
            ["a", "b"], [[0.9, 0.1], [0.2, 0.8]], labels=["b", "a"]
        )
    assert [w.filename for w in caught] == [__file__]
    assert loss == penalized_brier_score_loss(["a", "b"], [[0.9, 0.1], [0.2, 0.8]])
    # With a single column there is no order to mistake.
    penalized_brier_score_loss(["a", "b"], [0.1, 0.8], labels=["b", "a"])


def test_weights_of_other_types_in_skill_scores():
    y_index, y_proba = random_forecast(np.random.default_rng(0), 60, 3)
    weight = np.arange(60) % 3
    expected = d2_penalized_brier_score(y_index, y_proba, sample_weight=weight)
    for other in (weight.astype(np.longdouble), weight.astype(np.int8)):
        score = d2_penalized_brier_score(y_index, y_proba, sample_weight=other)
        assert score == pytest.approx(expected)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_columns_named_like_the_classes_in_another_order(frame):
    y_true, y_proba = random_forecast(np.random.default_rng(0), 30, 3)
    y_true = np.array(["a", "b", "c"])[y_true]

    def table(names):
        return frame(dict(zip(names, y_proba.T, strict=True)))

    expected = penalized_brier_score_loss(y_true, y_proba)
    with pytest.warns(UserWarning, match=r"\['c', 'a', 'b'\], in another order"):
        assert penalized_brier_score_loss(y_true, table("cab")) == expected
    one_hot = pd.get_dummies(pd.Series(y_true))
    with pytest.warns(UserWarning, match="in another order"):
        penalized_brier_score_loss(one_hot, table("cab"))
    numbers = np.unique(y_true, return_inverse=True)[1]
    with pytest.warns(UserWarning, match="in another order"):  # names are text
        penalized_brier_score_loss(numbers, table("201"))
    for names in ("abc", "xyz"):  # no warning
        assert penalized_brier_score_loss(y_true, table(names)) == expected
    assert penalized_brier_score_loss(one_hot, table("abc")) == expected


BAD_TENSORS = {
    "complex": lambda torch: torch.ones(3, 3, dtype=torch.complex64),
    "sparse": lambda torch: torch.eye(3).to_sparse(),
    "float8": lambda torch: torch.ones(3, 3).to(torch.float8_e4m3fn),
}


@pytest.mark.parametrize("kind", BAD_TENSORS)
@pytest.mark.parametrize("dispatch", [False, True])
def test_tensors_that_hold_no_real_numbers(kind, dispatch):
    torch = pytest.importorskip("torch")
    y_proba = BAD_TENSORS[kind](torch)
    with (
        config_context(array_api_dispatch=dispatch),
        pytest.raises((TypeError, ValueError), match="^y_proba "),
    ):
        penalized_brier_score_loss(Y, y_proba)


def test_floats_of_eight_bits_are_refused():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    with pytest.raises(TypeError, match="y_proba must hold .*float8"):
        penalized_brier_score_loss(Y, Q.astype(ml_dtypes.float8_e4m3fn))


@pytest.mark.parametrize("dispatch", [False, True])
def test_tensors_that_require_a_gradient(dispatch):
    torch = pytest.importorskip("torch")
    y_true, y_proba = random_forecast(np.random.default_rng(0), 30, 3)
    weight = np.arange(30.0)
    expected = penalized_brier_score_loss(y_true, y_proba, sample_weight=weight)
    inputs = [torch.asarray(a).requires_grad_() for a in (y_proba, weight)]
    with config_context(array_api_dispatch=dispatch):
        loss = penalized_brier_score_loss(
            torch.asarray(y_true), inputs[0], sample_weight=inputs[1]
        )
    assert loss == pytest.approx(expected, rel=1e-14)


@every_function
def test_several_outputs_are_refused(function):
    several = np.array([[0, 2, 1], [1, 1, 0], [2, 0, 1]])
    with pytest.raises(ValueError, match="y_true .* several outputs .* not supported"):
        function(several, Q)
    with pytest.raises(ValueError, match="y_true must hold one label for each row"):
        function(several[:, :2], Q)


def test_errors_come_from_the_function_that_was_called():
    with pytest.raises(ValueError, match="y_proba") as caught:
        penalized_brier_score_loss(Y, Q * 4)
    names = [entry.name for entry in caught.traceback]
    assert names[1] == "penalized_brier_score_loss"


@pytest.mark.parametrize("stop", [10, 65536 + 10])
def test_a_class_too_many_is_found_wherever_it_stands(stop):
    y_true = np.arange(70_000) % 3
    y_true[stop] = 9
    y_proba = np.full((70_000, 3), 1 / 3)
    with pytest.raises(ValueError, match=r"y_true has labels \[9\]|holds 4 dist"):
        penalized_brier_score_loss(y_true, y_proba)
    with pytest.raises(ValueError, match=r"y_true has labels \['9'\]|holds 4 dist"):
        penalized_brier_score_loss(y_true.astype(str), y_proba)


INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i2", ">u8"]


def spread(dtype, n_classes):
    """Labels from the least to the greatest number of a type, or three in a row."""
    limits = np.iinfo(dtype)
    return {
        "whole range": [limits.min, limits.max // 2, limits.max],
        "upper end": [limits.max - 2, limits.max - 1, limits.max],
        "lower end": [limits.min, limits.min + 1, limits.min + 2],
    }[n_classes]


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("where", ["whole range", "upper end", "lower end"])
@pytest.mark.parametrize("with_labels", [False, True])
def test_integer_labels_of_any_range(dtype, where, with_labels):
    rng = np.random.default_rng(0)
    labels = np.array(spread(dtype, where), dtype=dtype)
    y_index, y_proba = random_forecast(rng, 60, 3)
    expected = penalized_brier_score_loss(y_index, y_proba)
    options = {"labels": labels} if with_labels else {}
    assert penalized_brier_score_loss(labels[y_index], y_proba, **options) == expected


def test_int8_labels_that_span_all_values():
    labels = np.arange(-128, 128).astype(np.int8)
    y_index, y_proba = random_forecast(np.random.default_rng(0), 512, 256)
    expected = penalized_log_loss(y_index, y_proba)
    assert penalized_log_loss(labels[y_index], y_proba) == expected


@pytest.mark.parametrize("labels", [[-1, 0, 1], [-1, 5, 9]])
def test_large_unsigned_labels_are_not_taken_for_negative_ones(labels):
    y_true = np.array([0, 1, 2**64 - 1], dtype=np.uint64)
    with pytest.raises(ValueError, match=f"y_true has labels .*{2**64 - 1}"):
        penalized_brier_score_loss(y_true, Q, labels=labels)


@pytest.mark.parametrize(
    ("dtype", "bad", "labels"),
    [
        (np.uint8, 0, range(1, 257)),
        (np.int8, -1, range(256)),
        (np.uint8, 3, range(5, 305)),
        (np.int8, -128, range(-127, 128)),
    ],
)
def test_narrow_labels_that_are_no_classes(dtype, bad, labels):
    y_proba = np.full((1, len(labels)), 1 / len(labels))
    with pytest.raises(ValueError, match=rf"y_true has labels \[{bad}\]"):
        penalized_brier_score_loss(np.array([bad], dtype), y_proba, labels=labels)


@pytest.mark.parametrize("n_classes", [3, 40])
@pytest.mark.parametrize("dtype", [">i8", ">i2", ">u4", "<i8"])
@pytest.mark.parametrize("first", [0, 1])
def test_labels_of_any_byte_order_are_read(n_classes, dtype, first):
    y_index, y_proba = random_forecast(np.random.default_rng(0), 120, n_classes)
    expected = penalized_brier_score_loss(y_index, y_proba)
    y_true = (y_index + first).astype(dtype)
    assert penalized_brier_score_loss(y_true, y_proba) == expected


@pytest.mark.parametrize("dtype", ["i2", "i4", "u2", "u4", ">i8", "U1"])
def test_labels_in_numpy_beside_probabilities_in_torch(dtype):
    torch = pytest.importorskip("torch")
    y_index, y_proba = random_forecast(np.random.default_rng(0), 60, 3)
    expected = penalized_brier_score_loss(y_index, y_proba)
    with config_context(array_api_dispatch=True):
        loss = penalized_brier_score_loss(y_index.astype(dtype), torch.asarray(y_proba))
    assert loss == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("na_object", [np.nan, None])
def test_missing_values_of_text_arrays(na_object):
    dtype = np.dtypes.StringDType(na_object=na_object)
    y_true = np.array(["a", na_object, "b"], dtype=dtype)
    with pytest.raises(ValueError, match="y_true must not contain missing values"):
        penalized_brier_score_loss(y_true, Q)


def test_narrow_labels_beside_wide_classes():
    y_true = np.array([5, 200, 255], dtype=np.uint8)
    classes = [-300, 5, 200, 255, 70_000]
    y_proba = np.full((3, 5), 0.2)
    expected = penalized_brier_score_loss([1, 2, 3], y_proba, labels=range(5))
    assert penalized_brier_score_loss(y_true, y_proba, labels=classes) == expected
    wide = penalized_brier_score_loss(
        y_true[:1], np.full((1, 301), 1 / 301), labels=range(-290, 11)
    )
    assert wide == penalized_brier_score_loss(
        [295], np.full((1, 301), 1 / 301), labels=range(301)
    )


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@pytest.mark.parametrize("name_labels", [False, True])
@pytest.mark.parametrize("seen", [[0, 2], [0], [0, 1, 2]])
def test_a_class_never_seen_counts_with_probability_zero(rule, seen, name_labels):
    X, y = IRIS
    y = np.where(np.arange(len(y)) % 10, y, 3)
    rows = np.isin(y, seen)
    labels = text(y) if name_labels else y
    model = GaussianNB().fit(X[rows], labels[rows])
    full = np.zeros((len(y), 4))
    for label, column in zip(model.classes_, model.predict_proba(X).T, strict=True):
        full[:, np.flatnonzero(np.unique(labels) == label)[0]] = column
    missing = repr(np.setdiff1d(labels, model.classes_).tolist())[1:-1]
    with pytest.warns(UserWarning, match="never seen: .*" + missing) as caught:
        score = get_scorer(f"penalized_{rule.name}")(model, X, labels)
    assert len(caught) == 1
    assert_allclose(score, -LOSSES[rule.name](labels, full))


class Unsorted(ClassifierMixin, BaseEstimator):
    """A classifier whose classes are not in order."""

    def fit(self, X, y):
        self.model_ = GaussianNB().fit(X, y)
        self.classes_ = self.model_.classes_[::-1]
        return self

    def predict_proba(self, X):
        return self.model_.predict_proba(X)[:, ::-1]


@pytest.mark.parametrize("data", [IRIS, CANCER])
def test_columns_are_matched_to_the_classes_of_the_estimator(data):
    X, y = data
    ordered = neg_penalized_brier_scorer(GaussianNB().fit(X, y), X, y)
    assert_allclose(neg_penalized_brier_scorer(Unsorted().fit(X, y), X, y), ordered)


@pytest.mark.parametrize("name_labels", [False, True])
def test_declared_labels_keep_the_number_of_classes(name_labels):
    X, y = IRIS
    y = text(y) if name_labels else y
    labels = np.unique(y)
    seen = labels[[0, 2]]
    rows = np.isin(y, seen)
    model = GaussianNB().fit(X[rows], y[rows])
    proba = np.insert(model.predict_proba(X), 1, 0, axis=1)
    scorer = get_scorer("neg_penalized_brier_score", labels=labels)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for part in (rows, slice(None)):
            expected = -penalized_brier_score_loss(y[part], proba[part], labels=labels)
            assert_allclose(scorer(model, X[part], y[part]), expected)


def test_labels_of_another_type_are_refused():
    X, y = IRIS
    model = GaussianNB().fit(X, y)
    message = r"same type as the classes \[0, 1, 2\] .* Got \['0', '1', '2'\]"
    with pytest.raises(ValueError, match=message):
        neg_penalized_brier_scorer(model, X, y.astype(str))


@pytest.mark.parametrize("labels", [["0", "1", "2"], [0, 1, 2]])
def test_declared_labels_of_another_type_are_refused(labels):
    X, y = IRIS
    y = y if isinstance(labels[0], str) else text(y)
    model = GaussianNB().fit(X, y)
    scorer = get_scorer("neg_penalized_brier_score", labels=labels)
    with pytest.raises(ValueError, match="Labels must have the same type"):
        scorer(model, X, y)
    with pytest.raises(ValueError, match="Labels must have the same type"):
        scorer.prepare_all([scorer], model.classes_, y)


@pytest.mark.parametrize("declared", [None, [0, 1, 2, 3, 4]])
@pytest.mark.parametrize("seen", [[0, 2], [0, 1, 2]])
def test_a_torch_target_with_a_class_never_seen(seen, declared):
    torch = pytest.importorskip("torch")
    X, y = IRIS
    y = np.where(np.arange(len(y)) % 10, y, 3)
    rows = np.isin(y, seen)
    model = GaussianNB().fit(X[rows], y[rows])
    scorer = get_scorer("neg_penalized_brier_score", labels=declared)

    class InTorch(BaseEstimator):
        classes_ = model.classes_

        def predict_proba(self, X):
            return torch.asarray(model.predict_proba(X))

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        expected = scorer(model, X, y)
        with config_context(array_api_dispatch=True):
            score = scorer(InTorch(), X, torch.asarray(y))
            mixed = scorer(model, X, torch.asarray(y))
    assert_allclose([score, mixed], expected, rtol=1e-12)
    assert len(caught) == (3 if declared is None else 0)
    assert all("never seen" in str(warning.message) for warning in caught)


@pytest.mark.parametrize("convert", [list, tuple, np.asarray, "torch"])
@pytest.mark.parametrize("name", ["penalized_brier", "refined_log_loss"])
@pytest.mark.parametrize("unseen", [False, True])
def test_classes_of_any_kind(convert, name, unseen):
    X, y = IRIS
    model = GaussianNB().fit(X, y)
    if convert == "torch":
        convert = pytest.importorskip("torch").asarray
    labels = np.where(np.arange(150) % 50 == 7, 5, y) if unseen else y

    class OtherClasses(ClassifierMixin, BaseEstimator):
        classes_ = convert([0, 1, 2])

        def predict_proba(self, X):
            return model.predict_proba(X)

    scorer = get_scorer(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert scorer(OtherClasses(), X, labels) == scorer(model, X, labels)


def test_an_estimator_that_was_fitted_on_tensors():
    torch = pytest.importorskip("torch")
    X, y = IRIS
    expected = neg_penalized_brier_scorer(LinearDiscriminantAnalysis().fit(X, y), X, y)
    X, y = torch.asarray(X), torch.asarray(y)
    with config_context(array_api_dispatch=True):
        model = LinearDiscriminantAnalysis().fit(X, y)
        assert isinstance(model.classes_, torch.Tensor)
        assert_allclose(neg_penalized_brier_scorer(model, X, y), expected, rtol=1e-6)
        rows = y != 1
        assert neg_penalized_brier_scorer(model, X[rows], y[rows]) < 0


def test_one_hot_targets_of_two_and_of_more_classes():
    for X, y in (IRIS, CANCER):
        model = GaussianNB().fit(X, y)
        one_hot = np.eye(y.max() + 1)[y]
        expected = neg_penalized_brier_scorer(model, X, y)
        assert_allclose(neg_penalized_brier_scorer(model, X, one_hot), expected)


def test_one_class_and_another_declared():
    X, y = IRIS
    model = DummyClassifier().fit(X[50:100], y[50:100])
    scorer = get_scorer("brier", labels=[0])
    assert scorer(model, X[50:100], y[50:100]) == 0


def test_a_column_of_booleans_or_unsigned_integers_is_checked():
    column = np.array([0, 1], dtype=np.uint8)
    assert penalized_brier_score_loss([0, 1], column) == 0
    assert penalized_brier_score_loss([0, 1], column.astype(bool)) == 0
    with pytest.raises(ValueError, match="values from 0.0 to 200.0"):
        penalized_brier_score_loss([0, 1], 200 * column)
