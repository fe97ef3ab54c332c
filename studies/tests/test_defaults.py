"""The evidence for the default: its arithmetic, and the page that is committed."""

import math

import numpy as np
import pytest

from sklearn_superior.metrics import scale_temperature
from studies import defaults
from studies._page import as_markdown
from studies._scores import log_losses
from studies.defaults import DEFAULT, FORMER, LAST, SOFT, Policy, soften
from studies.small.policies import PRIORS, fit_calibrations
from studies.tests.rules_records import RECORDS

TEMPERATURES = [0.5, 0.8, 1.0, 2.0, 4.0]
VALIDATION = {
    "log_loss": [0.9, 0.7, 0.8, 0.85, 1.5],
    "refined_log_loss": [0.3, 0.65, 0.8, 0.6, 0.75],
    "brier": [0.5, 0.6, 0.55, 0.4, 0.7],
    "errors": [4, 4, 4, 6, 4],
}
TEST = {
    "log_loss": [1.0, 0.8, 0.7, 0.9, 2.0],
    "refined_log_loss": [2.0, 0.9, 0.7, 0.5, 0.6],
    "f1_macro": [0.4, 0.5, 0.6, 0.7, 0.55],
}


def make_record(dataset="x", estimator="hgb", factor=1.0):
    """Return a record; the factor is that of the losses with a temperature."""
    refined = [factor * loss for loss in TEST["refined_log_loss"]]
    return {
        "job": {"dataset": dataset, "estimator": estimator, "loss": "log_loss"},
        "n_rows": {"validation": 10},
        "n_classes": 4,
        "validation": VALIDATION,
        "test": TEST | {"refined_log_loss": refined},
        "temperature": TEMPERATURES,
    }


def test_temperatures_below_1_count_as_1():
    record = soften(make_record())
    assert record["validation"][SOFT] == [0.9, 0.7, 0.8, 0.6, 0.75]
    assert record["test"][SOFT] == [1.0, 0.8, 0.7, 0.5, 0.6]


def test_stages_that_diverged_stay_without_a_score():
    record = make_record()
    record["temperature"] = [None, *TEMPERATURES[1:]]
    record["validation"] = VALIDATION | {
        "refined_log_loss": [None, *VALIDATION["refined_log_loss"][1:]]
    }
    assert soften(record)["validation"][SOFT][0] is None


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("sharpness", [0.3, 1.0, 3.0])
def test_a_clipped_temperature_is_the_best_of_at_least_1(seed, sharpness):
    rng = np.random.default_rng(seed)
    logits = sharpness * rng.normal(size=(15, 4))
    proba = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    y = np.where(rng.random(15) < 0.7, proba.argmax(axis=1), rng.integers(4, size=15))
    fitted = fit_calibrations(y, proba)
    for name, scale in ({"bare": math.inf} | PRIORS).items():

        def total(temperature, scale=scale):
            losses = log_losses(y, scale_temperature(proba, temperature))
            return losses.sum() + math.log(temperature) ** 2 / (2 * scale**2)

        # No shape is assumed: the whole range is searched.
        least = min(total(temperature) for temperature in np.geomspace(1, 1000, 301))
        assert total(max(1.0, fitted[name])) <= least + 1e-6


@pytest.mark.parametrize(
    ("policy", "stage", "loss"),
    [
        (FORMER, 0, 1.0),  # PBS: 0.5 + 0.75 * 0.4 is 0.8; the fourth has 0.85
        (DEFAULT, 3, 0.5),
        (Policy(SOFT, 1, SOFT), 1, 0.8),  # stops before the fourth stage
        (Policy("softened_penalized_log_loss", 20, SOFT), 1, 0.8),
        (Policy("refined_log_loss", 20, "refined_log_loss"), 0, 2.0),
        (Policy("log_loss", 20), 1, 0.8),
        (Policy(LAST, None, "refined_log_loss"), 4, 0.6),
        (Policy(LAST, None, SOFT), 4, 0.6),
    ],
)
def test_what_a_policy_keeps(policy, stage, loss):
    record = soften(make_record())
    assert defaults.keep(record, policy) == stage
    assert defaults.find_loss(record, policy) == loss


def test_measures():
    record = soften(make_record()) | {"ways": {"folds": {"log_loss": 0.25}}}
    ratio = defaults.loss_ratio(DEFAULT)(record)
    assert ratio == pytest.approx(100 * math.log(0.5))
    search = defaults.loss_ratio("folds", DEFAULT)(record)
    assert search == pytest.approx(100 * math.log(0.5))
    assert defaults.f1_gain(DEFAULT, FORMER)(record) == pytest.approx(30)


def test_models_of_a_data_set_count_the_same():
    sets = [("a", "hgb", 1.0), ("a", "hgb", 1.0), ("a", "mlp", 4.0), ("b", "hgb", 2.0)]
    records = [soften(make_record(*own)) for own in sets]
    measure = defaults.loss_ratio(DEFAULT)
    values = defaults.average_sets(records, measure, lambda job: job["estimator"])
    half = 100 * math.log(2)
    assert values == pytest.approx({"a": 0.0, "b": 0.0}, abs=1e-9)
    values = defaults.average_sets(records, measure, lambda job: None)
    assert values == pytest.approx({"a": -half / 3, "b": 0.0}, abs=1e-9)
    assert defaults.show_units(values) == [
        "−11.6",
        "–",
        "+0.0 (b)",
        "1 of 2",
    ]


def test_a_record_of_few_rows_has_the_shape_of_the_others():
    stages = {
        "log_loss": [0.9, 0.7],
        "log_loss 0.5": [0.8, 0.6],
        "brier": [0.5, 0.4],
        "errors": [3, 2],
        "temperature 0.5": [0.9, 1.5],
        "test_log_loss": [1.0, 0.9],
        "test_log_loss 0.5": [1.2, 0.5],
        "test_f1": [0.3, 0.4],
    }
    record = {"stages": stages, "n_rows": {"validation": 10}, "n_classes": 3}
    record = soften(defaults.unpack_small(record))
    assert record["validation"][SOFT] == [0.9, 0.6]
    assert record["test"][SOFT] == [1.0, 0.5]
    assert defaults.find_loss(record, DEFAULT) == 0.5


@pytest.mark.skipif(not RECORDS.exists(), reason="no records here")
def test_the_committed_page_says_what_the_records_say():
    text = as_markdown(defaults.make_parts(*defaults.load_all()))
    assert text == (RECORDS / "defaults.md").read_text()
