"""What the guide says of few validation rows is what the records say."""

import numpy as np
import pytest

from studies._statistics import summarize
from studies._store import RecordStore
from studies.small.policies import PLAIN
from studies.small.report import (
    BINS,
    KINDS,
    TWO_SIDED,
    Results,
    geometric_mean,
    make_guide_table,
    of_kind,
)
from studies.small.validation import FIELDS
from studies.tests.rules_records import RECORDS, ROOT

pytestmark = pytest.mark.skipif(not RECORDS.exists(), reason="no records here")
GUIDE = ROOT / "doc" / "choose_then_calibrate.rst"
FEW, *MORE = BINS


@pytest.fixture(scope="module")
def records():
    return RecordStore(RECORDS / "small", FIELDS).load_all()[0]


@pytest.fixture(scope="module")
def results(records):
    return Results(records)


@pytest.fixture(scope="module")
def guide():
    """The text of the section, in one line."""
    text = GUIDE.read_text()
    text = text[text.index("Few validation rows\n---") :]
    return " ".join(text[: text.index("How optimistic is it?")].split())


def percent(ratio):
    return round(100 * abs(ratio - 1))


def test_the_table_of_the_guide_is_that_of_the_records(records):
    assert make_guide_table(records) in GUIDE.read_text()


def test_the_guide_says_how_large_the_study_is(records, guide):
    sizes = {record["job"]["n_validation"] for record in records}
    n_sets = len({record["job"]["dataset"] for record in records})
    assert f"{n_sets} data sets were cut down" in guide
    assert f"{min(sizes)} to {max(sizes):,}, was used for validation" in guide
    assert f"fitted {len(records):,} times" in guide


def test_the_guide_says_what_other_priors_do(results, guide):
    def against_default(scale, name):
        policy = TWO_SIDED.replace("0.5", scale)
        return results.ratios(policy, name, baseline=TWO_SIDED)

    worse = []
    for scale in ("1", "0.7"):
        summary = summarize(np.log(list(against_default(scale, FEW).values())))
        assert summary["low"] > 0
        worse.append(percent(np.exp(summary["difference"])))
    assert f"are worse than the default, σ = 0.5, by {worse[0]} % and {worse[1]} %" in (
        guide
    )
    for name in BINS:
        summary = summarize(np.log(list(against_default("0.3", name).values())))
        assert summary["low"] <= 0 <= summary["high"]
    ratios = against_default("0.3", FEW)
    assert min(ratios, key=ratios.get) == "digits"
    assert max(ratios, key=ratios.get) == "motor_failure_time"
    lower, higher = percent(min(ratios.values())), percent(max(ratios.values()))
    assert f"{lower} % lower on digits and {higher} % higher on the signals" in guide


def test_the_guide_says_what_the_default_gains(results, guide):
    means = {name: geometric_mean(results.ratios(TWO_SIDED, name)) for name in BINS}
    gains = [results.gain_in_f1(TWO_SIDED, name) for name in BINS]
    least, most = sorted(percent(means[name]) for name in MORE)[:: len(MORE) - 1]
    assert max(means.values()) < 1
    assert (
        f"{percent(means[FEW])} % lower with fewer than 60 rows and {least} to {most} %"
    ) in guide
    assert f"{min(gains):.1f} to {max(gains):.1f} points higher" in guide
    for kind, what in zip(KINDS, ("on tables", "on signals"), strict=True):
        low, high = sorted(
            percent(geometric_mean(of_kind(results.ratios(TWO_SIDED, name), kind)))
            for name in (FEW, MORE[0])
        )
        assert f"{low} to {high} % {what}" in guide
    bad = {
        (name, dataset): ratio
        for name in BINS
        for dataset, ratio in results.ratios(TWO_SIDED, name).items()
        if ratio > 1.05
    }
    assert list(bad) == [(FEW, "digits")]
    assert f"fewer than 60 rows, by {percent(bad[FEW, 'digits'])} %." in guide


def test_the_guide_compares_the_default_with_the_log_loss(results, guide):
    refined = TWO_SIDED.replace("PLL", "log loss")
    for name in BINS:
        ratio = geometric_mean(results.ratios(refined, name, baseline=TWO_SIDED))
        assert 0.985 < ratio < 1
    assert "lower by 1 % or less" in guide
    plain = summarize(
        np.log(list(results.ratios(PLAIN, FEW, baseline=TWO_SIDED).values()))
    )
    assert plain["low"] < 0 < plain["high"]
    loss_of_f1 = results.gain_in_f1(TWO_SIDED, FEW) - results.gain_in_f1(PLAIN, FEW)
    assert f"Its macro F1 is {loss_of_f1:.1f} points lower" in guide
