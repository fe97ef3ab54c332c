"""From the records of the study of habits to its five results.

This fixes which records count and how they are tested. It was written before the first
training, and tried on made-up records with a known answer.
"""

from functools import partial

from studies._evidence import KINDS, Hypothesis, Study, judge_hypotheses
from studies._measures import (
    PooledRatio,
    f1_gain,
    has_several_classes,
    leave_out,
    total_of,
    way_gain,
)

TIMED = "timed"  # procedures one by one, by the clock
SCORES = ("log_loss", "brier")


def has_one_class(record):
    """Return whether all test rows of a training are of one class."""
    return not has_several_classes(record)


def log_ratio(way, baseline, score="log_loss", *, counts=has_several_classes):
    """Return the measure: log points of a loss, pooled over the folds."""
    return PooledRatio(way, baseline, total_of(score), counts)


def is_in(names, record):
    """Return whether a record is of one of the data sets and counts."""
    return record["job"]["dataset"] in names and has_several_classes(record)


def f1_of_ways(way, baseline):
    """Return the measure: points of macro F1, means over the folds."""
    return leave_out(way_gain(way, baseline, "f1_macro", 100), has_one_class)


def f1_of_rules(rule, baseline):
    """Return the measure: points of macro F1 of the best of all stages, on signals."""
    return leave_out(
        f1_gain(rule, baseline),
        lambda record: record["validation"] is None or has_one_class(record),
    )


def nats(way, baseline, counts=has_several_classes):
    """Return the measure: the difference of the log losses."""
    return leave_out(way_gain(way, baseline), lambda record: not counts(record))


def make_hypotheses(plan):
    """Return the five hypotheses of the plan."""
    large = partial(is_in, frozenset(plan["large"]))
    return (
        Hypothesis(
            "H1",
            log_ratio("stopping", "stopping_habit"),
            KINDS,
            "below",
            "log points",
            nats("stopping", "stopping_habit"),
        ),
        Hypothesis(
            "H2",
            log_ratio("search", "search_habit"),
            KINDS,
            "below",
            "log points",
            nats("search", "search_habit"),
        ),
        Hypothesis(
            "H3", f1_of_ways("search", "search_habit"), KINDS, "not below", "points"
        ),
        Hypothesis(
            "H4",
            log_ratio("search", "stopping", counts=large),
            KINDS,
            "below",
            "log points",
            nats("search", "stopping", large),
        ),
        Hypothesis(
            "H5",
            f1_of_rules("penalized_log_loss", "log_loss"),
            ("signals",),
            "above",
            "points",
        ),
    )


def five_results(plan, records):
    """Test the five hypotheses; return a dict for each."""
    study = records if isinstance(records, Study) else Study(plan, records)
    return judge_hypotheses(make_hypotheses(plan), study, plan["margin"])
