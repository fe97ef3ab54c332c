"""A first look: a model for production beside a common habit, then rules on signals.

Prints its results and writes them to a page with figures: ``demo/summary.html``.
"""

import os
import warnings
from html import escape
from pathlib import Path
from statistics import mean
from textwrap import fill
from time import perf_counter

# The data are small: more threads would only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import matplotlib

matplotlib.use("Agg")  # files only, no window

import numpy as np
from matplotlib import pyplot
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import confusion_matrix, log_loss
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from sklearn_superior.datasets import make_motion_signals
from sklearn_superior.model_selection import (
    BayesDecisionClassifier,
    HBlockSplit,
    StagedSearchCV,
    compare_stopping_rules,
    recommended_gap,
    sliding_windows,
)

FOLDER = Path("demo")
RECORDS = Path(__file__).resolve().parents[1] / "studies" / "records"
N_TREES, N_EPOCHS = 500, 60
COSTS = {"false_positive": 1, "false_negative": 20}
PROBABLE, CHEAPEST = "most probable class", "lowest expected cost"
HABIT, SEARCH = "one hold-out", "search"
RULES = {
    "log_loss": "log loss",
    "penalized_log_loss": "PLL",
    "brier": "Brier score",
    "penalized_brier": "PBS",
    "refined_log_loss": "refined log loss",
    "last": "none: all epochs",
}
JUDGES = ["f1_macro", "log_loss", "calibrated_log_loss"]
GAP = recommended_gap(length=40, overlap=0.75)
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "0.6"
STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto;
       padding: 0 1rem; }
h1, h2 { line-height: 1.25; } figure { margin: 1rem 0; }
table { border-collapse: collapse; } .scroll { overflow-x: auto; }
img { max-width: 100%; width: 34rem; background: white; border-radius: 6px; }
th, td { padding: 0.2rem 0.7rem; border-bottom: 1px solid #8886; text-align: right; }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
th { font-weight: 600; vertical-align: bottom; }
@media (max-width: 500px) { table { font-size: 0.86em; } h1 { font-size: 1.5rem; }
  th, td { padding: 0.2rem 0.4rem; } }
"""


class Page:
    """Prints its sections and collects them for an HTML page."""

    def __init__(self):
        self.parts = []

    def section(self, title, text, header, rows, remark):
        """Show a text and a table under a title."""
        cells = [header]
        for row in rows:
            cells.append([f"{v:.3f}" if isinstance(v, float) else str(v) for v in row])
        self._print(title, text, cells, remark)
        lines = [
            "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row)
            for tag, row in zip(["th"] + ["td"] * len(rows), cells, strict=True)
        ]
        table = "".join(f"<tr>{line}</tr>" for line in lines)
        self.parts.append(
            f"<h2>{escape(title)}</h2><p>{escape(text)}</p>"
            f'<div class="scroll"><table>{table}</table></div><p>{escape(remark)}</p>'
        )

    def figure(self, figure, name, text):
        """Save a figure and show it before the last section."""
        FOLDER.mkdir(exist_ok=True)
        figure.savefig(FOLDER / name, dpi=200)
        pyplot.close(figure)
        part = f'<figure><img src="{name}" alt="{escape(text)}"></figure>'
        self.parts.insert(len(self.parts) - 1, part)

    def _print(self, title, text, cells, remark):
        print(f"{title}\n\n{_indent(text)}\n")
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        for k, row in enumerate(cells):
            first, *rest = zip(row, widths, strict=True)
            line = first[0].ljust(first[1]) + "".join(f"  {v:>{w}}" for v, w in rest)
            print("  " + line)
            if k == 0:
                print("  " + "-" * len(line))
        print(f"\n{_indent(remark)}\n")

    def write(self):
        """Write the page; return its path."""
        path = FOLDER / "summary.html"
        path.write_text(
            '<!DOCTYPE html><html lang="en"><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>A first look</title><style>{STYLE}</style>"
            f"<h1>A first look at sklearn-superior</h1>{''.join(self.parts)}"
            "<h2>Is that evidence?</h2><p>No: these are two small data sets, one of "
            "them synthetic. The evidence is in the studies of "
            + ", ".join(map(_link_report, ("habits", "procedures", "rules")))
            + ".</p>",
            encoding="utf-8",
        )
        return path.resolve()


def _link_report(study):
    address = (RECORDS / study / "report.md").as_uri()
    return f'<a href="{address}">{study}</a>'


def _indent(text):
    return fill(text, width=78, initial_indent="  ", subsequent_indent="  ")


# The search beside the habit ----------------------------------------------------------


def diagnose(page):
    """Cross-validate a habit and the search on tumours, and decide at 1:20."""
    X, y = load_breast_cancer(return_X_y=True)
    y = y == 0  # malignant
    options = {"learning_rate": 0.2, "max_iter": N_TREES}
    habit = HistGradientBoostingClassifier(
        **options,
        early_stopping=True,
        scoring="loss",
        n_iter_no_change=20,
        random_state=0,
    )
    search = StagedSearchCV(HistGradientBoostingClassifier(**options))
    losses, seconds, errors = {}, {}, {}
    for name, estimator in {HABIT: habit, SEARCH: search}.items():
        start = perf_counter()
        proba, decided = np.empty(len(y)), np.empty(len(y), dtype=bool)
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        for train, test in folds.split(X, y):
            model = BayesDecisionClassifier(estimator, COSTS).fit(X[train], y[train])
            proba[test] = model.predict_proba(X[test])[:, 1]
            decided[test] = model.predict(X[test])
        seconds[name], losses[name] = perf_counter() - start, log_loss(y, proba)
        for way, made in {PROBABLE: proba > 0.5, CHEAPEST: decided}.items():
            _, alarms, missed, _ = map(int, confusion_matrix(y, made).ravel())
            errors[name, way] = missed, alarms
    rows = [
        [f"{name}, {way}", losses[name], missed, alarms, 20 * missed + alarms]
        for (name, way), (missed, alarms) in sorted(
            errors.items(), key=lambda item: item[0][1] == PROBABLE
        )
    ]
    page.section(
        "1. Is the tumour malignant?",
        "Real data: 569 patients, each in one of five test folds. The habit is to hold "
        "out a tenth of the training rows and to stop a booster by the log loss, as "
        "HistGradientBoosting does by itself. The search, StagedSearchCV, stops by the "
        "mean over five folds, calibrates out of fold, and trains on all training "
        "rows. Both have the same parameters and the same patience. Missing a tumour "
        "costs as much as 20 false alarms.",
        ["procedure and decision", "log loss", "missed", "false alarms", "cost"],
        rows,
        "Better probabilities pay off when decisions use them. The most probable class "
        "ignores the costs; the lowest expected cost needs no tuned threshold. The "
        f"five trainings of the habit took {seconds[HABIT]:.1f} seconds, those of the "
        f"search {seconds[SEARCH]:.1f}.",
    )
    text = "bars: log loss of both procedures, and cost of their decisions"
    page.figure(draw_costs(losses, errors), "figure.png", text)


def draw_costs(losses, errors):
    """Draw the log losses, and what the errors of each decision cost."""
    figure, (upper, lower) = pyplot.subplots(
        2, 1, figsize=(4.4, 4.4), layout="constrained", height_ratios=(2, 5)
    )
    colours = {HABIT: GREY, SEARCH: BLUE}
    for place, (name, loss) in enumerate(losses.items()):
        upper.barh(place, loss, color=colours[name], height=0.7)
        upper.text(loss, place, f" {loss:.3f}", va="center", fontweight="bold")
    upper.set_yticks([0, 1], [HABIT, SEARCH])
    upper.set_title("log loss: lower is better", loc="left")
    errors = {(n, way): errors[n, way] for way in (PROBABLE, CHEAPEST) for n in losses}
    for place, (missed, alarms) in enumerate(errors.values()):
        for left, width, colour, label in (
            (0, 20 * missed, ORANGE, "20 × missed tumours"),
            (20 * missed, alarms, "#F0C060", "false alarms"),
        ):
            lower.barh(
                place,
                width,
                left=left,
                color=colour,
                height=0.7,
                label=None if place else label,
            )
        cost = 20 * missed + alarms
        lower.text(cost, place, f" {cost}", va="center", fontweight="bold")
    texts = {PROBABLE: "deciding without costs", CHEAPEST: "deciding by costs"}
    labels = [f"{name},\n{texts[way]}" for name, way in errors]
    lower.set_yticks(range(len(errors)), labels)
    lower.set_title("cost of all decisions", loc="left")
    lower.legend(frameon=False, ncols=2, loc="upper right", bbox_to_anchor=(1.05, 0))
    for ax in (upper, lower):
        ax.invert_yaxis()
        ax.margins(x=0.2)
        ax.set_xticks([])
        ax.tick_params(axis="y", length=0)
        ax.spines[["top", "right", "bottom"]].set_visible(False)
    return figure


# Rules on signals ---------------------------------------------------------------------


def show_the_task(page, X, y, groups):
    """Cross-validate with and without leakage."""
    blocks = HBlockSplit(5, gap=GAP)
    rows = []
    for name, cv in {
        "random folds": list(KFold(5, shuffle=True, random_state=0).split(X)),
        f"blocks with a gap of {GAP} windows": list(blocks.split(X, groups=groups)),
    }.items():
        rows.append([name, float(cross_val_score(SVC(), X, y, cv=cv).mean())])
    page.section(
        "2. Five people, a motion sensor: who is it?",
        f"Synthetic recordings are cut into {len(X)} windows of 40 time points. Each "
        "window repeats 75 % of the previous one, so random folds test on windows that "
        "the model has partly seen. Blocks of time with a gap between them do not.",
        ["SVC, cross-validated by", "accuracy"],
        rows,
        "The first number is too good, so from here on we split by blocks.",
    )


def compare_rules(page, X, y, groups):
    """Train a network once per fold, and let each rule choose among its epochs."""
    network = MLPClassifier(
        64, batch_size=32, learning_rate_init=3e-3, max_iter=N_EPOCHS
    )
    with warnings.catch_warnings():  # the best epoch may be the last one
        warnings.simplefilter("ignore", UserWarning)
        comparison = compare_stopping_rules(
            make_pipeline(StandardScaler(), network),
            X,
            y,
            groups=groups,
            cv=HBlockSplit(step=2, gap=GAP),  # training, validation and test
            rules=list(RULES),
            scoring=JUDGES,
            random_state=0,
        )
    rows, others = [], []
    for rule, name in RULES.items():
        kept = chosen(comparison, rule)
        f1, raw, calibrated = (
            mean(record[f"test_{judge}"] for record in kept)
            for judge in ("score", *JUDGES[1:])
        )
        epochs = count_epochs(record["iteration"] for record in kept)
        if rule == "refined_log_loss":
            rows.append([f"{name}, recalibrated", epochs, f1, -calibrated])
        else:
            rows.append([name, epochs, f1, -raw])
            others.append(-calibrated)
    page.section(
        f"3. A network of {N_EPOCHS} epochs: when to stop?",
        "Each rule scores the validation windows after every epoch, and keeps the best "
        "epoch before 20 epochs without improvement. The log loss gets worse as soon "
        "as the network becomes overconfident, so it stops early, although the network "
        "is still learning to tell the people apart. The penalized rules, PBS and PLL, "
        "add a penalty for each error and stop later. The refined log loss, the "
        "default, is the log loss after recalibration. It ignores overconfidence that "
        "a temperature can repair.",
        ["rule", "epochs kept", "F1", "log loss"],
        rows,
        "Macro F1 and log loss are means over five test folds. With a temperature from "
        "the validation windows, the log loss of the other rows would be between "
        f"{min(others):.3f} and {max(others):.3f}. Here the refined rule never stops, "
        "because training longer keeps helping. EarlyStoppingClassifier stops, "
        "recalibrates and keeps the best epoch in one call.",
    )
    text = "dots: F1 and log loss of the epochs that each rule chose"
    page.figure(draw_rules(rows), "rules.png", text)


def chosen(comparison, rule):
    """Return what a rule chose in each fold, by early stopping."""
    records = comparison.records
    return [r for r in records if r["selection"] == "ES" and r["rule"] == rule]


def count_epochs(iterations):
    """Format the range of the numbers of epochs; iterations count from 0."""
    numbers = sorted({iteration + 1 for iteration in iterations})
    return " to ".join(str(n) for n in numbers[:: max(1, len(numbers) - 1)])


def draw_rules(rows):
    """Draw F1 and log loss of what each rule chose."""
    figure, axes = pyplot.subplots(
        1, 2, figsize=(4.4, 2.2), sharey=True, layout="constrained"
    )
    names = [row[0].partition(",")[0] for row in rows]
    for k, (ax, title) in enumerate(zip(axes, ("F1", "log loss"), strict=True)):
        values = [row[2 + k] for row in rows]
        colours = [BLUE if rule == "refined_log_loss" else GREY for rule in RULES]
        ax.hlines(range(len(rows)), min(values), values, color=colours, alpha=0.5)
        ax.scatter(values, range(len(rows)), color=colours, zorder=2)
        ax.set_title(f"{title}: {('higher', 'lower')[k]} is better", fontsize=9)
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.tick_params(axis="y", length=0)
        ax.margins(x=0.1)
    axes[0].set_yticks(range(len(rows)), names)
    axes[0].invert_yaxis()
    return figure


if __name__ == "__main__":
    page = Page()
    diagnose(page)
    recordings = make_motion_signals(n_timepoints=1500, random_state=0)
    windows = sliding_windows(
        recordings.data, recordings.target, length=40, groups=recordings.groups
    )
    data = windows.X.reshape(len(windows.X), -1), windows.y, windows.groups
    show_the_task(page, *data)
    compare_rules(page, *data)
    print(f"The same with figures: {page.write()}")
