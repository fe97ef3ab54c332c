"""The report of the study of signals, on made-up records."""

import numpy as np
import pytest

from studies._page import as_markdown
from studies.signals import PLAN, make_jobs, make_parts
from studies.signals.report import Results, judge, list_options, make_line
from studies.signals.trainings import NAMES, OPTIONS, OTHER

pytest.importorskip("matplotlib")
SETS = ["ering", "natops", "hydraulic_pump", "hydraulic_accumulator"]
BASE = ("paper", "default", "plain")


def make_record(dataset, model, option, **ways):
    fits = {
        way: {
            "log_loss": loss,
            "f1": f1,
            "accuracy": f1,
            "fit_cpu": time,
            "predict_cpu": 2 * time,
        }
        for way, (loss, f1, time) in ways.items()
    }
    job = {"dataset": dataset, "model": model, "option": option, "seed": 0}
    return {"job": job, "fits": fits, "versions": {"python": "3"}}


def test_a_family_is_one_unit():
    losses = dict(zip(SETS, [0.5, 0.5, 2.0, 8.0], strict=True))
    records = [make_record(name, *BASE[:2], plain=(1.0, 0.5, 1.0)) for name in SETS]
    records += [
        make_record(name, "residual", "default", plain=(loss, 0.6, 3.0))
        for name, loss in losses.items()
    ]
    results = Results(records, PLAN["families"])
    line = make_line(results, ("residual", "default", "plain"), BASE)
    # The units are 1/2, 1/2 and the geometric mean of 2 and 8.
    assert line[0] == "1.000"
    assert line[2:4] == ["0.500", "2 of 3"]
    assert line[4:7] == ["+10.0", "+10.0 to +10.0", "+10.0"]
    assert line[7:] == ["3.00", "3.00"]


@pytest.mark.parametrize(
    ("ratios", "gains", "time", "answer"),
    [
        ([0.96, 0.95, 0.97, 0.96], 0.0, 1.0, "yes"),
        ([0.96, 0.95, 0.97, 0.96], 0.0, 2.1, "too slow"),
        ([0.7, 1.2, 0.7, 1.2], 0.0, 1.0, "yes, but the interval has 0"),
        ([0.98, 0.98, 0.98, 0.97], 0.0, 1.0, "no"),
        ([1.1, 1.1, 1.1, 1.2], 0.011, 2.0, "yes"),
    ],
)
def test_the_rule_of_the_plan(ratios, gains, time, answer):
    key, base = ("paper", "cosine", "plain"), ("paper", "plain", "plain")
    records = []
    for name, ratio in zip(SETS, ratios, strict=True):
        records.append(make_record(name, "paper", "plain", plain=(0.3, 0.5, 1.0)))
        fit = 0.3 * ratio, 0.5 + gains, time
        records.append(make_record(name, "paper", "cosine", plain=fit))
    assert judge(Results(records), key, base) == answer


def test_all_jobs_have_a_place_in_the_report():
    rng = np.random.RandomState(0)
    records = []
    for job in make_jobs(SETS):
        ways = ["plain"]
        if job.option != "default":
            ways += ["ema 0.9", "ema 0.99"]
        fits = {way: rng.uniform(0.1, 1, size=3) for way in ways}
        records.append(make_record(job.dataset, job.model, job.option, **fits))
    page = as_markdown(make_parts(records))
    for name in NAMES.values():
        assert name in page
    for text in list_options("paper"):
        assert page.count(f"| {text} |") == 2
    assert page.count("By the rule it") == 2
    assert {option for _, option, _ in list_options(OTHER).values()} == set(OPTIONS)


def test_an_unfinished_run_has_a_report():
    records = [
        make_record("ering", "paper", "default", plain=(1.0, 0.5, 1.0)),
        make_record("ering", "boosting", "default", plain=(0.5, 0.5, 1.0)),
        make_record("natops", "paper", "default", plain=(1.0, 0.5, 1.0)),
    ]
    page = as_markdown(make_parts(records))
    assert "| boosting on features | 0.500 |" in page
    assert "| natops | 1.000 | – |" in page
    assert "Options:" not in page
    assert "plain loop" not in page
