"""The scores of a recorded training, by all rules and judges."""

import math

import numpy as np

from sklearn_superior.model_selection import Trajectory
from studies._scores import paper_penalty


def as_trajectory(record, smoothing):
    """Return the scores of a training by all rules and judges.

    Ties among stages are broken by the log loss. They are found exactly: moving means
    are those of the numbers of errors.

    Parameters
    ----------
    record : dict
        The record of the training.

    smoothing : int
        Number of stages in a moving mean.
    """
    sizes, n_classes = record["n_rows"], record["n_classes"]
    validation, test = (
        _scores(record[part], n_classes, sizes[part]) for part in ("validation", "test")
    )
    rule = "refined_penalized_brier"
    validation[f"smoothed_{rule}"] = smooth(validation[rule], smoothing)
    errors = np.array(record["validation"]["errors"], dtype=float)
    validation["smoothed_accuracy"] = -smooth(errors, smoothing) / sizes["validation"]
    validation["accuracy_then_brier"] = rank(errors, -validation["brier"])
    job = record["job"]
    return Trajectory(
        fold=job["fold"],
        repeat=job["repeat"],
        validation=validation,
        test=test,
        seed=record["seed"],
        n_rows=sizes,
        time=record["seconds"],
        n_classes=n_classes,
        temperature=np.array(record["temperature"], dtype=float),
        tie_scores=validation["log_loss"],
    )


def _scores(part, n_classes, n_rows):
    """Scores of one part; the refined ones after the temperature of validation."""
    values = {name: np.array(v, dtype=float) for name, v in part.items()}
    error = values["errors"] / n_rows
    scores = {"accuracy": 1 - error, "target": values["f1_macro"]}
    scores["f1_macro"] = values["f1_macro"]
    for name in ("log_loss", "brier"):
        penalty = paper_penalty(name, n_classes) * error
        plain, calibrated = values[name], values[f"calibrated_{name}"]
        scores |= {
            name: -plain,
            f"penalized_{name}": -plain - penalty,
            f"refined_{name}": -calibrated,
            f"refined_penalized_{name}": -calibrated - penalty,
            f"calibrated_{name}": -calibrated,
        }
    return scores


def smooth(values, width):
    """Return the centred moving mean, of fewer values at the ends.

    Sums are rounded once: those of the same values are equal, and those of whole
    numbers exact.

    Examples
    --------
    >>> smooth([1.0, 2.0, 6.0, 3.0], 3).tolist()
    [1.5, 3.0, 3.6666666666666665, 4.5]
    """
    half = width // 2
    windows = (values[max(k - half, 0) : k + half + 1] for k in range(len(values)))
    return np.array([math.fsum(window) / len(window) for window in windows])


def rank(first, second):
    """Return scores that order by the first loss, and where it is equal by the second.

    Examples
    --------
    >>> rank([3, 2, 2, 3], [0.1, 0.5, 0.4, 0.1]).tolist()
    [-2.0, -1.0, -0.0, -2.0]
    """
    losses = np.column_stack([first, second])
    _, places = np.unique(losses, axis=0, return_inverse=True)
    places = places.reshape(-1)  # NumPy 2.0 returns a column
    return np.where(np.isnan(losses).any(axis=1), np.nan, -places.astype(float))
