"""The trainings of the study of procedures: models, ways to use them, records.

A record has the losses of all stages of one training, on the validation part and on
the test part, so that any rule can choose among them; and what comes out of the
procedures as a user runs them: `EarlyStoppingClassifier` with the defaults of the time
of the study and with the former ones, and `StagedSearchCV` with both kinds of model.

The committed records were made with version 0.1.0, whose temperatures could be below 1.
"""

import tempfile
import warnings
from dataclasses import asdict
from time import process_time
from traceback import format_exc

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold, StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sklearn_superior.early_stopping import EarlyStoppingClassifier
from sklearn_superior.metrics import fit_temperature, get_scorer
from sklearn_superior.model_selection import StagedSearchCV
from sklearn_superior.neural_network import CNNClassifier
from studies._models import make_model
from studies._scores import (
    ANY_TEMPERATURE,
    describe_stage,
    log_losses,
    paper_penalty,
    reliability,
    shorten,
    shorten_all,
)
from studies._sets import SIGNAL_DIM
from studies.paper.protocol import flatten, versions
from studies.procedures.data import AT_RANDOM, TUNED, load

FIELDS = ("job", "seed", "n_rows", "n_classes", "ways", "samples", "problem")
NAMES = {
    "hgb": "HistGradientBoosting",
    "lightgbm": "LightGBM",
    "mlp": "multilayer perceptron",
    "cnn": "convolutional network",
    "tuned": "LightGBM, 27 settings",
}
DEFAULT = {
    "scoring": get_scorer("neg_refined_penalized_log_loss", **ANY_TEMPERATURE),
    "n_iter_no_change": 20,
}
FORMER = {
    "scoring": "neg_penalized_brier_score",
    "n_iter_no_change": 10,
    "calibration": None,
}
_VALIDATION_FRACTION = 0.1  # the default of EarlyStoppingClassifier
_TUNED_RULES = {
    "refined_penalized_log_loss": DEFAULT["scoring"],
    "log_loss": "neg_log_loss",
}


def make_estimator(job, task):
    """Return the estimator of a job."""
    seed, max_iter = job.seed, job.max_iter
    if job.estimator == "cnn":
        return CNNClassifier(max_iter=max_iter, random_state=seed)
    model = make_model(job.estimator, max_iter, seed, task.categories)
    if task.X.ndim != SIGNAL_DIM:
        return model
    steps = [step for _, step in getattr(model, "steps", [(None, model)])]
    return make_pipeline(FunctionTransformer(flatten), *steps)


def train(plan, job, data_home=None, device="auto"):
    """Run a job; return its record, ready for JSON. A failure is a record, too."""
    start = process_time()
    record = {
        "job": asdict(job),
        "seed": job.seed,
        "versions": versions(),
        "problem": None,
        **dict.fromkeys(("n_rows", "n_classes", "validation", "test", "temperature")),
        "ways": {},
        "samples": None,
    }
    with warnings.catch_warnings():  # of classes that a part lacks, of budgets
        warnings.simplefilter("ignore")
        try:
            record |= _Training(plan, job, data_home).record()
        except Exception:
            record["problem"] = format_exc(limit=-1)
    return record | {"seconds": round(process_time() - start, 1)}


class _Training:
    """A job at work."""

    def __init__(self, plan, job, data_home):
        self.plan, self.job = plan, job
        self.task = task = load(plan, job.dataset, data_home)
        self.train, self.test = task.folds[job.fold]
        self.X, self.y = task.X[self.train], task.y[self.train]
        self.groups = None if task.groups is None else task.groups[self.train]
        self.classes = np.unique(self.y)
        self.true = np.searchsorted(self.classes, task.y[self.test])
        self.estimator = make_estimator(job, task)
        # What EarlyStoppingClassifier does by itself, but for the groups.
        cv = StratifiedShuffleSplit(
            1, test_size=_VALIDATION_FRACTION, random_state=job.seed
        )
        if self.groups is not None:
            n = min(10, len(np.unique(self.groups)))
            cv = StratifiedGroupKFold(n, shuffle=True, random_state=job.seed)
        self.split = cv

    def record(self):
        if self.job.dataset.endswith(TUNED):
            return self._tuned()
        stages, record = self._train_stages()
        ways = {
            "default": self._stop_early(DEFAULT),
            "former": self._stop_early(FORMER),
        }
        if not self.job.dataset.endswith(AT_RANDOM):
            ways |= self._search()
        samples = {name: y_proba for name, (_, y_proba) in ways.items()}
        for rule, stage in choices(record).items():
            samples[rule] = stages[stage]
        return record | {
            "ways": {name: way for name, (way, _) in ways.items()},
            "samples": {
                "true": self.true.tolist(),
                "log_loss": {
                    name: [round(float(loss), 3) for loss in log_losses(self.true, p)]
                    for name, p in samples.items()
                },
                "predicted": {n: p.argmax(1).tolist() for n, p in samples.items()},
            },
        }

    def _train_stages(self):
        """Train all stages on what `EarlyStoppingClassifier` trains on."""
        train, val = next(self.split.split(self.X, self.y, self.groups))
        n_val, stages = len(val), []

        def keep(model, X, y):
            # The scorer of a stage sees its predictions; here they are what is wanted.
            stages.append(model.predict_proba(X).copy())
            return len(stages)

        model = EarlyStoppingClassifier(
            self.estimator, scoring=keep, n_iter_no_change=self.job.max_iter
        ).fit(
            self.X[train],
            self.y[train],
            X_val=np.concatenate([self.X[val], self.task.X[self.test]]),
            y_val=np.concatenate([self.y[val], self.task.y[self.test]]),
        )
        if len(stages) != model.n_iter_:
            raise ValueError("A stage has probabilities that are not finite.")
        true = {
            "validation": np.searchsorted(self.classes, self.y[val]),
            "test": self.true,
        }
        rows = {"validation": slice(n_val), "test": slice(n_val, None)}
        temperatures = [self._fit_temperature(val, p, model.classes_) for p in stages]
        parts = {}
        for part in rows:
            described = [
                describe_stage(true[part], p[rows[part]], temperature)
                for p, temperature in zip(stages, temperatures, strict=True)
            ]
            parts[part] = {
                key: shorten_all([stage[key] for stage in described])
                for key in described[0]
            }
        return [y_proba[n_val:] for y_proba in stages], parts | {
            "temperature": shorten_all(temperatures),
            "n_rows": {
                "train": len(train),
                "validation": n_val,
                "test": len(self.test),
            },
            "n_classes": len(self.classes),
        }

    def _fit_temperature(self, val, y_proba, own_classes):
        """Fit by the rows and columns of the classes that were trained."""
        is_known = np.isin(self.y[val], own_classes)
        own = y_proba[: len(val)][is_known][:, np.isin(self.classes, own_classes)]
        return fit_temperature(
            self.y[val][is_known], own, labels=own_classes, **ANY_TEMPERATURE
        )

    def _stop_early(self, options):
        start = process_time()
        model = EarlyStoppingClassifier(
            self.estimator, validation_split=self.split, **options
        )
        model.fit(self.X, self.y, groups=self.groups)
        return self._describe(model, process_time() - start)

    def _search(self):
        """Search once; make the model of the folds, and that of all rows."""
        ways, start = {}, process_time()
        with tempfile.TemporaryDirectory() as folder:
            options = {"checkpoint_dir": folder, "cv": self._cv(5)}
            search = StagedSearchCV(self.estimator, refit="folds", **DEFAULT, **options)
            search.fit(self.X, self.y, groups=self.groups)
            ways["folds"] = self._describe(search, process_time() - start)
            search.set_params(refit="all", resume=True)
            search.fit(self.X, self.y, groups=self.groups)
            ways["all"] = self._describe(search, process_time() - start)
        return ways

    def _cv(self, n_folds):
        n_groups = n_folds if self.groups is None else len(np.unique(self.groups))
        return min(n_folds, n_groups)

    def _describe(self, model, seconds):
        y_proba = model.predict_proba(self.task.X[self.test])
        losses = describe_stage(self.true, y_proba)
        way = {
            "stage": model.best_iteration_,
            "n_iter": model.n_iter_,
            "temperature": shorten(model.temperature_),
            "seconds": round(seconds, 2),
            "log_loss": shorten(losses["log_loss"]),
            "brier": shorten(losses["brier"]),
            "f1_macro": shorten(losses["f1_macro"]),
            "accuracy": shorten(1 - losses["errors"] / len(self.true)),
            "reliability": reliability(self.true, y_proba),
        }
        return way, y_proba

    def _tuned(self):
        """Choose among 27 settings and their stages, by two rules."""
        ways = {}
        step = "lgbmclassifier__" if hasattr(self.estimator, "steps") else ""
        grid = {f"{step}{name}": values for name, values in self.plan["grid"].items()}
        for rule, scoring in _TUNED_RULES.items():
            start = process_time()
            search = StagedSearchCV(
                self.estimator,
                grid,
                scoring=scoring,
                n_iter_no_change=20,
                cv=self._cv(3),
                refit="all",
            )
            search.set_params(calibration="temperature")  # both, to compare the choice
            search.fit(self.X, self.y, groups=self.groups)
            way, _ = self._describe(search, process_time() - start)
            ways[rule] = way | {"params": search.best_params_}
        n_rows = {"train": len(self.train), "validation": 0, "test": len(self.test)}
        return {"ways": ways, "n_rows": n_rows, "n_classes": len(self.classes)}


def choices(record):
    """Return the best of all stages by the rules of the hypotheses."""
    val, n_classes = record["validation"], record["n_classes"]
    losses = {
        key: np.array(val[key], dtype=float)
        for key in ("log_loss", "brier", "refined_log_loss")
    }
    error = np.array(val["errors"], dtype=float) / record["n_rows"]["validation"]
    rules = {
        "log_loss": losses["log_loss"],
        "brier": losses["brier"],
        "penalized_brier": losses["brier"] + paper_penalty("brier", n_classes) * error,
        "refined_penalized_log_loss": losses["refined_log_loss"]
        + paper_penalty("log_loss", n_classes) * error,
    }
    return {rule: int(np.nanargmin(loss)) for rule, loss in rules.items()}
