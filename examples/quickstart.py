"""A first look: recognise people by the way they move, and choose the right model.

Prints its results and writes them to a page with a figure: ``demo/summary.html``.
"""

import warnings
from html import escape
from pathlib import Path
from statistics import mean
from textwrap import fill

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
RECORDS = Path(__file__).resolve().parents[1] / "studies" / "records"
N_EPOCHS = 60
RULES = {
    "log_loss": "log loss",
    "penalized_log_loss": "PLL, penalized log loss",
    "brier": "Brier score",
    "penalized_brier": "PBS, penalized Brier score",
    "refined_log_loss": "refined log loss",
    "last": "none: all epochs",
}
GAP = recommended_gap(length=40, overlap=0.75)
FOLDS = HBlockSplit(step=2, gap=GAP)  # five, each with training, validation and test
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto;
       padding: 0 1rem; }
table { border-collapse: collapse; } .scroll { overflow-x: auto; }
img { max-width: 100%; }
th, td { padding: 0.2rem 0.8rem; border-bottom: 1px solid #ddd; text-align: right; }
th:first-child, td:first-child { text-align: left; }
"""


class Page:
    """Prints its sections and collects them for an HTML page."""

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
        print(f"{title}\n\n{_indent(text)}\n")
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        for k, row in enumerate(cells):
            first, *rest = zip(row, widths, strict=True)
            line = first[0].ljust(first[1]) + "".join(f"   {v:>{w}}" for v, w in rest)
            print("  " + line)
            if k == 0:
                print("  " + "-" * len(line))
        print(f"\n{_indent(remark)}\n" if remark else "")

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
            "<p>Top: validation scores over the epochs, each scaled to its range. Thin "
            "lines are the folds, thick lines their means. A marker is the best epoch "
            "by a rule in a fold. r is the correlation with F1 over all epochs, "
            "averaged over the folds. Bottom: test F1 of the epochs in the second "
            "table, with a dot for each fold and a line for the mean.</p>"
            "<p>Results on many data sets: "
            f'<a href="{(RECORDS / "rules" / "report.md").as_uri()}">the report</a>.'
            "</p>",
            encoding="utf-8",
        )
        return path.resolve()


def _indent(text):
    return fill(text, width=78, initial_indent="  ", subsequent_indent="  ")


def make_network(random_state=None):
    """Return a network with more capacity than the data needs."""
    network = MLPClassifier(
        64,
        batch_size=32,
        learning_rate_init=3e-3,
        max_iter=N_EPOCHS,
        random_state=random_state,
    )
    return make_pipeline(StandardScaler(), network)


def show_the_task(page, X, y, groups):
    """Cross-validate with and without leakage."""
    blocks = HBlockSplit(n_test_blocks=2, step=2, gap=GAP)
    rows = []
    for name, cv in {
        "random folds": list(KFold(5, shuffle=True, random_state=0).split(X)),
        f"blocks with a gap of {GAP} windows": list(blocks.split(X, groups=groups)),
    }.items():
        with warnings.catch_warnings():  # it trains for a fixed number of epochs
            warnings.simplefilter("ignore", ConvergenceWarning)
            scores = cross_val_score(make_network(random_state=0), X, y, cv=cv)
        rows.append([name, float(scores.mean())])
    page.section(
        "1. The task: five people, a motion sensor. Who is it?",
        f"The synthetic recordings are cut into {len(X)} windows of 40 time points. "
        "Each window repeats 75 % of the previous one, so random folds test on windows "
        "that the network has partly seen. Blocks of time with a gap between them do "
        "not.",
        ["a network, cross-validated by", "accuracy"],
        rows,
        "The first number is too good, so from here on we split by blocks. Some of "
        "them are now for validation, which leaves half of the windows for training.",
    )


def compare_rules(page, X, y, groups):
    """Train a network once per fold, and let each rule choose among its epochs."""
    comparison = compare_stopping_rules(
        make_network(),
        X,
        y,
        groups=groups,
        cv=FOLDS,
        rules=list(RULES),
        random_state=0,
    )
    rows = []
    for row in comparison.summary(selection="ES"):
        of_rule = [r for r in chosen(comparison) if r["rule"] == row["rule"]]
        kept = count_epochs(record["iteration"] for record in of_rule)
        rows.append([RULES[row["rule"]], kept, row["mean"]])
    page.section(
        f"2. A network of {N_EPOCHS} epochs: how many should be kept?",
        "Each rule scores the validation windows after every epoch, and keeps the best "
        "epoch before 20 epochs without improvement. The log loss gets worse as soon "
        "as the network becomes overconfident, so it keeps few epochs, although the "
        "network is still learning to tell the people apart. Penalized rules add a "
        "penalty for each error and wait longer. The refined rule, the default, scores "
        "an epoch after recalibration.",
        ["rule", "epochs kept", "test F1"],
        rows,
        "'Epochs kept' is the range over five folds, 'test F1' the mean macro F1 on "
        "their test windows. Here no rule does better than training to the end. On "
        "noisy data, however, the last stage can be much worse than the best one, "
        "above all with boosting.",
    )
    return comparison


def keep_the_model(page, X, y, groups, comparison):
    """Stop by three rules, recalibrated or not, in the same folds."""
    seeds = [trajectory.seed for trajectory in comparison.trajectories]
    rows = []
    for name, options in {
        "log loss": {"scoring": "neg_log_loss"},
        "PBS": {"scoring": "neg_penalized_brier_score"},
        "log loss, recalibrated": {
            "scoring": "neg_log_loss",
            "calibration": "temperature",
        },
        "PBS, recalibrated": {
            "scoring": "neg_penalized_brier_score",
            "calibration": "temperature",
        },
        "default: refined log loss, recalibrated": {},
    }.items():
        epochs, scores, losses = [], [], []
        folds = FOLDS.split_with_validation(X, groups=groups)
        for seed, (train, val, test) in zip(seeds, folds, strict=True):
            model = EarlyStoppingClassifier(make_network(seed), **options)
            with warnings.catch_warnings():  # the best epoch may be the last one
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(X[train], y[train], X_val=X[val], y_val=y[val])
            epochs.append(model.best_iteration_)
            scores.append(f1_score(y[test], model.predict(X[test]), average="macro"))
            losses.append(log_loss(y[test], model.predict_proba(X[test])))
        rows.append([name, count_epochs(epochs), mean(scores), mean(losses)])
    page.section(
        "3. The model to keep",
        "EarlyStoppingClassifier does all of this in one call: it trains, stops, and "
        "keeps exactly the best epoch. By default it chooses by the refined log loss, "
        "with a patience of 20, and recalibrates the probabilities on the validation "
        "windows. These are the same folds and networks again, with the log loss on "
        "test windows (lower is better). The first two rows are not recalibrated.",
        ["stopped by", "epochs kept", "test F1", "test log loss"],
        rows,
        "XGBoost, LightGBM, CatBoost and scikit-learn's boosting work the same way. "
        "StagedSearchCV also tunes parameters, by cross-validation, and trains on all "
        "rows. Five folds of one synthetic data set are an illustration, not evidence. "
        "For evidence, see studies/records/procedures/report.md.",
    )


def chosen(comparison):
    """Return what each rule chose in each fold, by early stopping."""
    return [r for r in comparison.records if r["selection"] == "ES"]


def count_epochs(iterations):
    """Format the range of the numbers of epochs; iterations count from 0."""
    numbers = sorted({iteration + 1 for iteration in iterations})
    return " to ".join(str(n) for n in numbers[:: max(1, len(numbers) - 1)])


def draw(comparison):
    """Draw the scores over the epochs, and the test F1 of the choices."""
    figure, (upper, lower) = pyplot.subplots(
        2, 1, figsize=(7.5, 8), layout="constrained", height_ratios=(3, 2)
    )
    comparison.plot(upper, fold="all")
    upper.set_xlabel("epoch")
    upper.legend(frameon=False, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    for place, rule in enumerate(RULES):
        scores = [r["test_score"] for r in chosen(comparison) if r["rule"] == rule]
        lower.plot(scores, [place] * len(scores), "o", color="#0072B2", alpha=0.5)
        middle = mean(scores)
        lower.plot([middle, middle], [place - 0.3, place + 0.3], "k-", linewidth=2)
    lower.set_yticks(range(len(RULES)), RULES.values())
    lower.invert_yaxis()
    lower.set_xlabel("test F1 of the kept epoch")
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
    keep_the_model(page, *data, comparison)
    print(f"The same with a figure: {page.write(draw(comparison))}")
