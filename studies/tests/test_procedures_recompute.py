"""The second, independent computation of the five results."""

import subprocess
import sys

import numpy as np
import pytest

from studies._statistics import sign_flip_above
from studies._store import RecordStore
from studies.procedures import recompute
from studies.procedures.analysis import five_results
from studies.tests.procedures_records import (
    PLAN,
    TEXT,
    make_failure,
    make_records,
    plant,
    plant_nothing,
)

KEYS = ("n", "difference", "low", "high", "p", "p_adjusted")


def make_noisy_records():
    """Effects, rules and diverged stages by chance."""
    rng = np.random.default_rng(0)
    names = ("refined", "penalty", "former", "refit")

    def effects(dataset, kind):
        return dict(zip(names, rng.normal([1, 0.3, -2, -1], 2), strict=True))

    records = make_records(effects)
    for record in records:
        for part in ("validation", "test"):
            for name, scores in (record[part] or {}).items():
                new = rng.integers(20, 60, 5) / (1 if name == "errors" else 100)
                scores[:] = new.tolist()
        if record["test"] and rng.random() < 0.3:
            for part in ("validation", "test"):
                for scores in record[part].values():
                    scores[rng.integers(2)] = None
    return records


NOISY = make_noisy_records()


@pytest.mark.parametrize(
    "records",
    [
        make_records(plant),
        make_records(plant_nothing),
        NOISY,
        NOISY[:-1],
        NOISY[9:],
        [make_failure(r) if k % 7 == 0 else r for k, r in enumerate(NOISY)],
    ],
    ids=["planted", "nothing", "noisy", "no tuned set", "no first sets", "failures"],
)
def test_both_computations_agree(records):
    found = recompute.recompute(PLAN.settings, records)
    for row in five_results(PLAN, records):
        expected = [row[key] for key in KEYS]
        assert found[row["name"]] == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_both_ways_to_flip_signs_agree():
    rng = np.random.default_rng(0)
    for differences in (rng.normal(0.2, 1, 31), rng.integers(-2, 5, 24) / 10):
        expected = sign_flip_above(differences)
        assert recompute.flip(differences) == pytest.approx(expected, rel=1e-9)


def test_the_script_reads_the_files(tmp_path):
    (tmp_path / "plan.toml").write_text(TEXT)
    for record in make_records(plant):
        name, fold = record["job"]["dataset"], record["job"]["fold"]
        if fold == 0 and name[:-1] in ("signal_", "table_"):
            RecordStore(tmp_path).add(record)
    command = [sys.executable, recompute.__file__, tmp_path / "plan.toml", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert [line[:3] for line in lines] == ["H1:", "H2:", "H3:", "H4:", "H5:"]
    assert lines[0].startswith("H1: n 8, +")
