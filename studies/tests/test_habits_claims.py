"""What README and guide say of the study of habits is what the records say."""

import math
from functools import partial
from statistics import mean, median

import pytest

from studies._evidence import KINDS, Study
from studies._measures import PooledRatio, get_way
from studies._page import signed
from studies._store import RecordStore
from studies._wording import show, show_p
from studies.habits import FIELDS, PLAN, meta
from studies.habits.analysis import five_results, log_ratio
from studies.habits.descriptions import (
    compare_costs,
    compare_timed,
    compare_ways,
    split_by_kind,
    split_by_part,
    time_ratio,
)
from studies.habits.recompute import recompute
from studies.tests.rules_records import RECORDS
from studies.tests.test_procedures_claims import check_recomputed
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
    check_recomputed(recompute(PLAN.settings, study.records), results)


def test_the_plan_came_first(study):
    (commit,) = {record["plan_commit"] for record in study.records}
    assert study.folds == [0, 1, 2]
    assert not study.missing
    expect("doc/evidence.rst", f"``{commit[:10]}``")


@pytest.mark.parametrize("name", UNITS)
def test_hypotheses_on_the_pages(results, name):
    row, unit = results[name], UNITS[name]
    holds = "yes" if row["holds"] else "no"
    expect_row("doc/evidence.rst", shown(row, unit), show_p(row["p_adjusted"]), holds)
    status = "confirmed" if row["holds"] else "not confirmed"
    expect("README.md", f"| {shown(row, unit)} | {status} |")


def test_hypotheses_on_other_pages(results):
    h5 = results["H5"]
    expect_row("doc/faq.rst", shown(h5, "").strip(), show_p(h5["p_adjusted"]))
    gain = -results["H4"]["difference"]
    expect("doc/production.rst", f"the search gains only {gain:.1f} % of log loss")


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


@pytest.mark.parametrize(
    ("name", "way", "other", "n"),
    [
        ("out-of-fold temperature instead of none, whole budget", "fixed", "last", 42),
        (
            "the whole budget with an out-of-fold temperature",
            "search",
            "fixed",
            42,
        ),
        (
            "``StagedSearchCV`` instead of ``GridSearchCV`` over ten numbers of stages",
            "search",
            "grid",
            42,
        ),
        (
            "``StagedSearchCV`` instead of ``EarlyStoppingClassifier``",
            "search",
            "stopping",
            46,
        ),
        (
            "``StagedSearchCV`` with its temperature instead of without it",
            "search",
            "search_plain",
            46,
        ),
        ('``refit="folds"`` instead of ``refit="all"``', "folds", "search", 46),
    ],
)
def test_what_matters_most(study, name, way, other, n):
    row = study.summary(log_ratio(way, other), KINDS)
    assert row["n"] == n
    expect_row("doc/evidence.rst", name, show(row, 1), f"{n} sets")


def test_medians(study, results):
    medians, units = [], {}
    for name, pair in (
        ("H1", ("stopping", "stopping_habit")),
        ("H2", ("search", "search_habit")),
    ):
        units[name] = study.units(study.values(log_ratio(*pair), KINDS))
        medians.append(signed(median(units[name].values()), 1))
    shown = "{} % and {} %".format(*medians)
    expect("README.md", f"medians of the first two lines are {shown}")
    expect("doc/evidence.rst", f"the medians are {shown}")
    n_down = [results[name]["n_down"] for name in units]
    expect("README.md", "on {} and {} of 46 data sets".format(*n_down))
    expect("doc/evidence.rst", "on {} (H1) and {} (H2) of the 46".format(*n_down))
    others = [v for name, v in units["H1"].items() if name != "unsw_nb15"]
    expect("doc/evidence.rst", f"by itself, H1 is {signed(mean(others), 1)} %")


def times(study, way, other, **options):
    row = study.summary(time_ratio(way, other), KINDS, **options)
    return math.exp(row["difference"] / 100)


def test_sentences_of_the_guide(study):
    page = "doc/evidence.rst"
    kinds, parts, ways = split_by_kind(study), split_by_part(study), compare_ways(study)
    binary = [signed(kinds[h]["binary"]["difference"], 1) for h in ("H1", "H2")]
    expect(page, "H1 and H2 are {} % and {} %".format(*binary))
    best = study.summary(log_ratio("stopping", "stopping_habit_best"), KINDS)
    expect(page, f"the best stage, the difference is {show(best, 1)} %")
    plain = ways["search_plain"]["log_loss"]["difference"]
    expect(page, f"Without it, the search is {plain:.1f} % worse than the habit")
    small = parts["other sets"]["H4 everywhere"]["difference"]
    expect(page, f"On smaller sets it gains {-small:.1f} %")
    expect(page, f"trains {ways['search']['times']:.1f} times as long as the habit")
    averaged = study.summary(log_ratio("search", "calibrated"), KINDS)
    expect(page, show(averaged, 1).replace(" (", ", ").rstrip(")"))
    expect(page, f"It trains {times(study, 'calibrated', 'search'):.1f} times as long")
    slower = compare_timed(study)["calibrated"]["predict"]
    expect(page, f"five models predict {slower:.0f} times as slowly")
    costs = compare_costs(study)["H4 everywhere"]
    less = " and ".join(f"{-costs[ratio]['difference']:.1f}" for ratio in (5, 20))
    expect(page, f"cost {less} % less than those of ``EarlyStoppingClassifier``")


def test_sentences_of_the_readme(study):
    fixed = study.summary(log_ratio("fixed", "last"), KINDS)["difference"]
    less = -100 * math.expm1(fixed / 100)
    expect("README.md", f"log loss of a whole budget of stages by {less:.0f} %")
    stages = study.summary(log_ratio("search", "fixed"), KINDS)["difference"]
    expect("README.md", f"lowers it by {-stages:.1f} % more, in less than half")
    expect("doc/faq.rst", f"{-stages:.1f} % lower than that of the last one")
    assert times(study, "search", "fixed") < 0.5
    expect("README.md", f"{times(study, 'search', 'search_habit'):.1f} times as long")
    lgb_cv = times(study, "search", "search_habit", models=["lightgbm"])
    expect("README.md", f"{lgb_cv:.1f} times as long as with `lgb.cv`")
    expect("doc/evidence.rst", f"{lgb_cv:.1f} times as long as ``lgb.cv``")
    stages = PooledRatio(
        "search", "search_habit", partial(get_way, score="n_iter"), lambda record: True
    )
    more = math.exp(study.summary(stages, KINDS)["difference"] / 100)
    expect("doc/evidence.rst", f"takes {more:.1f} times as many stages")
    assert round(times(study, "search", "stopping")) == 6
    gains = [rows["all"]["difference"] for rows in meta.combine(study).values()]
    assert [f"{gain:.1f}" for gain in gains] == ["0.4", "0.4"]
    expect("README.md", "gained 0.4 points of F1 on signals")
