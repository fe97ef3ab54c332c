"""The report: what the records say, beside the tables of the paper."""

from io import BytesIO

import numpy as np

from sklearn_superior.plotting import StoppingTrajectoryDisplay
from sklearn_superior.replication._page import (
    Figures,
    Heading,
    Paragraph,
    Table,
    as_html,
    as_markdown,
)
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


def write_report(folder):
    """Write the report of all records in a folder; return the two files."""
    records, damaged = RecordStore(folder).load_all()
    if not records:
        raise FileNotFoundError(
            f"{folder} has no records. Make some with `superior-replicate run`."
        )
    parts = _make_parts(records, damaged)
    files = {
        "report.md": as_markdown(parts),
        "report.html": as_html("Superior scoring rules: replication", parts),
    }
    for name, content in files.items():
        write_atomically(folder / name, content.encode())
    return [folder / name for name in files]


def _make_parts(records, damaged):
    experiments = collect(records)
    rows = [row for experiment in experiments for row in make_rows(experiment)]
    parts = _introduce(rows) + _describe_left_out(records, damaged, experiments)
    for estimator, title in _ESTIMATORS.items():
        own = [row for row in rows if row.estimator == estimator]
        if own:
            parts += [Heading(2, title), *_tables(own)]
    return parts + _describe_runs(records, experiments) + _draw_all(experiments)


def _introduce(rows):
    return [
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
        *(Paragraph(text) for text in _conclusions(rows)),
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


def _describe_left_out(records, damaged, experiments):
    parts = []
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
    return parts


def _describe_runs(records, experiments):
    parts = [Heading(2, "What was run"), _settings(experiments)]
    short = [
        e.dataset.replace("_", " ")
        for e in experiments
        if e.estimator == "cnn" and (e.max_iter < 100 or e.n_trainings < MIN_FOLDS)
    ]
    if short:
        parts.append(
            Paragraph(
                f"Networks with fewer than 100 epochs or {MIN_FOLDS} folds, where more "
                f"might change the result: {', '.join(short)}."
            )
        )
    return [*parts, Paragraph(_versions(records))]


def _draw_all(experiments):
    networks = [e for e in experiments if e.estimator == "cnn"]
    if not networks:
        return []
    return [
        Heading(2, "Training, epoch by epoch"),
        Paragraph(
            "The HTML page of this report draws the first fold of each data set: "
            "validation scores, each scaled to its range. A filled marker is the best "
            "epoch of all, a hollow one the choice of early stopping, and r the "
            "correlation with F1."
        ),
        *(_draw(experiment) for experiment in networks),
    ]


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


def _conclusions(rows):
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
    combinations = sorted({tuple(sorted(r["versions"].items())) for r in records})
    texts = [
        ", ".join(f"{name} {number}" for name, number in one) for one in combinations
    ]
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
