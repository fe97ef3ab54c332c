"""What callbacks of scikit-learn are told, and what is printed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_superior.metrics import get_scorer
from sklearn_superior.neural_network import CNNClassifier
from tests.early_stopping.families import (
    FAMILIES,
    make_data,
    plain_stopping,
    with_stages,
)

pytest.importorskip("sklearn.callback")  # from 1.9 on

from sklearn.callback import ProgressBar, ScoringMonitor

# CatBoost gives no model away before it is trained.
GIVES_STAGES = [name for name in FAMILIES if name != "CatBoost"]
pytestmark = [
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),
    pytest.mark.filterwarnings("ignore:The validation data has classes that training"),
    pytest.mark.filterwarnings(
        "ignore:y_true has classes that the estimator has never"
    ),
]


def make_model(name, **options):
    if name == "network":
        pytest.importorskip("torch")
        plain = {"scoring": "neg_penalized_brier_score", "calibration": None}
        return FAMILIES["CNN"]().set_params(max_iter=6, **plain | options)
    return plain_stopping(with_stages(FAMILIES[name](), 6), **options)


class Watcher:
    """A callback that asks for all that there is."""

    def __init__(self):
        self.stages, self.ends = [], []

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context, *, X, y):
        assert len(X) == len(y)

    def on_fit_task_end(self, estimator, context, *, X, y, metadata, fitted_estimator):
        found = self.ends if context.task_name == "fit" else self.stages
        found.append((X, y, metadata, fitted_estimator))


@pytest.mark.parametrize("kind", ["five", "missing"])
@pytest.mark.parametrize("name", [*FAMILIES, "network"])
def test_callbacks_get_the_data_and_the_model_of_the_stage(name, kind):
    X, y, X_val, y_val = make_data(kind)
    weight = np.arange(300.0) % 3 + 1
    watcher = Watcher()
    model = make_model(name, n_iter_no_change=50).set_callbacks(watcher)
    model.fit(X, y, X_val=X_val, y_val=y_val, sample_weight=weight)
    assert len(watcher.stages) == model.n_iter_ == 6
    for stage, (X_seen, y_seen, metadata, fitted) in enumerate(watcher.stages):
        assert_array_equal(X_seen, X)
        assert_array_equal(y_seen, y)
        assert_array_equal(metadata["sample_weight"], weight)
        if name == "CatBoost":
            assert fitted is None
            continue
        score = get_scorer("neg_penalized_brier_score")(fitted, X_val, y_val)
        assert_allclose(score, model.validation_scores_[stage], rtol=1e-5)
        assert_array_equal(fitted.classes_, model.classes_)
    ((_, _, _, fitted),) = watcher.ends
    assert_array_equal(fitted.predict_proba(X_val), model.predict_proba(X_val))


@pytest.mark.parametrize("name", [*FAMILIES, "network"])
def test_asking_for_the_model_of_a_stage_does_not_change_what_is_trained(name):
    X, y, X_val, y_val = make_data("five")
    watched = make_model(name, n_iter_no_change=50).set_callbacks(Watcher())
    watched.fit(X, y, X_val=X_val, y_val=y_val)
    alone = make_model(name, n_iter_no_change=50).fit(X, y, X_val=X_val, y_val=y_val)
    assert_array_equal(watched.validation_scores_, alone.validation_scores_)


@pytest.mark.parametrize("name", [*GIVES_STAGES, "network"])
def test_the_scoring_monitor_shows_the_scores(name):
    X, y, X_val, y_val = make_data("five")
    monitor = ScoringMonitor(scoring="accuracy")
    model = make_model(name, n_iter_no_change=50).set_callbacks(monitor)
    model.fit(X, y, X_val=X_val, y_val=y_val)
    rows = monitor.get_logs().data
    stages = [row["accuracy"] for row in rows if row["task_name"] != "fit"]
    (end,) = [row["accuracy"] for row in rows if row["task_name"] == "fit"]
    assert len(stages) == 6
    assert end == stages[model.best_iteration_] == model.score(X, y)


def test_the_model_of_a_stage_in_a_pipeline():
    X, y, X_val, y_val = make_data("five")
    watcher = Watcher()
    inner = make_pipeline(StandardScaler(), FAMILIES["GradientBoosting"]())
    model = plain_stopping(inner, n_iter_no_change=2).set_callbacks(watcher)
    model.fit(X, y, X_val=X_val, y_val=y_val)
    best = watcher.stages[model.best_iteration_][-1]
    assert_array_equal(best.predict_proba(X_val), model.predict_proba(X_val))
    assert len(best.estimator_) == 2


class Recorder(Watcher):
    """A callback that counts, and stops after some stages."""

    def __init__(self, stop_after=1000):
        self.stop_after, self.events = stop_after, []

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.events.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context):
        self.events.append(f"end {context.task_name}")
        return len([e for e in self.events if e in ("end stage", "end epoch")]) >= (
            self.stop_after
        )


@pytest.mark.parametrize("name", [*FAMILIES, "network"])
def test_callbacks_can_stop(name):
    X, y, X_val, y_val = make_data("five")
    recorder = Recorder(stop_after=4)
    model = make_model(name, n_iter_no_change=50).set_callbacks(recorder)
    model.fit(X, y, X_val=X_val, y_val=y_val)
    unit = "epoch" if name in ("CNN", "network") else "stage"
    assert model.n_iter_ == 4
    assert recorder.events[:3] == ["setup", "begin fit", f"begin {unit}"]
    assert recorder.events[-2:] == ["end fit", "teardown"]
    assert recorder.events.count(f"end {unit}") == 4
    assert recorder.events.count(f"begin {unit}") == 4


def test_no_stage_begins_that_is_not_trained():
    X, y, X_val, y_val = make_data("five")
    recorder = Recorder()
    model = plain_stopping(FAMILIES["GradientBoosting"](), n_iter_no_change=2)
    model.set_callbacks(recorder).fit(X, y, X_val=X_val, y_val=y_val)
    assert model.n_iter_ < 40
    for event in ("begin stage", "end stage"):
        assert recorder.events.count(event) == model.n_iter_


def test_the_progress_bar_runs():
    pytest.importorskip("rich")
    X, y, X_val, y_val = make_data("five")
    model = make_model("GradientBoosting", n_iter_no_change=50)
    model.set_callbacks(ProgressBar()).fit(X, y, X_val=X_val, y_val=y_val)
    assert model.n_iter_ == 6


def test_verbose_prints_a_line_for_each_stage(capsys):
    X, y, X_val, y_val = make_data("five")
    model = make_model("HistGradientBoosting", n_iter_no_change=2, verbose=1)
    model.fit(X, y, X_val=X_val, y_val=y_val)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == model.n_iter_
    assert lines[0].startswith("stage 0: score -")


def test_a_network_without_validation():
    pytest.importorskip("torch")
    X, y, *_ = make_data("five")
    watcher = Watcher()
    model = CNNClassifier(
        channels=(4,), hidden=8, max_iter=2, early_stopping=False, random_state=0
    )
    model.set_callbacks(watcher).fit(X, y)
    proba = watcher.stages[-1][-1].predict_proba(X)
    assert_array_equal(proba, model.predict_proba(X))
