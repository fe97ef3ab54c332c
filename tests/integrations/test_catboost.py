"""The metrics in the training and early stopping of CatBoost."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sklearn_superior.integrations import catboost as our_catboost
from tests.integrations.boosting import NAMES, expected, numbered_data


@pytest.mark.filterwarnings("ignore:Failed to import numba")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["binary", "five"])
@pytest.mark.parametrize("text", [False, True])
def test_catboost_logs_the_loss_of_every_round_and_stops_by_it(name, kind, text):
    catboost = pytest.importorskip("catboost")
    X, y, X_val, y_val, weight = numbered_data(kind)
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


@pytest.mark.parametrize("name", NAMES)
def test_one_versus_all_must_be_named_as_the_loss_function(name):
    catboost = pytest.importorskip("catboost")
    X, y, X_val, y_val, weight = numbered_data("five")

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


def test_two_classes_with_a_score_each_need_the_loss_function():
    catboost = pytest.importorskip("catboost")
    X, y, X_val, y_val, _ = numbered_data("binary")
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


def test_the_loss_counts_the_baseline_of_the_data():
    catboost = pytest.importorskip("catboost")
    X, y, X_val, y_val, _ = numbered_data("five")
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
