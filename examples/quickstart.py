"""A first look at superior scoring rules, on data that needs no download.

Prints tables, and leaves them with a figure on one page: ``demo/summary.html``.
"""

from html import escape
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # files only, no window

import numpy as np
from matplotlib import pyplot
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import brier_score_loss, f1_score, log_loss
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    cross_val_score,
    train_test_split,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from sklearn_superior.datasets import make_motion_signals
from sklearn_superior.early_stopping import EarlyStoppingClassifier
from sklearn_superior.metrics import (
    neg_penalized_brier_scorer,
    penalized_brier_score_loss,
    penalized_log_loss,
)
from sklearn_superior.model_selection import (
    HBlockSplit,
    compare_stopping_rules,
    recommended_gap,
    sliding_windows,
)
from sklearn_superior.neural_network import CNNClassifier
from sklearn_superior.plotting import ScoringRuleDisplay

FOLDER = Path("demo")
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto;
       padding: 0 1rem; }
table { border-collapse: collapse; } img { max-width: 100%; }
th, td { padding: 0.2rem 0.8rem; border-bottom: 1px solid #ddd; text-align: right; }
th:first-child, td:first-child { text-align: left; }
"""


class Page:
    """Prints what it is given, and keeps it for a page of HTML."""

    def __init__(self):
        self.parts = []

    def section(self, title, header, rows, remark=""):
        """Show a table under a title."""
        cells = [header]
        for row in rows:
            cells.append([f"{v:.4f}" if isinstance(v, float) else v for v in row])
        self._print(title, cells, remark)
        head, *body = (
            "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row)
            for tag, row in zip(["th"] + ["td"] * len(rows), cells, strict=True)
        )
        lines = "\n".join(f"<tr>{line}</tr>" for line in (head, *body))
        self.parts.append(
            f"<h2>{escape(title)}</h2><table>{lines}</table><p>{escape(remark)}</p>"
        )

    def _print(self, title, cells, remark):
        print(f"{title}\n")
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        for k, row in enumerate(cells):
            first, *rest = zip(row, widths, strict=True)
            line = first[0].ljust(first[1]) + "".join(f"   {v:>{w}}" for v, w in rest)
            print("  " + line)
            if k == 0:
                print("  " + "-" * len(line))
        print(f"\n  {remark}\n" if remark else "")

    def write(self, figure):
        """Write figure and page; return the path of the page."""
        FOLDER.mkdir(exist_ok=True)
        figure.savefig(FOLDER / "figure.png", dpi=110)
        path = FOLDER / "summary.html"
        path.write_text(
            '<!DOCTYPE html><html lang="en"><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>Superior scoring rules</title><style>{STYLE}</style>"
            "<h1>A first look at superior scoring rules</h1>"
            f"{''.join(self.parts)}<h2>What the rules see</h2>"
            '<img src="figure.png" alt="the rules over the simplex, and in training">',
            encoding="utf-8",
        )
        return path.resolve()


def two_forecasts(page):
    """Show the paper's example: class 1 of three is true."""
    rows = []
    for name, proba in {
        "A  (0.33, 0.34, 0.33)  right": [0.33, 0.34, 0.33],
        "B  (0.51, 0.49, 0.00)  wrong": [0.51, 0.49, 0.00],
    }.items():
        data = {"y_true": [1], "y_proba": [proba], "labels": [0, 1, 2]}
        rows.append(
            [
                name,
                brier_score_loss(**data),
                log_loss(**data),
                penalized_brier_score_loss(**data),
                penalized_log_loss(**data),
            ]
        )
    page.section(
        "Two forecasts for a sample of class 1 (lower scores are better)",
        ["forecast", "Brier", "log loss", "PBS", "PLL"],
        rows,
        "Brier score and log loss prefer B; PBS and PLL prefer A.",
    )


def grid_search(page):
    """Tune three models by the Brier score and by PBS; compare on held-out data."""
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, train_size=300, stratify=y, random_state=0
    )
    rows = []
    for model, parameter, values in [
        (KNeighborsClassifier(), "n_neighbors", [1, 2, 3, 5, 8]),
        (GaussianNB(), "var_smoothing", [1e-9, 1e-4, 1e-2, 1.0]),
        (DecisionTreeClassifier(random_state=0), "min_samples_leaf", [1, 2, 4, 8]),
    ]:
        row = [f"{type(model).__name__}, {parameter}"]
        for scoring in ("neg_brier_score", neg_penalized_brier_scorer):
            search = GridSearchCV(model, {parameter: values}, scoring=scoring)
            predicted = search.fit(X_train, y_train).predict(X_test)
            row += [
                f"{search.best_params_[parameter]:g}",
                f1_score(y_test, predicted, average="macro"),
            ]
        rows.append(row)
    page.section(
        "GridSearchCV on the digits: 10 classes, 300 samples to train, 1497 to test",
        ["model", "by Brier", "test F1", "by PBS", "test F1"],
        rows,
        "Where the choices differ, either may be better: an illustration, no evidence.",
    )


def h_blocks(page):
    """Cross-validate overlapping windows of two walks, with and without a leak."""
    rng = np.random.default_rng(0)
    drift = np.cumsum(rng.normal(scale=0.2, size=(2, 2000)), axis=1)
    drift -= drift.mean(axis=1, keepdims=True)
    signal = drift.ravel() + rng.normal(size=4000)
    person = np.repeat(["Ann", "Bob"], 2000)
    windows = sliding_windows(signal, person, length=40, groups=person)
    gap = recommended_gap(length=40, overlap=0.75)
    blocks = HBlockSplit(n_validation_blocks=0, n_test_blocks=2, step=2, gap=gap)
    rows = []
    for name, cv, groups in [
        ("random folds", KFold(5, shuffle=True, random_state=0), None),
        (f"blocks with a gap of {gap}", blocks, windows.groups),
    ]:
        scores = cross_val_score(
            KNeighborsClassifier(), windows.X[:, 0], windows.y, cv=cv, groups=groups
        )
        rows.append([name, float(scores.mean())])
    page.section(
        "Windows of two noisy, drifting signals, which overlap by 75 %: whose?",
        ["cross-validation", "accuracy"],
        rows,
        "Random folds know the windows that overlap with those in the test.",
    )


def early_stopping(page):
    """Stop a booster by PBS and keep its best stage."""
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, stratify=y, random_state=0)
    booster = HistGradientBoostingClassifier(
        max_iter=300, max_leaf_nodes=5, random_state=0
    )
    rows = []
    for name, scoring in {
        "log loss": "neg_log_loss",
        "PBS": neg_penalized_brier_scorer,
    }.items():
        model = EarlyStoppingClassifier(booster, scoring=scoring, random_state=0)
        predicted = model.fit(X, y).predict(X_test)
        f1 = float(f1_score(y_test, predicted, average="macro"))
        rows.append([name, f"{model.n_iter_}", f"{model.best_iteration_ + 1}", f1])
    page.section(
        "HistGradientBoosting on the digits, at most 300 iterations",
        ["stopped by", "trained", "kept", "test F1"],
        rows,
    )


def network(page):
    """Train a network once for each fold; let four rules choose among its epochs."""
    recordings = make_motion_signals(n_timepoints=1200, random_state=0)
    windows = sliding_windows(
        recordings.data, recordings.target, length=40, groups=recordings.groups
    )
    comparison = compare_stopping_rules(
        CNNClassifier(channels=(32, 16), hidden=128, max_iter=25),
        windows.X,
        windows.y,
        groups=windows.groups,
        cv=HBlockSplit(step=3, gap=recommended_gap(length=40, overlap=0.75)),
        random_state=0,
    )
    rows = [
        [row["rule"].replace("_", " "), row["mean"], row["correlation"]]
        for row in comparison.summary()
        if row["selection"] == "CP"
    ]
    page.section(
        "A network on motion signals: four rules choose among the same 25 epochs",
        ["chosen by", "test F1", "correlation with F1 in validation"],
        rows,
    )
    return comparison


def draw(comparison):
    """Draw the Brier score and PBS over the simplex, and all rules in training."""
    figure = pyplot.figure(figsize=(9, 8.2), layout="constrained")
    left, right = figure.add_subplot(2, 2, 1), figure.add_subplot(2, 2, 2)
    ScoringRuleDisplay.from_rule("brier", ax=left)
    ScoringRuleDisplay.from_rule("penalized_brier", ax=right)
    comparison.plot(ax=figure.add_subplot(2, 1, 2))
    return figure


if __name__ == "__main__":
    page = Page()
    two_forecasts(page)
    grid_search(page)
    h_blocks(page)
    early_stopping(page)
    figure = draw(network(page))
    print(f"All of this with a figure: {page.write(figure)}")
