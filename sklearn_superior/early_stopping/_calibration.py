"""The temperature that a classifier ships with its probabilities."""

import numpy as np

from sklearn_superior.metrics import fit_temperature, scale_temperature
from sklearn_superior.utils._warnings import warn

# Where the validation data is separated, `fit_temperature` returns less than this.
_LEAST = 2e-3


def fit_calibration(classifier, val, y_proba, own_classes):
    """Set the `temperature_` of a classifier whose `calibration` asks for it.

    Parameters
    ----------
    classifier : estimator
        The classifier.

    val : Rows
        The validation data.

    y_proba : callable
        Called with the data of `val`; returns the probabilities of `own_classes`.

    own_classes : ndarray
        The classes that the model knows. Samples of others say nothing of its
        probabilities and are left out.
    """
    vars(classifier).pop("temperature_", None)
    if classifier.calibration is None:
        return
    y_proba = y_proba(val.X)
    is_known = np.isin(val.y, own_classes)
    weight = val.sample_weight
    temperature = fit_temperature(
        val.y[is_known],
        y_proba[is_known],
        sample_weight=None if weight is None else weight[is_known],
        labels=own_classes,
    )
    if temperature < _LEAST:
        warn(
            "No temperature is the best: the more extreme the probabilities of the "
            "validation data, the better. They are left as they are, with "
            "temperature_ = 1. More validation data would help.",
        )
        temperature = 1.0
    classifier.temperature_ = temperature


def calibrate(classifier, y_proba):
    """Scale the probabilities of a classifier by its temperature, if it has one."""
    temperature = getattr(classifier, "temperature_", None)
    return y_proba if temperature is None else scale_temperature(y_proba, temperature)
