"""XGBoost: its own settings do not act, and its models are read with care."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_superior.early_stopping import _checkpoint, staged_scores
from sklearn_superior.metrics import neg_penalized_brier_scorer
from sklearn_superior.staged.adapters import find_stages
from tests.early_stopping.families import XGBOOST_KEEPS_STATE, make_data, plain_stopping
from tests.early_stopping.families import fit_stopping as fit

xgboost = pytest.importorskip("xgboost")
from xgboost.callback import (  # noqa: E402
    EarlyStopping,
    EvaluationMonitor,
    LearningRateScheduler,
    TrainingCallback,
)


def make_model(**params):
    defaults = {"n_estimators": 30, "max_depth": 3, "learning_rate": 0.5, "n_jobs": 1}
    return xgboost.XGBClassifier(**defaults | params)


def own_error(y_true, y_proba):
    raise AssertionError("it was called")


@pytest.mark.parametrize(
    "params",
    [
        {"eval_metric": "merror"},
        {"eval_metric": ["merror", "mlogloss"]},
        {"eval_metric": own_error},
        {"eval_metric": [own_error, "merror"]},
        {"early_stopping_rounds": 1},
        {"early_stopping_rounds": 1, "eval_metric": "merror"},
        {"callbacks": [EarlyStopping(rounds=1)]},
        {"callbacks": [EvaluationMonitor()]},
    ],
)
@pytest.mark.parametrize("kind", ["binary", "five"])
def test_what_judges_the_stages_never_acts(params, kind, capsys):
    if kind == "binary" and "merror" in str(params):
        params = json.loads(json.dumps(params, default=str).replace("merror", "error"))
        if "own_error" in str(params):
            pytest.skip("the same with five classes")
        params = json.loads(json.dumps(params).replace("mlogloss", "logloss"))
    plain, model = fit(make_model(), kind), fit(make_model(**params), kind)
    assert_array_equal(plain.validation_scores_, model.validation_scores_)
    X, *_ = make_data(kind)
    assert_array_equal(plain.predict_proba(X), model.predict_proba(X))
    kept = model.estimator_
    assert capsys.readouterr().out == ""
    for name, value in params.items():
        found = kept.get_params()[name]
        same = (
            type(found[0]) is type(value[0]) if name == "callbacks" else found == value
        )
        assert same


def test_nothing_of_the_training_is_left_on_the_model():
    kept = fit(make_model()).estimator_
    assert not hasattr(kept, "evals_result_")
    with pytest.raises(AttributeError, match="best_iteration"):
        _ = kept.best_iteration
    own = make_model().get_params()
    assert {k for k, v in kept.get_params().items() if repr(v) != repr(own[k])} == set()


def test_callbacks_that_train_still_act():
    def schedule(epoch):
        return 0.5 / (epoch + 1)

    scheduled = fit(make_model(callbacks=[LearningRateScheduler(schedule)]))
    plain = fit(make_model())
    assert not np.array_equal(scheduled.validation_scores_, plain.validation_scores_)
    X, y, X_val, _ = make_data("five")
    codes = np.unique(y, return_inverse=True)[1]
    direct = make_model(
        n_estimators=scheduled.best_iteration_ + 1,
        callbacks=[LearningRateScheduler(schedule)],
    ).fit(X, codes)
    assert_allclose(
        direct.predict_proba(X_val), scheduled.predict_proba(X_val), rtol=1e-6
    )


@pytest.mark.parametrize(
    ("params", "resumes"),
    [
        ({}, True),
        ({"subsample": 1, "colsample_bytree": 1.0}, True),
        ({"subsample": 0.9}, XGBOOST_KEEPS_STATE),
        ({"colsample_bynode": 0.5}, XGBOOST_KEEPS_STATE),
        ({"colsample_bylevel": 0.5}, XGBOOST_KEEPS_STATE),
        # Rounds that are added count from 0 again, and draw what the first ones drew.
        ({"subsample": 0.9, "seed_per_iteration": True}, False),
        ({"callbacks": [LearningRateScheduler(lambda epoch: 0.1)]}, False),
        ({"callbacks": [EarlyStopping(rounds=2)]}, True),
    ],
)
def test_which_sampling_can_resume(params, resumes):
    assert (find_stages(make_model(**params)).obstacle() is None) is resumes


class Interrupt(Exception):
    left = 0  # number of stages before it comes


def interrupted_scorer(estimator, X, y):
    Interrupt.left -= 1
    if Interrupt.left < 0:
        raise Interrupt
    return neg_penalized_brier_scorer(estimator, X, y)


@pytest.mark.skipif(not XGBOOST_KEEPS_STATE, reason="the random state is not saved")
@pytest.mark.parametrize("stop_at", [3, 7, 13])
@pytest.mark.parametrize(
    "params",
    [
        {"subsample": 0.5},
        {"subsample": 0.7, "colsample_bynode": 0.5, "num_parallel_tree": 2},
        {"colsample_bylevel": 0.5, "tree_method": "approx", "random_state": 3},
    ],
)
def test_random_sampling_resumes_to_the_same_bits(
    params, stop_at, tmp_path, monkeypatch
):
    X, y, X_val, y_val = make_data("five")

    def train(**options):
        model = plain_stopping(make_model(**params), n_iter_no_change=30, **options)
        return model.fit(X, y, X_val=X_val, y_val=y_val)

    keeper = _checkpoint.CheckpointKeeper  # saves every stage
    monkeypatch.setattr(keeper, "stage_done", lambda self, result, _: self.save(result))
    own = {"scoring": interrupted_scorer, "checkpoint_dir": tmp_path}
    Interrupt.left = stop_at
    with pytest.raises(Interrupt):
        train(**own)
    Interrupt.left = 1000
    resumed = train(**own, resume=True)
    n_scored = 1000 - Interrupt.left  # with the last and the best of the checkpoint
    assert n_scored <= 30 - stop_at + 2
    whole = train()
    assert_array_equal(resumed.validation_scores_, whole.validation_scores_)
    assert_array_equal(resumed.predict_proba(X), whole.predict_proba(X))
    trees = [m.estimator_.get_booster().get_dump() for m in (resumed, whole)]
    assert trees[0] == trees[1]


@pytest.mark.parametrize(
    "params",
    [
        {"booster": "dart"},
        {"booster": "gblinear"},
        {"objective": "multi:softmax"},
        {"objective": "binary:hinge"},
        {"objective": "binary:logitraw"},
        {"objective": lambda y, p: (p, p)},
    ],
)
def test_what_has_no_stages_or_no_probabilities_is_refused(params):
    with pytest.raises(ValueError, match="so no stage can be kept|no probabilities"):
        fit(make_model(**params))


def categorical_data():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "kind": pd.Categorical(rng.choice(list("xyzw"), 600)),
            "size": rng.normal(size=600),
        }
    )
    noise = rng.random(600) < 0.1
    y = X["kind"].isin(["x", "z"]).to_numpy() ^ (X["size"] > 0).to_numpy() ^ noise
    return X, y.astype(int)


def test_categories_are_those_of_training_whatever_their_order():
    X, y = categorical_data()
    shuffled = X.assign(kind=X["kind"].cat.set_categories(list("zxyw")))
    inner = make_model(enable_categorical=True)
    models = [
        plain_stopping(inner, n_iter_no_change=3).fit(
            X[:400], y[:400], X_val=X_val[400:], y_val=y[400:]
        )
        for X_val in (X, shuffled)
    ]
    assert_allclose(*(m.validation_scores_ for m in models), rtol=1e-6)
    model = models[0]
    assert model.n_iter_ > model.best_iteration_ + 1  # it was cut back
    assert_array_equal(
        model.predict_proba(X[400:]), model.predict_proba(shuffled[400:])
    )
    scores = staged_scores(
        model, shuffled[400:], y[400:], scoring="neg_penalized_brier_score"
    )
    assert_allclose(scores, model.validation_scores_[: len(scores)], rtol=1e-5)


def test_missing_values_are_what_the_user_says():
    X, y, X_val, y_val = make_data("binary")
    X, X_val = (np.where(part > 1, -999, part) for part in (X, X_val))
    model = plain_stopping(make_model(missing=-999), n_iter_no_change=3)
    model.fit(X, y, X_val=X_val, y_val=y_val)
    scores = staged_scores(model, X_val, y_val, scoring="neg_penalized_brier_score")
    assert_allclose(scores, model.validation_scores_[: len(scores)], rtol=1e-5)


def training_data():
    X, y, _, _ = make_data("five")
    return X, np.unique(y, return_inverse=True)[1]


def saved_model():
    stages = find_stages(make_model(n_estimators=3))
    X, y, X_val, _ = make_data("five")
    codes = np.unique(y, return_inverse=True)[1]
    stages.fit(X, codes, X_val, lambda y_proba: False)
    return stages.dump()["last"]


def test_the_number_of_stages_must_fit():
    stages = find_stages(make_model())
    with pytest.raises(ValueError, match="has 4 scores, but its model 3 stages"):
        stages.restore({"last": saved_model()}, 4, *training_data())
    stages.restore({"last": saved_model()}, 3, *training_data())
    assert stages.n_done == 3


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"tree_method": "exact", "gamma": 1.0},
        {"multi_strategy": "multi_output_tree"},
        {"num_parallel_tree": 2},
    ],
)
@pytest.mark.parametrize("kind", ["binary", "five"])
def test_training_resumes_to_the_same_result(params, kind, tmp_path):
    options = {"checkpoint_dir": tmp_path, "resume": True, "n_iter_no_change": 50}
    whole = fit(make_model(**params), kind, n_iter_no_change=50)
    fit(make_model(**params, n_estimators=10), kind, **options)
    resumed = fit(make_model(**params), kind, **options)
    assert_allclose(resumed.validation_scores_, whole.validation_scores_, rtol=1e-6)


def test_categories_survive_a_checkpoint(tmp_path):
    X, y = categorical_data()
    data = {"X": X[:400], "y": y[:400], "X_val": X[400:], "y_val": y[400:]}
    options = {"n_iter_no_change": 50}
    inner = make_model(enable_categorical=True)
    whole = plain_stopping(inner, **options).fit(**data)
    options |= {"checkpoint_dir": tmp_path, "resume": True}
    plain_stopping(make_model(enable_categorical=True, n_estimators=9), **options).fit(
        **data
    )
    resumed = plain_stopping(inner, **options).fit(**data)
    assert_allclose(resumed.validation_scores_, whole.validation_scores_, rtol=1e-6)
    shuffled = X.assign(kind=X["kind"].cat.set_categories(list("zxyw")))
    assert_allclose(resumed.predict_proba(shuffled), whole.predict_proba(X), rtol=1e-5)


class Recorder(TrainingCallback):
    """A callback that counts the rounds."""

    n_rounds = 0

    def after_iteration(self, model, epoch, evals_log):
        self.n_rounds += 1
        return False


def test_what_callbacks_record_is_in_the_kept_estimator():
    recorder = Recorder()
    model = fit(make_model(callbacks=[recorder]))
    assert recorder.n_rounds == 0  # the estimator of the user is cloned
    assert model.estimator_.callbacks[0].n_rounds == model.n_iter_


def test_the_device_of_the_user_is_kept():
    kept = fit(make_model(device="cpu")).estimator_
    config = json.loads(kept.get_booster().save_config())
    assert config["learner"]["generic_param"]["device"] == "cpu"


class StopsAt(TrainingCallback):
    """A callback of the user that ends training."""

    def __init__(self, last):
        self.last = last

    def after_iteration(self, model, epoch, evals_log):
        return epoch == self.last


@pytest.mark.parametrize("last", [0, 3])
def test_a_callback_that_stops_does_not_hide_its_round(last):
    model = fit(make_model(callbacks=[StopsAt(last), Recorder()]), n_iter_no_change=50)
    assert model.n_iter_ == last + 1
    assert model.estimator_.callbacks[1].n_rounds == last + 1


@pytest.mark.parametrize(
    "objective", ["reg:squarederror", "rank:ndcg", "count:poisson"]
)
def test_objectives_without_probabilities_of_classes_are_refused(objective):
    with pytest.raises(ValueError, match="gives no probabilities of classes"):
        fit(make_model(objective=objective))


class Own(xgboost.XGBClassifier):
    """A subclass, which would lose its class if it had to predict other labels."""


def test_subclasses_need_encoded_labels():
    with pytest.raises(TypeError, match="Own, a subclass.*must be trained on the lab"):
        fit(Own(n_estimators=3))
    assert type(fit(Own(n_estimators=3), "binary").estimator_) is Own
