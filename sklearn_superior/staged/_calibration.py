"""The temperature that a classifier ships with its probabilities."""

import numpy as np

from sklearn_superior.metrics import fit_temperature, scale_temperature


def calibrates(calibration, scorer):
    """Return whether a temperature is to be shipped."""
    if calibration == "auto":
        return getattr(getattr(scorer, "score_function", None), "is_refined", False)
    return calibration is not None


def temperature_options(scorer):
    """Return the options of a refined rule that decide its temperature."""
    options = getattr(scorer, "options", {})
    return {name: options[name] for name in ("prior_scale",) if name in options}


def best_temperature(y_true, y_proba, own_classes, sample_weight=None, **options):
    """Return the best temperature for the samples of the classes of a model.

    Samples of other classes say nothing of its probabilities.
    """
    is_known = np.isin(y_true, own_classes)
    if sample_weight is not None:
        sample_weight = sample_weight[is_known]
    return fit_temperature(
        y_true[is_known],
        y_proba[is_known],
        sample_weight=sample_weight,
        labels=own_classes,
        **options,
    )


def calibrate(classifier, y_proba):
    """Scale the probabilities of a classifier by its temperature."""
    temperature = getattr(classifier, "temperature_", 1.0)
    return y_proba if temperature == 1 else scale_temperature(y_proba, temperature)
