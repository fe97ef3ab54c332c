"""Candidates: which there are, failures, interrupts, parallel training."""

import os
import signal
import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import uniform
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import KFold, ParameterGrid, ParameterSampler
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils._param_validation import InvalidParameterError

from sklearn_superior.metrics import get_scorer
from sklearn_superior.model_selection import StagedSearchCV
from tests.early_stopping.families import FAMILIES
from tests.model_selection.searches import CV, data, small


class Fussy(GradientBoostingClassifier):
    """Fails, for some values of a parameter, in one of the folds or in all."""

    def fit(self, X, y, **options):
        if self.max_depth == 7 or (self.max_depth == 5 and X[0, 0] == 0):
            raise ValueError(f"depth {self.max_depth} is too much")
        if self.max_depth == 6 and X[0, 0] == 0:
            raise KeyboardInterrupt
        return super().fit(X, y, **options)


def fussy_data():
    """Data whose first row is in the training part of the last two of three folds."""
    X, y = data("binary", 120)
    X[0, 0] = 0
    return X, y


def test_a_candidate_that_fails_costs_a_warning():
    X, y = fussy_data()
    model = Fussy(n_estimators=4, random_state=0)
    search = StagedSearchCV(model, {"max_depth": [7, 1, 5, 2]}, cv=KFold(3))
    match = r"'max_depth': ([57])} failed.*depth \1 is too much.*in fold \d"
    with pytest.warns(FitFailedWarning, match=match) as caught:
        search.fit(X, y)
    assert len([w for w in caught if w.category is FitFailedWarning]) == 2
    means = search.cv_results_["mean_test_score"]
    assert_array_equal(np.isnan(means), [True, False, True, False])
    assert search.best_params_["max_depth"] in (1, 2)
    assert [len(scores) for scores in search.stage_scores_] == [0, 4, 0, 4]
    assert_array_equal(search.cv_results_["rank_test_score"][[0, 2]], [3, 3])
    with pytest.warns(FitFailedWarning):
        search.set_params(error_score=5.0).fit(X, y)
    assert search.cv_results_["mean_test_score"][0] == 5
    assert_array_equal(search.cv_results_["rank_test_score"][[0, 2]], [3, 3])
    assert search.cv_results_["rank_test_score"][search.best_index_] == 1
    assert search.best_params_["max_depth"] in (1, 2)
    with pytest.raises(ValueError, match="depth 7 is too much"):
        search.set_params(error_score="raise").fit(X, y)


def test_all_candidates_failing_is_an_error_that_says_why():
    X, y = fussy_data()
    model = Fussy(n_estimators=4, random_state=0)
    search = StagedSearchCV(model, {"max_depth": [7, 5]}, cv=KFold(3))
    with pytest.raises(ValueError, match="(?s)depth 7 .*All 2 candidates failed"):
        search.fit(X, y)
    with pytest.raises(ValueError, match="^depth 7 is too much"):
        StagedSearchCV(model.set_params(max_depth=7), cv=KFold(3)).fit(X, y)


def test_ctrl_c_in_a_fold_keeps_the_finished_candidates():
    X, y = fussy_data()
    model = Fussy(n_estimators=4, random_state=0)
    search = StagedSearchCV(model, {"max_depth": [2, 6, 1]}, cv=KFold(3))
    with pytest.warns(UserWarning, match="interrupted after 1 of 3 candidates"):
        search.fit(X, y)
    assert search.cv_results_["params"] == [{"max_depth": 2}]
    assert search.predict_proba(X).shape == (len(y), 2)
    search.set_params(param_grid={"max_depth": [6, 1]})
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, y)
    assert search.best_params_ == {"max_depth": 2}  # the earlier fit is whole


@pytest.mark.parametrize("family", ["GradientBoosting", "LightGBM", "CatBoost", "MLP"])
def test_ctrl_c_during_the_search(ctrl_c, family):
    X, y = data("binary")
    stages = []

    def scorer(estimator, X, y):
        stages.append(1)
        if len(stages) == 10:
            os.kill(os.getpid(), signal.SIGINT)
        return get_scorer("log_loss")(estimator, X, y)

    with pytest.raises(KeyboardInterrupt):
        StagedSearchCV(FAMILIES[family](), cv=CV, scoring=scorer).fit(X, y)
    assert len(stages) < 20


@pytest.mark.parametrize("refit", ["all", "folds"])
def test_candidates_and_folds_in_parallel_give_the_same(refit):
    X, y = data()
    grid = {"max_depth": [1, 2, 3]}
    one = StagedSearchCV(small(), grid, cv=CV, refit=refit).fit(X, y)
    two = StagedSearchCV(small(), grid, cv=CV, refit=refit, n_jobs=2).fit(X, y)
    for a, b in zip(one.stage_scores_, two.stage_scores_, strict=True):
        assert_array_equal(a, b)
    assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    folds = StagedSearchCV(small(max_depth=2), cv=CV, refit=refit, n_jobs=2).fit(X, y)
    assert_array_equal(folds.stage_scores_[0], one.stage_scores_[1])


class NeedsTwoArgumentsError(RuntimeError):
    """Cannot be made from a message alone."""

    def __init__(self, message, code):
        super().__init__(message, code)


class Refusing(GradientBoostingClassifier):
    """Always fails, by the error that its parameter names."""

    def fit(self, X, y, **options):
        if self.max_depth == 8:
            raise NeedsTwoArgumentsError("depth 8", 1)
        raise {6: TypeError, 7: MemoryError}[self.max_depth](f"depth {self.max_depth}")


@pytest.mark.parametrize(
    ("model", "grid", "kind", "message"),
    [
        (small(), {"learning_rate": [-1, -2]}, InvalidParameterError, "learning_rate"),
        (small(), {"max_depth": ["a", "b"]}, InvalidParameterError, "max_depth"),
        (Refusing(), {"max_depth": [6, 6]}, TypeError, "depth 6"),
        (Refusing(), {"max_depth": [7, 7]}, MemoryError, "depth 7"),
        (Refusing(), {"max_depth": [6, 7]}, TypeError, "depth 6"),
        (Refusing(), {"max_depth": [8, 8]}, NeedsTwoArgumentsError, "depth 8"),
    ],
)
def test_the_error_of_all_candidates_keeps_its_type(model, grid, kind, message):
    X, y = data("binary", 60)
    with pytest.raises(kind, match=f"(?s){message}.*All 2 candidates failed") as caught:
        StagedSearchCV(model, grid, cv=CV).fit(X, y)
    assert caught.type is kind


@pytest.mark.filterwarnings("ignore:.* number of stages by itself:UserWarning")
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_progress_is_shown(capsys, n_jobs):
    X, y = data("binary")
    grid = {"max_depth": [1, 2], "n_estimators": [4, 6]}
    search = StagedSearchCV(small(), grid, cv=CV, verbose=1, refit=False).fit(X, y)
    lines = capsys.readouterr().err.splitlines()
    assert lines == [f"Searching: {n} of 20 stages" for n in range(2, 21, 2)]
    search.set_params(n_iter_no_change=1, scoring="accuracy", n_jobs=n_jobs).fit(X, y)
    assert sum(search.cv_results_["n_iter"]) < 20
    assert capsys.readouterr().err.splitlines()[-1] == "Searching: 20 of 20 stages"


# Their parameters


@pytest.mark.parametrize(
    "settings",
    [
        ParameterGrid({"max_depth": [1, 2]}),
        ParameterSampler({"max_depth": [1, 2, 3]}, 2, random_state=0),
        iter([{"max_depth": 1}, {"learning_rate": 0.5}]),
        [{"max_depth": [1]}, {"learning_rate": [0.5]}],
        [{"max_depth": 1}, {"learning_rate": 0.5}],
        list(ParameterSampler({"max_depth": [1, 2, 3]}, 2, random_state=0)),
        ({"max_depth": 1, "init": "zero"}, {"init": None}),
        [{"max_depth": np.array([1])}, {"max_depth": range(2, 3)}],
    ],
)
def test_settings_of_any_kind(settings):
    X, y = data("binary")
    search = StagedSearchCV(small(n_estimators=3), settings, cv=CV, refit=False)
    search.fit(X, y)
    assert len(search.cv_results_["params"]) == len(search.stage_scores_) == 2


@pytest.mark.parametrize(
    "settings", [{}, [], iter([]), iter([3]), "max_depth", 3, {"max_depth": []}]
)
def test_settings_that_are_refused(settings):
    X, y = data("binary")
    if settings == {}:  # one candidate, as in scikit-learn
        assert StagedSearchCV(small(), {}, cv=CV).fit(X, y).best_params_ == {}
        return
    with pytest.raises((ValueError, TypeError), match="(?i)parameter"):
        StagedSearchCV(small(), settings, cv=CV).fit(X, y)


def test_distributions_are_explained():
    X, y = data("binary")
    space = {"max_depth": [1, 2], "subsample": uniform(0.5, 0.5)}
    with pytest.raises(ValueError, match=r"distribution for subsample\. .*Sampler"):
        StagedSearchCV(small(), space, cv=CV).fit(X, y)
    settings = ParameterSampler(space, 2, random_state=0)
    search = StagedSearchCV(small(n_estimators=3), settings, cv=CV, refit=False)
    assert len(search.fit(X, y).stage_scores_) == 2


def warnings_of(estimator, grid):
    X, y = data("binary", 100)
    search = StagedSearchCV(estimator, grid, cv=CV, refit=False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        search.fit(X, y)
    return [str(w.message) for w in caught if "number of stages" in str(w.message)]


def test_several_budgets_for_one_setting_get_one_warning():
    grid = {"n_estimators": [2, 4, 3], "max_depth": [1, 2]}
    (message,) = warnings_of(small(), grid)
    assert "values of n_estimators: 2, 4, 3" in message
    assert "StagedSearchCV chooses the number of stages by itself" in message
    steps = [("scale", StandardScaler()), ("booster", small())]
    (message,) = warnings_of(Pipeline(steps), {"booster__n_estimators": [2, 3]})
    assert "values of booster__n_estimators: 2, 3" in message


def test_the_budget_is_known_by_the_name_that_the_library_gives_it():
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMClassifier(num_leaves=3, verbose=-1)
    (message,) = warnings_of(model, {"num_iterations": [2, 3]})
    assert "values of num_iterations: 2, 3" in message


@pytest.mark.parametrize(
    "grid",
    [
        {"n_estimators": [3], "max_depth": [1, 2]},
        {"n_estimators": [3, 3]},
        [
            {"n_estimators": [2], "learning_rate": [0.5]},
            {"n_estimators": [4], "learning_rate": [0.1]},
        ],
    ],
)
def test_a_budget_for_each_setting_gets_no_warning(grid):
    assert warnings_of(small(), grid) == []


def test_the_warning_comes_before_training():
    X, y = data("binary", 100)
    search = StagedSearchCV(small(max_depth=-1), {"n_estimators": [2, 3]}, cv=CV)
    with (
        pytest.warns(UserWarning, match="number of stages by itself"),
        pytest.raises(ValueError, match="candidates failed"),
    ):
        search.fit(X, y)


@pytest.mark.filterwarnings("ignore:The best .* may give a better model")
def test_a_list_of_settings_with_tuples_could_be_both():
    X, y = data("binary", 100)
    sizes = {"hidden_layer_sizes": [(4, 3), (2,)], "activation": ["relu"]}
    sampler = ParameterSampler(sizes, 2, random_state=0)
    network = MLPClassifier(max_iter=3, random_state=0)

    def params(grid):
        search = StagedSearchCV(network, grid, cv=CV, refit=False).fit(X, y)
        return search.cv_results_["params"]

    for tuples in (list(sampler), [{"hidden_layer_sizes": (4, 3)}]):
        with pytest.raises(ValueError, match="is ambiguous") as caught:
            params(tuples)
        ways = (r"'hidden_layer_sizes': [4, 3]", r"'hidden_layer_sizes': [(4, 3)]")
        assert all(way in str(caught.value) for way in ways)
    expected = [{"hidden_layer_sizes": (4, 3)}]
    assert params([{"hidden_layer_sizes": [(4, 3)]}]) == expected
    assert params(iter([{"hidden_layer_sizes": (4, 3)}])) == expected
    assert params(sampler) == list(sampler)
    # As in scikit-learn, tuples beside lists, and those of a single grid, are values.
    both = [{"alpha": (0.1, 0.2)}, {"alpha": [0.3]}]
    assert [p["alpha"] for p in params(both)] == [0.1, 0.2, 0.3]
    assert [p["alpha"] for p in params({"alpha": (0.1, 0.2)})] == [0.1, 0.2]
    with pytest.raises((TypeError, ValueError), match="alpha"):
        params([{"alpha": 0.1, "activation": ["relu", "tanh"]}])


@pytest.mark.parametrize("verbose", [0, 1])
def test_a_budget_of_none(verbose, capsys):
    """XGBoost takes it for its default; for others the candidate fails."""
    X, y = data("binary", 100)
    grid = {"n_estimators": [None, 20]}
    options = {"cv": CV, "n_iter_no_change": 2, "refit": False, "verbose": verbose}
    with (
        pytest.warns(FitFailedWarning, match="'n_estimators': None.*Got None"),
        pytest.warns(UserWarning, match="values of n_estimators: None, 20"),
    ):
        search = StagedSearchCV(small(), grid, **options).fit(X, y)
    assert search.best_params_ == {"n_estimators": 20}
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBClassifier(max_depth=1, n_jobs=1)
    with pytest.warns(UserWarning, match="values of n_estimators: None, 20"):
        search = StagedSearchCV(model, grid, **options).fit(X, y)
    assert_array_equal(*[scores[:20] for scores in search.stage_scores_])


def test_settings_that_make_no_difference_cost_a_warning():
    lightgbm = pytest.importorskip("lightgbm")
    X, y = data("binary", 120)
    model = lightgbm.LGBMClassifier(n_estimators=4, verbose=-1, n_jobs=1)
    search = StagedSearchCV(model, {"max_dept": [1, 6]}, cv=CV)
    with pytest.warns(UserWarning, match="2 candidates.*max_dept.*same scores"):
        search.fit(X, y)
    search.set_params(param_grid={"max_depth": [1, 6]}).fit(X, y)


def test_a_search_says_how_many_candidates_it_has_read(tmp_path, capsys):
    X, y = data("binary", 120)
    options = {"cv": CV, "checkpoint_dir": tmp_path, "verbose": 1}
    StagedSearchCV(small(), {"max_depth": [1, 2]}, **options).fit(X, y)
    assert "read" not in capsys.readouterr().out
    options |= {"resume": True}
    StagedSearchCV(small(), {"max_depth": [1, 2, 3]}, **options).fit(X, y)
    assert "2 of 3 candidates were read from" in capsys.readouterr().out
