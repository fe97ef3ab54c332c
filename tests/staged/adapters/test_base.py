"""The contracts of the adapters, and what the adapters share."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import SGDClassifier

from sklearn_superior.early_stopping import Stages
from sklearn_superior.staged.adapters import Checkpointed, find_stages
from sklearn_superior.staged.adapters.base import (
    check_n_stages,
    copy_with,
    hand_over_fit,
    stand_in_labels,
    two_columns,
)
from tests.early_stopping.families import FAMILIES, make_data


@pytest.mark.parametrize("name", FAMILIES)
def test_every_adapter_keeps_its_contract(name):
    pytest.importorskip("skops")
    stages = find_stages(FAMILIES[name]())
    assert isinstance(stages, Stages)
    assert stages.n_stages == 40
    if stages.obstacle() is None:
        assert isinstance(stages, Checkpointed)
        assert stages.n_done == 0


def test_an_adapter_must_train_and_cut_back():
    class Half(Stages):
        def keep(self, stage):
            pass

    with pytest.raises(TypeError, match="abstract method.*fit"):
        Half(None)


def test_the_defaults_of_an_adapter():
    class Least(Stages):
        def fit(self, X, y, X_val, on_stage, sample_weight=None):
            on_stage(self.estimator.fit(X, y).predict_proba(X_val))

        def keep(self, stage):
            pass

    X, y, X_val, _ = make_data("binary")
    stages = Least(GradientBoostingClassifier(n_estimators=3))
    stages.remember()
    stages.fit(X, y, X_val, lambda y_proba: True)
    assert stages.n_stages == 3
    assert stages.snapshot() is None
    assert stages.facts() == []
    assert len(list(stages.staged_proba(X_val))) == 3
    assert "GradientBoostingClassifier writes no checkpoints" in stages.obstacle()


def test_copies_have_other_parameters_and_no_fit():
    X, y, _, _ = make_data("binary")
    model = SGDClassifier(loss="log_loss", max_iter=5, tol=None).fit(X, y)
    copied = copy_with(model, alpha=0.5)
    assert (copied.alpha, model.alpha) == (0.5, 0.0001)
    assert not hasattr(copied, "coef_")


def test_a_fit_is_handed_over_without_the_parameters():
    X, y, X_val, _ = make_data("binary")
    source = SGDClassifier(loss="log_loss", alpha=0.5, random_state=0).fit(X, y)
    target = SGDClassifier(loss="log_loss", alpha=0.1)
    assert hand_over_fit(source, target) is target
    assert target.alpha == 0.1
    assert target.random_state is None
    assert_array_equal(target.predict_proba(X_val), source.predict_proba(X_val))


def test_attributes_that_fit_did_not_touch_are_not_handed_over():
    source, target = SGDClassifier(), SGDClassifier()
    source.note = "mine"
    before = dict(vars(source))
    source.coef_ = 1
    hand_over_fit(source, target, before)
    assert target.coef_ == 1
    assert not hasattr(target, "note")


def test_restored_models_must_have_the_stages_of_their_scores():
    check_n_stages(5, 5)
    with pytest.raises(ValueError, match="has 4 scores, but its model 5 stages"):
        check_n_stages(5, 4)


def test_threads_are_limited_if_at_all():
    stages = find_stages(SGDClassifier(loss="log_loss"))
    assert [stages.limit_threads(own) for own in (None, -1, 1, 8)] == [None, -1, 1, 8]
    stages.max_threads = 2
    assert [stages.limit_threads(own) for own in (None, -1, 1, 8)] == [2, 2, 1, 2]


def test_two_columns():
    p = np.array([0.25, 1.0], dtype=np.float32)
    assert_array_equal(two_columns(p), [[0.75, 0.25], [0, 1]])
    assert two_columns(p).dtype == np.float32
    full = np.eye(3)
    assert two_columns(full) is full


@pytest.mark.parametrize(
    "table", [np.zeros((3, 2)), [[0], [1], [2]], pd.DataFrame([1, 2, 3])]
)
def test_stand_in_labels_say_nothing(table):
    assert_array_equal(stand_in_labels(table, ["b", "a"]), ["b"] * 3)
