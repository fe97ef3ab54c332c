"""The answers of the comparison of rules: in short first, then a table per question."""

import math

import numpy as np

from studies._page import (
    Bullets,
    Figures,
    Heading,
    Links,
    Paragraph,
    Table,
    interval,
    signed,
)
from studies._report import Answer
from studies.rules.evidence import BASELINE, REFINED, SHORT, Evidence
from studies.rules.figures import draw_forest, draw_paths
from studies.rules.policies import (
    DEFAULT,
    FORMER,
    answer_policies,
    describe_policies,
)
from studies.rules.questions import (
    answer_paper,
    answer_penalty,
    answer_probabilities,
    answer_robustness,
    answer_rules,
    answer_smoothing,
    show,
)
from studies.rules.trainings import NAMES


def answer(plan, records):
    """Return what the records say."""
    evidence = Evidence(plan, records)
    if not evidence.families():
        text = "No family of models is complete on any data set, so there is no answer."
        return Answer([Paragraph(text)])
    figures = Figures(
        [draw_forest(evidence), draw_paths(evidence)],
        "First: F1 on test data of the stage that a rule chooses, minus that of "
        "the log loss: means over the data sets with their 95 % intervals, signals and "
        f"tables apart; the grey band is ±{plan['margin']} points. Second: F1 of the "
        "stage that is chosen by the Brier score plus a penalty times the error rate, "
        "minus that without a penalty.",
    )
    sections = [
        answer_paper(evidence),
        answer_rules(evidence),
        answer_robustness(evidence),
        answer_penalty(evidence),
        answer_probabilities(evidence),
        answer_smoothing(evidence),
    ]
    return Answer(
        [Bullets(list(sum_up(evidence))), figures, Paragraph(_budget(evidence))],
        [
            part
            for question, own in zip(plan["questions"], sections, strict=True)
            for part in (Heading(2, question), *own)
        ]
        + answer_policies(evidence)
        + _answer_network(evidence)
        + [Heading(2, "Limits"), Bullets(list(list_limits(evidence)))],
        _appendix(evidence),
    )


def sum_up(evidence):
    """Sum up the results in six sentences."""
    yield _say_whether_to_choose(evidence)
    yield _say_policy(evidence)
    regrets = evidence.regrets()
    worst = {rule: max(regrets[rule].values(), default=math.nan) for rule in regrets}
    best = {
        family: min(regrets, key=lambda rule: regrets[rule][family])
        for family in evidence.families()
    }
    order = sorted(worst, key=worst.get)
    winners = len(set(best.values()))
    text = (
        f"{winners} different rules are the best in {len(best)} families of models "
        "and data: no rule wins everywhere."
        if winners > 1
        else f"{SHORT[order[0]]} is the best rule in every family of models and data."
    )
    ranked = "; ".join(
        f"{SHORT[rule]} {100 * worst[rule]:.1f}"
        for rule in order
        if not rule.startswith("smoothed")
    )
    yield f"{text} Points of F1 lost to the best rule in the worst family: {ranked}."
    brier, log, refined, *_ = (
        _say(evidence, row) for row in evidence.planned_contrasts()
    )
    yield f"The paper's question, in points of F1: {brier}; {log}."
    f1 = _say(evidence, evidence.contrast("f1_macro", BASELINE))
    yield f"Beyond the paper: {refined}; {f1}, the judge itself as the rule."
    cost = evidence.contrast(REFINED, BASELINE, judge="calibrated_log_loss")
    raw = evidence.contrast(REFINED, BASELINE, judge="log_loss")
    yield (
        "With refined PBS instead of the log loss, the log loss of the chosen model on "
        f"test data changes by {show(cost, -1, 3)} after recalibration, and by "
        f"{show(raw, -1, 3)} without it: ship the temperature."
    )


def _say_whether_to_choose(evidence):
    (dataset, estimator, _), loss = evidence.worst_last_stage()
    row = evidence.contrast(REFINED, "last")
    rest = evidence.contrast(REFINED, "last", without=[dataset])
    return (
        "Choosing a stage protects against the worst: the last stage loses up to "
        f"{-100 * loss:.0f} points of F1 to the choice of refined PBS "
        f"({NAMES[estimator]} on {dataset.replace('_', ' ')}). It does not beat the "
        f"last stage of a sensible budget: {show(row)}, p {row['p_value']:.3f}; "
        f"without {dataset.replace('_', ' ')} {show(rest)}."
    )


def _say_policy(evidence):
    policies = describe_policies(evidence)
    own, former = policies[DEFAULT], policies[FORMER]
    gain = evidence.contrast(DEFAULT, FORMER)
    return (
        f"Refined PLL with a patience of 20 trains {100 * own['share']:.0f} % of the "
        f"budget and loses {own['worst']:.1f} points to the best policy in the worst "
        f"family; PBS with a patience of 10 loses {former['worst']:.1f}. The "
        f"difference between the two is {show(gain)}. The plan did not ask for this."
    )


def _say(evidence, row):
    rule, baseline = (SHORT[row[k]].split(" (")[0] for k in ("rule", "baseline"))
    of_data = ", ".join(
        f"{data} {show(evidence.contrast(row['rule'], row['baseline'], families))}"
        for data, families in evidence.groups().items()
    )
    if "p_holm" in row:
        of_data += f", adjusted p {row['p_holm']:.3f}"
    return f"{rule} instead of {baseline}, {of_data}"


def list_limits(evidence):
    """List the limits of the answers."""
    yield (
        "The seven signal sets had been analysed before the plan was written, in the "
        "replication of the paper's experiments. So for them the plan was not blind."
    )
    yield "The report was looked at once before the last training was done."
    yield (
        "Signals and tables differ in the kind of data and in the kind of split: "
        "blocks of time for signals, random rows for tables. Which of the two makes "
        "their results differ is not known. A mean over both depends on how many there "
        "are of each."
    )
    n_tied, n_all = evidence.count_ties()
    yield (
        "The plan says: of equal stages the first. This report breaks ties by the log "
        f"loss, because accuracy is tied among several stages in {n_tied} of {n_all} "
        "trainings, and the first of them is the least trained. With the first of "
        "equals, accuracy lost 1.9 points in the worst family: an artefact."
    )
    yield (
        "Rules with a patience were compared after all this was known, on the same "
        "records. Their gains are likely to be smaller on other data."
    )
    yield (
        "Temperatures were fitted by the log loss alone. What a prior on the "
        "temperature would change is not in these records."
    )
    yield (
        "The models are small, and fewer trainings than planned were done. Nothing is "
        "known about large networks."
    )


def _budget(evidence):
    plan = evidence.plan
    n_sets = len({dataset for dataset, _, _ in evidence.comparisons})
    return (
        f"Budget: {len(evidence.records)} of {len(plan.make_jobs())} planned "
        f"trainings, {n_sets} data sets, {evidence.hours:.1f} hours of one core, "
        f"networks on at most {plan['data']['signals']['most_rows']} windows."
    )


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
            "is the corrected resampled t over the folds. It describes other splits of "
            "the same data and says nothing about other data."
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
