"""The report: one list of parts, written as Markdown and as a page of HTML."""

import base64
import html
from dataclasses import dataclass
from io import BytesIO

import numpy as np

from sklearn_superior.plotting import StoppingTrajectoryDisplay
from sklearn_superior.replication._results import PLAIN_RULES, collect, make_rows
from sklearn_superior.replication._store import RecordStore
from sklearn_superior.utils._files import write_atomically
from sklearn_superior.utils._optional import import_optional

_ESTIMATORS = {
    "cnn": "Convolutional network",
    "hgb": "HistGradientBoosting",
    "xgboost": "XGBoost",
}
_LOSSES = {"brier": "Brier score", "log_loss": "log loss"}
_SHORT = {"brier": ("BS", "PBS"), "log_loss": ("LL", "PLL")}
_QUANTITIES = {
    "test_f1": "Macro F1 on the test part, in percent",
    "correlation": "Correlation of the rule with macro F1 over the validation part",
}
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto;
       padding: 0 1rem; color: #1a1a1a; }
h1, h2, h3 { line-height: 1.2; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.85rem; margin: 1rem 0; }
th, td { padding: 0.25rem 0.6rem; border-bottom: 1px solid #ddd; text-align: right;
         white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
.agrees { background: #d7efdc; } .disagrees { background: #f8d9d3; }
img { max-width: 100%; height: auto; }
"""


@dataclass
class Heading:
    """A heading of some level."""

    level: int
    text: str

    def markdown(self):
        """Return Markdown."""
        return f"{'#' * self.level} {self.text}"

    def html(self):
        """Return HTML."""
        return f"<h{self.level}>{html.escape(self.text)}</h{self.level}>"


@dataclass
class Paragraph:
    """A paragraph of plain text."""

    text: str

    def markdown(self):
        """Return Markdown."""
        return self.text

    def html(self):
        """Return HTML."""
        return f"<p>{html.escape(self.text)}</p>"


@dataclass
class Table:
    """A table of text."""

    header: list
    rows: list

    def markdown(self):
        """Return Markdown."""
        lines = [self.header, ["---"] * len(self.header), *self.rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

    def html(self):
        """Return HTML; a cell that is a verdict gets its colour."""
        head = "".join(f"<th>{html.escape(cell)}</th>" for cell in self.header)
        body = "".join(
            "<tr>" + "".join(_cell(cell) for cell in row) + "</tr>\n"
            for row in self.rows
        )
        return f'<div class="scroll"><table><tr>{head}</tr>\n{body}</table></div>'


def _cell(text):
    kind = f' class="{text}"' if text in ("agrees", "disagrees") else ""
    return f"<td{kind}>{html.escape(text)}</td>"


@dataclass
class Figure:
    """A picture, in the page itself."""

    png: bytes
    caption: str

    def markdown(self):
        """Return nothing: the picture is in the HTML page."""
        return ""

    def html(self):
        """Return HTML."""
        data = base64.b64encode(self.png).decode()
        text = html.escape(self.caption)
        return (
            f'<figure><img alt="{text}" src="data:image/png;base64,{data}">'
            f"<figcaption>{text}</figcaption></figure>"
        )


def write_report(folder):
    """Write the report of all records in a folder; return the two files."""
    records, damaged = RecordStore(folder).load_all()
    if not records:
        raise FileNotFoundError(
            f"{folder} has no records. Make some with `superior-replicate run`."
        )
    parts = _make_parts(records, damaged)
    text = "\n\n".join(filter(None, (part.markdown() for part in parts)))
    page = "\n".join(part.html() for part in parts)
    files = {
        "report.md": f"{text}\n",
        "report.html": (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>Superior scoring rules: replication</title>"
            f"<style>{_STYLE}</style></head><body>\n{page}\n</body></html>\n"
        ),
    }
    for name, content in files.items():
        write_atomically(folder / name, content.encode())
    return [folder / name for name in files]


def _make_parts(records, damaged):
    experiments = collect(records)
    rows = [row for experiment in experiments for row in make_rows(experiment)]
    parts = [
        Heading(1, "Which rule picks the best model? The paper's experiments again"),
        Paragraph(
            "Each network or ensemble is trained once for each fold. Every rule "
            "chooses among its stages by the validation part: the best of all (CP, "
            "checkpoint), or the best before the score had not improved for 10 stages "
            "(ES, early stopping). The choice is judged on the test part. Differences "
            "are between the penalized and the plain rule on the same training, with "
            "95 % bootstrap intervals over the folds. Networks that are judged by BS "
            "and PBS are trained with the Brier score, those judged by LL and PLL with "
            "the log loss; boosting is trained with the log loss."
        ),
        Heading(2, "Conclusions"),
        *(Paragraph(text) for text in _conclude(rows)),
    ]
    if damaged:
        names = ", ".join(str(path) for path in damaged)
        parts.append(Paragraph(f"Damaged records were left out: {names}."))
    for estimator, title in _ESTIMATORS.items():
        own = [row for row in rows if row.estimator == estimator]
        if own:
            parts.append(Heading(2, title))
            parts += _tables(own)
    parts += [Heading(2, "What was run"), _settings(experiments)]
    parts.append(Paragraph(_versions(records)))
    parts.append(Heading(2, "Training, epoch by epoch"))
    parts += [_draw(e) for e in experiments if e.estimator == "cnn"]
    return parts


def _compares(row):
    return row.status == "complete"


def _tables(rows):
    parts = []
    for quantity, title in _QUANTITIES.items():
        for rule in PLAIN_RULES:
            chosen = [r for r in rows if (r.quantity, r.rule) == (quantity, rule)]
            if chosen:
                plain, penalized = _SHORT[rule]
                parts.append(Heading(3, f"{title}: {penalized} against {plain}"))
                parts.append(_table(chosen, plain, penalized))
    if any(not _compares(row) for row in rows):
        parts.append(
            Paragraph(
                "Data sets with a star do not hold the paper's classes: they are "
                "shown, but not compared with it."
            )
        )
    return parts


def _table(rows, plain, penalized):
    header = [
        "data set",
        "choice",
        plain,
        penalized,
        f"Δ {penalized} − {plain}",
        "95 % interval",
        "won / tied / lost",
        "Δ in the paper",
        "the paper's gain",
    ]
    digits = 2 if rows[0].quantity == "test_f1" else 3
    lines = []
    for row in sorted(rows, key=lambda r: (not _compares(r), r.dataset, r.selection)):
        compared = row.estimator == "cnn" and _compares(row) and row.paper is not None
        lines.append(
            [
                row.dataset.replace("_", " ") + ("" if _compares(row) else " *"),
                row.selection,
                _spread(row.plain, digits),
                _spread(row.penalized, digits),
                _signed(row.difference, digits),
                f"{_signed(row.low, digits)} to {_signed(row.high, digits)}",
                f"{row.wins} / {row.ties} / {row.losses}",
                _signed(row.paper, digits) if compared else "–",
                row.verdict if compared else "–",
            ]
        )
    return Table(header, lines)


def _spread(pair, digits):
    return " ± ".join("–" if np.isnan(v) else f"{v:.{digits}f}" for v in pair)


def _signed(value, digits):
    return "–" if np.isnan(value) else f"{value:+.{digits}f}"


def _conclude(rows):
    """Say in words what the numbers say."""
    for estimator, title in _ESTIMATORS.items():
        own = [r for r in rows if r.estimator == estimator]
        own = [r for r in own if _compares(r)] or own
        if own:
            sentences = [
                _sentence(own, quantity, rule)
                for quantity in ("correlation", "test_f1")
                for rule in PLAIN_RULES
            ]
            yield f"{title}: {' '.join(filter(None, sentences))}"


def _sentence(rows, quantity, rule):
    rows = [r for r in rows if (r.quantity, r.rule) == (quantity, rule)]
    if not rows:
        return ""
    plain, penalized = _SHORT[rule]
    digits = 2 if quantity == "test_f1" else 3
    what, unit = {
        "correlation": ("the correlation with F1 in validation", ""),
        "test_f1": ("F1 of the chosen model on test data", " points"),
    }[quantity]
    gains = np.array([row.difference for row in rows])
    verdicts = [row.verdict for row in rows]
    n_up, n_down = verdicts.count("agrees"), verdicts.count("disagrees")
    judgement = {
        (True, False): "This supports the paper's claim.",
        (False, True): "This contradicts the paper's claim.",
        (True, True): "The evidence is mixed.",
        (False, False): "No difference is certain.",
    }[n_up > 0, n_down > 0]
    return (
        f"{penalized} instead of {plain} changes {what} by "
        f"{_signed(np.nanmean(gains), digits)}{unit} on average; it is higher in "
        f"{int((gains > 0).sum())} and lower in {int((gains < 0).sum())} of "
        f"{len(rows)} cases (a data set with CP or ES), and the interval excludes zero "
        f"in {n_up} and {n_down} of these. {judgement}"
    )


def _settings(experiments):
    header = ["data set", "estimator", "epochs or trees", "trainings per loss", "hours"]
    return Table(
        header,
        [
            [
                e.dataset.replace("_", " "),
                _ESTIMATORS[e.estimator],
                str(e.max_iter),
                str(e.n_trainings),
                f"{e.seconds / 3600:.2f}",
            ]
            for e in experiments
        ],
    )


def _versions(records):
    found = sorted({tuple(sorted(r["versions"].items())) for r in records})
    texts = [", ".join(f"{name} {number}" for name, number in one) for one in found]
    return f"Versions: {'; '.join(texts)}."


def _draw(experiment):
    """Draw the paper's figure: F1 and two rules over the epochs, for both losses."""
    pyplot = import_optional(
        "matplotlib.pyplot", caller="superior-replicate report", extra="plot"
    )
    losses = [loss for loss in PLAIN_RULES if loss in experiment.comparisons]
    figure, axes = pyplot.subplots(
        1, len(losses), figsize=(5.5 * len(losses), 3.4), squeeze=False
    )
    for loss, ax in zip(losses, axes[0], strict=True):
        comparison = experiment.comparisons[loss]
        first = comparison.trajectories[0]
        StoppingTrajectoryDisplay.from_comparison(
            comparison,
            fold=first.fold,
            repeat=first.repeat,
            rules=[loss, f"penalized_{loss}"],
            ax=ax,
        )
        ax.set_xlabel(f"epoch, trained with the {_LOSSES[loss]}")
    figure.set_layout_engine("constrained")
    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=90)
    pyplot.close(figure)
    name = experiment.dataset.replace("_", " ")
    return Figure(buffer.getvalue(), f"{name}, first fold")
