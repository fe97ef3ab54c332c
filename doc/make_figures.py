"""Make the figures of README and home page; rerun it when drawing or records change.

The first one shows what the search loses and takes beside other ways: those of the
study of habits, or of the study of procedures as long as habits has no records.
"""

from math import exp
from pathlib import Path

import matplotlib.pyplot as plt

from sklearn_superior.plotting import ScoringRuleDisplay
from studies._evidence import Study
from studies._measures import log_ratio
from studies._page import signed
from studies._store import RecordStore

FOLDER = Path(__file__).parent / "_static"
RECORDS = Path(__file__).parents[1] / "studies" / "records"
TITLES = {"brier": "Brier score", "penalized_brier": "PBS"}
BLUE, GREY = "#0072B2", "0.45"
# Readable on a phone, which shows a figure 400 pixels wide.
STYLE = {
    "font.size": 13,
    "axes.titlesize": 16,
    "hatch.color": "white",
    "hatch.linewidth": 1.5,
}
# The ways of the first figure, from top to bottom; the first one is the baseline.
PROCEDURES = {
    "default": "one hold-out",
    "all": "StagedSearchCV",
    "folds": 'StagedSearchCV,\nrefit="folds"',
}
HABITS = {
    "search_habit": "cross-validate\nthe trees, refit",
    "grid": "GridSearchCV\nof ten numbers",
    "stopping_habit": "the library's\nearly stopping",
    "stopping": "EarlyStopping-\nClassifier",
    "search": "StagedSearchCV",
}
OURS = {"stopping", "search", "all", "folds"}


def read_procedures(study):
    """Return loss and time of the ways of the study of procedures: way -> row.

    `log_loss` is a summary in log points against the baseline, `times` a factor; both
    are means over the units.
    """
    baseline = next(iter(PROCEDURES))
    rows = {}
    for way in PROCEDURES:
        seconds = study.summary(log_ratio(way, baseline, "seconds"))["difference"]
        loss = study.summary(log_ratio(way, baseline))
        rows[way] = {"log_loss": loss, "times": exp(seconds / 100)}
    return rows


def read_habits(study):
    """Return loss and time of the ways of the study of habits: way -> row."""
    from studies.habits.descriptions import compare_ways

    rows = compare_ways(study)
    return {way: rows[way] for way in HABITS}


def read_ways(records=RECORDS):
    """Return the names of the ways of the first figure, and their rows."""
    if (records / "habits").exists():
        from studies import habits as module

        names, read = HABITS, read_habits
    else:
        from studies import procedures as module

        names, read = PROCEDURES, read_procedures
    folder = records / module.__name__.rpartition(".")[2]
    study = Study(module.PLAN, RecordStore(folder, module.FIELDS).load_all()[0])
    return names, read(study)


def draw_ways(names, rows):
    """Draw how the ways compare with the first one: log loss, and time to train."""
    height = 1.0 + 0.62 * len(rows)
    fig, axes = plt.subplots(
        1, 2, figsize=(6.4, height), sharey=True, layout="constrained"
    )
    losses, times = axes
    for place, (way, row) in enumerate(rows.items()):
        colour, loss = BLUE if way in OURS else GREY, row["log_loss"]
        if place:
            mean, text = loss["difference"], signed(loss["difference"], 1)
            ends = loss["low"], loss["high"]
            losses.plot(ends, [place] * 2, color=colour, linewidth=2.5)
            losses.text(mean, place - 0.16, text, ha="center", va="bottom")
        losses.plot(loss["difference"], place, "o", color=colour, markersize=9)
        times.barh(place, row["times"], color=colour, height=0.5)
        text = f"{row['times']:.1f} ×" if place else "1 ×"
        times.text(row["times"], place, f" {text}", va="center")
    losses.axvline(0, color="0.8", zorder=0)
    losses.margins(x=0.12)
    losses.set_title("log loss, %", loc="left", fontsize=14)
    times.set_title("time to train", loc="left", fontsize=14)
    times.margins(x=0.25)
    times.set_xticks([])
    axes[0].set_yticks(range(len(rows)), [names[way] for way in rows])
    axes[0].set_ylim(len(rows) - 0.45, -0.55)
    for ax in axes:
        ax.tick_params(axis="y", length=0)
        ax.spines[["top", "right", "left"]].set_visible(False)
    times.spines["bottom"].set_visible(False)
    return fig


def draw_triangles():
    """Draw the Brier score and PBS over all forecasts of three classes."""
    fig, axes = plt.subplots(1, 2, figsize=(6.4, 2.8), layout="constrained")
    fig.get_layout_engine().set(wspace=0.06)
    colours = {"vmin": 0, "vmax": 2 + 2 / 3, "colorbar": False}  # those of PBS
    for (rule, title), ax in zip(TITLES.items(), axes, strict=True):
        display = ScoringRuleDisplay.from_rule(rule, ax=ax, **colours)
        ax.texts[0].remove()  # what the hatches mean: in the caption
        ax.set_title(title, pad=8)
        ax.set(xlim=(-0.13, 1.13), ylim=(-0.13, 1.0))
    fig.colorbar(display.mesh_, ax=axes, label="loss", shrink=0.8, ticks=[0, 1, 2])
    return fig


if __name__ == "__main__":
    with plt.rc_context(STYLE):
        figures = {"search": draw_ways(*read_ways()), "superior": draw_triangles()}
        for name, figure in figures.items():
            figure.savefig(FOLDER / f"{name}.png", dpi=200, bbox_inches="tight")
