"""What README and guide say of the study of procedures is what the records say."""

import math

import pytest

from studies._store import RecordStore
from studies.procedures import FIELDS, PLAN, descriptions
from studies.procedures.analysis import (
    KINDS,
    LAST,
    Study,
    five_results,
)
from studies.procedures.answers import show_p
from studies.procedures.recompute import recompute
from studies.procedures.tables import show
from studies.tests.rules_records import RECORDS
from studies.tests.test_rules_claims import expect

pytestmark = pytest.mark.skipif(not RECORDS.exists(), reason="no records here")
PAGES = ("README.md", "doc/faq.rst", "doc/evidence.rst")


@pytest.fixture(scope="module")
def study():
    return Study(PLAN, RecordStore(RECORDS / "procedures", FIELDS).load_all()[0])


@pytest.fixture(scope="module")
def results(study):
    return {row["name"]: row for row in five_results(PLAN, study)}


def less(row):
    """Return by how many per cent a loss is lower, from logarithms of ratios."""
    shares = [100 * (1 - math.exp(row[k] / 100)) for k in ("difference", "high", "low")]
    return "{:.0f} % lower ({:.0f} to {:.0f})".format(*shares)


def test_the_two_computations_agree(study, results):
    for name, numbers in recompute(PLAN.settings, study.records).items():
        row = results[name]
        expected = [row[k] for k in ("n", "difference", "low", "high", "p")]
        assert numbers[:5] == pytest.approx(expected)
        assert numbers[5] == pytest.approx(row["p_adjusted"])


def test_which_hypotheses_hold(results):
    assert [name for name, row in results.items() if row["holds"]] == ["H1", "H5"]


@pytest.mark.parametrize("path", PAGES)
def test_rules_on_signals(results, path):
    expect(path, show(results["H2"]))
    points = show(results["H1"])
    if path == "README.md":
        points = points.replace(" (", " points of macro F1 (")
    expect(path, points)


@pytest.mark.parametrize("path", PAGES)
def test_folds_instead_of_one_part(results, path):
    expect(path, less(results["H5"]))


@pytest.mark.parametrize("path", PAGES[1:])
def test_tables_and_adjusted_p(results, path):
    expect(path, show(results["H4"]))
    for name in ("H1", "H2"):
        expect(path, f"adjusted p {show_p(results[name]['p_adjusted'])}")


def test_the_default_of_early_stopping(results):
    row = results["H3"]
    shares = [100 * math.expm1(row[k] / 100) for k in ("difference", "low", "high")]
    text = "{:+.0f} % ({:+.0f} to {:+.0f})".format(*shares).replace("-", "−")
    for path in ("README.md", "doc/evidence.rst"):
        expect(path, text)
    expect("doc/evidence.rst", f"lower on {row['n_down']} of {row['n']} units")
    expect("README.md", f"on {results['H5']['n_down']} of {results['H5']['n']} new")


def test_splits(study):
    row = descriptions.compare_splits(study)["H1"]
    expect("doc/faq.rst", show(row["at_random"]), show(row["groups"]))


def test_the_last_stage(study):
    rows = descriptions.compare_policies(study)
    (last,) = (row for row in rows if row["rule"] == LAST)
    assert last["f1_lost"] == 0
    share = 100 * math.expm1(last["loss_lost"] / 100)
    assert round(share, -1) == 40
    expect("doc/faq.rst", "a log loss that was 40 % higher")


def test_how_much_was_done(study):
    hours = sum(record["seconds"] for record in study.records) / 3600
    expect("doc/evidence.rst", f"{len(study.records)} trainings, {hours:.1f} hours")
    assert study.missing == []
    assert len(study.folds) == 3
    assert not study.failures


def test_what_the_plan_decides(study):
    assert descriptions.choose_refit(study)[0] == "folds"
    for kind in KINDS:
        row = descriptions.compare_refits(study)["all", "default"][kind]
        assert row["high"] < 0
