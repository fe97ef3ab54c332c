"""Which records of a planned study count, and how its hypotheses are tested."""

import math
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from studies._measures import leave_out, over_folds
from studies._statistics import holm, mean, sign_flip_above, summarize

KINDS = ("tables", "binary", "signals")
LEVEL = 0.05


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
        """The trainings of each kind of data: kind -> {model: most rounds}."""
        planned = {kind: {} for kind in self.plan["data"]}
        for training in self.plan["trainings"]:
            own = planned[training["data"]]
            n_folds = training["folds"] * training["rounds"]
            for model in training["estimators"]:
                own[model] = max(n_folds, own.get(model, 0))
        return planned

    def planned_for(self, dataset):
        """Return the trainings of a data set: model -> number of rounds."""
        kind = self.plan.kind_of(dataset)
        return {
            model: training["folds"] * training["rounds"]
            for training in self.plan["trainings"]
            if training["data"] == kind
            if dataset in training.get("sets", [dataset])
            for model in training["estimators"]
        }

    def models(self, dataset):
        """Return the names of the models of a data set."""
        return list(self.planned_for(dataset))

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
            for model, n_folds in self.planned_for(dataset).items()
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
            n_folds = max(self.planned_for(name).values())
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
            over_folds(measure, self.counted(dataset, name))
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
    expected: str  # "above" or "below" 0, "within" or "not below" the margin
    unit: str  # of the difference
    beside: object = None  # the same in other units


def find_p_value(values, expected, margin):
    """Return the p-value of the expected result."""
    values = np.array(list(values), dtype=float)
    if expected == "within":
        return tost(values, margin)
    if expected == "not below":
        return sign_flip_above(values + margin)
    return sign_flip_above(values if expected == "above" else -values)


def judge_hypotheses(hypotheses, study, margin, is_out=None):
    """Test hypotheses; return a dict for each.

    `is_out` takes a record and says whether to leave it out. The dict has the name, the
    number of units (`n`), the `difference` with its interval (`low`, `high`), `p`,
    `p_adjusted` by Holm's method, and whether it `holds`. For differences in log points
    `nats` has the same in nats.
    """
    results = []
    for hypothesis in hypotheses:
        measure = hypothesis.measure
        if is_out is not None:
            measure = leave_out(measure, is_out)
        values = study.values(measure, hypothesis.kinds)
        units = study.units(values)
        result = {"name": hypothesis.name, **summarize(units.values())}
        result["p"] = find_p_value(units.values(), hypothesis.expected, margin)
        if hypothesis.beside:
            result["nats"] = study.summary(hypothesis.beside, hypothesis.kinds)
        results.append(result)
    adjusted = holm([result["p"] for result in results])
    return [
        result | {"p_adjusted": float(p), "holds": bool(p < LEVEL)}
        for result, p in zip(results, adjusted, strict=True)
    ]
