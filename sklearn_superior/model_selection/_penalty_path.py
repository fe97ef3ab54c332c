"""What every penalty would have chosen, from the scores of trainings that are done."""

import math
from numbers import Real

import numpy as np

from sklearn_superior.metrics._rules import RULES
from sklearn_superior.model_selection._statistics import corrected_t

_TIMES = " x paper"


def walk_path(trajectories, rule, penalties, judges, ratio=0.0):
    """Return a dict for each penalty: what it chooses, averaged over the trainings.

    The choices of all penalties are among the same stages, so they are compared in
    pairs: a margin is half of the 95 % interval of the difference from the first
    penalty.

    Parameters
    ----------
    trajectories : list of Trajectory
        The trainings, with scores of the plain rule and of something that gives the
        error rate: the accuracy, or the penalized rule.

    rule : str
        The plain rule, ``"brier"`` or ``"log_loss"``.

    penalties : list or None
        Numbers, ``"minimal"``, ``"paper"`` or infinity. None: a grid over all of them.

    judges : list of str
        Scores of the test part to report, besides the target.

    ratio : float, default=0.0
        Ratio of test to training rows, by which the intervals are wider.
    """
    if not isinstance(rule, str) or rule not in RULES:
        raise ValueError(
            f"The 'rule' parameter must be one of {sorted(RULES)}. Got {rule!r}."
        )
    if not trajectories:
        raise ValueError("The penalty path needs at least one training. Got none.")
    stages = [_Stages(trajectory, rule) for trajectory in trajectories]
    if penalties is None:
        multiples = [f"{k}{_TIMES}" for k in (0.5, 2, 4, 8)]
        penalties = [0, "minimal", "paper", *multiples, math.inf]
    _check_penalties(penalties)
    rows = []
    for penalty in penalties:
        chosen = [(s, s.choose(penalty)) for s in stages]
        found = {
            "iteration": [k for _, k in chosen],
            "validation_loss": [s.loss[k] for s, k in chosen],
            "validation_error": [s.error[k] for s, k in chosen],
            "test_error": [s.test_error[k] for s, k in chosen],
            "test_score": [s.trajectory.test["target"][k] for s, k in chosen],
        }
        for judge in judges:
            found[f"test_{judge}"] = [s.trajectory.test[judge][k] for s, k in chosen]
        row = {
            "penalty": str(penalty),
            "value": _mean(s.value(penalty) for s in stages),
        }
        rows.append((row | {name: _mean(found[name]) for name in found}, found))
    rows.sort(key=lambda row: row[0]["value"])
    folds = np.array([trajectory.fold for trajectory in trajectories])
    first = rows[0][1]
    return [
        row
        | {
            f"{name}_margin": _margin(found[name], first[name], folds, ratio)
            for name in found
            if not name.startswith("validation")
        }
        for row, found in rows
    ]


def _margin(values, first, folds, ratio):
    """Return half of the interval of the differences, repeats of a fold averaged."""
    differences = np.subtract(values, first)
    by_fold = [differences[folds == fold].mean() for fold in np.unique(folds)]
    low, high, _ = corrected_t(by_fold, ratio)
    return (high - low) / 2


def _check_penalties(penalties):
    """Check that all penalties are what they may be."""
    if not isinstance(penalties, list | tuple) or not penalties:
        raise ValueError(
            "The 'penalties' parameter must be a list of at least one penalty. "
            f"Got {penalties!r}."
        )
    for penalty in penalties:
        value = penalty
        if isinstance(penalty, str):
            factor = penalty.removesuffix(_TIMES)
            is_factor = factor != penalty and factor.replace(".", "", 1).isdecimal()
            value = 0 if is_factor or penalty in ("paper", "minimal") else -1
        is_number = isinstance(value, Real) and not isinstance(value, bool)
        if not (is_number and value >= 0):
            raise ValueError(
                "The 'penalties' parameter must hold numbers from 0 up, 'minimal', "
                f"'paper' or multiples such as '2{_TIMES}'. Got {penalty!r}."
            )


def _mean(values):
    return float(np.mean(list(values)))


class _Stages:
    """Loss and error rate of the stages of one training."""

    def __init__(self, trajectory, rule):
        self.trajectory, self.rule = trajectory, RULES[rule]
        if trajectory.n_classes is None:
            raise ValueError(
                "The penalty path needs the number of classes. Give it to the "
                f"trajectory of fold {trajectory.fold}: Trajectory(..., n_classes=...)."
            )
        self.n_classes = trajectory.n_classes
        self.loss = -_scores(trajectory.validation, rule)
        self.error = self._error_rate(trajectory.validation)
        self.test_error = self._error_rate(trajectory.test)

    def _error_rate(self, scores):
        if "accuracy" in scores:
            return 1 - np.asarray(scores["accuracy"], dtype=float)
        plain, penalized = (
            _scores(scores, prefix + self.rule.name) for prefix in ("", "penalized_")
        )
        error = (plain - penalized) / self.rule.penalty("paper", self.n_classes)
        return np.round(error, 6)  # of scores that may have been rounded

    def value(self, penalty):
        """Return the value of a penalty."""
        if isinstance(penalty, str) and penalty.endswith(_TIMES):
            factor = float(penalty.removesuffix(_TIMES))
            return factor * self.rule.penalty("paper", self.n_classes)
        return self.rule.penalty(penalty, self.n_classes)

    def choose(self, penalty):
        """Return the stage that a penalty chooses; of several the first."""
        value = self.value(penalty)
        if np.isnan(self.loss).all():
            raise ValueError(
                f"All losses of fold {self.trajectory.fold} are NaN: leave it out."
            )
        if math.isinf(value):  # by the error rate, and of equal ones by the loss
            return int(np.lexsort((self.loss, self.error))[0])
        return int(np.nanargmin(self.loss + value * self.error))


def _scores(scores, name):
    if name not in scores:
        raise ValueError(
            f"The penalty path needs the scores of {name!r} in all trainings. Got "
            f"{sorted(scores)}: add it to the rules."
        )
    return np.asarray(scores[name], dtype=float)
