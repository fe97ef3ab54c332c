"""The scale of weights means nothing: for scores, temperatures, what is chosen."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import SGDClassifier

from sklearn_superior.early_stopping import EarlyStoppingClassifier
from sklearn_superior.model_selection import StagedSearchCV
from tests.early_stopping.families import FAMILIES, make_data

pytestmark = pytest.mark.filterwarnings(
    "ignore:The best .* may give a better model", "ignore:All .* scores"
)
X, y, X_new, y_new = make_data("binary")
X, y = X[:200], y[:200]


class NoWeights(SGDClassifier):
    """Trains without weights, so that only scores and temperatures see them."""

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        return super().partial_fit(X, y, classes)


def model(alpha=1e-4):
    return NoWeights(loss="log_loss", alpha=alpha, max_iter=12, random_state=0)


def search(weight, estimator=None, grid=None, **options):
    options = {"scoring": "neg_refined_log_loss", "cv": 4, "refit": "all"} | options
    found = StagedSearchCV(model() if estimator is None else estimator, grid, **options)
    return found.fit(X, y, sample_weight=weight)


def hold_out(weight, estimator=None, **options):
    return EarlyStoppingClassifier(
        model() if estimator is None else estimator,
        scoring="neg_refined_log_loss",
        validation_fraction=0.4,
        random_state=0,
        **options,
    ).fit(X, y, sample_weight=weight)


def outcome(found):
    scores = getattr(found, "stage_scores_", None)
    scores = found.validation_scores_ if scores is None else scores
    return found.temperature_, found.best_iteration_, np.concatenate(scores, axis=None)


@pytest.mark.parametrize("fit", [search, hold_out])
@pytest.mark.parametrize("scale", [1 / 400, 1e6, 1e-300, 1e306, 2.0**-20, 2.0**900])
def test_all_weights_may_be_multiplied_by_a_constant(fit, scale):
    weight = np.random.default_rng(0).uniform(0.2, 5, len(y))
    weight[::7] = 0
    expected, got = outcome(fit(weight)), outcome(fit(scale * weight))
    if np.log2(scale) % 1 == 0:
        assert_array_equal(np.hstack(got), np.hstack(expected))
    assert got[1] == expected[1]
    assert_allclose(np.hstack(got), np.hstack(expected), rtol=1e-6)


@pytest.mark.parametrize("fit", [search, hold_out])
@pytest.mark.parametrize("scale", [1 / 400, 1e6, 1e308, 5e-324])
def test_constant_weights_are_none(fit, scale):
    got, expected = outcome(fit(np.full(len(y), scale))), outcome(fit(None))
    assert got[1] == expected[1]
    assert_allclose(np.hstack(got), np.hstack(expected), rtol=1e-9)


def test_the_same_candidate_is_chosen_at_every_scale():
    rng = np.random.default_rng(1)
    for _ in range(4):
        weight = rng.exponential(size=len(y)) ** 2
        grid = {"alpha": [1e-4, 1e-2, 1e-1]}
        found = [
            search(w, grid=grid, refit=False) for w in (weight, weight / weight.sum())
        ]
        assert found[0].best_params_ == found[1].best_params_
        assert found[0].temperature_ == pytest.approx(found[1].temperature_)


def test_every_scorer_sees_weights_of_mean_one_for_the_rows_that_it_scores():
    seen = []

    def scorer(estimator, X, y, sample_weight=None):
        seen.append(sample_weight)
        return 0.0

    weight = np.arange(200.0)
    search(weight, scoring={"log_loss": "neg_log_loss", "own": scorer}, refit=False)
    assert len(seen) == 4
    for own in seen:
        assert own[own > 0].mean() == pytest.approx(1)
    found = search(weight, scoring=scorer)
    del seen[:]
    found.score(X, y, sample_weight=1e6 * weight)
    assert seen[0][seen[0] > 0].mean() == pytest.approx(1)


@pytest.mark.parametrize("refit", ["all", "folds"])
def test_training_gets_the_weights_as_they_came(refit):
    seen = []

    class Notes(NoWeights):
        def partial_fit(self, X, y, classes=None, sample_weight=None):
            seen.append(sample_weight.sum())
            return super().partial_fit(X, y, classes)

    estimator = Notes(loss="log_loss", max_iter=2, random_state=0)
    search(np.full(len(y), 3.0), estimator, refit=refit, cv=4)
    assert set(seen) == ({450.0, 600.0} if refit == "all" else {450.0})


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_the_network_at_every_scale(scale):
    pytest.importorskip("torch")
    weight = np.random.default_rng(0).uniform(0.2, 5, len(y))
    network = FAMILIES["CNN"]().set_params(
        early_stopping=True, scoring="neg_refined_log_loss", max_iter=4, random_state=0
    )
    one = network.fit(X, y, sample_weight=weight).temperature_
    other = network.fit(X, y, sample_weight=scale * weight).temperature_
    assert other == pytest.approx(one, rel=1e-3)
