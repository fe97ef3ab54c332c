"""From the records of the comparison of procedures to its five results.

This fixes which records count and how they are tested. It was written before the first
training, and tried on synthetic records with a known answer.
"""

import math
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from studies._scores import paper_penalty
from studies._statistics import holm, mean, sign_flip_above, summarize

BASELINE = "log_loss"
REFINED = "refined_penalized_log_loss"
LAST = "last"
RULES = (
    "log_loss",
    "refined_log_loss",
    "penalized_log_loss",
    REFINED,
    "brier",
    "penalized_brier",
    "accuracy",
    "f1_macro",
)
AT_RANDOM = "at_random"
TUNED = "tuned"  # with settings to choose from; without trajectories
KINDS = ("tables", "binary", "signals")
LEAST_LOSS = 1e-6  # a log loss below it counts as this much
LEVEL = 0.05


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


def has_one_class(record):
    """Return whether all test rows of a training are of one class."""
    return len(set(record["samples"]["true"])) == 1


# What counts --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Study:
    """The records that count.

    A round is one fold of all data sets. Only rounds count that are complete: all
    trainings that the plan has for the data sets of the hypotheses are done. If not
    even the first one is, the data sets count that are complete in it. A training that
    failed is done, but has no values.

    Parameters
    ----------
    plan : Plan
        The plan.

    records : list of dict
        All records.
    """

    plan: object
    records: list

    @cached_property
    def planned(self):
        """The trainings of each kind of data: kind -> {model: number of rounds}."""
        planned = {kind: {} for kind in self.plan["data"]}
        for training in self.plan["trainings"]:
            n_folds = training["folds"] * training["rounds"]
            planned[training["data"]] |= dict.fromkeys(training["estimators"], n_folds)
        return planned

    def models(self, dataset):
        """Return the names of the models of a data set."""
        return list(self.planned[self.plan.kind_of(dataset)])

    @cached_property
    def _done(self):
        return {
            (job["dataset"], job["estimator"], job["fold"]): record
            for record in self.records
            for job in [record["job"]]
        }

    def is_complete(self, dataset, fold):
        """Return whether all trainings of a data set in a round are done."""
        return all(
            fold >= n_folds or (dataset, model, fold) in self._done
            for model, n_folds in self.planned[self.plan.kind_of(dataset)].items()
        )

    @cached_property
    def folds(self):
        """Numbers of the complete rounds; the first one if none is."""
        n_folds = max(max(own.values(), default=0) for own in self.planned.values())
        complete = [
            fold
            for fold in range(n_folds)
            if all(self.is_complete(name, fold) for name in self.tested)
        ]
        return complete or [0]

    @cached_property
    def tested(self):
        """Names of the data sets of the hypotheses."""
        kinds = (self.plan["data"].get(kind, {"sets": []}) for kind in KINDS)
        return [n for kind in kinds for n in kind["sets"] if n not in self.plan["seen"]]

    @cached_property
    def missing(self):
        """Names of the data sets that do not count.

        Those that are not of a hypothesis count if they are complete in one round.
        """

        def counts(name):
            n_folds = max(self.planned[self.plan.kind_of(name)].values())
            rounds = [fold for fold in self.folds if fold < n_folds]
            enough = all if name in self.tested else any
            return enough(self.is_complete(name, fold) for fold in rounds)

        return [name for name in self.plan.datasets if not counts(name)]

    @cached_property
    def failures(self):
        """The records of trainings that failed."""
        return [record for record in self.records if record.get("problem")]

    def sets(self, kinds=KINDS, seen=False):
        """Return the names of the data sets that count; those seen before on demand."""
        left_out = {*self.missing, *(() if seen else self.plan["seen"])}
        return [
            name
            for kind in kinds
            for name in self.plan["data"].get(kind, {"sets": []})["sets"]
            if name not in left_out
        ]

    def find(self, dataset, model, fold):
        """Return a record; None if there is none, or if its training failed."""
        record = self._done.get((dataset, model, fold))
        return None if record is None or record.get("problem") else record

    def counted(self, dataset, model):
        """Return the records of a data set and a model that count, fold by fold."""
        found = (self.find(dataset, model, fold) for fold in self.folds)
        return [record for record in found if record is not None]

    def trainings(self, kinds=KINDS):
        """Return all records that count."""
        return [
            record
            for name in self.sets(kinds)
            for model in self.models(name)
            for record in self.counted(name, model)
        ]

    def value(self, dataset, measure, models=None):
        """Return the mean over the folds of each model, then over the models."""
        return mean(
            mean(measure(record) for record in self.counted(dataset, name))
            for name in self.models(dataset)
            if models is None or name in models
        )

    def values(self, measure, kinds=KINDS, *, models=None, seen=False):
        """Return the values of the data sets that have one: name -> value."""
        values = {
            name: self.value(name, measure, models) for name in self.sets(kinds, seen)
        }
        return {name: v for name, v in values.items() if math.isfinite(v)}

    def units(self, values):
        """Average the data sets of a family: unit -> value."""
        families = {
            name: tuple(family) for family in self.plan["families"] for name in family
        }
        found = defaultdict(dict)
        for name, value in values.items():
            found[families.get(name, (name,))][name] = value
        return {" + ".join(own): mean(own.values()) for own in found.values()}

    def summary(self, measure, kinds=KINDS, *, models=None):
        """Return mean and interval over the units, as `summarize` does."""
        values = self.values(measure, kinds, models=models)
        return summarize(self.units(values).values())


# How it is tested ---------------------------------------------------------------------


def tost(differences, margin):
    """Return the p-value of a mean within a margin: the larger of two tests.

    Examples
    --------
    >>> tost([0.1, -0.1, 0.0], 0.5)
    0.125
    """
    differences = np.asarray(list(differences), dtype=float)
    return max(
        sign_flip_above(differences + margin), sign_flip_above(margin - differences)
    )


@dataclass(frozen=True)
class Hypothesis:
    """A hypothesis: a measure, the kinds of data, and the expected result."""

    name: str
    measure: object
    kinds: tuple
    expected: str  # "above", "below" 0, or "within" the margin
    unit: str  # of the difference
    beside: object = None  # the same in other units


HYPOTHESES = (
    Hypothesis("H1", f1_gain(REFINED, BASELINE), ("signals",), "above", "points"),
    Hypothesis(
        "H2", f1_gain("penalized_brier", "brier"), ("signals",), "above", "points"
    ),
    Hypothesis(
        "H3",
        log_ratio("default", "former"),
        KINDS,
        "below",
        "log points",
        way_gain("default", "former"),
    ),
    Hypothesis("H4", f1_gain(REFINED, BASELINE), ("tables",), "within", "points"),
    Hypothesis(
        "H5",
        log_ratio("all", "default"),
        KINDS,
        "below",
        "log points",
        way_gain("all", "default"),
    ),
)


def find_p_value(values, expected, margin):
    """Return the p-value of the expected result."""
    values = np.array(list(values), dtype=float)
    if expected == "within":
        return tost(values, margin)
    return sign_flip_above(values if expected == "above" else -values)


def five_results(plan, records, is_out=None):
    """Test the five hypotheses; return a dict for each.

    `is_out` takes a record and says whether to leave it out. The plan leaves none out.

    It has the name, the number of units (`n`), the `difference` with its interval
    (`low`, `high`), `p`, `p_adjusted` by Holm's method, and whether it `holds`. For
    differences in log points `nats` has the same in nats.
    """
    study = records if isinstance(records, Study) else Study(plan, records)
    results = []
    for hypothesis in HYPOTHESES:
        measure = hypothesis.measure
        if is_out is not None:
            measure = leave_out(measure, is_out)
        values = study.values(measure, hypothesis.kinds)
        units = study.units(values)
        result = {"name": hypothesis.name, **summarize(units.values())}
        result["p"] = find_p_value(units.values(), hypothesis.expected, plan["margin"])
        if hypothesis.beside:
            result["nats"] = study.summary(hypothesis.beside, hypothesis.kinds)
        results.append(result)
    adjusted = holm([result["p"] for result in results])
    return [
        result | {"p_adjusted": float(p), "holds": bool(p < LEVEL)}
        for result, p in zip(results, adjusted, strict=True)
    ]
