"""Models as bytes: read without trust."""

import io
import pickle
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sklearn_superior.early_stopping.stages._skops import SkopsFormat
from tests.early_stopping.families import make_data

skops = pytest.importorskip("skops.io")
FORMAT = SkopsFormat()


def run_code():
    raise AssertionError("it was run")


def test_there_and_back():
    X, y, _, _ = make_data("binary")
    model = SGDClassifier(loss="log_loss", tol=None, max_iter=5).fit(X, y)
    again = FORMAT.from_bytes(FORMAT.to_bytes(model), SGDClassifier)
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    "data", [b"", b"nonsense", pickle.dumps({}), b"PK\x05\x06" + bytes(18)]
)
def test_what_is_no_archive_is_refused(data):
    with pytest.raises(ValueError, match="The checkpoint's model cannot be read"):
        FORMAT.from_bytes(data, SGDClassifier)


def test_functions_are_refused():
    model = make_pipeline(FunctionTransformer(run_code), SGDClassifier())
    with pytest.raises(ValueError, match="it holds types .*run_code"):
        FORMAT.from_bytes(FORMAT.to_bytes(model), SGDClassifier)


def test_arrays_of_objects_are_refused():
    model = SGDClassifier()
    model.evil_ = np.array([run_code], dtype=object)
    with pytest.raises(ValueError, match="refused|cannot be read"):
        FORMAT.from_bytes(FORMAT.to_bytes(model), SGDClassifier)


def test_archives_that_inflate_are_refused():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", bytes(10**7))
    with pytest.raises(ValueError, match="its members are compressed"):
        FORMAT.from_bytes(buffer.getvalue(), SGDClassifier)


def test_another_estimator_is_refused():
    with pytest.raises(ValueError, match="is a FunctionTransformer, not a SGDClass"):
        FORMAT.from_bytes(FORMAT.to_bytes(FunctionTransformer()), SGDClassifier)
