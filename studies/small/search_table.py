"""Ways to a final model, on twelve data sets: test log loss, macro F1 and time.

A part held out, ``StagedSearchCV`` with both kinds of model, ``GridSearchCV`` over the
number of stages, and ``CalibratedClassifierCV`` around all stages::

    OMP_NUM_THREADS=1 python -m studies search_table run --data-home FOLDER
    python -m studies search_table report
"""

import warnings
from dataclasses import asdict, dataclass
from time import process_time

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.metrics import f1_score, log_loss
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_superior.early_stopping import EarlyStoppingClassifier
from sklearn_superior.metrics import get_scorer
from sklearn_superior.model_selection import StagedSearchCV
from studies._page import Heading, Paragraph, Table
from studies._runner import check_names
from studies._scores import ANY_TEMPERATURE
from studies._tables import TABLES, load_table

TITLE = "Ways to a final model"
FIELDS = ("job", "log_loss", "f1", "seconds", "n_train", "n_classes")
QUICK = ("wine",)
SETS = [*TABLES, "digits", "wine", "breast_cancer"]
N_TRAIN, N_TEST, N_STAGES = 1_000, 3_000, 80
FAMILIES = ("HGB", "MLP")
CHOICE = {
    "scoring": get_scorer("neg_refined_penalized_log_loss", **ANY_TEMPERATURE),
    "n_iter_no_change": 20,
}
METHODS = ("hold-out", "all", "folds", "grid", "calibrated")
load = load_table


@dataclass(frozen=True)
class Job:
    """One fit."""

    dataset: str
    family: str
    method: str
    seed: int
    max_iter: int = N_STAGES

    @property
    def name(self):
        """Unique name of the job."""
        kind = f"{self.family}-{self.method}-{self.max_iter}"
        return f"{self.dataset}/{kind}/seed{self.seed}"


def make_jobs(datasets=None, estimators=None, *, max_iter=None, n_repeats=None, **_):
    """List the fits; `n_repeats` is the number of seeds, each with its own split."""
    check_names("--datasets", datasets, SETS)
    check_names("--estimators", estimators, FAMILIES)
    return [
        Job(dataset, family, method, seed, max_iter or N_STAGES)
        for seed in range(n_repeats or 1)
        for dataset in datasets or SETS
        for family in estimators or FAMILIES
        for method in METHODS
    ]


def load_set(name, data_home, *, n_train=N_TRAIN, seed=0):
    """Return training and test part, without classes of very few rows."""
    return split(*load_table(name, data_home), n_train, seed)


def split(X, y, n_train, seed):
    """Split a table into training and test part; classes become codes."""
    while True:
        y = np.unique(y, return_inverse=True)[1]
        n_kept = min(n_train, int(0.7 * len(y)))
        train, test = train_test_split(
            np.arange(len(y)), train_size=n_kept, stratify=y, random_state=seed
        )
        count = np.bincount(y[train], minlength=y.max() + 1)
        if count.min() >= 6:  # at least one in each part of five folds
            return X[train], y[train], X[test[:N_TEST]], y[test[:N_TEST]]
        X, y = X[count[y] >= 6], y[count[y] >= 6]


def make_estimator(job):
    """Return an estimator and its parameter for the number of stages."""
    if job.family == "HGB":
        model = HistGradientBoostingClassifier(
            max_iter=job.max_iter, early_stopping=False, random_state=job.seed
        )
        return model, "max_iter"
    network = MLPClassifier(
        (50,),
        batch_size=64,
        learning_rate_init=0.003,
        max_iter=job.max_iter,
        tol=0.0,
        n_iter_no_change=1_000,  # all epochs
        random_state=job.seed,
    )
    model = make_pipeline(SimpleImputer(), StandardScaler(), network)
    return model, "mlpclassifier__max_iter"


def make_method(job):
    """Return the model of a job, not fitted."""
    estimator, n_stages = make_estimator(job)
    if job.method == "hold-out":
        return EarlyStoppingClassifier(estimator, **CHOICE, random_state=job.seed)
    if job.method in ("all", "folds"):
        return StagedSearchCV(estimator, refit=job.method, **CHOICE)
    if job.method == "calibrated":
        return CalibratedClassifierCV(estimator, method="temperature", cv=5)
    numbers = np.linspace(job.max_iter / 5, job.max_iter, 5).astype(int).tolist()
    return GridSearchCV(estimator, {n_stages: numbers}, scoring="neg_log_loss")


def train(job, data_home=None, device="auto"):
    """Run a fit; return its record, ready for JSON. Seconds are CPU time."""
    X, y, X_test, y_test = load_set(job.dataset, data_home, seed=job.seed)
    start = process_time()
    with warnings.catch_warnings(action="ignore"):
        model = make_method(job).fit(X, y)
    seconds = process_time() - start
    y_proba = model.predict_proba(X_test)
    return {
        "job": asdict(job),
        "log_loss": log_loss(y_test, y_proba),
        "f1": f1_score(y_test, y_proba.argmax(1), average="macro"),
        "seconds": round(seconds, 3),
        "n_train": len(y),
        "n_classes": y_proba.shape[1],
    }


def make_parts(records):
    """Return the parts of the page."""
    parts = [
        Heading(1, TITLE),
        Paragraph(
            "Test log loss. The last rows compare with the hold-out: geometric mean of "
            "the ratios of log losses, number of data sets with a lower log loss, mean "
            "change of F1 in points, geometric mean of the ratios of times."
        ),
    ]
    for family in FAMILIES:
        own = [r for r in records if r["job"]["family"] == family]
        splits = {r["job"]["seed"] for r in own}
        found = {r["job"]["dataset"] for r in own}
        names = [name for name in SETS if name in found]
        if names:
            title = f"{family}, {len(names)} sets, {len(splits)} splits"
            parts += [Heading(2, title), _compare_methods(own, names)]
    return parts


def _compare_methods(records, names):
    def mean(field):
        """Return the means over the splits: sets in rows, methods in columns."""
        cells = {}
        for record in records:
            job = record["job"]
            cells.setdefault((job["dataset"], job["method"]), []).append(record[field])
        return np.array([[np.mean(cells[n, m]) for m in METHODS] for n in names])

    loss, f1, time = (mean(field) for field in ("log_loss", "f1", "seconds"))
    lines = [
        [name, *(f"{value:.4f}" for value in row)]
        for name, row in zip(names, loss, strict=True)
    ]
    ratio = np.exp(np.log(loss / loss[:, :1]).mean(axis=0))
    slower = np.exp(np.log(time / time[:, :1]).mean(axis=0))
    lines += [
        ["ratio of log loss", *(f"{value:.3f}" for value in ratio)],
        ["better on", *map(str, (loss < loss[:, :1]).sum(axis=0))],
        ["change of F1", *(f"{v:+.1f}" for v in 100 * (f1 - f1[:, :1]).mean(axis=0))],
        ["ratio of time", *(f"{value:.1f}" for value in slower)],
    ]
    return Table(["data set", *METHODS], lines)
