"""Which parameters the candidates of a search have."""

import pytest
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.model_selection import ParameterGrid, ParameterSampler, StratifiedKFold

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
