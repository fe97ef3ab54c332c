"""What README and guide say of the study of procedures is what the records say."""

import math

import pytest

from studies._evidence import KINDS, Study
from studies._measures import LAST, get_way, log_ratio, raise_loss, replay
from studies._store import RecordStore
from studies._wording import show, show_p
from studies.procedures import FIELDS, PLAN, descriptions
from studies.procedures.analysis import BASELINE, REFINED, five_results
from studies.procedures.recompute import recompute
from studies.tests.rules_records import RECORDS
from studies.tests.test_rules_claims import expect, expect_row

pytestmark = pytest.mark.skipif(not RECORDS.exists(), reason="no records here")


@pytest.fixture(scope="module")
def study():
    return Study(PLAN, RecordStore(RECORDS / "procedures", FIELDS).load_all()[0])


@pytest.fixture(scope="module")
def results(study):
    return {row["name"]: row for row in five_results(PLAN, study)}


def soften(record):
    """Return a record whose temperatures are at least 1: others are not applied."""
    parts = {}
    for name in ("validation", "test"):
        part = record[name]
        losses = zip(
            part["log_loss"],
            part["refined_log_loss"],
            record["temperature"],
            strict=True,
        )
        scaled = [raw if t is not None and t < 1 else ref for raw, ref, t in losses]
        parts[name] = part | {"refined_log_loss": scaled}
    return record | parts


def loss_of(rule, patience=None, *, softened=True, calibrated=True):
    """Return the measure: 100 times the logarithm of the log loss of a policy."""
    name = "refined_log_loss" if calibrated else "log_loss"

    def measure(record):
        record = soften(record) if softened else record
        stage, _ = replay(record, rule, patience)
        if stage is None:
            return math.nan
        return 100 * math.log(raise_loss(record["test"][name][stage]))

    return measure


def f1_of(rule, patience=None):
    """Return the measure: points of macro F1 of a policy."""

    def measure(record):
        stage, _ = replay(record, rule, patience)
        return math.nan if stage is None else 100 * record["test"]["f1_macro"][stage]

    return measure


def minus(measure, other):
    return lambda record: measure(record) - other(record)


PBS_10 = loss_of("penalized_brier", 10, calibrated=False)
BEST_HOLD_OUT = loss_of("refined_log_loss", 50)


def check_recomputed(recomputed, results):
    for name, numbers in recomputed.items():
        row = results[name]
        expected = [row[k] for k in ("n", "difference", "low", "high", "p")]
        assert numbers[:5] == pytest.approx(expected)
        assert numbers[5] == pytest.approx(row["p_adjusted"])


def test_the_two_computations_agree(study, results):
    check_recomputed(recompute(PLAN.settings, study.records), results)


def test_which_hypotheses_hold(results):
    assert [name for name, row in results.items() if row["holds"]] == ["H1", "H5"]


def test_hypotheses_on_the_pages(results):
    units = {"H1": "points", "H2": "points", "H3": "%", "H4": "points", "H5": "%"}
    for name, unit in units.items():
        row = results[name]
        shown = show(row, 1 if unit == "%" else 2)
        holds = "yes" if row["holds"] else "no"
        p = show_p(row["p_adjusted"])
        expect("doc/evidence.rst", f"- {shown} {unit} - {p} - {holds}")
        if name not in ("H3", "H4"):
            status = "confirmed" if row["holds"] else "not confirmed"
            expect("README.md", f"| {shown} {unit} | {status} |")
    expect_row("doc/faq.rst", show(results["H1"]), show_p(results["H1"]["p_adjusted"]))
    expect_row("doc/faq.rst", show(results["H2"]), show_p(results["H2"]["p_adjusted"]))
    expect("doc/faq.rst", show(results["H4"]))
    less = -100 * math.expm1(results["H5"]["difference"] / 100)
    expect("doc/faq.rst", f"by {less:.0f} %")
    expect("doc/evidence.rst", f"on {results['H3']['n_down']} of {results['H3']['n']}")


@pytest.mark.parametrize(
    ("name", "ours", "other", "kinds"),
    [
        (
            "refined PLL instead of the log loss, both with a patience of 20",
            f1_of(REFINED, 20),
            f1_of(BASELINE, 20),
            ("signals",),
        ),
        (
            "PLL instead of the log loss, all stages scored",
            f1_of("penalized_log_loss"),
            f1_of(BASELINE),
            ("signals",),
        ),
        (
            "refined log loss instead of the log loss, all stages scored",
            f1_of("refined_log_loss"),
            f1_of(BASELINE),
            ("signals",),
        ),
        (
            "refined PLL instead of the refined log loss, all stages scored",
            f1_of(REFINED),
            f1_of("refined_log_loss"),
            ("signals",),
        ),
        (
            "refined PLL instead of the refined log loss, patience 20",
            f1_of(REFINED, 20),
            f1_of("refined_log_loss", 20),
            KINDS,
        ),
        (
            "refined PLL with a patience of 20 instead of the last stage",
            f1_of(REFINED, 20),
            f1_of(LAST),
            KINDS,
        ),
        (
            "refined log loss with a patience of 20 instead of the last stage",
            f1_of("refined_log_loss", 20),
            f1_of(LAST),
            KINDS,
        ),
    ],
)
def test_f1_of_policies(study, name, ours, other, kinds):
    row = study.summary(minus(ours, other), kinds)
    data = "all" if kinds == KINDS else "signals"
    expect_row("doc/evidence.rst", name, show(row), data)


@pytest.mark.parametrize("way", ["all", "folds"])
def test_folds_instead_of_the_best_hold_out(study, way):
    def loss(record):
        return 100 * math.log(raise_loss(get_way(record, way, "log_loss")))

    shown = show(study.summary(minus(loss, BEST_HOLD_OUT)), 1)
    name = f'folds (``refit="{way}"``) instead of the best hold-out policy'
    expect_row("doc/evidence.rst", name, shown, "48 units")


@pytest.mark.parametrize(
    ("name", "measure"),
    [
        ("refined log loss, 50, T ≥ 1", BEST_HOLD_OUT),
        ("refined PLL, 50, T ≥ 1", loss_of(REFINED, 50)),
        (
            "refined log loss, 20, T ≥ 1: the default",
            loss_of("refined_log_loss", 20),
        ),
        ("last stage, with its temperature", loss_of(LAST, softened=False)),
        ("refined PLL, 20, T ≥ 1", loss_of(REFINED, 20)),
        ("log loss, 10, no temperature", loss_of(BASELINE, 10, calibrated=False)),
        ("refined PLL, 20, any T", loss_of(REFINED, 20, softened=False)),
        ("Brier score, 10, no temperature", loss_of("brier", 10, calibrated=False)),
    ],
)
def test_policies_beside_pbs(study, name, measure):
    values = study.units(study.values(minus(measure, PBS_10)))
    row = study.summary(minus(measure, PBS_10))
    cells = [show(row, 1), f"+{max(values.values()):.0f}", str(row["n_down"])]
    expect_row("doc/choosing_a_rule.rst", name, *cells)
    if name.endswith("default"):
        expect_row("doc/evidence.rst", cells[0], f"{cells[2]} of {row['n']} units")


def test_one_model_beside_the_folds(study):
    names = {"tables": "tables", "binary": "binary tables", "signals": "signals"}
    for kind, row in descriptions.compare_refits(study)["all", "folds"].items():
        if kind in names:
            name = f"{names[kind]}, second study"
            expect_row("doc/production.rst", name, show(row, 1))


def test_one_model_beside_the_folds_over_all(study):
    row = study.summary(log_ratio("all", "folds"))
    expect_row("doc/production.rst", "all 48 units, second study", show(row, 1))


def test_splits(study):
    row = descriptions.compare_splits(study)["H1"]
    expect("doc/faq.rst", show(row["at_random"]), show(row["groups"]))


def test_the_last_stage(study):
    rows = descriptions.compare_policies(study)
    (last,) = (row for row in rows if row["rule"] == LAST)
    assert last["f1_lost"] == 0
    share = 100 * math.expm1(last["loss_lost"] / 100)
    assert round(share, -1) == 40
    for path in ("doc/faq.rst", "doc/evidence.rst"):
        expect(path, "40 % higher")
    last = loss_of(LAST, softened=False)
    row = study.summary(minus(loss_of("refined_log_loss", 20), last))
    expect("doc/faq.rst", f"the difference is {-row['difference']:.1f} %")
    expect_row("doc/evidence.rst", show(row, 1), "48 units")
    row = study.summary(minus(loss_of(REFINED, 20, softened=False), last))
    expect_row("doc/evidence.rst", show(row, 1), "48 units")


def test_few_validation_rows(study):
    (row,) = (r for r in descriptions.compare_sizes(study) if r["size"] == "below 60")
    expect_row("doc/evidence.rst", show(row["log_ratio"], 1), "5 units")
    more = 100 * math.expm1(row["log_ratio"]["difference"] / 100)
    expect("doc/faq.rst", f"{more:.1f} % higher")
    assert row["log_ratio"]["n"] == 5

    def with_few_rows(record):
        difference = minus(loss_of("refined_log_loss", 20), PBS_10)
        is_small = record["n_rows"]["validation"] < 60
        return difference(record) if is_small else math.nan

    shown = show(study.summary(with_few_rows), 1)
    expect_row("doc/evidence.rst", shown, "5 units")


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
