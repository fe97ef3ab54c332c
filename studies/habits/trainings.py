"""The trainings of the study of habits: models, ways to use them, records.

A job is a model on a fold of a data set. Its trainings are those of a hold-out, of five
folds and of all rows. All ways to use the model are replayed on them: which stage they
choose, what they predict on the test part, and how long the stages take that they need.
That this gives what the procedures give when they are run one by one is what the tests
check, and what the jobs of the kind "timed" check on some of the data.
"""

import os
import warnings
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import cached_property
from traceback import format_exc

import numpy as np
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import (
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
)

from sklearn_superior.early_stopping import EarlyStoppingClassifier
from sklearn_superior.metrics import bayes_decision, fit_temperature, scale_temperature
from sklearn_superior.model_selection import StagedSearchCV
from sklearn_superior.neural_network import CNNClassifier
from studies._frozen import git_state
from studies._models import make_model
from studies._scores import (
    describe_stage,
    reliability,
    shorten,
    shorten_all,
)
from studies._sets import SIGNAL_DIM
from studies.habits import habits
from studies.habits.data import TIMED, load
from studies.habits.trajectories import (
    PLAIN,
    REFINED,
    FoldsWatch,
    Forecast,
    Watch,
    count_hgb_stages,
    read_clocks,
)
from studies.paper.protocol import flatten, versions

COSTS = (5, 20)  # of missing the rarer of two classes


def train(plan, job, data_home=None, device="auto"):
    """Run a job; return its record, ready for JSON. A failure is a record, too."""
    start = read_clocks()
    record = {
        "job": asdict(job),
        "seed": without_timed(job).seed,
        **git_state(plan.path),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions("lightgbm", "scipy", "pandas", "threadpoolctl"),
        "threads": os.environ.get("OMP_NUM_THREADS"),
        "problem": None,
        **dict.fromkeys(("n_rows", "n_classes", "n_test_classes", "losses")),
        "validation": None,
        "test": None,
        "ways": {},
    }
    with warnings.catch_warnings():  # of classes that a part lacks, of budgets
        warnings.simplefilter("ignore")
        try:
            make = Timed if job.dataset.endswith(TIMED) else Training
            record |= make(plan, job, data_home).record()
        except Exception:
            record["problem"] = format_exc(limit=-3)
    clock, cpu = read_clocks() - start
    return record | {"seconds": round(clock, 2), "cpu_seconds": round(cpu, 2)}


def without_timed(job):
    """Return the job whose ways share their trainings, with the same rows and seed."""
    return replace(job, dataset=job.dataset.removesuffix(TIMED))


def make_estimator(plan, job, categories=()):
    """Return the estimator of a job."""
    if job.estimator == "cnn":
        options = plan["cnn"] | {"channels": tuple(plan["cnn"]["channels"])}
        return CNNClassifier(
            **options, max_iter=job.max_iter, random_state=job.seed, device="cpu"
        )
    return make_model(job.estimator, job.max_iter, job.seed, categories)


def make_frame(X, categories):
    """Return a data frame whose categories are categories; X has their codes."""
    import pandas

    columns = {}
    for k, column in enumerate(X.T):
        if k in categories:
            codes = np.where(np.isnan(column), -1, column).astype(int)
            levels = np.arange(codes.max() + 1)
            column = pandas.Categorical.from_codes(codes, levels)
        columns[f"x{k}"] = column
    return pandas.DataFrame(columns)


def take(X, rows):
    """Return rows of a data frame or an array."""
    return X.iloc[rows].reset_index(drop=True) if hasattr(X, "iloc") else X[rows]


class Job:
    """What all jobs on a fold of a data set have in common."""

    def __init__(self, plan, job, data_home):
        self.plan, self.job = plan, without_timed(job)
        self.task = task = load(plan, job.dataset, data_home)
        self.rows, self.test = task.folds[job.fold]
        self.y_all, self.y = task.y, task.y[self.rows]
        self.groups = None if task.groups is None else task.groups[self.rows]
        self.classes = np.unique(self.y)
        self.true = np.searchsorted(self.classes, task.y[self.test])
        self.patience = plan["patience"]
        self.features = self.find_features()
        is_category = np.isin(self.features, task.categories)
        self.categories = np.flatnonzero(is_category).tolist()
        self.estimator = make_estimator(plan, self.job, self.categories)

    @cached_property
    def X(self):
        """All rows, as the model gets them."""
        X = self.task.X
        if X.ndim == SIGNAL_DIM:
            return X if self.job.estimator == "cnn" else flatten(X)
        X = X[:, self.features]
        if self.categories and self.job.estimator != "mlp":
            return make_frame(X, self.categories)
        return X

    def find_features(self):
        """Return the columns of a table that have a value in each part to train on.

        HistGradientBoosting fails if one has none.
        """
        X = self.task.X
        if X.ndim == SIGNAL_DIM or not np.isnan(X).any():
            return np.arange(X.shape[1])
        is_known = ~np.isnan(X[self.rows])
        parts = [train for train, _ in self.folds] + [self.inner_hold_out()[0]]
        has_values = [is_known[part].any(axis=0) for part in parts]
        return np.flatnonzero(np.all(has_values, axis=0))

    def split(self):
        """Return the splitter of the hold-out.

        It is what EarlyStoppingClassifier does by itself, but for the groups.
        """
        fraction, seed = self.plan["early_stopping"]["validation_fraction"], self.seed
        if self.groups is None:
            return StratifiedShuffleSplit(1, test_size=fraction, random_state=seed)
        n = min(round(1 / fraction), len(np.unique(self.groups)))
        return StratifiedGroupKFold(n, shuffle=True, random_state=seed)

    def splitter(self):
        """Return the folds that StagedSearchCV makes by itself."""
        if self.groups is None:
            return StratifiedKFold(self.plan["inner_folds"])
        n_groups = len(np.unique(self.groups))
        return StratifiedGroupKFold(min(self.plan["inner_folds"], n_groups))

    @property
    def seed(self):
        """The seed."""
        return self.job.seed

    def describe(self, y_proba, stage, n_iter, seconds, temperature=1.0):
        """Return a way: what it chose, and how good its test probabilities are."""
        y_proba = np.asarray(y_proba)
        losses = describe_stage(self.true, y_proba)
        clock, cpu = (None, None) if seconds is None else seconds
        return {
            "stage": stage,
            "n_iter": n_iter,
            "temperature": shorten(temperature),
            "log_loss": shorten(losses["log_loss"], 8),
            "brier": shorten(losses["brier"], 8),
            "f1_macro": shorten(losses["f1_macro"], 8),
            "accuracy": shorten(1 - losses["errors"] / len(self.true), 8),
            "reliability": reliability(self.true, y_proba),
            "costs": self.costs(y_proba),
            "seconds": None if clock is None else round(float(clock), 3),
            "cpu_seconds": None if cpu is None else round(float(cpu), 3),
            "predict_seconds": None,
        }

    def costs(self, y_proba):
        """Return the total cost of Bayes decisions on two classes, for each ratio.

        Missing the rarer class costs so much, a false alarm 1.
        """
        if len(self.classes) > 2:
            return None
        rarer = int(np.argmin([np.sum(self.y == name) for name in self.classes]))
        totals = {}
        for ratio in COSTS:
            cost = np.zeros((2, 2))
            cost[rarer, 1 - rarer], cost[1 - rarer, rarer] = ratio, 1
            decided = bayes_decision(y_proba.astype(float), cost)
            totals[str(ratio)] = float(cost[self.true, decided].sum())
        return totals

    def describe_rows(self):
        """Return what a record says of its rows."""
        return {
            "n_rows": {
                "train": len(self.rows),
                "validation": len(self.val),
                "test": len(self.test),
            },
            "n_classes": len(self.classes),
            "n_test_classes": len(np.unique(self.true)),
        }

    @cached_property
    def held_out(self):
        """Rows to train on and rows to validate on, of all rows."""
        train, val = self.inner_hold_out()
        return self.rows[train], self.rows[val]

    def inner_hold_out(self):
        """Rows to train on and to validate on, of the training rows."""
        train, val = next(self.split().split(self.y, self.y, self.groups))
        return train, val[np.isin(self.y[val], self.y[train])]

    @property
    def val(self):
        """The rows that are held out."""
        return self.held_out[1]

    @cached_property
    def folds(self):
        """Rows to train on and rows to score, fold by fold, of the training rows."""
        return list(self.splitter().split(self.y, self.y, self.groups))

    def columns(self, y_proba, own):
        """Return probabilities with a column for each class."""
        full = np.zeros((len(y_proba), len(self.classes)), dtype=y_proba.dtype)
        full[:, np.searchsorted(self.classes, own)] = y_proba
        return full


class Training(Job):
    """A job whose ways share their trainings."""

    @property
    def to_the_end(self):
        """Whether the folds are trained for the whole budget."""
        plan, job = self.plan, self.job
        return job.dataset not in plan["heavy"] and job.estimator not in plan["costly"]

    def record(self):
        """Train; return the part of the record that is measured."""
        held_out, ways = self.hold_out()
        folds = self.train_folds()
        ways |= self.use_folds(folds)
        losses = {
            "held_out": _losses_of(held_out.stoppers),
            "folds": _losses_of(folds.stoppers),
        }
        record = self.describe_rows() | {"losses": losses, "ways": ways}
        if self.task.X.ndim == SIGNAL_DIM:
            record |= self.describe_stages(held_out)
        return record

    # The hold-out

    def hold_out(self):
        """Train on a part of the rows; return what was seen, and the ways."""
        train, val = self.held_out
        is_signal = self.task.X.ndim == SIGNAL_DIM  # for the best of all stages
        watch = Watch(len(val), self.patience, is_signal or self.to_the_end)
        model = self.watched(watch, n_iter_no_change=1)
        rows = np.concatenate([val, self.test])
        watch.start = read_clocks()
        model.fit(
            take(self.X, train),
            self.y_all[train],
            X_val=take(self.X, rows),
            y_val=self.y_all[rows],
        )
        return watch, self.stop_early(watch, train, val)

    def watched(self, watch, **options):
        """Return a classifier that shows each stage to a watch."""
        options = {"scoring": watch, "calibration": None} | options
        return EarlyStoppingClassifier(clone(self.estimator), **options)

    def stop_early(self, watch, train, val):
        """Return the ways that need the hold-out only."""
        ways = {}
        own = watch.stoppers[REFINED]
        start = read_clocks()
        val_proba = watch.stages[own.best][: len(val)]
        temperature = fit_temperature(self.y_all[val], val_proba, labels=watch.classes)
        fitting = read_clocks() - start
        n = own.n_iter
        seconds = _sum(watch.seconds[:n]) + _sum(watch.scoring[REFINED][:n]) + fitting
        ways["stopping"] = self.of_stage(watch, own.best, n, seconds, temperature)
        ways["stopping_plain"] = self.of_stage(watch, own.best, n, seconds)
        stages = {"stopping_habit_best": watch.stoppers[PLAIN].best}
        stages["stopping_habit"] = stages["stopping_habit_best"]
        counts = dict.fromkeys(stages, watch.stoppers[PLAIN].n_iter)
        if self.job.estimator == "hgb":  # keeps the last stage, not the best one
            before = habits.loss_before(self.y_all[train], self.y_all[val])
            seen = [before, *watch.stoppers[PLAIN].losses]
            counts["stopping_habit"] = count_hgb_stages(seen, self.patience)
            stages["stopping_habit"] = counts["stopping_habit"] - 1
        for way, stage in stages.items():
            n = counts[way]
            seconds = _sum(watch.seconds[:n]) + _sum(watch.scoring[PLAIN][:n])
            ways[way] = self.of_stage(watch, stage, n, seconds)
        return ways

    def of_stage(self, watch, stage, n_iter, seconds, temperature=1.0):
        """Return the way that keeps a stage of a hold-out."""
        y_proba = watch.stages[stage][watch.n_scored :]
        if temperature != 1:
            y_proba = scale_temperature(y_proba, temperature)
        y_proba = self.columns(y_proba, watch.classes)
        return self.describe(y_proba, stage, n_iter, seconds, temperature)

    def describe_stages(self, watch):
        """Return the scores of all stages on both parts."""
        n = watch.n_scored
        own = np.searchsorted(watch.classes, self.y_all[self.val])
        true = {"validation": own, "test": self.true}
        parts = {}
        for part, rows in (("validation", slice(n)), ("test", slice(n, None))):
            stages = [p[rows] for p in watch.stages]
            if part == "test":
                stages = [self.columns(p, watch.classes) for p in stages]
            described = [describe_stage(true[part], p) for p in stages]
            parts[part] = {
                key: shorten_all([stage[key] for stage in described])
                for key in ("log_loss", "brier", "errors", "f1_macro")
            }
        return parts

    # The folds

    def train_folds(self):
        """Train the folds in lockstep; return what was seen."""
        n, n_test = len(self.rows), len(self.test)
        test = np.arange(n, n + n_test)
        watch = FoldsWatch(
            [len(own) for _, own in self.folds], self.patience, self.to_the_end
        )
        search = StagedSearchCV(
            self.estimator,
            cv=[(train, np.concatenate([own, test])) for train, own in self.folds],
            scoring=watch,
            n_iter_no_change=1,
            calibration=None,
            refit=False,
            error_score="raise",
        )
        rows = np.concatenate([self.rows, self.test])
        watch.start = read_clocks()
        search.fit(take(self.X, rows), self.y_all[rows])
        watch.finish_stage()
        return watch

    def use_folds(self, watch):
        """Return the ways that need the folds."""
        refined, plain = (watch.stoppers[rule] for rule in (REFINED, PLAIN))
        start = read_clocks()
        temperature = self.pooled_temperature(watch, REFINED)
        fitting = read_clocks() - start
        seconds = watch_seconds(watch, REFINED, refined.n_iter) + fitting
        ways = {"folds": self.average(watch, refined, temperature, seconds)}
        chosen = {
            "search": (refined.best, refined.n_iter, temperature, seconds),
            "search_plain": (refined.best, refined.n_iter, 1.0, seconds),
            "search_habit": self.count_by_habit(watch, plain),
        }
        if self.to_the_end:
            chosen |= self.use_whole_budget(watch)
            ways["calibrated"] = self.calibrate_members(watch)
        ways |= self.train_on_all(chosen)
        own = plain.best, plain.n_iter  # beside that of lgb.cv
        ways["search_habit"]["replayed"] = own
        return ways

    def count_by_habit(self, watch, plain):
        """Return stage, stages seen, temperature and seconds of the habit."""
        if self.job.estimator != "lightgbm":
            return (
                plain.best,
                plain.n_iter,
                1.0,
                watch_seconds(watch, PLAIN, plain.n_iter),
            )
        start = read_clocks()
        stage, n_iter = habits.run_lgb_cv(
            self.estimator,
            take(self.X, self.rows),
            self.y,
            self.folds,
            patience=self.patience,
            categories=self.categories,
        )
        return stage, n_iter, 1.0, read_clocks() - start

    def use_whole_budget(self, watch):
        """Return the same for the ways that train all stages."""
        last = max(map(len, watch.seconds)) - 1
        budget = self.job.max_iter
        own = self.pooled_temperature(watch, "last")
        of_all = watch_seconds(watch, PLAIN, last + 1)
        numbers = [k * budget // 10 for k in range(1, 11)]
        losses = watch.stoppers[PLAIN].losses
        known = [losses[min(k, len(losses)) - 1] for k in numbers]
        of_grid = sum(watch_seconds(watch, None, k) for k in numbers)
        best = min(numbers[int(np.argmin(known))] - 1, last)
        return {
            "grid": (best, sum(numbers), 1.0, of_grid),
            "fixed": (last, last + 1, own, of_all),
            "last": (last, last + 1, 1.0, np.zeros(2)),
        }

    def pooled_temperature(self, watch, kept):
        """Fit a temperature to the out-of-fold probabilities of a stage."""
        true, forecasts = [], []
        for (train, own), y_proba in zip(self.folds, watch.kept[kept], strict=True):
            known = np.isin(self.y[own], self.y[train])
            true.append(self.y[own][known])
            forecasts.append(y_proba[: len(own)][known])
        return fit_temperature(
            np.concatenate(true), np.concatenate(forecasts), labels=self.classes
        )

    def average(self, watch, stopper, temperature, seconds):
        """Return the way that averages the models of the folds."""
        power = temperature ** self.plan["member_exponent"]
        members = [
            scale_temperature(y_proba[n:], power) if power != 1 else y_proba[n:]
            for n, y_proba in zip(watch.n_scored, watch.kept[REFINED], strict=True)
        ]
        y_proba = np.mean(np.array(members, dtype=float), axis=0)
        return self.describe(y_proba, stopper.best, stopper.n_iter, seconds, power)

    def calibrate_members(self, watch):
        """Return what CalibratedClassifierCV makes of the models of the last stage."""
        start, members = read_clocks(), []
        for (train, own), kept in zip(self.folds, watch.kept["last"], strict=True):
            y_proba = _positive(kept)
            # The fold is scored as a part of all rows, of which it may lack a class.
            X = np.ones((len(self.y), len(self.classes)))
            X[own] = y_proba[: len(own)]
            known = own[np.isin(self.y[own], self.y[train])]
            model = CalibratedClassifierCV(
                FrozenEstimator(Forecast(self.classes)),
                method="temperature",
                cv=[(train, known)],
                ensemble=True,
            )
            model.fit(X, self.y)
            members.append(model.predict_proba(y_proba[len(own) :]))
        last = max(map(len, watch.seconds))
        seconds = watch_seconds(watch, None, last) + read_clocks() - start
        return self.describe(np.mean(members, axis=0), last - 1, last, seconds)

    # All rows

    def train_on_all(self, chosen):
        """Train on all rows; return the ways, each with its own stage."""
        most = max(stage for stage, *_ in chosen.values()) + 1
        watch = Watch(0, self.patience, True, kept=chosen["search"][0])
        model = self.watched(watch, n_iter_no_change=most)
        (budget,) = [
            name
            for name in self.estimator.get_params()
            if name.split("__")[-1] in ("max_iter", "n_estimators")
        ]
        model.set_params(**{f"estimator__{budget}": most})
        watch.start = read_clocks()
        model.fit(
            take(self.X, self.rows),
            self.y,
            X_val=take(self.X, self.test),
            y_val=self.y_all[self.test],
        )
        ways = {}
        for way, (stage, n_iter, temperature, seconds) in chosen.items():
            seconds = seconds + _sum(watch.seconds[: stage + 1])
            ways[way] = self.of_stage(watch, stage, n_iter, seconds, temperature)
        start = read_clocks()
        model.predict_proba(take(self.X, self.test))
        clock = (read_clocks() - start)[0]
        ways["search"]["predict_seconds"] = round(float(clock), 4)
        return ways


class Timed(Job):
    """A job whose procedures are run one by one, by the clock."""

    def record(self):
        """Run the procedures; return the part of the record that is measured."""
        X, y = take(self.X, self.rows), self.y
        test = take(self.X, self.test)
        options = {"estimator": self.estimator, "X": X, "y": y, "groups": self.groups}
        procedures = {
            "stopping": lambda: habits.stop_early(
                **options, split=self.split(), **self.plan["early_stopping"]
            ),
            "stopping_habit": lambda: habits.stop_by_library(
                self.estimator, X, y, self.inner_hold_out(), self.patience
            ),
            "search": lambda: habits.search(**options, **self.plan["search"]),
            "search_habit": lambda: habits.search_by_library(
                self.estimator,
                X,
                y,
                self.folds,
                self.patience,
                categories=self.categories,
            ),
            "calibrated": lambda: habits.calibrate(self.estimator, X, y, self.folds),
            "last": lambda: habits.fit(self.estimator, X, y),
        }
        ways, failed = {}, {}
        for name, run in procedures.items():
            start = read_clocks()
            try:
                model = run()
            except Exception as exc:  # of the library, if a fold lacks a class
                failed[name] = str(exc)
                continue
            seconds = read_clocks() - start
            start = read_clocks()
            y_proba = model.predict_proba(test)
            clock = (read_clocks() - start)[0]
            y_proba = self.columns(y_proba, model.classes_)
            stage, n_iter, temperature = habits.describe_model(model, self.job.max_iter)
            way = self.describe(y_proba, stage, n_iter, seconds, temperature)
            ways[name] = way | {"predict_seconds": round(float(clock), 4)}
        return self.describe_rows() | {"ways": ways, "failed_ways": failed}


def watch_seconds(watch, rule, n_iter):
    """Return what so many stages of all folds took, and their scoring by a rule."""
    total = np.zeros(2)
    for fold, seconds in enumerate(watch.seconds):
        total += _sum(seconds[:n_iter])
        if rule is not None:
            total += _sum(watch.scoring[fold][rule][:n_iter])
    return total


def _sum(seconds):
    return np.sum(seconds, axis=0) if len(seconds) else np.zeros(2)


def _positive(y_proba):
    """Return probabilities whose logarithm is finite, in double precision."""
    return np.maximum(np.asarray(y_proba, dtype=float), np.finfo(float).tiny)


def _losses_of(stoppers):
    """Return the losses of all stages by each rule."""
    return {rule: shorten_all(own.losses) for rule, own in stoppers.items()}
