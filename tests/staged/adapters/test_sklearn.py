"""The boosting of scikit-learn."""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest
import sklearn.ensemble._hist_gradient_boosting.gradient_boosting as gradient_boosting
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
)
from sklearn.linear_model import LogisticRegression

from sklearn_superior.staged.adapters import find_stages, hist_hook
from sklearn_superior.staged.adapters.sklearn import (
    HistGradientBoostingStages,
    PublicHistGradientBoostingStages,
)
from tests.early_stopping.families import (
    make_data,
    plain_stopping,
    resumable_data,
)

HIST = {"max_iter": 12, "learning_rate": 0.5, "max_leaf_nodes": 6, "random_state": 0}


def fit(model, data=None, **options):
    X, y, X_val, y_val = make_data("five") if data is None else data
    model = plain_stopping(model, **{"n_iter_no_change": 4} | options)
    return model.fit(X, y, X_val=X_val, y_val=y_val)


# ------------------------------------------------------------- private names


def future_scikit_learn(name):
    """Load the module of HistGradientBoosting as if a private name had changed."""
    path = gradient_boosting.__file__
    source = Path(path).read_text()
    changed = re.sub(rf"(?<=[.\"]){name}\b|(?<=def ){name}\b", f"{name}_x", source)
    changed = changed.replace("metrics._scorer_x", "metrics._scorer")  # a module
    assert changed != source
    spec = importlib.util.spec_from_file_location(gradient_boosting.__name__, path)
    module = importlib.util.module_from_spec(spec)
    exec(compile(changed, path, "exec"), vars(module))
    return module.HistGradientBoostingClassifier


PRIVATE_NAMES = ["_predictors", "_scorer", "_raw_predict", "_in_fit", "_SCORERS"]


@pytest.fixture
def changed_class(request, monkeypatch):
    if request.param == "_SCORERS":  # the table is gone
        monkeypatch.setattr(hist_hook, "_SCORERS", {})
        hist_hook.hist_hook_works.cache_clear()
        yield HistGradientBoostingClassifier
        hist_hook.hist_hook_works.cache_clear()
    else:
        yield future_scikit_learn(request.param)


@pytest.mark.parametrize("changed_class", PRIVATE_NAMES, indirect=True)
@pytest.mark.parametrize("kind", ["five", "categories", "features", "weights"])
def test_a_private_name_that_is_gone_costs_speed_only(changed_class, kind):
    params = dict(HIST)
    X, y, X_val, y_val = resumable_data("Categorical" if kind == "categories" else "")
    data = {"X": X, "y": y, "X_val": X_val, "y_val": y_val}
    if kind == "categories":
        params["categorical_features"] = [0, 5]
    if kind == "features":
        params["max_features"] = 0.5
    if kind == "weights":
        data["sample_weight"] = np.arange(300) % 3 + 0.5
    model = plain_stopping(changed_class(**params), n_iter_no_change=4)
    with pytest.warns(UserWarning, match="has changed inside.*same model") as caught:
        model.fit(**data)
    assert len({str(w.message) for w in caught if w.category is UserWarning}) == 1
    hist_hook.hist_hook_works.cache_clear()
    if changed_class is HistGradientBoostingClassifier:
        expected = HistGradientBoostingClassifier(
            early_stopping=False, **params | {"max_iter": model.best_iteration_ + 1}
        ).fit(X, y, sample_weight=data.get("sample_weight"))
    else:
        plain = plain_stopping(
            HistGradientBoostingClassifier(**params), n_iter_no_change=4
        )
        expected = plain.fit(**data)
        assert_allclose(model.validation_scores_, expected.validation_scores_)
        assert model.best_iteration_ == expected.best_iteration_
    assert_allclose(
        model.predict_proba(X_val), expected.predict_proba(X_val), rtol=1e-12
    )
    assert model.estimator_.n_iter_ == model.best_iteration_ + 1
    assert model.estimator_.get_params() == changed_class(**params).get_params()


def test_names_that_are_there_are_used():
    assert hist_hook.hist_hook_works(HistGradientBoostingClassifier)
    stages = find_stages(HistGradientBoostingClassifier())
    assert isinstance(stages, HistGradientBoostingStages)
    assert "sklearn_superior" not in str(sorted(hist_hook._SCORERS))


def test_the_public_way_needs_no_seed():
    data = make_data("five")
    X, y, X_val, _ = data
    stages = PublicHistGradientBoostingStages(
        HistGradientBoostingClassifier(max_iter=5, max_features=0.3)
    )
    seen = []
    stages.fit(X, y, X_val, lambda y_proba: seen.append(y_proba.copy()))
    stages.keep(2)
    assert len(seen) == 5
    assert_allclose(stages.estimator.predict_proba(X_val), seen[2], rtol=1e-12)
    assert stages.estimator.random_state is None


# ------------------------------------------------------------- what is kept


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


# ------------------------------------------------------------- models from files


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
