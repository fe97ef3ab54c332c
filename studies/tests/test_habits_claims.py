"""What README and guide say of the study of habits is what the records say."""

import pytest

from studies._evidence import Study
from studies._store import RecordStore
from studies._wording import show, show_p
from studies.habits import FIELDS, PLAN, meta
from studies.habits.analysis import five_results
from studies.habits.descriptions import compare_ways
from studies.habits.recompute import recompute
from studies.tests.rules_records import RECORDS
from studies.tests.test_rules_claims import expect, expect_row

pytestmark = pytest.mark.skipif(not RECORDS.exists(), reason="no records here")
UNITS = {"H1": "%", "H2": "%", "H3": "points", "H4": "%", "H5": "points"}


@pytest.fixture(scope="module")
def study():
    return Study(PLAN, RecordStore(RECORDS / "habits", FIELDS).load_all()[0])


@pytest.fixture(scope="module")
def results(study):
    return {row["name"]: row for row in five_results(PLAN, study)}


def shown(row, unit):
    return f"{show(row, 1 if unit == '%' else 2)} {unit}"


def test_the_two_computations_agree(study, results):
    for name, numbers in recompute(PLAN.settings, study.records).items():
        row = results[name]
        expected = [row[k] for k in ("n", "difference", "low", "high", "p")]
        assert numbers[:5] == pytest.approx(expected)
        assert numbers[5] == pytest.approx(row["p_adjusted"])


def test_the_plan_came_first(study):
    (commit,) = {record["plan_commit"] for record in study.records}
    expect("doc/evidence.rst", f"``{commit[:10]}``")


@pytest.mark.parametrize("name", UNITS)
def test_hypotheses_on_the_pages(results, name):
    row, unit = results[name], UNITS[name]
    holds = "yes" if row["holds"] else "no"
    expect_row("doc/evidence.rst", shown(row, unit), show_p(row["p_adjusted"]), holds)
    status = "confirmed" if row["holds"] else "not confirmed"
    expect("README.md", f"| {shown(row, unit)} | {status} |")


def test_the_claim_of_the_paper_over_three_studies(study):
    for name, rows in meta.combine(study).items():
        own = name.replace("−", "instead of the")
        expect_row(
            "doc/evidence.rst",
            own,
            *(show(rows[key]) for key in ("first", "second", "third", "all")),
        )


def test_what_the_first_figure_says(study):
    rows = compare_ways(study)
    expect("README.md", f"means over {rows['search']['log_loss']['n']} data sets")
    expect("doc/index.rst", f"means over {rows['search']['log_loss']['n']} data sets")
