"""What the metrics of all boosting libraries have in common."""

import pickle
import warnings

import pytest

from sklearn_superior.integrations import catboost as our_catboost
from sklearn_superior.integrations import lightgbm as our_lightgbm
from sklearn_superior.integrations import xgboost as our_xgboost

MAKERS = [our_xgboost.eval_metric, our_lightgbm.eval_metric, our_catboost.EvalMetric]


@pytest.mark.parametrize("make", MAKERS)
def test_bad_options_are_refused_when_the_metric_is_made(make):
    with pytest.raises(ValueError, match="'rule' parameter must be one of"):
        make("pbs")
    with pytest.raises(TypeError, match=r"options of rule='penalized_log_loss' are \["):
        make("penalized_log_loss", scale="mean")
    with pytest.raises(ValueError, match="'ties' parameter must be one of"):
        make("penalized_brier", ties="last")


@pytest.mark.parametrize("make", MAKERS)
def test_metrics_print_and_pickle(make):
    metric = make("penalized_brier", ties="split")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        restored = pickle.loads(pickle.dumps(metric))
    assert repr(restored) == repr(metric)
    assert "('penalized_brier', penalty='paper', ties='split')" in repr(metric)
