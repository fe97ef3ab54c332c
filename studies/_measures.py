"""Measures: functions of a record, and how rules choose among its stages."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from studies._scores import paper_penalty
from studies._statistics import mean

LAST = "last"
LEAST_LOSS = 1e-6  # a log loss below it counts as this much


# How a rule chooses ------------------------------------------------------------------


def find_sound_stages(record):
    """Return for each stage whether it has all scores; one that diverged has not."""
    lists = [*record["validation"].values(), *record["test"].values()]
    if any(None in scores for scores in lists):
        return [None not in scores for scores in zip(*lists, strict=True)]
    return [True] * len(lists[0])


def rank_stages(record, rule):
    """Return a key for each stage, lower is better; None for one that diverged.

    Examples
    --------
    >>> part = {"log_loss": [0.3, 0.2, None], "errors": [1, 1, None]}
    >>> record = {"validation": part, "test": {}, "n_rows": {"validation": 4},
    ...           "n_classes": 2}
    >>> rank_stages(record, "accuracy")
    [(0.25, 0.3), (0.25, 0.2), None]
    """
    is_sound = find_sound_stages(record)
    part, n_rows = record["validation"], record["n_rows"]["validation"]
    plain = rule.replace("penalized_", "")
    if rule == LAST:
        keys = [(-stage,) for stage in range(len(is_sound))]
    elif rule == "accuracy":
        errors = (e if e is None else e / n_rows for e in part["errors"])
        keys = list(zip(errors, part["log_loss"], strict=True))
    elif rule == "f1_macro":
        scores = (f1 if f1 is None else -f1 for f1 in part["f1_macro"])
        keys = list(zip(scores, part["log_loss"], strict=True))
    elif plain == rule:
        keys = [(loss,) for loss in part[plain]]
    else:
        penalty = paper_penalty(plain, record["n_classes"])
        keys = [
            (loss + penalty * n_wrong / n_rows,) if is_good else None
            for loss, n_wrong, is_good in zip(
                part[plain], part["errors"], is_sound, strict=True
            )
        ]
    return [key if good else None for key, good in zip(keys, is_sound, strict=True)]


def choose(record, rule):
    """Return the best of all stages by a rule, the first of equals; None if none is."""
    keys = rank_stages(record, rule)
    sound = [stage for stage, key in enumerate(keys) if key is not None]
    return min(sound, key=keys.__getitem__, default=None)


def replay(record, rule, patience=None):
    """Return the stage that early stopping keeps, and the number of stages it sees.

    The patience is counted as by `EarlyStopper`. None: all stages are seen.
    """
    if patience is None or rule == LAST:
        return choose(record, rule), len(record["validation"]["log_loss"])
    keys = rank_stages(record, rule)
    best, n_equal, place = None, 0, -1  # n_equal: stages at the start that are equal
    for place, key in enumerate(keys):
        if key is not None and (best is None or key < keys[best]):
            best = place
        if n_equal == place and key is not None and key == keys[0]:
            n_equal += 1
        last_change = max(-1 if best is None else best, n_equal - 1)
        if place - last_change >= patience:
            break
    return best, place + 1


# Measures: functions of a record ----------------------------------------------------


def f1_gain(rule, baseline):
    """Return the measure: points of F1 on test data of a choice minus another one."""

    def measure(record):
        stages = [choose(record, name) for name in (rule, baseline)]
        if None in stages:
            return math.nan
        scores = [record["test"]["f1_macro"][stage] for stage in stages]
        return 100 * (scores[0] - scores[1])

    return measure


def get_way(record, way, score):
    """Return a score of a way; NaN where it is missing."""
    value = (record["ways"].get(way) or {}).get(score)
    return math.nan if value is None else float(value)


def log_ratio(way, baseline, score="log_loss"):
    """Return the measure: log points, 100 times the logarithm of a ratio of losses."""

    def measure(record):
        ours, other = (get_way(record, name, score) for name in (way, baseline))
        return 100 * math.log(raise_loss(ours) / raise_loss(other))

    return measure


def way_gain(way, baseline, score="log_loss", scale=1.0):
    """Return the measure: the difference of two ways."""

    def measure(record):
        return scale * (get_way(record, way, score) - get_way(record, baseline, score))

    return measure


def raise_loss(loss):
    """Return a loss that has a logarithm."""
    return loss if math.isnan(loss) else max(loss, LEAST_LOSS)


def leave_out(measure, is_out):
    """Return a measure that has no value where `is_out` of the record is true."""
    return lambda record: math.nan if is_out(record) else measure(record)


def over_folds(measure, records):
    """Return the value of a measure over the folds of a model, as a rule the mean.

    A measure that pools the folds has a method `pool`.
    """
    if hasattr(measure, "pool"):
        return measure.pool(records)
    return mean(measure(record) for record in records)


def has_several_classes(record):
    """Return whether the test rows of a training are of several classes."""
    return record["n_test_classes"] > 1


@dataclass(frozen=True)
class PooledRatio:
    """The measure: log points of sums over the folds in which both ways have a value.

    Parameters
    ----------
    way, baseline : str
        Two ways.

    total : callable
        The sum of a record and a way over the test rows.

    counts : callable
        Whether a record counts.
    """

    way: str
    baseline: str
    total: Callable
    counts: Callable = has_several_classes

    def pool(self, records):
        """Return the log points of records of several folds."""
        pairs = [
            (self.total(record, self.way), self.total(record, self.baseline))
            for record in records
            if self.counts(record)
        ]
        pairs = [pair for pair in pairs if all(map(math.isfinite, pair))]
        if not pairs:
            return math.nan
        ours, other = (math.fsum(totals) for totals in zip(*pairs, strict=True))
        if ours <= 0 or other <= 0:
            return math.nan
        return 100 * math.log(ours / other)


def total_of(score):
    """Return a function from a record and a way to the sum of a score over the rows."""

    def total(record, way):
        return raise_loss(get_way(record, way, score)) * record["n_rows"]["test"]

    return total


def calibration_error(way):
    """Return the measure: the expected calibration error in points, in 15 bins."""

    def measure(record):
        bins = (record["ways"].get(way) or {}).get("reliability")
        if bins is None:
            return math.nan
        gaps = np.abs(np.subtract(bins["confidence"], bins["correct"]))
        return 100 * float(gaps.sum()) / sum(bins["n"])

    return measure
