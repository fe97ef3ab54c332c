"""The report: what the records say, beside the tables of the paper."""

from pathlib import Path

from sklearn_superior.plotting import StoppingTrajectoryDisplay
from studies._page import (
    Bullets,
    Figures,
    Heading,
    Links,
    Paragraph,
    as_png,
)
from studies.paper.protocol import N_FOLDS, describe_versions
from studies.paper.results import (
    FEWEST_FOLDS,
    PLAIN_RULES,
    collect,
    make_rows,
    pool,
)
from studies.paper.tables import (
    ESTIMATOR_NAMES,
    LOSSES,
    QUANTITIES,
    choices,
    compares,
    level_table,
    overview,
    rule_tables,
    settings,
)

_REASONS = Path(__file__).with_name("reasons.txt")
_ANSWERS = [
    ("Is the paper right?", Path("doc/evidence.rst")),
    ("the report of the whole replication", Path("studies/records/paper/report.md")),
    ("criticism of the paper", Path("doc/paper.rst")),
]


def make_parts(records):
    """Return the parts of the page."""
    experiments = collect(records)
    if all(experiment.has_few_folds for experiment in experiments):
        return _show_trial_run(records, experiments)
    rows = [row for experiment in experiments for row in make_rows(experiment)]
    parts = [
        *_introduce(rows, experiments),
        *_compare_levels(rows),
        *_describe_left_out(records, experiments),
    ]
    for estimator, title in ESTIMATOR_NAMES.items():
        own = [row for row in rows if row.estimator == estimator]
        if own:
            parts += [Heading(2, title), *rule_tables(own)]
    return parts + _describe_runs(records, experiments) + _draw_all(experiments)


def _show_trial_run(records, experiments):
    """Return the page of so few folds that nothing can be compared."""
    return [
        Heading(1, "A trial run of the paper's experiments"),
        Links(_ANSWERS),
        Paragraph(
            "This run shows that everything works. It cannot show which rule is "
            f"better: that takes at least {FEWEST_FOLDS} folds of each data set, and "
            "several data sets. So there are no means, intervals or tests on this "
            "page. The first link leads to the answer."
        ),
        Heading(2, "What each rule chose"),
        Paragraph(
            "Each row is one training. For each rule, it has the epoch or tree with "
            "the best validation score, counted from 0 as in the figures below."
        ),
        choices(experiments),
        *_describe_left_out(records, experiments),
        Heading(2, "What was run"),
        settings(experiments),
        Paragraph(describe_versions(records)),
        *_draw_all(experiments),
        Paragraph("One training is an illustration, not a result."),
    ]


def _introduce(rows, experiments):
    compared = [e for e in experiments if e.status == "complete"]
    contrasts = pool(compared or experiments)
    return [
        Heading(1, "Which rule picks the best model? The paper's experiments again"),
        Paragraph(
            "The paper on superior scoring rules (R. Ahmadian, M. Ghatee, J. "
            "Wahlström, International Journal of Approximate Reasoning, 2025) claims "
            "that a network stopped by the penalized Brier score (PBS) or the "
            "penalized log loss (PLL) is better than one stopped by the Brier score "
            "(BS) or the log loss (LL). Here each network or ensemble is trained once "
            "for each fold, to its last stage. Every rule scores the validation data "
            "after each stage and chooses in two ways: the stage with the best score "
            "(CP, checkpoint), or the best one before the score stops improving for 10 "
            "stages (ES, early stopping). The choice is judged on the test data. "
            "Networks for BS and PBS are trained with the Brier score, those for LL "
            "and PLL with the log loss. Boosting is trained with the log loss."
        ),
        Heading(2, "Conclusions"),
        *(Paragraph(text) for text in _conclusions(contrasts, bool(compared))),
        Paragraph(
            "It is no surprise that a penalized rule follows F1 on the validation data "
            "more closely: the penalty is a multiple of the error rate. The question "
            "that matters is whether the chosen model is better on test data."
        ),
        overview(contrasts, [row for row in rows if compares(row)] or rows),
        Paragraph(
            "Δ is the mean over the data sets of the differences between the penalized "
            "and the plain rule on the same trainings. For F1 it is in points, at the "
            "checkpoint (CP); early stopping mostly chooses the same stage. The data "
            "sets are the units of its 95 % t interval and of p, from the exact "
            "sign-flip test. The last column is adjusted for the number of rows by "
            "Holm's method. In the tables below, an interval is the corrected "
            "resampled t over the folds of one data set. It describes other splits of "
            "the same data and says nothing about other data."
        ),
    ]


def _compare_levels(rows):
    """Show the paper's own values beside ours, and why they may differ."""
    own = [r for r in rows if r.estimator == "cnn" and r.paper and compares(r)]
    own = [row for row in own if row.selection == "CP"]
    if not own:
        return []
    parts = [
        Heading(2, "Levels beside the paper's"),
        Paragraph(
            "The tables above compare differences. Here are the values themselves, of "
            "the network at the checkpoint (CP): the paper's first, then ours."
        ),
    ]
    for quantity, title in QUANTITIES.items():
        table = level_table([row for row in own if row.quantity == quantity])
        parts += [Heading(3, title), table]
    reasons = _REASONS.read_text("utf-8").split("\n\n")
    items = [" ".join(text.split()) for text in reasons]
    return [*parts, Heading(3, "Why the levels may differ"), Bullets(items)]


def _describe_left_out(records, experiments):
    n_used = sum(
        len(c.trajectories) for e in experiments for c in e.comparisons.values()
    )
    if n_used == len(records):
        return []
    text = (
        f"{len(records) - n_used} records of fewer epochs were left out where there "
        "are longer trainings of the same kind."
    )
    return [Paragraph(text)]


def _describe_runs(records, experiments):
    parts = [Heading(2, "What was run"), settings(experiments)]
    short = [
        e.dataset.replace("_", " ")
        for e in experiments
        if e.estimator == "cnn" and (e.max_iter < 100 or e.n_trainings < N_FOLDS)
    ]
    if short:
        parts.append(
            Paragraph(
                f"Networks with fewer than 100 epochs or {N_FOLDS} folds, where more "
                f"might change the result: {', '.join(short)}."
            )
        )
    return [*parts, Paragraph(describe_versions(records))]


def _draw_all(experiments):
    networks = [e for e in experiments if e.estimator == "cnn"]
    if not networks:
        return []
    return [
        Heading(2, "Training, epoch by epoch"),
        Paragraph(
            "The HTML page of this report draws the first fold of each data set: "
            "validation scores, each scaled to its range. A filled marker is the epoch "
            "with the best score, a hollow one the choice of early stopping, and r the "
            "correlation with F1."
        ),
        *(_draw(experiment) for experiment in networks),
    ]


def _conclusions(contrasts, compares):
    """Put the numbers into words."""
    if not compares:
        yield "Nothing here can be compared with the paper: the data differ."
    shown = [c for c in contrasts if c["p_holm"] < 0.05]
    rest = "The others are undecided." if shown else "All are undecided."
    yield (
        f"Of the {len(contrasts)} differences below, {len(shown) or 'none'} "
        f"{'are' if len(shown) > 1 else 'is'} significant after adjustment for their "
        f"number. {rest}"
        if len(shown) < len(contrasts)
        else f"All {len(contrasts)} differences below are significant."
    )


def _draw(experiment):
    """Draw the paper's figure: F1 and two rules over the epochs, for both losses."""
    from matplotlib import pyplot

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
        ax.set_xlabel(f"epoch, trained with the {LOSSES[loss]}")
        pngs.append(as_png(figure))
    name = experiment.dataset.replace("_", " ")
    return Figures(pngs, f"{name}: validation scores over the epochs of the first fold")
