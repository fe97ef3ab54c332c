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


def apart(contrast, *choices):
    """Return the difference on signals and on tables."""
    signals, tables = (contrast(*choices, data) for data in ("signals", "tables"))
    return f"{signals} on signals, {tables} on tables"


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


@pytest.mark.parametrize("path", ["doc/faq.rst", "doc/evidence.rst"])
def test_choosing_does_not_beat_the_last_stage(evidence, contrast, path):
    key, loss = evidence.worst_last_stage()
    assert key == ("shuttle", "hgb", "log_loss")
    rest = contrast(REFINED, "last", without=["shuttle"])
    expect(
        path,
        f"refined PBS instead of the last stage {contrast(REFINED, 'last')}",
        f"without shuttle {rest}",
        f"{-100 * loss:.0f} points",
    )
    row = evidence.contrast(REFINED, "last")
    assert 0.6 < row["p_value"] < 0.65


@pytest.mark.parametrize("path", ["doc/faq.rst", "doc/evidence.rst"])
def test_gains_of_refined_pbs_are_told_apart_for_signals_and_tables(contrast, path):
    pair = (REFINED, BASELINE)
    expect(path, apart(contrast, *pair), f"{contrast(*pair)} over all")


@pytest.mark.parametrize("path", ["doc/faq.rst", "doc/evidence.rst"])
def test_gains_of_pbs_are_told_apart_for_signals_and_tables(contrast, path):
    pair = ("penalized_brier", "brier")
    expect(path, apart(contrast, *pair), f"{contrast(*pair)} over all")


@pytest.mark.parametrize("path", ["doc/faq.rst", "doc/evidence.rst"])
def test_macro_f1_as_the_rule_has_its_row(contrast, path):
    expect(
        path,
        f"macro F1 itself instead of the log loss {contrast('f1_macro', BASELINE)}",
    )


def test_adjusted_p_values_are_those_of_the_table(evidence):
    values = [row["p_holm"] for row in evidence.planned_contrasts()]
    expect("doc/evidence.rst", f"{min(values):.3f} to {max(values):.3f}")


def test_refined_pll_beside_pbs_with_their_patience(contrast, policies):
    share = 100 * policies[DEFAULT]["share"]
    expect(
        "doc/evidence.rst",
        apart(contrast, DEFAULT, FORMER),
        f"{share:.0f} % of the budget",
    )


def test_refined_pll_beside_the_last_stage(contrast):
    expect("doc/faq.rst", f"with a patience of 20 {contrast(DEFAULT, 'last')}")


def test_patience_in_the_faq(contrast):
    policies = [Policy(rule, 10) for rule in (REFINED, BASELINE)]
    expect("doc/faq.rst", apart(contrast, *policies))


def test_no_refined_rule_is_better_than_the_largest_penalty(evidence, contrast):
    for data, families in evidence.groups().items():
        row = evidence.contrast(REFINED, LARGEST, families)
        assert row["low"] < 0 < row["high"], data
    expect("doc/faq.rst", contrast(REFINED, LARGEST, "signals"))


def test_kinds_of_models_in_the_report_of_the_guide(contrast):
    sentences = [
        contrast(rule, BASELINE, "signals", family)
        for rule in (REFINED, "penalized_brier")
        for family in ("convolutional network", "multilayer perceptron")
    ]
    expect("doc/evidence.rst", *sentences)


def test_regrets_of_the_guide(evidence, policies):
    worst = {rule: 100 * max(of.values()) for rule, of in evidence.regrets().items()}
    refined = [worst[rule] for rule in worst if rule.startswith("refined")]
    expect(
        "doc/evidence.rst",
        f"refined rules lose {min(refined):.1f} to {max(refined):.1f} points",
        f"macro F1 {worst['f1_macro']:.1f}, accuracy {worst['accuracy']:.1f}, the last "
        f"stage {worst['last']:.1f}, PBS {worst['penalized_brier']:.1f}, the log loss "
        f"{worst['log_loss']:.1f}",
        f"patience of 20 loses {policies[DEFAULT]['worst']:.1f} points, PBS with a "
        f"patience of 10 {policies[FORMER]['worst']:.1f}",
    )
    hasty = policies[Policy("f1_macro", 10)]["worst"]
    expect("doc/imbalance.rst", f"lost {hasty:.1f} points in the worst family")


def test_penalties_of_refined_rules(contrast):
    expect(
        "doc/evidence.rst",
        apart(contrast, REFINED, "refined_brier"),
        apart(contrast, "refined_penalized_log_loss", "refined_log_loss"),
        contrast(REFINED, "smoothed_accuracy"),
        apart(contrast, "penalized_log_loss", "log_loss"),
    )


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
