"""What is checked before training, and how windows are scaled."""

import numpy as np
import pytest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

pytest.importorskip("torch")

from sklearn_superior.early_stopping import EarlyStoppingClassifier
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
@pytest.mark.parametrize("value", [9.81, -1e-8, 101_325.7, 1e150, 1e-150, 0.0])
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
        with pytest.raises(ValueError, match="'class_weight' .*numbers from 0 up"):
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
    with pytest.raises(ValueError, match="at least one sample with positive weight"):
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
