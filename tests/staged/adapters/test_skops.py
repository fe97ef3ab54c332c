"""Models as bytes: read without running code from them."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sklearn_superior.staged.adapters import find_stages
from tests.early_stopping.families import make_data

skops = pytest.importorskip("skops.io")


class OwnSGD(SGDClassifier):
    """A class that skops does not know."""


@pytest.fixture
def stages():
    return find_stages(SGDClassifier(loss="log_loss"))


def run_code():
    raise AssertionError("it was run")


def test_there_and_back(stages):
    X, y, _, _ = make_data("binary")
    model = SGDClassifier(loss="log_loss", tol=None, max_iter=5).fit(X, y)
    again = stages.from_bytes(stages.to_bytes(model))
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("data", [b"", b"nonsense", pickle.dumps({})])
def test_what_is_no_archive_is_refused(stages, data):
    with pytest.raises(Exception, match="zip"):
        stages.from_bytes(data)


def test_functions_are_refused(stages):
    model = make_pipeline(FunctionTransformer(run_code), SGDClassifier())
    with pytest.raises(TypeError, match="Untrusted types .*run_code"):
        stages.from_bytes(stages.to_bytes(model))


def test_arrays_of_objects_are_refused(stages):
    model = SGDClassifier()
    model.evil_ = np.array([run_code], dtype=object)
    with pytest.raises(TypeError, match="Untrusted types"):
        stages.from_bytes(stages.to_bytes(model))


def test_what_could_not_be_read_is_said_before_training(stages):
    assert stages.obstacle() is None
    obstacle = find_stages(OwnSGD(loss="log_loss")).obstacle()
    assert "does not trust" in obstacle
    assert "OwnSGD" in obstacle
