"""What the guide says of the study of signals is what the records say."""

from collections import Counter

import numpy as np
import pytest

from studies._statistics import summarize
from studies._store import RecordStore
from studies.signals import FIELDS, PLAN
from studies.signals.report import Results, time_ratio
from studies.tests.rules_records import RECORDS
from studies.tests.test_rules_claims import expect, expect_row

pytestmark = pytest.mark.skipif(not RECORDS.exists(), reason="no records here")
PAGE = "doc/neural_network.rst"
BASE, PLAIN = ("paper", "default", "plain"), ("paper", "plain", "plain")


@pytest.fixture(scope="module")
def results():
    records, _ = RecordStore(RECORDS / "signals", FIELDS).load_all()
    return Results(records, PLAN["families"])


def loss_and_f1(results, key, baseline):
    losses = summarize(results.log_ratios(key, baseline, "log_loss").values())
    f1 = summarize(results.differences(key, baseline, "f1").values())
    return [np.exp(losses[k]) for k in ("difference", "low", "high")], f1


def show_time(ratio):
    return f"{ratio:.0f}" if ratio > 10 else f"{ratio:.1f}"


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("residual", '``CNNClassifier(module="residual")``'),
        ("inception", "an InceptionTime-like network, as ``module``"),
        ("boosting", "HistGradientBoosting on simple features"),
        ("minirocket", "MiniRocket and logistic regression"),
        ("multirocket", "MultiRocket and logistic regression"),
    ],
)
def test_the_table_of_models(results, model, name):
    key = model, "default", "plain"
    (ratio, low, high), f1 = loss_and_f1(results, key, BASE)
    times = [
        time_ratio(results, key, BASE, measure)
        for measure in ("fit_cpu", "predict_cpu")
    ]
    expect_row(
        PAGE,
        name,
        f"{ratio:.2f} ({low:.2f} to {high:.2f})",
        f"{f1['difference']:+.1f}",
        *map(show_time, times),
    )


def test_which_model_is_best_how_often(results):
    models = ["paper", "residual", "inception", "boosting", "minirocket", "multirocket"]
    keys = [(model, "default", "plain") for model in models]
    best = Counter(
        min(keys, key=lambda key: results.mean(key, name, "log_loss"))[0]
        for name in results.datasets(*keys)
    )
    assert sum(best.values()) == 26
    assert best["paper"] == 0
    assert best["boosting"] == 4
    n_rockets = best["minirocket"] + best["multirocket"]
    n_networks = best["residual"] + best["inception"]
    words = {9: "nine"}
    expect(PAGE, f"lowest log loss on {n_rockets} of the 26 sets")
    expect(PAGE, f"A network has the lowest log loss on {words[n_networks]} sets")


def test_averaged_weights(results):
    key = "paper", "plain", "ema 0.99"
    (ratio, low, high), f1 = loss_and_f1(results, key, PLAIN)
    saved = [round(100 * (1 - value)) for value in (ratio, high, low)]
    expect(PAGE, "lowers the log loss by {} % ({} to {} %)".format(*saved))
    points = "raises F1 by {difference:.1f} points ({low:.1f} to {high:.1f})"
    expect(PAGE, points.format(**f1))
    expect(PAGE, f"at {time_ratio(results, key, PLAIN):.2f} of the time")
