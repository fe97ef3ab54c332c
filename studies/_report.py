"""The report of a study: its answers between what was planned and what was done."""

from collections import Counter
from dataclasses import dataclass, field

from studies._page import (
    Code,
    Heading,
    Links,
    Paragraph,
    Table,
    write_pages,
)
from studies.paper.protocol import describe_versions
from studies._store import RecordStore

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


def write_report(plan, folder, home=None):
    """Write the report, which has the name of its folder; return the two files."""
    records, damaged = RecordStore(folder, plan.functions.FIELDS).load_all()
    if not records:
        raise FileNotFoundError(
            f"{folder} has no records. Make some with `python -m studies "
            "run`."
        )
    parts = make_parts(plan, records, damaged, home)
    return write_pages(folder / folder.resolve().name, plan["title"], parts)


def make_parts(plan, records, damaged=(), home=None):
    """Return the parts of the page."""
    links = [("the plan", "#the-plan"), ("all data sets", "#appendix-all-data-sets")]
    if home is not None:
        links = [("documentation", f"{home}/index.html"), *links]
        links.append(("the paper's experiments", f"{home}/report.html"))
    start = [Heading(1, plan["title"]), Links(links)]
    if not {record["job"]["dataset"] for record in records} <= set(plan.datasets):
        start.append(Paragraph("With made-up data: an illustration, no evidence."))
    answer = plan.functions.answer(plan, records)
    return [
        *start,
        *answer.start,
        *answer.sections,
        *_show_plan(plan, records, damaged),
        *answer.appendix,
    ]


def _show_plan(plan, records, damaged):
    def key(job):
        return job["estimator"], job["loss"]

    done = Counter(key(record["job"]) for record in records)
    planned = Counter(dict.fromkeys(done, 0))
    planned.update(key(vars(job)) for job in plan.make_jobs())
    names = plan.functions.NAMES
    lines = [
        [names[estimator], _LOSSES.get(loss, loss), str(n), str(done[estimator, loss])]
        for (estimator, loss), n in planned.items()
    ]
    parts = [
        Heading(2, "The plan"),
        Paragraph(
            "It was written before the first training. The trainings are done round "
            "by round: where fewer are done than planned, the last repeats are missing."
        ),
        Table(["model", "trained with", "planned", "done"], lines),
        Code(plan.text),
    ]
    if damaged:
        names = ", ".join(path.name for path in damaged)
        parts.append(Paragraph(f"Damaged records were left out: {names}."))
    return [*parts, Paragraph(describe_versions(records))]
