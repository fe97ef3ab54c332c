"""The public losses against scikit-learn, identities and invariances."""

import math
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn.metrics
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.metrics import (
    accuracy_score,
    brier_score_loss,
    d2_log_loss_score,
    log_loss,
)

from sklearn_superior.metrics import (
    _kernel,
    d2_penalized_brier_score,
    d2_penalized_log_loss_score,
    penalized_brier_score_loss,
    penalized_brier_score_samples,
    penalized_log_loss,
    penalized_spherical_loss,
    superiority_rate,
)
from sklearn_superior.metrics._kernel import LossSums
from sklearn_superior.metrics._rules import RULES
from tests.metrics.forecasts import (
    D2_SCORES,
    LOSSES,
    SAMPLES,
    forecasts,
    random_forecast,
)

rules = pytest.mark.parametrize("name", RULES)
A, B = (0.33, 0.34, 0.33), (0.51, 0.49, 0.0)


def test_the_papers_example():
    def of(loss, forecast):
        return loss([1], [forecast], labels=[0, 1, 2])

    assert_allclose(of(penalized_brier_score_loss, A), 0.6534)
    assert_allclose(of(penalized_brier_score_loss, B), 0.5202 + 2 / 3)
    assert_allclose(of(penalized_log_loss, A), 1.0788, atol=5e-5)
    assert_allclose(of(penalized_log_loss, B), 1.8120, atol=5e-5)
    # The plain rules prefer the wrong prediction B, the penalized ones A.
    for loss in (penalized_brier_score_loss, penalized_log_loss):
        assert of(loss, A) < of(loss, B)
        assert loss([1], [A], labels=[0, 1, 2], penalty=0) > loss(
            [1], [B], labels=[0, 1, 2], penalty=0
        )


@given(
    data=forecasts(), weighted=st.booleans(), as_text=st.booleans(), seed=st.integers(0)
)
def test_mean_is_the_plain_loss_plus_penalty_times_error(data, weighted, as_text, seed):
    y_index, y_proba = data
    n_classes = y_proba.shape[1]
    labels = np.arange(n_classes)
    if as_text:
        labels = np.array([f"class {k:02d}" for k in labels])
    y_true = labels[y_index]
    weight = None
    if weighted:
        weight = np.random.default_rng(seed).integers(0, 5, len(y_true)) + 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pbs = penalized_brier_score_loss(
            y_true, y_proba, labels=labels, sample_weight=weight
        )
        pll = penalized_log_loss(y_true, y_proba, labels=labels, sample_weight=weight)
    brier = brier_score_loss(
        y_true, y_proba, labels=labels, sample_weight=weight, scale_by_half=False
    )
    log = log_loss(y_true, y_proba, labels=labels, sample_weight=weight)
    predicted = labels[y_proba.argmax(axis=1)]
    error = 1 - accuracy_score(y_true, predicted, sample_weight=weight)
    c = n_classes
    assert_allclose(pbs, brier + (c - 1) / c * error, rtol=0, atol=1e-12)
    assert_allclose(pll, log + math.log(c) * error, rtol=0, atol=1e-12)


@given(data=forecasts(max_classes=6), ties=st.sampled_from(["first", "split"]))
def test_ties_against_a_loop(data, ties):
    y_index, y_proba = data
    for i, q in zip(y_index, y_proba, strict=True):
        winners = np.flatnonzero(q == q.max())
        wrong = float(winners[0] != i)
        if ties == "split":
            wrong = 1 - np.isin(i, winners) / len(winners)
        options = {"labels": range(len(q)), "ties": ties}
        plain = penalized_brier_score_loss([i], [q], penalty=0, **options)
        assert_allclose(
            penalized_brier_score_loss([i], [q], penalty=2.5, **options),
            plain + 2.5 * wrong,
            rtol=1e-14,
        )


@pytest.mark.filterwarnings("ignore:The rows of y_proba do not sum to one")
@pytest.mark.parametrize(
    ("ties", "charges"),
    [("first", [0, 1, 1]), ("split", [2 / 3] * 3), ("correct", [0, 0, 0])],
)
@pytest.mark.parametrize("level", [0.0, 0.2, 1 / 3])
def test_ties_of_all_classes(ties, charges, level):
    y_proba = np.full((3, 3), level)
    plain = penalized_brier_score_samples([0, 1, 2], y_proba, penalty=0)
    losses = penalized_brier_score_samples([0, 1, 2], y_proba, penalty=1, ties=ties)
    assert_allclose(losses - plain, charges, atol=1e-15)


def test_scale_multiplies_the_whole_loss():
    y_true, y_proba = random_forecast(np.random.default_rng(0), 40, 4)
    for penalty in ["paper", "minimal", 0, 1.5]:
        of = {
            scale: penalized_brier_score_loss(
                y_true, y_proba, penalty=penalty, scale=scale
            )
            for scale in ["sum", "mean", "half", "auto"]
        }
        assert of["auto"] == of["sum"]
        assert_allclose(of["mean"], of["sum"] / 4)
        assert_allclose(of["half"], of["sum"] / 2)
        assert_allclose(
            penalized_brier_score_samples(
                y_true, y_proba, penalty=penalty, scale="mean"
            ).mean(),
            of["mean"],
        )
    # The form in the authors' code: mean over classes, penalty not divided.
    residuals = (y_proba - np.eye(4)[y_true]) ** 2
    published = residuals.mean(axis=1) + 3 / 4 * (y_proba.argmax(axis=1) != y_true)
    assert_allclose(
        penalized_brier_score_loss(y_true, y_proba, penalty=3, scale="mean"),
        published.mean(),
    )


@rules
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_without_penalty_it_is_scikit_learns_loss(name, dtype):
    y_true, y_proba = random_forecast(np.random.default_rng(1), 500, 5)
    y_proba[:5] = np.eye(5)  # certain, and wrong: the log loss is clipped
    y_true[:5] = [1, 2, 3, 4, 0]
    y_proba = y_proba.astype(dtype)
    references = {
        "brier": lambda: brier_score_loss(y_true, y_proba, scale_by_half=False),
        "log_loss": lambda: log_loss(y_true, y_proba),
        "spherical": lambda: np.mean(
            1
            - y_proba[np.arange(500), y_true]
            / np.linalg.norm(y_proba.astype(float), axis=1)
        ),
    }
    if name not in references:
        pytest.skip("no loss of scikit-learn")
    tolerance = {np.float64: 1e-13, np.float32: 1e-6, np.float16: 2e-3}[dtype]
    assert_allclose(
        LOSSES[name](y_true, y_proba, penalty=0.0), references[name](), rtol=tolerance
    )


def test_binary_one_column_equals_two_columns():
    rng = np.random.default_rng(2)
    y_true, p = rng.integers(0, 2, 50), rng.random(50)
    both = np.c_[1 - p, p]
    for name, loss in LOSSES.items():
        expected = loss(y_true, both)
        assert_allclose(loss(y_true, p), expected, rtol=1e-14, err_msg=name)
        assert_allclose(loss(y_true, p[:, None]), expected, rtol=1e-14)
        assert_allclose(loss(y_true, 1 - p, pos_label=0), expected, rtol=1e-14)
        text = np.where(y_true, "yes", "no")
        assert_allclose(loss(text, p), expected, rtol=1e-14)
        assert_allclose(loss(text, 1 - p, pos_label="no"), expected, rtol=1e-14)


@rules
def test_order_of_samples_does_not_matter(name):
    rng = np.random.default_rng(3)
    y_true, y_proba = random_forecast(rng, 200, 3)
    order = rng.permutation(200)
    assert_allclose(
        LOSSES[name](y_true[order], y_proba[order]),
        LOSSES[name](y_true, y_proba),
        rtol=1e-14,
    )
    assert_array_equal(
        SAMPLES[name](y_true[order], y_proba[order]),
        SAMPLES[name](y_true, y_proba)[order],
    )


@rules
@given(data=forecasts(max_classes=6), seed=st.integers(0, 1000))
def test_order_of_classes_does_not_matter_when_ties_are_split(name, data, seed):
    y_index, y_proba = data
    n_classes = y_proba.shape[1]
    order = np.random.default_rng(seed).permutation(n_classes)
    options = {"labels": range(n_classes), "ties": "split"}
    assert_allclose(
        LOSSES[name](np.argsort(order)[y_index], y_proba[:, order], **options),
        LOSSES[name](y_index, y_proba, **options),
        rtol=1e-13,
    )


@rules
@given(data=forecasts(max_classes=5, max_samples=20), seed=st.integers(0, 1000))
def test_integer_weights_equal_repetition(name, data, seed):
    y_index, y_proba = data
    weight = np.random.default_rng(seed).integers(0, 4, len(y_index))
    weight[0] = 1
    options = {"labels": range(y_proba.shape[1])}
    weighted = LOSSES[name](y_index, y_proba, sample_weight=weight, **options)
    repeated = LOSSES[name](
        np.repeat(y_index, weight), np.repeat(y_proba, weight, axis=0), **options
    )
    assert_allclose(weighted, repeated, rtol=1e-12)


def test_normalize_false_is_the_weighted_sum():
    y_true, y_proba = random_forecast(np.random.default_rng(4), 30, 3)
    weight = np.arange(30.0)
    for loss in (penalized_log_loss, penalized_spherical_loss):
        mean = loss(y_true, y_proba, sample_weight=weight)
        total = loss(y_true, y_proba, sample_weight=weight, normalize=False)
        assert_allclose(total, mean * weight.sum())


def as_categorical(y):
    # Categories out of order and one that never occurs.
    return pd.Series(pd.Categorical(y, categories=["b", "zz", "a", "c"]))


@pytest.mark.parametrize(
    "convert",
    [
        list,
        np.array,
        lambda y: np.array(y, dtype=object),
        lambda y: pd.Series(y, index=range(100, 100 + len(y))),
        lambda y: pd.Series(y, dtype="string"),
        as_categorical,
        lambda y: pl.Series(y),
        lambda y: pl.Series(y, dtype=pl.Categorical),
        lambda y: np.array(y, dtype=np.dtypes.StringDType()),
        lambda y: np.array(y)[:, None],
        lambda y: pd.DataFrame({"target": y}),
        lambda y: [["a", "b", "c"].index(v) - 1 for v in y],
        lambda y: np.array([["a", "b", "c"].index(v) for v in y], dtype=np.uint8) + 250,
        lambda y: np.array([["a", "b", "c"].index(v) * 10**12 for v in y]),
        lambda y: np.array([["a", "b", "c"].index(v) for v in y], dtype=np.float32),
        lambda y: pd.Series([["a", "b", "c"].index(v) for v in y], dtype="Int64"),
        lambda y: pd.get_dummies(pd.Series(y)),
        lambda y: np.eye(3)[[["a", "b", "c"].index(v) for v in y]],
    ],
)
def test_labels_of_any_type(convert):
    y_index, y_proba = random_forecast(np.random.default_rng(5), 60, 3)
    y_true = convert([["a", "b", "c"][i] for i in y_index])
    for name in RULES:
        assert LOSSES[name](y_true, y_proba) == LOSSES[name](y_index, y_proba)


@pytest.mark.parametrize("dtype", [bool, "boolean"])
def test_labels_may_be_boolean(dtype):
    y = pd.Series([True, False, True], dtype=dtype)
    expected = penalized_brier_score_loss([1, 0, 1], [0.9, 0.4, 0.2])
    assert penalized_brier_score_loss(y, [0.9, 0.4, 0.2]) == expected
    assert penalized_brier_score_loss(y.to_numpy(bool), [0.9, 0.4, 0.2]) == expected


@pytest.mark.parametrize(
    "convert",
    [
        lambda q: q.tolist(),
        np.asfortranarray,
        lambda q: np.repeat(q, 2, axis=1)[:, ::2],
        lambda q: q[::-1][::-1],
        lambda q: pd.DataFrame(q, columns=list("xyz")),
        lambda q: pd.DataFrame(q).astype("Float64"),
        lambda q: pl.DataFrame(q, schema=["x", "y", "z"]),
        lambda q: q.astype(np.longdouble),
    ],
)
def test_probabilities_of_any_container(convert):
    y_true, y_proba = random_forecast(np.random.default_rng(6), 60, 3)
    for name in RULES:
        assert_allclose(
            LOSSES[name](y_true, convert(y_proba)),
            LOSSES[name](y_true, y_proba),
            rtol=1e-15,
        )


def test_inputs_are_not_changed_and_may_be_read_only():
    y_true, y_proba = random_forecast(np.random.default_rng(7), 60, 3)
    weight = np.ones(60)
    copies = [a.copy() for a in (y_true, y_proba, weight)]
    for array in (y_true, y_proba, weight):
        array.setflags(write=False)
    for name in RULES:
        LOSSES[name](y_true, y_proba, sample_weight=weight)
        SAMPLES[name](y_true, y_proba)
    for array, copy in zip((y_true, y_proba, weight), copies, strict=True):
        assert_array_equal(array, copy)


@pytest.mark.filterwarnings("ignore:The columns of y_proba are assumed to")
def test_columns_follow_the_sorted_labels_whatever_their_order():
    y_proba = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1]]
    values = {
        penalized_brier_score_loss(["a", "b"], y_proba, labels=labels)
        for labels in (["a", "b", "c"], ["c", "a", "b"], np.array(["b", "c", "a"]))
    }
    assert len(values) == 1


def test_hard_integer_forecasts():
    assert penalized_brier_score_loss([0, 1, 1], [0, 1, 0]) == (2 + 0.5) / 3


@rules
def test_many_blocks_equal_one(name):
    # More rows than a block holds, and a last block that is not full.
    y_true, y_proba = random_forecast(np.random.default_rng(8), 70_001, 3)
    losses = SAMPLES[name](y_true, y_proba)
    pieces = [
        SAMPLES[name](y_true[k : k + 999], y_proba[k : k + 999])
        for k in range(0, 70_001, 999)
    ]
    assert_array_equal(losses, np.concatenate(pieces))
    weight = np.random.default_rng(9).random(70_001)
    assert_allclose(
        LOSSES[name](y_true, y_proba, sample_weight=weight),
        np.average(losses, weights=weight),
        rtol=1e-13,
    )


def test_two_thousand_classes_cost_the_plain_loss_and_the_penalty():
    y_true, y_proba = random_forecast(np.random.default_rng(10), 4000, 2000)
    error = np.mean(y_proba.argmax(axis=1) != y_true)
    assert_allclose(
        penalized_log_loss(y_true, y_proba),
        log_loss(y_true, y_proba) + math.log(2000) * error,
        rtol=1e-12,
    )


def test_float32_agrees_with_float64_on_ten_million_rows():
    rng = np.random.default_rng(11)
    y_proba = rng.random((10_000_000, 3), dtype=np.float32)
    y_proba /= y_proba.sum(axis=1, keepdims=True)
    y_true = rng.integers(0, 3, 10_000_000, dtype=np.int8)
    wide = y_proba.astype(np.float64)
    wide /= wide.sum(axis=1, keepdims=True)
    for loss in (penalized_brier_score_loss, penalized_log_loss):
        assert_allclose(loss(y_true, y_proba), loss(y_true, wide), rtol=1e-6)


@pytest.mark.parametrize("kind", ["int", "text", "one-hot", "one column", "weighted"])
def test_extra_memory_is_bounded(kind):
    n_samples = 500_000 if kind == "text" else 3_000_000
    rng = np.random.default_rng(12)
    y_proba = np.full((n_samples, 4), 0.25, dtype=np.float32)
    y_true = rng.integers(0, 4, n_samples)
    options = {}
    if kind == "text":
        y_true = np.array(["a", "bb", "ccc", "dddd"])[y_true]
    elif kind == "one-hot":
        y_true = (y_true[:, None] == np.arange(4)).astype(np.int8)
    elif kind == "one column":
        y_true, y_proba = y_true > 1, rng.random(n_samples, dtype=np.float32)
    elif kind == "weighted":
        options["sample_weight"] = rng.random(n_samples)
    for loss in (penalized_brier_score_loss, penalized_log_loss):
        tracemalloc.start()
        try:
            loss(y_true, y_proba, **options)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 32 * 2**20


array_libraries = pytest.mark.parametrize(
    ("library", "device"),
    [
        ("torch", "cpu"),
        ("torch", "cuda"),
        ("cupy", None),
        ("array_api_strict", None),
        ("array_api_strict", "device1"),
    ],
)


def to_library(library, device, *arrays):
    xp = pytest.importorskip(library)
    if device == "cuda" and not xp.cuda.is_available():
        pytest.skip("no CUDA device")
    if library == "cupy":
        return [xp.asarray(a) for a in arrays]
    if library == "array_api_strict":
        device = xp.Device(device or "CPU_DEVICE")
    return [xp.asarray(a, device=device) for a in arrays]


@array_libraries
@rules
@pytest.mark.parametrize("ties", ["first", "split", "correct"])
@given(data=forecasts(max_classes=6), seed=st.integers(0, 1000))
def test_arrays_of_other_libraries_have_the_same_losses(
    library, device, name, ties, data, seed
):
    y_index, y_proba = data
    weight = np.random.default_rng(seed).random(len(y_index)) + 0.1
    options = {"labels": range(y_proba.shape[1]), "ties": ties}
    expected = LOSSES[name](y_index, y_proba, sample_weight=weight, **options)
    expected_samples = SAMPLES[name](y_index, y_proba, **options)
    y_xp, proba_xp, weight_xp = to_library(library, device, y_index, y_proba, weight)
    with config_context(array_api_dispatch=True):
        ours = LOSSES[name](y_xp, proba_xp, sample_weight=weight_xp, **options)
        mixed = LOSSES[name](y_index, proba_xp, sample_weight=weight, **options)
        samples = SAMPLES[name](y_xp, proba_xp, **options)
    assert type(ours) is float
    assert_allclose([ours, mixed], expected, rtol=1e-12, atol=1e-15)
    assert type(samples) is type(proba_xp)
    assert samples.device == proba_xp.device
    samples = np.asarray([float(value) for value in samples])
    assert_allclose(samples, expected_samples, rtol=1e-12, atol=1e-15)


@array_libraries
def test_arrays_of_other_libraries_may_be_one_hot_or_one_column(library, device):
    y_index, y_proba = random_forecast(np.random.default_rng(15), 90, 3)
    expected = penalized_brier_score_loss(y_index, y_proba)
    text = np.array(["a", "b", "c"])[y_index]
    y_xp, proba_xp, one_hot, one_hot_bool, narrow, column = to_library(
        library,
        device,
        y_index,
        y_proba,
        np.eye(3, dtype=np.int64)[y_index],
        np.eye(3, dtype=bool)[y_index],
        y_proba.astype(np.float32),
        y_proba[:, 1],
    )
    loss = penalized_brier_score_loss
    with config_context(array_api_dispatch=True):
        for y_true in (y_xp, one_hot, one_hot_bool, text, list(y_index)):
            assert_allclose(loss(y_true, proba_xp), expected, rtol=1e-12)
        assert_allclose(loss(y_xp, narrow), expected, rtol=1e-6)
        binary = y_index == 1
        (binary_xp,) = to_library(library, device, binary)
        expected_binary = loss(binary, y_proba[:, 1])
        assert_allclose(loss(binary_xp, column), expected_binary, rtol=1e-12)
        assert_allclose(
            loss(binary_xp, 1 - column, pos_label=False), expected_binary, rtol=1e-12
        )
        d2 = d2_penalized_brier_score(y_xp, proba_xp)
        # Data frames still work while dispatch is on.
        assert loss(pd.Series(text), pd.DataFrame(y_proba)) == expected
    assert_allclose(d2, d2_penalized_brier_score(y_index, y_proba), rtol=1e-12)


@array_libraries
def test_bad_values_in_arrays_of_other_libraries_are_refused(library, device):
    y_xp, one_hot, proba_xp, too_large, weight = to_library(
        library,
        device,
        np.array([0, 1, 2]),
        np.array([[1, 1, 0], [0, 1, 0], [0, 0, 1]]),
        np.eye(3),
        np.eye(3) * 2,
        np.array([1.0, -1.0, 1.0]),
    )
    loss = penalized_brier_score_loss
    with config_context(array_api_dispatch=True):
        with pytest.raises(ValueError, match="1 rows that are not among the classes"):
            loss(y_xp, proba_xp, labels=[0, 1, 7])
        with pytest.raises(ValueError, match="which are not among the classes"):
            loss(y_xp, proba_xp, labels=["a", "b", "c"])
        with pytest.raises(ValueError, match="1 rows that are not one-hot"):
            loss(one_hot, proba_xp)
        with pytest.raises(ValueError, match=r"\[0, 1\].*Got values from 0.0 to 2.0"):
            loss(y_xp, too_large)
        with pytest.raises(ValueError, match="sample_weight must be non-negative"):
            loss(y_xp, proba_xp, sample_weight=weight)


@rules
@pytest.mark.parametrize("n_rows", [10, 400_000])  # one block, several blocks
def test_one_transfer_to_the_host(name, n_rows, monkeypatch):
    """On meta there are no values: any other transfer raises."""
    torch = pytest.importorskip("torch")
    transfers = []

    def transfer(array, xp):
        transfers.append(tuple(array.shape))
        return np.array([3.0, 0.0, 4.0, 0.0, *LossSums(0).lows])

    monkeypatch.setattr(_kernel, "to_numpy", transfer)
    proba = torch.empty(n_rows, 3, device="meta")
    y_true = torch.empty(n_rows, dtype=torch.int64, device="meta")
    weight = torch.empty(n_rows, device="meta")
    with config_context(array_api_dispatch=True):
        loss = LOSSES[name](y_true, proba, sample_weight=weight, labels=range(3))
    assert loss == 0.75
    assert transfers == [(8,)]


@rules
@pytest.mark.parametrize("kind", ["Float32", "float[pyarrow]", "polars"])
def test_nullable_frames_keep_their_dtype(name, kind):
    """A zero in float32 costs 16, not 36, and no sum of rows is off."""
    y_true, y_proba = random_forecast(np.random.default_rng(3), 50, 3)
    y_proba = y_proba.astype(np.float32)
    y_proba[0], y_true[0] = [0, 0, 1], 0
    frame = pd.DataFrame(y_proba, columns=list("abc"))
    frame = pl.from_pandas(frame) if kind == "polars" else frame.astype(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loss = LOSSES[name](y_true, frame)
    assert_allclose(loss, LOSSES[name](y_true, y_proba), rtol=1e-12)


@rules
def test_strict_arrays_of_many_blocks(name):
    strict = pytest.importorskip("array_api_strict")
    y_true, y_proba = random_forecast(np.random.default_rng(4), 300_001, 3)
    arrays = strict.asarray(y_true), strict.asarray(y_proba)
    with config_context(array_api_dispatch=True):
        loss = LOSSES[name](*arrays)
    assert_allclose(loss, LOSSES[name](y_true, y_proba), rtol=1e-9)


def test_torch_tensors_without_dispatch_are_read_as_arrays():
    torch = pytest.importorskip("torch")
    y_true, y_proba = random_forecast(np.random.default_rng(16), 20, 3)
    expected = penalized_log_loss(y_true, y_proba)
    assert penalized_log_loss(torch.asarray(y_true), torch.asarray(y_proba)) == expected


def test_works_as_xgboost_eval_metric():
    xgboost = pytest.importorskip("xgboost")
    y_true, X = random_forecast(np.random.default_rng(17), 300, 3)
    for target, labels in [(y_true, 3), (y_true == 1, 2)]:
        model = xgboost.XGBClassifier(
            n_estimators=3, eval_metric=penalized_brier_score_loss
        )
        model.fit(X, target, eval_set=[(X, target)], verbose=False)
        history = model.evals_result()["validation_0"]["penalized_brier_score_loss"]
        assert_allclose(
            history[-1],
            penalized_brier_score_loss(target, model.predict_proba(X)),
            rtol=1e-6,
        )
        assert len(model.classes_) == labels


def test_d2_without_penalty_is_scikit_learns():
    if not hasattr(sklearn.metrics, "d2_brier_score"):
        pytest.skip("scikit-learn has it from 1.8 on")
    y_true, y_proba = random_forecast(np.random.default_rng(13), 200, 4)
    weight = np.random.default_rng(14).random(200)
    for options in [{}, {"sample_weight": weight}]:
        assert_allclose(
            d2_penalized_brier_score(y_true, y_proba, penalty=0, **options),
            sklearn.metrics.d2_brier_score(y_true, y_proba, **options),
        )
        assert_allclose(
            d2_penalized_log_loss_score(y_true, y_proba, penalty=0, **options),
            d2_log_loss_score(y_true, y_proba, **options),
        )


@pytest.mark.parametrize("ties", ["first", "split", "correct"])
@pytest.mark.parametrize("name", D2_SCORES)
def test_d2_of_perfect_and_of_frequency_forecasts(name, ties):
    y_true = np.array([0, 1, 1, 2, 2, 2, 3, 3, 3])  # two classes tie at the top
    weight = np.array([1, 1, 1, 2, 1, 1, 1, 2, 1.0])
    frequency = np.bincount(y_true, weight) / weight.sum()
    options = {"sample_weight": weight, "ties": ties}
    d2 = D2_SCORES[name]
    assert_allclose(d2(y_true, np.tile(frequency, (9, 1)), **options), 0, atol=1e-15)
    assert_allclose(d2(y_true, np.eye(4)[y_true], **options), 1)
    with pytest.raises(ValueError, match="is not defined when .* a single class"):
        d2([1, 1], [[0.2, 0.8], [0.4, 0.6]], labels=[0, 1])


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("prefix", ["", "penalized_"])
@given(data=forecasts(max_classes=8, max_samples=30))
def test_rate_is_the_share_of_pairs(name, prefix, data):
    y_index, y_proba = data
    labels = range(y_proba.shape[1])
    correct = y_proba.argmax(axis=1) == y_index
    assume(0 < correct.sum() < len(correct))
    losses = SAMPLES[name](
        y_index, y_proba, labels=labels, penalty="paper" if prefix else 0
    )
    pairs = [(a, b) for a in losses[correct] for b in losses[~correct]]
    expected = np.mean([(a < b) + 0.5 * (a == b) for a, b in pairs])
    rate = superiority_rate(y_index, y_proba, rule=prefix + name, labels=labels)
    assert_allclose(rate, expected, rtol=1e-12)
    if prefix:
        assert rate == 1.0


def test_plain_rules_are_superior_for_two_classes_only():
    rng = np.random.default_rng(0)
    for name in RULES:
        two, three = (random_forecast(rng, 500, c) for c in (2, 3))
        assert superiority_rate(*two, rule=name) == 1.0
        assert superiority_rate(*three, rule=name) < 1.0


def test_no_pair_no_rate():
    for y_true, n_correct in [([0, 1], 2), ([1, 0], 0)]:
        message = f"Got {n_correct} correct and {2 - n_correct} wrong"
        with pytest.raises(ValueError, match=message):
            superiority_rate(y_true, [0.1, 0.9])
