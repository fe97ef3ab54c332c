"""What the study of habits shows beyond its five tests: none of this is a test."""

import math
from functools import partial

import numpy as np

from studies._evidence import KINDS
from studies._measures import (
    PooledRatio,
    calibration_error,
    get_way,
    has_several_classes,
    leave_out,
)
from studies._statistics import mean
from studies.habits.analysis import (
    TIMED,
    has_one_class,
    log_ratio,
    make_hypotheses,
)

WAYS = {
    "stopping": "EarlyStoppingClassifier",
    "stopping_plain": "EarlyStoppingClassifier, not calibrated",
    "stopping_habit": "the library's early stopping",
    "stopping_habit_best": "the library's early stopping, best stage",
    "search": "StagedSearchCV",
    "search_plain": "StagedSearchCV, not calibrated",
    "folds": 'StagedSearchCV, refit="folds"',
    "search_habit": "best mean round of the folds, refit",
    "grid": "GridSearchCV of ten numbers, refit",
    "fixed": "whole budget, out-of-fold temperature",
    "calibrated": "CalibratedClassifierCV, temperature",
    "last": "whole budget",
}
BASELINE = "search_habit"
DIAGNOSTIC = ("stopping_plain", "stopping_habit_best", "search_plain")
SIZES = (
    (0, 999, "below 1,000"),
    (1000, 4999, "1,000 to 4,999"),
    (5000, 19999, "5,000 to 19,999"),
    (20000, math.inf, "20,000 and more"),
)
PAIRS = {
    "H1": ("stopping", "stopping_habit"),
    "H2": ("search", "search_habit"),
    "H4 everywhere": ("search", "stopping"),
}


def seconds_of(record, way, key="cpu_seconds"):
    """Return what a way takes, at least a thousandth of a second."""
    value = get_way(record, way, key)
    return value if math.isnan(value) else max(value, 1e-3)


def total_cost(ratio):
    """Return a function from a record and a way to the cost of its decisions.

    Half a false alarm is added, so that no cost is zero.
    """

    def total(record, way):
        costs = (record["ways"].get(way) or {}).get("costs")
        return math.nan if costs is None else costs[str(ratio)] + 0.5

    return total


def cost_ratio(way, baseline, ratio):
    """Return the measure: log points of the cost of decisions, pooled over folds."""
    return PooledRatio(way, baseline, total_cost(ratio))


def time_ratio(way, baseline, key="cpu_seconds"):
    """Return the measure: log points of seconds, pooled over the folds."""
    return PooledRatio(way, baseline, partial(seconds_of, key=key), lambda record: True)


def within(low, high):
    """Return whether a record counts that has so many training rows."""

    def counts(record):
        n = record["n_rows"]["train"]
        return low <= n <= high and has_several_classes(record)

    return counts


def of_size(low, high, way, baseline):
    """Return the measure: log points of log loss, for so many training rows."""
    return log_ratio(way, baseline, counts=within(low, high))


def list_moderators(study):
    """Return parts of the data: name -> function that says whether a record counts."""
    grouped, plan = set(study.plan["grouped"]), study.plan

    def counts(test):
        return lambda record: (
            test(record["job"]["dataset"]) and has_several_classes(record)
        )

    parts = {
        "two classes": lambda record: (
            record["n_classes"] == 2 and has_several_classes(record)
        ),
        "more classes": lambda record: (
            record["n_classes"] > 2 and has_several_classes(record)
        ),
        "new groups": counts(lambda name: name in grouped),
        "at random": counts(lambda name: name not in grouped),
        "large sets": counts(lambda name: name in plan["large"]),
        "other sets": counts(lambda name: name not in plan["large"]),
    }
    return parts | {
        f"{text} training rows": within(low, high) for low, high, text in SIZES
    }


def split_by_part(study):
    """Return the log ratios of each pair by part of the data: part -> name -> row."""
    return {
        part: {
            name: study.summary(log_ratio(*pair, counts=counts))
            for name, pair in PAIRS.items()
        }
        for part, counts in list_moderators(study).items()
    }


def split_by_kind(study):
    """Return the summaries of each hypothesis by kind: name -> kind -> summary."""
    return {
        h.name: {kind: study.summary(h.measure, [kind]) for kind in KINDS}
        for h in make_hypotheses(study.plan)
    }


def split_by_model(study):
    """Return the summaries of each hypothesis by model: name -> model -> summary."""
    models = dict.fromkeys(name for kind in KINDS for name in study.planned[kind])
    return {
        h.name: {m: study.summary(h.measure, h.kinds, models=[m]) for m in models}
        for h in make_hypotheses(study.plan)
    }


def compare_ways(study, kinds=KINDS, counts=has_several_classes):
    """Compare all ways with the habit of the search: way -> summaries.

    `log_loss` and `brier` in log points, `f1` in points, `seconds` as a factor.
    """
    rows = {}
    for way in WAYS:
        measures = {
            "log_loss": log_ratio(way, BASELINE, counts=counts),
            "brier": log_ratio(way, BASELINE, "brier", counts=counts),
            "f1": leave_out(
                lambda r, way=way: (
                    100
                    * (get_way(r, way, "f1_macro") - get_way(r, BASELINE, "f1_macro"))
                ),
                lambda r: not counts(r),
            ),
            "ece": leave_out(calibration_error(way), lambda r: not counts(r)),
        }
        rows[way] = {k: study.summary(m, kinds) for k, m in measures.items()}
        seconds = PooledRatio(way, BASELINE, seconds_of, counts)
        logs = study.summary(seconds, kinds)["difference"]
        rows[way]["times"] = math.exp(logs / 100)
    return rows


def compare_costs(study):
    """Compare the cost of decisions on the binary sets: pair -> ratio -> summary."""
    return {
        name: {
            ratio: study.summary(cost_ratio(*pair, ratio), ["binary"])
            for ratio in (5, 20)
        }
        for name, pair in PAIRS.items()
    }


def mean_predict_seconds(study, way="search"):
    """Return the mean time of predicting 1,000 rows, in milliseconds."""

    def measure(record):
        n = record["n_rows"]["test"]
        return 1e6 * get_way(record, way, "predict_seconds") / n

    return {kind: study.summary(measure, [kind])["difference"] for kind in KINDS}


def compare_timed(study):
    """Compare procedures that ran one by one with what was replayed.

    Returns for each way: number of trainings, how many chose the same stage, the
    largest difference of the log losses, and the mean of the logarithms of clock time
    against that of `StagedSearchCV`.
    """
    rows = {}
    for name in study.plan["data"].get(TIMED, {"sets": []})["sets"]:
        for model in study.models(name):
            real = study.find(name, model, 0)
            shared = study.find(name.removesuffix(f"_{TIMED}"), model, 0)
            if real is None or shared is None:
                continue
            for way, own in real["ways"].items():
                if way in shared["ways"]:
                    rows.setdefault(way, []).append((own, shared["ways"][way], real))
    return {
        way: {
            "n": len(pairs),
            "same": sum(own["stage"] == other["stage"] for own, other, _ in pairs),
            "gap": max(
                abs(own["log_loss"] - other["log_loss"]) for own, other, _ in pairs
            ),
            "times": math.exp(
                mean(
                    np.log(own["seconds"] / real["ways"]["search"]["seconds"])
                    for own, _, real in pairs
                )
            ),
            "predict": math.exp(
                mean(
                    np.log(
                        own["predict_seconds"]
                        / real["ways"]["search"]["predict_seconds"]
                    )
                    for own, _, real in pairs
                )
            ),
        }
        for way, pairs in rows.items()
    }


def count_one_class(study):
    """Return how many records are of test folds with a single class."""
    return sum(map(has_one_class, study.trainings()))


def count_last_stages(study, way="search"):
    """Return how often a way keeps the last stage of the budget, of how many."""
    kept = [get_way(record, way, "stage") for record in study.trainings()]
    budgets = [record["job"]["max_iter"] for record in study.trainings()]
    n = sum(stage == budget - 1 for stage, budget in zip(kept, budgets, strict=True))
    return n, len(kept)
