"""The metrics in the training and early stopping of LightGBM."""

from inspect import signature

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sklearn_superior.integrations import lightgbm as our_lightgbm
from tests.integrations.boosting import NAMES, expected, numbered_data


@pytest.mark.parametrize("kind", ["binary", "five"])
@pytest.mark.parametrize("weighted", [False, True])
def test_lightgbm_logs_several_losses_and_stops_by_the_first(kind, weighted):
    lightgbm = pytest.importorskip("lightgbm")
    X, y, X_val, y_val, weight = numbered_data(kind)
    weight = weight if weighted else None
    model = lightgbm.LGBMClassifier(
        n_estimators=60, learning_rate=0.5, metric="None", verbose=-1
    )
    model.fit(
        X,
        y,
        **(
            {"eval_X": X_val, "eval_y": y_val}
            if "eval_X" in signature(model.fit).parameters  # from 4.7 on
            else {"eval_set": [(X_val, y_val)]}
        ),
        eval_sample_weight=None if weight is None else [weight],
        eval_metric=[our_lightgbm.eval_metric(name) for name in NAMES],
        callbacks=[lightgbm.early_stopping(5, first_metric_only=True, verbose=False)],
    )
    log = model.evals_result_["valid_0"]
    assert list(log) == NAMES
    assert model.best_iteration_ == np.argmin(log[NAMES[0]]) + 1 < 60
    best = model.predict_proba(X_val)
    for name in NAMES:
        assert_allclose(
            log[name][model.best_iteration_ - 1],
            expected(name, y_val, best, weight),
            rtol=1e-7,
        )


def test_lightgbm_train_takes_the_metric():
    lightgbm = pytest.importorskip("lightgbm")
    X, y, X_val, y_val, weight = numbered_data("five")
    train = lightgbm.Dataset(X, y)
    log = {}
    booster = lightgbm.train(
        {"objective": "multiclass", "num_class": 5, "metric": "None", "verbose": -1},
        train,
        5,
        valid_sets=[lightgbm.Dataset(X_val, y_val, weight=weight, reference=train)],
        feval=our_lightgbm.eval_metric("penalized_log_loss"),
        callbacks=[lightgbm.record_evaluation(log)],
    )
    value = expected("penalized_log_loss", y_val, booster.predict(X_val), weight)
    assert_allclose(log["valid_0"]["penalized_log_loss"][-1], value, rtol=1e-7)
