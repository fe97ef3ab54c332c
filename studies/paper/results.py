"""From records to the rows of the tables."""

import csv
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sklearn_superior.datasets import list_paper_datasets
from sklearn_superior.model_selection import (
    StoppingRuleComparison,
    Trajectory,
    pool_comparisons,
)
from studies._statistics import holm
from studies.paper.protocol import ESTIMATORS, PATIENCE, RULES

# The plain rules; a network is judged by the one that it was trained with.
PLAIN_RULES = ("brier", "log_loss")
FEWEST_FOLDS = 3  # with fewer a data set has no interval
# What is compared: columns of a summary (mean, prefix of the others) and a factor.
_QUANTITIES = {
    "test_f1": ("mean", "", 100),
    "correlation": ("correlation", "correlation_", 1),
}


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

    @property
    def has_few_folds(self):
        """Whether there are too few trainings for a comparison."""
        return self.n_trainings < FEWEST_FOLDS


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
    difference: tuple  # with both ends of its interval
    counts: tuple  # won, tied, lost
    paper: tuple | None  # plain and penalized in the paper

    @property
    def paper_difference(self):
        """The difference in the paper, if there is one."""
        return None if self.paper is None else self.paper[1] - self.paper[0]


@cache
def read_paper_tables():
    """Return what the paper has: (quantity, data set, selection) -> rule -> mean."""
    path = Path(__file__).with_name("paper_tables.csv")
    tables = {}
    header, *rows = csv.reader(path.read_text("utf-8").splitlines())
    for cells in rows:
        row = dict(zip(header, cells, strict=True))
        key = tuple(row.pop(name) for name in ("quantity", "dataset", "selection"))
        tables[key] = {rule: float(value) for rule, value in row.items()}
    return tables


def collect(records):
    """Group records into experiments.

    Of several budgets for the same data set and estimator the largest counts.
    """
    groups = {}
    for record in records:
        job = record["job"]
        key = (job["dataset"], job["estimator"], job["max_iter"])
        groups.setdefault(key, []).append(record)
    experiments = {
        key[:2]: _make_experiment(*key, groups[key]) for key in sorted(groups)
    }
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
    comparisons = {
        loss: StoppingRuleComparison(
            of_loss, RULES, n_iter_no_change=PATIENCE, scoring="f1_macro"
        )
        for loss, of_loss in trajectories.items()
    }
    seconds = sum(record["seconds"] for record in records)
    status = records[0]["status"]
    return Experiment(dataset, estimator, status, max_iter, comparisons, seconds)


def make_rows(experiment):
    """Compare each penalized rule with its plain form."""
    rows = []
    for rule in PLAIN_RULES:
        comparison = experiment.comparison_for(rule)
        if comparison is None:
            continue
        with warnings.catch_warnings():  # of few folds, which the tables show
            warnings.simplefilter("ignore", UserWarning)
            summary = {
                (row["rule"], row["selection"]): row
                for row in comparison.summary(baseline=rule)
            }
        rows += [
            _make_row(experiment, rule, summary, selection, quantity)
            for selection in ("CP", "ES")
            for quantity in _QUANTITIES
        ]
    return rows


def _make_row(experiment, rule, summary, selection, quantity):
    mean, prefix, scale = _QUANTITIES[quantity]
    plain, penalized = summary[rule, selection], summary[f"penalized_{rule}", selection]
    spread = (mean, f"{prefix}std")
    paper = read_paper_tables().get((quantity, experiment.dataset, selection))
    return Row(
        dataset=experiment.dataset,
        estimator=experiment.estimator,
        status=experiment.status,
        quantity=quantity,
        selection=selection,
        rule=rule,
        plain=tuple(scale * plain[name] for name in spread),
        penalized=tuple(scale * penalized[name] for name in spread),
        difference=tuple(
            scale * penalized[f"{prefix}{end}"] for end in ("difference", "low", "high")
        ),
        counts=tuple(penalized[f"{prefix}{n}"] for n in ("wins", "ties", "losses")),
        paper=paper and (paper[rule], paper[f"penalized_{rule}"]),
    )


def pool(experiments):
    """Compare each penalized rule with its plain form over the data sets.

    Returns a dict for each estimator and pair of rules, with the difference of F1 on
    the test part at the checkpoint, in points. Early stopping mostly chooses the same
    stage, so it is not a contrast of its own.
    """
    contrasts = []
    for estimator in ESTIMATORS:
        for rule in PLAIN_RULES:
            comparisons = {
                e.dataset: e.comparison_for(rule)
                for e in experiments
                if e.estimator == estimator and e.comparison_for(rule) is not None
            }
            if comparisons:
                names = {"estimator": estimator, "rule": rule}
                contrasts.append(names | _pool_rule(comparisons, rule))
    adjusted = holm([contrast["p_value"] for contrast in contrasts])
    for contrast, p_holm in zip(contrasts, adjusted, strict=True):
        contrast["p_holm"] = float(p_holm)
    return contrasts


def _pool_rule(comparisons, rule):
    with warnings.catch_warnings():  # of few folds
        warnings.simplefilter("ignore", UserWarning)
        *of_sets, total = pool_comparisons(
            comparisons, rule=f"penalized_{rule}", baseline=rule, selection="CP"
        )
    gains = [row["difference"] for row in of_sets]
    return {
        "n_sets": total["n"],
        "n_up": sum(gain > 0 for gain in gains),
        "n_down": sum(gain < 0 for gain in gains),
        "p_value": total["p_value"],
        **{key: 100 * total[key] for key in ("difference", "low", "high")},
    }
