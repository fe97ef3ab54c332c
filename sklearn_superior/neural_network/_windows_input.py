"""Windows on their way to the network: checks, rows without copies, standardising."""

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

_AT_LEAST_ONE = [Interval(Integral, 1, None, closed="left")]
_CONSTRAINTS = STOPPING_CONSTRAINTS | {
    "kernel_size": _AT_LEAST_ONE,
    "hidden": _AT_LEAST_ONE,
    "batch_size": _AT_LEAST_ONE,
    "max_iter": _AT_LEAST_ONE,
    "dropout": [Interval(Real, 0, 1, closed="left")],
    "learning_rate": [Interval(Real, 0, None, closed="neither")],
    "loss": [StrOptions({"log_loss", "brier"})],
    "optimizer": [StrOptions({"adam", "nadam", "sgd"})],
    "module": [callable, None],  # a network is callable, too
    "early_stopping": ["boolean"],
    "standardize": ["boolean"],
    "class_weight": [dict, str, None],
    "amp": ["boolean"],
    "compile": ["boolean"],
    "warm_start": ["boolean"],
    "n_jobs": [Integral, None],
}
# Values that are converted at once, so that no second copy of the data is made.
_BLOCK = 2**18


def check_params(model):
    """Check the parameters of a `CNNClassifier`."""
    check_stopping_parameters(model, _CONSTRAINTS)
    if model.calibration == "temperature" and not model.early_stopping:
        raise ValueError(
            f"calibration={model.calibration!r} needs validation data: set "
            "early_stopping=True."
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


def check_windows(estimator, X, *, shape=None, name="X"):
    """Check windows of shape (n, length) or (n, channels, length).

    `shape` is that of a window in training, None in the first call.
    """
    # With shorter windows some of the weights of a filter would never see a value.
    least = 1 if estimator.module is not None else estimator.kernel_size // 2 + 1
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
        raise _explained(exc, name) from exc
    if X.ndim not in (2, 3):
        raise ValueError(
            f"{name} must be of shape (n_samples, length) or (n_samples, channels, "
            f"length). Got {X.shape}."
        )
    n_channels, length = as_channels(X.shape[1:])
    if length < least:
        raise ValueError(
            f"{name} must hold windows of at least {least} time steps for "
            f"kernel_size={estimator.kernel_size}. Got {length}."
        )
    if n_channels < 1:
        raise ValueError(f"{name} must have at least one channel. Got {X.shape}.")
    if shape is not None and X.shape[1:] != shape:
        raise ValueError(
            f"{name} must hold windows of (channels, length) {as_channels(shape)}, as "
            f"in training. Got {as_channels(X.shape[1:])}."
        )
    return X


def as_channels(shape):
    """Return (channels, length) of a window; a 1-D window has one channel."""
    return (1, *shape) if len(shape) == 1 else tuple(shape)


def _explained(error, name):
    """Return an error of scikit-learn in words that fit windows."""
    if "inhomogeneous" in str(error):
        return ValueError(f"{name} must hold windows of equal length: {error}")
    if "contains NaN" in str(error):
        return ValueError(
            f"{name} contains NaN, which the network cannot take. Fill missing values "
            "first: sklearn.impute.SimpleImputer fills recordings, a column for each "
            "channel, before they are cut into windows, and also windows of shape "
            "(n_samples, channels * length) in a pipeline."
        )
    return error


def check_training(
    estimator, X, y, sample_weight, *, shape=None, known=None, classes=None, n_least=2
):
    """Check training data; return it with the classes.

    Parameters
    ----------
    estimator : CNNClassifier
        Its parameters define what the data must be.

    X, y, sample_weight : array-like
        The data.

    shape : tuple, default=None
        Shape of a window in earlier training.

    known : ndarray, default=None
        The classes of earlier training.

    classes : array-like, default=None
        All classes that may ever come.

    n_least : int, default=2
        How many classes `y` must have.
    """
    X = check_windows(estimator, X, shape=shape)
    check_consistent_length(X, y, sample_weight)
    y, sample_weight, present = check_target(y, sample_weight, n_least=n_least)
    given = None if classes is None else np.unique(classes)
    if known is None:
        known = present if given is None else given
        if len(known) < 2:
            raise ValueError(
                "classes must hold all the classes in the first call, at least two. "
                f"Got {known.tolist()}."
            )
    elif not (given is None or np.array_equal(given, known)):
        raise ValueError(
            f"classes must be those of the first call, {known.tolist()}. "
            f"Got {given.tolist()}."
        )
    unknown = np.setdiff1d(present, known).tolist()
    if unknown:
        raise ValueError(
            f"y must hold classes among {known.tolist()}. Got {unknown}; all classes "
            "must be given in the first call."
        )
    return X, y, sample_weight, known


class ClassWeights:
    """Weights of the classes, from the labels of the training part.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
        The parameter of the classifier.

    y : ndarray
        Labels of the training part.

    classes : ndarray, default=None
        All classes, if they are known: a dict must have no others.
    """

    def __init__(self, class_weight, y, classes=None):
        self.by_class = class_weight
        if isinstance(class_weight, dict):
            _check_class_weight(class_weight, classes)
        elif class_weight is not None:
            present = np.unique(y)
            weights = compute_class_weight(class_weight, classes=present, y=y)
            self.by_class = dict(zip(present.tolist(), weights, strict=True))

    def apply(self, y, sample_weight):
        """Multiply weights of samples by those of classes; classes not listed: 1."""
        if self.by_class is None:
            return sample_weight
        weight = np.array([self.by_class.get(label, 1.0) for label in y.tolist()])
        return weight if sample_weight is None else weight * sample_weight


def _check_class_weight(class_weight, classes):
    for label, weight in class_weight.items():
        is_number = isinstance(weight, Real) and not isinstance(weight, bool)
        if not (is_number and np.isfinite(weight) and weight >= 0):
            raise ValueError(
                "The 'class_weight' parameter must hold numbers from 0 up, without NaN "
                f"or infinity. Got {weight!r} for {label!r}."
            )
    if classes is not None:
        unknown = [k for k in class_weight if k not in set(classes.tolist())]
        if unknown:
            raise ValueError(
                "The 'class_weight' parameter must have keys among the classes, "
                f"{classes.tolist()}. Got {unknown}."
            )


def with_mean_1(weight):
    """Scale weights so that the positive ones have a mean of 1."""
    if weight is None or not weight.any():
        return weight
    weight = weight / weight.max()  # a sum of the largest floats would overflow
    return weight / weight[weight > 0].mean()


class Windows:
    """Some of the windows of an array, without a copy of them.

    Training reads them batch by batch, so that data that fills half of the memory can
    be split into parts, and can be trained on.
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
        """Yield the windows in arrays of a limited size."""
        n_rows = max(1, _BLOCK // max(1, self.X[:1].size))
        for start in range(0, len(self), n_rows):
            yield self.X[self.rows[start : start + n_rows]]


class WindowRows(Rows):
    """Windows with labels and optional weights; some of them are no copy."""

    def take(self, rows):
        """Return some of the rows."""
        weight = self.sample_weight
        return WindowRows(
            self.X[rows], self.y[rows], None if weight is None else weight[rows]
        )

    def with_weight(self):
        """Return the rows that have a weight: there is nothing to learn of others."""
        weight = self.sample_weight
        if weight is None or weight.all():
            return self
        if not weight.any():
            raise ValueError(
                "y must hold at least one sample with positive weight, that of its "
                "class included. Got none."
            )
        return self.take(np.flatnonzero(weight))


class EncodedWindows:
    """Windows as the network takes them, computed for the rows that are asked for."""

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
    """What turns windows and labels into what a network takes.

    Parameters
    ----------
    X : Windows
        Windows of the training part.

    classes : ndarray
        The classes for which the network has outputs.

    standardize : bool
        Whether to standardise the channels.

    Attributes
    ----------
    is_known : ndarray of bool
        For each class, whether the network was trained on it. The others get
        probability 0.
    """

    def __init__(self, X, classes, *, standardize):
        self.shape, self.classes = X.shape[1:], classes
        self.is_known = np.zeros(len(classes), dtype=bool)
        self.scaler = ChannelScaler(X if standardize else None)

    def knowing(self, y):
        """Return the encoding of a network that is trained on these labels, too."""
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
        """Return windows as the network takes them, row by row when they are read."""
        return EncodedWindows(X if isinstance(X, Windows) else Windows(X), self.scaler)

    def encode(self, data):
        """Return windows, numbers of classes, and weights in single precision."""
        codes, weight = np.searchsorted(self.classes, data.y), data.sample_weight
        with np.errstate(over="ignore"):  # then training diverges, which is an error
            weight = None if weight is None else weight.astype(np.float32)
        return self.transform(data.X), codes, weight


class ChannelScaler:
    """Standardises each channel; gives single precision, which the network takes.

    Weights have no part in it: they say how much a window counts, not what it looks
    like.
    """

    def __init__(self, X=None):
        self.mean, self.scale = 0.0, 1.0
        if X is not None:
            self._fit(X)

    def _fit(self, X):
        """Find mean and scale of each channel in one pass, block by block."""
        by_channel = {"axis": (0, 2) if X.ndim == 3 else (0, 1), "keepdims": True}
        size = mean = squares = np.zeros((1, X.shape[1], 1) if X.ndim == 3 else (1, 1))
        n_values, unit = 0, _power_of_two(size)
        for block in X.blocks():
            largest = np.maximum(block.max(**by_channel), -block.min(**by_channel))
            size = np.maximum(size, largest.astype(np.float64))
            # In a unit of its own, a power of two near the largest value so far, the
            # squares of no channel overflow, or vanish beside those of another.
            shrink, unit = unit / _power_of_two(size), _power_of_two(size)
            values = block / unit
            n_block = values.size // size.size
            share = n_block / (n_values + n_block)
            block_mean = values.mean(**by_channel)
            change = block_mean - shrink * mean
            mean = shrink * mean + share * change
            values -= block_mean
            squares = shrink**2 * squares + np.square(values).sum(**by_channel)
            squares += change**2 * (n_values * share)
            n_values += n_block
        self.mean = unit * mean
        scale = unit * np.sqrt(squares / n_values)
        # How much rounding spreads a constant: its values, and sums over a block.
        n_summed = min(n_values, _BLOCK)
        noise = max(np.finfo(X.dtype).eps, n_summed * np.finfo(np.float64).eps)
        self.scale = np.where(scale > noise * size, scale, 1.0)

    def transform(self, X):
        """Return windows of shape (n, channels, length) in single precision."""
        scaled = np.empty(X.shape, dtype=np.float32)
        rows = max(1, _BLOCK // max(1, X[:1].size))
        for start in range(0, len(X), rows):
            part = slice(start, start + rows)
            with np.errstate(over="ignore"):  # infinity, which predictions refuse
                scaled[part] = (X[part] - self.mean) / self.scale
        return scaled if X.ndim == 3 else scaled[:, np.newaxis]


def _power_of_two(size):
    """Return a power of two that is at most the size, above a half of it."""
    _, exponent = np.frexp(np.maximum(size, np.finfo(np.float64).smallest_subnormal))
    return np.ldexp(1.0, exponent - 1)
