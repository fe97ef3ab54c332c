"""What is refused is named as the user typed it."""

import numpy as np
import pytest
from sklearn.metrics import make_scorer, roc_auc_score
from sklearn.model_selection import StratifiedKFold

from sklearn_superior.early_stopping import EarlyStopper, EarlyStoppingClassifier
from sklearn_superior.model_selection import (
    HBlockSplit,
    StagedSearchCV,
    compare_stopping_rules,
)
from sklearn_superior.neural_network import CNNClassifier
from tests.early_stopping.families import make_data
from tests.model_selection.searches import small

X, y, _, _ = make_data("binary")
X, y = X[:100], y[:100]
pytestmark = pytest.mark.filterwarnings("ignore:The best .* may give a better model")


DOORS = {
    "search": lambda **options: StagedSearchCV(small(), cv=3, **options).fit(X, y),
    "hold-out": lambda **options: EarlyStoppingClassifier(
        small(), random_state=0, **options
    ).fit(X, y),
    "comparison": lambda scoring: compare_stopping_rules(
        small(), X, y, cv=3, rules=["brier", scoring], random_state=0
    ),
}


class InThree(StratifiedKFold):
    def split(self, X, y, groups=None):
        for train, test in super().split(X, y, groups):
            yield train[:10], train[10:], test


class InOne(StratifiedKFold):
    def split(self, X, y, groups=None):
        for train, _ in super().split(X, y, groups):
            yield (train,)


@pytest.mark.parametrize("splitter", [InThree(3), InOne(3)])
def test_splitters_of_another_number_of_parts(splitter):
    n_parts = 3 if isinstance(splitter, InThree) else 1
    match = rf"'cv' parameter must give 2 parts.*Got \[{n_parts}\] parts"
    with pytest.raises(ValueError, match=match):
        StagedSearchCV(small(), cv=splitter).fit(X, y)
    with pytest.raises(ValueError, match=match):
        StagedSearchCV(small(), cv=list(splitter.split(X, y))).fit(X, y)
    match = rf"'validation_split' parameter must give two parts.*Got {n_parts}"
    with pytest.raises(ValueError, match=match):
        EarlyStoppingClassifier(small(), validation_split=splitter).fit(X, y)
    if n_parts == 3:
        compare_stopping_rules(small(), X, y, cv=splitter, random_state=0)
    else:
        with pytest.raises(ValueError, match=r"'cv' parameter.*Got \[1\] parts"):
            compare_stopping_rules(small(), X, y, cv=splitter)


def by_decision(estimator, X, y):
    return roc_auc_score(y, estimator.decision_function(X))


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    "scoring",
    [
        make_scorer(roc_auc_score, response_method="decision_function"),
        by_decision,
    ],
    ids=["scorer", "function"],
)
def test_a_scorer_of_decisions(door, scoring):
    match = "must be a scorer of predict_proba or predict.*decision_function"
    with pytest.raises((ValueError, AttributeError), match=match):
        DOORS[door](scoring=scoring)


@pytest.mark.parametrize("door", DOORS)
def test_scorers_that_know_two_ways_take_the_probabilities(door):
    DOORS[door](scoring="roc_auc")


def exhausted(estimator, X, y):
    return next(iter([]))


@pytest.mark.parametrize("door", DOORS)
def test_a_scorer_whose_iterator_is_exhausted(door):
    with pytest.raises(ValueError, match="must return a number.*exhausted.*StopIter"):
        DOORS[door](scoring=exhausted)


@pytest.mark.filterwarnings("ignore:`XGBRFClassifier` is deprecated:FutureWarning")
def test_forests_of_xgboost_have_no_stages():
    xgboost = pytest.importorskip("xgboost")
    for make in (StagedSearchCV, EarlyStoppingClassifier):
        with pytest.raises(
            TypeError, match="XGBRFClassifier grows all its trees at on"
        ):
            make(xgboost.XGBRFClassifier(n_estimators=3)).fit(X, y)


@pytest.mark.parametrize("name", ["patience", "early_stopping_rounds"])
@pytest.mark.parametrize(
    "call",
    [
        EarlyStopper,
        CNNClassifier,
        lambda **options: EarlyStoppingClassifier(small(), **options),
        lambda **options: StagedSearchCV(small(), **options),
        lambda **options: compare_stopping_rules(small(), X, y, **options),
    ],
    ids=["EarlyStopper", "CNN", "EarlyStopping", "search", "comparison"],
)
def test_other_names_of_the_patience(call, name):
    with pytest.raises(TypeError, match=f"no {name!r}.*n_iter_no_change"):
        call(**{name: 5})
    with pytest.raises(TypeError, match="unexpected keyword argument 'other'"):
        call(other=5)


def test_other_names_of_blocks():
    with pytest.raises(TypeError, match="HBlockSplit has no 'n_splits'.*n_blocks"):
        HBlockSplit(n_splits=5)
    assert "n_blocks" in str(__import__("inspect").signature(HBlockSplit))
    assert np.array(list(HBlockSplit(5).split(X, y)), dtype=object).shape == (5, 2)
