"""From records to the rows of the tables."""

import warnings
from dataclasses import dataclass

from sklearn_superior.datasets import list_paper_datasets
from sklearn_superior.model_selection import (
    StoppingRuleComparison,
    Trajectory,
    pool_comparisons,
)
from sklearn_superior.replication._paper_tables import CORRELATION, TEST_F1
from sklearn_superior.replication._protocol import ESTIMATORS, PATIENCE, RULES
from sklearn_superior.utils._statistics import holm

# A plain rule and the loss that the network is trained with to be judged by it.
PLAIN_RULES = ("brier", "log_loss")


@dataclass
class Experiment:
    """All trainings of one data set with one kind of estimator, by their loss."""

    dataset: str
    estimator: str
    status: str
    max_iter: int
    comparisons: dict  # loss -> StoppingRuleComparison
    seconds: float

    def comparison_for(self, plain_rule):
        """Return the trainings on which a pair of rules is compared."""
        return self.comparisons.get(plain_rule) or (
            self.comparisons.get("log_loss") if self.estimator != "cnn" else None
        )

    @property
    def n_trainings(self):
        """Number of trainings for each loss."""
        return max(len(c.trajectories) for c in self.comparisons.values())


@dataclass
class Row:
    """A penalized rule against its plain form, on one data set."""

    dataset: str
    estimator: str
    status: str
    quantity: str  # "test_f1" or "correlation"
    selection: str
    rule: str  # the plain one
    plain: tuple  # mean and standard deviation
    penalized: tuple
    difference: float
    low: float
    high: float
    wins: int
    ties: int
    losses: int
    paper: tuple | None  # plain and penalized in the paper

    @property
    def paper_difference(self):
        """The difference in the paper, if there is one."""
        return None if self.paper is None else self.paper[1] - self.paper[0]


def collect(records):
    """Group records into experiments.

    Of several budgets for the same data set and estimator the largest counts.
    """
    groups = {}
    for record in records:
        job = record["job"]
        key = (job["dataset"], job["estimator"], job["max_iter"])
        groups.setdefault(key, []).append(record)
    experiments = {}
    for key in sorted(groups):
        experiments[key[:2]] = _make_experiment(*key, groups[key])
    order = list(ESTIMATORS)
    return sorted(
        experiments.values(), key=lambda e: (order.index(e.estimator), e.dataset)
    )


def _make_experiment(dataset, estimator, max_iter, records):
    n_classes = {d.name: d.n_classes for d in list_paper_datasets()}.get(dataset)
    trajectories = {}
    for record in records:
        job = record["job"]
        trajectory = Trajectory(
            fold=job["fold"],
            repeat=job["repeat"],
            validation=record["validation"],
            test=record["test"],
            seed=record["seed"],
            n_rows=record["n_rows"],
            time=record["seconds"],
            n_classes=n_classes,
        )
        trajectories.setdefault(job["loss"], []).append(trajectory)
    return Experiment(
        dataset=dataset,
        estimator=estimator,
        status=records[0]["status"],
        max_iter=max_iter,
        comparisons={
            loss: StoppingRuleComparison(
                of_loss, RULES, n_iter_no_change=PATIENCE, scoring="f1_macro"
            )
            for loss, of_loss in trajectories.items()
        },
        seconds=sum(record["seconds"] for record in records),
    )


def make_rows(experiment):
    """Compare each penalized rule with its plain form."""
    rows = []
    for column, rule in enumerate(PLAIN_RULES):
        comparison = experiment.comparison_for(rule)
        if comparison is None:
            continue
        with warnings.catch_warnings():  # of few folds, which the tables show
            warnings.simplefilter("ignore", UserWarning)
            summary = {
                (row["rule"], row["selection"]): row
                for row in comparison.summary(baseline=rule)
            }
        for selection in ("CP", "ES"):
            plain = summary[rule, selection]
            penalized = summary[f"penalized_{rule}", selection]
            for quantity, prefix, scale, paper in (
                ("test_f1", "", 100, TEST_F1),
                ("correlation", "correlation_", 1, CORRELATION),
            ):
                mean = prefix.removesuffix("_") or "mean"
                given = paper.get((experiment.dataset, selection))
                rows.append(
                    Row(
                        dataset=experiment.dataset,
                        estimator=experiment.estimator,
                        status=experiment.status,
                        quantity=quantity,
                        selection=selection,
                        rule=rule,
                        plain=(scale * plain[mean], scale * plain[f"{prefix}std"]),
                        penalized=(
                            scale * penalized[mean],
                            scale * penalized[f"{prefix}std"],
                        ),
                        difference=scale * penalized[f"{prefix}difference"],
                        low=scale * penalized[f"{prefix}low"],
                        high=scale * penalized[f"{prefix}high"],
                        wins=penalized[f"{prefix}wins"],
                        ties=penalized[f"{prefix}ties"],
                        losses=penalized[f"{prefix}losses"],
                        paper=given and given[2 * column : 2 * column + 2],
                    )
                )
    return rows


def pool(experiments):
    """Compare each penalized rule with its plain form over the data sets.

    Returns a dict for each estimator and pair of rules, with the difference of F1 on
    the test part at the checkpoint, in points. Early stopping mostly chooses the same
    stage, so it is no contrast of its own.
    """
    contrasts = []
    for estimator in ESTIMATORS:
        for rule in PLAIN_RULES:
            comparisons = {
                e.dataset: e.comparison_for(rule)
                for e in experiments
                if e.estimator == estimator and e.comparison_for(rule) is not None
            }
            if not comparisons:
                continue
            with warnings.catch_warnings():  # of few folds
                warnings.simplefilter("ignore", UserWarning)
                pooled = pool_comparisons(
                    comparisons, rule=f"penalized_{rule}", baseline=rule
                )
            *of_sets, total = pooled
            gains = [row["difference"] for row in of_sets]
            contrasts.append(
                {
                    "estimator": estimator,
                    "rule": rule,
                    "n_sets": total["n"],
                    "n_up": sum(gain > 0 for gain in gains),
                    "n_down": sum(gain < 0 for gain in gains),
                    "p_value": total["p_value"],
                    **{key: 100 * total[key] for key in ("difference", "low", "high")},
                }
            )
    adjusted = holm([contrast["p_value"] for contrast in contrasts])
    for contrast, p_holm in zip(contrasts, adjusted, strict=True):
        contrast["p_holm"] = float(p_holm)
    return contrasts
