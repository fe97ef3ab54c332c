"""From what the user gives to what the network takes."""

from numbers import Integral, Real

import numpy as np
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import validate_data

from sklearn_superior.early_stopping._training import (
    STOPPING_CONSTRAINTS,
    check_stopping_parameters,
)
from sklearn_superior.utils._sklearn_compat import Interval

_AT_LEAST_ONE = [Interval(Integral, 1, None, closed="left")]
_CONSTRAINTS = STOPPING_CONSTRAINTS | {
    "kernel_size": _AT_LEAST_ONE,
    "hidden": _AT_LEAST_ONE,
    "batch_size": _AT_LEAST_ONE,
    "max_iter": _AT_LEAST_ONE,
    "dropout": [Interval(Real, 0, 1, closed="left")],
    "learning_rate": [Interval(Real, 0, None, closed="neither")],
    "early_stopping": ["boolean"],
    "standardize": ["boolean"],
    "class_weight": [dict, str, None],
    "amp": ["boolean"],
    "compile": ["boolean"],
    "warm_start": ["boolean"],
    "n_jobs": [Integral, None],
}
# Values that are converted at once, so that no second copy of the data is made.
_BLOCK = 2**20


def check_params(model):
    """Check the parameters of a `CNNClassifier`."""
    check_stopping_parameters(model, _CONSTRAINTS)
    if model.calibration is not None and not model.early_stopping:
        raise ValueError(
            f"calibration={model.calibration!r} needs validation data: set "
            "early_stopping=True."
        )
    losses = ("log_loss", "brier")
    if model.loss not in losses:
        raise ValueError(
            f"The 'loss' parameter must be a str among {losses}. Got {model.loss!r}."
        )
    try:
        channels = list(model.channels)
    except TypeError:
        channels = []
    if not channels or not all(isinstance(k, Integral) and k > 0 for k in channels):
        raise ValueError(
            "The 'channels' parameter must be a tuple of at least one positive "
            f"int. Got {model.channels!r}."
        )
    is_class = isinstance(model.module, type)
    is_network = hasattr(model.module, "state_dict") and not is_class
    if model.module is not None and (is_network or not callable(model.module)):
        raise ValueError(
            "The 'module' parameter must be a callable that builds a network, or "
            f"None. Got {model.module!r}."
        )


def check_windows(estimator, X, *, reset, name="X"):
    """Check windows of shape (n, length) or (n, channels, length)."""
    # With shorter windows some of the weights of a filter would never see a value.
    least = 1 if estimator.module is not None else estimator.kernel_size // 2 + 1
    n_dim = getattr(X, "ndim", None)
    if not reset and n_dim in (2, 3) and n_dim != estimator._n_dim:
        raise ValueError(
            f"{name} must have {estimator._n_dim} dimensions, as in training. "
            f"Got {n_dim}."
        )
    try:
        X = validate_data(
            estimator,
            X,
            reset=reset,
            allow_nd=True,
            dtype=(np.float64, np.float32),
            ensure_min_features=least if reset else 1,
        )
    except ValueError as exc:
        if "inhomogeneous" not in str(exc):
            raise
        raise ValueError(f"{name} must hold windows of equal length: {exc}") from exc
    shape = (1, *X.shape[1:]) if X.ndim == 2 else X.shape[1:]
    if len(shape) != 2:
        raise ValueError(
            f"{name} must be of shape (n_samples, length) or (n_samples, channels, "
            f"length). Got {X.shape}."
        )
    if shape[1] < least:
        raise ValueError(
            f"{name} must hold windows of at least {least} time steps for "
            f"kernel_size={estimator.kernel_size}. Got {shape[1]}."
        )
    if shape[0] < 1:
        raise ValueError(f"{name} must have at least one channel. Got {X.shape}.")
    if reset:
        estimator._window_shape, estimator._n_dim = shape, X.ndim
    elif shape != estimator._window_shape:
        raise ValueError(
            f"{name} must hold windows of (channels, length) "
            f"{estimator._window_shape}, as in training. Got {shape}."
        )
    return X


class ClassWeights:
    """Weights of the classes, from the labels of the training part."""

    def __init__(self, class_weight, y):
        self.by_class = class_weight
        if isinstance(class_weight, str):
            classes = np.unique(y)
            weights = compute_class_weight(class_weight, classes=classes, y=y)
            self.by_class = dict(zip(classes.tolist(), weights, strict=True))

    def apply(self, y, sample_weight):
        """Multiply weights of samples by those of classes; classes not listed: 1."""
        if self.by_class is None:
            return sample_weight
        weight = np.array([self.by_class.get(label, 1.0) for label in y.tolist()])
        return weight if sample_weight is None else weight * sample_weight


class ChannelScaler:
    """Standardises each channel; gives single precision, which the network takes."""

    def __init__(self, X=None):
        self.mean, self.scale = 0.0, 1.0
        if X is not None:
            axes = tuple(k for k in range(X.ndim) if X.ndim == 2 or k != 1)
            shape = (1, -1, 1) if X.ndim == 3 else (1, 1)
            largest = float(max(X.max(), -X.min()))
            unit = 1.0 if largest == 0 or 1e-100 < largest < 1e100 else largest
            X = X if unit == 1.0 else X / unit  # squares must not overflow
            self.mean = unit * X.mean(axis=axes, dtype=np.float64).reshape(shape)
            scale = unit * X.std(axis=axes, dtype=np.float64).reshape(shape)
            self.scale = np.where(scale > 0, scale, 1.0)

    def transform(self, X):
        """Return windows of shape (n, channels, length) in single precision."""
        scaled = np.empty(X.shape, dtype=np.float32)
        rows = max(1, _BLOCK // X[0].size)
        for start in range(0, len(X), rows):
            part = slice(start, start + rows)
            with np.errstate(over="ignore"):  # infinity, which predictions refuse
                scaled[part] = (X[part] - self.mean) / self.scale
        return scaled if X.ndim == 3 else scaled[:, np.newaxis]
