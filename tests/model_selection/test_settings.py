"""Which parameters the candidates of a search have."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import ParameterGrid, ParameterSampler, StratifiedKFold
from sklearn.neural_network import MLPClassifier
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
