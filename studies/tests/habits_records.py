"""Made-up records of the study of habits, with planted effects."""

import math
from dataclasses import asdict

import numpy as np

from studies.habits import PLAN

N_TEST = 60
_MODELS = {"hgb": 1, "lightgbm": -1, "mlp": 0.5, "cnn": -0.5}
# The best stages by the log loss and by the penalized log loss are 0 and 1.
VALIDATION = {
    "log_loss": [0.5, 0.6, 0.7],
    "brier": [0.5, 0.45, 0.6],
    "errors": [40, 10, 30],
    "f1_macro": [0.5, 0.6, 0.55],
}
WAYS = (
    "stopping",
    "stopping_plain",
    "stopping_habit",
    "stopping_habit_best",
    "search",
    "search_plain",
    "search_habit",
    "folds",
)
WHOLE = ("grid", "fixed", "last", "calibrated")  # of the whole budget
TIMED = ("stopping", "stopping_habit", "search", "search_habit", "calibrated", "last")


def make_record(job, number, *, h1=0.0, h2=0.0, h3=0.0, h4=0.0, h5=0.0):
    """Return a record with planted effects; `number` is that of the data set.

    `h1`, `h2` and `h4` are log points, `h3` and `h5` points of macro F1.
    """
    kind = PLAN.kind_of(job.dataset)
    offset = 0.1 * _MODELS[job.estimator] + 0.2 * (job.fold - 1)
    n_test = N_TEST + 10 * job.fold
    loss = {"stopping": 0.2 + 0.01 * number}
    loss["stopping_habit"] = loss["stopping"] * math.exp(-(h1 + offset) / 100)
    loss["search"] = loss["stopping"] * math.exp((h4 + offset) / 100)
    loss["search_habit"] = loss["search"] * math.exp(-(h2 + offset) / 100)
    f1 = {"search": 0.8 + (h3 + offset) / 100}
    is_timed = kind == "timed"
    is_whole = job.dataset not in PLAN["heavy"] and job.estimator not in PLAN["costly"]
    names = TIMED if is_timed else (*WAYS, *(WHOLE if is_whole else ()))
    n_classes = 2 if kind == "binary" else 4
    record = {
        "job": asdict(job),
        "seed": job.seed,
        "plan_commit": "0" * 40,
        "code_commit": "1" * 40,
        "started": "2026-01-01T00:00:00+00:00",
        "versions": {"python": "3.11"},
        "threads": "1",
        "problem": None,
        "n_rows": {"train": 900, "validation": 100, "test": n_test},
        "n_classes": n_classes,
        "n_test_classes": n_classes,
        "losses": None,
        "validation": None,
        "test": None,
        "seconds": 40.0,
        "cpu_seconds": 20.0,
        "data_sha256": job.dataset,
        "ways": {
            name: make_way(k, loss.get(name, 0.3), f1.get(name, 0.8), kind)
            for k, name in enumerate(names)
        },
    }
    if kind == "signals":
        scores = [0.7, 0.7 + (h5 + offset) / 100, 0.6]
        record["validation"] = {name: list(v) for name, v in VALIDATION.items()}
        record["test"] = record["validation"] | {"f1_macro": scores}
    return record


def make_way(k, log_loss, f1, kind):
    """Return a way that is slower the later it comes."""
    counts = [0] * 13 + [20, 20]
    return {
        "stage": 10 + k,
        "n_iter": 31 + k,
        "temperature": 1.1,
        "log_loss": log_loss,
        "brier": log_loss / 2,
        "f1_macro": f1,
        "accuracy": 0.9,
        "reliability": {
            "n": counts,
            "confidence": [0.0] * 13 + [17.0, 19.0],
            "correct": [0] * 13 + [16, 20],
        },
        "costs": {"5": 12.0 + k, "20": 30.0} if kind == "binary" else None,
        "seconds": 4.0 + k,
        "cpu_seconds": 2.0 + k,
        "predict_seconds": 0.1,
    }


def make_failure(record):
    """Return the record of the same training, had it failed."""
    empty = ("n_rows", "n_classes", "n_test_classes", "validation", "test")
    return record | dict.fromkeys(empty) | {"ways": {}, "problem": "ValueError: no"}


def make_one_class(record):
    """Return the record of the same training with a nonsensical, one-class test."""
    ways = {
        name: way | {"log_loss": 10.0 + k, "f1_macro": 0.1 * k}
        for k, (name, way) in enumerate(record["ways"].items())
    }
    return record | {"n_test_classes": 1, "ways": ways}


def make_records(effects, plan=PLAN):
    """Return all records of the plan; `effects` takes the number of a data set."""
    numbers = {name: k for k, name in enumerate(plan.datasets)}
    return [
        make_record(job, numbers[job.dataset], **effects(numbers[job.dataset]))
        for job in plan.make_jobs()
    ]


def plant(number):
    """Effects that differ a little among the data sets; all hypotheses hold."""
    size = 1 + 0.01 * number
    return {"h1": -3 * size, "h2": -2 * size, "h3": 0.1, "h4": -2 * size, "h5": size}


def plant_nothing(number):
    """Effects that cancel out: as many data sets gain as lose."""
    sign = 1 if number % 2 else -1
    effects = {"h1": 3 * sign, "h2": 3 * sign, "h4": 3 * sign, "h5": sign}
    return effects | {"h3": -0.25 + 0.5 * sign}


def plant_the_opposite(number):
    """Effects against all hypotheses."""
    return {"h1": 3.0, "h2": 3.0, "h3": -1.0, "h4": 3.0, "h5": -1.0}


def plant_by_chance(seed):
    """Return effects by chance."""
    rng = np.random.default_rng(seed)

    def effects(number):
        means = [-1.0, -0.5, 0.0, -1.0, 0.3]
        names = ("h1", "h2", "h3", "h4", "h5")
        return dict(zip(names, rng.normal(means, 2), strict=True))

    return effects
