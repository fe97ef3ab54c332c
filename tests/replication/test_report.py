"""The report: numbers, verdicts, words, pages."""

import re
from html.parser import HTMLParser

import pytest

pytest.importorskip("matplotlib")

from sklearn_superior.replication.__main__ import main
from sklearn_superior.replication._protocol import Job
from sklearn_superior.replication._results import collect, make_rows
from sklearn_superior.replication._store import RecordStore


def make_record(dataset, loss, fold, gain, max_iter=3, estimator="cnn", status=None):
    """A training in which the penalized rules choose a stage better by `gain`."""
    job = Job(dataset, estimator, loss, max_iter, fold, 0)
    val = {
        "brier": [-1.0, -0.2, -0.5],
        "penalized_brier": [-1.0, -0.5, -0.2],
        "log_loss": [-1.0, -0.2, -0.5],
        "penalized_log_loss": [-1.0, -0.5, -0.2],
        "target": [0.1, 0.4, 0.5],
    }
    base = 0.4 + 0.01 * fold
    return job, {
        "job": vars(job),
        "seed": 1,
        "status": status or "complete",
        "n_rows": {"train": 5, "validation": 2, "test": 3},
        "seconds": 36.0,
        "versions": {"python": "3.11"},
        "validation": val,
        "test": val | {"target": [0.1, base, base + gain]},
    }


@pytest.fixture
def folder(tmp_path):
    store = RecordStore(tmp_path)
    for dataset, gain in (("walking_user_identification", 0.05), ("ble_rssi", -0.02)):
        for loss in ("brier", "log_loss"):
            for fold in range(5):
                store.save(*make_record(dataset, loss, fold, gain))
    for fold in range(4):
        store.save(
            *make_record("wisdm_phone_accel", "brier", fold, 0.3, status="substituted")
        )
        store.save(*make_record("ble_rssi", "log_loss", fold, 0.1, estimator="hgb"))
    return tmp_path


def test_rows(folder):
    records, _ = RecordStore(folder).load_all()
    experiments = collect(records)
    assert [(e.estimator, e.dataset) for e in experiments] == [
        ("cnn", "ble_rssi"),
        ("cnn", "walking_user_identification"),
        ("cnn", "wisdm_phone_accel"),
        ("hgb", "ble_rssi"),
    ]
    rows = {(r.quantity, r.selection, r.rule): r for r in make_rows(experiments[1])}
    assert len(rows) == 2 * 2 * 2
    row = rows["test_f1", "CP", "brier"]
    assert row.plain[0] == pytest.approx(42)
    assert row.penalized[0] == pytest.approx(47)
    assert row.difference == pytest.approx(5)
    assert (row.wins, row.ties, row.losses) == (5, 0, 0)
    assert row.paper_difference == pytest.approx(60.03 - 55.47)
    worse = {(r.quantity, r.rule): r for r in make_rows(experiments[0])}
    assert worse["test_f1", "brier"].difference == pytest.approx(-2)
    boosted = make_rows(experiments[3])
    assert {r.rule for r in boosted} == {"brier", "log_loss"}


def test_more_epochs_replace_fewer(tmp_path):
    store = RecordStore(tmp_path)
    for max_iter, gain in ((3, 0.1), (20, 0.2)):
        store.save(*make_record("ble_rssi", "brier", 0, gain, max_iter=max_iter))
    (experiment,) = collect(store.load_all()[0])
    assert experiment.max_iter == 20
    assert experiment.comparisons["brier"].trajectories[0].test["target"][2] > 0.55


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


def test_report(folder, capsys):
    assert main(["report", "--folder", str(folder)]) == 0
    assert "report.html" in capsys.readouterr().out
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


def test_damaged_records_are_named_in_the_report(folder):
    path = next(folder.glob("*/*/*.json"))
    path.write_text("{")
    main(["report", "--folder", str(folder)])
    assert path.name in (folder / "report.md").read_text()


def test_made_up_data_gives_no_verdict_on_the_paper(tmp_path):
    store = RecordStore(tmp_path)
    for fold in range(6):
        store.save(*make_record("synthetic", "brier", fold, 0.1, status="synthetic"))
    main(["report", "--folder", str(tmp_path)])
    text = (tmp_path / "report.md").read_text()
    assert "Nothing here compares with the paper" in text


def test_no_records(tmp_path, capsys):
    assert main(["report", "--folder", str(tmp_path / "nothing")]) == 2
    assert "has no records" in capsys.readouterr().err
