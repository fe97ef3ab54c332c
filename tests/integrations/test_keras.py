"""The callback in the real training loop of Keras."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

pytest.importorskip("keras")
pytest.importorskip("torch")

import keras
from keras.callbacks import EarlyStopping, ModelCheckpoint, ReduceLROnPlateau
from sklearn.metrics import f1_score

from sklearn_superior import metrics
from sklearn_superior.integrations.keras import ScorerCallback
from sklearn_superior.metrics import get_scorer, neg_penalized_brier_scorer
from tests.early_stopping.families import make_data
from tests.metrics.forecasts import forecasts


def data(kind="five"):
    X, y, X_val, y_val = make_data(kind)
    classes, y = np.unique(y, return_inverse=True)
    return X, y, X_val, np.searchsorted(classes, y_val)


def network(kind="five", learning_rate=0.05):
    keras.utils.set_random_seed(0)
    output = {"five": (5, "softmax"), "binary": (1, "sigmoid")}[kind]
    loss = {"five": "sparse_categorical_crossentropy", "binary": "binary_crossentropy"}
    model = keras.Sequential(
        [
            keras.layers.Dense(32, activation="relu"),
            keras.layers.Dense(output[0], activation=output[1]),
        ]
    )
    model.compile(keras.optimizers.Adam(learning_rate), loss[kind])
    return model


class Weights(keras.callbacks.Callback):
    """The weights after each epoch."""

    def on_train_begin(self, logs=None):
        self.epochs = []

    def on_epoch_end(self, epoch, logs=None):
        self.epochs.append(self.model.get_weights())


@pytest.mark.parametrize("kind", ["binary", "five"])
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 0, 2, 1)])
def test_stops_and_keeps_the_best_epoch(kind, order, tmp_path):
    X, y, X_val, y_val = data(kind)
    path = tmp_path / "best.keras"
    weights = Weights()
    callbacks = [
        ScorerCallback(neg_penalized_brier_scorer, X_val, y_val),
        EarlyStopping("val_pbs", mode="max", patience=4, restore_best_weights=True),
        ModelCheckpoint(path, monitor="val_pbs", mode="max", save_best_only=True),
        weights,
    ]
    model = network(kind)
    history = model.fit(
        X, y, epochs=60, verbose=0, callbacks=[callbacks[i] for i in order]
    ).history
    scores = history["val_pbs"]
    best = int(np.argmax(scores))
    assert len(scores) == best + 1 + 4 < 60

    expected = []
    for epoch_weights in weights.epochs:
        model_of_epoch = network(kind)
        model_of_epoch.build(X.shape)
        model_of_epoch.set_weights(epoch_weights)
        y_proba = model_of_epoch.predict(X_val, verbose=0)
        labels = range(5 if kind == "five" else 2)
        expected.append(
            -metrics.penalized_brier_score_loss(y_val, y_proba, labels=labels)
        )
    assert_allclose(scores, expected, rtol=1e-12)
    saved = keras.models.load_model(path)
    for kept in (model, saved):
        for ours, theirs in zip(kept.get_weights(), weights.epochs[best], strict=True):
            assert_allclose(ours, theirs, rtol=0)


@pytest.fixture
def _double_precision():
    for dtype in ("float64", "float32"):
        keras.config.set_floatx(dtype)
        keras.config.set_dtype_policy(dtype)
        if dtype == "float64":
            yield


@pytest.mark.usefixtures("_double_precision")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_equals_the_plain_scores(data):
    y_val, y_proba = data.draw(forecasts(max_classes=5, max_samples=30))
    n_classes = y_proba.shape[1]
    weight = None
    if data.draw(st.booleans()):
        seed = data.draw(st.integers(0, 1000))
        weight = np.random.default_rng(seed).random(len(y_val)) + 0.1
    inputs = keras.Input((n_classes,))
    model = keras.Model(inputs, keras.layers.Identity()(inputs))
    target = data.draw(st.sampled_from(["numbers", "column", "one-hot"]))
    target = {
        "numbers": y_val,
        "column": y_val[:, None],
        "one-hot": np.eye(n_classes)[y_val],
    }[target]
    for name, loss in [
        ("neg_penalized_brier_score", metrics.penalized_brier_score_loss),
        ("neg_penalized_log_loss", metrics.penalized_log_loss),
    ]:
        callback = ScorerCallback(
            name, y_proba, target, sample_weight=weight, batch_size=8
        )
        callback.set_model(model)
        logs = {}
        callback.on_epoch_end(0, logs)
        read = y_proba[:, 1] if n_classes == 2 else y_proba  # as scorers do
        expected = loss(y_val, read, sample_weight=weight, labels=range(n_classes))
        assert_allclose(logs["val_pbs"], -expected, rtol=1e-12, atol=1e-15)


def test_several_scores_beside_validation_data_and_other_callbacks():
    X, y, X_val, y_val = data()
    model = network()
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    slower = ReduceLROnPlateau(
        "val_pbs", mode="max", patience=0, factor=0.5, min_delta=10.0
    )
    history = model.fit(
        X,
        y,
        validation_data=(X_val, y_val),
        epochs=3,
        verbose=0,
        callbacks=[
            ScorerCallback("f1_macro", X_val, y_val, name="val_f1"),
            ScorerCallback(get_scorer("neg_penalized_brier_score"), X_val, y_val),
            slower,
        ],
    ).history
    assert {"accuracy", "val_accuracy", "val_loss", "val_f1", "val_pbs"} < set(history)
    y_pred = model.predict(X_val, verbose=0).argmax(axis=1)
    assert history["val_f1"][-1] == f1_score(y_val, y_pred, average="macro")
    assert history["learning_rate"] == pytest.approx([1e-3, 1e-3, 5e-4])


def test_a_callback_can_be_used_in_several_fits():
    X, y, X_val, y_val = data()
    scorer = ScorerCallback(neg_penalized_brier_scorer, X_val, y_val)
    first, second = (
        network().fit(
            X,
            y,
            epochs=4,
            verbose=0,
            callbacks=[scorer, EarlyStopping("val_pbs", mode="max")],
        )
        for _ in range(2)
    )
    assert_allclose(second.history["val_pbs"], first.history["val_pbs"], rtol=1e-12)


def test_callbacks_in_another_order_or_mode():
    """What Keras itself says where the notes of the class are not heeded."""
    X, y, X_val, y_val = data()
    scorer = ScorerCallback(neg_penalized_brier_scorer, X_val, y_val)
    stop = EarlyStopping("val_pbs", mode="max", patience=0)
    with pytest.warns(UserWarning, match="metric `val_pbs` which is not available"):
        network().fit(X, y, epochs=2, verbose=0, callbacks=[stop, scorer])
    automatic = EarlyStopping("val_pbs")
    with pytest.raises(ValueError, match="Pass `mode='max'`"):
        network().fit(X, y, epochs=2, verbose=0, callbacks=[scorer, automatic])
    assert automatic.mode == "auto"  # the user's objects are left as they are


def test_bad_arguments_are_refused():
    X, y, X_val, y_val = data()
    PBS = neg_penalized_brier_scorer
    for message, arguments in [
        ("'scorer' parameter must be a scorer, or the name", ("pbs", X_val, y_val)),
        ("'scorer' parameter must be a str or a callable", (None, X_val, y_val)),
        (
            "'scorer' parameter must be a scorer. Got the metric penalized_log_loss",
            (metrics.penalized_log_loss, X_val, y_val),
        ),
        ("'name' parameter must be a str. Got 3", (PBS, X_val, y_val, 3)),
        ("y_val has rows that are not one-hot", (PBS, X_val, np.ones((3, 2)))),
        (r"y_val must hold .* dtype <U", (PBS, X_val, y_val.astype(str))),
        ("y_val must hold .* from 0 up. Got values from -1", (PBS, X_val, y_val - 1)),
        ("X_val and y_val .* rows. Got 3 and 2", (PBS, X_val[:3], y_val[:2])),
    ]:
        with pytest.raises(ValueError, match=message):
            ScorerCallback(*arguments)
    model = network()
    for message, arguments in [
        ("class numbers .* from 0 to 4. Got 5", (PBS, X_val, y_val + 1)),
        ("'name' parameter must differ .* Got 'loss'", (PBS, X_val, y_val, "loss")),
    ]:
        with pytest.raises(ValueError, match=message):
            model.fit(X, y, verbose=0, callbacks=[ScorerCallback(*arguments)])
    twice = [ScorerCallback(PBS, X_val, y_val) for _ in range(2)]
    with pytest.raises(ValueError, match="'name' .* must differ .* Got 'val_pbs'"):
        model.fit(X, y, verbose=0, callbacks=twice)
    inputs = [keras.Input((12,)), keras.Input((12,))]
    outputs = keras.layers.Dense(5, "softmax")(keras.layers.Concatenate()(inputs))
    two = keras.Model(inputs, outputs)
    two.compile("adam", "sparse_categorical_crossentropy")
    scorer = ScorerCallback(PBS, [X_val[:3]] * 2, y_val[:2])
    with pytest.raises(ValueError, match="X_val and y_val .* rows. Got 3 and 2"):
        two.fit([X, X], y, verbose=0, callbacks=[scorer])
    logits = keras.Sequential([keras.layers.Dense(5)])
    logits.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    with pytest.raises(ValueError, match="end it with a softmax"):
        logits.fit(X, y, verbose=0, callbacks=[ScorerCallback(PBS, X_val, y_val)])
    inputs = keras.Input((X.shape[1],))
    two = keras.Model(inputs, [keras.layers.Dense(5)(inputs)] * 2)
    two.compile("adam", ["mse", "mse"])
    with pytest.raises(ValueError, match="The model must have one output.* Got list"):
        two.fit(
            X,
            [np.eye(5)[y]] * 2,
            verbose=0,
            callbacks=[ScorerCallback(PBS, X_val, y_val)],
        )


def test_errors_come_before_training():
    X, y, X_val, y_val = data()
    model = network()
    weights = Weights()
    scorer = ScorerCallback("f1_macro", X_val, y_val)
    for callback in (
        ScorerCallback("f1_macro", X_val, y_val + 1, name="val_f1"),
        ScorerCallback("f1_macro", X_val[:, :3], y_val, name="val_f1"),
    ):
        with pytest.raises(ValueError, match=r"class numbers|shape"):
            model.fit(X, y, verbose=0, callbacks=[weights, scorer, callback])
        assert getattr(weights, "epochs", []) == []


def test_epochs_gone_astray_do_not_lose_the_best_one():
    X, y, X_val, y_val = data()
    model = network()

    class Spoil(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            if epoch == 3:
                weights = self.model.get_weights()
                self.model.set_weights([w * np.nan for w in weights])

    scorer = ScorerCallback(neg_penalized_brier_scorer, X_val, y_val)
    stop = EarlyStopping("val_pbs", mode="max", patience=2, restore_best_weights=True)
    history = model.fit(X, y, epochs=9, verbose=0, callbacks=[Spoil(), scorer, stop])
    scores = np.array(history.history["val_pbs"])
    assert np.isnan(scores).tolist() == [False] * 3 + [True] * (len(scores) - 3)
    y_proba = model.predict(X_val, verbose=0)
    expected = -metrics.penalized_brier_score_loss(y_val, y_proba, labels=range(5))
    assert_allclose(np.nanmax(scores), expected, rtol=1e-6)


def test_half_precision_is_scored_in_single_precision():
    X, y, X_val, y_val = data()
    model = keras.Sequential(
        [keras.layers.Dense(5, activation="softmax", dtype="bfloat16")]
    )
    model.compile("adam", "sparse_categorical_crossentropy")
    scorer = ScorerCallback("neg_penalized_log_loss", X_val, y_val)
    scores = model.fit(X, y, verbose=0, callbacks=[scorer]).history["val_pbs"]
    y_proba = model.predict(X_val, verbose=0).astype(np.float32)
    y_proba /= y_proba.sum(axis=1, keepdims=True)
    expected = metrics.penalized_log_loss(y_val, y_proba, labels=range(5))
    assert_allclose(scores, -expected, rtol=1e-6)


def test_missing_backend_is_explained():
    code = "import sklearn_superior.integrations.keras"
    environment = os.environ | {"KERAS_BACKEND": "jax"}
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment
    )
    assert "ImportError: Keras cannot find its backend: No module named 'jax" in (
        run.stderr
    )
    assert "KERAS_BACKEND, for example torch" in run.stderr
