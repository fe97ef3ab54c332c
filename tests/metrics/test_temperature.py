"""Temperatures and refined losses against scipy, and what theory says of them."""

import pickle
import tracemalloc
import warnings
from functools import partial

import numpy as np
import pytest
import sklearn.metrics
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB

from sklearn_superior.metrics import (
    _temperature,
    fit_temperature,
    get_scorer,
    register_scorers,
    scale_temperature,
)
from sklearn_superior.metrics._forecast import check_forecast
from sklearn_superior.metrics._rules import RULES
from sklearn_superior.metrics._scorers import SCORERS
from sklearn_superior.metrics._temperature import (
    HIGH,
    LOW,
    Logs,
    best_inverse,
)
from tests.metrics.forecasts import LOSSES, REFINED_LOSSES, forecasts, random_forecast
from tests.metrics.test_losses import array_libraries, to_library

REFINED = [name for name in SCORERS if "refined" in name]
priors = pytest.mark.parametrize("prior_scale", [None, 0.5])
two_sided = partial(best_inverse, sharpen=True)
sides = pytest.mark.parametrize("sharpen", [False, True])


class Known(ClassifierMixin, BaseEstimator):
    """A classifier whose probabilities are its data."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return X


def scaled_logs(y_proba, inverse):
    y_proba = np.asarray(y_proba)
    eps = np.finfo(y_proba.dtype if y_proba.dtype.kind == "f" else float).eps
    return log_softmax(inverse * np.log(np.maximum(y_proba.astype(float), eps)), axis=1)


def objective(y_index, y_proba, weight, prior_scale):
    """Return what is minimised, as a function of the logarithm of the temperature."""
    weight = np.ones(len(y_index)) if weight is None else np.asarray(weight, float)
    rows = np.arange(len(y_index))

    def value(log_temperature):
        logs = scaled_logs(y_proba, np.exp(-log_temperature))
        prior = 0 if prior_scale is None else log_temperature**2 / 2 / prior_scale**2
        return -(weight @ logs[rows, y_index]) + prior

    return value


def brute_force(y_index, y_proba, weight=None, prior_scale=0.5, sharpen=False):
    """Best temperature by scipy, and the mean log loss that it gives."""
    value = objective(y_index, y_proba, weight, prior_scale)
    grid = np.linspace(np.log(LOW) if sharpen else 0, np.log(HIGH), 600)
    values = [value(place) for place in grid]
    best = int(np.argmin(values))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    found = minimize_scalar(
        value, bounds=(low, high), method="bounded", options={"xatol": 1e-12}
    )
    logs = scaled_logs(y_proba, np.exp(-found.x))[np.arange(len(y_index)), y_index]
    return np.exp(found.x), -np.average(logs, weights=weight)


def overconfident(seed, n_samples, n_classes, true_temperature):
    """Forecasts that are calibrated by a temperature, and their labels."""
    rng = np.random.default_rng(seed)
    honest = rng.dirichlet(np.full(n_classes, 0.5), n_samples)
    honest = np.maximum(honest, 1e-12)
    y_index = (rng.random((n_samples, 1)) > honest.cumsum(axis=1)).sum(axis=1)
    y_index = np.minimum(y_index, n_classes - 1)
    y_proba = np.exp(scaled_logs(honest, true_temperature))
    return y_index, y_proba


@pytest.mark.parametrize("n_classes", [2, 3, 7, 20, 50])
@pytest.mark.parametrize("true_temperature", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("zeros", [False, True])
@priors
@sides
def test_the_temperature_is_that_of_brute_force(
    n_classes, true_temperature, weighted, zeros, prior_scale, sharpen
):
    y, q = overconfident(n_classes, 400, n_classes, true_temperature)
    if zeros:
        q[q < 1e-3] = 0
        q /= q.sum(axis=1, keepdims=True)
    weight = np.random.default_rng(0).random(400) if weighted else None
    labels = range(n_classes)
    options = {"sample_weight": weight, "labels": labels}
    options |= {"prior_scale": prior_scale, "sharpen": sharpen}
    expected, best_loss = brute_force(y, q, weight, prior_scale, sharpen)
    found = fit_temperature(y, q, **options)
    assert_allclose(found, expected, rtol=1e-6)
    refined = REFINED_LOSSES["log_loss"](y, q, **options, penalty=0)
    assert_allclose(refined, best_loss, rtol=1e-6)
    if not zeros:  # which are clipped again
        scaled = scale_temperature(q, found)
        loss = log_loss(y, scaled, sample_weight=weight, labels=labels)
        assert_allclose(loss, best_loss, rtol=1e-6)


def test_it_finds_the_temperature_that_spoiled_the_forecasts():
    y, q = overconfident(0, 100_000, 5, 3.0)
    assert_allclose(fit_temperature(y, q), 3.0, rtol=0.02)


@given(
    data=forecasts(max_classes=50, max_samples=40),
    weighted=st.booleans(),
    dtype=st.sampled_from([np.float32, np.float64]),
    prior_scale=st.sampled_from([None, 0.05, 0.3, 0.5, 1.0, 3.0]),
    sharpen=st.booleans(),
    kind=st.sampled_from(["as drawn", "all correct", "all wrong", "slow", "few wrong"]),
    seed=st.integers(0, 1000),
)
def test_no_other_temperature_is_better(
    data, weighted, dtype, prior_scale, sharpen, kind, seed
):
    y, q = data
    rng = np.random.default_rng(seed)
    if kind in ("all correct", "few wrong"):
        y = q.argmax(axis=1)
    if kind == "few wrong":
        y[: len(y) // 10] = 0
    if kind == "all wrong":
        y = q.argmin(axis=1)
    if kind == "slow":  # as the first stages of a booster with a small learning rate
        q = 1 / q.shape[1] + 1e-5 * (q - 1 / q.shape[1])
    q = q.astype(dtype)
    weight = rng.integers(0, 3, len(y)) * rng.random() if weighted else None
    if weighted and not weight.any():
        weight = None
    options = {"sample_weight": weight, "labels": range(q.shape[1])}
    options |= {"prior_scale": prior_scale}
    best = fit_temperature(y, q, **options, sharpen=sharpen)
    low = LOW if sharpen else 1
    assert low * (0.999 if sharpen else 1) <= best <= HIGH * 1.001
    value = objective(y, q, weight, prior_scale)
    others = np.linspace(np.log(low), np.log(HIGH), 200)
    others = np.r_[others, np.log(best) + np.array([-0.01, 0.01]), 0]
    least = min(map(value, np.clip(others, np.log(low), np.log(HIGH))))
    assert value(np.log(best)) <= least + 1e-7 * (1 + abs(least))
    # A temperature above 1 is the best of all, and 1 means that softening does not pay.
    if not sharpen and best > 1:
        assert fit_temperature(y, q, **options, sharpen=True) == best
    if not sharpen and best == 1:
        assert value(0.01) >= value(0) - 1e-9


@priors
def test_it_is_exactly_one_when_the_data_asks_for_sharper_forecasts(prior_scale):
    options = {"prior_scale": prior_scale}
    for true_temperature in (0.2, 0.5, 0.8, 1.25, 2.0, 5.0):
        y, q = overconfident(1, 2000, 3, true_temperature)
        value = objective(y, q, None, prior_scale)
        softer_is_better = value(1e-4) < value(-1e-4)  # the derivative at T = 1
        assert softer_is_better == (true_temperature > 1)
        assert (fit_temperature(y, q, **options) > 1) == softer_is_better
        two_sided = fit_temperature(y, q, **options, sharpen=True)
        assert fit_temperature(y, q, **options) == max(two_sided, 1.0)
    # All predictions correct: the loss falls all the way to 0.
    y = np.arange(30) % 3
    assert fit_temperature(y, np.where(np.eye(3)[y], 0.5, 0.25), **options) == 1


def test_refined_scores_are_sharpened_on_request_only():
    y, q = overconfident(3, 300, 3, 0.4)
    model = Known().fit(q, y)
    for name in REFINED:
        plain = get_scorer(SCORERS[name].removeprefix("refined_"))
        scorer, sharper = get_scorer(name), get_scorer(name, sharpen=True)
        assert_allclose(scorer(model, q, y), plain(model, q, y), rtol=1e-12)
        temperature = fit_temperature(y, q, sharpen=True)
        assert temperature < 0.6
        scaled = scale_temperature(q, temperature)
        assert_allclose(sharper(model, q, y), plain(model, scaled, y), rtol=1e-9)
        assert sharper(model, q, y) > scorer(model, q, y)
        # Both kinds share one pass.
        scores = scorer.prepare_all([scorer, sharper], np.arange(3), y)(q)
        assert_allclose(scores, [scorer(model, q, y), sharper(model, q, y)])


def test_bad_values_of_sharpen_are_refused():
    for bad in (None, 1, "no"):
        with pytest.raises(TypeError, match="'sharpen' parameter must be a bool"):
            fit_temperature([0, 1], [0.4, 0.6], sharpen=bad)
        with pytest.raises(TypeError, match="'sharpen' parameter must be a bool"):
            get_scorer("refined_brier", sharpen=bad)
    with pytest.raises(TypeError, match="options of 'brier' are"):
        get_scorer("brier", sharpen=True)


def test_temperatures_at_the_ends_of_the_range():
    """One rule for both ends: that to which the loss falls."""
    y, q = random_forecast(np.random.default_rng(0), 60, 3)
    plain = {"prior_scale": None, "sharpen": True}
    correct = np.where(np.eye(3)[y], 0.5, 0.25)
    assert fit_temperature(y, correct, **plain) == pytest.approx(LOW)
    assert fit_temperature(y, np.eye(3)[y], **plain) == pytest.approx(LOW)
    wrong = np.where(np.eye(3)[y], 0.1, 0.45)
    assert fit_temperature(y, wrong, **plain) == pytest.approx(HIGH)
    for loss in REFINED_LOSSES.values():
        assert loss(y, correct, **plain) == pytest.approx(0, abs=1e-9)
    # With a prior there is always a best one.
    assert 0.1 < fit_temperature(y, correct, sharpen=True) < 0.9
    assert 1.1 < fit_temperature(y, wrong) < 10


@priors
def test_where_the_temperature_does_not_matter_it_is_one(prior_scale):
    options = {"prior_scale": prior_scale}
    y = np.arange(60) % 3
    assert fit_temperature(y, np.full((60, 3), 1 / 3), **options) == 1
    assert fit_temperature([0, 1], [0.5, 0.5], **options) == 1
    uniform = np.full((3, 3), 1 / 3)
    uniform[0] = [0.5, 0.3, 0.2]
    options |= {"sample_weight": [0, 1, 1]}
    assert fit_temperature([0, 1, 2], uniform, **options) == 1


@priors
def test_first_stages_of_a_slow_booster(prior_scale):
    """Their probabilities are nearly even, and the best temperature very small."""
    rng = np.random.default_rng(0)
    logit = 2e-4 * rng.normal(size=20_000)
    y = (rng.random(20_000) < 1 / (1 + np.exp(-logit * 1e4))).astype(int)
    p = 1 / (1 + np.exp(-logit))
    options = {"prior_scale": prior_scale, "sharpen": True}
    temperature, loss = brute_force(y, np.c_[1 - p, p], **options)
    assert temperature < 1e-3
    assert_allclose(fit_temperature(y, p, **options), temperature, rtol=1e-5)
    refined = REFINED_LOSSES["log_loss"](y, p, penalty=0, **options)
    assert_allclose(refined, loss, rtol=1e-6)
    assert refined < 0.6


def test_the_prior_may_leave_two_minima_and_the_better_one_is_found():
    """Nearly even forecasts that are right: near 1 the prior wins, far from it they."""
    rng = np.random.default_rng(0)
    better = set()
    for n_rows in (5, 30, 60, 100, 200, 1000):
        margin = 1e-2 * rng.random(n_rows)
        q = np.c_[0.5 + margin, 0.5 - margin]
        y = (np.arange(n_rows) % 50 == 1).astype(int)
        expected, _ = brute_force(y, q, sharpen=True)
        found = fit_temperature(y, q, labels=[0, 1], sharpen=True)
        assert_allclose(found, expected, rtol=1e-4)
        better.add(found < 0.1)
    assert better == {False, True}


def test_more_samples_say_more_against_the_prior():
    y, q = overconfident(0, 100, 3, 3.0)
    found = [
        fit_temperature(np.tile(y, k), np.tile(q, (k, 1))) for k in (1, 3, 10, 100)
    ]
    assert found == sorted(found)
    plain = fit_temperature(y, q, prior_scale=None)
    assert abs(found[-1] - plain) < 0.01 * plain
    assert 1 < found[0] < plain
    for place, factor in enumerate((1.0, 3.0, 10.0, 100.0)):
        weight = np.full(100, factor)
        assert_allclose(fit_temperature(y, q, sample_weight=weight), found[place])


@pytest.mark.parametrize("bad", [0, -1.0, np.inf, np.nan, "wide", True])
def test_bad_prior_scales_are_refused(bad):
    with pytest.raises(ValueError, match="'prior_scale' parameter must be None or"):
        fit_temperature([0, 1], [0.4, 0.6], prior_scale=bad)
    with pytest.raises(ValueError, match="'prior_scale' parameter must be None or"):
        get_scorer("refined_brier", prior_scale=bad)


def test_refined_scorers_take_the_scale_of_the_prior():
    y, q = overconfident(2, 40, 3, 3.0)
    model = Known().fit(q, y)
    for prior_scale in (None, 0.1, 0.5):
        scorer = get_scorer("refined_log_loss", prior_scale=prior_scale)
        _, loss = brute_force(y, q, prior_scale=prior_scale)
        assert_allclose(scorer(model, q, y), -loss, rtol=1e-6)
    with pytest.raises(TypeError, match="options of 'brier' are"):
        get_scorer("brier", prior_scale=0.5)


def test_many_rows_need_little_memory():
    """The logarithms of many rows are not held: the result is the same."""
    y, q = overconfident(0, 1_500_000, 3, 2.0)
    q = q.astype(np.float32)
    tracemalloc.start()
    temperature = fit_temperature(y, q)
    losses = [loss(y, q) for loss in REFINED_LOSSES.values()]
    scale_temperature(q[:1], temperature)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50e6
    value = objective(y, q, None, 0.5)
    near = value(np.log(temperature) + 1e-3), value(np.log(temperature) - 1e-3)
    assert value(np.log(temperature)) < min(near)
    scaled = np.exp(scaled_logs(q, 1 / temperature))
    error = np.mean(q.argmax(axis=1) != y)
    expected = brier_score_loss(y, scaled, scale_by_half=False) + 2 / 3 * error
    assert_allclose(losses[0], expected, rtol=1e-6)


def test_scaling_while_floating_point_errors_raise():
    y, q = overconfident(0, 200, 3, 2.0)
    expected = scale_temperature(q, 1e-3), fit_temperature(y, q)
    with np.errstate(all="raise"):
        assert_array_equal(scale_temperature(q, 1e-3), expected[0])
        assert np.isfinite(scale_temperature(q, 5e-324)).all()
        assert fit_temperature(y, q) == expected[1]
        for loss in REFINED_LOSSES.values():
            loss(y, q)


def test_narrow_weights_do_not_overflow():
    y, q = overconfident(0, 70_000, 2, 2.0)
    weight = np.ones(70_000, np.float16)
    expected = fit_temperature(y, q)
    assert_allclose(fit_temperature(y, q, sample_weight=weight), expected, rtol=1e-9)


def test_rows_of_zeros_and_extreme_temperatures():
    q = np.array([[0.0, 0.0, 0.0], [0.5, 0.3, 0.2]])
    for temperature in (5e-324, 1e-300, 1.0, 1e300):
        assert np.isfinite(scale_temperature(q, temperature)).all()
    many = np.full((1, 3000), 1 / 3000, np.float16)
    assert np.isfinite(scale_temperature(many, 1e-6)).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", UserWarning)
        for loss in REFINED_LOSSES.values():
            assert np.isfinite(loss([0, 1], q, labels=[0, 1, 2]))


@pytest.mark.parametrize("bad", [[[-1.0, 2.0, 3.0]], [1.5], [np.nan], [-0.1], [np.inf]])
def test_only_probabilities_are_scaled(bad):
    with pytest.raises(ValueError, match="^y_proba must"):
        scale_temperature(bad, 2.0)


@given(
    data=forecasts(max_classes=8),
    log_temperature=st.floats(-6, 6),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_scaled_rows_sum_to_one_and_predict_the_same(data, log_temperature, dtype):
    _, q = data
    q = q.astype(dtype)
    result = scale_temperature(q, 10.0**log_temperature)
    assert result.dtype == dtype
    assert_allclose(result.sum(axis=1), 1, atol=20 * np.finfo(dtype).eps)
    assert_array_equal(result.argmax(axis=1), q.argmax(axis=1))
    # What was tied at the top is still tied, and nothing else is.
    tied = q == q.max(axis=1, keepdims=True)
    assert_array_equal(result == result.max(axis=1, keepdims=True), tied)


def test_almost_tied_classes_stay_apart():
    for dtype in (np.float32, np.float64):
        top = np.array(0.4, dtype)
        q = np.array([[np.nextafter(top, 0), top, 0.2]], dtype)
        result = scale_temperature(q, 1000.0)
        assert result[0].argmax() == 1


def test_one_column_is_scaled_as_two_are():
    p = np.array([0.1, 0.5, 0.9])
    both = scale_temperature(np.c_[1 - p, p], 3.0)
    assert_allclose(scale_temperature(p, 3.0), both[:, 1])
    assert_allclose(scale_temperature(p[:, None], 3.0), both[:, 1:])
    assert_allclose(scale_temperature(p, 1.0), p)
    assert_allclose(scale_temperature([0, 1, 1], 2.0), [0, 1, 1], atol=1e-7)


def test_one_column_and_labels_of_any_type_have_the_same_temperature():
    y, q = overconfident(3, 300, 2, 2.0)
    expected = fit_temperature(y, q)
    assert_allclose(fit_temperature(y, q[:, 1]), expected, rtol=1e-9)
    assert_allclose(fit_temperature(y, q[:, 0], pos_label=0), expected, rtol=1e-9)
    text = np.array(["no", "yes"])[y]
    assert_allclose(fit_temperature(text, q), expected, rtol=1e-9)
    assert_allclose(fit_temperature(np.eye(2)[y], q), expected, rtol=1e-9)


@pytest.mark.parametrize("prior_scale", [None, 0.5])
def test_integer_weights_equal_repetition(prior_scale):
    y, q = overconfident(5, 100, 4, 2.0)
    weight = np.random.default_rng(0).integers(0, 4, 100)
    assert_allclose(
        fit_temperature(y, q, sample_weight=weight, prior_scale=prior_scale),
        fit_temperature(
            np.repeat(y, weight), np.repeat(q, weight, axis=0), prior_scale=prior_scale
        ),
        rtol=1e-9,
    )


def test_forty_thousand_rows_agree_with_brute_force():
    y, q = overconfident(7, 40_000, 3, 2.0)
    assert_allclose(fit_temperature(y, q), brute_force(y, q)[0], rtol=1e-6)
    narrow = fit_temperature(y, q.astype(np.float32))
    assert_allclose(narrow, fit_temperature(y, q), rtol=1e-3)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([0, 1], [0.5, np.nan]), {}, "y_proba must not contain NaN"),
        (([0, 1], [0.5, 1.5]), {}, "y_proba must hold probabilities"),
        (([0, 1], [0.5, -0.5]), {}, "y_proba must hold probabilities"),
        (([0, 1], [0.5, 0.5]), {"sample_weight": [1, -1]}, "sample_weight must be"),
        (([0, 1], [0.5, 0.5]), {"sample_weight": [0, 0]}, "must not be zero for all"),
        (([0, 1], [[0.5, 0.5]]), {}, "same number of rows"),
    ],
)
def test_bad_input_is_refused(arguments, options, message):
    for function in (fit_temperature, *REFINED_LOSSES.values()):
        with pytest.raises(ValueError, match=message):
            function(*arguments, **options)


@pytest.mark.parametrize("temperature", [0, -1.0, np.nan, "hot", None])
def test_bad_temperatures_are_refused(temperature):
    with pytest.raises(ValueError, match="'temperature' parameter .* Got"):
        scale_temperature([0.5], temperature)


@given(
    data=forecasts(max_classes=6),
    weighted=st.booleans(),
    prior_scale=st.sampled_from([None, 0.5]),
    sharpen=st.booleans(),
)
def test_refined_penalty_is_that_of_the_plain_rule(
    data, weighted, prior_scale, sharpen
):
    """Refined PBS = Brier score of the scaled forecasts + penalty * error rate."""
    y, q = data
    c = q.shape[1]
    weight = np.random.default_rng(0).random(len(y)) + 0.1 if weighted else None
    inputs = {"sample_weight": weight, "labels": range(c)}
    options = inputs | {"prior_scale": prior_scale, "sharpen": sharpen}
    scaled = scale_temperature(q, fit_temperature(y, q, **options))
    error = 1 - accuracy_score(y, q.argmax(axis=1), sample_weight=weight)
    plain = brier_score_loss(y, scaled, **inputs, scale_by_half=False)
    refined = REFINED_LOSSES["brier"](y, q, **options)
    assert_allclose(refined, plain + (c - 1) / c * error, rtol=1e-9, atol=1e-12)
    assert_allclose(
        REFINED_LOSSES["brier"](y, q, penalty=0, scale="half", **options), plain / 2
    )
    refined = REFINED_LOSSES["log_loss"](y, q, **options)
    inverse = 1 / fit_temperature(y, q, **options)
    plain = -np.average(scaled_logs(q, inverse)[np.arange(len(y)), y], weights=weight)
    assert_allclose(refined, plain + np.log(c) * error, rtol=1e-9, atol=1e-12)


@array_libraries
@pytest.mark.parametrize("name", REFINED_LOSSES)
@pytest.mark.parametrize("weighted", [False, True])
def test_arrays_of_other_libraries_have_the_same_temperature(
    library, device, name, weighted
):
    y, q = overconfident(1, 200, 4, 3.0)
    weight = np.random.default_rng(0).random(200)
    y_xp, q_xp, weight_xp, column = to_library(library, device, y, q, weight, q[:, 1])
    options = {"sample_weight": weight} if weighted else {}
    expected = fit_temperature(y, q, **options), REFINED_LOSSES[name](y, q, **options)
    options = {"sample_weight": weight_xp} if weighted else {}
    with config_context(array_api_dispatch=True):
        found = fit_temperature(y_xp, q_xp, **options)
        loss = REFINED_LOSSES[name](y_xp, q_xp, **options)
        scaled = scale_temperature(q_xp, found)
        scaled_column = scale_temperature(column, found)
        with pytest.raises(ValueError, match="y_true has .* rows that are not among"):
            fit_temperature(y_xp, q_xp, labels=[0, 1, 2, 7])
    assert_allclose([found, loss], expected, rtol=1e-9)
    assert type(scaled) is type(q_xp)
    assert scaled.device == q_xp.device
    rows = [[float(scaled[i, k]) for k in range(4)] for i in range(200)]
    assert_allclose(rows, scale_temperature(q, found), rtol=1e-12)
    assert_allclose(
        [float(value) for value in scaled_column],
        scale_temperature(q[:, 1], found),
        rtol=1e-12,
    )


def test_it_is_the_temperature_of_scikit_learn():
    if not hasattr(sklearn.metrics, "d2_brier_score"):
        pytest.skip("scikit-learn has temperatures from 1.8 on")
    X, y = load_iris(return_X_y=True)
    model = GaussianNB().fit(X[::2, :2], y[::2])
    held_out = X[1::2, :2], y[1::2]
    calibrated = CalibratedClassifierCV(FrozenEstimator(model), method="temperature")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        calibrated.fit(*held_out)
    theirs = 1 / calibrated.calibrated_classifiers_[0].calibrators[0].beta_
    y_proba = model.predict_proba(held_out[0])
    ours = fit_temperature(held_out[1], y_proba, prior_scale=None, sharpen=True)
    assert_allclose(ours, theirs, rtol=1e-5)


@pytest.mark.parametrize("name", REFINED)
def test_refined_scorers_score_after_the_best_temperature(name):
    X, y = load_iris(return_X_y=True)
    X = X[:, :2]
    weight = np.arange(150) % 3 + 0.5
    for labels in (y, np.array(["a", "b", "c"])[y], y == 1):
        model = GaussianNB().fit(X, labels)
        q = model.predict_proba(X)
        c = q.shape[1]
        _, y_index = np.unique(labels, return_inverse=True)
        temperature, _ = brute_force(y_index, q, weight)
        scaled = np.exp(scaled_logs(q, 1 / temperature))
        scorer = get_scorer(name)
        rule = scorer.score_function.rule
        loss = LOSSES[rule.name](y_index, scaled, sample_weight=weight, penalty=0)
        if "penalized" in name:
            error = np.average(q.argmax(axis=1) != y_index, weights=weight)
            loss += rule.penalty("paper", c) * error
        assert_allclose(
            scorer(model, X, labels, sample_weight=weight), -loss, rtol=1e-6
        )
        prepared = scorer.prepare_all([scorer], model.classes_, labels, weight)
        for _ in range(2):
            assert_allclose(prepared(q), [-loss], rtol=1e-6)
        copied = pickle.loads(pickle.dumps(scorer))
        assert copied(model, X, labels) == scorer(model, X, labels)
        by_rule = get_scorer(SCORERS[name])
        assert by_rule(model, X, labels) == scorer(model, X, labels)


def test_refined_scorers_are_registered():
    X, y = load_iris(return_X_y=True)
    register_scorers()
    for name in REFINED:
        search = GridSearchCV(
            GaussianNB(), {"var_smoothing": [1e-9, 1.0]}, scoring=name
        )
        assert search.fit(X, y).best_score_ < 0


@pytest.mark.parametrize("n_classes", [2, 3, 40])
@pytest.mark.parametrize("weights", [None, "random", "every other row"])
@pytest.mark.parametrize("prior_scale", [None, 0.5])
def test_what_is_held_in_memory_does_not_matter(
    n_classes, weights, prior_scale, monkeypatch
):
    rng = np.random.default_rng(0)
    y, q = random_forecast(rng, 3000, n_classes)
    weight = None if weights is None else rng.random(3000)
    if weights == "every other row":
        weight[::2] = 0
    forecast = check_forecast(y, q, sample_weight=weight)
    found = []
    for most in (1 << 22, 1000):
        monkeypatch.setattr(_temperature, "_MOST_HELD", most)
        monkeypatch.setattr(_temperature, "_HOST_BLOCK", 1 << 12)
        logs = Logs(forecast)
        inverse = logs.best_inverse(prior_scale, sharpen=True)
        found.append([inverse, *logs.sum_scores(inverse, RULES.values()).values()])
    assert_allclose(found[0], found[1], rtol=1e-6)


def test_derivatives_are_those_of_the_sum():
    y, q = random_forecast(np.random.default_rng(1), 200, 4)
    logs = Logs(check_forecast(y, q))
    step = 1e-4
    for inverse in (0.3, 1.0, 2.5):
        value, first, second = logs.evaluate(inverse)
        scaled = q**inverse / (q**inverse).sum(axis=1, keepdims=True)
        assert_allclose(value, -np.log(scaled[np.arange(200), y]).sum())
        low, high = logs.evaluate(inverse - step), logs.evaluate(inverse + step)
        assert_allclose(first, (high[0] - low[0]) / (2 * step), rtol=1e-5)
        assert_allclose(second, (high[1] - low[1]) / (2 * step), rtol=1e-5)


def parabola(at, width=1.0):
    """Return a convex function of the inverse temperature and its derivatives."""
    return lambda b: ((b - at) ** 2 / width, 2 * (b - at) / width, 2 / width)


def logistic(weights, margins):
    """Sum of the log losses of two classes with the given margins."""
    weights, margins = np.asarray(weights), np.asarray(margins)

    def evaluate(b):
        losses = np.logaddexp(0, -b * margins)
        p = 1 / (1 + np.exp(np.clip(b * margins, -700, 700)))
        first = -weights @ (margins * p)
        return weights @ losses, first, weights @ (margins**2 * p * (1 - p))

    return evaluate


@pytest.mark.parametrize("at", [1e-4, 0.3, 1.0, 7.0, 1e5])
@pytest.mark.parametrize("start", [1.0, 0.01, 50.0])
def test_the_root_is_found_from_any_start(at, start):
    assert_allclose(two_sided(parabola(at), start=start), at, rtol=1e-6)


def test_a_loss_that_falls_all_the_way_ends_at_the_end_of_the_range():
    assert two_sided(lambda b: (-b, -1.0, 0.0)) == pytest.approx(1 / LOW)
    assert two_sided(lambda b: (b, 1.0, 0.0)) == pytest.approx(1 / HIGH)
    assert two_sided(lambda b: (0.0, 0.0, 0.0)) == 1
    # Correct forecasts, whose loss ends at zero.
    assert two_sided(logistic([1.0, 1.0], [2.0, 0.5])) == pytest.approx(1 / LOW)


def test_the_prior_alone_keeps_the_temperature():
    assert two_sided(lambda b: (0.0, 0.0, 0.0), 4.0) == 1
    assert_allclose(two_sided(parabola(7.0), 1e9), 1, rtol=1e-4)
    assert_allclose(two_sided(parabola(7.0), 1e-9), 7, rtol=1e-6)


@given(
    seed=st.integers(0, 10**6),
    n_rows=st.integers(1, 30),
    log_scale=st.floats(-6, 2),
    strength=st.sampled_from([0.1, 1.0, 4.0, 40.0]),
    factor=st.sampled_from([1.0, 30.0, 1000.0]),
    start=st.sampled_from([1.0, 0.1]),
)
def test_no_other_place_is_better(seed, n_rows, log_scale, strength, factor, start):
    """Also where the prior and the data have a minimum each."""
    rng = np.random.default_rng(seed)
    margins = 10**log_scale * (rng.normal(size=n_rows) + 2 * rng.random())
    evaluate = logistic(np.full(n_rows, factor), margins)

    def objective(u):
        return evaluate(np.exp(u))[0] + strength * u**2 / 2

    with np.errstate(all="ignore"):
        found = objective(np.log(two_sided(evaluate, strength, start=start)))
        others = [objective(u) for u in np.linspace(-np.log(HIGH), np.log(HIGH), 2001)]
    assert found <= min(others) + 1e-7 * (1 + abs(min(others)))


@pytest.mark.parametrize(("strength", "limits"), [(4.0, (8, 8, 20)), (0.0, (8, 5, 7))])
def test_a_typical_search_takes_few_evaluations(strength, limits):
    rng = np.random.default_rng(0)
    margins = rng.normal(size=500) + 0.7
    for scale, most in zip((4.0, 0.7, 0.1), limits, strict=True):
        evaluate, calls = logistic(np.ones(500), margins * scale), []

        def counted(b, evaluate=evaluate, calls=calls):
            calls.append(b)
            return evaluate(b)

        two_sided(counted, strength)
        assert len(calls) <= most
