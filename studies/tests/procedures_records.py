"""A small plan of the comparison of procedures, and synthetic records."""

import math
from dataclasses import asdict

import numpy as np

from studies._plan import Plan
from studies.paper.protocol import Job

TABLES = [f"table_{k}" for k in range(10)]
BINARY = [f"binary_{k}" for k in range(4)]
SIGNALS = [f"signal_{k}" for k in range(9)]
GROUPED = SIGNALS[:3]
AT_RANDOM = [f"{name}_at_random" for name in GROUPED]
TUNED = ["table_1_tuned", "table_2_tuned"]
MODELS = {
    "tables": ["hgb", "lightgbm", "mlp"],
    "binary": ["hgb", "lightgbm", "mlp"],
    "signals": ["hgb", "lightgbm", "mlp", "cnn"],
    "at_random": ["hgb", "lightgbm", "mlp", "cnn"],
    "tuned": ["tuned"],
}
KINDS = dict(zip(MODELS, (TABLES, BINARY, SIGNALS, AT_RANDOM, TUNED), strict=True))
N_ROUNDS = {"tables": 2, "binary": 2, "signals": 2, "at_random": 1, "tuned": 1}
TEXT = f"""
title = "Which procedure?"
questions = ["One?", "Two?", "Three?", "Four?", "Five?"]
margin = 0.5
seen = ["table_9"]
families = [["signal_7", "signal_8"], ["table_0", "binary_0"]]
order = {sum(KINDS.values(), [])}
"""
for kind, sets in KINDS.items():
    TEXT += f"\n[data.{kind}]\nsets = {sets}\n"
for kind, models in MODELS.items():
    TEXT += f"""
[[trainings]]
data = "{kind}"
estimators = {models}
loss = "log_loss"
max_iter = 5
folds = 1
rounds = {N_ROUNDS[kind]}
"""
PLAN = Plan(TEXT)

# Of a model and a fold; they cancel out in the mean of a data set.
_MODELS = {"hgb": 1, "lightgbm": -1, "mlp": 0, "cnn": 0}
_FOLDS = {0: 1, 1: -1}
N_TEST = 40

# The best stages: log loss 0, Brier score 1, refined PLL 2, PBS and accuracy 3, last 4.
VALIDATION = {
    "log_loss": [0.5, 0.6, 0.7, 0.8, 0.9],
    "brier": [0.5, 0.4, 0.45, 0.42, 0.5],
    "errors": [30, 28, 24, 20, 26],
    "f1_macro": [0.5, 0.6, 0.7, 0.65, 0.6],
    "refined_log_loss": [0.6, 0.55, 0.4, 0.5, 0.6],
}


def make_record(
    dataset,
    estimator,
    fold=0,
    *,
    refined=0.0,
    penalty=0.0,
    last=0.0,
    former=0.0,
    refit=0.0,
    folds=0.0,
    n_validation=100,
    has_refits=True,
):
    """Return a record with planted effects.

    `refined` and `penalty` are the points of F1 of H1 and H2, `last` those of the last
    stage over the log loss's choice; `former`, `refit` and `folds` the log ratios, in
    per cent, of default to former, of all to default, and of folds to all.
    """
    offset = 0.1 * _MODELS[estimator] + 0.3 * _FOLDS[fold]
    f1 = 0.6 + np.array([0, 0, refined + offset, penalty + offset, last]) / 100
    loss = {"former": 0.4}
    loss["default"] = loss["former"] * math.exp((former + offset) / 100)
    if has_refits:
        loss["all"] = loss["default"] * math.exp((refit + offset) / 100)
        loss["folds"] = loss["all"] * math.exp(folds / 100)
    n_iter = {"former": 2, "default": 3, "all": 4, "folds": 4}
    noise = np.sin(np.arange(N_TEST) + fold)
    names = [*loss, "log_loss", "refined_penalized_log_loss", "brier"]
    names.append("penalized_brier")
    rows = {name: loss.get(name, 0.5) + 0.1 * noise for name in names}
    rows["former"] = loss["former"] + 0.1 * noise[::-1]
    return {
        "job": asdict(Job(dataset, estimator, "log_loss", 5, fold, 0)),
        "seed": 1,
        "problem": None,
        "seconds": 12.0,
        "versions": {"python": "3.11"},
        "n_rows": {"train": 900, "validation": n_validation, "test": N_TEST},
        "n_classes": 4,
        "validation": {key: list(values) for key, values in VALIDATION.items()},
        "test": {key: list(values) for key, values in VALIDATION.items()}
        | {"f1_macro": f1.tolist()},
        "temperature": [1.0, 1.1, 1.2, 1.3, 1.4],
        "ways": {
            name: make_way(value, n_iter[name], seconds=n_iter[name])
            for name, value in loss.items()
        },
        "samples": {
            "true": [k % 2 for k in range(N_TEST)],
            "log_loss": {name: list(map(float, r)) for name, r in rows.items()},
            "predicted": {name: [0] * N_TEST for name in names},
        },
    }


def make_way(log_loss, n_iter=3, *, f1=0.6, seconds=1.0):
    """Return a way whose expected calibration error is 5 points."""
    counts = [0] * 13 + [20, 20]
    confidence = [0.0] * 13 + [17.0, 19.0]
    correct = [0.0] * 13 + [16.0, 20.0]
    return {
        "stage": n_iter - 1,
        "n_iter": n_iter,
        "temperature": 1.1,
        "seconds": float(seconds),
        "log_loss": log_loss,
        "brier": 0.2,
        "f1_macro": f1,
        "accuracy": 0.9,
        "reliability": {"n": counts, "confidence": confidence, "correct": correct},
    }


def make_tuned(dataset, *, gain=0.0, ratio=0.0):
    """Return a record of the tuned arm with planted effects."""
    own = make_way(0.4 * math.exp(ratio / 100), f1=0.6 + gain / 100)
    ways = {"refined_penalized_log_loss": own, "log_loss": make_way(0.4)}
    nothing = dict.fromkeys(["validation", "test", "temperature", "samples"])
    job = asdict(Job(dataset, "tuned", "log_loss", 5, 0, 0))
    return make_record(dataset, "hgb") | nothing | {"job": job, "ways": ways}


def make_failure(record):
    """Return the record of the same training, had it failed."""
    nothing = dict.fromkeys(
        ["n_rows", "n_classes", "validation", "test", "temperature", "samples"]
    )
    return record | nothing | {"ways": {}, "problem": "ValueError: nothing to train on"}


def make_records(effects, plan=PLAN):
    """Return the records of a plan; `effects` takes a data set and its kind."""
    records = [
        make_record(
            dataset,
            model,
            fold,
            has_refits=kind != "at_random",
            **effects(dataset, kind),
        )
        for kind, data in plan["data"].items()
        for dataset in data["sets"]
        for model in MODELS[kind]
        for fold in range(N_ROUNDS[kind])
        if kind != "tuned"
    ]
    sets = plan["data"]["tuned"]["sets"]
    gains = enumerate(sets, start=1)
    return records + [make_tuned(name, gain=k, ratio=-2.0 * k) for k, name in gains]


def number_of(dataset):
    """Return the number in the name of a data set."""
    return int("".join(filter(str.isdigit, dataset)))


def plant(dataset, kind):
    """Effects that differ a little among the data sets."""
    k = number_of(dataset)
    size = 1 + k / 10
    if kind in ("signals", "at_random"):
        share = 0.5 if kind == "at_random" else 1.0
        effects = {"refined": 2 * size * share, "penalty": size * share, "last": 3.0}
    else:
        effects = {"refined": 0.02 * (k - 4.5), "penalty": -0.1, "last": -1.0}
    return effects | {"former": -4 * size, "refit": -6 * size, "folds": 2.0}


def plant_nothing(dataset, kind):
    """Effects that cancel out: half of the data sets gain what the others lose."""
    k = number_of(dataset)
    sign = 1 if k % 2 else -1
    return {"refined": sign, "penalty": sign, "former": 3 * sign, "refit": 3 * sign}
