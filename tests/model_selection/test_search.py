"""Parameters and stages by cross-validation, against the libraries trained directly."""

import pickle
import warnings

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.ensemble import (
    AdaBoostClassifier,
    HistGradientBoostingClassifier,
)
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    ParameterGrid,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from sklearn_superior.early_stopping import EarlyStopper
from sklearn_superior.metrics import (
    d2_penalized_brier_score,
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
    make_data,
    reference_stages,
)
from tests.model_selection.searches import CV, data, small


def expand(y_proba, own, classes):
    full = np.zeros((len(y_proba), len(classes)), dtype=y_proba.dtype)
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
    oof = np.empty((len(y), len(classes)), dtype=stages[0][0].dtype)
    for (_, test), seen in zip(folds, stages, strict=True):
        oof[test] = seen[stopper.best_iteration]
    return scores[: stopper.n_iter], stopper.best_iteration, oof


@pytest.mark.filterwarnings("ignore:The best .* may give a better model")
@pytest.mark.parametrize("kind", ["binary", "five"])
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name == "CNN" else ())
        for name in FAMILIES
    ],
)
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
            scaled = [scale_temperature(p, search.temperature_**0.75) for p in seen]
            expected = np.mean(scaled, axis=0, dtype=np.float64)
            assert len(search.estimators_) == 3
        assert_allclose(search.predict_proba(X_new), expected, **tolerance)


def assert_same_curve(model, X, y, curve, rtol=1e-6):
    """Check a search against the curve of a library's own, up to its best round."""
    search = StagedSearchCV(
        model, scoring="log_loss", cv=CV, n_iter_no_change=7, refit=False
    ).fit(X, y)
    assert search.best_iteration_ + 1 == len(curve)
    own = -search.stage_scores_[0].mean(axis=1)[: len(curve)]
    assert_allclose(own, curve, rtol=rtol)


def test_lightgbm_cv_finds_the_same_round():
    lightgbm = pytest.importorskip("lightgbm")
    X, y = data("five")
    X = np.clip(np.round(X), -3, 3)  # it finds the bins in all rows, we in each fold's
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
    model = lightgbm.LGBMClassifier(n_estimators=200, **params)
    assert_same_curve(model, X, y, result["valid multi_logloss-mean"])


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
    model = xgboost.XGBClassifier(
        n_estimators=200, max_depth=3, learning_rate=0.3, n_jobs=1, random_state=0
    )
    assert_same_curve(model, X, y, curve, rtol=1e-5)


def test_the_default_chooses_by_the_refined_rule_and_ships_its_temperature():
    X, y = data()
    search = StagedSearchCV(small(), cv=CV).fit(X, y)
    named = get_scorer("neg_refined_log_loss")
    same = StagedSearchCV(small(), scoring=named, cv=CV, refit="folds").fit(X, y)
    assert_array_equal(search.stage_scores_[0], same.stage_scores_[0])
    raw = search.best_estimator_.predict_proba(X)
    expected = scale_temperature(raw, search.temperature_)
    assert_allclose(search.predict_proba(X), expected)
    direct = small(n_estimators=search.best_iteration_ + 1).fit(X, y)
    assert_allclose(raw, direct.predict_proba(X))
    for found in (search, same):
        expected = fit_temperature(y, found.oof_proba_)
        assert found.temperature_ == pytest.approx(expected)
        assert_array_equal(found.predict(X), found.best_estimator_.predict(X))
        assert_allclose(found.predict_log_proba(X), np.log(found.predict_proba(X)))
        assert found.score(X, y) == named(found, X, y)


def test_the_average_of_the_fold_models():
    pandas = pytest.importorskip("pandas")
    X, y = data()
    X = pandas.DataFrame(X).add_prefix("feature_")
    search = StagedSearchCV(small(), {"max_depth": [1, 2]}, cv=CV, refit="folds")
    y_proba = search.fit(X, y).predict_proba(X)
    ensemble = search.best_estimator_
    assert isinstance(ensemble, FoldEnsembleClassifier)
    assert ensemble.estimators == search.estimators_
    assert ensemble.estimators is not search.estimators_  # another list
    assert_array_equal(ensemble.classes_, search.classes_)
    assert ensemble.n_features_in_ == search.n_features_in_ == X.shape[1]
    for fitted in (search, ensemble):
        assert fitted.feature_names_in_.tolist() == X.columns.tolist()
        again = pickle.loads(pickle.dumps(fitted))
        assert_array_equal(again.predict_proba(X), y_proba)
    assert not hasattr(search, "refit_time_")


def test_a_search_is_saved_by_skops(tmp_path):
    io = pytest.importorskip("skops.io")
    X, y = data()
    for refit in ("folds", "all"):
        search = StagedSearchCV(small(), cv=CV, refit=refit).fit(X, y)
        io.dump(search, tmp_path / refit)
        types = io.get_untrusted_types(file=tmp_path / refit)
        again = io.load(tmp_path / refit, trusted=types)
        assert_array_equal(again.predict_proba(X), search.predict_proba(X))


@pytest.mark.filterwarnings("ignore:.* number of stages by itself:UserWarning")
def test_every_candidate_is_trained_with_its_parameters():
    X, y = data()
    grid = {"learning_rate": [0.05, 0.5], "n_estimators": [5, 12]}
    search = StagedSearchCV(small(), grid, cv=CV, scoring="log_loss", refit="all").fit(
        X, y
    )
    assert search.cv_results_["params"] == list(ParameterGrid(grid))
    for params, scores in zip(ParameterGrid(grid), search.stage_scores_, strict=True):
        alone = StagedSearchCV(
            small(**params), cv=CV, scoring="log_loss", refit=False
        ).fit(X, y)
        assert_array_equal(scores, alone.stage_scores_[0])
    means = [scores.mean(axis=1).max() for scores in search.stage_scores_]
    assert search.best_index_ == int(np.argmax(means))
    assert search.best_params_ == list(ParameterGrid(grid))[search.best_index_]
    assert search.best_score_ == max(means)
    model = search.best_estimator_
    assert {k: model.get_params()[k] for k in grid} == search.best_params_
    assert len(model.estimators_) == search.best_iteration_ + 1


def test_the_grid_search_over_stages_finds_the_same():
    X, y = data()
    grid = {"learning_rate": [0.1, 0.5]}
    search = StagedSearchCV(
        small(), grid, cv=CV, scoring="log_loss", n_iter_no_change=50, refit="all"
    ).fit(X, y)
    peer = GridSearchCV(
        small(),
        grid | {"n_estimators": list(range(1, 16))},
        cv=CV,
        scoring="neg_log_loss",
    ).fit(X, y)
    assert peer.best_params_ == search.best_params_ | {
        "n_estimators": search.best_iteration_ + 1
    }
    assert_allclose(search.best_score_, peer.best_score_)
    assert_allclose(search.predict_proba(X), peer.predict_proba(X))


def test_results_have_the_keys_of_grid_search():
    X, y = data()
    grid = [{"max_depth": [1]}, {"learning_rate": [0.1, 0.5]}]
    search = StagedSearchCV(small(n_estimators=3), grid, cv=CV, refit="all").fit(X, y)
    peer = GridSearchCV(small(n_estimators=3), grid, cv=CV).fit(X, y)
    extra = {"best_iteration", "n_iter"}
    assert set(search.cv_results_) == set(peer.cv_results_) | extra
    for name in ("param_max_depth", "param_learning_rate"):
        ours, theirs = search.cv_results_[name], peer.cv_results_[name]
        assert_array_equal(ours.mask, theirs.mask)
        assert ours.compressed().tolist() == theirs.compressed().tolist()
    for attribute in ("n_splits_", "n_features_in_", "multimetric_"):
        assert getattr(search, attribute) == getattr(peer, attribute)
    theirs = {name for name in vars(peer) if name[-1] == "_" and name[0] != "_"}
    assert theirs <= set(vars(search))


def test_several_scorers_of_which_the_first_chooses():
    X, y = data()
    scoring = {"ll": "log_loss", "acc": "accuracy", "mine": get_scorer("brier")}
    grid = {"max_depth": [1, 2]}
    search = StagedSearchCV(small(), grid, cv=CV, scoring=scoring).fit(X, y)
    first = StagedSearchCV(small(), grid, cv=CV, scoring="log_loss").fit(X, y)
    assert_array_equal(search.stage_scores_[0], first.stage_scores_[0])
    assert search.best_iteration_ == first.best_iteration_
    results = search.cv_results_
    assert_array_equal(results["mean_test_ll"], first.cv_results_["mean_test_score"])
    k = search.best_index_
    for fold, (_, test) in enumerate(CV.split(X, y)):
        proba = search.oof_proba_[test]
        accuracy = np.mean(search.classes_[proba.argmax(axis=1)] == y[test])
        assert results[f"split{fold}_test_acc"][k] == accuracy
    assert list(search.scorer_) == ["ll", "acc", "mine"]
    assert search.best_score_ == results["mean_test_ll"][k]
    listed = StagedSearchCV(small(), cv=CV, scoring=["log_loss", "accuracy"])
    assert "rank_test_accuracy" in listed.fit(X, y).cv_results_


def test_search_by_a_skill_score():
    X, y = data()
    scoring = ["d2_penalized_brier_score", "neg_penalized_brier_score"]
    search = StagedSearchCV(small(), cv=CV, scoring=scoring, refit=False).fit(X, y)
    for fold, (_, test) in enumerate(CV.split(X, y)):
        y_proba = search.oof_proba_[test]
        expected = d2_penalized_brier_score(y[test], y_proba, labels=search.classes_)
        found = search.cv_results_[f"split{fold}_test_d2_penalized_brier_score"][0]
        assert found == pytest.approx(expected)
    expected = search.cv_results_["mean_test_d2_penalized_brier_score"][0]
    assert search.best_score_ == expected > 0


def test_ada_boost_that_ends_by_itself_is_represented_by_its_last_stage():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(120, 3))
    y = (X[:, 0] > 0).astype(int)
    flipped = np.arange(5)  # in the first test part only: other folds train on them
    y[flipped] = 1 - y[flipped]
    folds = list(KFold(3).split(X))
    model = AdaBoostClassifier(n_estimators=25, random_state=0)
    reference = [
        clone(model).fit(X[train], y[train]).staged_predict_proba(X[test])
        for train, test in folds
    ]
    reference = [list(stages) for stages in reference]
    lengths = [len(stages) for stages in reference]
    assert min(lengths) == 1
    assert max(lengths) == 25
    for refit in ("all", "folds"):
        search = StagedSearchCV(
            model, cv=folds, scoring="log_loss", n_iter_no_change=30, refit=refit
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            search.fit(X, y)
        for fold, (_, test) in enumerate(folds):
            padded = reference[fold] + [reference[fold][-1]] * (25 - lengths[fold])
            losses = [log_loss(y[test], p, labels=[0, 1]) for p in padded]
            assert_allclose(search.stage_scores_[0][:, fold], -np.array(losses))
            best = padded[search.best_iteration_]
            assert_allclose(search.oof_proba_[test], best)
    sizes = [len(member.estimators_) for member in search.estimators_]
    assert sizes == [min(n, search.best_iteration_ + 1) for n in lengths]


@pytest.mark.parametrize("refit", ["all", "folds"])
def test_h_blocks_judge_rows_several_times_or_never(refit):
    X, y = data("five")
    cv = HBlockSplit(6, n_validation_blocks=1, n_test_blocks=2)
    folds = list(cv.split(X, y))
    search = StagedSearchCV(
        small(), cv=cv, refit=refit, scoring="log_loss", calibration="temperature"
    ).fit(X, y)
    assert search.n_splits_ == 6
    total, count = np.zeros((len(y), 5)), np.zeros(len(y))
    best = search.best_iteration_ + 1
    for train, test in folds:
        model = small(n_estimators=best).fit(X[train], y[train])
        total[test] += model.predict_proba(X[test])
        count[test] += 1
    assert set(count) == {2}
    assert_allclose(search.oof_proba_, total / count[:, None])
    some = [fold for fold in folds if 0 not in fold[1]]
    search = StagedSearchCV(
        small(), cv=some, refit=refit, scoring="log_loss", calibration="temperature"
    ).fit(X, y)
    judged = np.zeros(len(y), dtype=bool)
    for _, test in some:
        judged[test] = True
    assert not judged.all()
    assert np.isnan(search.oof_proba_[~judged]).all()
    # The temperature is that of single models: each of their forecasts counts.
    best, forecasts = search.best_iteration_ + 1, []
    for train, test in some:
        model = small(n_estimators=best).fit(X[train], y[train])
        forecasts.append(model.predict_proba(X[test]))
    pooled = np.concatenate([y[test] for _, test in some])
    expected = fit_temperature(pooled, np.concatenate(forecasts))
    assert_allclose(search.temperature_, expected)
    assert np.isfinite(search.predict_proba(X)).all()


def test_groups_stay_together():
    X, y = data("binary")
    groups = np.arange(len(y)) % 10
    search = StagedSearchCV(small(), cv=GroupKFold(5), refit=False)
    search.fit(X, y, groups=groups)
    by_hand = StagedSearchCV(
        small(), cv=list(GroupKFold(5).split(X, y, groups)), refit=False
    ).fit(X, y)
    assert_array_equal(search.oof_proba_, by_hand.oof_proba_)
    # Without a splitter groups are not torn apart either.
    search = StagedSearchCV(small(n_estimators=2), refit=False).fit(X, y, groups=groups)
    assert search.n_splits_ == 5
    with pytest.raises(ValueError, match="groups"):
        StagedSearchCV(small(), cv=GroupKFold(5)).fit(X, y)


@pytest.mark.parametrize("name", ["GradientBoosting", "LightGBM", "SGD"])
def test_weights_count_in_training_scoring_and_calibration(name):
    X, y = data("five")
    weight = np.random.RandomState(0).uniform(0.1, 3, len(y))
    folds = list(CV.split(X, y))
    search = StagedSearchCV(
        FAMILIES[name](),
        cv=folds,
        scoring="log_loss",
        calibration="temperature",
        n_iter_no_change=3,
        refit="all",
    ).fit(X, y, sample_weight=weight)
    oof = search.oof_proba_
    for fold, (_, test) in enumerate(folds):
        loss = log_loss(y[test], oof[test], sample_weight=weight[test])
        assert_allclose(search.stage_scores_[0][search.best_iteration_, fold], -loss)
    expected = fit_temperature(y, oof, sample_weight=weight / weight.mean())
    assert_allclose(search.temperature_, expected)
    plain = StagedSearchCV(
        FAMILIES[name](), cv=folds, n_iter_no_change=3, refit="all"
    ).fit(X, y)
    assert not np.allclose(
        search.best_estimator_.predict_proba(X), plain.best_estimator_.predict_proba(X)
    )
    if name == "GradientBoosting":
        n = search.best_iteration_ + 1
        direct = clone(search.estimator).set_params(n_estimators=n)
        direct.fit(X, y, sample_weight=weight)
        assert_allclose(
            search.best_estimator_.predict_proba(X), direct.predict_proba(X)
        )


def test_scorers_that_take_no_weights_are_refused_before_training():
    def scorer(estimator, X, y):
        raise AssertionError("nothing is trained")

    X, y = data("binary")
    with pytest.raises(ValueError, match="must be a scorer that takes sample_weight"):
        StagedSearchCV(small(), scoring=scorer).fit(X, y, sample_weight=np.ones(len(y)))


def test_metadata_routing_decides_who_gets_the_weights():
    X, y = data("binary")
    weight = np.random.RandomState(0).uniform(0.1, 3, len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = get_scorer("log_loss").set_score_request(sample_weight=False)
        model = small().set_fit_request(sample_weight=False)
        search = StagedSearchCV(model, cv=CV, scoring=scorer, refit=False)
        search.fit(X, y, sample_weight=weight)
        # The threads of the folds follow the setting, too.
        inside = StagedSearchCV(
            make_pipeline(
                StandardScaler().set_fit_request(sample_weight=True),
                small().set_fit_request(sample_weight=True),
            ),
            cv=CV,
            scoring="log_loss",
            refit="all",
        ).fit(X, y, sample_weight=weight)
    plain = StagedSearchCV(small(), cv=CV, scoring="log_loss", refit=False).fit(X, y)
    assert_array_equal(search.stage_scores_[0], plain.stage_scores_[0])
    expected = np.average(X, axis=0, weights=weight)
    assert_allclose(inside.best_estimator_[0].mean_, expected)


def test_rows_of_weight_zero_do_not_count_as_classes():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 3)), np.arange(90) % 3
    parts = np.arange(45), np.arange(45, 90)
    search = StagedSearchCV(small(n_estimators=3), cv=[parts], refit=False)
    # The training part knows class 2 by rows of weight 0 only.
    weight = np.where((y == 2) & (np.arange(90) < 45), 0.0, 1.0)
    message = r"1 of 1 folds lacks classes of its test part \(rows of weight 0.*\[2\]"
    with pytest.warns(UserWarning, match=message):
        search.fit(X, y, sample_weight=weight)
    assert (search.oof_proba_[45:, 2] < 1e-6).all()
    # The test part has class 2 in rows of weight 0 only: nothing is missing.
    y[:45] = np.arange(45) % 2
    weight = np.where(y == 2, 0.0, 1.0)
    search.fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("scoring", [None, "accuracy", ["accuracy", "log_loss"]])
def test_a_fold_without_weight_is_named(scoring):
    X, y = data("binary")
    weight = np.ones(300)
    parts = np.array_split(np.arange(300), 3)
    folds = [(np.setdiff1d(np.arange(300), test), test) for test in parts]
    weight[parts[1]] = 0
    message = "sample_weight must be positive for a test row of every fold.*in fold 1"
    with pytest.raises(ValueError, match=message):
        StagedSearchCV(small(), cv=folds, scoring=scoring).fit(
            X, y, sample_weight=weight
        )


@pytest.mark.parametrize("name", ["GradientBoosting", "XGBoost", "LightGBM", "MLP"])
@pytest.mark.parametrize("refit", ["all", "folds"])
def test_classes_that_a_fold_lacks_have_probability_zero(name, refit):
    X, y = data("missing")
    y = np.array(["a", "b", "c", "d"])[y]
    rare = np.flatnonzero(y == "c")
    others = np.flatnonzero(y != "c")
    half = len(others) // 2
    folds = [
        (others[:half], np.r_[others[half:], rare]),  # never sees "c"
        (np.r_[others[half:], rare], others[:half]),
    ]
    search = StagedSearchCV(
        FAMILIES[name](),
        cv=folds,
        refit=refit,
        n_iter_no_change=3,
        scoring="penalized_brier",
        calibration="temperature",
    )
    with pytest.warns(UserWarning, match="1 of 2 folds lacks classes.*'c'"):
        search.fit(X, y)
    assert search.classes_.tolist() == sorted(set(y))
    column = search.classes_.tolist().index("c")
    assert (search.oof_proba_[folds[0][1], column] == 0).all()
    assert (search.oof_proba_[folds[1][1], column] > 0).all()
    known = y != "c"
    expected = fit_temperature(
        y[known], search.oof_proba_[known], labels=search.classes_
    )
    assert search.temperature_ == pytest.approx(expected)
    y_proba = search.predict_proba(X)
    assert_allclose(y_proba.sum(axis=1), 1, rtol=1e-5)
    assert y_proba.shape == (len(X), len(search.classes_))
    assert (y_proba[:, column] > 0).any()


class CountRows(TransformerMixin, BaseEstimator):
    """Adds how many rows it was fitted on."""

    seen: list = []

    def fit(self, X, y=None):
        self.n_rows_ = len(X)
        CountRows.seen.append(len(X))
        return self

    def transform(self, X):
        return np.c_[X, np.full(len(X), self.n_rows_)]


def test_transformers_see_the_training_rows_of_the_fold_only():
    X, y = data("binary", 90)
    CountRows.seen.clear()
    pipeline = make_pipeline(CountRows(), small(n_estimators=3))
    search = StagedSearchCV(pipeline, cv=KFold(3), refit="folds").fit(X, y)
    assert CountRows.seen == [60, 60, 60]
    for (train, _), member in zip(KFold(3).split(X), search.estimators_, strict=True):
        assert member[0].n_rows_ == len(train)
    StagedSearchCV(pipeline, cv=KFold(3), refit="all").fit(X, y)
    assert CountRows.seen == [60] * 6 + [90]


def test_parameters_of_steps_and_steps_themselves():
    X, y = data("binary")
    pipeline = make_pipeline(StandardScaler(), small(n_estimators=3))
    name = "gradientboostingclassifier"
    grid = [
        {f"{name}__max_depth": [1, 2], "standardscaler__with_mean": [True, False]},
        {name: [SGDClassifier(loss="log_loss", max_iter=3, random_state=0)]},
    ]
    search = StagedSearchCV(pipeline, grid, cv=CV, refit="folds").fit(X, y)
    assert len(search.stage_scores_) == 5
    for model in search.estimators_:
        assert model.steps[0][0] == "standardscaler"
    with pytest.raises(ValueError, match="'param_grid'.*'depth'"):
        StagedSearchCV(pipeline, {f"{name}__depth": [1]}, cv=CV).fit(X, y)
    with pytest.raises(ValueError, match="'param_grid'.*'scaler'"):
        StagedSearchCV(pipeline, {"scaler__with_mean": [True]}, cv=CV).fit(X, y)


def test_tables_with_categories_and_missing_values():
    pandas = pytest.importorskip("pandas")
    X, y = data("five")
    table = pandas.DataFrame(X[:, :4], columns=list("abcd"))
    table["e"] = pandas.Categorical(np.where(X[:, 5] > 0, "high", "low"))
    table.iloc[::7, 1] = np.nan
    model = HistGradientBoostingClassifier(
        max_iter=8, max_leaf_nodes=4, categorical_features="from_dtype"
    )
    for refit in ("all", "folds"):
        search = StagedSearchCV(model, cv=CV, refit=refit).fit(table, pandas.Series(y))
        assert search.feature_names_in_.tolist() == list("abcde")
        n = search.best_iteration_ + 1
        if refit == "all":
            direct = clone(model).set_params(max_iter=n).fit(table, y)
            assert_allclose(
                search.best_estimator_.predict_proba(table), direct.predict_proba(table)
            )
        assert search.predict_proba(table).shape == (len(y), 5)
        with pytest.raises(ValueError, match="feature names"):
            search.predict(table[list("edcba")])


def test_scaling_members_before_the_mean_and_the_loss_of_the_mean():
    X, y = data()
    X_new, y_new = make_data("five")[2:]
    search = StagedSearchCV(small(), cv=CV, refit="folds").fit(X, y)
    members = [
        scale_temperature(member.predict_proba(X_new), search.temperature_**0.75)
        for member in search.estimators_
    ]
    assert_allclose(search.predict_proba(X_new), np.mean(members, axis=0))
    losses = [log_loss(y_new, p) for p in members]
    assert log_loss(y_new, search.predict_proba(X_new)) <= np.mean(losses)
    assert isinstance(search.best_estimator_, FoldEnsembleClassifier)
    assert_array_equal(
        search.best_estimator_.predict_proba(X_new), search.predict_proba(X_new)
    )


def test_without_refit_there_is_no_model():
    X, y = data("binary")
    search = StagedSearchCV(small(), cv=CV, refit=False).fit(X, y)
    for name in ("predict", "predict_proba", "predict_log_proba", "score"):
        assert not hasattr(search, name)
        assert hasattr(StagedSearchCV(small()), name)
    with pytest.raises(AttributeError) as info:
        search.predict(X)
    assert "refit=False" in str(info.value.__cause__)
    assert not hasattr(search, "best_estimator_")
    assert search.best_iteration_ is not None
    with pytest.raises(NotFittedError):
        StagedSearchCV(small()).predict(X)


def test_warnings_of_the_budget_and_of_equal_scores():
    X, y = data("five")
    with pytest.warns(ConvergenceWarning, match="The best stage is the last of 3"):
        StagedSearchCV(small(n_estimators=3), cv=CV).fit(X, y)

    def same(estimator, X, y):
        return 0.5

    with pytest.warns(UserWarning, match="All 15 scores of the validation data are eq"):
        StagedSearchCV(small(), cv=CV, scoring=same).fit(X, y)


def test_nested_use():
    X, y = data("binary")
    search = StagedSearchCV(small(n_estimators=5), {"max_depth": [1, 2]}, cv=3)
    scores = cross_val_score(search, X, y, cv=3, scoring="neg_log_loss")
    assert scores.shape == (3,)
    outer = GridSearchCV(
        search, {"n_iter_no_change": [1, 5], "estimator__learning_rate": [0.1]}, cv=2
    ).fit(X, y)
    assert outer.best_estimator_.best_iteration_ >= 0
    fitted = search.fit(X, y)
    again = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
    assert not hasattr(clone(fitted), "best_estimator_")
    html = fitted._repr_html_()
    assert "StagedSearchCV" in html
    assert "GradientBoostingClassifier" in html


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"refit": "best"}, "'refit' parameter"),
        ({"refit": True}, "'refit' parameter.*Got True; use 'all'"),
        ({"calibration": "isotonic"}, "'calibration' parameter"),
        ({"n_iter_no_change": 0}, "'n_iter_no_change' parameter"),
        ({"tol": -1}, "'tol' parameter"),
        ({"error_score": "nan"}, "'error_score' parameter"),
        ({"scoring": "nothing"}, "'scoring' parameter"),
        ({"scoring": []}, "'scoring' parameter"),
        ({"scoring": 3}, "'scoring' parameter"),
        ({"resume": True}, "resume=True requires a checkpoint_dir"),
        ({"checkpoint_dir": ""}, "'checkpoint_dir' parameter"),
        ({"cv": []}, "'cv' parameter|least one fold"),
        ({"cv": [([0, 1], [1, 2])]}, "disjoint parts"),
        ({"cv": [([0, 1], [2], [3])]}, r"must give 2 parts.*Got \[3\] parts"),
    ],
)
def test_parameters_are_checked(options, message):
    X, y = data("binary")
    with pytest.raises(ValueError, match=message):
        StagedSearchCV(small(), **options).fit(X, y)


@pytest.mark.parametrize("name", ["eval_set", "validation_data", "X_val"])
def test_validation_data_comes_from_the_folds(name):
    X, y = data("binary")
    with pytest.raises(TypeError, match=f"fit has no {name!r}: the test parts of `cv`"):
        StagedSearchCV(small()).fit(X, y, **{name: X})


def test_estimators_without_stages_are_refused():
    X, y = data("binary")
    with pytest.raises(TypeError, match="cannot be trained stage by stage"):
        StagedSearchCV(DecisionTreeClassifier(), cv=CV).fit(X, y)


def test_a_failed_fit_leaves_the_old_one_whole():
    X, y = data("binary")
    search = StagedSearchCV(small(), cv=CV, refit="folds").fit(X, y)
    before = search.predict_proba(X)
    with pytest.raises(ValueError, match="at least 2 classes"):
        search.fit(X[:, :3], np.zeros(len(y)))
    assert_array_equal(search.predict_proba(X), before)
    search.set_params(refit="all").fit(X, y)
    assert not hasattr(search, "estimators_")
