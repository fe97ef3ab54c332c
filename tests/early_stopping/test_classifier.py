"""EarlyStoppingClassifier against fully trained models, for every family."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from joblib import Parallel, delayed
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import clone, config_context
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.metrics import get_scorer_names
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from sklearn_superior.early_stopping import (
    EarlyStoppingClassifier,
    Stages,
    register_stages,
)
from sklearn_superior.metrics import (
    get_scorer,
    neg_penalized_brier_scorer,
    penalized_brier_score_loss,
    penalized_log_loss,
)
from sklearn_superior.model_selection import HBlockSplit
from sklearn_superior.staged.adapters import find_stages
from tests.early_stopping.families import (
    FAMILIES,
    count_stages,
    expected_curve,
    make_data,
    plain_stopping,
)

every_family = pytest.mark.parametrize("name", FAMILIES)
# What the libraries themselves complain of, with or without us.
pytestmark = [
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),
    pytest.mark.filterwarnings("ignore:The validation data has classes that training"),
]


def patience_ends(scores, patience):
    """Number of stages that are trained, and the best one, by a plain loop."""
    best = 0
    for k, score in enumerate(scores):
        if score > scores[best]:
            best = k
        if k - best >= patience:
            return k + 1, best
    return len(scores), best


@every_family
@pytest.mark.parametrize("kind", ["binary", "five", "missing"])
@pytest.mark.parametrize("patience", [4, 1000])
def test_stops_and_keeps_what_full_training_tells(name, kind, patience):
    X, y, X_val, y_val = make_data(kind)
    curve, stages = expected_curve(name, kind, penalized_brier_score_loss)
    n_trained, best = patience_ends(curve, patience)
    model = plain_stopping(FAMILIES[name](), n_iter_no_change=patience)
    model.fit(X, y, X_val=X_val, y_val=y_val)
    assert model.best_iteration_ == best
    assert model.n_iter_ == n_trained
    assert_allclose(model.validation_scores_, curve[:n_trained], rtol=1e-5)
    assert model.best_score_ == model.validation_scores_[best]
    assert_array_equal(model.classes_, np.unique(y))
    tolerance = {"XGBoost": 1e-6}.get(name, 1e-15)
    assert_allclose(
        model.predict_proba(X_val), stages[best], rtol=tolerance, atol=tolerance
    )
    assert_array_equal(
        model.predict(X_val), model.classes_[model.predict_proba(X_val).argmax(axis=1)]
    )


def test_the_scorer_is_there():
    X, y, X_val, y_val = make_data("five")
    model = EarlyStoppingClassifier(FAMILIES["GradientBoosting"](), n_iter_no_change=3)
    model.fit(X, y, X_val=X_val, y_val=y_val)
    assert repr(model.scorer_) == repr(get_scorer("neg_refined_log_loss"))
    for scoring in ("penalized_brier", "f1_macro", neg_penalized_brier_scorer):
        model.set_params(scoring=scoring).fit(X, y, X_val=X_val, y_val=y_val)
        score = model.scorer_(model, X_val, y_val)
        assert score == pytest.approx(model.best_score_)
    assert model.scorer_ is neg_penalized_brier_scorer


def n_epochs(network, X, y, n_most):
    """Find the number of epochs after which training has these weights."""
    again = FAMILIES["CNN"]()
    expected = network.predict_proba(X)
    for n in range(1, n_most + 1):
        again.partial_fit(X, y)
        if np.array_equal(again.predict_proba(X), expected):
            return n
    return None


@every_family
def test_the_kept_model_is_no_larger_than_its_best_stage(name):
    X, y, X_val, y_val = make_data("five")
    model = plain_stopping(FAMILIES[name](), n_iter_no_change=3)
    model.fit(X, y, X_val=X_val, y_val=y_val)
    inner, n_kept = model.estimator_, model.best_iteration_ + 1
    if name == "CNN":
        assert n_epochs(inner, X, y, model.n_iter_) == n_kept
    else:
        assert count_stages(name, inner, len(X)) == n_kept
    # The parameters are the user's, whatever was needed during training.
    assert inner.get_params().keys() == FAMILIES[name]().get_params().keys()
    own = FAMILIES[name]().get_params()
    changed = {k for k, v in inner.get_params().items() if repr(v) != repr(own[k])}
    assert changed <= {"objective"}  # which XGBoost adapts to the classes


@every_family
def test_labels_missing_from_the_training_part(name):
    X, y, _, _ = make_data("five")
    is_red = (y == "red") | (np.arange(len(y)) % 2 == 0)
    known = np.where(y == "red", "blue", y)
    y = np.where((np.arange(len(y)) >= 270) & is_red, "red", known)
    model = plain_stopping(
        FAMILIES[name](), validation_split="last", n_iter_no_change=3
    ).fit(X, y)
    proba = model.predict_proba(X)
    assert proba.shape == (300, 5)
    assert_array_equal(proba[:, model.classes_ == "red"], 0)
    assert_allclose(proba.sum(axis=1), 1, rtol=1e-6)


@every_family
def test_sample_weights_of_both_parts(name):
    X, y, X_val, y_val = make_data("five")
    rng = np.random.default_rng(0)
    weight, weight_val = rng.random(300) + 0.1, rng.random(200)
    model = plain_stopping(
        FAMILIES[name](), n_iter_no_change=3, scoring="neg_penalized_log_loss"
    ).fit(
        X,
        y,
        sample_weight=weight,
        X_val=X_val,
        y_val=y_val,
        sample_weight_val=weight_val,
    )
    best = -penalized_log_loss(
        y_val, model.predict_proba(X_val), sample_weight=weight_val
    )
    assert_allclose(model.best_score_, best, rtol=1e-5)
    plain = plain_stopping(FAMILIES[name](), n_iter_no_change=3).fit(
        X, y, X_val=X_val, y_val=y_val
    )
    assert not np.allclose(plain.predict_proba(X_val), model.predict_proba(X_val))


@every_family
def test_pipeline_with_transformers(name):
    X, y, X_val, y_val = make_data("five")
    frame, frame_val = (
        pd.DataFrame(a, columns=[f"x{k}" for k in range(12)]) for a in (X, X_val)
    )
    for f in (frame, frame_val):
        f["kind"] = np.where(f["x0"] > 0, "p", "q")
    # In the memory order of a selection of rows: pandas 2 sums others differently.
    frame, frame_val = frame.copy(), frame_val.copy()
    transform = make_column_transformer(
        (StandardScaler(), [f"x{k}" for k in range(12)]), (OneHotEncoder(), ["kind"])
    )
    model = plain_stopping(
        make_pipeline(transform, FAMILIES[name]()), n_iter_no_change=3
    ).fit(frame, y, X_val=frame_val, y_val=y_val)
    fitted = clone(transform).fit(frame)
    bare = plain_stopping(FAMILIES[name](), n_iter_no_change=3).fit(
        fitted.transform(frame), y, X_val=fitted.transform(frame_val), y_val=y_val
    )
    assert_allclose(model.validation_scores_, bare.validation_scores_)
    assert_array_equal(
        model.predict_proba(frame_val), bare.predict_proba(fitted.transform(frame_val))
    )
    assert_array_equal(model.feature_names_in_, frame.columns)


@every_family
@pytest.mark.parametrize(
    "scoring", ["f1_macro", "neg_log_loss", "accuracy", "roc_auc_ovr"]
)
def test_any_scoring_and_no_second_prediction(name, scoring):
    X, y, X_val, y_val = make_data("five")
    calls = []

    def counting(estimator, X, y):
        calls.append(type(estimator).__name__)
        return neg_penalized_brier_scorer(estimator, X, y)

    model = plain_stopping(FAMILIES[name](), scoring=scoring, n_iter_no_change=3)
    assert np.isfinite(
        model.fit(X, y, X_val=X_val, y_val=y_val).validation_scores_
    ).all()
    model.set_params(scoring=counting).fit(X, y, X_val=X_val, y_val=y_val)
    assert len(calls) == model.n_iter_
    assert set(calls) == {"Stage"}


def test_validation_parts():
    X, y, _, _ = make_data("five")
    groups = np.repeat(np.arange(5), 60)
    inner = FAMILIES["HistGradientBoosting"]()

    def rows_of(**options):
        seen = []

        def scoring(estimator, X, y):
            seen.append(X)
            return -len(seen)

        plain_stopping(inner, scoring=scoring, n_iter_no_change=1, **options).fit(
            X, y, groups=groups if "validation_split" in options else None
        )
        return np.flatnonzero((X[:, None] == seen[0][None]).all(axis=2).any(axis=1))

    last = rows_of(validation_split="last", validation_fraction=0.2)
    assert_array_equal(last, np.flatnonzero(np.arange(300) % 60 >= 48))
    blocks = HBlockSplit(5, evaluate_on="validation")
    assert_array_equal(
        rows_of(validation_split=blocks), next(blocks.split(X, groups=groups))[1]
    )
    random = rows_of(random_state=0)
    assert len(random) == 30
    counts = np.unique(y[random], return_counts=True)[1]
    assert_allclose(counts, 30 * np.unique(y, return_counts=True)[1] / 300, atol=1)
    assert not np.array_equal(random, rows_of(random_state=1))
    assert_array_equal(random, rows_of(random_state=0))


def test_a_class_of_one_sample_is_no_obstacle():
    X, y, _, _ = make_data("binary")
    y = y.copy()
    y[0] = 7
    model = plain_stopping(FAMILIES["HistGradientBoosting"](), random_state=0)
    assert model.fit(X, y).predict_proba(X).shape == (300, 3)


@pytest.mark.parametrize(
    ("options", "data", "error", "message"),
    [
        ({"n_iter_no_change": 0}, {}, ValueError, "'n_iter_no_change' .* Got 0"),
        ({"tol": -1}, {}, ValueError, "'tol' .* Got -1"),
        ({"validation_fraction": 1.0}, {}, ValueError, "'validation_fraction' .* 1.0"),
        (
            {"validation_split": "first"},
            {},
            ValueError,
            "'validation_split' .* 'first'",
        ),
        ({"scoring": "pbs"}, {}, ValueError, "'scoring' .* Got 'pbs'"),
        ({}, {"X_val": np.ones((2, 12))}, ValueError, "y_val is missing"),
        ({}, {"y_val": np.ones(2)}, ValueError, "X_val is missing"),
        ({}, {"sample_weight_val": np.ones(2)}, ValueError, "X_val is not"),
        ({}, {"sample_weight": -np.ones(300)}, ValueError, "sample_weight must be non"),
        ({}, {"groups": np.ones(300)}, ValueError, "groups are given, but validation"),
        ({"scoring": ["f1"]}, {}, ValueError, r"'scoring' .* Got \['f1'\]"),
        (
            {"scoring": penalized_brier_score_loss},
            {},
            ValueError,
            "must be a scorer. Got the metric penalized_brier_score_loss",
        ),
        (
            {"scoring": lambda e, X, y: float(e.predict(X[:5])[0] == y[0])},
            {},
            ValueError,
            "predicts the validation data as a whole",
        ),
        (
            {"estimator": GradientBoostingClassifier(n_estimators=5)},
            {"X_val": np.ones((2, 5)), "y_val": ["red", "blue"]},
            ValueError,
            "X has 5 features, but EarlyStoppingClassifier is expecting 12",
        ),
        (
            {"estimator": FAMILIES["HistGradientBoosting"]().set_params(max_iter=0)},
            {},
            ValueError,
            "'max_iter' .* must be an int of at least 1, .*stages to train. Got 0",
        ),
        (
            {"validation_split": "last", "validation_fraction": 0.001},
            {},
            ValueError,
            "validation_fraction=0.001 of 300 rows leaves no row to validate on",
        ),
        (
            {"estimator": RandomForestClassifier()},
            {},
            TypeError,
            "RandomForest.* stage",
        ),
        (
            {"scoring": lambda e, X, y: np.nan},
            {},
            ValueError,
            "all 20 scores of the 'scoring' parameter are NaN",
        ),
    ],
)
def test_bad_input(options, data, error, message):
    X, y, _, _ = make_data("five")
    model = plain_stopping(**{"estimator": FAMILIES["GradientBoosting"]()} | options)
    with pytest.raises(error, match=message):
        model.fit(X, y, **data)


def test_boosters_whose_stages_change_are_refused():
    xgboost = pytest.importorskip("xgboost")
    lightgbm = pytest.importorskip("lightgbm")
    X, y, _, _ = make_data("binary")
    for inner in (
        xgboost.XGBClassifier(booster="dart"),
        lightgbm.LGBMClassifier(boosting_type="dart"),
    ):
        with pytest.raises(ValueError, match="'dart'.* so no stage can be kept"):
            plain_stopping(inner).fit(X, y)


@pytest.mark.parametrize("name", ["GradientBoosting", "LightGBM", "CatBoost", "MLP"])
def test_the_estimators_own_early_stopping_is_not_used(name):
    X, y, X_val, y_val = make_data("five")
    own = {
        "GradientBoosting": {"n_iter_no_change": 1},
        "LightGBM": {"early_stopping_round": 1},
        "CatBoost": {"early_stopping_rounds": 1},
        "MLP": {"early_stopping": True, "n_iter_no_change": 1},
    }[name]
    inner = FAMILIES[name]().set_params(**own)
    data = {"X_val": X_val, "y_val": y_val}
    stopping = plain_stopping(inner, n_iter_no_change=6).fit(X, y, **data)
    plain = plain_stopping(FAMILIES[name](), n_iter_no_change=6)
    assert_array_equal(
        stopping.validation_scores_, plain.fit(X, y, **data).validation_scores_
    )
    for key, value in own.items():
        assert stopping.estimator_.get_params()[key] == value


def test_what_gives_no_probabilities_is_refused():
    xgboost = pytest.importorskip("xgboost")
    catboost = pytest.importorskip("catboost")
    X, y, _, _ = make_data("five")
    for inner in (
        xgboost.XGBClassifier(objective="multi:softmax"),
        catboost.CatBoostClassifier(loss_function="MultiClassOneVsAll"),
    ):
        with pytest.raises(ValueError, match="multi:softmax|MultiClassOneVsAll"):
            plain_stopping(inner).fit(X, y)


def test_one_class_in_the_training_part():
    X, y, _, _ = make_data("binary")
    model = plain_stopping(
        FAMILIES["SGD"](), validation_split="last", validation_fraction=0.5
    )
    with pytest.raises(ValueError, match="training part must hold at least two"):
        model.fit(X, np.sort(np.arange(300) >= 150))


def test_an_unseen_validation_class_warns_once():
    X, y, X_val, y_val = make_data("missing")
    y = np.where(y == 3, 2, y)
    model = plain_stopping(FAMILIES["GradientBoosting"](), n_iter_no_change=3)
    with pytest.warns(UserWarning, match=r"training has not: \[1, 3\]") as caught:
        model.fit(X, y, X_val=X_val, y_val=y_val)
    assert len(caught) == 1


def test_catboost_with_parameters_that_cannot_be_cloned():
    catboost = pytest.importorskip("catboost")
    X, y, X_val, y_val = make_data("five")
    inner = catboost.CatBoostClassifier(
        iterations=3, class_weights=[1, 2, 1, 1, 1], allow_writing_files=False
    )
    model = plain_stopping(inner).fit(X, y, X_val=X_val, y_val=y_val)
    assert model.n_iter_ == 3


@every_family
def test_logarithms_of_the_probabilities(name):
    X, y, X_val, y_val = make_data("missing")
    model = plain_stopping(
        FAMILIES[name](), validation_split="last", n_iter_no_change=2
    ).fit(np.vstack([X, X_val]), np.r_[y, y_val])
    y_proba = model.predict_proba(X_val)
    with np.errstate(divide="ignore"):
        assert_array_equal(model.predict_log_proba(X_val), np.log(y_proba))


@every_family
def test_model_selection_and_pickle(name):
    X, y, _, _ = make_data("five")
    model = plain_stopping(FAMILIES[name](), n_iter_no_change=3, random_state=0)
    budget = find_stages(FAMILIES[name]()).budget_name()
    grid = {f"estimator__{budget}": [2, 10], "n_iter_no_change": [2]}
    search = GridSearchCV(model, grid, cv=2, scoring=neg_penalized_brier_scorer)
    search.fit(X, y)
    scores = cross_val_score(
        model, X, y, cv=HBlockSplit(5, step=2), scoring="f1_macro", error_score="raise"
    )
    assert len(scores) == 3
    fitted = search.best_estimator_
    restored = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(restored.predict_proba(X), fitted.predict_proba(X))


# CatBoost's advice is kept silent, which Python cannot do for one thread alone.
@pytest.mark.filterwarnings("ignore:Failed to import numba")
@every_family
def test_fits_at_once_do_not_disturb_each_other(name):
    X, y, X_val, y_val = make_data("five")
    models = [plain_stopping(FAMILIES[name](), n_iter_no_change=k) for k in (2, 4)] * 2

    def run(model):
        fitted = clone(model).fit(X, y, X_val=X_val, y_val=y_val)
        return fitted.predict_proba(X_val), fitted.validation_scores_

    alone = [run(model) for model in models]
    with ThreadPoolExecutor(2) as pool:
        threads = list(pool.map(run, models))
    processes = Parallel(n_jobs=2)(
        delayed(_fit_and_predict)(model, X, y, X_val, y_val) for model in models
    )
    for one, other, third in zip(alone, threads, processes, strict=True):
        for k in range(2):
            assert_allclose(one[k], other[k], rtol=1e-12)
            assert_allclose(one[k], third[k], rtol=1e-12)
    assert not [s for s in get_scorer_names() if "sklearn_superior" in s]


def _fit_and_predict(model, X, y, X_val, y_val):
    fitted = clone(model).fit(X, y, X_val=X_val, y_val=y_val)
    return fitted.predict_proba(X_val), fitted.validation_scores_


def test_metadata_routing_through_a_pipeline():
    X, y, X_val, y_val = make_data("five")
    weight = np.random.default_rng(0).random(300) + 0.1
    inner = FAMILIES["HistGradientBoosting"]()
    with config_context(enable_metadata_routing=True):
        model = plain_stopping(inner, n_iter_no_change=3).set_fit_request(
            X_val=True,
            y_val=True,
            sample_weight=True,
            sample_weight_val=False,
            groups=False,
        )
        pipeline = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=False), model
        )
        pipeline.set_params(transform_input=["X_val"])
        pipeline.fit(X, y, X_val=X_val, y_val=y_val, sample_weight=weight)
    scaler = StandardScaler().fit(X)
    direct = plain_stopping(inner, n_iter_no_change=3).fit(
        scaler.transform(X),
        y,
        X_val=scaler.transform(X_val),
        y_val=y_val,
        sample_weight=weight,
    )
    assert_array_equal(pipeline[-1].validation_scores_, direct.validation_scores_)


def test_a_third_party_can_register_its_own():
    class Mine(GradientBoostingClassifier):
        pass

    class MyStages(Stages):
        n_fits = 0

        def fit(self, X, y, X_val, on_stage, sample_weight=None):
            MyStages.n_fits += 1
            self.estimator.fit(X, y)
            for proba in self.estimator.staged_predict_proba(X_val):
                if on_stage(proba):
                    break

        def keep(self, stage):
            self.estimator.estimators_ = self.estimator.estimators_[: stage + 1]

    register_stages(Mine, MyStages)
    X, y, X_val, y_val = make_data("five")
    model = plain_stopping(Mine(n_estimators=5)).fit(X, y)
    assert MyStages.n_fits == 1
    assert len(model.estimator_.estimators_) == model.best_iteration_ + 1
    with pytest.raises(TypeError, match="adapter must be a subclass of Stages"):
        register_stages(Mine, object)
    with pytest.raises(TypeError, match="estimator_class must be a class"):
        register_stages(Mine(), MyStages)


def test_grouped_cross_validation_passes_groups_on():
    X, y, _, _ = make_data("five")
    groups = np.repeat(np.arange(3), 100)
    model = plain_stopping(
        FAMILIES["HistGradientBoosting"](), validation_split="last", n_iter_no_change=2
    )
    with config_context(enable_metadata_routing=True):
        model.set_fit_request(groups=True)
        scores = cross_val_score(
            model, X, y, cv=StratifiedKFold(3), params={"groups": groups}
        )
    assert np.isfinite(scores).all()
