"""Which parameters the candidates of a search have."""

import warnings

import pytest
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.model_selection import ParameterGrid, ParameterSampler, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_superior.model_selection import StagedSearchCV
from tests.early_stopping.families import make_data

CV = StratifiedKFold(3, shuffle=True, random_state=0)


def data(kind="five", n_rows=300):
    X, y, _, _ = make_data(kind)
    return X[:n_rows], y[:n_rows]


def small(**options):
    options = {"n_estimators": 15, "max_depth": 1, "random_state": 0} | options
    return GradientBoostingClassifier(**options)


@pytest.mark.parametrize(
    "settings",
    [
        ParameterGrid({"max_depth": [1, 2]}),
        ParameterSampler({"max_depth": [1, 2, 3]}, 2, random_state=0),
        iter([{"max_depth": 1}, {"learning_rate": 0.5}]),
        [{"max_depth": [1]}, {"learning_rate": [0.5]}],
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
    with pytest.raises((ValueError, TypeError), match="[Pp]arameter"):
        StagedSearchCV(small(), settings, cv=CV).fit(X, y)


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
    assert "values of n_estimators: 2, 3, 4" in message
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
