"""The tables of the report."""

import numpy as np

from studies._page import (
    Heading,
    Paragraph,
    Table,
    interval,
    signed,
)
from studies.paper.results import PLAIN_RULES

ESTIMATOR_NAMES = {
    "cnn": "Convolutional network",
    "hgb": "HistGradientBoosting",
    "xgboost": "XGBoost",
}
SHORT = {"brier": ("BS", "PBS"), "log_loss": ("LL", "PLL")}
RULE_NAMES = {
    name: short
    for rule, shorts in SHORT.items()
    for name, short in zip((rule, f"penalized_{rule}"), shorts, strict=True)
}
LOSSES = {"brier": "Brier score", "log_loss": "log loss"}
QUANTITIES = {
    "test_f1": "Macro F1 on test data, in percent",
    "correlation": "Correlation of the rule with macro F1 on validation data",
}


def level_table(rows):
    """Return the values of the paper beside ours: one quantity, the network."""
    digits = 1 if rows[0].quantity == "test_f1" else 2
    names = [name for rule in PLAIN_RULES for name in SHORT[rule]]
    levels = {}  # data set -> rule -> (paper, ours)
    for row in rows:
        ours = (row.plain[0], row.penalized[0])
        pairs = zip(SHORT[row.rule], zip(row.paper, ours, strict=True), strict=True)
        levels.setdefault(row.dataset, {}).update(pairs)
    lines = [
        [dataset.replace("_", " "), *_level_cells(of_set, names, digits)]
        for dataset, of_set in sorted(levels.items())
    ]
    whole = [of_set for of_set in levels.values() if len(of_set) == len(names)]
    if whole:
        means = {n: np.mean([of_set[n] for of_set in whole], axis=0) for n in names}
        lines.append(["mean", *_level_cells(means, names, digits)])
    return Table(["data set", *(f"{name}: paper / ours" for name in names)], lines)


def _level_cells(of_set, names, digits):
    return [
        " / ".join(f"{value:.{digits}f}".replace("-", "−") for value in of_set[name])
        if name in of_set
        else "–"
        for name in names
    ]


def compares(row):
    """Return whether a row has the classes of the paper."""
    return row.status == "complete"


def rule_tables(rows):
    """Return the tables of one estimator, with their headings."""
    parts = []
    for quantity, title in QUANTITIES.items():
        for rule in PLAIN_RULES:
            chosen = [r for r in rows if (r.quantity, r.rule) == (quantity, rule)]
            if chosen:
                plain, penalized = SHORT[rule]
                parts.append(Heading(3, f"{title}: {penalized} against {plain}"))
                parts.append(_table(chosen, plain, penalized))
    if any(not compares(row) for row in rows):
        parts.append(
            Paragraph(
                "Data sets with a star do not have the paper's classes. They are "
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
        header += ["Δ in the paper"]
    digits = 2 if rows[0].quantity == "test_f1" else 3
    lines = []
    for row in sorted(rows, key=lambda r: (not compares(r), r.dataset, r.selection)):
        line = [
            row.dataset.replace("_", " ") + ("" if compares(row) else " *"),
            row.selection,
            _spread(row.plain, digits),
            _spread(row.penalized, digits),
            signed(row.difference[0], digits),
            interval(*row.difference[1:], digits),
            " / ".join(map(str, row.counts)),
        ]
        if of_network:
            compared = compares(row) and row.paper is not None
            line.append(signed(row.paper_difference, digits) if compared else "–")
        lines.append(line)
    return Table(header, lines)


def _spread(pair, digits):
    mean, std = (f"{value:.{digits}f}".replace("-", "−") for value in pair)
    if mean == "nan":
        return "–"
    return mean if std == "nan" else f"{mean} ± {std}"


def overview(contrasts, rows):
    """Return the table of all pooled differences."""
    header = [
        "estimator",
        "rules",
        "data sets",
        "Δ correlation",
        "Δ test F1",
        "95 % interval",
        "higher / lower",
        "p",
        "p adjusted",
    ]
    lines = []
    for c in contrasts:
        plain, penalized = SHORT[c["rule"]]
        correlations = [
            r.difference[0]
            for r in rows
            if (r.estimator, r.rule, r.selection, r.quantity)
            == (c["estimator"], c["rule"], "CP", "correlation")
        ]
        lines.append(
            [
                ESTIMATOR_NAMES[c["estimator"]],
                f"{penalized} − {plain}",
                str(c["n_sets"]),
                signed(np.nanmean(correlations), 3),
                signed(c["difference"], 2),
                interval(c["low"], c["high"], 2),
                f"{c['n_up']} / {c['n_down']}",
                f"{c['p_value']:.3f}",
                f"{c['p_holm']:.3f}",
            ]
        )
    return Table(header, lines)


def choices(experiments):
    """Return the table of the stages that the rules choose, training by training."""
    lines = []
    for experiment in experiments:
        for loss, comparison in experiment.comparisons.items():
            lines += [
                [
                    experiment.dataset.replace("_", " "),
                    ESTIMATOR_NAMES[experiment.estimator],
                    LOSSES[loss],
                    str(trajectory.fold),
                    *(_choice(trajectory, rule) for rule in RULE_NAMES),
                ]
                for trajectory in comparison.trajectories
            ]
    header = ["data set", "estimator", "trained with", "fold", *RULE_NAMES.values()]
    return Table(header, lines)


def _choice(trajectory, rule):
    stage, _ = trajectory.choose(rule, "CP")
    return "–" if stage is None else str(stage)


def settings(experiments):
    """Return the table of what was run."""
    header = ["data set", "estimator", "epochs or trees", "folds", "minutes"]
    return Table(
        header,
        [
            [
                e.dataset.replace("_", " "),
                ESTIMATOR_NAMES[e.estimator],
                str(e.max_iter),
                str(e.n_trainings),
                f"{e.seconds / 60:.1f}",
            ]
            for e in experiments
        ],
    )
