"""The report: numbers, verdicts, words, pages."""

import re
from html.parser import HTMLParser

import pytest

pytest.importorskip("matplotlib")

from studies import paper
from studies.__main__ import write_report
from studies._page import as_markdown
from studies.paper.report import make_parts
from studies.tests.paper_records import fill, make_record, make_records


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


def test_the_report_has_tables_and_figures(tmp_path):
    folder = fill(tmp_path, make_records())
    assert write_report(paper, folder) == [folder / "report.md", folder / "report.html"]
    text = (folder / "report.md").read_text()
    assert "| walking user identification | CP | 42.00 ± 1.58 | 47.00 ± 1.58 |" in text
    assert "+5.00 to +5.00 | 5 / 0 / 0 | +4.56 |" in text
    assert re.search(r"wisdm phone accel \* .*\| – \|", text)
    # The substituted set takes no part in the conclusions: (5 - 2) / 2 points.
    assert "differences below, none is significant after" in " ".join(text.split())
    assert re.search(r"\| PBS − BS \| 2 \|.*\| \+1.50 \| – \| 1 / 1 \| 1.000 \|", text)
    assert " clear" not in text
    page = Tags()
    page.feed((folder / "report.html").read_text())
    assert not page.open
    assert page.seen.count("img") == 5
    assert all(source.startswith("data:image/png") for source in page.sources)


def test_made_up_data_gives_no_verdict_on_the_paper():
    records = [
        make_record("synthetic", "brier", fold, 0.1, status="synthetic")
        for fold in range(6)
    ]
    text = as_markdown(make_parts(records))
    assert "Nothing here can be compared with the paper" in text


def test_shorter_trainings_are_left_out():
    records = [make_record("ble_rssi", "brier", 0, 0.1, n) for n in (3, 20)]
    assert "1 records of fewer epochs were left out" in as_markdown(make_parts(records))


def test_reasons_are_given_where_levels_stand_beside_the_paper():
    text = as_markdown(make_parts(list(make_records())))
    assert "### Why the levels may differ\n\n- The notebook trains one" in text
    boosting = [make_record("ble_rssi", "log_loss", 0, 0.1, estimator="hgb")]
    assert "Why the levels" not in as_markdown(make_parts(boosting))


@pytest.mark.parametrize("n_folds", [1, 2])
def test_so_few_folds_are_not_compared_but_lead_to_the_answer(tmp_path, n_folds):
    records = [
        make_record("synthetic", loss, fold, 0.1, status="synthetic")
        for loss in ("brier", "log_loss")
        for fold in range(n_folds)
    ]
    folder = fill(tmp_path, records)
    write_report(paper, folder)
    text = (folder / "report.md").read_text()
    assert "A trial run" in text
    for word in ("±", "95 %", "Δ", "won", "significant", "p adjusted"):
        assert word not in text
    row = "| synthetic | Convolutional network | Brier score | 0 | 1 | 2 | 1 | 2 |"
    assert row in text
    assert len(re.findall(r"^\| synthetic .* (?:Brier|log)", text, re.M)) == 2 * n_folds
    links = re.findall(r"\[(.+?)\]\((.+?)\)", text)
    assert links[0][0] == "Is the paper right?"
    for _, address in links:
        assert (folder / address).resolve().exists()
        assert f'href="{address}"' in (folder / "report.html").read_text()
