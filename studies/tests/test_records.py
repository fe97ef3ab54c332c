"""The records that are committed: sound, packed, and what their reports are made of."""

import gzip
from importlib import import_module

import pytest

from studies.__main__ import STUDIES
from studies._page import as_markdown
from studies._store import RecordStore
from studies.tests.rules_records import RECORDS

pytest.importorskip("matplotlib")
pytestmark = pytest.mark.skipif(not RECORDS.exists(), reason="no records here")

N_RECORDS = {
    "habits": 368,
    "signals": 1040,
    "paper": 131,
    "rules": 676,
    "procedures": 730,
    "small": 1085,
    "racing": 32,
    "race_live": 30,
    "search_table": 120,
    "decisions": 120,
}
# Folders of long runs that are not complete yet, and their studies. To resume one, run
# its study with this folder.
UNFINISHED = {
    "paper_full": "paper",  # the paper's experiments at full budget
    "paper_walk": "paper_walk",
}


def test_every_study_has_its_records():
    folders = {path.name for path in RECORDS.iterdir() if path.is_dir()}
    assert set(N_RECORDS) <= folders <= N_RECORDS.keys() | UNFINISHED.keys()
    assert set(STUDIES) == N_RECORDS.keys() | set(UNFINISHED.values())


@pytest.mark.parametrize("name", UNFINISHED)
def test_unfinished_records_are_sound(name):
    study = import_module(STUDIES[UNFINISHED[name]])
    records, damaged = RecordStore(RECORDS / name, study.FIELDS).load_all()
    assert not damaged
    assert all("data_sha256" in record for record in records)


SLOW = ("racing",)  # 3,840 races are simulated


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.slow] * (n in SLOW)) for n in N_RECORDS],
)
def test_the_committed_report_says_what_the_records_say(name):
    study = import_module(STUDIES[name])
    records, damaged = RecordStore(RECORDS / name, study.FIELDS).load_all()
    assert (len(records), damaged) == (N_RECORDS[name], [])
    text = as_markdown(study.make_parts(records))
    assert text == (RECORDS / name / "report.md").read_text()


@pytest.mark.parametrize("name", [*N_RECORDS, *UNFINISHED])
def test_files_are_those_of_one_data_set(name):
    for path in (RECORDS / name).glob("*.jsonl.gz"):
        stem = path.name.removesuffix(".jsonl.gz")
        lines = gzip.decompress(path.read_bytes()).splitlines()
        assert all(f'"dataset": "{stem}"'.encode() in line for line in lines)
