"""What each penalty would have chosen, from the scores of finished trainings."""

import math
from contextlib import suppress
from numbers import Real

import numpy as np

from sklearn_superior.metrics._rules import RULES
from sklearn_superior.model_selection._statistics import corrected_t, fold_means
from sklearn_superior.model_selection._trajectory import check_choice

_TIMES = " x paper"


def walk_path(trajectories, rule, penalties, judges, ratio=0.0):
    """Return a dict for each penalty: what it chooses, averaged over the trainings.

    All penalties choose among the same stages, so they are compared in pairs: a margin
    is half of the 95 % interval of the difference from the first penalty.

    Parameters
    ----------
    trajectories : list of Trajectory
        The trainings, with scores of the plain rule and of something that gives the
        error rate: the accuracy, or the penalized rule.

    rule : str
        The plain rule.

    penalties : list or None
        Numbers, ``"minimal"``, ``"paper"``, multiples of it, or infinity. None means a
        grid over all of them.

    judges : list of str
        Scores on the test data to report, besides the target.

    ratio : float, default=0.0
        Ratio of test to training rows, which widens the intervals.
    """
    check_choice(rule, "rule", RULES)
    if not trajectories:
        raise ValueError("The penalty path requires at least one training. Got none.")
    stages = [_Stages(trajectory, rule) for trajectory in trajectories]
    if penalties is None:
        multiples = [f"{k}{_TIMES}" for k in (0.5, 2, 4, 8)]
        penalties = [0, "minimal", "paper", *multiples, math.inf]
    if not isinstance(penalties, list | tuple) or not penalties:
        raise ValueError(
            f"The 'penalties' parameter must be a non-empty list. Got {penalties!r}."
        )
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
        found = {name: np.asarray(values, float) for name, values in found.items()}
        value = float(np.mean([s.value(penalty) for s in stages]))
        rows.append(({"penalty": str(penalty), "value": value}, found))
    rows.sort(key=lambda row: row[0]["value"])
    folds = np.array([trajectory.fold for trajectory in trajectories])
    first = rows[0][1]
    for row, found in rows:
        row |= {name: float(values.mean()) for name, values in found.items()}
        for name, values in found.items():
            if not name.startswith("validation"):
                by_fold = fold_means(values - first[name], folds)
                low, high, _ = corrected_t(by_fold, ratio)
                row[f"{name}_margin"] = (high - low) / 2
    return [row for row, _ in rows]


class _Stages:
    """Loss and error rate of the stages of one training."""

    def __init__(self, trajectory, rule):
        self.trajectory, self.rule = trajectory, RULES[rule]
        self.n_classes = trajectory.n_classes
        if self.n_classes is None:
            raise ValueError(
                "The penalty path requires the number of classes. Pass it to the "
                f"trajectory of fold {trajectory.fold}: Trajectory(..., n_classes=...)."
            )
        self.loss = -_scores(trajectory.validation, rule)
        if np.isnan(self.loss).all():
            raise ValueError(
                f"All losses of fold {trajectory.fold} are NaN: leave it out."
            )
        self.error = self._error_rate(trajectory.validation)
        self.test_error = self._error_rate(trajectory.test)

    def _error_rate(self, scores):
        if "accuracy" in scores:
            return 1 - _scores(scores, "accuracy")
        plain, penalized = (
            _scores(scores, prefix + self.rule.name) for prefix in ("", "penalized_")
        )
        error = (plain - penalized) / self.rule.penalty("paper", self.n_classes)
        return np.round(error, 6)  # recorded scores may have been rounded

    def value(self, penalty):
        """Return the value of a penalty."""
        factor, name = 1.0, penalty
        if isinstance(penalty, str) and penalty.endswith(_TIMES):
            with suppress(ValueError):
                factor, name = float(penalty.removesuffix(_TIMES)), "paper"
        is_number = isinstance(name, Real) and not isinstance(name, bool)
        value = math.nan
        if is_number or name in ("paper", "minimal"):
            value = factor * self.rule.penalty(name, self.n_classes)
        if not value >= 0:
            raise ValueError(
                "The 'penalties' parameter must hold non-negative numbers, 'minimal', "
                f"'paper' or multiples such as '2{_TIMES}'. Got {penalty!r}."
            )
        return value

    def choose(self, penalty):
        """Return the stage that a penalty chooses, the first one of ties."""
        value = self.value(penalty)
        if math.isinf(value):  # by the error rate, ties broken by the loss
            return int(np.lexsort((self.loss, self.error))[0])
        return int(np.nanargmin(self.loss + value * self.error))


def _scores(scores, name):
    if name not in scores:
        raise ValueError(
            f"The penalty path requires the scores of {name!r} in all trainings. Got "
            f"{sorted(scores)}: add it to the rules."
        )
    return np.asarray(scores[name], dtype=float)
