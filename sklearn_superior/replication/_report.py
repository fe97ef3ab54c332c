"""The report: one list of parts, written as Markdown and as a page of HTML."""

import base64
import html
from dataclasses import dataclass
from io import BytesIO

import numpy as np

from sklearn_superior.plotting import StoppingTrajectoryDisplay
from sklearn_superior.replication._results import (
    MIN_FOLDS,
    PLAIN_RULES,
    collect,
    make_rows,
)
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
body { font: 16px/1.5 system-ui, sans-serif; max-width: 78rem; margin: 2rem auto;
       padding: 0 1rem; color: #1a1a1a; }
h1, h2, h3 { line-height: 1.2; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.85rem; margin: 1rem 0; }
th, td { padding: 0.25rem 0.6rem; border-bottom: 1px solid #ddd; text-align: right;
         white-space: nowrap; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0;
                                 background: white; }
td.text { text-align: left; }
figure { margin: 1.5rem 0; } figcaption { font-size: 0.85rem; color: #444; }
figure img { width: 48%; min-width: 320px; }
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
    kind = ""
    if text in ("agrees", "disagrees"):
        kind = f' class="{text}"'
    elif text.isalpha() or text in _ESTIMATORS.values():
        kind = ' class="text"'
    return f"<td{kind}>{html.escape(text)}</td>"


@dataclass
class Figures:
    """Pictures side by side, in the page itself."""

    pngs: list
    caption: str

    def markdown(self):
        """Return nothing: the pictures are in the HTML page."""
        return ""

    def html(self):
        """Return HTML."""
        text = html.escape(self.caption)
        images = "".join(
            f'<img alt="{text}" src="data:image/png;base64,'
            f'{base64.b64encode(png).decode()}">'
            for png in self.pngs
        )
        return f"<figure>{images}<figcaption>{text}</figcaption></figure>"


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
            "The paper on superior scoring rules (R. Ahmadian, M. Ghatee, J. "
            "Wahlström, International Journal of Approximate Reasoning, 2025) claims "
            "that a network which is "
            "stopped by the penalized Brier score (PBS) or the penalized log loss "
            "(PLL) is better than one which is stopped by the Brier score (BS) or the "
            "log loss (LL). Here each network or ensemble is trained once for each "
            "fold, and every rule chooses among its stages by the validation part: the "
            "best of all (CP, checkpoint), or the best before the score had not "
            "improved for 10 stages (ES, early stopping). The choice is judged on the "
            "test part. Networks that are judged by BS and PBS are trained with the "
            "Brier score, those judged by LL and PLL with the log loss; boosting is "
            "trained with the log loss."
        ),
        Heading(2, "Conclusions"),
        *(Paragraph(text) for text in _conclude(rows)),
        Paragraph(
            "That a penalized rule follows F1 more closely is no surprise: the penalty "
            "is a multiple of the error rate. Whether the chosen model is better on "
            "test data is the question that matters."
        ),
        _overview(rows),
        Paragraph(
            "Δ is the mean over the data sets of the differences between the penalized "
            "and the plain rule on the same trainings, of F1 in percent. A difference "
            f"is clear if its 95 % bootstrap interval over at least {MIN_FOLDS} folds "
            "excludes zero; folds share data, so that is a guide and no proof. In the "
            "tables below the verdict is whether the paper's claim of a gain is clear "
            "(agrees), or its opposite (disagrees), or neither (undecided). A "
            "comparison is a data set with a pair of rules and CP or ES, which may "
            "well choose the same stage."
        ),
    ]
    if damaged:
        names = ", ".join(str(path) for path in damaged)
        parts.append(Paragraph(f"Damaged records were left out: {names}."))
    n_used = sum(
        len(c.trajectories) for e in experiments for c in e.comparisons.values()
    )
    if n_used < len(records):
        parts.append(
            Paragraph(
                f"{len(records) - n_used} records of fewer epochs were left out where "
                "there are longer trainings of the same kind."
            )
        )
    for estimator, title in _ESTIMATORS.items():
        own = [row for row in rows if row.estimator == estimator]
        if own:
            parts.append(Heading(2, title))
            parts += _tables(own)
    parts += [Heading(2, "What was run"), _settings(experiments)]
    networks = [e for e in experiments if e.estimator == "cnn"]
    short = [e for e in networks if e.max_iter < 100 or e.n_trainings < MIN_FOLDS]
    if short:
        names = ", ".join(e.dataset.replace("_", " ") for e in short)
        parts.append(
            Paragraph(
                f"Networks with fewer than 100 epochs or {MIN_FOLDS} folds, where more "
                f"might change the result: {names}."
            )
        )
    parts.append(Paragraph(_versions(records)))
    if networks:
        parts.append(Heading(2, "Training, epoch by epoch"))
        parts.append(
            Paragraph(
                "The HTML page of this report draws the first fold of each data set: "
                "validation scores, each scaled to its range. A filled marker is the "
                "best epoch of all, a hollow one the choice of early stopping, and r "
                "the correlation with F1."
            )
        )
        parts += [_draw(experiment) for experiment in networks]
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
    ]
    of_network = rows[0].estimator == "cnn"
    if of_network:  # which is what the paper has
        header += ["Δ in the paper", "verdict"]
    digits = 2 if rows[0].quantity == "test_f1" else 3
    lines = []
    for row in sorted(rows, key=lambda r: (not _compares(r), r.dataset, r.selection)):
        line = [
            row.dataset.replace("_", " ") + ("" if _compares(row) else " *"),
            row.selection,
            _spread(row.plain, digits),
            _spread(row.penalized, digits),
            _signed(row.difference, digits),
            _interval(row.low, row.high, digits),
            f"{row.wins} / {row.ties} / {row.losses}",
        ]
        if of_network:
            compared = _compares(row) and row.paper is not None
            line.append(_signed(row.paper, digits) if compared else "–")
            line.append(row.verdict if compared else "–")
        lines.append(line)
    return Table(header, lines)


def _spread(pair, digits):
    mean, std = (f"{value:.{digits}f}".replace("-", "−") for value in pair)
    if mean == "nan":
        return "–"
    return mean if std == "nan" else f"{mean} ± {std}"


def _signed(value, digits):
    text = "–" if np.isnan(value) else f"{value:+.{digits}f}"
    return text.replace("-", "−")


def _interval(low, high, digits):
    return (
        "–" if np.isnan(low) else f"{_signed(low, digits)} to {_signed(high, digits)}"
    )


def _conclude(rows):
    """Say in words what the numbers say."""
    for estimator, title in _ESTIMATORS.items():
        own = [r for r in rows if r.estimator == estimator and _compares(r)]
        if not own:
            continue
        sentences = []
        for quantity, what, claim in (
            ("correlation", "follows F1 in validation", "more closely"),
            ("test_f1", "chooses a model whose F1 on test data is", "higher"),
        ):
            verdicts = [
                r.verdict
                for r in own
                if r.quantity == quantity and r.n_folds >= MIN_FOLDS
            ]
            n_up, n_down = verdicts.count("agrees"), verdicts.count("disagrees")
            if n_up and not n_down:
                some = "" if 2 * n_up >= len(verdicts) else "in some cases "
                judgement = f"{some}the penalized rule {what} {claim}: this is clear"
            elif n_up or n_down:
                judgement = (
                    f"the evidence that the penalized rule {what} {claim} is mixed: it "
                    "is clear"
                )
            else:
                judgement = (
                    f"it is not shown that the penalized rule {what} {claim}: this is "
                    "clear"
                )
            sentences.append(
                f"{judgement} in {n_up} of {len(verdicts)} comparisons, and the "
                f"opposite in {n_down}"
            )
        text = ". ".join(s[0].upper() + s[1:] for s in sentences)
        yield f"{title}. {text}."
    if not any(_compares(row) for row in rows):
        yield "Nothing here compares with the paper: these are other data."


def _overview(rows):
    header = ["estimator", "rules", "choice", "data sets"]
    for name in ("correlation", "test F1"):
        header += [f"Δ {name}", "higher / lower", "clearly so"]
    lines = []
    rows = [row for row in rows if _compares(row)] or rows
    for estimator, title in _ESTIMATORS.items():
        for rule in PLAIN_RULES:
            for selection in ("CP", "ES"):
                line = []
                for quantity, digits in (("correlation", 3), ("test_f1", 2)):
                    own = [
                        r
                        for r in rows
                        if (r.estimator, r.rule, r.selection, r.quantity)
                        == (estimator, rule, selection, quantity)
                    ]
                    if own:
                        line += _count(own, digits)
                if line:
                    pair = f"{_SHORT[rule][1]} − {_SHORT[rule][0]}"
                    lines.append([title, pair, selection, str(len(own)), *line])
    return Table(header, lines)


def _count(rows, digits):
    gains = np.array([row.difference for row in rows])
    verdicts = [row.verdict for row in rows]
    return [
        _signed(np.nanmean(gains), digits),
        f"{(gains > 0).sum()} / {(gains < 0).sum()}",
        f"{verdicts.count('agrees')} / {verdicts.count('disagrees')}",
    ]


def _settings(experiments):
    header = ["data set", "estimator", "epochs or trees", "folds", "minutes"]
    return Table(
        header,
        [
            [
                e.dataset.replace("_", " "),
                _ESTIMATORS[e.estimator],
                str(e.max_iter),
                str(e.n_trainings),
                f"{e.seconds / 60:.1f}",
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
    pngs = []
    for loss in PLAIN_RULES:
        if loss not in experiment.comparisons:
            continue
        figure, ax = pyplot.subplots(figsize=(5.5, 3.4), layout="constrained")
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
        buffer = BytesIO()
        figure.savefig(buffer, format="png", dpi=90)
        pyplot.close(figure)
        pngs.append(buffer.getvalue())
    name = experiment.dataset.replace("_", " ")
    return Figures(pngs, f"{name}: validation scores over the epochs of the first fold")
