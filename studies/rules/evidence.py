"""From the records of the comparison of rules to answers."""

import math
import warnings
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from sklearn_superior.model_selection import StoppingRuleComparison
from studies._statistics import holm, pool
from studies.rules.scores import as_trajectory

BASELINE = "log_loss"
REFINED = "refined_penalized_brier"  # the refined rule of the planned contrasts
TARGET = "f1_macro"  # the first judge of the plan
SHARE = "share"  # of the budget that is trained, in place of a judge
# Of these the path of the report is made.
PENALTIES = [0, "0.5 x paper", "paper", "2 x paper", "4 x paper", "8 x paper", math.inf]

# What the rules are called in tables and figures.
SHORT = {
    "last": "last stage",
    "log_loss": "log loss (LL)",
    "brier": "Brier score (BS)",
    "penalized_log_loss": "PLL",
    "penalized_brier": "PBS",
    "accuracy": "accuracy",
    "f1_macro": "macro F1",
    "refined_log_loss": "refined LL",
    "refined_brier": "refined BS",
    "refined_penalized_log_loss": "refined PLL",
    "refined_penalized_brier": "refined PBS",
    "smoothed_accuracy": "smoothed accuracy",
    "smoothed_refined_penalized_brier": "smoothed refined PBS",
    "accuracy_then_brier": "accuracy, ties by the Brier score",
}


class Policy(NamedTuple):
    """A rule with the patience of early stopping; None: the best of all stages."""

    rule: str
    patience: int | None = None


def as_policy(choice):
    """Return a policy as it is, and a rule as the policy that sees all stages."""
    return Policy(choice) if isinstance(choice, str) else choice


def name_of(choice):
    """Return what a rule or a policy is called.

    Examples
    --------
    >>> name_of("penalized_brier"), name_of(Policy("penalized_brier", 20))
    ('PBS', 'PBS, patience 20')
    """
    rule, patience = as_policy(choice)
    return SHORT[rule] if patience is None else f"{SHORT[rule]}, patience {patience}"


@dataclass(frozen=True)
class Family:
    """Models of one kind, on data of one kind."""

    name: str
    estimators: tuple
    data: str

    @property
    def title(self):
        """Name with its data."""
        return f"{self.name}, {self.data}"


def list_families(plan):
    """Return the families of a plan, each with the data that it is trained on."""
    return tuple(
        Family(name, tuple(estimators), data)
        for data in plan["data"]
        for name, estimators in plan["families"].items()
        if any(
            t["data"] == data and set(estimators) <= set(t["estimators"])
            for t in plan["trainings"]
        )
    )


class Evidence:
    """All trainings of the comparison of rules.

    What chooses a stage is a rule, or a `Policy`: a rule with a patience.

    Parameters
    ----------
    plan : Plan
        The plan.

    records : list of dict
        The records.
    """

    def __init__(self, plan, records):
        self.plan, self.records = plan, records
        groups = defaultdict(list)
        for record in records:
            job = record["job"]
            key = (job["dataset"], job["estimator"], job["loss"])
            groups[key].append(as_trajectory(record, plan["smoothing"]))
        self.comparisons = {
            key: StoppingRuleComparison(
                trajectories,
                plan["rules"],
                n_iter_no_change=10,
                scoring=TARGET,
                judges=plan["judges"][1:],
            )
            for key, trajectories in sorted(groups.items())
        }
        self._choose = cache(self._choose)
        self.mean = cache(self.mean)

    def _choose(self, key, policy):
        """Return the fold, the chosen stage and the stages seen of each training."""
        rule, patience = policy
        how = ("CP", 1) if patience is None else ("ES", patience)
        return [
            (t, *t.choose(rule, how[0], n_iter_no_change=how[1]))
            for t in self.comparisons[key].trajectories
        ]

    def mean(self, key, choice, judge=TARGET):
        """Return the mean over the folds of a data set, an estimator and a loss.

        The repeats of a fold are averaged first.
        """
        folds = defaultdict(list)
        for trajectory, stage, n_seen in self._choose(key, as_policy(choice)):
            if judge == SHARE:
                score = n_seen / len(trajectory.validation["target"])
            else:
                score = np.nan if stage is None else trajectory.test[judge][stage]
            folds[trajectory.fold].append(score)
        return float(np.nanmean([np.mean(scores) for scores in folds.values()]))

    def datasets(self, data):
        """Return the names of the data sets of one kind, in their order."""
        names = dict.fromkeys(dataset for dataset, _, _ in self.comparisons)
        return [name for name in names if self.plan.kind_of(name) == data]

    def values(self, family, choice, judge=TARGET, loss="log_loss"):
        """Return what a rule or a policy reaches with a family: data set -> value.

        The value is the mean over the models of the family; a data set counts if all
        of them were trained on it.
        """
        values = {}
        for dataset in self.datasets(family.data):
            keys = [(dataset, estimator, loss) for estimator in family.estimators]
            if all(key in self.comparisons for key in keys):
                of_models = [self.mean(key, choice, judge) for key in keys]
                values[dataset] = float(np.mean(of_models))
        return values

    def differences(self, choice, baseline, families=None, **options):
        """Return the differences of two choices: data set -> mean over the families."""
        found = defaultdict(list)
        for family in list_families(self.plan) if families is None else families:
            own = self.values(family, choice, **options)
            other = self.values(family, baseline, **options)
            for dataset in own:
                found[dataset].append(own[dataset] - other[dataset])
        return {dataset: float(np.mean(values)) for dataset, values in found.items()}

    def contrast(self, choice, baseline, families=None, *, without=(), **options):
        """Compare two choices over the data sets, which are the units.

        Returns a dict, as the pooled row of `pool_comparisons`. Data sets by the names
        `without` are left out.
        """
        differences = self.differences(choice, baseline, families, **options)
        row = pool([v for k, v in differences.items() if k not in without])
        return {"rule": choice, "baseline": baseline, "dataset": "pooled"} | row

    def planned_contrasts(self):
        """Return the contrasts of the plan, with p-values adjusted for their number."""
        rows = [
            self.contrast(rule, baseline) for rule, baseline in self.plan["contrasts"]
        ]
        adjusted = holm([row["p_value"] for row in rows])
        return [
            row | {"p_holm": float(p)} for row, p in zip(rows, adjusted, strict=True)
        ]

    def families(self):
        """Return the families that have a data set."""
        return [f for f in list_families(self.plan) if self.values(f, BASELINE)]

    def groups(self):
        """Return the families by their data, those of all data last: name -> families.

        Signals and tables are two populations. What is said of all is a mean over both.
        """
        families = self.families()
        of_data = {
            data: [family for family in families if family.data == data]
            for data in self.plan["data"]
        }
        return {data: own for data, own in of_data.items() if own} | {"all": families}

    def family_means(self, choice, judge=TARGET):
        """Return the mean over the data sets of each family: family -> mean."""
        return {
            family: float(np.mean(list(self.values(family, choice, judge).values())))
            for family in self.families()
        }

    def regrets(self, choices=None, judge=TARGET):
        """Return how far each choice is from the best: choice -> family -> regret.

        Of each family the means over its data sets are compared. None: the rules of
        the plan.
        """
        choices = self.plan["rules"] if choices is None else choices
        means = {choice: self.family_means(choice, judge) for choice in choices}
        best = {
            family: max(of_choice[family] for of_choice in means.values())
            for family in self.families()
        }
        return {
            choice: {family: best[family] - mean for family, mean in own.items()}
            for choice, own in means.items()
        }

    def worst_last_stage(self):
        """Return where it loses most to the choice of `REFINED`: key, difference."""
        of_keys = {
            key: self.mean(key, "last") - self.mean(key, REFINED)
            for key in self.comparisons
        }
        worst = min(of_keys, key=of_keys.get)
        return worst, of_keys[worst]

    def penalty_path(self, family, rule="brier", judge=None):
        """Return the mean over the data sets along the path: a value per penalty."""
        column = "test_score" if judge is None else f"test_{judge}"
        of_sets = []
        for dataset in self.values(family, BASELINE):
            paths = [
                self.comparisons[dataset, estimator, "log_loss"].penalty_path(
                    rule, PENALTIES
                )
                for estimator in family.estimators
            ]
            of_sets.append(np.mean([[row[column] for row in p] for p in paths], axis=0))
        return np.mean(of_sets, axis=0)

    def summary(self, key, baseline=BASELINE):
        """Return the summary of one data set and estimator, at the checkpoint."""
        with warnings.catch_warnings():  # of few folds
            warnings.simplefilter("ignore", UserWarning)
            return self.comparisons[key].summary(baseline=baseline, selection="CP")

    def scores_of_folds(self, key, rule=BASELINE):
        """Return the target on the test part: (fold, repeat) -> score at the choice."""
        if key not in self.comparisons:
            return {}
        return {
            (t.fold, t.repeat): t.test["target"][t.choose(rule, "CP")[0]]
            for t in self.comparisons[key].trajectories
        }

    def count_ties(self, rule="accuracy"):
        """Return the number of trainings with several best stages, and that of all."""
        best = [
            np.count_nonzero(scores == np.nanmax(scores))
            for comparison in self.comparisons.values()
            for scores in (t.validation[rule] for t in comparison.trajectories)
        ]
        return sum(n > 1 for n in best), len(best)

    @property
    def hours(self):
        """Hours of one core that the trainings took."""
        return sum(record["seconds"] for record in self.records) / 3600
