"""Fails loudly when HistGradientBoostingClassifier changes inside."""

import numpy as np
import pytest
import sklearn.metrics
from sklearn.ensemble import HistGradientBoostingClassifier

from sklearn_superior.early_stopping import EarlyStoppingClassifier
from sklearn_superior.staged.adapters import hist_hook


def make_hist(**params):
    X = np.linspace(0, 1, 60).reshape(-1, 1)
    y = np.arange(60) // 5 % 2
    defaults = {"max_iter": 5, "min_samples_leaf": 2, "max_leaf_nodes": 4}
    return HistGradientBoostingClassifier(**defaults | params), X, y


HOOKED = {"early_stopping": True, "n_iter_no_change": 1, "tol": 0.0}


def test_hist_gradient_boosting_can_be_hooked_cut_and_resumed():
    plain, X, y = make_hist(early_stopping=False)
    stages = list(plain.fit(X, y).staged_predict_proba(X))
    seen = []
    hook = hist_hook.make_hook(lambda p: seen.append(p.copy()))
    with hist_hook.hook_by_name(hook) as name:
        model = make_hist(scoring=name, **HOOKED)[0].fit(X, y, X_val=X, y_val=y)
    assert name not in sklearn.metrics.get_scorer_names()
    np.testing.assert_allclose(seen, stages, rtol=1e-12)
    cut = hist_hook.cut_hist(model, 3)
    cut = hist_hook.unpack_trees(hist_hook.pack_trees(cut))
    assert (cut.n_iter_, model.n_iter_) == (3, 5)
    np.testing.assert_allclose(cut.predict_proba(X), stages[2], rtol=1e-12)
    seen.clear()
    hook = hist_hook.make_hook(lambda p: seen.append(p.copy()), n_done=3)
    with hist_hook.hook_by_name(hook) as name:
        resumed, *_ = make_hist(scoring=name, warm_start=True, **HOOKED)
        params = resumed.get_params()
        vars(resumed).update({k: v for k, v in vars(cut).items() if k not in params})
        hist_hook.prepare_hist_to_resume(resumed, hook)
        resumed.fit(X, y, X_val=X, y_val=y)
    np.testing.assert_allclose(seen, stages[3:], rtol=1e-12)


def test_a_hook_stops():
    model, X, y = make_hist()
    hook = hist_hook.make_hook(lambda p: True)
    with hist_hook.hook_by_name(hook) as name:
        model.set_params(scoring=name, **HOOKED).fit(X, y, X_val=X, y_val=y)
    assert model.n_iter_ == 1


@pytest.mark.parametrize("changed", ["make_hook", "cut_hist", "unpack_trees"])
def test_without_the_hook_the_result_is_the_same(monkeypatch, changed):
    inner = make_hist(max_iter=12)[0].set_params(random_state=0)
    _, X, y = make_hist()
    val = {"X_val": X[::2], "y_val": 1 - y[::2]}  # so that the best stage is early
    expected = EarlyStoppingClassifier(inner, n_iter_no_change=3).fit(X, y, **val)

    def fail(*args):
        raise AttributeError("this private name is gone")

    with monkeypatch.context() as patch:
        patch.setattr(hist_hook, changed, fail)
        hist_hook.hook_works.cache_clear()
        with pytest.warns(UserWarning, match="has changed inside HistGradientBoosting"):
            model = EarlyStoppingClassifier(inner, n_iter_no_change=3).fit(X, y, **val)
    hist_hook.hook_works.cache_clear()
    assert hist_hook.hook_works()
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X))
    np.testing.assert_allclose(model.validation_scores_, expected.validation_scores_)
