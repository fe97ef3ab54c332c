"""The answers of the study of habits: five sentences, then the details."""

from studies._evidence import KINDS, Study
from studies._figures import draw_forest, draw_reliability
from studies._page import Bullets, Figures, Heading, Paragraph, Table
from studies._report import Answer
from studies._wording import (
    count_rounds,
    list_results,
    say_results,
)
from studies.habits import descriptions, tables
from studies.habits.analysis import five_results, make_hypotheses
from studies.habits.figures import draw_frontier

NAMES = {
    "hgb": "HistGradientBoosting",
    "lightgbm": "LightGBM",
    "mlp": "multilayer perceptron",
    "cnn": "convolutional network",
}
CHANGES = {
    "H1": "EarlyStoppingClassifier instead of the library's own early stopping changes "
    "the log loss by",
    "H2": "StagedSearchCV instead of the best mean round and a refit changes the log "
    "loss by",
    "H3": "StagedSearchCV instead of that habit changes macro F1 by",
    "H4": "on large data, StagedSearchCV instead of EarlyStoppingClassifier changes "
    "the log loss by",
    "H5": "on signals, choosing the stage by PLL instead of the log loss changes macro "
    "F1 by",
}
_AXES = {
    "H1": "log points: early stopping against the habit",
    "H2": "log points: search against the habit",
    "H3": "points of F1: search minus the habit",
    "H4": "log points: search against early stopping",
    "H5": "points of F1: PLL minus log loss",
}


def answer(plan, records):
    """Return what the records say."""
    study = Study(plan, records)
    if not study.sets():
        return Answer([Paragraph("No data set is complete, so there is no answer.")])
    results, hypotheses = five_results(plan, study), make_hypotheses(plan)
    return Answer(
        [
            Heading(2, "Questions and answers"),
            Bullets(say_results(results, hypotheses, CHANGES, plan["margin"])),
            Paragraph(say_how(study)),
            *tables.show_advice(study),
            *draw_all(study, results),
        ],
        [
            *show_results(plan, results),
            *(part for section in tables.ALL for part in section(study)),
            Heading(2, "Limits"),
            Bullets(list(list_limits(study))),
        ],
        tables.show_sets(study),
    )


def say_how(study):
    """Say what the answers are based on, and how to read them."""
    cpu, clock = (
        sum(record[key] for record in study.records) / 3600
        for key in ("cpu_seconds", "seconds")
    )
    commits = {record["plan_commit"][:10] for record in study.records}
    started = sorted(record["started"] for record in study.records)
    return (
        f"{len(study.records)} trainings in {cpu:.1f} hours of a processor and "
        f"{clock:.1f} by the clock, from {started[0]} to {started[-1]}; "
        f"{len(study.sets())} data sets that no earlier comparison had used; "
        f"{count_rounds(study)}. The plan is that of commit "
        f"{', '.join(sorted(commits))}. In brackets: 95 % intervals (Student's t). p "
        "comes from an exact sign-flip test over the data sets, adjusted for five "
        "tests by Holm's method. A hypothesis holds if it is below 0.05. Log points "
        "are 100 times the logarithm of a ratio of losses, which are pooled over the "
        "folds of a data set: −10 log points are 9.5 % less."
    )


def show_results(plan, results):
    """Return the table of the five tests."""
    header, lines = list_results(results, make_hypotheses(plan))
    return [
        Heading(2, "The five tests"),
        Bullets(list(plan["questions"])),
        Table(header, lines),
        Paragraph(
            "Nothing else on this page is a test, and no interval is adjusted for "
            "their number."
        ),
    ]


def draw_all(study, results):
    """Return the figures: a forest for each hypothesis, frontier, reliability."""
    plan = study.plan
    h1, h2, h3, h4, h5 = (
        draw_forest(study, hypothesis, result, plan["margin"], _AXES[hypothesis.name])
        for hypothesis, result in zip(make_hypotheses(plan), results, strict=True)
    )
    ways = ("stopping", "stopping_habit", "search", "search_habit")
    return [
        Heading(2, "The five differences, data set by data set"),
        Paragraph(
            "Points are data sets; thin lines span their models. The black diamond is "
            "the mean over the units with its 95 % interval, coloured ones are those "
            "of each kind, which are not tested. Values beyond the axis are arrows "
            "with a number, or lines that are cut."
        ),
        Figures([h1, h2], "H1 and H2: log loss on test data. Left is better."),
        Figures(
            [h3, h4],
            "H3: macro F1; the grey band is the margin, right is better. H4: log loss "
            "on large sets, left is better.",
        ),
        Figures(
            [h5, draw_frontier(study)],
            "H5: macro F1 on signals; right is better. Beside it, log loss against "
            "training time: lower and further left is better, defaults of this package "
            "in orange.",
        ),
        Figures(
            [draw_reliability(study, {way: descriptions.WAYS[way] for way in ways})],
            "Reliability: share of correct predictions in 15 bins of the highest "
            "probability. On the line is calibrated, below it overconfident.",
        ),
    ]


def list_limits(study):
    """List the limits of the answers."""
    plan = study.plan
    names = [name for name in study.missing if plan.kind_of(name) in KINDS]
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
    if study.failures:
        jobs = [record["job"] for record in study.failures]
        texts = sorted({f"{job['estimator']} on {job['dataset']}" for job in jobs})
        yield (
            f"Trainings that failed and have no values: {len(jobs)} "
            f"({', '.join(texts)})."
        ).replace("_", " ")
    yield (
        f"Test folds of a single class, which are left out: "
        f"{descriptions.count_one_class(study)}."
    )
    n, n_all = descriptions.count_last_stages(study)
    yield (
        f"StagedSearchCV keeps the last stage of the budget in {n} of {n_all} "
        "trainings. With a larger budget, another stage might be chosen there, and "
        "the habit would often choose the same one."
    )
    yield (
        "Ways share their trainings, and rules are replayed on them. Times are sums of "
        "the stages that a way needs, while other work ran on the machine: processor "
        "seconds are compared, not the clock, but for the procedures run one by one."
    )
    yield (
        f"Training parts have at most {plan['most_rows']} rows, test parts "
        f"{plan['most_test_rows']}; signals longer than {plan['most_points']} points "
        "were averaged down."
    )
    yield (
        "There is one seed for each training, and one partition of each data set. The "
        "value of a data set is the mean over its models. A single model may differ."
    )
    yield (
        "The models have one setting each, a budget of 300 rounds or 100 epochs. The "
        "networks are small; nothing is known about large ones."
    )
