"""From the records of the comparison of rules to answers."""

import math
import warnings
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from sklearn_superior.metrics._rules import RULES
from sklearn_superior.model_selection import StoppingRuleComparison, Trajectory
from sklearn_superior.model_selection._statistics import holm, pool

BASELINE = "log_loss"
TARGET = "f1_macro"  # the first judge of the plan
_PATIENCE = 10  # stages, of early stopping
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
}


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


def as_trajectory(record, smoothing, *, exact=False):
    """Return the scores of a training by all rules and judges.

    Parameters
    ----------
    record : dict
        The record of the training.

    smoothing : int
        Number of stages in a moving mean.

    exact : bool, default=False
        Whether stages that are equal are known as equal, by smoothing counts of errors
        in place of rates, and are told apart by the log loss. False is what the
        published report was made with: the first of equal stages, and moving means by
        cumulative sums, which differ by rounding where they are equal.
    """
    sizes, n_classes = record["n_rows"], record["n_classes"]
    validation, test = (
        _scores(record[part], n_classes, sizes[part]) for part in ("validation", "test")
    )
    mean = smooth if exact else _smooth_by_sums
    for rule in ("accuracy", "refined_penalized_brier"):
        validation[f"smoothed_{rule}"] = mean(validation[rule], smoothing)
    if exact:
        n_errors = smooth(record["validation"]["errors"], smoothing)
        validation["smoothed_accuracy"] = 1 - n_errors / sizes["validation"]
    job = record["job"]
    return Trajectory(
        fold=job["fold"],
        repeat=job["repeat"],
        validation=validation,
        test=test,
        seed=record["seed"],
        n_rows=sizes,
        time=record["seconds"],
        n_classes=n_classes,
        temperature=np.array(record["temperature"], dtype=float),
        tie_scores=validation["log_loss"] if exact else None,
    )


def _scores(part, n_classes, n_rows):
    """Scores of one part; the refined ones after the temperature of validation."""
    values = {name: np.array(v, dtype=float) for name, v in part.items()}
    error = values["errors"] / n_rows
    scores = {"accuracy": 1 - error, "target": values["f1_macro"]}
    scores["f1_macro"] = values["f1_macro"]
    for name in ("log_loss", "brier"):
        penalty = RULES[name].penalty("paper", n_classes) * error
        plain, calibrated = values[name], values[f"calibrated_{name}"]
        scores |= {
            name: -plain,
            f"penalized_{name}": -plain - penalty,
            f"refined_{name}": -calibrated,
            f"refined_penalized_{name}": -calibrated - penalty,
            f"calibrated_{name}": -calibrated,
        }
    return scores


def smooth(values, width):
    """Return the centred moving mean, of fewer values at the ends.

    Sums are rounded once: those of the same values are equal, and those of whole
    numbers exact.

    Examples
    --------
    >>> smooth([1.0, 2.0, 6.0, 3.0], 3).tolist()
    [1.5, 3.0, 3.6666666666666665, 4.5]
    """
    half = width // 2
    windows = (values[max(k - half, 0) : k + half + 1] for k in range(len(values)))
    return np.array([math.fsum(window) / len(window) for window in windows])


def _smooth_by_sums(values, width):
    """Return the centred moving mean from cumulative sums, up to their rounding."""
    half = width // 2
    sums = np.concatenate([[0.0], np.cumsum(values)])
    stages = np.arange(len(values))
    first = np.maximum(stages - half, 0)
    end = np.minimum(stages + half + 1, len(values))
    return (sums[end] - sums[first]) / (end - first)


class Evidence:
    """All trainings of the comparison of rules.

    Parameters
    ----------
    plan : Plan
        The plan.

    records : list of dict
        The records.

    exact : bool, default=False
        Whether ties among stages are found exactly and broken by the log loss, see
        `as_trajectory`.
    """

    def __init__(self, plan, records, *, exact=False):
        self.plan, self.records = plan, records
        groups = defaultdict(list)
        for record in records:
            job = record["job"]
            key = (job["dataset"], job["estimator"], job["loss"])
            groups[key].append(as_trajectory(record, plan["smoothing"], exact=exact))
        self.comparisons = {
            key: StoppingRuleComparison(
                trajectories,
                plan["rules"],
                n_iter_no_change=_PATIENCE,
                scoring=TARGET,
                judges=plan["judges"][1:],
            )
            for key, trajectories in sorted(groups.items())
        }

    @cached_property
    def _means(self):
        """Means over the folds, by data set, estimator, loss, rule, judge, selection.

        The repeats of a fold are averaged first.
        """
        means = {}
        for key, comparison in self.comparisons.items():
            chosen = defaultdict(lambda: defaultdict(list))
            for trajectory in comparison.trajectories:
                for rule, selection in product(self.plan["rules"], ("CP", "ES")):
                    stage, _ = trajectory.choose(
                        rule, selection, n_iter_no_change=_PATIENCE
                    )
                    for judge in self.plan["judges"]:
                        scores = trajectory.test[judge]
                        score = np.nan if stage is None else scores[stage]
                        chosen[rule, judge, selection][trajectory.fold].append(score)
            for choice, folds in chosen.items():
                mean = np.nanmean([np.mean(scores) for scores in folds.values()])
                means[key + choice] = float(mean)
        return means

    def datasets(self, data):
        """Return the names of the data sets of one kind, in their order."""
        names = dict.fromkeys(dataset for dataset, _, _ in self.comparisons)
        return [name for name in names if self.plan.kind_of(name) == data]

    def values(self, family, rule, judge=TARGET, loss="log_loss", selection="CP"):
        """Return what a rule reaches with a family: data set -> value.

        The value is the mean over the models of the family; a data set counts if all
        of them were trained on it.
        """
        values = {}
        for dataset in self.datasets(family.data):
            keys = [
                (dataset, estimator, loss, rule, judge, selection)
                for estimator in family.estimators
            ]
            if all(key in self._means for key in keys):
                values[dataset] = float(np.mean([self._means[key] for key in keys]))
        return values

    def differences(self, rule, baseline, families=None, **options):
        """Return the differences of two rules: data set -> mean over the families."""
        found = defaultdict(list)
        for family in list_families(self.plan) if families is None else families:
            own = self.values(family, rule, **options)
            other = self.values(family, baseline, **options)
            for dataset in own:
                found[dataset].append(own[dataset] - other[dataset])
        return {dataset: float(np.mean(values)) for dataset, values in found.items()}

    def contrast(self, rule, baseline, families=None, **options):
        """Compare two rules over the data sets, which are the units.

        Returns a dict, as the pooled row of `pool_comparisons`.
        """
        differences = self.differences(rule, baseline, families, **options)
        values = np.array(list(differences.values()))
        return {
            "rule": rule,
            "baseline": baseline,
            "dataset": "pooled",
            **pool(values),
            "n_up": int((values > 0).sum()),
            "n_down": int((values < 0).sum()),
        }

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

    def regrets(self, judge=TARGET):
        """Return how far each rule is from the best one: rule -> family -> regret.

        Of each family the means over its data sets are compared.
        """
        regrets = {rule: {} for rule in self.plan["rules"]}
        for family in self.families():
            means = {
                rule: np.mean(list(self.values(family, rule, judge).values()))
                for rule in self.plan["rules"]
            }
            best = max(means.values())
            for rule, mean in means.items():
                regrets[rule][family] = float(best - mean)
        return regrets

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

    @property
    def hours(self):
        """Hours of one core that the trainings took."""
        return sum(record["seconds"] for record in self.records) / 3600


def judge_interval(row, margin):
    """Say what an interval in points means, beside a margin that matters.

    Examples
    --------
    >>> judge_interval({"low": 0.6, "high": 1.0}, 0.5)
    'a gain that matters'
    >>> judge_interval({"low": -0.2, "high": 0.3}, 0.5)
    'no difference that matters'
    >>> judge_interval({"low": 0.2, "high": 1.0}, 0.5)
    'undecided, leaning to a gain'
    """
    low, high = row["low"], row["high"]
    if math.isnan(low):
        return "undecided"
    if -margin <= low and high <= margin:
        return "no difference that matters"
    for sign, word in ((1, "gain"), (-1, "loss")):
        least = min(sign * low, sign * high)
        if least > margin:
            return f"a {word} that matters"
        if least > 0:
            return f"undecided, leaning to a {word}"
    return "undecided"
