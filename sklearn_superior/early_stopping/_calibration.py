"""The temperature that a classifier ships with its probabilities."""

import numpy as np

from sklearn_superior.metrics import fit_temperature, scale_temperature


def fit_calibration(classifier, scorer, val, y_proba, own_classes):
    """Set the `temperature_` of a classifier, 1.0 if it is not to be calibrated.

    Parameters
    ----------
    classifier : estimator
        Its `calibration` is ``"temperature"``, None, or ``"auto"``: a temperature if
        the scorer is that of a refined rule.

    scorer : callable
        What chose the stage. If its rule is a refined one it has the options of the
        temperature, so that what was judged is what is shipped.

    val : Rows
        The validation data.

    y_proba : ndarray of shape (n_val, n_classes)
        Its probabilities, as the kept stage predicts them.

    own_classes : ndarray
        The classes that the model knows. Samples of others say nothing of its
        probabilities and are left out.
    """
    classifier.temperature_ = 1.0
    if not calibrates(classifier.calibration, scorer):
        return
    own = y_proba[:, np.isin(classifier.classes_, own_classes)]
    options = temperature_options(scorer)
    classifier.temperature_ = best_temperature(
        val.y, own, own_classes, val.sample_weight, **options
    )


def calibrates(calibration, scorer):
    """Return whether a temperature is to be shipped."""
    if calibration == "auto":
        return getattr(getattr(scorer, "score_function", None), "is_refined", False)
    return calibration is not None


def temperature_options(scorer):
    """Return the options of a refined rule that decide its temperature."""
    options = getattr(scorer, "options", {})
    return {name: options[name] for name in ("prior_scale",) if name in options}


def best_temperature(
    y_true,
    y_proba,
    own_classes,
    sample_weight=None,
    **options,
):
    """Return the best temperature for the samples of the classes of a model."""
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
