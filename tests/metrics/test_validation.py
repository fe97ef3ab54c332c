"""Bad input is refused with an error that names the parameter and what came."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn import config_context

from sklearn_superior import metrics
from sklearn_superior.metrics import (
    d2_penalized_brier_score,
    penalized_brier_score_loss,
    penalized_log_loss,
    superiority_rate,
)
from tests.metrics.forecasts import D2_SCORES, LOSSES, SAMPLES, random_forecast

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
    "percent": (Y, Q * 300, {}, ValueError, "to 100.0. Pass what predict_proba"),
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
    "swapped": (Q, Y, {}, ValueError, "y_true has 3 columns and y_proba .* swapped?"),
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
