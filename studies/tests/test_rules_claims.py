"""What README and guide say of the comparison of rules is what the records say."""

import pytest

from studies._store import RecordStore
from studies.rules import FIELDS, PLAN
from studies.rules.evidence import BASELINE, REFINED, Evidence, Policy
from studies.rules.policies import DEFAULT, FORMER, describe_policies
from studies.rules.questions import show
from studies.tests.rules_records import RECORDS, ROOT

LARGEST = "accuracy_then_brier"  # the choice of the largest penalty
pytestmark = pytest.mark.skipif(not RECORDS.exists(), reason="no records here")


@pytest.fixture(scope="module")
def evidence():
    return Evidence(PLAN, RecordStore(RECORDS / "rules", FIELDS).load_all()[0])


@pytest.fixture(scope="module")
def policies(evidence):
    return describe_policies(evidence)


@pytest.fixture(scope="module")
def contrast(evidence):
    """Return a function: the difference of two choices with its interval, in points."""

    def shown(choice, baseline, data="all", family=None, **options):
        families = evidence.groups()[data]
        families = [f for f in families if family is None or f.name == family]
        return show(evidence.contrast(choice, baseline, families, **options))

    return shown


def read(path):
    return " ".join((ROOT / path).read_text().replace("*", "").split())


def expect(path, *sentences):
    text = read(path)
    for sentence in sentences:
        assert sentence in text, f"{path} lacks: {sentence}"


def expect_row(path, *cells):
    """Expect a row of a list-table; cells may be empty."""
    expect(path, " ".join(" - ".join(cells).split()))


@pytest.fixture(scope="module")
def expect_contrast(contrast):
    """Return a function: expect the row of a contrast in the table of the guide.

    `data` says which of the columns signals, tables and all are filled.
    """

    def check(name, *choices, data=("signals", "tables"), **options):
        columns = ("signals", "tables", "all")
        cells = [contrast(*choices, d, **options) if d in data else "" for d in columns]
        expect_row("doc/evidence.rst", name, *cells)

    return check


def test_how_much_was_done(evidence):
    n_planned = len(PLAN.make_jobs())
    expect(
        "doc/evidence.rst",
        f"{len(evidence.records)} of {n_planned:,} planned trainings",
    )


@pytest.mark.parametrize(
    "path", ["doc/evidence.rst", "studies/records/rules/report.md"]
)
def test_what_was_known_before_is_said(path):
    expect(path, "seven signal sets had been analysed before the plan was written")
    expect(path, "report was looked at once before")


def test_choosing_does_not_beat_the_last_stage(evidence, expect_contrast):
    key, loss = evidence.worst_last_stage()
    assert key == ("shuttle", "hgb", "log_loss")
    name = "refined PBS instead of the last stage"
    expect_contrast(name, REFINED, "last", data=["all"])
    expect_contrast(
        "… without shuttle", REFINED, "last", data=["all"], without=["shuttle"]
    )
    for path in ("doc/faq.rst", "doc/evidence.rst"):
        expect(path, f"{-100 * loss:.0f} points")
    row = evidence.contrast(REFINED, "last")
    assert 0.6 < row["p_value"] < 0.65


EVERYWHERE = ("signals", "tables", "all")


@pytest.mark.parametrize(
    ("name", "choice", "baseline", "data"),
    [
        ("refined PBS instead of the log loss", REFINED, BASELINE, EVERYWHERE),
        (
            "PBS instead of the Brier score (the paper's claim)",
            "penalized_brier",
            "brier",
            EVERYWHERE,
        ),
        (
            "PLL instead of the log loss",
            "penalized_log_loss",
            "log_loss",
            EVERYWHERE[:2],
        ),
        (
            "refined PBS instead of the refined Brier score",
            REFINED,
            "refined_brier",
            EVERYWHERE[:2],
        ),
        (
            "refined PLL instead of the refined log loss",
            "refined_penalized_log_loss",
            "refined_log_loss",
            EVERYWHERE[:2],
        ),
        ("macro F1 itself instead of the log loss", "f1_macro", BASELINE, ["all"]),
        (
            "refined PBS instead of accuracy smoothed over 15 stages",
            REFINED,
            "smoothed_accuracy",
            ["all"],
        ),
        (
            "refined PBS instead of accuracy, ties broken by the Brier score",
            REFINED,
            LARGEST,
            ["signals"],
        ),
        (
            "refined PLL, patience 20, instead of PBS, patience 10",
            DEFAULT,
            FORMER,
            EVERYWHERE[:2],
        ),
        (
            "refined PLL, patience 20, instead of the last stage",
            DEFAULT,
            "last",
            ["all"],
        ),
        (
            "… with a patience of 10",
            Policy(REFINED, 10),
            Policy(BASELINE, 10),
            EVERYWHERE[:2],
        ),
    ],
)
def test_contrasts_of_the_guide(expect_contrast, name, choice, baseline, data):
    expect_contrast(name, choice, baseline, data=data)


def test_adjusted_p_values_are_those_of_the_table(evidence):
    values = [row["p_holm"] for row in evidence.planned_contrasts()]
    expect("doc/evidence.rst", f"{min(values):.3f} to {max(values):.3f}")


def test_part_of_the_budget_that_is_trained(policies):
    share = 100 * policies[DEFAULT]["share"]
    expect("doc/evidence.rst", f"{share:.0f} % of the budget")


def test_no_refined_rule_is_better_than_the_largest_penalty(evidence):
    for data, families in evidence.groups().items():
        row = evidence.contrast(REFINED, LARGEST, families)
        assert row["low"] < 0 < row["high"], data


def test_kinds_of_models_in_the_guide(contrast):
    for rule in (REFINED, "penalized_brier"):
        for family, name in (
            ("convolutional network", "with convolutional networks"),
            ("multilayer perceptron", "with perceptrons"),
        ):
            value = contrast(rule, BASELINE, "signals", family)
            expect_row("doc/evidence.rst", name, value)


def test_regrets_of_the_guide(evidence, policies):
    worst = {rule: 100 * max(of.values()) for rule, of in evidence.regrets().items()}
    refined = [worst[rule] for rule in worst if rule.startswith("refined")]
    rows = {
        "refined rules": f"{min(refined):.1f} to {max(refined):.1f}",
        "macro F1": f"{worst['f1_macro']:.1f}",
        "accuracy": f"{worst['accuracy']:.1f}",
        "last stage": f"{worst['last']:.1f}",
        "PBS": f"{worst['penalized_brier']:.1f}",
        "log loss": f"{worst['log_loss']:.1f}",
        "refined PLL, patience 20, against the best policy": (
            f"{policies[DEFAULT]['worst']:.1f}"
        ),
        "PBS, patience 10, against the best policy": f"{policies[FORMER]['worst']:.1f}",
    }
    for row in rows.items():
        expect_row("doc/evidence.rst", *row)
    hasty = policies[Policy("f1_macro", 10)]["worst"]
    expect("doc/imbalance.rst", f"lost {hasty:.1f} points in the worst family")


def test_the_first_of_equal_stages_makes_accuracy_look_bad():
    evidence = Evidence(PLAN, RecordStore(RECORDS / "rules", FIELDS).load_all()[0])
    for comparison in evidence.comparisons.values():
        for trajectory in comparison.trajectories:
            trajectory.tie_scores = None
    lost = 100 * max(evidence.regrets()["accuracy"].values())
    expect("studies/records/rules/report.md", f"accuracy lost {lost:.1f} points")


# Figures of the analysis that the defaults rest on, made independently of this code.
@pytest.mark.parametrize(
    ("policy", "share", "f1", "log_loss"),
    [
        (Policy("log_loss", 10), 0.44, 56.71, 1.161),
        (Policy("penalized_brier", 10), 0.35, 57.21, 1.159),
        (Policy(REFINED, 10), 0.38, 57.51, 1.152),
        (Policy("refined_log_loss", 10), 0.46, 58.06, 1.140),
        (Policy("refined_penalized_log_loss", 20), 0.55, 58.22, 1.144),
        (Policy("refined_brier", 20), 0.59, 58.25, 1.139),
        (Policy("refined_log_loss", 20), 0.59, 58.33, 1.138),
        (Policy("refined_log_loss", 50), 0.79, 58.66, 1.125),
        (Policy("last"), 1, 58.40, 1.135),
    ],
)
def test_policies_agree_with_an_independent_analysis(
    policies, policy, share, f1, log_loss
):
    row = policies[policy]
    assert row["share"] == pytest.approx(share, abs=0.00501)
    assert row["f1"] == pytest.approx(f1, abs=0.00501)
    assert row["log_loss"] == pytest.approx(log_loss, abs=0.000501)
