"""Scores of validation data in Keras training loops."""

import numpy as np

from sklearn_superior.staged._scoring import StageScorer, check_scorer
from sklearn_superior.utils._checks import with_mean_one
from sklearn_superior.utils._optional import import_optional

try:
    keras = import_optional(
        "keras", caller="sklearn_superior.integrations.keras", extra="keras"
    )
except ModuleNotFoundError as exc:
    raise ImportError(
        f"Keras cannot find its backend: {exc}. Install it, or select another one with "
        "the environment variable KERAS_BACKEND, for example torch."
    ) from exc

__all__ = ["ScorerCallback"]


class ScorerCallback(keras.callbacks.Callback):  # type: ignore[name-defined]
    """Score validation data after each epoch, for other callbacks to monitor.

    Parameters
    ----------
    scorer : str or callable
        Any scorer or the name of one, for example
        :data:`sklearn_superior.metrics.neg_penalized_brier_scorer` or ``"f1_macro"``.
        Greater is better.

    X_val : array-like
        Validation data, as `model.predict` takes it.

    y_val : array-like of shape (n_samples,) or (n_samples, n_classes)
        Numbers of the true classes, from 0 up, or one-hot.

    name : str, default="val_pbs"
        Name of the score in the logs and in the history. Its value is that of the
        scorer: the *negated* loss with `neg_penalized_brier_scorer`. A ``"val_pbs"``
        logged in Lightning by
        :class:`sklearn_superior.integrations.torchmetrics.PenalizedBrierScore` is the
        loss itself, which has the opposite sign and needs ``mode="min"``.

    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the validation data.

    batch_size : int, default=None
        Number of rows predicted at once; None is the Keras default.

    Notes
    -----
    List it *before* the callbacks that monitor `name`, such as `EarlyStopping`,
    `ModelCheckpoint` and `ReduceLROnPlateau`: Keras calls callbacks in the order of the
    list, and earlier ones warn that the metric is not available. Give them
    ``mode="max"``, since greater is better; ``mode="auto"`` raises an error.

    The model must return probabilities: a column for each class, or a single one for
    class 1 of two. This is checked once before training. `fit` may have validation data
    of its own. If training diverges and the model returns NaN, the score is NaN, which
    no callback counts as an improvement.

    Keras takes its backend from the environment variable ``KERAS_BACKEND``; the package
    is tested with ``torch``.

    Examples
    --------
    >>> import keras
    >>> from sklearn.datasets import load_iris
    >>> from sklearn_superior.integrations.keras import ScorerCallback
    >>> from sklearn_superior.metrics import neg_penalized_brier_scorer
    >>> X, y = load_iris(return_X_y=True)
    >>> keras.utils.set_random_seed(0)
    >>> model = keras.Sequential([keras.layers.Dense(3, activation="softmax")])
    >>> model.compile("adam", "sparse_categorical_crossentropy")
    >>> callbacks = [
    ...     ScorerCallback(neg_penalized_brier_scorer, X[1::2], y[1::2]),
    ...     keras.callbacks.EarlyStopping(
    ...         "val_pbs", mode="max", restore_best_weights=True
    ...     ),
    ... ]
    >>> history = model.fit(X[::2], y[::2], epochs=3, callbacks=callbacks, verbose=0)
    >>> sorted(history.history)
    ['loss', 'val_pbs']
    """

    def __init__(
        self,
        scorer,
        X_val,
        y_val,
        name="val_pbs",
        *,
        sample_weight=None,
        batch_size=None,
    ):
        super().__init__()
        if scorer is None:
            raise ValueError("The 'scorer' parameter must be a str or a callable.")
        check_scorer(scorer, "scorer")
        if not (isinstance(name, str) and name):
            raise ValueError(f"The 'name' parameter must be a str. Got {name!r}.")
        self.scorer = scorer
        self.X_val = X_val
        self.y_val = _class_numbers(y_val)
        self.name = name
        if sample_weight is not None:
            sample_weight = np.asarray(sample_weight)
        for what, rows in (("sample_weight", sample_weight), ("X_val", X_val)):
            if hasattr(rows, "shape"):
                self._check_rows(what, rows)
        self.sample_weight = sample_weight
        self.batch_size = batch_size
        self._score = None

    def on_train_begin(self, logs=None):
        """Check that the model returns probabilities, before much time is spent."""
        self._score = None
        self._predict()

    def on_epoch_end(self, epoch, logs=None):
        """Add the score to the logs."""
        if self.name in logs:
            raise ValueError(
                f"The 'name' parameter must differ from the other metrics, "
                f"{sorted(logs)}. Got {self.name!r}."
            )
        y_proba = self._predict()
        if self._score is None:
            classes, weight = np.arange(y_proba.shape[1]), self.sample_weight
            inputs = classes, self.X_val, self.y_val, with_mean_one(weight)
            self._score = StageScorer(self.scorer, *inputs, name="scorer")
        logs[self.name] = self._score(y_proba)

    def _check_rows(self, what, rows):
        if len(rows) != len(self.y_val):
            raise ValueError(
                f"{what} and y_val must have the same number of rows. "
                f"Got {len(rows)} and {len(self.y_val)}."
            )

    def _predict(self):
        y_proba = self.model.predict(self.X_val, batch_size=self.batch_size, verbose=0)
        shape = getattr(y_proba, "shape", ())
        if len(shape) not in (1, 2):
            raise ValueError(
                "The model must have one output, of shape (n_samples, n_classes) or "
                f"(n_samples, 1). Got {shape or type(y_proba).__name__}."
            )
        self._check_rows("X_val", y_proba)
        is_coarse = y_proba.dtype.kind != "f"  # bfloat16 is not a NumPy dtype
        if is_coarse:
            y_proba = y_proba.astype(np.float32)
        low, high = y_proba.min(), y_proba.max()
        if low < 0 or high > 1:
            raise ValueError(
                "The model must return probabilities: end it with a softmax, or with a "
                f"sigmoid for two classes. Got values from {low} to {high}."
            )
        if y_proba.ndim == 1 or y_proba.shape[1] == 1:
            y_proba = y_proba.ravel()
            y_proba = np.column_stack([1 - y_proba, y_proba])
        elif is_coarse:
            y_proba /= y_proba.sum(axis=1, keepdims=True)
        if self.y_val.max() >= y_proba.shape[1]:
            raise ValueError(
                "y_val must hold class numbers of the model, from 0 to "
                f"{y_proba.shape[1] - 1}. Got {self.y_val.max()}."
            )
        return y_proba


def _class_numbers(y_val):
    """Return the numbers of the classes as a 1-D array of integers."""
    y_val = np.asarray(y_val)
    if y_val.ndim == 2 and y_val.shape[1] == 1:
        y_val = y_val[:, 0]
    if y_val.dtype.kind not in "biuf" or y_val.ndim not in (1, 2) or y_val.size == 0:
        raise ValueError(
            "y_val must hold the numbers of the classes, or be one-hot of shape "
            f"(n_samples, n_classes). Got shape {y_val.shape} and dtype {y_val.dtype}."
        )
    if y_val.ndim == 2:
        if not (np.isin(y_val, (0, 1)).all() and (y_val.sum(axis=1) == 1).all()):
            raise ValueError(
                "y_val has rows that are not one-hot (a single 1, all else 0)."
            )
        return y_val.argmax(axis=1)
    numbers = y_val.astype(np.int64)
    if (numbers != y_val).any() or numbers.min() < 0:
        raise ValueError(
            "y_val must hold the numbers of the classes, from 0 up. "
            f"Got values from {y_val.min()} to {y_val.max()}."
        )
    return numbers
