"""The boosting of scikit-learn."""

import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
)
from sklearn.linear_model import LogisticRegression

from sklearn_superior.staged.adapters import find_stages
from tests.early_stopping.families import make_data, plain_stopping

HIST = {"max_iter": 12, "learning_rate": 0.5, "max_leaf_nodes": 6, "random_state": 0}


def fit(model, data=None, **options):
    X, y, X_val, y_val = make_data("five") if data is None else data
    model = plain_stopping(model, **{"n_iter_no_change": 4} | options)
    return model.fit(X, y, X_val=X_val, y_val=y_val)


def test_hist_gradient_boosting_keeps_nothing_of_the_training():
    kept = fit(HistGradientBoostingClassifier(**HIST)).estimator_
    assert kept.get_params() == HistGradientBoostingClassifier(**HIST).get_params()
    assert len(kept.train_score_) == len(kept.validation_score_) == 0
    assert not kept.do_early_stopping_
    assert not {"_raw_predict", "_in_fit"} & vars(kept).keys()


@pytest.mark.parametrize("own", [True, False, "auto"])
def test_its_own_early_stopping_does_not_act(own):
    model = HistGradientBoostingClassifier(
        early_stopping=own, n_iter_no_change=1, tol=1.0, scoring="accuracy", **HIST
    )
    plain = fit(HistGradientBoostingClassifier(**HIST))
    assert_array_equal(fit(model).validation_scores_, plain.validation_scores_)
    assert fit(model).estimator_.get_params() == model.get_params()


def test_gradient_boosting_keeps_what_belongs_to_the_stage():
    X, y, X_val, y_val = make_data("five")
    inner = GradientBoostingClassifier(
        n_estimators=20,
        learning_rate=0.5,
        subsample=0.7,
        n_iter_no_change=1,
        init=LogisticRegression(max_iter=500),
        random_state=0,
    )
    model = fit(inner)
    kept, n_kept = model.estimator_, model.best_iteration_ + 1
    assert len(kept.estimators_) == kept.n_estimators_ == n_kept
    for scores in (kept.train_score_, kept.oob_improvement_, kept.oob_scores_):
        assert len(scores) == n_kept
    assert kept.oob_score_ == kept.oob_scores_[-1]
    assert kept.n_iter_no_change == 1
    shorter = GradientBoostingClassifier(
        **inner.get_params(deep=False)
        | {"n_estimators": n_kept, "n_iter_no_change": None}
    ).fit(X, y)
    assert_array_equal(kept.predict_proba(X_val), shorter.predict_proba(X_val))


def test_ada_boost_is_cut_back():
    model = fit(AdaBoostClassifier(n_estimators=20, random_state=0))
    kept = model.estimator_
    n_kept = model.best_iteration_ + 1
    assert len(kept.estimators_) == len(kept.estimator_weights_) == n_kept
    assert "no stages before the end" in find_stages(AdaBoostClassifier()).obstacle()


@pytest.mark.parametrize(
    "model",
    [
        HistGradientBoostingClassifier(**HIST | {"max_iter": 4}),
        GradientBoostingClassifier(n_estimators=4),
    ],
)
def test_models_are_restored_with_the_stages_of_their_scores(model):
    pytest.importorskip("skops")
    stages = find_stages(model)
    X, y, X_val, _ = make_data("five")
    seen = []
    stages.fit(X, y, X_val, lambda y_proba: seen.append(y_proba.copy()))
    again = find_stages(model)
    again.restore(stages.dump(), 4, X, y)
    assert again.n_done == 4
    assert_allclose(again.snapshot().predict_proba(X_val), seen[-1], rtol=1e-12)
    with pytest.raises(ValueError, match="has 9 scores, but its model 4 stages"):
        find_stages(model).restore(stages.dump(), 9, X, y)
