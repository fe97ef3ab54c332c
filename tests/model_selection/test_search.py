"""Parameters and stages by cross-validation, against the libraries trained directly."""

import pickle
import threading
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
)
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning, NotFittedError
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    ParameterGrid,
    ParameterSampler,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from sklearn_superior.early_stopping import EarlyStopper
from sklearn_superior.metrics import (
    fit_temperature,
    get_scorer,
    penalized_brier_score_loss,
    scale_temperature,
)
from sklearn_superior.model_selection import (
    FoldEnsembleClassifier,
    HBlockSplit,
    StagedSearchCV,
)
from tests.early_stopping.families import (
    FAMILIES,
    NETWORKS,
    make_data,
    reference_stages,
)

CV = StratifiedKFold(3, shuffle=True, random_state=0)


@pytest.fixture(autouse=True)
def no_thread_is_left():
    yield
    names = [thread.name for thread in threading.enumerate()]
    assert not [name for name in names if name.startswith("training in step")]


def data(kind="five", n_rows=300):
    X, y, _, _ = make_data(kind)
    return X[:n_rows], y[:n_rows]


def expand(y_proba, own, classes):
    full = np.zeros((len(y_proba), len(classes)))
    full[:, np.searchsorted(classes, own)] = y_proba
    return full


def brute_force(name, X, y, folds, patience, loss=penalized_brier_score_loss):
    """Every stage of every fold by the library alone, and what follows from it."""
    classes = np.unique(y)
    stages, scores = [], []
    for train, test in folds:
        own, seen = reference_stages(name, X[train], y[train], X[test])
        seen = [expand(p, own, classes) for p in seen]
        seen += [seen[-1]] * (40 - len(seen))
        stages.append(seen)
        scores.append([-loss(y[test], p, labels=classes) for p in seen])
    scores = np.array(scores).T
    stopper = EarlyStopper(n_iter_no_change=patience)
    for row in scores:
        if stopper.update(np.mean(row)):
            break
    oof = np.empty((len(y), len(classes)))
    for (_, test), seen in zip(folds, stages, strict=True):
        oof[test] = seen[stopper.best_iteration]
    return scores[: stopper.n_iter], stopper.best_iteration, oof


@pytest.mark.filterwarnings("ignore:The best .* is the last of")
@pytest.mark.parametrize("kind", ["binary", "five"])
@pytest.mark.parametrize("name", FAMILIES)
def test_search_is_what_the_library_gives_trained_directly(name, kind):
    X, y = data(kind)
    folds = list(CV.split(X, y))
    scores, best, oof = brute_force(name, X, y, folds, patience=6)
    search = StagedSearchCV(
        FAMILIES[name](),
        scoring="neg_penalized_brier_score",
        cv=CV,
        n_iter_no_change=6,
        calibration="temperature",
    )
    tolerance = {"rtol": 1e-4, "atol": 1e-5} if name == "CNN" else {"atol": 1e-6}
    X_new = make_data(kind)[2]
    for refit in ("all", "folds"):
        search.set_params(refit=refit).fit(X, y)
        assert_allclose(search.stage_scores_[0], scores, **tolerance)
        assert search.best_iteration_ == best
        assert search.n_iter_ == len(scores)
        assert_allclose(search.oof_proba_, oof, **tolerance)
        assert search.best_score_ == pytest.approx(scores[best].mean(), rel=1e-4)
        temperature = fit_temperature(y, oof, labels=search.classes_)
        assert search.temperature_ == pytest.approx(temperature, rel=1e-2)
        if refit == "all":
            own, seen = reference_stages(name, X, y, X_new)
            expected = scale_temperature(seen[best], search.temperature_)
        else:
            seen = [
                reference_stages(name, X[train], y[train], X_new)[1][best]
                for train, _ in folds
            ]
            scaled = [scale_temperature(p, search.temperature_) for p in seen]
            expected = np.mean(scaled, axis=0, dtype=np.float64)
            assert len(search.estimators_) == 3
        assert_allclose(search.predict_proba(X_new), expected, **tolerance)


def small(**options):
    options = {"n_estimators": 15, "max_depth": 1, "random_state": 0} | options
    return GradientBoostingClassifier(**options)


def test_lightgbm_cv_finds_the_same_round():
    lightgbm = pytest.importorskip("lightgbm")
    X, y = data("five")
    codes = np.unique(y, return_inverse=True)[1]
    folds = list(CV.split(X, y))
    params = {"num_leaves": 6, "learning_rate": 0.2, "verbose": -1, "num_threads": 1}
    result = lightgbm.cv(
        params | {"objective": "multiclass", "num_class": 5, "metric": "multi_logloss"},
        lightgbm.Dataset(X, codes),
        num_boost_round=200,
        folds=folds,
        callbacks=[lightgbm.early_stopping(7, verbose=False)],
    )
    curve = result["valid multi_logloss-mean"]
    search = StagedSearchCV(
        lightgbm.LGBMClassifier(n_estimators=200, **params),
        scoring="log_loss",
        cv=folds,
        n_iter_no_change=7,
        refit=False,
    ).fit(X, y)
    assert search.best_iteration_ + 1 == len(curve)
    own = -search.stage_scores_[0].mean(axis=1)[: len(curve)]
    assert_allclose(own, curve, rtol=1e-6)


def test_xgboost_cv_finds_the_same_round():
    xgboost = pytest.importorskip("xgboost")
    X, y = data("five")
    codes = np.unique(y, return_inverse=True)[1]
    folds = list(CV.split(X, y))
    params = {"max_depth": 3, "learning_rate": 0.3, "nthread": 1, "seed": 0}
    curve = xgboost.cv(
        params | {"objective": "multi:softprob", "num_class": 5},
        xgboost.DMatrix(X, codes),
        num_boost_round=200,
        folds=folds,
        metrics="mlogloss",
        early_stopping_rounds=7,
    )["test-mlogloss-mean"].to_numpy()
    search = StagedSearchCV(
        xgboost.XGBClassifier(
            n_estimators=200, max_depth=3, learning_rate=0.3, n_jobs=1, random_state=0
        ),
        scoring="log_loss",
        cv=folds,
        n_iter_no_change=7,
        refit=False,
    ).fit(X, y)
    assert search.best_iteration_ + 1 == len(curve)
    own = -search.stage_scores_[0].mean(axis=1)[: len(curve)]
    assert_allclose(own, curve, rtol=1e-5)
