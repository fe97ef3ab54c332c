"""A table for each question of the comparison of rules."""

import math

import numpy as np

from benchmarks.studies.rules.evidence import (
    BASELINE,
    PENALTIES,
    SHORT,
    judge_interval,
)
from sklearn_superior.replication._page import Paragraph, Table, interval, signed

REFINED = "refined_penalized_brier"
_CONTRAST_HEADER = [
    "data sets",
    "Δ F1",
    "95 % interval",
    "higher / lower",
    "p",
    "in words",
]


def show(row, factor=100, digits=2):
    """Return a difference with its interval."""
    low, high = sorted((factor * row["low"], factor * row["high"]))
    difference = signed(factor * row["difference"], digits)
    return f"{difference} ({interval(low, high, digits)})"


def pair(row):
    """Return the names of both rules."""
    return f"{SHORT[row['rule']]} − {SHORT[row['baseline']]}"


def in_points(row):
    """Return the row with its difference in points."""
    return row | {key: 100 * row[key] for key in ("difference", "low", "high")}


def _contrast_line(evidence, row, *start):
    points = in_points(row)
    return [
        *start,
        str(row["n"]),
        signed(points["difference"]),
        interval(points["low"], points["high"]),
        f"{row['n_up']} / {row['n_down']}",
        f"{row['p_value']:.3f}",
        judge_interval(points, evidence.plan["margin"]),
    ]


def answer_paper(evidence):
    """Compare each penalized rule with its plain form, family by family."""
    lines = []
    for family in evidence.families():
        losses = ("log_loss", "brier") if family.estimators == ("cnn",) else (BASELINE,)
        for loss in losses:
            for rule in ("brier", "log_loss"):
                row = evidence.contrast(f"penalized_{rule}", rule, [family], loss=loss)
                how = "" if loss == BASELINE else ", trained with the Brier score"
                rules = {"brier": "PBS − BS", "log_loss": "PLL − LL"}[rule]
                lines.append(_contrast_line(evidence, row, family.title + how, rules))
    return [
        Table(["family", "rules", *_CONTRAST_HEADER], lines),
        Paragraph(
            "All differences here are in points of macro F1 on the test part. The data "
            "sets are the units of the interval (Student's t) and of p (exact "
            "sign-flip test); p is not adjusted in this table."
        ),
    ]


def answer_rules(evidence):
    """Compare every rule with the log loss."""
    planned = [
        [*_contrast_line(evidence, row, pair(row)), f"{row['p_holm']:.3f}"]
        for row in evidence.planned_contrasts()
    ]
    families = evidence.families()
    groups = {
        f"all {data}": [family for family in families if family.data == data]
        for data in evidence.plan["data"]
    }
    groups |= {family.title: [family] for family in families}
    groups = {title: own for title, own in groups.items() if own}
    lines = []
    for rule in evidence.plan["rules"]:
        if rule == BASELINE:
            continue
        row = in_points(evidence.contrast(rule, BASELINE))
        cells = [signed(row["difference"]), interval(row["low"], row["high"])]
        for own in groups.values():
            cells.append(show(evidence.contrast(rule, BASELINE, own)))
        lines.append([SHORT[rule], *cells])
    return [
        Paragraph("The contrasts of the plan, over all data sets and families:"),
        Table(["contrast", *_CONTRAST_HEADER, "p adjusted"], planned),
        Paragraph(
            "Every rule minus the log loss, over all and in each family, with 95 % "
            "intervals:"
        ),
        Table(["rule", "all", "95 % interval", *groups], lines),
        Paragraph(_early_stopping(evidence)),
    ]


def _early_stopping(evidence):
    """Say what a patience of ten stages does to the main contrasts."""
    pairs = (
        (REFINED, BASELINE),
        ("penalized_brier", BASELINE),
        ("penalized_brier", "brier"),
    )
    rows = [evidence.contrast(*pair, selection="ES") for pair in pairs]
    texts = [f"{pair(row)} {show(row)}" for row in rows]
    return (
        "All choices here are the best of all stages (the checkpoint). With early "
        f"stopping, after 10 stages without an improvement: {'; '.join(texts)}."
    )


def answer_robustness(evidence):
    """List how far each rule is from the best one."""
    families = evidence.families()
    regrets = evidence.regrets()
    order = sorted(regrets, key=lambda rule: max(regrets[rule].values()))
    lines = [
        [
            SHORT[rule],
            f"{100 * max(regrets[rule].values()):.2f}",
            f"{100 * np.mean(list(regrets[rule].values())):.2f}",
            *(f"{100 * regrets[rule][family]:.2f}" for family in families),
        ]
        for rule in order
    ]
    return [
        Paragraph(
            "Points of F1 that are lost to the best rule of the family, as means over "
            "its data sets. The rule with the lowest worst case is the one to "
            "recommend to somebody whose data one has not seen. The worst case has no "
            "interval: differences of a few tenths of a point mean nothing."
        ),
        Table(["rule", "worst", "mean", *(f.title for f in families)], lines),
    ]


def answer_penalty(evidence):
    """List what each penalty reaches."""
    families = evidence.families()
    parts = []
    for rule in ("brier", "log_loss"):
        paths = [evidence.penalty_path(family, rule) for family in families]
        lines = [
            [_penalty_name(penalty), *(f"{100 * path[k]:.2f}" for path in paths)]
            for k, penalty in enumerate(PENALTIES)
        ]
        parts += [
            Paragraph(
                f"F1 on test data of the stage that is chosen by the {SHORT[rule]} "
                "plus the penalty times the error rate:"
            ),
            Table(["penalty", *(f.title for f in families)], lines),
        ]
    return parts


def _penalty_name(penalty):
    if penalty == math.inf:
        return "infinite (accuracy, then the loss)"
    return {0: "none"}.get(penalty, str(penalty).replace(" x ", " × "))


def answer_probabilities(evidence):
    """List what each rule costs in losses and in accuracy."""
    lines = []
    for rule in evidence.plan["rules"]:
        cells = [SHORT[rule]]
        for judge, factor in (
            ("log_loss", -1),
            ("calibrated_log_loss", -1),
            ("calibrated_brier", -1),
            ("accuracy", 100),
        ):
            row = evidence.contrast(rule, BASELINE, judge=judge)
            shown = show(row, factor, 2 if factor == 100 else 3)
            cells.append("0" if rule == BASELINE else shown)
        lines.append(cells)
    return [
        Paragraph(
            "Test losses of the chosen stage minus those of the stage that the log "
            "loss chooses, over all data sets and families, with 95 % intervals. Lower "
            "is better for losses, higher for accuracy (in points). Recalibrated "
            "means: by the temperature that is best on the validation part."
        ),
        Table(
            [
                "rule",
                "log loss as it is",
                "log loss recalibrated",
                "Brier score recalibrated",
                "accuracy",
            ],
            lines,
        ),
    ]


def answer_smoothing(evidence):
    """Compare smoothed rules with those that are not."""
    pairs = (
        ("smoothed_accuracy", "accuracy"),
        ("smoothed_accuracy", BASELINE),
        (REFINED, "smoothed_accuracy"),
        ("smoothed_refined_penalized_brier", REFINED),
    )
    lines = []
    for rule, baseline in pairs:
        for data in evidence.plan["data"]:
            families = [f for f in evidence.families() if f.data == data]
            row = evidence.contrast(rule, baseline, families)
            if row["n"]:
                lines.append(_contrast_line(evidence, row, pair(row), data))
    return [
        Paragraph(
            "Smoothed means: a centred moving mean over "
            f"{evidence.plan['smoothing']} stages."
        ),
        Table(["contrast", "data", *_CONTRAST_HEADER], lines),
    ]
