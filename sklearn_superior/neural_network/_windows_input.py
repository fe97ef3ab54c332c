"""From the user's windows and labels to the input of the network."""

from copy import copy
from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_consistent_length
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import validate_data

from sklearn_superior.early_stopping._holdout import (
    STOPPING_CONSTRAINTS,
    check_stopping_parameters,
)
from sklearn_superior.utils._checks import Rows, check_target
from sklearn_superior.utils._sklearn_compat import Interval, StrOptions

_AT_LEAST_ZERO = Interval(Real, 0, None, closed="left")
_SIZES = ("kernel_size", "hidden", "batch_size", "max_iter")
_FLAGS = ("early_stopping", "standardize", "amp", "compile", "warm_start")
_CONSTRAINTS = {
    **STOPPING_CONSTRAINTS,
    **dict.fromkeys(_SIZES, [Interval(Integral, 1, None, closed="left")]),
    **dict.fromkeys(_FLAGS, ["boolean"]),
    "dropout": [Interval(Real, 0, 1, closed="left")],
    "learning_rate": [Interval(Real, 0, None, closed="neither")],
    "clip_norm": [Interval(Real, 0, None, closed="neither"), None],
    "ema": [Interval(Real, 0, 1, closed="neither"), None],
    "loss": [StrOptions({"log_loss", "brier"})],
    "optimizer": [StrOptions({"adam", "nadam", "sgd"})],
    # A network is callable, too.
    "module": [StrOptions({"paper", "residual"}), callable],
    "class_weight": [dict, str, None],
    "n_jobs": [Integral, None],
}
# Values that are converted at once, so that the data is never copied as a whole.
_BLOCK = 2**18


def check_params(model):
    """Check the parameters of a `CNNClassifier`."""
    check_stopping_parameters(model, _CONSTRAINTS)
    if model.calibration == "temperature" and not model.early_stopping:
        raise ValueError(
            "calibration='temperature' needs validation data: set early_stopping=True."
        )
    channels = np.array(model.channels)
    if channels.dtype.kind not in "iu" or channels.ndim != 1 or channels.min() < 1:
        raise ValueError(
            "The 'channels' parameter must be a non-empty tuple of positive ints. "
            f"Got {model.channels!r}."
        )


def check_windows(estimator, X, *, shape=None, name="X"):
    """Check windows of shape (n, length) or (n, channels, length).

    `shape` is the shape of a training window, or None in the first call.
    """
    # With shorter windows some weights of a filter would never see a value.
    least = estimator.kernel_size // 2 + 1 if estimator.module == "paper" else 1
    n_dim = getattr(X, "ndim", None)
    if shape is not None and n_dim in (2, 3) and n_dim != 1 + len(shape):
        raise ValueError(
            f"{name} must have {1 + len(shape)} dimensions, as in training. "
            f"Got {n_dim}."
        )
    try:
        X = validate_data(
            estimator,
            X,
            reset=shape is None,
            allow_nd=True,
            dtype=(np.float64, np.float32),
            ensure_min_features=least if shape is None else 1,
        )
    except ValueError as exc:
        problem = str(exc)
        if "inhomogeneous" in problem:
            problem = f"{name} must hold windows of equal length: {exc}"
        elif "contains NaN" in problem:
            problem = (
                f"{name} contains NaN, which the network cannot handle. Impute missing "
                "values with SimpleImputer before you cut recordings into windows, or "
                "in a pipeline on windows of shape (n_samples, channels * length)."
            )
        raise ValueError(problem) from exc
    if X.ndim not in (2, 3):
        raise ValueError(
            f"{name} must have shape (n_samples, length) or (n_samples, channels, "
            f"length). Got {X.shape}."
        )
    n_channels, length = as_channels(X.shape[1:])
    if length < least or n_channels < 1:
        raise ValueError(
            f"{name} must hold windows with at least one channel and at least {least} "
            f"time steps for kernel_size={estimator.kernel_size}. Got {X.shape}."
        )
    if shape is not None and X.shape[1:] != shape:
        raise ValueError(
            f"{name} must hold windows of (channels, length) {as_channels(shape)}, as "
            f"in training. Got {as_channels(X.shape[1:])}."
        )
    return X


def as_channels(shape):
    """Return (channels, length) of a window; a 1-D window has one channel."""
    return (1, *shape) if len(shape) == 1 else tuple(shape)


def check_training(model, data, *, continues=False, classes=None, n_least=2):
    """Return checked training data, and set the classes of the model.

    Parameters
    ----------
    model : CNNClassifier
        Its parameters define what the data must be like.

    data : Rows
        The data.

    continues : bool, default=False
        Whether the model was trained before, with windows and classes alike.

    classes : array-like, default=None
        All classes that may occur in further calls.

    n_least : int, default=2
        Minimum number of classes in `y`.
    """
    X = check_windows(model, data.X, shape=model._encoding.shape if continues else None)
    check_consistent_length(X, data.y, data.sample_weight)
    y, weight, present = check_target(data.y, data.sample_weight, n_least=n_least)
    given = None if classes is None else np.unique(classes)
    if not continues:
        model.classes_ = present if given is None else given
    known = model.classes_.tolist()
    if len(known) < 2:
        raise ValueError(f"classes must list all classes at first. Got {known}.")
    if not (given is None or np.array_equal(given, model.classes_)):
        raise ValueError(
            f"classes must be the same as in the first call, {known}. "
            f"Got {given.tolist()}."
        )
    unknown = np.setdiff1d(present, model.classes_).tolist()
    if unknown:
        raise ValueError(
            f"y must hold classes among {known}. Got {unknown}; the first call must be "
            "given all classes."
        )
    return WindowRows(Windows(X), y, weight)


def weigh_classes(class_weight, y, classes=None):
    """Return a function that multiplies the weights of rows by class weights.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
        The parameter of the classifier.

    y : ndarray
        Training labels, whose frequencies ``"balanced"`` refers to.

    classes : ndarray, default=None
        All classes, if they are known: a dict must not have others.
    """
    if class_weight is None:
        return lambda data: None
    by_class = class_weight
    if not isinstance(class_weight, dict):
        present = np.unique(y)
        weights = compute_class_weight(class_weight, classes=present, y=y)
        by_class = dict(zip(present.tolist(), weights, strict=True))
    for label, weight in by_class.items():
        if isinstance(weight, bool) or not _AT_LEAST_ZERO.is_satisfied_by(weight):
            raise ValueError(
                "The 'class_weight' parameter must hold non-negative numbers, without "
                f"NaN or infinity. Got {weight!r} for {label!r}."
            )
    unknown = [] if classes is None else [k for k in by_class if k not in classes]
    if unknown:
        raise ValueError(
            "The 'class_weight' parameter must have keys among the classes, "
            f"{classes.tolist()}. Got {unknown}."
        )

    def apply(data):
        weight = np.array([by_class.get(label, 1.0) for label in data.y.tolist()])
        own = data.sample_weight
        data.sample_weight = weight if own is None else weight * own

    return apply


class Windows:
    """A subset of the windows in an array, without copying them.

    Training reads them batch by batch. Data that fills half of the memory can thus be
    split and trained on.
    """

    def __init__(self, X, rows=None):
        self.X = X
        self.rows = np.arange(len(X)) if rows is None else rows
        self.shape, self.dtype = (len(self.rows), *X.shape[1:]), X.dtype
        self.ndim = len(self.shape)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, key):
        return Windows(self.X, self.rows[key])

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.X[self.rows], dtype=dtype)

    def blocks(self):
        """Yield the windows in arrays of limited size."""
        for part in _blocks(self):
            yield self.X[self.rows[part]]


def _blocks(X):
    """Yield slices of rows with a limited number of values."""
    n_rows = max(1, _BLOCK // max(1, int(np.prod(X.shape[1:]))))
    for start in range(0, len(X), n_rows):
        yield slice(start, start + n_rows)


class WindowRows(Rows):
    """Windows with labels and optional weights; taking rows does not copy windows."""

    def take(self, rows):
        """Return some of the rows."""
        weight = self.sample_weight
        return WindowRows(
            self.X[rows], self.y[rows], None if weight is None else weight[rows]
        )

    def with_weight(self):
        """Return the rows of positive weight: there is nothing to learn from others."""
        weight = self.sample_weight
        if weight is None or weight.all():
            return self
        if not weight.any():
            raise ValueError(
                "y must hold at least one sample of positive weight, class weights "
                "included. Got none."
            )
        return self.take(np.flatnonzero(weight))


class EncodedWindows:
    """Windows as input of the network, computed only for the rows that are read."""

    def __init__(self, windows, scaler):
        self.windows, self.scaler = windows, scaler
        self.shape = (len(windows), *as_channels(windows.shape[1:]))
        self.nbytes = 4 * int(np.prod(self.shape))

    def __len__(self):
        return len(self.windows)

    def __getitem__(self, rows):
        rows = self.windows.rows[rows if isinstance(rows, slice) else np.asarray(rows)]
        return self.scaler.transform(self.windows.X[rows])


class Encoding:
    """Turns windows and labels into the input of a network.

    Parameters
    ----------
    X : Windows
        Training windows.

    classes : ndarray
        The classes for which the network has outputs.

    standardize : bool
        Whether to standardise the channels.

    Attributes
    ----------
    is_known : ndarray of bool
        Whether the network was trained on a class. Other classes get probability 0.
    """

    def __init__(self, X, classes, *, standardize):
        self.shape, self.classes = X.shape[1:], classes
        self.is_known = np.zeros(len(classes), dtype=bool)
        self.scaler = ChannelScaler(X if standardize else None)

    def knowing(self, y):
        """Return the encoding of a network that is also trained on these labels."""
        encoding = copy(self)
        encoding.is_known = self.is_known | np.isin(self.classes, y)
        return encoding

    @property
    def known_classes(self):
        """The classes that the network was trained on."""
        return self.classes[self.is_known]

    @property
    def window_shape(self):
        """Number of channels and length."""
        return as_channels(self.shape)

    def transform(self, X):
        """Return windows as input of the network, computed row by row when read."""
        return EncodedWindows(X if isinstance(X, Windows) else Windows(X), self.scaler)

    def encode(self, data):
        """Return windows, class indices, and weights in single precision."""
        codes, weight = np.searchsorted(self.classes, data.y), data.sample_weight
        with np.errstate(over="ignore"):  # training then diverges, which is reported
            weight = None if weight is None else weight.astype(np.float32)
        return self.transform(data.X), codes, weight


class ChannelScaler:
    """Standardises each channel; returns single precision.

    Weights are ignored: they say how much a window counts, not what it looks like.
    """

    def __init__(self, X=None):
        self.mean, self.scale = 0.0, 1.0
        if X is not None:
            self._fit(X)

    def _fit(self, X):
        """Compute mean and scale of each channel in one pass, block by block."""
        by_channel = {"axis": (0, 2) if X.ndim == 3 else (0, 1), "keepdims": True}
        size = mean = squares = np.zeros((1, X.shape[1], 1) if X.ndim == 3 else (1, 1))
        n_values = 0
        for block in X.blocks():
            values = block.astype(np.float64)
            size = np.maximum(size, np.abs(values).max(**by_channel))
            n_block = values.size // size.size
            share = n_block / (n_values + n_block)
            # Chan's update of mean and squares is stable where sums would not be.
            block_mean = values.mean(**by_channel)
            change = block_mean - mean
            mean = mean + share * change
            values -= block_mean
            squares = squares + np.square(values).sum(**by_channel)
            squares += change**2 * (n_values * share)
            n_values += n_block
        self.mean = mean
        scale = np.sqrt(squares / n_values)
        # A constant channel has a scale of this order, by rounding of its values and
        # of the sums over a block. Dividing by it would blow up noise.
        n_summed = min(n_values, _BLOCK)
        noise = max(np.finfo(X.dtype).eps, n_summed * np.finfo(np.float64).eps)
        self.scale = np.where(scale > noise * size, scale, 1.0)

    def transform(self, X):
        """Return windows of shape (n, channels, length) in single precision."""
        scaled = np.empty(X.shape, dtype=np.float32)
        for part in _blocks(X):
            with np.errstate(over="ignore"):  # infinity, which predictions refuse
                scaled[part] = (X[part] - self.mean) / self.scale
        return scaled if X.ndim == 3 else scaled[:, np.newaxis]
