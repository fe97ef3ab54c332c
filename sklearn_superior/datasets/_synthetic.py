"""Synthetic recordings of motion sensors."""

from numbers import Real

import numpy as np
from scipy.signal import lfilter
from sklearn.utils import Bunch, check_random_state

from sklearn_superior.utils._sklearn_compat import (
    Interval,
    check_parameters,
    integer_from,
)

_CONSTRAINTS = {
    "n_classes": [integer_from(2)],
    "n_series": [integer_from(1)],
    "n_timepoints": [integer_from(1)],
    "n_channels": [integer_from(1)],
    "difficulty": [Interval(Real, 0, 1, closed="both")],
}

_N_HARMONICS = 3
_PERIOD = 20  # time points in a cycle of the middle class
_SLOW = 250  # time points over which drifts decay
_FAST = 3  # time points over which noise decays


def make_motion_signals(
    n_classes=5,
    n_series=1,
    n_timepoints=2000,
    n_channels=3,
    difficulty=0.5,
    random_state=None,
):
    """Generate recordings of rhythmic motion, such as several people walking.

    Each class has its own tempo, and its own waveform and level in each channel.
    Recordings of a class vary slightly. Within a recording, tempo, amplitude and level
    drift slowly, and the noise is autocorrelated, as with real sensors.

    Parameters
    ----------
    n_classes : int, default=5
        Number of classes.

    n_series : int, default=1
        Number of recordings of each class.

    n_timepoints : int, default=2000
        Number of time points in a recording.

    n_channels : int, default=3
        Number of channels.

    difficulty : float, default=0.5
        From 0 (well-separated classes, little noise and drift) to 1 (similar classes,
        strong noise and drift).

    random_state : int, RandomState instance or None, default=None
        Pass an int for reproducible output across calls.

    Returns
    -------
    recordings : Bunch
        Dictionary-like object, with the following attributes:

        data : ndarray of shape (n_classes * n_series * n_timepoints, n_channels)
            The recordings, concatenated.
        target : ndarray of int64 of shape (n_classes * n_series * n_timepoints,)
            Class of each row.
        groups : ndarray of int64 of shape (n_classes * n_series * n_timepoints,)
            Recording of each row.
        feature_names : list of str
            Names of the channels.
        DESCR : str
            Description of the data.

    See Also
    --------
    sklearn_superior.model_selection.sliding_windows : Cut recordings into windows.
    fetch_paper_dataset : Real recordings.

    Notes
    -----
    A cycle takes about 20 time points, so windows of 40 to 60 hold a few cycles. The
    classes depend only on `n_classes`, `n_channels`, `difficulty` and `random_state`.

    Examples
    --------
    >>> from sklearn_superior.datasets import make_motion_signals
    >>> from sklearn_superior.model_selection import sliding_windows
    >>> recordings = make_motion_signals(n_classes=3, n_series=2, random_state=0)
    >>> recordings.data.shape, recordings.feature_names
    ((12000, 3), ['channel_0', 'channel_1', 'channel_2'])

    >>> windows = sliding_windows(
    ...     recordings.data, recordings.target, length=50, groups=recordings.groups
    ... )
    >>> windows.X.shape
    (906, 3, 50)
    """
    checked = check_parameters("make_motion_signals", _CONSTRAINTS, locals())
    n_classes, n_series, n_timepoints, n_channels, difficulty = checked.values()
    rng = check_random_state(random_state)

    tempo, shape, level = _make_classes(rng, n_classes, n_channels, difficulty)
    label = np.repeat(np.arange(n_classes), n_series)
    tempo = tempo[label] * np.exp(0.02 * rng.normal(size=len(label)))
    shape = shape[label] + 0.15 * _make_shapes(rng, len(label), n_channels)
    signal = _move(rng, tempo, shape, n_timepoints, difficulty)
    signal += level[label, :, None]
    signal += (0.2 + 0.6 * difficulty) * _remember(rng, signal.shape, _SLOW)
    signal += (0.3 + 1.5 * difficulty) * _remember(rng, signal.shape, _FAST)
    return Bunch(
        data=np.ascontiguousarray(signal.transpose(0, 2, 1)).reshape(-1, n_channels),
        target=np.repeat(label, n_timepoints),
        groups=np.repeat(np.arange(len(label)), n_timepoints),
        feature_names=[f"channel_{k}" for k in range(n_channels)],
        DESCR=(
            f"Synthetic recordings of rhythmic motion: {n_classes} classes, {n_series} "
            f"series of each, {n_timepoints} time points, {n_channels} channels, "
            f"difficulty {difficulty}."
        ),
    )


def _make_classes(rng, n_classes, n_channels, difficulty):
    """Return tempo, waveform and level of each class; similar if it is difficult."""
    apart = 1 - 0.75 * difficulty
    # Many classes are closer together, so that no tempo exceeds the sampling rate.
    spacing = apart * min(0.2, 2 / n_classes)
    rank = rng.permutation(n_classes) - (n_classes - 1) / 2
    tempo = 2 * np.pi / _PERIOD * np.exp(spacing * rank)
    common = np.sqrt(1 - apart**2) * _make_shapes(rng, 1, n_channels)
    shape = common + apart * _make_shapes(rng, n_classes, n_channels)
    level = 0.5 * apart * rng.normal(size=(n_classes, n_channels))
    return tempo, shape, level


def _make_shapes(rng, n, n_channels):
    """Return weights of sine and cosine; higher harmonics have smaller weights."""
    weights = rng.normal(size=(n, n_channels, 2, _N_HARMONICS))
    return weights / np.arange(1, _N_HARMONICS + 1)


def _move(rng, tempo, shape, n_timepoints, difficulty):
    """Return the motion, of shape (n_series, n_channels, n_timepoints)."""
    n_series = len(tempo)
    drift = (0.04 + 0.12 * difficulty) * _remember(rng, (n_series, n_timepoints), _SLOW)
    phase = np.cumsum(tempo[:, None] * np.exp(drift), axis=1)
    cycles = np.arange(1, _N_HARMONICS + 1)[:, None] * phase[:, None]
    motion = shape[:, :, 0] @ np.sin(cycles) + shape[:, :, 1] @ np.cos(cycles)
    return motion * np.exp(0.25 * _remember(rng, (n_series, 1, n_timepoints), _SLOW))


def _remember(rng, shape, memory):
    """Return an AR(1) process of unit variance that decays over `memory` points."""
    kept = np.exp(-1 / memory)
    noise = rng.normal(size=shape)
    noise[..., 1:] *= np.sqrt(1 - kept**2)
    return lfilter([1.0], [1.0, -kept], noise, axis=-1)
