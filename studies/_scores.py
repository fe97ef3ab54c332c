"""Scores in records, and how their numbers are rounded."""

import numpy as np

from sklearn_superior.metrics import scale_temperature

# The committed records have temperatures that may be below 1.
ANY_TEMPERATURE = {"sharpen": True}
_N_BINS = 15  # of a reliability curve


def paper_penalty(rule, n_classes):
    """Return the paper's penalty of a wrong prediction.

    Examples
    --------
    >>> paper_penalty("brier", 4)
    0.75
    """
    return 1 - 1 / n_classes if rule == "brier" else float(np.log(n_classes))


def log_losses(true, y_proba, uniform=0.0):
    """Return the log loss of each sample, clipped as scikit-learn does.

    `uniform` is the share of uniform probabilities that are mixed in.
    """
    p_true = y_proba[np.arange(len(true)), true].astype(float)
    p_true = (1 - uniform) * p_true + uniform / y_proba.shape[1]
    return -np.log(p_true.clip(np.finfo(y_proba.dtype).eps, 1))


def brier_score(true, y_proba):
    """Return the mean Brier score.

    Examples
    --------
    >>> brier_score(np.array([0, 1]), np.array([[0.5, 0.5], [0.25, 0.75]]))
    0.3125
    """
    outcome = np.eye(y_proba.shape[1])[true]
    return float(np.sum((y_proba - outcome) ** 2, axis=1).mean())


def macro_f1(true, predicted, n_classes):
    """Return macro F1 over the classes that are true or predicted.

    Examples
    --------
    >>> macro_f1(np.array([0, 0, 1]), np.array([0, 1, 1]), 3)
    0.6666666666666666
    """
    right = np.bincount(true[true == predicted], minlength=n_classes)
    both = np.bincount(true, minlength=n_classes)
    both = both + np.bincount(predicted, minlength=n_classes)
    return float(np.mean(2 * right[both > 0] / both[both > 0]))


def describe_stage(true, y_proba, temperature=1.0):
    """Return the mean losses of probabilities, as they are and recalibrated.

    Examples
    --------
    >>> y_proba = np.array([[0.5, 0.5], [0.25, 0.75]])
    >>> stage = describe_stage(np.array([0, 1]), y_proba)
    >>> stage["errors"], stage["f1_macro"], stage["brier"]
    (0, 1.0, 0.3125)
    """
    predicted = y_proba.argmax(axis=1)
    scaled = scale_temperature(y_proba, temperature)
    return {
        "log_loss": float(log_losses(true, y_proba).mean()),
        "brier": brier_score(true, y_proba),
        "errors": int(np.count_nonzero(predicted != true)),
        "f1_macro": macro_f1(true, predicted, y_proba.shape[1]),
        "refined_log_loss": float(log_losses(true, scaled).mean()),
    }


def reliability(true, y_proba):
    """Return, for bins of the highest probability, rows and sums of it and of hits."""
    predicted, highest = y_proba.argmax(axis=1), y_proba.max(axis=1)
    bins = np.minimum((highest * _N_BINS).astype(int), _N_BINS - 1)
    confidence = np.bincount(bins, weights=highest, minlength=_N_BINS)
    return {
        "n": np.bincount(bins, minlength=_N_BINS).tolist(),
        "confidence": [round(float(value), 3) for value in confidence],
        "correct": np.bincount(bins[predicted == true], minlength=_N_BINS).tolist(),
    }


def shorten(value, n_digits=6):
    """Return a number with few digits; None for NaN and infinity, for JSON.

    Examples
    --------
    >>> shorten(0.123456789), shorten(float("nan"))
    (0.123457, None)
    """
    return float(f"{value:.{n_digits}g}") if np.isfinite(value) else None


def shorten_all(values):
    """Return a list of short numbers."""
    return [shorten(value) for value in np.asarray(values, dtype=float)]
