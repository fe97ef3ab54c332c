"""Rule and patience together: what a policy reaches, and how much it trains."""

import numpy as np

from studies._page import Heading, Paragraph, Table
from studies.rules.evidence import SHARE, TARGET, Policy, as_policy, name_of
from studies.rules.questions import CONTRAST_HEADER, contrast_lines

PATIENCES = (10, 20, 50, None)
DEFAULT = Policy("refined_penalized_log_loss", 20)  # what the second study tested
FORMER = Policy("penalized_brier", 10)  # the default before it
_LAST = Policy("last")
_CONTRASTS = (
    (DEFAULT, FORMER),
    (DEFAULT, Policy("log_loss", 10)),
    (DEFAULT, Policy("refined_log_loss", 20)),
    (DEFAULT, _LAST),
)


def list_policies(plan):
    """Return every rule that looks at single stages, with every patience."""
    rules = [r for r in plan["rules"] if r != "last" and "smoothed" not in r]
    return [_LAST, *(Policy(rule, p) for rule in rules for p in PATIENCES)]


def describe_policies(evidence):
    """Return what the policies reach, as means over the families: policy -> dict."""
    regrets = evidence.regrets(list_policies(evidence.plan))
    return {
        policy: {
            "share": _mean(evidence, policy, SHARE),
            "f1": 100 * _mean(evidence, policy, TARGET),
            "log_loss": -_mean(evidence, policy, "calibrated_log_loss"),
            "worst": 100 * max(regret.values()),
            "mean": 100 * float(np.mean(list(regret.values()))),
        }
        for policy, regret in regrets.items()
    }


def _mean(evidence, policy, judge):
    return float(np.mean(list(evidence.family_means(policy, judge).values())))


def answer_policies(evidence):
    """List what each rule reaches with each patience."""
    lines = [
        [
            name_of(as_policy(policy).rule),
            _show_patience(policy),
            f"{row['share']:.2f}",
            f"{row['f1']:.2f}",
            f"{row['log_loss']:.3f}",
            f"{row['worst']:.2f}",
            f"{row['mean']:.2f}",
        ]
        for policy, row in describe_policies(evidence).items()
    ]
    header = [
        "rule",
        "patience",
        "share of the budget trained",
        "F1",
        "log loss recalibrated",
        "worst regret",
        "mean regret",
    ]
    contrasts = [
        line for both in _CONTRASTS for line in contrast_lines(evidence, *both)
    ]
    return [
        Heading(2, "Which rule, with which patience?"),
        Paragraph(
            "This question is not in the plan. We asked it after the answers above "
            "were known. A policy is a rule with a patience: training stops after that "
            "many stages without improvement. Means over the families; regret is the "
            "F1 lost to the best policy of this table in a family, in points. A share "
            "of 1 is the whole budget: 60 epochs of the networks, 150 stages of the "
            "other models."
        ),
        Table(header, lines),
        Paragraph(
            f"The second study tested {name_of(DEFAULT)} against {name_of(FORMER)}, "
            "the default before it. Contrasts in points of F1, with the data sets as "
            "units:"
        ),
        Table(["contrast", "data", *CONTRAST_HEADER], contrasts),
    ]


def _show_patience(policy):
    if policy == _LAST:
        return "–"
    return "all stages" if policy.patience is None else str(policy.patience)
