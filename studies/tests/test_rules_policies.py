"""Rules with their patience."""

import pytest

from studies._page import Table
from studies.rules import PLAN
from studies.rules.evidence import Evidence, Policy
from studies.rules.policies import (
    PATIENCES,
    answer_policies,
    describe_policies,
    list_policies,
)
from studies.tests.rules_records import make_records


@pytest.fixture(scope="module")
def evidence():
    return Evidence(PLAN, list(make_records()))


def test_every_rule_has_every_patience_and_the_last_stage_none():
    policies = list_policies(PLAN)
    assert len(policies) == len(set(policies)) == 1 + 10 * len(PATIENCES)
    assert not [p for p in policies if "smoothed" in p.rule]


def test_a_policy_is_described_by_means_over_the_families(evidence):
    rows = describe_policies(evidence)
    own = rows[Policy("accuracy", 10)]
    # Networks gain 3 points over 50 in the second stage, perceptrons 6.
    assert own["f1"] == pytest.approx(54.5)
    assert (own["share"], own["log_loss"]) == (1, pytest.approx(0.4))
    assert (own["worst"], own["mean"]) == (0, 0)
    last = rows[Policy("last")]
    assert (last["worst"], last["mean"]) == pytest.approx((16, 14.5))


def test_a_line_for_each_policy(evidence):
    table, contrasts = (p for p in answer_policies(evidence) if isinstance(p, Table))
    assert len(table.rows) == len(list_policies(PLAN))
    assert {len(row) for row in table.rows} == {len(table.header)}
    assert " ".join(table.rows[0]) == "last stage – 1.00 40.00 0.600 16.00 14.50"
    assert contrasts.rows[0][0] == "refined PLL, patience 20 − PBS, patience 10"
    assert [row[1] for row in contrasts.rows[:2]] == ["signals", "all"]
