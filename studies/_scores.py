"""Scores in records, and how their numbers are rounded."""

import numpy as np

# The committed records have temperatures that may be below 1.
ANY_TEMPERATURE = {"sharpen": True}


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
