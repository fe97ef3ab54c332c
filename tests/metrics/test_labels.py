"""Labels of every integer type, byte order and library."""

import numpy as np
import pytest
from sklearn import config_context

from sklearn_superior.metrics import (
    penalized_brier_score_loss,
    penalized_log_loss,
)
from tests.metrics.forecasts import random_forecast

Q = np.full((3, 3), 1 / 3)


@pytest.mark.parametrize("stop", [10, 65536 + 10])
def test_a_class_too_many_is_found_wherever_it_stands(stop):
    y_true = np.arange(70_000) % 3
    y_true[stop] = 9
    y_proba = np.full((70_000, 3), 1 / 3)
    with pytest.raises(ValueError, match=r"y_true has labels \[9\]|holds 4 dist"):
        penalized_brier_score_loss(y_true, y_proba)
    with pytest.raises(ValueError, match=r"y_true has labels \['9'\]|holds 4 dist"):
        penalized_brier_score_loss(y_true.astype(str), y_proba)


INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i2", ">u8"]


def spread(dtype, n_classes):
    """Labels from the least to the greatest number of a type, or three in a row."""
    limits = np.iinfo(dtype)
    return {
        "whole range": [limits.min, limits.max // 2, limits.max],
        "upper end": [limits.max - 2, limits.max - 1, limits.max],
        "lower end": [limits.min, limits.min + 1, limits.min + 2],
    }[n_classes]


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("where", ["whole range", "upper end", "lower end"])
@pytest.mark.parametrize("with_labels", [False, True])
def test_integer_labels_of_any_range(dtype, where, with_labels):
    rng = np.random.default_rng(0)
    labels = np.array(spread(dtype, where), dtype=dtype)
    y_index, y_proba = random_forecast(rng, 60, 3)
    expected = penalized_brier_score_loss(y_index, y_proba)
    options = {"labels": labels} if with_labels else {}
    assert penalized_brier_score_loss(labels[y_index], y_proba, **options) == expected


def test_int8_labels_that_span_all_values():
    labels = np.arange(-128, 128).astype(np.int8)
    y_index, y_proba = random_forecast(np.random.default_rng(0), 512, 256)
    expected = penalized_log_loss(y_index, y_proba)
    assert penalized_log_loss(labels[y_index], y_proba) == expected


@pytest.mark.parametrize("labels", [[-1, 0, 1], [-1, 5, 9]])
def test_large_unsigned_labels_are_not_taken_for_negative_ones(labels):
    y_true = np.array([0, 1, 2**64 - 1], dtype=np.uint64)
    with pytest.raises(ValueError, match=f"y_true has labels .*{2**64 - 1}"):
        penalized_brier_score_loss(y_true, Q, labels=labels)


@pytest.mark.parametrize(
    ("dtype", "bad", "labels"),
    [
        (np.uint8, 0, range(1, 257)),
        (np.int8, -1, range(256)),
        (np.uint8, 3, range(5, 305)),
        (np.int8, -128, range(-127, 128)),
    ],
)
def test_narrow_labels_that_are_no_classes(dtype, bad, labels):
    y_proba = np.full((1, len(labels)), 1 / len(labels))
    with pytest.raises(ValueError, match=rf"y_true has labels \[{bad}\]"):
        penalized_brier_score_loss(np.array([bad], dtype), y_proba, labels=labels)


@pytest.mark.parametrize("n_classes", [3, 40])
@pytest.mark.parametrize("dtype", [">i8", ">i2", ">u4", "<i8"])
@pytest.mark.parametrize("first", [0, 1])
def test_labels_of_any_byte_order_are_read(n_classes, dtype, first):
    y_index, y_proba = random_forecast(np.random.default_rng(0), 120, n_classes)
    expected = penalized_brier_score_loss(y_index, y_proba)
    y_true = (y_index + first).astype(dtype)
    assert penalized_brier_score_loss(y_true, y_proba) == expected


@pytest.mark.parametrize("dtype", ["i2", "i4", "u2", "u4", ">i8", "U1"])
def test_labels_in_numpy_beside_probabilities_in_torch(dtype):
    torch = pytest.importorskip("torch")
    y_index, y_proba = random_forecast(np.random.default_rng(0), 60, 3)
    expected = penalized_brier_score_loss(y_index, y_proba)
    with config_context(array_api_dispatch=True):
        loss = penalized_brier_score_loss(y_index.astype(dtype), torch.asarray(y_proba))
    assert loss == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("na_object", [np.nan, None])
def test_missing_values_of_text_arrays(na_object):
    dtype = np.dtypes.StringDType(na_object=na_object)
    y_true = np.array(["a", na_object, "b"], dtype=dtype)
    with pytest.raises(ValueError, match="y_true must not contain missing values"):
        penalized_brier_score_loss(y_true, Q)


def test_narrow_labels_beside_wide_classes():
    y_true = np.array([5, 200, 255], dtype=np.uint8)
    classes = [-300, 5, 200, 255, 70_000]
    y_proba = np.full((3, 5), 0.2)
    expected = penalized_brier_score_loss([1, 2, 3], y_proba, labels=range(5))
    assert penalized_brier_score_loss(y_true, y_proba, labels=classes) == expected
    wide = penalized_brier_score_loss(
        y_true[:1], np.full((1, 301), 1 / 301), labels=range(-290, 11)
    )
    assert wide == penalized_brier_score_loss(
        [295], np.full((1, 301), 1 / 301), labels=range(301)
    )
