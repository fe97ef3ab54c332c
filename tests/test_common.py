"""scikit-learn's own checks of every estimator."""

import pytest
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
)
from sklearn.linear_model import SGDClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_superior.early_stopping import EarlyStoppingClassifier
from sklearn_superior.model_selection import StagedSearchCV
from sklearn_superior.neural_network import CNNClassifier

INNER = [
    GradientBoostingClassifier(n_estimators=5, random_state=0),
    HistGradientBoostingClassifier(max_iter=5, random_state=0),
    AdaBoostClassifier(n_estimators=5, random_state=0),
    SGDClassifier(loss="log_loss", max_iter=5, random_state=0),
    MLPClassifier((20,), max_iter=50, learning_rate_init=0.05, random_state=0),
    make_pipeline(
        StandardScaler(), GradientBoostingClassifier(n_estimators=5, random_state=0)
    ),
]
SPLIT = "repeated or removed samples change the random validation part"
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": SPLIT,
    "check_sample_weight_equivalence_on_sparse_data": SPLIT,
}


SEARCHES = [
    StagedSearchCV(INNER[0], {"max_depth": [1, 2]}, cv=3, refit="folds"),
    StagedSearchCV(INNER[0], cv=3, scoring="log_loss", refit="folds"),
    StagedSearchCV(INNER[1], cv=3, refit="all"),
    StagedSearchCV(INNER[5], cv=3, scoring="log_loss", refit="all"),
    StagedSearchCV(INNER[1], cv=3, refit="folds"),
]
BINS = "HistGradientBoosting finds its bins without weights"


def failures_of_search(search):
    if search.estimator is INNER[1]:
        return {"check_sample_weight_equivalence_on_dense_data": BINS}
    return {}


@pytest.mark.filterwarnings("ignore::UserWarning")
@parametrize_with_checks(SEARCHES, expected_failed_checks=failures_of_search)
def test_scikit_learn_checks_of_searches(estimator, check):
    check(estimator)


def scoring_for(inner):
    """The default, unless a model is as underconfident as AdaBoost."""
    is_ada_boost = isinstance(inner, AdaBoostClassifier)
    return "neg_penalized_brier_score" if is_ada_boost else None


NETWORKS = [
    CNNClassifier(hidden=32, max_iter=30, random_state=0),
    CNNClassifier(
        hidden=32, max_iter=20, loss="brier", early_stopping=False, random_state=0
    ),
]
BATCHES = "batches and batch normalisation count samples, whatever they weigh"


@pytest.mark.filterwarnings("ignore::UserWarning")
@parametrize_with_checks(
    [
        *(
            EarlyStoppingClassifier(inner, scoring=scoring_for(inner), random_state=0)
            for inner in INNER
        ),
        EarlyStoppingClassifier(INNER[0], calibration="temperature", random_state=0),
    ],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@parametrize_with_checks(
    NETWORKS,
    expected_failed_checks=lambda estimator: {
        "check_sample_weight_equivalence_on_dense_data": BATCHES
    },
)
def test_scikit_learn_checks_of_networks(estimator, check):
    pytest.importorskip("torch")
    check(estimator)
