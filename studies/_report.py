"""The report of a planned study: answers, plan, and what was done."""

from collections import Counter
from dataclasses import dataclass, field

from studies._page import Code, Heading, Links, Paragraph, Table
from studies.paper.protocol import describe_versions

_LOSSES = {"log_loss": "log loss", "brier": "Brier score"}


@dataclass
class Answer:
    """What a study says: parts of a page.

    Parameters
    ----------
    start : list
        The answers in short.

    sections : list
        The answers at length.

    appendix : list
        What follows the plan.
    """

    start: list = field(default_factory=list)
    sections: list = field(default_factory=list)
    appendix: list = field(default_factory=list)


def frame(plan, names, answer, records):
    """Return the parts of the page.

    Parameters
    ----------
    plan : Plan
        The plan.

    names : dict
        What the report calls the estimators.

    answer : Answer
        What the records say.

    records : list of dict
        The records.
    """
    links = [("the plan", "#the-plan"), ("all data sets", "#appendix-all-data-sets")]
    start = [Heading(1, plan["title"]), Links(links)]
    if not {record["job"]["dataset"] for record in records} <= set(plan.datasets):
        start.append(Paragraph("Synthetic data: an illustration, not evidence."))
    return [
        *start,
        *answer.start,
        *answer.sections,
        *_show_plan(plan, names, records),
        *answer.appendix,
    ]


def _show_plan(plan, names, records):
    def key(job):
        return job["estimator"], job["loss"]

    done = Counter(key(record["job"]) for record in records)
    planned = Counter(dict.fromkeys(done, 0))
    planned.update(key(vars(job)) for job in plan.make_jobs())
    lines = [
        [names[estimator], _LOSSES.get(loss, loss), str(n), str(done[estimator, loss])]
        for (estimator, loss), n in planned.items()
    ]
    return [
        Heading(2, "The plan"),
        Paragraph(
            "It was written before the first training. Trainings are done round by "
            "round: where fewer are done than planned, the last repeats are missing."
        ),
        Table(["model", "trained with", "planned", "done"], lines),
        Code(plan.text),
        Paragraph(describe_versions(records)),
    ]
