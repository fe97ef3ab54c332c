"""The metrics in the training and early stopping of XGBoost."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from sklearn_superior.integrations import xgboost as our_xgboost
from sklearn_superior.metrics._rules import rule_names
from tests.integrations.boosting import NAMES, expected, numbered_data
from tests.metrics.forecasts import forecasts


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["binary", "five"])
@pytest.mark.parametrize("weighted", [False, True])
def test_xgboost_logs_the_loss_of_every_round_and_stops_by_it(name, kind, weighted):
    xgboost = pytest.importorskip("xgboost")
    X, y, X_val, y_val, weight = numbered_data(kind)
    weight = weight if weighted else None
    model = xgboost.XGBClassifier(
        n_estimators=60,
        learning_rate=0.5,
        eval_metric=our_xgboost.eval_metric(name),
        early_stopping_rounds=5,
    )
    model.fit(
        X,
        y,
        eval_set=[(X_val, y_val)],
        sample_weight_eval_set=None if weight is None else [weight],
        verbose=False,
    )
    history = model.evals_result()["validation_0"][name]
    assert model.best_iteration == np.argmin(history) < 59
    values = [
        expected(
            name, y_val, model.predict_proba(X_val, iteration_range=(0, k)), weight
        )
        for k in range(1, len(history) + 1)
    ]
    assert_allclose(history, values, rtol=1e-5)


def test_xgboost_train_takes_the_metric_with_options():
    xgboost = pytest.importorskip("xgboost")
    X, y, X_val, y_val, weight = numbered_data("five")
    valid = xgboost.DMatrix(X_val, y_val, weight=weight)
    log = {}
    booster = xgboost.train(
        {"objective": "multi:softprob", "num_class": 5},
        xgboost.DMatrix(X, y),
        5,
        evals=[(valid, "valid")],
        custom_metric=our_xgboost.eval_metric("penalized_brier", scale="half"),
        evals_result=log,
        verbose_eval=False,
    )
    value = expected(
        "penalized_brier", y_val, booster.predict(valid), weight, scale="half"
    )
    assert_allclose(log["valid"]["penalized_brier"][-1], value, rtol=1e-5)


def on_workers(n_workers, task):
    """Results of ``task(number of the worker)`` with XGBoost's workers as threads."""
    collective = pytest.importorskip("xgboost.collective")
    tracker = pytest.importorskip("xgboost.tracker").RabitTracker(
        n_workers=n_workers, host_ip="127.0.0.1"
    )
    tracker.start()
    arguments = tracker.worker_args()

    def work(number):
        with collective.CommunicatorContext(**arguments):
            return task(number)

    with ThreadPoolExecutor(n_workers) as pool:
        futures = [pool.submit(work, number) for number in range(n_workers)]
    return [future.exception() or future.result() for future in futures]


@settings(max_examples=30)
@given(data=st.data())
def test_the_mean_over_workers_is_that_of_all_rows(data):
    y_true, y_proba = data.draw(forecasts(max_classes=5, max_samples=30))
    name = data.draw(st.sampled_from(rule_names()))
    cuts = sorted(data.draw(st.tuples(*[st.integers(0, len(y_true))] * 2)))
    parts = np.split(np.arange(len(y_true)), cuts)
    weight = None
    if data.draw(st.booleans()):
        seed = data.draw(st.integers(0, 1000))
        weight = np.random.default_rng(seed).random(len(y_true)) + 0.1
    metric = our_xgboost.eval_metric(name)
    values = on_workers(
        3,
        lambda number: metric(
            y_true[parts[number]],
            y_proba[parts[number]],
            None if weight is None else weight[parts[number]],
        ),
    )
    assert_allclose(values, expected(name, y_true, y_proba, weight), rtol=1e-12)


def test_refined_rules_need_all_rows_on_one_worker():
    metric = our_xgboost.eval_metric("refined_brier")
    errors = on_workers(2, lambda number: metric([0, 1], [0.4, 0.6]))
    assert all("needs all rows on one worker" in str(error) for error in errors)


def test_a_failure_on_one_worker_ends_the_metric_on_all():
    metric = our_xgboost.eval_metric()
    bad = np.array([1, 2, 1])  # as a probability
    errors = on_workers(
        3, lambda number: metric([0, 1], [0.25 * bad[number], 0.75 * bad[number]])
    )
    assert [type(error) for error in errors] == [RuntimeError, ValueError, RuntimeError]
    assert "not logits" in str(errors[1])
    assert "penalized_brier failed on another worker" in str(errors[0])


def test_an_objective_without_probabilities_is_refused():
    xgboost = pytest.importorskip("xgboost")
    X, y, *_ = numbered_data("five")
    train = xgboost.DMatrix(X, y)
    with pytest.raises(ValueError, match="'multi:softprob', not 'multi:softmax'"):
        xgboost.train(
            {"objective": "multi:softmax", "num_class": 5},
            train,
            2,
            evals=[(train, "train")],
            custom_metric=our_xgboost.eval_metric(),
            verbose_eval=False,
        )


@pytest.mark.parametrize("kind", ["binary", "five"])
def test_training_on_a_gpu_logs_the_same_loss(kind):
    xgboost = pytest.importorskip("xgboost")
    if not pytest.importorskip("torch").cuda.is_available():
        pytest.skip("no CUDA device")
    X, y, X_val, y_val, _ = numbered_data(kind)
    model = xgboost.XGBClassifier(
        n_estimators=20,
        device="cuda",
        eval_metric=our_xgboost.eval_metric(),
        early_stopping_rounds=5,
    )
    model.fit(X, y, eval_set=[(X_val, y_val)], verbose=False)
    history = model.evals_result()["validation_0"]["penalized_brier"]
    value = expected("penalized_brier", y_val, model.predict_proba(X_val))
    assert_allclose(history[model.best_iteration], value, rtol=1e-5)
