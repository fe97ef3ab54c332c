"""The lazy losses against the plain ones, and what they move and hold."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from sklearn_superior import metrics
from sklearn_superior.integrations import dask as lazy
from tests.metrics.forecasts import forecasts, random_forecast

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

NAMES = lazy.__all__
names = pytest.mark.parametrize("name", NAMES)


@pytest.fixture(autouse=True)
def _in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@st.composite
def sizes(draw, total):
    """Sizes of blocks, some of them empty."""
    cuts = draw(st.lists(st.integers(0, total), max_size=5))
    return tuple(np.diff([0, *sorted(cuts), total]).tolist())


@names
@given(data=st.data())
def test_equals_the_plain_loss(name, data):
    y_index, y_proba = data.draw(forecasts(max_classes=6, max_samples=30))
    n_samples, n_classes = y_proba.shape
    classes = data.draw(
        st.sampled_from([np.arange(6) * 3 - 4, np.array(list("fbadce"))])
    )
    classes = np.sort(classes[:n_classes])
    y_true = classes[y_index]
    options = {
        "penalty": data.draw(st.sampled_from(["paper", "minimal", 0.3])),
        "ties": data.draw(st.sampled_from(["first", "split", "correct"])),
        "labels": data.draw(st.sampled_from([None, classes])),
    }
    if options["labels"] is None and data.draw(st.booleans()):
        y_true[:n_classes] = classes[: len(y_true)]  # each of them, if there is room
    weight = data.draw(st.sampled_from([None, "random", "zeros"]))
    if weight is not None:
        seed = data.draw(st.integers(0, 1000))
        weight = np.random.default_rng(seed).random(n_samples) * (weight == "random")
        weight[0] = 1.0
    column_sizes = data.draw(st.sampled_from([(n_classes,), (1, n_classes - 1)]))
    rows = data.draw(sizes(n_samples))
    lazy_y = da.from_array(y_true, chunks=(data.draw(sizes(n_samples)),))
    lazy_proba = da.from_array(y_proba, chunks=(rows, column_sizes))
    if data.draw(st.booleans()):  # sizes that are not known: the blocks must agree
        lazy_y = da.from_array(y_true, chunks=(rows,))
        lazy_proba._chunks = ((np.nan,) * len(rows), column_sizes)
        if weight is not None:
            lazy_weight = da.from_array(weight, chunks=(rows,))
    elif weight is not None:
        lazy_weight = da.from_array(weight, chunks=(data.draw(sizes(n_samples)),))
    if weight is None:
        lazy_weight = None

    def lazy_loss():
        return float(
            getattr(lazy, name)(
                lazy_y, lazy_proba, sample_weight=lazy_weight, **options
            )
        )

    def plain_loss():
        return getattr(metrics, name)(y_true, y_proba, sample_weight=weight, **options)

    expected = value_or_message(plain_loss)
    if isinstance(expected, str):
        assert value_or_message(lazy_loss) == expected
    else:
        assert_allclose(lazy_loss(), expected, rtol=1e-12, atol=1e-15)


def value_or_message(function):
    try:
        return function()
    except ValueError as exc:
        return str(exc)


@names
@given(data=st.data())
def test_one_column_is_for_the_positive_class(name, data):
    y_index, y_proba = data.draw(forecasts(max_classes=2, max_samples=12))
    y_true = np.array(["no", "yes"])[y_index]
    options = {
        "labels": data.draw(st.sampled_from([None, ["no", "yes"]])),
        "pos_label": data.draw(st.sampled_from([None, "no", "yes"])),
        "ties": data.draw(st.sampled_from(["first", "split", "correct"])),
    }
    if len(set(y_true)) < 2:
        options["labels"] = ["no", "yes"]
    rows = data.draw(sizes(len(y_true)))
    column = y_proba[:, 1]
    expected = getattr(metrics, name)(y_true, column, **options)
    for values in (column, column[:, None]):
        proba = da.from_array(values, chunks=(rows, 1)[: values.ndim])
        loss = getattr(lazy, name)(da.from_array(y_true, chunks=3), proba, **options)
        assert_allclose(float(loss), expected, rtol=1e-12, atol=1e-15)


def data(n_samples=200, n_classes=4, chunks=30):
    y_true, y_proba = random_forecast(np.random.default_rng(0), n_samples, n_classes)
    return y_true, y_proba, da.from_array(y_proba, chunks=(chunks, -1))


@names
def test_labels_and_weights_may_be_in_memory_or_in_other_blocks(name):
    y_true, y_proba, lazy_proba = data()
    weight = np.random.default_rng(1).random(len(y_true))
    loss = getattr(lazy, name)
    expected = getattr(metrics, name)(y_true, y_proba, sample_weight=weight)
    for y in (y_true, y_true.tolist(), pd.Series(y_true), y_true[:, None]):
        assert_allclose(float(loss(y, lazy_proba, sample_weight=weight)), expected)
    one_hot = da.from_array(np.eye(4)[y_true], chunks=(50, 2))
    weight_of_all = da.from_array(weight, chunks=200)
    assert_allclose(
        float(loss(one_hot, lazy_proba, sample_weight=weight_of_all)), expected
    )


@names
@pytest.mark.parametrize("dtype", ["int64", "str", "category"])
def test_filtered_data_frames_equal_the_loss_in_memory(name, dtype):
    y_true, y_proba, _ = data()
    frame = pd.DataFrame(y_proba, columns=list("abcd"))
    frame["label"] = pd.Series(y_true).astype(dtype)
    frame["weight"] = np.random.default_rng(1).random(len(y_true))
    kept = frame[frame["weight"] > 0.3]
    expected = getattr(metrics, name)(
        kept["label"], kept[list("abcd")], sample_weight=kept["weight"]
    )
    lazy_frame = dd.from_pandas(frame, npartitions=7)
    lazy_frame = lazy_frame[lazy_frame["weight"] > 0.3]  # sizes are not known
    loss = getattr(lazy, name)(
        lazy_frame["label"],
        lazy_frame[list("abcd")],
        sample_weight=lazy_frame["weight"],
    )
    assert_allclose(float(loss), expected, rtol=1e-12)


@pytest.mark.parametrize("n_other_columns", [0, 20])
def test_frames_from_many_small_files(n_other_columns, tmp_path):
    """Dask joins such files, in one column other than in several."""
    rng = np.random.default_rng(0)
    frames = []
    for number in range(9):
        y_true, y_proba = random_forecast(rng, rng.integers(20, 90), 4)
        frame = pd.DataFrame(y_proba, columns=list("abcd"))
        frame["label"] = np.array(["no", "perhaps", "soon", "yes"])[y_true]
        frame["weight"] = rng.random(len(frame))
        for other in range(n_other_columns):
            frame[f"other{other}"] = 0.0
        for part in ("whole", "labels"):
            (tmp_path / part).mkdir(exist_ok=True)
        frame.to_parquet(tmp_path / "whole" / f"{number}.parquet")
        frame[["label"]].to_parquet(tmp_path / "labels" / f"{number}.parquet")
        frames.append(frame)
    frame = pd.concat(frames)
    expected = metrics.penalized_brier_score_loss(
        frame["label"], frame[list("abcd")], sample_weight=frame["weight"]
    )
    lazy_frame = dd.read_parquet(tmp_path / "whole")
    proba, weight = lazy_frame[list("abcd")], lazy_frame["weight"]
    for label in (lazy_frame["label"], dd.read_parquet(tmp_path / "labels")["label"]):
        loss = lazy.penalized_brier_score_loss(label, proba, sample_weight=weight)
        assert_allclose(float(loss), expected, rtol=1e-12)
    sizes_known = proba.to_dask_array().compute_chunk_sizes()
    loss = lazy.penalized_brier_score_loss(
        frame["label"], sizes_known, sample_weight=frame["weight"]
    )
    assert_allclose(float(loss), expected, rtol=1e-12)


def test_normalize_and_scale_are_those_of_the_loss_in_memory():
    y_true, y_proba, lazy_proba = data()
    assert_allclose(
        float(lazy.penalized_log_loss(y_true, lazy_proba, normalize=False)),
        metrics.penalized_log_loss(y_true, y_proba, normalize=False),
        rtol=1e-12,
    )
    assert_allclose(
        float(lazy.penalized_brier_score_loss(y_true, lazy_proba, scale="mean")),
        metrics.penalized_brier_score_loss(y_true, y_proba, scale="mean"),
        rtol=1e-12,
    )


@pytest.mark.parametrize("labels", [None, range(4)])
def test_lazy_and_every_block_read_once(labels):
    y_true, y_proba, lazy_proba = data()
    read = []

    def noted(block, what):
        read.append(what)
        return block

    lazy_y = da.from_array(y_true, chunks=30)
    lazy_y = lazy_y.map_blocks(noted, "y", meta=y_true[:0])
    lazy_proba = lazy_proba.map_blocks(noted, "proba", meta=y_proba[:0])
    loss = lazy.penalized_brier_score_loss(lazy_y, lazy_proba, labels=labels)
    assert loss.shape == ()
    assert loss.dtype == np.float64
    assert read == []
    loss.compute()
    assert sorted(read) == ["proba"] * 7 + ["y"] * 7


def test_values_come_with_other_lazy_values():
    y_true, y_proba, lazy_proba = data()
    pbs = lazy.penalized_brier_score_loss(y_true, lazy_proba)
    both = dask.compute(pbs, lazy.penalized_log_loss(y_true, lazy_proba), pbs / 2)
    assert_allclose(both[0], metrics.penalized_brier_score_loss(y_true, y_proba))
    assert_allclose(both[1], metrics.penalized_log_loss(y_true, y_proba))
    assert_allclose(both[2], both[0] / 2)


def test_bad_input_raises_before_anything_is_computed():
    y_true, y_proba, lazy_proba = data()
    loss = lazy.penalized_brier_score_loss
    bag = pytest.importorskip("dask.bag").from_sequence([0, 1])
    lazy_delayed = dask.delayed(y_proba)
    unknown = lazy_proba[da.from_array(y_true, chunks=30) < 9]
    cases = [
        (TypeError, "y_proba must be a dask array.*ndarray", (y_true, y_proba), {}),
        (
            ValueError,
            "y_true and y_proba .* rows. Got 3 and 200",
            ([0, 1, 1], lazy_proba),
            {},
        ),
        (
            ValueError,
            "sample_weight and y_proba .* Got 2 and 200",
            (y_true, lazy_proba),
            {"sample_weight": [1, 2]},
        ),
        (TypeError, "y_true must be array-like. Got None", (None, lazy_proba), {}),
        (
            ValueError,
            "sample_weight must have one axis. Got 2",
            (y_true, lazy_proba),
            {"sample_weight": lazy_proba},
        ),
        (TypeError, "y_true must be array-like. Got a Bag", (bag, lazy_proba), {}),
        (TypeError, r"y_proba .* Got a Delayed\w*\.", (y_true, lazy_delayed), {}),
        (
            ValueError,
            "sample_weight must have one or two axes. Got 0",
            (y_true, lazy_proba),
            {"sample_weight": 2.0},
        ),
        (ValueError, "same number of blocks.* Got 1 and 7", (y_true, unknown), {}),
        (ValueError, "'ties' parameter", (y_true, lazy_proba), {"ties": "last"}),
        (ValueError, "'penalty' parameter", (y_true, lazy_proba), {"penalty": -1}),
        (ValueError, "'scale' parameter", (y_true, lazy_proba), {"scale": 2}),
        (
            ValueError,
            "labels holds 3 distinct",
            (y_true, lazy_proba),
            {"labels": [0, 1, 2]},
        ),
        (
            ValueError,
            "'pos_label' parameter",
            (y_true, lazy_proba),
            {"labels": range(4), "pos_label": 7},
        ),
        (
            ValueError,
            "y_proba must have one or two axes. Got 3",
            (y_true, lazy_proba[None]),
            {},
        ),
    ]
    for error, message, arguments, options in cases:
        with pytest.raises(error, match=message):
            loss(*arguments, **options)
    with pytest.raises(TypeError, match="'normalize' parameter must be a bool"):
        lazy.penalized_log_loss(y_true, lazy_proba, normalize=1)
    with pytest.warns(UserWarning, match="sorted labels") as caught:
        loss(y_true, lazy_proba, labels=[3, 1, 2, 0])
    assert [w.filename for w in caught] == [__file__]


def test_bad_values_raise_when_they_are_computed():
    y_true, y_proba, lazy_proba = data()
    loss = lazy.penalized_brier_score_loss
    cases = [
        (
            "must not be zero for all",
            (y_true, lazy_proba),
            {"sample_weight": y_true * 0},
        ),
        ("must be non-negative", (y_true, lazy_proba), {"sample_weight": y_true - 1}),
        ("not logits", (y_true, lazy_proba * 3), {}),
        ("must not contain NaN", (y_true, lazy_proba * np.nan), {}),
        (
            "labels .* not among the classes",
            (y_true + 1, lazy_proba),
            {"labels": range(4)},
        ),
        ("'pos_label' parameter", (y_true, lazy_proba), {"pos_label": 7}),
        ("at least one row", (y_true[:0], lazy_proba[:0]), {}),
        ("must hold one label for each row", (np.eye(2)[y_true % 2], lazy_proba), {}),
        ("rows that are not one-hot", (y_proba * 0.5, lazy_proba), {}),
    ]
    for message, arguments, options in cases:
        lazy_loss = loss(*arguments, **options)
        with pytest.raises(ValueError, match=message):
            lazy_loss.compute()
    rows = da.from_array(y_true, chunks=30)
    lazy_loss = loss(rows[rows != 1], lazy_proba[rows != 2])
    with pytest.raises(ValueError, match="together .*'y_true': 13, 'y_proba': 18"):
        lazy_loss.compute()


def make_lazily(n_blocks, n_rows, n_classes=5):
    """Labels and probabilities that exist one block at a time, from one source."""

    def block(block_id=None):
        rng = np.random.default_rng(block_id[0])
        proba = rng.random((n_rows, n_classes)) + 1e-3
        proba /= proba.sum(axis=1, keepdims=True)
        return np.column_stack([rng.integers(n_classes, size=n_rows), proba])

    chunks = ((n_rows,) * n_blocks, (n_classes + 1,))
    source = da.map_blocks(block, chunks=chunks, meta=np.empty((0, 0)))
    return source[:, 0].astype(int), source[:, 1:]


@pytest.mark.parametrize("labels", [None, range(5)])
def test_memory_does_not_grow_with_the_rows(labels):
    peaks = []
    for n_blocks in (4, 400):
        y_true, y_proba = make_lazily(n_blocks, 20_000)
        loss = lazy.penalized_brier_score_loss(y_true, y_proba, labels=labels)
        tracemalloc.start()
        loss.compute()
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    # The graph of the tasks grows, by some kilobytes for a block. The labels of all
    # blocks would take 63 MiB, the probabilities 305 MiB.
    assert peaks[1] - peaks[0] < 10 * 2**20


def test_rows_that_do_not_sum_to_one_warn_once():
    y_true, y_proba, lazy_proba = data()
    with pytest.warns(UserWarning, match="rows of y_proba do not sum") as caught:
        float(lazy.penalized_brier_score_loss(y_true, lazy_proba * 0.9))
    assert len(caught) == 1


def test_labels_may_be_lazy():
    y_true, y_proba, lazy_proba = data()
    labels = da.unique(da.from_array(y_true, chunks=30))
    loss = lazy.penalized_brier_score_loss(y_true, lazy_proba, labels=labels)
    expected = metrics.penalized_brier_score_loss(y_true, y_proba)
    assert_allclose(float(loss), expected, rtol=1e-12)


@names
@pytest.mark.parametrize("kind", ["Float32", "float[pyarrow]"])
def test_nullable_frames_keep_their_dtype(name, kind):
    """A zero in float32 costs what it does there, and nothing is warned of."""
    y, q = random_forecast(np.random.default_rng(0), 40, 3)
    q = q.astype(np.float32)
    q[0], y[0] = [0, 0, 1], 0
    frame = dd.from_pandas(pd.DataFrame(q).astype(kind), npartitions=3)
    labels = dd.from_pandas(pd.Series(y, dtype="Int64"), npartitions=3)
    expected = getattr(metrics, name)(y, q)
    assert_allclose(float(getattr(lazy, name)(labels, frame)), expected, rtol=1e-12)


@names
def test_masked_blocks_and_missing_values_are_refused(name):
    y, q = random_forecast(np.random.default_rng(0), 40, 3)
    loss = getattr(lazy, name)
    masked = da.ma.masked_less(da.from_array(q, (10, 2)), 0.1)
    with pytest.raises(ValueError, match="y_proba must not have masked values"):
        float(loss(da.from_array(y, 10), masked))
    hidden = da.ma.masked_equal(da.from_array(y, 10), 1)
    with pytest.raises(ValueError, match="y_true must not have masked values"):
        float(loss(hidden, da.from_array(q, (10, 3)), labels=[0, 1, 2]))
    series = pd.Series(y, dtype="Int64")
    series[3] = None
    series = dd.from_pandas(series, npartitions=2)
    frame = dd.from_pandas(pd.DataFrame(q), npartitions=2)
    with pytest.raises(ValueError, match="y_true must not contain missing values"):
        float(loss(series, frame))


def test_integer_labels_of_frames_are_exact():
    big = 2**53
    y = pd.Series([big, big + 1, big, big + 1], dtype="Int64")
    q = np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3], [0.4, 0.6]])
    lazily = lazy.penalized_brier_score_loss(
        dd.from_pandas(y, npartitions=2), dd.from_pandas(pd.DataFrame(q), npartitions=2)
    )
    expected = metrics.penalized_brier_score_loss([0, 1, 0, 1], q)
    assert_allclose(float(lazily), expected)


@names
@pytest.mark.parametrize("declared", [False, True])
def test_columns_in_another_order_warn_as_in_memory(name, declared):
    y, q = random_forecast(np.random.default_rng(0), 40, 3)
    text = np.array(["a", "b", "c"])[y]
    frame = pd.DataFrame(q, columns=["b", "a", "c"])
    options = {"labels": ["a", "b", "c"]} if declared else {}
    lazy_frame = dd.from_pandas(frame, npartitions=2)
    lazy_y = dd.from_pandas(pd.Series(text), npartitions=2)
    with pytest.warns(UserWarning, match="columns of y_proba .* in another order"):
        expected = getattr(metrics, name)(text, frame, **options)
    with pytest.warns(UserWarning, match="columns of y_proba .* in another order"):
        found = float(getattr(lazy, name)(lazy_y, lazy_frame, **options))
    assert_allclose(found, expected)
