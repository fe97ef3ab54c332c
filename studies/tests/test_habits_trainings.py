"""The trainings of the study of habits: what is replayed is what the procedures do."""

import inspect
import json
import warnings

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.metrics import f1_score, log_loss
from sklearn.model_selection import GridSearchCV, StratifiedGroupKFold, StratifiedKFold

from sklearn_superior.datasets import make_motion_signals
from sklearn_superior.early_stopping import EarlyStoppingClassifier
from sklearn_superior.metrics import decision_cost
from sklearn_superior.model_selection import StagedSearchCV, sliding_windows
from sklearn_superior.neural_network import CNNClassifier
from studies._plan import Plan
from studies._sets import Task
from studies.habits import PLAN, habits, trainings
from studies.habits.data import number_copies
from studies.paper.protocol import Job

PATIENCE = PLAN["patience"]
BOOSTERS = ["hgb", "lightgbm"]


def make_table(n_classes, *, grouped=False):
    X, y = make_classification(
        480, n_informative=5, n_classes=n_classes, flip_y=0.2, random_state=0
    )
    X[::7, 1] = np.nan
    X[:, 0] = np.digitize(X[:, 0], [-1, 0, 1])
    groups = np.arange(len(X)) // 8 if grouped else None
    return X, y, groups, [0]


def make_signals():
    pytest.importorskip("torch")
    data = make_motion_signals(n_classes=3, n_timepoints=2000, random_state=0)
    windows = sliding_windows(data.data, data.target, length=20, overlap=0.5)
    X = windows.X.astype(np.float32)
    return X, windows.y, np.arange(len(X)) // 10, []


def make_training(monkeypatch, data, estimator, max_iter, kind=trainings.Training):
    """Return a job on made-up data, and its record."""
    if estimator == "lightgbm":
        pytest.importorskip("lightgbm")
    X, y, groups, categories = data
    cv = StratifiedKFold(3, shuffle=True, random_state=0)
    if groups is not None:
        cv = StratifiedGroupKFold(3, shuffle=True, random_state=0)
    folds = [tuple(fold) for fold in cv.split(X, y, groups)]
    task = Task(X, y.astype(str), groups, categories, folds)
    monkeypatch.setattr(trainings, "load", lambda *args: task)
    job = Job("x", estimator, "log_loss", max_iter, 0, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        training = kind(PLAN, job, None)
        return training, training.record()


def check(training, way, y_proba, stage=None):
    """Compare a way with probabilities, by scikit-learn."""
    true = training.y_all[training.test]
    expected = log_loss(true, y_proba, labels=training.classes)
    assert way["log_loss"] == pytest.approx(expected, rel=1e-6)
    predicted = training.classes[y_proba.argmax(axis=1)]
    expected = f1_score(true, predicted, average="macro")
    assert way["f1_macro"] == pytest.approx(expected, rel=1e-6)
    if stage is not None:
        assert way["stage"] == stage


@pytest.fixture(
    params=["hgb 2", "hgb 3", "hgb groups", "lightgbm 2", "lightgbm 3", "mlp 3", "cnn"]
)
def done(request, monkeypatch):
    """A job of each model and kind of data, with its record."""
    name, _, kind = request.param.partition(" ")
    if name == "cnn":
        return make_training(monkeypatch, make_signals(), "cnn", 12)
    data = make_table(3 if kind == "groups" else int(kind), grouped=kind == "groups")
    return make_training(monkeypatch, data, name, 30 if name == "mlp" else 60)


@pytest.mark.filterwarnings("ignore")
def test_what_is_replayed_is_what_the_procedures_do(done):
    training, record = done
    json.dumps(record)
    X = trainings.take(training.X, training.rows)
    y, groups = training.y, training.groups
    test = trainings.take(training.X, training.test)
    ways = record["ways"]
    fitted = {"groups": groups}
    # With the defaults, and nothing of the plan.
    split = None if groups is None else training.split()
    options = {"random_state": training.seed, "validation_split": split}
    model = EarlyStoppingClassifier(training.estimator, **options)
    model.fit(X, y, **fitted)
    check(training, ways["stopping"], model.predict_proba(test), model.best_iteration_)
    assert ways["stopping"]["n_iter"] == model.n_iter_
    plain = {"scoring": "neg_log_loss", "calibration": None}
    model = EarlyStoppingClassifier(training.estimator, **options, **plain)
    model.fit(X, y, **fitted)
    own = ways["stopping_habit_best"]
    check(training, own, model.predict_proba(test), model.best_iteration_)
    model = StagedSearchCV(training.estimator).fit(X, y, **fitted)
    check(training, ways["search"], model.predict_proba(test), model.best_iteration_)
    assert ways["search"]["n_iter"] == model.n_iter_
    expected = model.best_estimator_.predict_proba(test)
    check(training, ways["search_plain"], expected)
    expected = -model.stage_scores_[0].mean(axis=1)
    known = record["losses"]["folds"]["refined_log_loss"]
    np.testing.assert_allclose(known[: len(expected)], expected, rtol=1e-5)
    model = StagedSearchCV(training.estimator, refit="folds").fit(X, y, **fitted)
    check(training, ways["folds"], model.predict_proba(test), model.best_iteration_)
    model = StagedSearchCV(training.estimator, **plain).fit(X, y, **fitted)
    if training.job.estimator == "lightgbm":
        own = ways["search_habit"]["replayed"]
        assert own == (model.best_iteration_, model.n_iter_)
    else:
        own = ways["search_habit"]
        check(training, own, model.predict_proba(test), model.best_iteration_)


@pytest.mark.parametrize("estimator", BOOSTERS)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.filterwarnings("ignore")
def test_early_stopping_of_the_library(estimator, n_classes, monkeypatch):
    training, record = make_training(monkeypatch, make_table(n_classes), estimator, 80)
    X, rows = trainings.take(training.X, training.rows), training.inner_hold_out()
    model = habits.stop_by_library(
        training.estimator, X, training.y, rows, training.patience
    )
    test = trainings.take(training.X, training.test)
    stage, _, _ = habits.describe_model(model, 80)
    way = record["ways"]["stopping_habit"]
    check(training, way, model.predict_proba(test), stage)
    if estimator == "hgb":  # it keeps the last stage, which is not the best
        assert stage > record["ways"]["stopping_habit_best"]["stage"]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.filterwarnings("ignore")
def test_the_habit_of_lightgbm_by_hand(n_classes, monkeypatch):
    lightgbm = pytest.importorskip("lightgbm")
    training, record = make_training(monkeypatch, make_table(n_classes), "lightgbm", 60)
    X, y = trainings.take(training.X, training.rows), training.y
    codes = np.searchsorted(training.classes, y)
    params = {"objective": "binary", "metric": "binary_logloss"}
    if n_classes > 2:
        params = {"objective": "multiclass", "metric": "multi_logloss"}
        params["num_class"] = n_classes
    result = lightgbm.cv(
        params | {"learning_rate": 0.1, "verbosity": -1, "seed": training.seed},
        lightgbm.Dataset(X, codes),
        num_boost_round=60,
        folds=training.folds,
        callbacks=[lightgbm.early_stopping(PATIENCE, verbose=False)],
    )
    (means,) = (v for k, v in result.items() if k.endswith("-mean"))
    way = record["ways"]["search_habit"]
    assert way["stage"] == int(np.argmin(means)) == len(means) - 1
    model = training.estimator.set_params(n_estimators=len(means)).fit(X, y)
    test = trainings.take(training.X, training.test)
    check(training, way, model.predict_proba(test))


@pytest.mark.parametrize("estimator", BOOSTERS)
@pytest.mark.filterwarnings("ignore")
def test_ways_of_the_whole_budget(estimator, monkeypatch):
    training, record = make_training(monkeypatch, make_table(3), estimator, 30)
    X, y = trainings.take(training.X, training.rows), training.y
    test, ways = trainings.take(training.X, training.test), record["ways"]
    model = training.estimator.fit(X, y)
    check(training, ways["last"], model.predict_proba(test), 29)
    model = CalibratedClassifierCV(
        training.estimator, method="temperature", cv=training.folds
    ).fit(X, y)
    y_proba = model.predict_proba(test)
    expected = log_loss(training.y_all[training.test], y_proba)
    assert ways["calibrated"]["log_loss"] == pytest.approx(expected, rel=1e-3)
    budget = "max_iter" if estimator == "hgb" else "n_estimators"
    grid = {budget: [3 * k for k in range(1, 11)]}
    model = GridSearchCV(
        training.estimator, grid, scoring="neg_log_loss", cv=training.folds
    ).fit(X, y)
    stage = model.best_params_[budget] - 1
    check(training, ways["grid"], model.predict_proba(test), stage)
    search = StagedSearchCV(training.estimator, scoring=_Later()).fit(X, y)
    assert search.best_iteration_ == 29
    search.set_params(calibration="temperature").fit(X, y)
    check(training, ways["fixed"], search.predict_proba(test), 29)


class _Later:
    """A scorer that likes each stage more than the one before."""

    def __init__(self):
        self.n = 0

    def __call__(self, model, X, y):
        self.n += 1
        return self.n


@pytest.mark.filterwarnings("ignore")
def test_heavy_sets_train_until_both_rules_have_stopped(monkeypatch):
    plan = Plan(PLAN.text)
    vars(plan)["settings"] = PLAN.settings | {"heavy": ["x"]}
    monkeypatch.setattr(trainings, "load", None)
    whole, expected = make_training(monkeypatch, make_table(3), "hgb", 80)
    short = trainings.Training(plan, whole.job, None)
    record = short.record()
    assert "last" not in record["ways"]
    for way, own in record["ways"].items():
        other = expected["ways"][way]
        keys = ("stage", "n_iter", "temperature", "log_loss", "f1_macro")
        assert [own[key] for key in keys] == [other[key] for key in keys]
    n_seen = len(record["losses"]["folds"]["log_loss"])
    assert n_seen < len(expected["losses"]["folds"]["log_loss"]) == 80


@pytest.mark.parametrize("estimator", BOOSTERS)
@pytest.mark.filterwarnings("ignore")
def test_timed_procedures_choose_what_is_replayed(estimator, monkeypatch):
    data = make_table(2)
    _, shared = make_training(monkeypatch, data, estimator, 60)
    _, timed = make_training(monkeypatch, data, estimator, 60, trainings.Timed)
    assert timed["ways"].keys() <= shared["ways"].keys()
    for way, own in timed["ways"].items():
        other = shared["ways"][way]
        assert own["stage"] == other["stage"]
        assert own["log_loss"] == pytest.approx(other["log_loss"], rel=1e-3)
        assert own["seconds"] > 0
        assert own["predict_seconds"] > 0


@pytest.mark.parametrize("estimator", BOOSTERS)
@pytest.mark.filterwarnings("ignore")
def test_folds_that_lack_a_class_or_a_column(estimator, monkeypatch):
    X, y, groups, categories = make_table(3, grouped=True)
    y[y == 2] = 1
    y[groups < 6] = np.arange(48) % 3  # a class in few groups
    X[:, 7] = np.nan
    X[3, 7] = 1.0
    data = X, y, groups, categories
    training, record = make_training(monkeypatch, data, estimator, 30)
    assert 7 not in training.features
    lacking = [len(np.unique(training.y[own])) < 3 for _, own in training.folds]
    assert any(lacking)
    assert record["ways"]["calibrated"]["log_loss"] > 0
    _, timed = make_training(monkeypatch, data, estimator, 30, trainings.Timed)
    assert {"stopping", "search", "search_habit"} <= timed["ways"].keys()


def test_timed_jobs_have_the_rows_and_the_seed_of_the_others():
    timed = Job("date_fruit_timed", "hgb", "log_loss", 300, 0, 0)
    other = Job("date_fruit", "hgb", "log_loss", 300, 0, 0)
    assert trainings.without_timed(timed) == other
    assert trainings.without_timed(timed).seed == other.seed != timed.seed


@pytest.mark.filterwarnings("ignore")
def test_costs_of_decisions(monkeypatch):
    training, record = make_training(monkeypatch, make_table(2), "hgb", 30)
    model = training.estimator.fit(
        trainings.take(training.X, training.rows), training.y
    )
    y_proba = model.predict_proba(trainings.take(training.X, training.test))
    true = training.y_all[training.test]
    first = np.mean(training.y == training.classes[0]) <= 0.5
    for ratio in (5, 20):
        matrix = [[0, ratio], [1, 0]] if first else [[0, 1], [ratio, 0]]
        expected = decision_cost(true, y_proba, cost_matrix=matrix)
        found = record["ways"]["last"]["costs"][str(ratio)]
        assert found == pytest.approx(expected * len(true))


def test_a_failure_is_a_record(monkeypatch):
    def fail(*args):
        raise ValueError("no data")

    monkeypatch.setattr(trainings, "load", fail)
    state = {"plan_commit": "0", "code_commit": "1"}
    monkeypatch.setattr(trainings, "git_state", lambda path: state)
    record = trainings.train(PLAN, Job("x", "hgb", "log_loss", 2, 0, 0))
    assert "ValueError: no data" in record["problem"]
    assert record["plan_commit"] == "0"
    assert record["started"].endswith("+00:00")


def test_the_plan_has_the_defaults_of_the_package():
    def defaults(function):
        return {
            name: parameter.default
            for name, parameter in inspect.signature(function).parameters.items()
        }

    stopping = defaults(EarlyStoppingClassifier)
    assert PLAN["early_stopping"].items() <= stopping.items()
    assert stopping["scoring"] is None
    assert stopping["validation_split"] is None
    assert PLAN["search"].items() <= defaults(StagedSearchCV).items()
    assert defaults(StagedSearchCV)["scoring"] is None
    assert defaults(StagedSearchCV)["cv"] is None
    network = PLAN["cnn"] | {"channels": tuple(PLAN["cnn"]["channels"])}
    assert network.items() <= defaults(CNNClassifier).items()
    assert defaults(CNNClassifier)["module"] == "paper"


def test_rows_that_are_alike_have_one_number():
    X = np.array([[1.0, np.nan], [0.0, 2.0], [1.0, np.nan], [-0.0, 2.0]])
    assert number_copies(X).tolist() == [0, 1, 0, 1]
