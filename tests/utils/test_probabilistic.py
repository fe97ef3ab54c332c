"""Predictions that follow from probabilities."""

import numpy as np
from numpy.testing import assert_array_equal

from sklearn_superior.utils._probabilistic import ProbabilisticMixin


class Fixed(ProbabilisticMixin):
    classes_ = np.array(["a", "b", "c"])

    def predict_proba(self, X):
        return np.array([[0.2, 0.5, 0.3], [0.5, 0.5, 0.0]])


def test_classes_and_logarithms_follow_from_probabilities():
    assert Fixed().predict(None).tolist() == ["b", "a"]
    logs = Fixed().predict_log_proba(None)
    assert_array_equal(logs[1], [np.log(0.5), np.log(0.5), -np.inf])
