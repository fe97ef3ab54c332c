"""The trainings of the study of procedures."""

import json

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.metrics import f1_score, log_loss
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from sklearn_superior.datasets import make_motion_signals
from sklearn_superior.early_stopping import EarlyStoppingClassifier
from sklearn_superior.model_selection import StagedSearchCV, sliding_windows
from studies._measures import replay
from studies._plan import Plan
from studies._sets import Task
from studies.paper.protocol import Job
from studies.procedures import PLAN, trainings
from studies.procedures.analysis import REFINED


@pytest.fixture
def table(monkeypatch):
    X, y = make_classification(300, n_informative=5, n_classes=3, random_state=0)
    X[::7, 1] = np.nan
    X[:, 0] = np.digitize(X[:, 0], [-1, 0, 1])
    return _use(monkeypatch, X, y, None, [0])


@pytest.fixture
def signals(monkeypatch):
    pytest.importorskip("torch")
    data = make_motion_signals(n_classes=3, n_timepoints=2000, random_state=0)
    windows = sliding_windows(data.data, data.target, length=20, overlap=0.5)
    X = windows.X.astype(np.float32)
    return _use(monkeypatch, X, windows.y, np.arange(len(X)) // 20, [])


def _use(monkeypatch, X, y, groups, categories):
    cv = StratifiedKFold(5, shuffle=True, random_state=0)
    task = Task(X, y.astype(str), groups, categories, list(cv.split(X, y)))
    monkeypatch.setattr(trainings, "load", lambda *args: task)
    return task


@pytest.mark.parametrize("estimator", ["hgb", "lightgbm", "mlp"])
def test_a_record_of_a_table(estimator, table):
    if estimator == "lightgbm":
        pytest.importorskip("lightgbm")
    _check_record(Job("x", estimator, "log_loss", 30, 1, 0), table)


@pytest.mark.parametrize("estimator", ["hgb", "cnn"])
def test_a_record_of_signals(estimator, signals):
    _check_record(Job("x", estimator, "log_loss", 12, 0, 0), signals)


def _check_record(job, task):
    """Compare with the procedures as a user runs them, and with scikit-learn."""
    record = trainings.train(PLAN, job)
    assert record["problem"] is None
    assert json.loads(json.dumps(record)) == record
    ways, (train, test) = record["ways"], task.folds[job.fold]
    estimator = trainings.make_estimator(job, task)
    options = {"random_state": job.seed}
    if task.groups is not None:
        n = min(10, len(np.unique(task.groups[train])))
        cv = StratifiedGroupKFold(n, shuffle=True, random_state=job.seed)
        options["validation_split"] = cv
    groups = None if task.groups is None else task.groups[train]
    models = {
        "default": EarlyStoppingClassifier(estimator, **options, **trainings.DEFAULT),
        "former": EarlyStoppingClassifier(estimator, **options, **trainings.FORMER),
        "all": StagedSearchCV(estimator, refit="all", **trainings.DEFAULT),
        "folds": StagedSearchCV(estimator, refit="folds", **trainings.DEFAULT),
    }
    for name, model in models.items():
        model.fit(task.X[train], task.y[train], groups=groups)
        y_proba = model.predict_proba(task.X[test])
        assert ways[name]["stage"] == model.best_iteration_
        assert ways[name]["n_iter"] == model.n_iter_
        expected = log_loss(task.y[test], y_proba)
        assert ways[name]["log_loss"] == pytest.approx(expected, rel=1e-4)
        y_pred = model.classes_[y_proba.argmax(axis=1)]
        expected = f1_score(task.y[test], y_pred, average="macro")
        assert ways[name]["f1_macro"] == pytest.approx(expected, rel=1e-5)
        expected = np.mean(record["samples"]["log_loss"][name])
        assert ways[name]["log_loss"] == pytest.approx(expected, abs=1e-3)
    # The stages of the record are those that early stopping has seen.
    for name, rule, patience in (
        ("default", REFINED, 20),
        ("former", "penalized_brier", 10),
    ):
        stage, n_iter = replay(record, rule, patience)
        assert (stage, n_iter) == (ways[name]["stage"], ways[name]["n_iter"])
    stage = ways["default"]["stage"]
    expected = record["test"]["refined_log_loss"][stage]
    assert ways["default"]["log_loss"] == pytest.approx(expected, rel=1e-3)
    expected = record["test"]["log_loss"][ways["former"]["stage"]]
    assert ways["former"]["log_loss"] == pytest.approx(expected, rel=1e-3)


def test_the_tuned_arm(table):
    pytest.importorskip("lightgbm")
    settings = PLAN.settings | {"grid": {"num_leaves": [4, 15]}}
    plan = Plan(PLAN.text)
    vars(plan)["settings"] = settings
    record = trainings.train(plan, Job("x_tuned", "tuned", "log_loss", 20, 0, 0))
    assert record["problem"] is None
    assert list(record["ways"]) == ["refined_penalized_log_loss", "log_loss"]
    assert record["validation"] is None


def test_a_failure_is_a_record(monkeypatch):
    def fail(*args):
        raise ValueError("no data")

    monkeypatch.setattr(trainings, "load", fail)
    record = trainings.train(PLAN, Job("x", "hgb", "log_loss", 2, 0, 0))
    assert "ValueError: no data" in record["problem"]
    assert record.keys() >= set(trainings.FIELDS)
