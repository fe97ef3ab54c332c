"""Scores of records against scikit-learn and the package."""

import numpy as np
import pytest
from sklearn.metrics import f1_score, log_loss

from sklearn_superior import metrics
from studies._scores import (
    brier_score,
    log_losses,
    macro_f1,
    paper_penalty,
    shorten_all,
)


@pytest.mark.parametrize("n_classes", [2, 3, 30])
@pytest.mark.parametrize(
    ("rule", "samples"),
    [
        ("brier", metrics.penalized_brier_score_samples),
        ("log_loss", metrics.penalized_log_loss_samples),
    ],
)
def test_penalties_are_those_of_the_package(rule, samples, n_classes):
    y_proba = np.full((1, n_classes), 0.5 / (n_classes - 1))
    y_proba[0, 0] = 0.5 + 1e-9
    data = {"y_true": [1], "y_proba": y_proba / y_proba.sum()}
    data["labels"] = range(n_classes)
    (difference,) = samples(**data) - samples(**data, penalty=0)
    assert paper_penalty(rule, n_classes) == pytest.approx(difference)


def test_the_scores_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    y, y_proba = rng.integers(4, size=30), rng.dirichlet(np.ones(5), size=30)
    predicted, labels = y_proba.argmax(axis=1), np.arange(5)
    assert macro_f1(y, predicted, 5) == pytest.approx(
        f1_score(y, predicted, average="macro")
    )
    expected = log_loss(y, y_proba, labels=labels)
    assert log_losses(y, y_proba).mean() == pytest.approx(expected)
    expected = log_loss(y, 0.9 * y_proba + 0.1 / 5, labels=labels)
    assert log_losses(y, y_proba, 0.1).mean() == pytest.approx(expected)
    expected = metrics.penalized_brier_score_loss(y, y_proba, labels=labels, penalty=0)
    assert brier_score(y, y_proba) == pytest.approx(expected)


def test_numbers_of_records_are_short_and_ready_for_json():
    assert shorten_all([1 / 3, np.nan, np.inf, 2]) == [0.333333, None, None, 2.0]
