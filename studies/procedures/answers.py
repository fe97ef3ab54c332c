"""The answers of the comparison of procedures: five sentences, then the details."""

import math

from studies._evidence import KINDS, Study
from studies._figures import KIND_NAMES, draw_forest, draw_reliability
from studies._measures import f1_gain, log_ratio
from studies._page import (
    Bullets,
    Figures,
    Heading,
    Paragraph,
    Table,
)
from studies._report import Answer
from studies._statistics import summarize
from studies._wording import (
    DIGITS,
    count_rounds,
    judge,
    list_results,
    say_results,
    show,
)
from studies.procedures import descriptions, tables
from studies.procedures.analysis import (
    BASELINE,
    HYPOTHESES,
    REFINED,
    RULES,
    five_results,
)
from studies.procedures.data import COPIES
from studies.procedures.figures import AXES, draw_frontier, draw_rules, list_frontiers

CHANGES = {
    "H1": "on signals, choosing the stage by refined PLL instead of the log loss "
    "changes macro F1 by",
    "H2": "on signals, choosing the stage by PBS instead of the Brier score changes "
    "macro F1 by",
    "H3": "early stopping by refined PLL with a patience of 20, recalibrated, instead "
    "of PBS with a patience of 10 changes the log loss by",
    "H4": "on tables, choosing the stage by refined PLL instead of the log loss "
    "changes macro F1 by",
    "H5": 'StagedSearchCV with refit="all" instead of early stopping changes the log '
    "loss by",
}


def answer(plan, records):
    """Return what the records say."""
    study = Study(plan, records)
    if not study.sets():
        return Answer([Paragraph("No data set is complete, so there is no answer.")])
    results = five_results(plan, study)
    return Answer(
        [
            Heading(2, "Questions and answers"),
            Bullets(say_results(results, HYPOTHESES, CHANGES, plan["margin"])),
            Paragraph(say_how(study)),
            Heading(2, "What follows"),
            Bullets(list(decide(study, results))),
            *show_advice(study, results),
            *draw_all(study, results),
        ],
        [
            *show_results(study, results),
            *(part for section in tables.ALL for part in section(study)),
            Heading(2, "Limits"),
            Bullets(list(list_limits(study))),
        ],
        tables.show_sets(study),
    )


def say_how(study):
    """Say what the answers are based on, and how to read them."""
    hours = sum(record["seconds"] for record in study.records) / 3600
    return (
        f"{len(study.records)} trainings in {hours:.1f} hours of one core; "
        f"{count_new(study)}; {count_rounds(study)}. In brackets: 95 % intervals "
        "(Student's t). The units are data sets; those that share data are one unit. p "
        "comes from an exact sign-flip test, adjusted for five tests by Holm's method. "
        "A hypothesis holds if it is below 0.05. Log points are 100 times the "
        "logarithm of a ratio: −10 log points are 9.5 % less, −50 are 39 % less. Plan "
        "and analysis were committed before the first training. On this page, the "
        "default of early stopping is the one at that time: refined PLL with a "
        "patience of 20 and any temperature."
    )


def count_new(study):
    """Say how many data sets there are, and how many are new."""
    names, related = study.sets(), tables.find_related(study)
    text = f"{len(names)} data sets"
    if not related:
        return f"{text} that no earlier comparison had used"
    return (
        f"{text}, {len(names) - len(related)} of which no earlier comparison had used "
        f"({', '.join(related)} shares data with the pilot)"
    ).replace("_", " ")


def decide(study, results):
    """Say what follows for the package, by the rules of the plan."""
    by_name = {result["name"]: result for result in results}
    yield (
        "H3 holds: the default of early stopping stays refined PLL with a patience of "
        "20 and a temperature."
        if by_name["H3"]["holds"]
        else "H3 does not hold: the default of early stopping changes back to PBS with "
        "a patience of 10, without a temperature."
    )
    refit, lost = descriptions.choose_refit(study)
    other = next(name for name in descriptions.REFITS if name != refit)
    if math.isfinite(lost[refit]):
        yield (
            f'By the rule of the plan, refit="{refit}" is the default of '
            "StagedSearchCV: in its worst kind of data it loses "
            f'{lost[refit]:.1f} log points to "{other}", which loses '
            f"{lost[other]:.1f} in its worst."
        )
    yield _say_where_refit_fails(study)
    yield (
        "What the package does today was decided later, on these and other records: "
        "the refined log loss with a patience of 20 and a temperature of at least 1, "
        'and refit="all". See defaults.md in the folder of the records.'
    )


def _say_where_refit_fails(study):
    rows = descriptions.of_kinds(study, log_ratio("all", "default"), KINDS)
    rows = {kind: row for kind, row in rows.items() if row["n"]}
    texts = {kind: f"{KIND_NAMES[kind]} {show(row, 1)}" for kind, row in rows.items()}
    good = [texts[kind] for kind, row in rows.items() if row["high"] < 0]
    bad = [text for text in texts.values() if text not in good]
    start = 'Against early stopping, in log points of log loss, refit="all" is'
    if not bad:
        return f"{start} better in every kind of data: {'; '.join(good)}."
    end = f", and better on {'; '.join(good)}" if good else ""
    return f"{start} not clearly better on {'; '.join(bad)}{end}."


def show_advice(study, results):
    """Return the table of what to use when."""
    holds = {result["name"]: result["holds"] for result in results}
    rules = descriptions.of_kinds(study, f1_gain(REFINED, BASELINE), KINDS)
    refits = descriptions.compare_refits(study)
    seconds = descriptions.compare_seconds(study)
    lines = []
    for kind in KINDS:
        rule = rules[kind]
        if not rule["n"]:
            continue
        lines.append(
            [
                f"{KIND_NAMES[kind]}: rule",
                advise_rule(rule, study.plan["margin"]),
                f"{show(rule)} points of F1",
                say_certainty(kind, rule, holds),
                "–",
            ]
        )
        ratios = {way: refits[way, "default"][kind] for way in descriptions.REFITS}
        way = min(ratios, key=lambda name: ratios[name]["difference"])
        is_better = ratios[way]["difference"] < 0
        lines.append(
            [
                f"{KIND_NAMES[kind]}: procedure",
                f'refit="{way}"' if is_better else "early stopping",
                f"{show(ratios[way], 1)} log points",
                judge(ratios[way]),
                f"× {seconds[way][kind][1] if is_better else 1:.1f}",
            ]
        )
    return [
        Heading(2, "What to use when"),
        Table(["data", "use", "difference", "certainty", "time"], lines),
        Paragraph(
            "Rules: refined PLL against the log loss. H1 tests on signals whether it "
            "is better. H4 tests on tables whether the two are equivalent, that is, "
            "within the margin; a difference is not what it tests. Procedures: the "
            "better refit of StagedSearchCV against early stopping with its default. "
            "Clear means that the interval for this kind of data excludes 0. This is "
            "not a test, and not adjusted for the number of kinds."
        ),
    ]


def say_certainty(kind, row, holds):
    """Say how certain the difference of two rules is on a kind of data.

    Examples
    --------
    >>> say_certainty("tables", {"low": 0.1, "high": 0.6}, {"H4": False})
    'clear; equivalence (H4) was not shown'
    """
    if kind == "signals":
        return f"tested by H1, which {'holds' if holds['H1'] else 'does not hold'}"
    if kind == "tables":
        verdict = "was" if holds["H4"] else "was not"
        return f"{judge(row)}; equivalence (H4) {verdict} shown"
    return judge(row)


def advise_rule(row, margin):
    """Say which of two rules to take.

    Examples
    --------
    >>> advise_rule({"low": 0.1, "high": 2.0}, 0.5)
    'refined PLL'
    >>> advise_rule({"low": -0.1, "high": 0.2}, 0.5)
    'either'
    >>> advise_rule({"low": -0.1, "high": 2.0}, 0.5)
    'open; the default is refined PLL'
    """
    if -margin <= row["low"] and row["high"] <= margin:
        return "either"
    if row["low"] > 0:
        return "refined PLL"
    return "log loss" if row["high"] < 0 else "open; the default is refined PLL"


def show_results(study, results):
    """Return the table of the five tests, and what all data sets say."""
    n_seen = len(study.plan["seen"])
    header, lines = list_results(results, HYPOTHESES)
    for line, hypothesis in zip(lines, HYPOTHESES, strict=True):
        with_seen = summarize_with_seen(study, hypothesis)
        line.append(show(with_seen, DIGITS[hypothesis.unit]))
    header.append("with the sets of the pilot")
    return [
        Heading(2, "The five tests"),
        Bullets(list(study.plan["questions"])),
        Table(header, lines),
        Paragraph(
            f"The last column includes the {n_seen} data sets that were used in a "
            "pilot; it is not tested. Nothing else on this page is a test, and no "
            "interval is adjusted for their number."
        ),
    ]


def summarize_with_seen(study, hypothesis):
    """Return mean and interval of a hypothesis over all data sets."""
    values = study.values(hypothesis.measure, hypothesis.kinds, seen=True)
    return summarize(study.units(values).values())


def draw_all(study, results):
    """Return the figures: a forest for each hypothesis, rules, and the frontier."""
    margin = study.plan["margin"]
    h1, h2, h3, h4, h5 = (
        draw_forest(study, hypothesis, result, margin, AXES[hypothesis.name])
        for hypothesis, result in zip(HYPOTHESES, results, strict=True)
    )
    rules = [rule for rule in RULES if rule != BASELINE]
    frontiers = list_frontiers(study)
    both = (("loss_lost", "log points lost"), ("f1_lost", "points of F1 lost"))
    return [
        Heading(2, "The five differences, data set by data set"),
        Paragraph(
            "Points are data sets; thin lines span their models. The black diamond is "
            "the mean over the units with its 95 % interval. Data sets with a star "
            "share data with another one. Values beyond the axis are arrows with a "
            "number, or lines that are cut."
        ),
        Figures(
            [h1, h2],
            "H1 and H2: F1 on test data of the stage that one rule chooses, minus that "
            "of the other. Right is better. Open circles: the same signals, split at "
            "random; they are not tested.",
        ),
        Figures(
            [h3, h5],
            "H3 and H5: log points of log loss on test data. Left is better. Coloured "
            "diamonds are the means of each kind, which are not tested.",
        ),
        Figures(
            [h4, draw_rules(study, rules, margin)],
            "H4: is the difference within the grey band, less than "
            f"{margin} points? Beside it, every rule against the log loss: means and "
            "95 % intervals for each kind.",
        ),
        Heading(2, "Quality against cost"),
        Paragraph(
            "What a rule with a patience loses to the best of all rules and patiences, "
            "model by model: means over the units of all kinds. A table below has the "
            "means over all models."
        ),
        Figures(
            [
                draw_frontier(frontiers, key, text, tables.RULES_OF_FRONTIER)
                for key, text in both
            ],
            "Lower and further left is better. Rings: refined PLL with a patience of "
            "20 (the default) and PBS with a patience of 10 (the former one). The log "
            "loss of a refined rule is that after recalibration.",
        ),
        Figures(
            [draw_reliability(study, tables.WAY_NAMES)],
            "Reliability of what is shipped: share of correct predictions in 15 bins "
            "of the highest probability, all trainings of a kind together. Bins with "
            "fewer than 30 rows are left out. On the line is calibrated, below it "
            "overconfident.",
        ),
    ]


def list_limits(study):
    """List the limits of the answers."""
    plan = study.plan
    names = [name for name in study.missing if name not in plan["seen"]]
    yield (
        f"These are incomplete and left out: {', '.join(names)}."
        if names
        else "No data set of the plan is missing."
    ).replace("_", " ")
    n_late = sum(record["job"]["fold"] not in study.folds for record in study.records)
    yield (
        f"{count_rounds(study)} count; {n_late} trainings of incomplete rounds are "
        "left out by rule. The clock may end the run, a result may not."
    )
    yield from _list_problems(study)
    yield (
        f"{len(plan['seen'])} data sets had been used in a pilot. They are left out "
        "of everything but the last column of the five tests."
    )
    if related := tables.find_related(study):
        yield (
            f"{', '.join(related)} shares data with the pilot, as the families of the "
            "plan say, but was not left out."
        ).replace("_", " ")
    if copied := {name: COPIES[name] for name in study.sets() if name in COPIES}:
        texts = [f"{name} {share:.0f} %" for name, share in copied.items()]
        yield (
            f"In {len(copied)} data sets, more than 5 % of the test rows have an exact "
            f"copy among the training rows: {', '.join(texts)}. They favour models "
            "that memorise. A table above shows H3 without them."
        )
    yield (
        "The value of a data set is the mean over its models. A single model may "
        "differ."
    )
    yield (
        "There is one seed for each training, and one partition of each data set. The "
        "intervals are about other data sets, not about other seeds."
    )
    yield from _list_cuts(plan)
    yield (
        f"The best stage is the last one by {tables.show_last_stages(study)} of the "
        "trainings. With a larger budget, another stage might be chosen there."
    )
    yield (
        "Tables are split at random, even those whose rows are in time order. Signals "
        "are split by groups where there are groups, else at random."
    )
    yield (
        "In log points every data set counts the same, however small its log loss is. "
        "Data sets with a large log loss dominate differences in nats."
    )
    yield "The models are small. Nothing is known about large networks."


def _list_problems(study):
    if study.failures:
        jobs = [record["job"] for record in study.failures]
        texts = [f"{job['estimator']} on {job['dataset']}" for job in jobs]
        names = ", ".join(sorted(set(texts))).replace("_", " ")
        yield f"Trainings that failed and have no values: {len(jobs)} ({names})."
    n_diverged, n_lost = descriptions.count_diverged(study)
    if n_diverged:
        yield (
            "Trainings with stages that diverged, which are never chosen: "
            f"{n_diverged}; with no other stage: {n_lost}."
        )


def _list_cuts(plan):
    settings = plan.settings
    if "most_rows" in settings:
        yield (
            f"Large data sets were subsampled: {settings['most_rows']} training rows "
            f"and {settings['most_test_rows']} test rows, "
            f"{settings['most_tuned_rows']} training rows for tuned models."
        )
    if "most_points" in settings:
        yield (
            f"Signals longer than {settings['most_points']} points were averaged down."
        )
