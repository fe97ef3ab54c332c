"""What is checked before training, and how windows are scaled."""

import tracemalloc

import numpy as np
import pytest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

pytest.importorskip("torch")

from sklearn_superior.early_stopping import EarlyStoppingClassifier
from sklearn_superior.neural_network import _windows_input
from sklearn_superior.neural_network._windows_input import ChannelScaler, Windows
from tests.neural_network.signals import make_windows, small_cnn


@pytest.fixture(scope="module")
def data():
    return make_windows()


def with_channel(X, values):
    return np.concatenate([X, np.broadcast_to(values, X[:, :1].shape)], axis=1)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_constant_channel_is_not_blown_up(data, dtype):
    X, y = data
    train = with_channel(X, 9.81).astype(dtype)
    # The defect: sums of equal values are rounded, so that their deviation is not 0.
    assert train[:, 2].std(dtype=np.float64) < 1e-12
    model = small_cnn(max_iter=15).fit(train, y)
    assert model._encoding.scaler.scale[0, 2, 0] == 1
    moved = with_channel(X, 9.81 + 1e-6).astype(dtype)
    assert model.score(moved, y) == model.score(train, y) > 0.9


@pytest.mark.parametrize("n_windows", [5, 100_000])
@pytest.mark.parametrize("value", [9.81, -1e-8, 101_325.7, 1e100, 1e-100, 0.0])
def test_channels_are_constant_relative_to_their_size(value, n_windows):
    rng = np.random.default_rng(0)
    X = np.full((n_windows, 2, 4), value)
    X[:, 1] += (1e-6 * abs(value) or 1.0) * rng.normal(size=(n_windows, 4))
    one, other = ChannelScaler(Windows(X)).scale.ravel()
    assert one == 1
    assert other == pytest.approx(X[:, 1].std(), rel=1e-6)
    # A few units in the last place are rounding, too.
    if n_windows > 5:
        X[:, 0] *= 1 + 4e-16 * rng.integers(-2, 3, size=(n_windows, 4))
        assert ChannelScaler(Windows(X)).scale.ravel()[0] == 1


def test_the_same_features_are_constant_as_in_scikit_learn():
    rng = np.random.default_rng(0)
    columns = [
        np.full(500, 9.81),
        np.full(500, 0.1),
        9.81 + 1e-9 * rng.normal(size=500),
        np.zeros(500),
        rng.normal(size=500),
    ]
    X = np.column_stack(columns)
    theirs = StandardScaler().fit(X).scale_
    ours = ChannelScaler(Windows(X[:, :, np.newaxis])).scale.ravel()
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    assert (ours == 1).tolist() == [True, True, False, True, False]


def test_keys_of_class_weight_are_classes(data):
    X, y = data
    model = small_cnn(max_iter=1, class_weight={"one": 2.0, "tow": 3.0})
    message = r"'class_weight' .*keys among the classes, \['one'.*Got \['tow'\]"
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(X, y)
    model.set_params(class_weight={"one": 2.0}).fit(X, y)
    # A class that a batch lacks is known from the first call.
    model = small_cnn(class_weight={"one": 2.0}).partial_fit(X, y)
    model.partial_fit(X[y != "one"], y[y != "one"])


def test_a_training_part_may_lack_a_class_of_class_weight(data):
    X, y = data
    order = np.argsort(y == "one", kind="stable")
    model = small_cnn(max_iter=1, class_weight={"one": 2.0, "two": 1.0})
    wrapped = EarlyStoppingClassifier(
        model, validation_split="last", validation_fraction=0.34
    )
    wrapped.fit(X[order], y[order])
    model.set_params(validation_split="last", validation_fraction=0.34)
    model.fit(X[order], y[order])
    for fitted in (wrapped, model):
        assert (fitted.predict_proba(X)[:, 0] == 0).all()


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf, "2", True])
def test_weights_of_classes_are_numbers_from_0_up(data, weight):
    X, y = data
    model = small_cnn(max_iter=1, class_weight={"one": weight})
    for train in (model.fit, model.partial_fit, EarlyStoppingClassifier(model).fit):
        with pytest.raises(ValueError, match="'class_weight' .*non-negative numbers"):
            train(X, y)


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf])
def test_weights_of_samples_are_numbers_from_0_up(data, weight):
    X, y = data
    weights = np.ones(len(y))
    weights[3] = weight
    for train in (small_cnn().fit, small_cnn().partial_fit):
        with pytest.raises(ValueError, match="sample_weight must be non-negative"):
            train(X, y, sample_weight=weights)


def test_a_batch_without_weight_is_refused(data):
    X, y = data
    model = small_cnn(class_weight={"one": 0.0}).partial_fit(X, y)
    with pytest.raises(ValueError, match="at least one sample of positive weight"):
        model.partial_fit(X[y == "one"], y[y == "one"])


def test_missing_values_are_refused_with_advice_that_works(data):
    X, y = data
    gaps = np.where(np.random.default_rng(0).random(X.shape) < 0.05, np.nan, X)
    model = small_cnn(max_iter=2)
    with pytest.raises(ValueError, match="^X contains NaN.*SimpleImputer") as error:
        model.fit(gaps, y)
    assert "HistGradientBoosting" not in str(error.value)
    with pytest.raises(ValueError, match="^X_val contains NaN.*SimpleImputer"):
        model.fit(X, y, X_val=gaps, y_val=y)
    model.fit(X, y)
    with pytest.raises(ValueError, match="^X contains NaN"):
        model.predict(gaps)
    # What the message says works.
    pipeline = make_pipeline(
        FunctionTransformer(lambda X: X.reshape(len(X), -1)),
        SimpleImputer(),
        FunctionTransformer(lambda X: X.reshape(len(X), 2, -1)),
        model,
    )
    assert np.isfinite(pipeline.fit(gaps, y).predict_proba(gaps)).all()


def test_infinite_values_are_refused(data):
    X, y = data
    X = np.where(X > 20, np.inf, X)
    with pytest.raises(ValueError, match="infinity"):
        small_cnn().fit(X, y)


@pytest.mark.parametrize("unit", [1e-100, 1e100])
def test_the_units_of_channels_do_not_matter(data, unit):
    X, y = data
    mixed = X * np.array([1.0, unit])[:, np.newaxis]
    fitted = small_cnn(max_iter=3).fit(X, y)
    other = small_cnn(max_iter=3).fit(mixed, y)
    np.testing.assert_allclose(
        other.predict_proba(mixed), fitted.predict_proba(X), atol=1e-4
    )


def test_mean_and_scale_do_not_depend_on_the_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3, 7)) * np.array([1, 1e-100, 1e100])[:, np.newaxis]
    X[100:200] *= 1e3  # a block with larger values than those before
    monkeypatch.setattr(_windows_input, "_BLOCK", 50)
    for values in (X, X[:, 1]):
        scaler = ChannelScaler(Windows(values))
        axes = (0, 2) if values.ndim == 3 else None
        unit = np.abs(values).max(axis=axes, keepdims=True)
        expected = unit * (values / unit).std(axis=axes, keepdims=True)
        np.testing.assert_allclose(scaler.scale, expected, rtol=1e-12)
        expected = unit * (values / unit).mean(axis=axes, keepdims=True)
        np.testing.assert_allclose(scaler.mean, expected, rtol=1e-9)


@pytest.mark.parametrize("early_stopping", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_training_needs_no_copy_of_the_windows(dtype, early_stopping):
    X = np.random.default_rng(0).normal(size=(20_000, 2, 128)).astype(dtype)
    y = np.arange(len(X)) % 2
    model = small_cnn(max_iter=1, batch_size=512, early_stopping=early_stopping)
    small_cnn(max_iter=1).fit(X[:100], y[:100])  # what is loaded only once
    tracemalloc.start()
    try:
        model.fit(X, y)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < (0.3 if early_stopping else 0.2) * X.nbytes + 6e6


@pytest.mark.parametrize(
    ("scale", "early_stopping"),
    [(1e-300, True), (1e-300, False), (1e300, True), (1e300, False), (1e308, False)],
)
def test_the_scale_of_the_weights_means_nothing(data, scale, early_stopping):
    X, y = data
    weight = scale * ((1 + np.arange(len(y)) % 3) / 4)
    options = {"max_iter": 2, "early_stopping": early_stopping}
    one = small_cnn(**options).fit(X, y, sample_weight=weight)
    other = small_cnn(**options).fit(X, y, sample_weight=weight / scale)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-6)
    assert one.history_["train_loss"][0] > 0.1


def test_weights_that_are_too_large_are_refused(data):
    X, y = data
    weight = np.full(len(y), 1e308)
    with pytest.raises(ValueError, match="diverged.*X or in the weights"):
        small_cnn().partial_fit(X, y, sample_weight=weight)


def test_rows_without_weight_have_no_part_in_standardising(data):
    X, y = data
    weight = np.where(np.arange(len(y)) < 30, 0.0, 1.0)
    X = np.where(weight[:, np.newaxis, np.newaxis] == 0, 1e6 * X, X)
    models = [small_cnn(), small_cnn(early_stopping=False, max_iter=1)]
    models[0].partial_fit(X, y, sample_weight=weight)
    models[1].fit(X, y, sample_weight=weight)
    expected = small_cnn(early_stopping=False, max_iter=1).fit(X[30:], y[30:])
    for model in models:
        np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))
