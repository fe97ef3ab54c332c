"""CatBoost: its own settings do not act; what it cannot do is told."""

import os
import signal
import threading

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from sklearn_superior.staged.adapters import find_stages
from tests.early_stopping.families import fit_stopping as fit
from tests.early_stopping.families import make_data, plain_stopping

catboost = pytest.importorskip("catboost")


def make_model(**params):
    defaults = {"iterations": 25, "depth": 3, "learning_rate": 0.5, "verbose": 0}
    defaults |= {"random_seed": 0, "allow_writing_files": False, "thread_count": 1}
    return catboost.CatBoostClassifier(**defaults | params)


@pytest.mark.parametrize(
    "params",
    [
        {"early_stopping_rounds": 1},
        {"od_type": "Iter", "od_wait": 1},
        {"od_type": "IncToDec", "od_pval": 0.5},
        {"use_best_model": True},
        {"eval_metric": "Accuracy"},
        {"eval_metric": "Accuracy", "od_type": "Iter", "od_wait": 1},
        {"custom_metric": ["Accuracy", "TotalF1"]},
    ],
    ids=str,
)
def test_what_judges_the_stages_never_acts(params):
    plain, model = fit(make_model()), fit(make_model(**params))
    assert_array_equal(plain.validation_scores_, model.validation_scores_)
    X, *_ = make_data("five")
    assert_array_equal(plain.predict_proba(X), model.predict_proba(X))
    found = model.estimator_.get_params()
    assert {name: found[name] for name in params} == params


@pytest.mark.parametrize("kind", ["binary", "five"])
def test_nothing_of_the_training_is_left_on_the_model(kind):
    model = fit(make_model(), kind)
    kept = model.estimator_
    assert kept.get_params() == make_model().get_params()
    assert kept.get_evals_result() == {}
    assert not kept.get_best_score()
    assert kept.tree_count_ == model.best_iteration_ + 1
    assert_array_equal(kept.classes_, model.classes_)
    X, *_ = make_data(kind)
    assert_array_equal(kept.predict_proba(X), model.predict_proba(X))
    assert_array_equal(kept.predict(X).ravel(), model.predict(X))


def test_gpus_are_refused_before_training():
    with pytest.raises(ValueError, match="task_type='GPU'.*callbacks.*task_type='CPU'"):
        fit(make_model(task_type="GPU"))


@pytest.mark.parametrize("name", ["loss_function", "objective"])
def test_other_losses_are_refused(name):
    with pytest.raises(ValueError, match=f"{name}='MultiClassOneVsAll'"):
        fit(make_model(**{name: "MultiClassOneVsAll"}))


@pytest.mark.parametrize("name", ["iterations", "n_estimators", "num_trees"])
def test_the_budget_under_any_name(name):
    model = make_model()
    params = {k: v for k, v in model.get_params().items() if k != "iterations"}
    model = catboost.CatBoostClassifier(**params, **{name: 3})
    assert find_stages(model).n_stages == 3
    assert fit(model, n_iter_no_change=50).n_iter_ == 3


def test_categories_go_through():
    X, y, X_val, y_val = make_data("binary")
    X, X_val = (
        np.column_stack([part.astype(object), np.where(part[:, 0] > 0, "p", "q")])
        for part in (X, X_val)
    )
    model = plain_stopping(make_model(cat_features=[12]), n_iter_no_change=3)
    model.fit(X, y, X_val=X_val, y_val=y_val)
    direct = make_model(cat_features=[12], iterations=model.best_iteration_ + 1)
    direct.fit(X, y)
    assert_array_equal(model.predict_proba(X_val), direct.predict_proba(X_val))


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.filterwarnings("ignore:Training was interrupted")
def test_ctrl_c_while_catboost_computes_keeps_the_best_stage():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 30))
    y = (X[:, 0] + rng.normal(size=20_000) > 0).astype(int)
    timer = threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    model = plain_stopping(
        make_model(iterations=20_000, depth=8, learning_rate=0.01),
        n_iter_no_change=20_000,
    )
    model.fit(X[:15_000], y[:15_000], X_val=X[15_000:], y_val=y[15_000:])
    timer.join()
    assert 1 <= model.n_iter_ < 20_000
    assert model.estimator_.tree_count_ == model.best_iteration_ + 1
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_labels_that_catboost_takes_for_one_are_refused():
    X, y, X_val, y_val = make_data("five")
    names = np.array([20230100, 20230101, 20230102, 20230103, 20230104])
    y, y_val = (names[np.searchsorted(np.unique(y), part)] for part in (y, y_val))
    model = plain_stopping(make_model())
    with pytest.raises(ValueError, match="takes different labels for one class"):
        model.fit(X, y, X_val=X_val, y_val=y_val)


def test_importances_and_the_name_of_the_budget():
    X, y, X_val, y_val = make_data("five")
    inner = make_model().set_params(iterations=3, learning_rate=0.03)
    with pytest.warns(ConvergenceWarning, match="A larger value of iterations may"):
        model = plain_stopping(inner, scoring="log_loss").fit(
            X, y, X_val=X_val, y_val=y_val
        )
    alone = inner.copy().fit(X, y)
    assert_allclose(model.feature_importances_, alone.feature_importances_)
