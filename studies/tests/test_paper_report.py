"""The report: numbers, verdicts, words, pages."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

from studies._page import as_markdown
from studies._store import RecordStore
from studies.paper.protocol import FIELDS
from studies.paper.report import make_parts, write_report
from studies.tests.paper_records import make_record, make_records

RECORDS = Path(__file__).parents[2] / "doc" / "replication"


@pytest.fixture
def folder(tmp_path):
    for record in make_records():
        RecordStore(tmp_path).add(record)
    return tmp_path


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.seen, self.sources = [], [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        self.sources += [value for key, value in attrs if key in ("src", "href")]
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_report_has_tables_and_figures(folder):
    assert write_report(folder) == [folder / "report.md", folder / "report.html"]
    text = (folder / "report.md").read_text()
    assert "| walking user identification | CP | 42.00 ± 1.58 | 47.00 ± 1.58 |" in text
    assert "+5.00 to +5.00 | 5 / 0 / 0 | +4.56 |" in text
    assert re.search(r"wisdm phone accel \* .*\| – \|", text)
    # The substituted set takes no part in the conclusions: (5 - 2) / 2 points.
    assert "differences below, none can be told from chance" in " ".join(text.split())
    assert re.search(r"\| PBS − BS \| 2 \|.*\| \+1.50 \| – \| 1 / 1 \| 1.000 \|", text)
    assert " clear" not in text
    page = Tags()
    page.feed((folder / "report.html").read_text())
    assert not page.open
    assert page.seen.count("img") == 5
    assert all(source.startswith("data:image/png") for source in page.sources)


def test_damaged_files_are_named_in_the_report(folder):
    path = folder / "ble_rssi.jsonl.gz"
    path.write_bytes(path.read_bytes()[:-9])
    write_report(folder)
    assert "were left out" in (text := (folder / "report.md").read_text())
    assert path.name in text


def test_made_up_data_gives_no_verdict_on_the_paper():
    records = [
        make_record("synthetic", "brier", fold, 0.1, status="synthetic")
        for fold in range(6)
    ]
    text = as_markdown(make_parts(records))
    assert "Nothing here compares with the paper" in text


def test_shorter_trainings_are_left_out():
    records = [make_record("ble_rssi", "brier", 0, 0.1, n) for n in (3, 20)]
    assert "1 records of fewer epochs were left out" in as_markdown(make_parts(records))


def test_reasons_stand_beside_the_records(folder):
    write_report(folder)
    assert "Why the levels may differ" not in (folder / "report.md").read_text()
    (folder / "reasons.txt").write_text("One\nreason.\n\nAnother one.\n")
    write_report(folder)
    assert "- One reason.\n- Another one.\n" in (folder / "report.md").read_text()


@pytest.mark.skipif(not RECORDS.exists(), reason="no records beside the package")
def test_the_committed_report_says_what_the_records_say():
    records, damaged = RecordStore(RECORDS, FIELDS).load_all()
    assert (len(records), damaged) == (131, [])
    reasons = (RECORDS / "reasons.txt").read_text()
    text = as_markdown(make_parts(records, reasons=reasons, home="."))
    assert text == (RECORDS / "report.md").read_text()
