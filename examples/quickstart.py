"""A first look: recognise people by the way they move, and choose the right model.

Prints what it does, and leaves it with a figure on one page: ``demo/summary.html``.
"""

import warnings
from html import escape
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # files only, no window

from matplotlib import pyplot
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import f1_score, log_loss
from sklearn.model_selection import KFold, cross_val_score
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_superior.datasets import make_motion_signals
from sklearn_superior.early_stopping import EarlyStoppingClassifier
from sklearn_superior.model_selection import (
    HBlockSplit,
    compare_stopping_rules,
    recommended_gap,
    sliding_windows,
)

FOLDER = Path("demo")
RULES = {
    "log_loss": "log loss",
    "penalized_log_loss": "PLL, penalized log loss",
    "brier": "Brier score",
    "penalized_brier": "PBS, penalized Brier score",
    "refined_penalized_brier": "refined PBS",
    "last": "none: the last epoch",
}
GAP = recommended_gap(length=40, overlap=0.75)
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto;
       padding: 0 1rem; }
table { border-collapse: collapse; } .scroll { overflow-x: auto; }
img { max-width: 100%; }
th, td { padding: 0.2rem 0.8rem; border-bottom: 1px solid #ddd; text-align: right; }
th:first-child, td:first-child { text-align: left; }
"""


class Page:
    """Prints what it is given, and keeps it for a page of HTML."""

    def __init__(self):
        self.parts = []

    def section(self, title, text, header, rows, remark=""):
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

    def _print(self, title, text, cells, remark):
        print(f"{title}\n\n  {text}\n")
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
            f"{''.join(self.parts)}<h2>What the rules saw</h2>"
            '<img src="figure.png" alt="scores over the epochs, and F1 of the choices">'
            "<p>Above: validation scores over the epochs, each scaled to its range; "
            "thin lines are the folds, thick lines their means, and a dot is the epoch "
            "that a rule chooses in a fold. r is the correlation with F1, the mean "
            "over the folds, as in the table. Below: F1 on test data of these choices, "
            "a dot for each fold and a line for the mean.</p>",
            encoding="utf-8",
        )
        return path.resolve()


def make_network(random_state=None):
    """Return a network that has more capacity than the data needs."""
    network = MLPClassifier(
        64,
        batch_size=32,
        learning_rate_init=3e-3,
        max_iter=60,
        random_state=random_state,
    )
    return make_pipeline(StandardScaler(), network)


def show_the_task(page, X, y, groups):
    """Cross-validate with and without a leak."""
    blocks = HBlockSplit(n_validation_blocks=0, n_test_blocks=2, step=2, gap=GAP)
    rows = []
    for name, cv in {
        "random folds": list(KFold(5, shuffle=True, random_state=0).split(X)),
        f"blocks with a gap of {GAP}": list(blocks.split(X, groups=groups)),
    }.items():
        with warnings.catch_warnings():  # it is meant to end after 60 epochs
            warnings.simplefilter("ignore", ConvergenceWarning)
            scores = cross_val_score(make_network(random_state=0), X, y, cv=cv)
        rows.append([name, float(scores.mean())])
    page.section(
        "1. The task: five people, a motion sensor. Who is it?",
        f"{len(X)} windows of 40 time points, each overlapping the next by 75 %. "
        "Random folds test on windows that the network has seen in parts; blocks of "
        "time with a gap between them do not.",
        ["cross-validation of a network", "accuracy"],
        rows,
        "So we split by blocks from here on. Some of them will validate, which leaves "
        "half of the windows to train on.",
    )


def compare_rules(page, X, y, groups):
    """Train a network once for each fold; let each rule choose among its epochs."""
    comparison = compare_stopping_rules(
        make_network(),
        X,
        y,
        groups=groups,
        cv=HBlockSplit(step=2, gap=GAP),
        rules=list(RULES),
        random_state=0,
    )
    records = comparison.records
    rows = []
    for row in comparison.summary():
        if row["selection"] == "CP":
            epochs = sorted(
                r["iteration"]
                for r in records
                if (r["rule"], r["selection"]) == (row["rule"], "CP")
            )
            r = "" if row["rule"] == "last" else f"{row['correlation']:.2f}"
            chosen = f"{epochs[0]} to {epochs[-1]}"
            rows.append([RULES[row["rule"]], chosen, row["mean"], r])
    page.section(
        "2. A network of 60 epochs: which epoch should be kept?",
        "The usual rule, the log loss, rises as soon as the network becomes too sure "
        "of itself, and keeps an early epoch. But the network still learns to tell the "
        "people apart. Penalized rules add a penalty for each error, and wait. The "
        "refined rule judges an epoch as it will be after recalibration.",
        ["epoch chosen by", "epochs in 5 folds", "test F1", "r with F1"],
        rows,
        "Here the last epoch is as good as the choice of the refined rule. For "
        "boosting it can be ruinous, and one does not know before. Five folds of one "
        "made-up data set are an illustration, no evidence: for that see "
        "doc/evidence/evidence.md.",
    )
    return comparison


def keep_the_model(page, X, y, groups):
    """Stop by the log loss and by the default, both recalibrated."""
    train, val, test = next(
        HBlockSplit(gap=GAP).split_with_validation(X, groups=groups)
    )
    rows = []
    for name, options in {
        "log loss": {"scoring": "neg_log_loss", "calibration": "temperature"},
        "default: refined PLL": {},
    }.items():
        model = EarlyStoppingClassifier(make_network(random_state=0), **options)
        with warnings.catch_warnings():  # of a best epoch that is the last one
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X[train], y[train], X_val=X[val], y_val=y[val])
        y_proba = model.predict_proba(X[test])
        f1 = float(f1_score(y[test], model.predict(X[test]), average="macro"))
        rows.append([name, model.best_iteration_, f1, log_loss(y[test], y_proba)])
    page.section(
        "3. The model to keep",
        "One call stops the network when the score has not improved for 20 epochs, "
        "keeps the best epoch exactly, and ships probabilities that are recalibrated "
        "on the validation data. It takes any scorer, and XGBoost, LightGBM, CatBoost "
        "and scikit-learn's boosting as well.",
        ["kept by", "epoch", "test F1", "test log loss"],
        rows,
        "Both are recalibrated. The first fold, with a seed of its own: again an "
        "illustration.",
    )


def draw(comparison):
    """Draw the scores over the epochs, and what the choices were worth."""
    figure, (upper, lower) = pyplot.subplots(
        2, 1, figsize=(7.5, 8), layout="constrained", height_ratios=(3, 2)
    )
    comparison.plot(upper, fold="all")
    upper.set_xlabel("epoch")
    upper.legend(frameon=False, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    records = [r for r in comparison.records if r["selection"] == "CP"]
    for place, rule in enumerate(RULES):
        scores = [r["test_score"] for r in records if r["rule"] == rule]
        lower.plot(scores, [place] * len(scores), "o", color="#0072B2", alpha=0.5)
        mean = sum(scores) / len(scores)
        lower.plot([mean, mean], [place - 0.3, place + 0.3], "k-", linewidth=2)
    lower.set_yticks(range(len(RULES)), RULES.values())
    lower.invert_yaxis()
    lower.set_xlabel("F1 on test data of the chosen epoch")
    lower.spines[["top", "right"]].set_visible(False)
    return figure


if __name__ == "__main__":
    recordings = make_motion_signals(n_timepoints=1500, random_state=0)
    windows = sliding_windows(
        recordings.data, recordings.target, length=40, groups=recordings.groups
    )
    data = windows.X.reshape(len(windows.X), -1), windows.y, windows.groups
    page = Page()
    show_the_task(page, *data)
    comparison = compare_rules(page, *data)
    keep_the_model(page, *data)
    print(f"All of this with a figure: {page.write(draw(comparison))}")
