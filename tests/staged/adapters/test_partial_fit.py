"""Anything with `partial_fit`."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.linear_model import SGDClassifier
from sklearn.neural_network import MLPClassifier

from sklearn_superior.staged.adapters import find_stages
from tests.early_stopping.families import (
    make_data,
    plain_stopping,
)


def fit_epochs(model, n_epochs, X, y):
    for _ in range(n_epochs):
        model.partial_fit(X, y, classes=np.unique(y))
    return model


@pytest.mark.parametrize(
    "make",
    [
        lambda **options: MLPClassifier(
            (8,), max_iter=15, learning_rate_init=0.05, random_state=0, **options
        ),
        lambda **options: MLPClassifier(
            (8,), max_iter=15, solver="sgd", momentum=0.5, random_state=0, **options
        ),
        lambda **options: SGDClassifier(
            loss="log_loss", max_iter=15, random_state=0, **options
        ),
        lambda **options: SGDClassifier(
            loss="modified_huber", max_iter=15, average=True, random_state=0, **options
        ),
    ],
)
@pytest.mark.parametrize("stops", [False, True])
def test_the_kept_epoch_is_that_of_shorter_training(make, stops):
    X, y, X_val, y_val = make_data("five")
    model = plain_stopping(make(early_stopping=stops), n_iter_no_change=4)
    model.fit(X, y, X_val=X_val, y_val=y_val)
    shorter = fit_epochs(make(), model.best_iteration_ + 1, X, y)
    assert_array_equal(model.predict_proba(X_val), shorter.predict_proba(X_val))
    assert model.estimator_.get_params() == make(early_stopping=stops).get_params()


def test_only_the_remembered_epoch_can_be_kept():
    stages = find_stages(SGDClassifier(loss="log_loss"))
    with pytest.raises(TypeError, match="SGDClassifier does not keep its stages"):
        stages.staged_proba(None)


def test_a_snapshot_does_not_train_on():
    X, y, X_val, _ = make_data("five")
    stages = find_stages(SGDClassifier(loss="log_loss", max_iter=3, random_state=0))
    snapshots, seen = [], []

    def on_stage(y_proba):
        snapshots.append(stages.snapshot())
        seen.append(y_proba)

    stages.fit(X, y, X_val, on_stage)
    for snapshot, y_proba in zip(snapshots, seen, strict=True):
        assert_array_equal(snapshot.predict_proba(X_val), y_proba)
