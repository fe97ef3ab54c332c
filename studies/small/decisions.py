"""What decisions cost, on twenty sets: at the least expected cost, and otherwise.

Every set is split into training, validation and test rows. One model is stopped by the
default rule and calibrated on the validation rows, the other is stopped by the log loss
and left as it is. Two tasks: the rarest class against all others, where a miss costs 20
times as much as a false alarm, and all classes with random costs between 1 and 20::

    python -m studies decisions run --data-home FOLDER
    python -m studies decisions report
"""

import time
import warnings
from dataclasses import asdict, dataclass

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_superior.early_stopping import EarlyStoppingClassifier
from sklearn_superior.metrics import bayes_decision
from studies._page import Heading, Paragraph, Table, interval, signed
from studies._runner import check_names
from studies._statistics import summarize
from studies._tables import BUILT_IN
from studies.paper.protocol import flatten
from studies.small.validation import SETS, draw_parts, list_sizes, load

__all__ = ["FIELDS", "QUICK", "TITLE", "load", "make_jobs", "make_parts", "train"]

TITLE = "What decisions cost"
FIELDS = ("job", "n_rows", "seconds", "binary", "classes")
QUICK = ("iris",)
FAMILIES = ("hgb", "mlp")
N_SEEDS = 3
MOST_VALIDATION_ROWS = 120
RATIO = 20  # of the dearest to the cheapest mistake
METHODS = {
    "calibrated": "least expected cost, calibrated",
    "raw": "least expected cost, log loss, not calibrated",
    "most_probable": "most probable class",
    "tuned": "threshold tuned on the validation rows",
}


@dataclass(frozen=True)
class Job:
    """The two tasks of one split."""

    dataset: str
    family: str
    n_validation: int
    seed: int

    @property
    def name(self):
        """Unique name of the job."""
        return f"{self.dataset}/{self.family}-{self.n_validation}/seed{self.seed}"


def make_jobs(datasets=None, estimators=None, *, n_repeats=None, data_home=None, **_):
    """List the jobs; `n_repeats` is the number of seeds."""
    check_names("--datasets", datasets, SETS)
    check_names("--estimators", estimators, FAMILIES)
    sizes = {
        name: max(n for n in list_sizes(name, data_home) if n <= MOST_VALIDATION_ROWS)
        for name in datasets or SETS
    }
    return [
        Job(name, family, n_validation, seed)
        for seed in range(n_repeats or N_SEEDS)
        for name, n_validation in sizes.items()
        for family in estimators or FAMILIES
    ]


def make_estimator(job):
    """Return the estimator of a job."""
    if job.family == "hgb":
        return HistGradientBoostingClassifier(max_iter=200, random_state=job.seed)
    network = MLPClassifier(max_iter=80, random_state=job.seed)
    return make_pipeline(SimpleImputer(), StandardScaler(), network)


def predict(job, X, y, **options):
    """Return probabilities of the validation and of the test rows."""
    model = EarlyStoppingClassifier(make_estimator(job), **options)
    model.fit(X["train"], y["train"], X_val=X["validation"], y_val=y["validation"])
    return {name: model.predict_proba(X[name]) for name in ("validation", "test")}


def compare(job, X, y, costs):
    """Return the mean test cost of each method."""
    paid = {}
    calibrated = predict(job, X, y)
    raw = predict(job, X, y, scoring="neg_log_loss", calibration=None)
    truth = y["test"]
    for name, forecasts in {"calibrated": calibrated, "raw": raw}.items():
        paid[name] = costs[truth, bayes_decision(forecasts["test"], costs)]
    paid["most_probable"] = costs[truth, calibrated["test"].argmax(axis=1)]
    if len(costs) == 2:
        threshold = tune_threshold(y["validation"], calibrated["validation"], costs)
        decision = (calibrated["test"][:, 1] > threshold).astype(int)
        paid["tuned"] = costs[truth, decision]
    return {name: float(np.mean(values)) for name, values in paid.items()}


def tune_threshold(y, y_proba, costs):
    """Return the threshold with the lowest cost; the middle one of equals."""
    places = np.unique(np.append(y_proba[:, 1], [0.0, 1.0]))
    thresholds = (places[1:] + places[:-1]) / 2
    decisions = (y_proba[:, 1] > thresholds[:, np.newaxis]).astype(int)
    totals = costs[y, decisions].mean(axis=1)
    best = np.flatnonzero(totals == totals.min())
    return thresholds[best[len(best) // 2]]


def train(job, data_home=None, device="auto"):
    """Do a job; return its record, ready for JSON."""
    start, parts = time.perf_counter(), draw_parts(job, data_home)
    X = {name: flatten(part) for name, part in parts.X.items()}
    counts = np.bincount(parts.y["train"], minlength=parts.n_classes)
    rare = int(np.argmin(np.where(counts >= 10, counts, len(X["train"]) + 1)))
    is_rare = {name: (labels == rare).astype(int) for name, labels in parts.y.items()}
    rng = np.random.default_rng(job.seed)
    costs = RATIO ** rng.random((parts.n_classes, parts.n_classes))
    np.fill_diagonal(costs, 0)
    with warnings.catch_warnings(action="ignore"):
        binary = compare(job, X, is_rare, np.array([[0, 1], [RATIO, 0.0]]))
        classes = compare(job, X, parts.y, costs)
    return {
        "job": asdict(job),
        "n_rows": {name: len(part) for name, part in parts.y.items()},
        "seconds": round(time.perf_counter() - start, 1),
        "binary": binary,
        "classes": classes,
    }


def mean_costs(records, task):
    """Return the mean cost of each method on each data set."""
    costs = {}
    for record in records:
        for method, cost in record[task].items():
            of_set = costs.setdefault(method, {})
            of_set.setdefault(record["job"]["dataset"], []).append(cost)
    return {
        method: {name: float(np.mean(values)) for name, values in sets.items()}
        for method, sets in costs.items()
    }


def make_table(records, task):
    """Return the table of a task; data sets are the units."""
    costs = mean_costs(records, task)
    base, lines = costs["calibrated"], []
    for method, sets in costs.items():
        if task == "classes" and method == "tuned":
            continue  # thresholds are for two classes
        line = [METHODS[method], f"{np.mean(list(sets.values())):.3f}"]
        if method == "calibrated":
            line += [""] * 4
        else:
            s = summarize(cost - base[name] for name, cost in sets.items())
            line += [signed(s["difference"], 3), interval(s["low"], s["high"], 3)]
            line += [f"{s['n_up']} of {s['n']}", f"{s['n_down']} of {s['n']}"]
        lines.append(line)
    header = ["decision", "mean cost", "difference", "95 %", "dearer", "cheaper"]
    return Table(header, lines)


def make_parts(records):
    """Return the parts of the page."""
    parts = [
        Heading(1, TITLE),
        Paragraph(
            "Mean cost of a decision on the test rows, and the difference to the "
            "decisions of least expected cost by calibrated probabilities. The "
            "cheapest mistake costs 1. Data sets are the units: the cost of a set is "
            "the mean over families and seeds. The last columns count the sets on "
            "which a decision is dearer or cheaper; on the others it costs the same."
        ),
    ]
    titles = {
        "binary": f"The rarest class against all others, 1:{RATIO}",
        "classes": f"All classes, random costs between 1 and {RATIO}",
    }
    first = [r for r in records if r["job"]["dataset"] not in BUILT_IN]
    for task, title in titles.items():
        parts += [Heading(2, title), make_table(records, task)]
        if 0 < len(first) < len(records):
            of_first = {record["job"]["dataset"] for record in first}
            parts += [
                Paragraph(f"The {len(of_first)} sets of the first study:"),
                make_table(first, task),
            ]
    return parts
