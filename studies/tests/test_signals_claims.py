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
BASE = "paper", "default", "plain"


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
    words = {6: "six", 7: "seven", 8: "eight", 9: "nine"}
    expect(PAGE, f"lowest log loss on {n_rockets} of the 26 sets")
    expect(PAGE, f"A network has the lowest log loss on {words[n_networks]} sets")
    ratios = results.log_ratios(("residual", "default", "plain"), BASE, "log_loss")
    n_better = sum(value < 0 for value in ratios.values())
    expect(PAGE, f"network of the paper on {n_better} of {len(ratios)} sets")


@pytest.mark.parametrize(
    ("name", "option", "way"),
    [
        ("``ema=0.9``", "plain", "ema 0.9"),
        ("``ema=0.99``", "plain", "ema 0.99"),
        ("``clip_norm=1``", "clip", "plain"),
    ],
)
def test_options(results, name, option, way):
    cells = []
    for model in ("paper", "residual"):
        baseline = model, "plain", "plain"
        key = model, option, way
        (ratio, low, high), f1 = loss_and_f1(results, key, baseline)
        cells += [f"{ratio:.2f} ({low:.2f} to {high:.2f})", f"{f1['difference']:+.1f}"]
        assert time_ratio(results, key, baseline) < 1.2
    expect_row(PAGE, name, *cells)


def test_weight_decay(results):
    changes = []
    for model in ("paper", "residual"):
        key = model, "decay", "plain"
        (ratio, *_), _ = loss_and_f1(results, key, (model, "plain", "plain"))
        changes.append(round(100 * abs(1 - ratio)))
    expect(PAGE, "network of the paper by {} %, and raises".format(*changes))
    expect(PAGE, f"that of the residual network by {changes[1]} %")
