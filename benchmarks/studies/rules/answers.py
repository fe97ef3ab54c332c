"""The answers of the comparison of rules: in short first, then a table per question."""

import math

import numpy as np

from benchmarks.studies._report import Answer
from benchmarks.studies.rules.evidence import (
    BASELINE,
    PENALTIES,
    SHORT,
    Evidence,
    judge_interval,
)
from benchmarks.studies.rules.figures import draw_forest, draw_paths
from benchmarks.studies.rules.trainings import NAMES
from sklearn_superior.replication._page import (
    Bullets,
    Figures,
    Heading,
    Links,
    Paragraph,
    Table,
    interval,
    signed,
)

_REFINED = "refined_penalized_brier"
_CONTRAST_HEADER = [
    "data sets",
    "Δ F1",
    "95 % interval",
    "higher / lower",
    "p",
    "in words",
]


def answer(plan, records):
    """Return what the records say."""
    evidence = Evidence(plan, records)
    if not evidence.families():
        text = "No family of models is complete on any data set, so there is no answer."
        return Answer([Paragraph(text)])
    figures = Figures(
        [draw_forest(evidence), draw_paths(evidence)],
        "First: F1 on test data of the stage that a rule chooses, minus that of "
        "the log loss: mean over the data sets with its 95 % interval; the grey "
        f"band is ±{plan['margin']} points. Second: F1 of the stage that is chosen "
        "by the Brier score plus a penalty times the error rate, minus that "
        "without a penalty.",
    )
    sections = [
        _answer_paper(evidence),
        _answer_rules(evidence),
        _answer_robustness(evidence),
        _answer_penalty(evidence),
        _answer_probabilities(evidence),
        _answer_smoothing(evidence),
    ]
    return Answer(
        [Bullets(list(sum_up(evidence))), figures, Paragraph(_budget(evidence))],
        [
            part
            for question, own in zip(plan["questions"], sections, strict=True)
            for part in (Heading(2, question), *own)
        ]
        + _answer_network(evidence),
        _appendix(evidence),
    )


def sum_up(evidence):
    """Say in five sentences what came out."""
    regrets = evidence.regrets()
    worst = {rule: max(regrets[rule].values(), default=math.nan) for rule in regrets}
    best = {
        family: min(regrets, key=lambda rule: regrets[rule][family])
        for family in evidence.families()
    }
    order = sorted(worst, key=worst.get)
    winners = len(set(best.values()))
    yield (
        f"{winners} different rules are the best in {len(best)} families of models "
        "and data: no rule wins everywhere."
        if winners > 1
        else f"{SHORT[order[0]]} is the best rule in every family of models and data."
    )
    ranked = "; ".join(f"{SHORT[rule]} {100 * worst[rule]:.1f}" for rule in order[:3])
    yield (
        "For data that one has not seen: the fewest points of F1 lost to the best rule "
        f"in the worst family are those of {ranked}, while the log loss loses "
        f"{100 * worst[BASELINE]:.1f}, PBS {100 * worst['penalized_brier']:.1f} and "
        f"the last stage {100 * worst['last']:.1f}."
    )
    first, second, refined, accuracy, last, _ = evidence.planned_contrasts()
    margin = evidence.plan["margin"]
    of_paper, beyond = (
        "; ".join(_say(row, margin) for row in group)
        for group in ((first, second), (refined, accuracy, last))
    )
    yield f"The paper's question: {of_paper}."
    yield f"Beyond the paper: {beyond}."
    cost = evidence.contrast(_REFINED, BASELINE, judge="calibrated_log_loss")
    raw = evidence.contrast(_REFINED, BASELINE, judge="log_loss")
    yield (
        "With refined PBS instead of the log loss, the log loss of the chosen model on "
        f"test data changes by {_show(cost, -1, 3)} after recalibration, and by "
        f"{_show(raw, -1, 3)} without it: ship the temperature."
    )


def _say(row, margin):
    points = _in_points(row)
    rule, baseline = (SHORT[row[k]].split(" (")[0] for k in ("rule", "baseline"))
    return (
        f"{rule} instead of {baseline} changes F1 by "
        f"{signed(points['difference'])} points "
        f"({interval(points['low'], points['high'])}; adjusted p "
        f"{row['p_holm']:.2f}), {judge_interval(points, margin)}"
    )


def _show(row, factor=100, digits=2):
    """Return a difference with its interval."""
    low, high = sorted((factor * row["low"], factor * row["high"]))
    difference = signed(factor * row["difference"], digits)
    return f"{difference} ({interval(low, high, digits)})"


def _pair(row):
    return f"{SHORT[row['rule']]} − {SHORT[row['baseline']]}"


def _in_points(row):
    return row | {key: 100 * row[key] for key in ("difference", "low", "high")}


def _budget(evidence):
    plan = evidence.plan
    n_sets = len({dataset for dataset, _, _ in evidence.comparisons})
    return (
        f"Budget: {len(evidence.records)} of {len(plan.make_jobs())} planned "
        f"trainings, {n_sets} data sets, {evidence.hours:.1f} hours of one core, "
        f"networks on at most {plan['data']['signals']['most_rows']} windows."
    )


def _contrast_line(evidence, row, *start):
    points = _in_points(row)
    return [
        *start,
        str(row["n"]),
        signed(points["difference"]),
        interval(points["low"], points["high"]),
        f"{row['n_up']} / {row['n_down']}",
        f"{row['p_value']:.3f}",
        judge_interval(points, evidence.plan["margin"]),
    ]


def _answer_paper(evidence):
    lines = []
    for family in evidence.families():
        losses = ("log_loss", "brier") if family.estimators == ("cnn",) else (BASELINE,)
        for loss in losses:
            for rule in ("brier", "log_loss"):
                row = evidence.contrast(f"penalized_{rule}", rule, [family], loss=loss)
                how = "" if loss == BASELINE else ", trained with the Brier score"
                pair = {"brier": "PBS − BS", "log_loss": "PLL − LL"}[rule]
                lines.append(_contrast_line(evidence, row, family.title + how, pair))
    return [
        Table(["family", "rules", *_CONTRAST_HEADER], lines),
        Paragraph(
            "All differences here are in points of macro F1 on the test part. The data "
            "sets are the units of the interval (Student's t) and of p (exact "
            "sign-flip test); p is not adjusted in this table."
        ),
    ]


def _answer_rules(evidence):
    planned = [
        [*_contrast_line(evidence, row, _pair(row)), f"{row['p_holm']:.3f}"]
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
        row = _in_points(evidence.contrast(rule, BASELINE))
        cells = [signed(row["difference"]), interval(row["low"], row["high"])]
        for own in groups.values():
            cells.append(_show(evidence.contrast(rule, BASELINE, own)))
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
        (_REFINED, BASELINE),
        ("penalized_brier", BASELINE),
        ("penalized_brier", "brier"),
    )
    rows = [evidence.contrast(*pair, selection="ES") for pair in pairs]
    texts = [f"{_pair(row)} {_show(row)}" for row in rows]
    return (
        "All choices here are the best of all stages (the checkpoint). With early "
        f"stopping, after 10 stages without an improvement: {'; '.join(texts)}."
    )


def _answer_robustness(evidence):
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


def _answer_penalty(evidence):
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


def _answer_probabilities(evidence):
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
            shown = _show(row, factor, 2 if factor == 100 else 3)
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


def _answer_smoothing(evidence):
    pairs = (
        ("smoothed_accuracy", "accuracy"),
        ("smoothed_accuracy", BASELINE),
        (_REFINED, "smoothed_accuracy"),
        ("smoothed_refined_penalized_brier", _REFINED),
    )
    lines = []
    for rule, baseline in pairs:
        for data in evidence.plan["data"]:
            families = [f for f in evidence.families() if f.data == data]
            row = evidence.contrast(rule, baseline, families)
            if row["n"]:
                lines.append(_contrast_line(evidence, row, _pair(row), data))
    return [
        Paragraph(
            "Smoothed means: a centred moving mean over "
            f"{evidence.plan['smoothing']} stages."
        ),
        Table(["contrast", "data", *_CONTRAST_HEADER], lines),
    ]


def _answer_network(evidence):
    """Compare the network with that of the notebook, fold by fold."""
    lines, gains = [], []
    for dataset in evidence.datasets("signals"):
        ours, notebook = (
            evidence.scores_of_folds((dataset, estimator, "log_loss"))
            for estimator in ("cnn", "cnn_relu")
        )
        shared = sorted(ours.keys() & notebook.keys())
        if not shared:
            continue
        levels = [
            100 * np.mean([scores[place] for place in shared])
            for scores in (ours, notebook)
        ]
        gains.append(levels[1] - levels[0])
        cells = [f"{level:.2f}" for level in levels]
        name = dataset.replace("_", " ")
        lines.append([name, str(len(shared)), *cells, signed(gains[-1])])
    if not lines:
        return []
    return [
        Heading(2, "Does the ReLU of the authors' notebook matter?"),
        Paragraph(
            "The text of the paper does not describe its network; the authors' "
            "notebook does. There the second and the third convolution have a ReLU "
            "before the batch normalisation, which the network of this package does "
            "not have. F1 on test data of the epoch that the log loss chooses, on the "
            f"same folds with the same seeds: on average {signed(np.mean(gains))} "
            "points for the network of the notebook."
        ),
        Table(["data set", "folds", "ours", "notebook", "Δ"], lines),
    ]


def _appendix(evidence):
    top = Heading(1, evidence.plan["title"])
    parts = [
        Heading(2, "Appendix: all data sets"),
        Paragraph(
            "Macro F1 on the test part in percent, mean and standard deviation over "
            "the trainings, and the difference to the log loss in points. The interval "
            "is the corrected resampled t over the folds: it is about other splits of "
            "the same data, and no evidence for other data."
        ),
        Links([("back to the answers", f"#{top.anchor}")]),
    ]
    for key in evidence.comparisons:
        dataset, estimator, loss = key
        how = ", trained with the Brier score" if loss == "brier" else ""
        title = f"{dataset.replace('_', ' ')}: {NAMES[estimator]}{how}"
        lines = [
            [
                SHORT[row["rule"]],
                f"{100 * row['mean']:.2f} ± {100 * row['std']:.2f}",
                signed(100 * row["difference"]),
                interval(100 * row["low"], 100 * row["high"]),
                f"{row['wins']} / {row['ties']} / {row['losses']}",
                f"{100 * row['regret']:.2f}",
            ]
            for row in evidence.summary(key)
        ]
        header = [
            "rule",
            "F1",
            "Δ",
            "95 % interval",
            "won / tied / lost",
            "to the best stage",
        ]
        parts += [Heading(3, title), Table(header, lines)]
    return parts
