"""The analysis of the study of habits, rehearsed on made-up records of all its sets."""

import math
import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from studies._statistics import sign_flip_above, summarize
from studies._store import RecordStore
from studies.habits import PLAN, recompute
from studies.habits.analysis import five_results, is_in, log_ratio, make_hypotheses
from studies.procedures.recompute import flip as other_flip
from studies.tests.habits_records import (
    make_failure,
    make_one_class,
    make_records,
    plant,
    plant_by_chance,
    plant_nothing,
    plant_the_opposite,
)

KEYS = ("n", "difference", "low", "high", "p", "p_adjusted")
PLANTED = make_records(plant)
NOISY = make_records(plant_by_chance(0))
UNITS = {"H1": 46, "H2": 46, "H3": 46, "H4": 16, "H5": 12}


def by_name(records):
    return {row["name"]: row for row in five_results(PLAN, records)}


@pytest.fixture(scope="module")
def planted():
    return by_name(PLANTED)


def test_planted_effects_are_found(planted):
    rows = planted
    assert {name: row["n"] for name, row in rows.items()} == UNITS
    assert all(row["holds"] for row in rows.values())
    numbers = {name: k for k, name in enumerate(PLAN.datasets)}
    tested = [k for name, k in numbers.items() if not name.endswith("_timed")]
    expected = -3 * np.mean([1 + 0.01 * k for k in tested])
    # Offsets of models and folds cancel out, but for sets with other models or folds.
    assert rows["H1"]["difference"] == pytest.approx(expected, abs=0.2)
    assert rows["H3"]["difference"] == pytest.approx(0.1, abs=0.2)
    # Holm: the smallest of five p-values counts five times.
    assert rows["H1"]["p_adjusted"] == pytest.approx(5 / 2**46)
    assert rows["H5"]["p_adjusted"] == pytest.approx(1 / 2**12)


def test_nothing_is_found_where_nothing_is():
    assert not any(
        row["holds"] for row in by_name(make_records(plant_nothing)).values()
    )


def test_the_opposite_does_not_hold():
    rows = by_name(make_records(plant_the_opposite))
    assert not any(row["holds"] for row in rows.values())
    assert rows["H1"]["low"] > 0


@pytest.mark.parametrize("h3", [-0.4, -0.1])
def test_not_more_than_the_margin_worse(h3):
    records = make_records(lambda number: {"h3": h3 + 0.02 * (-1) ** number})
    assert by_name(records)["H3"]["holds"] == (h3 > -0.25)


def test_losses_are_pooled_before_the_ratio():
    records = [
        record
        for record in PLANTED
        if record["job"]["dataset"] == "date_fruit"
        and record["job"]["estimator"] == "hgb"
    ]
    losses = np.array(
        [
            [r["ways"][w]["log_loss"] for w in ("search", "search_habit")]
            for r in records
        ]
    )
    sums = [r["n_rows"]["test"] for r in records] @ losses
    expected = 100 * math.log(sums[0] / sums[1])
    assert log_ratio("search", "search_habit").pool(records) == pytest.approx(expected)


def test_large_sets_are_those_of_the_plan():
    (h4,) = (h for h in make_hypotheses(PLAN) if h.name == "H4")
    used = {r["job"]["dataset"] for r in PLANTED if h4.measure.counts(r)}
    assert used == set(PLAN["large"])
    assert not is_in(["date_fruit"], make_one_class(PLANTED[0]))


def test_folds_of_one_class_are_left_out(planted):
    spoiled = [
        make_one_class(r) if r["job"]["fold"] == 1 and k % 9 == 0 else r
        for k, r in enumerate(PLANTED)
    ]
    for before, after in zip(planted.values(), by_name(spoiled).values(), strict=True):
        assert after["n"] == before["n"]
        assert after["difference"] == pytest.approx(before["difference"], abs=0.05)


@pytest.mark.parametrize(
    "records",
    [
        PLANTED,
        make_records(plant_nothing),
        NOISY,
        NOISY[:-1],
        NOISY[9:],
        [make_failure(r) if k % 7 == 0 else r for k, r in enumerate(NOISY)],
        [make_one_class(r) if k % 5 == 0 else r for k, r in enumerate(NOISY)],
    ],
    ids=["planted", "nothing", "noisy", "no end", "no start", "failures", "one class"],
)
def test_both_computations_agree(records):
    found = recompute.recompute(PLAN.settings, records)
    for row in five_results(PLAN, records):
        expected = [row[key] for key in KEYS]
        assert found[row["name"]] == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_ways_to_flip_signs_and_intervals_agree():
    rng = np.random.default_rng(0)
    differences = rng.normal(0.2, 1, 46)
    expected = sign_flip_above(differences)
    assert recompute.flip(differences) == pytest.approx(expected, rel=1e-9)
    assert recompute.flip(differences) == other_flip(differences)
    interval = ttest_1samp([1.0, 2.0, 4.0], 0).confidence_interval()
    units = [1.0, 2.0, 4.0]
    assert summarize(units)["high"] == pytest.approx(interval.high)


def test_the_script_reads_the_files(tmp_path):
    for record in PLANTED:
        if record["job"]["fold"] == 0:
            RecordStore(tmp_path).add(record)
    command = [sys.executable, recompute.__file__, PLAN.path, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert [line[:3] for line in lines] == ["H1:", "H2:", "H3:", "H4:", "H5:"]
    assert lines[0].startswith("H1: n 46, -")
