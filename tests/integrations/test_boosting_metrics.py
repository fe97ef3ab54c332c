"""The metrics inside the libraries' own training and early stopping."""

import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor
from inspect import signature

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from sklearn_superior.integrations import catboost as our_catboost
from sklearn_superior.integrations import lightgbm as our_lightgbm
from sklearn_superior.integrations import xgboost as our_xgboost
from sklearn_superior.metrics._rules import find_rule, rule_names
from tests.early_stopping.families import make_data
from tests.metrics.forecasts import LOSSES, REFINED_LOSSES, forecasts

NAMES = rule_names(refined=True)
MAKERS = [our_xgboost.eval_metric, our_lightgbm.eval_metric, our_catboost.EvalMetric]


def data(kind):
    """Class numbers, a validation part that lacks a class, and weights."""
    X, y, X_val, y_val = make_data(kind)
    classes, y = np.unique(y, return_inverse=True)
    y_val = np.searchsorted(classes, y_val)
    if kind == "five":
        keep = y_val != 3
        X_val, y_val = X_val[keep], y_val[keep]
    weight = np.random.default_rng(0).random(len(y_val)) + 0.1  # kept in float32
    return X, y, X_val, y_val, weight


def expected(name, y, proba, weight=None, **options):
    rule, penalty = find_rule(name, refined=True)
    labels = range(proba.shape[1])
    options = {"penalty": penalty} | options
    losses = REFINED_LOSSES if name.startswith("refined") else LOSSES
    return losses[rule.name](y, proba, sample_weight=weight, labels=labels, **options)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["binary", "five"])
@pytest.mark.parametrize("weighted", [False, True])
def test_xgboost(name, kind, weighted):
    xgboost = pytest.importorskip("xgboost")
    X, y, X_val, y_val, weight = data(kind)
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


def test_xgboost_train():
    xgboost = pytest.importorskip("xgboost")
    X, y, X_val, y_val, weight = data("five")
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


@pytest.mark.parametrize("kind", ["binary", "five"])
@pytest.mark.parametrize("weighted", [False, True])
def test_lightgbm_with_several_metrics(kind, weighted):
    lightgbm = pytest.importorskip("lightgbm")
    X, y, X_val, y_val, weight = data(kind)
    weight = weight if weighted else None
    model = lightgbm.LGBMClassifier(
        n_estimators=60, learning_rate=0.5, metric="None", verbose=-1
    )
    model.fit(
        X,
        y,
        **(
            {"eval_X": X_val, "eval_y": y_val}
            if "eval_X" in signature(model.fit).parameters  # from 4.7 on
            else {"eval_set": [(X_val, y_val)]}
        ),
        eval_sample_weight=None if weight is None else [weight],
        eval_metric=[our_lightgbm.eval_metric(name) for name in NAMES],
        callbacks=[lightgbm.early_stopping(5, first_metric_only=True, verbose=False)],
    )
    log = model.evals_result_["valid_0"]
    assert list(log) == NAMES
    assert model.best_iteration_ == np.argmin(log[NAMES[0]]) + 1 < 60
    best = model.predict_proba(X_val)
    for name in NAMES:
        assert_allclose(
            log[name][model.best_iteration_ - 1],
            expected(name, y_val, best, weight),
            rtol=1e-7,
        )


def test_lightgbm_train():
    lightgbm = pytest.importorskip("lightgbm")
    X, y, X_val, y_val, weight = data("five")
    train = lightgbm.Dataset(X, y)
    log = {}
    booster = lightgbm.train(
        {"objective": "multiclass", "num_class": 5, "metric": "None", "verbose": -1},
        train,
        5,
        valid_sets=[lightgbm.Dataset(X_val, y_val, weight=weight, reference=train)],
        feval=our_lightgbm.eval_metric("penalized_log_loss"),
        callbacks=[lightgbm.record_evaluation(log)],
    )
    value = expected("penalized_log_loss", y_val, booster.predict(X_val), weight)
    assert_allclose(log["valid_0"]["penalized_log_loss"][-1], value, rtol=1e-7)


@pytest.mark.filterwarnings("ignore:Failed to import numba")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["binary", "five"])
@pytest.mark.parametrize("text", [False, True])
def test_catboost(name, kind, text):
    catboost = pytest.importorskip("catboost")
    X, y, X_val, y_val, weight = data(kind)
    labels = np.array(["a", "b", "c", "d", "e"]) if text else np.arange(5)
    model = catboost.CatBoostClassifier(
        iterations=60,
        learning_rate=0.7,
        depth=4,
        eval_metric=our_catboost.EvalMetric(name),
        random_seed=0,
        allow_writing_files=False,
        verbose=0,
    )
    valid = catboost.Pool(X_val, labels[y_val], weight=weight)
    model.fit(X, labels[y], eval_set=valid, early_stopping_rounds=5)
    log = model.evals_result_["validation"]["EvalMetric"]
    assert model.best_iteration_ == np.argmin(log) < 59
    value = expected(name, y_val, model.predict_proba(X_val), weight)
    assert_allclose(log[model.best_iteration_], value, rtol=1e-7)


@pytest.mark.parametrize("make", MAKERS)
def test_bad_options_are_told_at_once(make):
    with pytest.raises(ValueError, match="'rule' parameter must be one of"):
        make("pbs")
    with pytest.raises(TypeError, match=r"options of rule='penalized_log_loss' are \["):
        make("penalized_log_loss", scale="mean")
    with pytest.raises(ValueError, match="'ties' parameter must be one of"):
        make("penalized_brier", ties="last")


@pytest.mark.parametrize("make", MAKERS)
def test_metrics_print_and_pickle(make):
    metric = make("penalized_brier", ties="split")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        restored = pickle.loads(pickle.dumps(metric))
    assert repr(restored) == repr(metric)
    assert "('penalized_brier', penalty='paper', ties='split')" in repr(metric)


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


@pytest.mark.parametrize("name", NAMES)
def test_catboost_one_versus_all(name):
    catboost = pytest.importorskip("catboost")
    X, y, X_val, y_val, weight = data("five")

    def fit(**options):
        model = catboost.CatBoostClassifier(
            iterations=8,
            loss_function="MultiClassOneVsAll",
            eval_metric=our_catboost.EvalMetric(name, **options),
            allow_writing_files=False,
            verbose=False,
            use_best_model=False,
        )
        with warnings.catch_warnings():  # CatBoost recommends numba
            warnings.simplefilter("ignore")
            valid = catboost.Pool(X_val, y_val, weight=weight)
            return model.fit(X, y, eval_set=valid)

    with pytest.raises(
        catboost.CatBoostError, match="do not add up to zero.*MultiClassOneVsAll"
    ):
        fit()
    model = fit(loss_function="MultiClassOneVsAll")
    history = model.evals_result_["validation"]["EvalMetric"]
    y_proba = model.predict_proba(X_val)
    with warnings.catch_warnings():  # rows that do not sum to one
        warnings.simplefilter("ignore", UserWarning)
        value = expected(name, y_val, y_proba, weight.astype(np.float32))
    assert_allclose(history[-1], value, rtol=1e-6)
    with pytest.raises(ValueError, match="'loss_function' parameter .* Got 'CrossEnt"):
        our_catboost.EvalMetric(name, loss_function="CrossEntropy")


def test_catboost_two_classes_with_a_score_each():
    catboost = pytest.importorskip("catboost")
    X, y, X_val, y_val, _ = data("binary")
    for loss in ("MultiClass", "MultiClassOneVsAll"):
        for known in (None, loss):
            model = catboost.CatBoostClassifier(
                iterations=4,
                loss_function=loss,
                eval_metric=our_catboost.EvalMetric(loss_function=known),
                allow_writing_files=False,
                verbose=False,
                use_best_model=False,
            )
            with warnings.catch_warnings():  # CatBoost recommends numba
                warnings.simplefilter("ignore")
                if known is None:
                    with pytest.raises(catboost.CatBoostError, match="For two"):
                        model.fit(X, y, eval_set=(X_val, y_val))
                    continue
                model.fit(X, y, eval_set=(X_val, y_val))
                value = expected("penalized_brier", y_val, model.predict_proba(X_val))
            history = model.evals_result_["validation"]["EvalMetric"]
            assert_allclose(history[-1], value, rtol=1e-6)


def test_catboost_with_a_baseline():
    catboost = pytest.importorskip("catboost")
    X, y, X_val, y_val, _ = data("five")
    rng = np.random.default_rng(0)
    train = catboost.Pool(X, y, baseline=rng.normal(size=(len(X), 5)))
    valid = catboost.Pool(X_val, y_val, baseline=rng.normal(size=(len(X_val), 5)))
    model = catboost.CatBoostClassifier(
        iterations=4,
        loss_function="MultiClass",
        eval_metric=our_catboost.EvalMetric(loss_function="MultiClass"),
        allow_writing_files=False,
        verbose=False,
        use_best_model=False,
    )
    with warnings.catch_warnings():  # CatBoost recommends numba
        warnings.simplefilter("ignore")
        model.fit(train, eval_set=valid)
    value = expected("penalized_brier", y_val, model.predict_proba(valid))
    history = model.evals_result_["validation"]["EvalMetric"]
    assert_allclose(history[-1], value, rtol=1e-6)


@settings(max_examples=30)
@given(data=st.data())
def test_xgboost_metric_over_workers(data):
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


def test_xgboost_metric_that_fails_on_one_worker_ends_on_all():
    metric = our_xgboost.eval_metric()
    bad = np.array([1, 2, 1])  # as a probability
    errors = on_workers(
        3, lambda number: metric([0, 1], [0.25 * bad[number], 0.75 * bad[number]])
    )
    assert [type(error) for error in errors] == [RuntimeError, ValueError, RuntimeError]
    assert "not logits" in str(errors[1])
    assert "penalized_brier has failed on another worker" in str(errors[0])


def test_xgboost_without_probabilities():
    xgboost = pytest.importorskip("xgboost")
    X, y, *_ = data("five")
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
def test_xgboost_on_a_gpu(kind):
    xgboost = pytest.importorskip("xgboost")
    if not pytest.importorskip("torch").cuda.is_available():
        pytest.skip("no CUDA device")
    X, y, X_val, y_val, _ = data(kind)
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
