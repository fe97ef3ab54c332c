"""One pass for many losses against a pass for each."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from sklearn_superior.metrics._kernel import (
    LossSums,
    PreparedLosses,
    check_forecast,
    check_options,
    mean_loss,
    sum_losses,
)
from sklearn_superior.metrics._rules import RULES
from tests.metrics.forecasts import forecasts

ALL_LOSSES = [
    check_options(rule, penalty=penalty, ties=ties, **kind)
    for rule in RULES.values()
    for penalty in (0.0, "paper", "minimal")
    for ties in ("first", "split")
    for kind in (
        {},
        {"refined": True},
        {"refined": True, "sharpen": True},
        {"refined": True, "prior_scale": None},
    )
]


@given(data=forecasts(max_classes=6, max_samples=30), weighted=st.booleans())
def test_many_losses_are_those_of_a_pass_for_each(data, weighted):
    y, q = data
    weight = np.random.default_rng(0).random(len(y)) + 0.1 if weighted else None
    inputs = {"sample_weight": weight, "labels": range(q.shape[1])}
    sums = sum_losses(check_forecast(y, q, **inputs), ALL_LOSSES)
    for loss, total in zip(ALL_LOSSES, sums.losses, strict=True):
        expected = mean_loss(loss, y, q, *inputs.values())
        assert_allclose(total / sums.weight, expected, rtol=1e-9, atol=1e-12)


@given(data=forecasts(max_classes=6, max_samples=30), weighted=st.booleans())
def test_prepared_losses_are_the_same_from_stage_to_stage(data, weighted):
    y, q = data
    weight = np.random.default_rng(0).random(len(y)) + 0.1 if weighted else None
    inputs = {"sample_weight": weight, "labels": np.arange(q.shape[1])}
    prepared = PreparedLosses(ALL_LOSSES, y, **inputs)
    for proba in (q, q[::-1], q):
        expected = [mean_loss(loss, y, proba, *inputs.values()) for loss in ALL_LOSSES]
        assert_allclose(prepared(proba), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1.0, -1.0], "sample_weight must be non-negative"),
        ([1.0, np.nan], "sample_weight must be non-negative"),
        ([0.0, 0.0], "must not be zero for all"),
    ],
)
def test_weights_are_checked_when_losses_are_prepared(weight, message):
    with pytest.raises(ValueError, match=message):
        PreparedLosses(ALL_LOSSES, [0, 1], labels=np.arange(2), sample_weight=weight)


def test_sums_of_parts_are_merged():
    parts = LossSums(np.array([1.0, 2.0, 3.0, 0.0]), np.array([0.1, -0.9, 0.0, 0.0]))
    parts += LossSums(np.array([0.5, 4.0, 1.0, 0.0]))
    assert parts.losses.tolist() == [1.5, 6.0]
    assert parts.weight == 4.0
    assert parts.lows.tolist() == [0.0, -1.0, 0.0, 0.0]
