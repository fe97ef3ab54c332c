"""A table for each question of the comparison of rules."""

import math

import numpy as np

from studies._page import Paragraph, Table, interval, signed
from studies.rules.evidence import (
    BASELINE,
    PENALTIES,
    REFINED,
    SHORT,
    Policy,
    name_of,
)

_REFINED_RULES = (
    "refined_log_loss",
    "refined_brier",
    "refined_penalized_log_loss",
    REFINED,
)
CONTRAST_HEADER = [
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
    return f"{name_of(row['rule'])} − {name_of(row['baseline'])}"


def in_points(row):
    """Return the row with its difference in points."""
    return row | {key: 100 * row[key] for key in ("difference", "low", "high")}


def judge_interval(row, margin):
    """Say what an interval in points means, beside a margin that matters.

    Examples
    --------
    >>> judge_interval({"low": 0.6, "high": 1.0}, 0.5)
    'a gain that matters'
    >>> judge_interval({"low": -0.2, "high": 0.3}, 0.5)
    'no difference that matters'
    >>> judge_interval({"low": 0.2, "high": 1.0}, 0.5)
    'undecided, leaning to a gain'
    """
    low, high = row["low"], row["high"]
    if math.isnan(low):
        return "undecided"
    if -margin <= low and high <= margin:
        return "no difference that matters"
    for sign, word in ((1, "gain"), (-1, "loss")):
        least = min(sign * low, sign * high)
        if least > margin:
            return f"a {word} that matters"
        if least > 0:
            return f"undecided, leaning to a {word}"
    return "undecided"


def contrast_line(evidence, row, *start):
    """Return the cells of a contrast, after those that say what it is."""
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
                lines.append(contrast_line(evidence, row, family.title + how, rules))
    return [
        Table(["family", "rules", *CONTRAST_HEADER], lines),
        Paragraph(
            "All differences here are in points of macro F1 on the test part. The data "
            "sets are the units of the interval (Student's t) and of p (exact "
            "sign-flip test); p is not adjusted in this table."
        ),
    ]


def contrast_lines(evidence, choice, baseline):
    """Return a line for signals, one for tables, and one for all."""
    for data, families in evidence.groups().items():
        row = evidence.contrast(choice, baseline, families)
        yield contrast_line(evidence, row, pair(row), data)


def answer_rules(evidence):
    """Compare every rule with the log loss."""
    planned = []
    for row in evidence.planned_contrasts():
        *apart, pooled = contrast_lines(evidence, row["rule"], row["baseline"])
        planned += [[*line, "–"] for line in apart]
        planned.append([*pooled, f"{row['p_holm']:.3f}"])
    groups = evidence.groups()
    every = {"all": groups.pop("all")}
    columns = {f"all {data}": own for data, own in groups.items()}
    columns |= {family.title: [family] for family in evidence.families()} | every
    lines = [
        [
            SHORT[rule],
            *(show(evidence.contrast(rule, BASELINE, own)) for own in columns.values()),
        ]
        for rule in evidence.plan["rules"]
        if rule != BASELINE
    ]
    return [
        Paragraph(
            "The contrasts of the plan. Signals and tables are two populations, with "
            "different splits as well: it is not known which of the two makes them "
            "differ. The plan tests the mean over all, so only that "
            "has an adjusted p:"
        ),
        Table(["contrast", "data", *CONTRAST_HEADER, "p adjusted"], planned),
        Paragraph(
            "Every rule minus the log loss, with 95 % intervals. Macro F1, the rule "
            "that is the judge itself, is one of them:"
        ),
        Table(["rule", *columns], lines),
        Paragraph(_early_stopping(evidence)),
    ]


def _early_stopping(evidence):
    """Say what a patience of ten stages does to the main contrasts."""
    pairs = (
        (REFINED, BASELINE),
        ("penalized_brier", BASELINE),
        ("penalized_brier", "brier"),
    )
    texts = []
    for rules in pairs:
        policies = [Policy(rule, 10) for rule in rules]
        shown = (
            f"{data} {show(evidence.contrast(*policies, families))}"
            for data, families in evidence.groups().items()
        )
        texts.append(f"{SHORT[rules[0]]} − {SHORT[rules[1]]}: {', '.join(shown)}")
    return (
        "In all tables above each rule chooses among all stages the one with the best "
        "score (the checkpoint). With early stopping, after 10 stages without an "
        f"improvement: {'; '.join(texts)}."
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
    lines = [
        line
        for rule in _REFINED_RULES
        for line in contrast_lines(evidence, rule, "accuracy_then_brier")
    ]
    return [
        *parts,
        Paragraph(
            "Refined rules beside the largest penalty, which chooses by the accuracy:"
        ),
        Table(["contrast", "data", *CONTRAST_HEADER], lines),
    ]


def _penalty_name(penalty):
    if penalty == math.inf:
        return "infinite (accuracy, then the loss)"
    return {0: "none"}.get(penalty, str(penalty).replace(" x ", " × "))


_LOSSES = {  # judges, each with its factor and its digits
    "log loss as it is": ("log_loss", -1, 3),
    "log loss recalibrated": ("calibrated_log_loss", -1, 3),
    "Brier score recalibrated": ("calibrated_brier", -1, 3),
    "accuracy": ("accuracy", 100, 2),
}


def answer_probabilities(evidence):
    """List what each rule costs in losses and in accuracy, for each kind of data."""
    parts = [
        Paragraph(
            "Test losses of the chosen stage minus those of the stage that the log "
            "loss chooses, with 95 % intervals. Lower is better for losses, higher for "
            "accuracy (in points). Recalibrated means: by the temperature that is best "
            "on the validation data."
        )
    ]
    for data, families in evidence.groups().items():
        lines = [
            [
                SHORT[rule],
                *(
                    show(
                        evidence.contrast(rule, BASELINE, families, judge=judge),
                        factor,
                        digits,
                    )
                    for judge, factor, digits in _LOSSES.values()
                ),
            ]
            for rule in evidence.plan["rules"]
            if rule != BASELINE
        ]
        parts.append(Table([data, *_LOSSES], lines))
    return parts


def answer_smoothing(evidence):
    """Compare smoothed rules with those that are not."""
    pairs = (
        ("smoothed_accuracy", "accuracy"),
        ("smoothed_accuracy", BASELINE),
        (REFINED, "smoothed_accuracy"),
        ("smoothed_refined_penalized_brier", REFINED),
    )
    lines = [line for rules in pairs for line in contrast_lines(evidence, *rules)]
    return [
        Paragraph(
            "Smoothed means: a centred moving mean over "
            f"{evidence.plan['smoothing']} stages."
        ),
        Table(["contrast", "data", *CONTRAST_HEADER], lines),
    ]
