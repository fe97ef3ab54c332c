"""The temperature that a classifier ships with its probabilities."""

import numpy as np

from sklearn_superior.metrics import fit_temperature, scale_temperature


def fit_calibration(classifier, val, y_proba, own_classes):
    """Set the `temperature_` of a classifier whose `calibration` asks for it.

    Parameters
    ----------
    classifier : estimator
        The classifier.

    val : Rows
        The validation data.

    y_proba : ndarray of shape (n_val, n_classes)
        Its probabilities, as the kept stage predicts them.

    own_classes : ndarray
        The classes that the model knows. Samples of others say nothing of its
        probabilities and are left out.
    """
    vars(classifier).pop("temperature_", None)
    if classifier.calibration is None:
        return
    own = y_proba[:, np.isin(classifier.classes_, own_classes)]
    classifier.temperature_ = best_temperature(
        val.y, own, own_classes, val.sample_weight
    )


def best_temperature(y_true, y_proba, own_classes, sample_weight=None):
    """Return the best temperature for the samples of the classes of a model."""
    is_known = np.isin(y_true, own_classes)
    if sample_weight is not None:
        sample_weight = sample_weight[is_known]
    return fit_temperature(
        y_true[is_known],
        y_proba[is_known],
        sample_weight=sample_weight,
        labels=own_classes,
    )


def calibrate(classifier, y_proba):
    """Scale the probabilities of a classifier by its temperature, if it has one."""
    temperature = getattr(classifier, "temperature_", None)
    return y_proba if temperature is None else scale_temperature(y_proba, temperature)
