"""The trainings of the study of signals: models, options, records."""

import warnings
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib import metadata
from time import perf_counter, process_time

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sklearn_superior.early_stopping import EarlyStoppingClassifier
from sklearn_superior.neural_network import CNNClassifier
from studies._runner import check_names
from studies._scores import log_losses, macro_f1, shorten
from studies.paper.protocol import versions
from studies.signals.data import Parts, load, make_seed
from studies.signals.estimators import RocketClassifier, describe_windows

FIELDS = ("job", "seconds", "n_rows", "n_classes", "shape", "fits")
NAMES = {
    "paper": "the paper's network",
    "residual": "residual network",
    "inception": "inception network",
    "boosting": "boosting on features",
    "minirocket": "MiniRocket",
    "multirocket": "MultiRocket",
}
ROCKETS = {"minirocket": "MiniRocket", "multirocket": "MultiRocket"}
DEFAULT, PLAIN = "default", "plain"  # the package's own loop; the plain one
OPTIONS = {
    PLAIN: {},
    "usual": {"weight_decay": 0.01, "cosine": True, "clip_norm": 1.0},
    "adamw": {"weight_decay": 0.01},
    "decay": {"weight_decay": 0.5},
    "cosine": {"cosine": True},
    "clip": {"clip_norm": 1.0},
    "smoothing": {"smoothing": 0.1},
    "augment": {"noise": 0.1},
}
OTHER = "residual"  # the better one of the two other networks
_N_TREES = 200
_FIT = ("train", "validation")


@dataclass(frozen=True)
class Job:
    """One training."""

    dataset: str
    model: str
    option: str
    max_iter: int
    seed: int

    @property
    def name(self):
        """Unique name of the job."""
        kind = f"{self.model}-{self.option}-{self.max_iter}"
        return f"{self.dataset}/{kind}/seed{self.seed}"


def make_jobs(
    plan, datasets=None, estimators=None, *, max_iter=None, n_repeats=None, **_
):
    """List the jobs, round by round; `n_repeats` is the number of seeds."""
    check_names("--datasets", datasets, plan.datasets)
    check_names("--estimators", estimators, NAMES)
    return [
        Job(dataset, model, option, max_iter or plan["max_iter"], seed)
        for seed in range(n_repeats or 1)
        for trainings in plan["trainings"]
        for dataset in datasets or plan.datasets
        for model in (OTHER if m == "other" else m for m in trainings["models"])
        for option in trainings["options"]
        if estimators is None or model in estimators
    ]


def train(plan, job, data_home=None, device="auto"):
    """Run a job; return its record, ready for JSON."""
    start, parts = process_time(), load(plan, job.dataset, data_home)
    with warnings.catch_warnings():  # of budgets, and of classes that a part lacks
        warnings.simplefilter("ignore")
        fits = (_fit_default if job.option == DEFAULT else _fit_options)(job, parts)
    return {
        "job": asdict(job),
        "n_rows": {name: len(y) for name, y in parts.y.items()},
        "n_classes": parts.n_classes,
        "shape": list(parts.X["train"].shape[1:]),
        "fits": {
            name: _describe(model, clocks, parts) for name, (model, clocks) in fits
        },
        "versions": versions() | _versions_of_rockets(job),
        "seconds": round(process_time() - start, 1),
    }


def _fit_default(job, parts):
    """Fit an estimator as users have it."""
    warm_up(job.model)
    start = _clocks()
    model = fit_estimator(job, parts)
    return [(PLAIN, (model, _clocks() - start))]


def fit_estimator(job, parts):
    """Return the fitted estimator of a job."""
    seed = make_seed(f"{job.dataset} {job.seed}")
    if job.model in ROCKETS:
        return RocketClassifier(ROCKETS[job.model], seed).fit(*parts.fit_rows())
    if job.model == "boosting":
        booster = HistGradientBoostingClassifier(max_iter=_N_TREES, random_state=seed)
        model = EarlyStoppingClassifier(
            make_pipeline(FunctionTransformer(describe_windows), booster)
        )
    else:
        own = ("paper", "residual")  # networks of the package
        module = job.model if job.model in own else _find_builder(job.model)
        model = CNNClassifier(max_iter=job.max_iter, module=module, random_state=seed)
    val = {"X_val": parts.X["validation"], "y_val": parts.y["validation"]}
    return model.fit(parts.X["train"], parts.y["train"], **val)


def _find_builder(model):
    from studies.signals import networks  # needs torch

    return getattr(networks, f"make_{model}")


@lru_cache
def warm_up(model):
    """Import and compile what a model needs, which is no part of its time."""
    y = np.arange(40) % 2
    for n_channels in (1, 2):
        X = np.random.RandomState(0).normal(size=(40, n_channels, 20)).astype("f4")
        parts = Parts(*(dict.fromkeys(_FIT, part) for part in (X, y)), None)
        job = Job("none", model, DEFAULT, 1, 0)
        fit_estimator(job, parts).predict_proba(X)


def _fit_options(job, parts):
    """Fit a network by the plain loop; return its ways with their times."""
    from studies.signals import loop

    warm_up(job.model)
    fits = loop.train(
        _find_builder(job.model),
        parts.X["train"],
        parts.y["train"],
        parts.X["validation"],
        parts.y["validation"],
        n_classes=parts.n_classes,
        options=loop.Options(**OPTIONS[job.option]),
        max_iter=job.max_iter,
        seed=make_seed(f"{job.dataset} {job.seed}"),
    )
    return [(name, (fit, fit.clocks)) for name, fit in fits.items()]


def _describe(model, clocks, parts):
    """Return test scores and times of a fitted model."""
    start = _clocks()
    y_proba = model.predict_proba(parts.X["test"])
    predict = _clocks() - start
    true, predicted = parts.y["test"], y_proba.argmax(axis=1)
    names = ("best_iteration_", "n_iter_", "temperature_", "C_")
    return {
        "log_loss": shorten(log_losses(true, y_proba).mean()),
        "accuracy": shorten(np.mean(true == predicted)),
        "f1": shorten(macro_f1(true, predicted, parts.n_classes)),
        "fit_cpu": shorten(clocks[0]),
        "fit_clock": shorten(clocks[1]),
        "predict_cpu": shorten(predict[0]),
        "predict_clock": shorten(predict[1]),
    } | {
        name.strip("_"): shorten(float(getattr(model, name)))
        for name in names
        if hasattr(model, name)
    }


def _clocks():
    return np.array([process_time(), perf_counter()])


def _versions_of_rockets(job):
    if job.model not in ROCKETS:
        return {}
    return {package: metadata.version(package) for package in ("aeon", "numba")}
