"""The tables of the study of habits, beside its five tests."""

import math

from studies._evidence import KINDS
from studies._figures import KIND_NAMES, MODEL_NAMES
from studies._measures import has_several_classes
from studies._page import Heading, Paragraph, Table, signed
from studies._wording import DIGITS, judge, level, show
from studies.habits import descriptions, meta
from studies.habits.analysis import make_hypotheses
from studies.habits.descriptions import BASELINE, WAYS


def show_advice(study):
    """Return the table of what to use when, by kind and size."""
    large = set(study.plan["large"])
    lines = []
    for kind in KINDS:
        for text, is_large in (("below 20,000 rows", False), ("20,000 and more", True)):

            def counts(record, is_large=is_large):
                is_in = (record["job"]["dataset"] in large) == is_large
                return is_in and has_several_classes(record)

            rows = descriptions.compare_ways(study, [kind], counts)
            known = {way: row for way, row in rows.items() if row["log_loss"]["n"] >= 3}
            if known:
                lines.append([KIND_NAMES[kind], text, *_advise(known)])
    header = [
        "data",
        "rows",
        "use",
        "log loss against the habit, log points",
        "certainty",
        "time",
        "cheapest within 2 log points of it",
        "its time",
    ]
    return [
        Heading(2, "What to use when"),
        Table(header, lines),
        Paragraph(
            "The way with the lowest mean log loss, against the habit of H2: the best "
            "mean round of the folds, then one model of all rows. Time is that of "
            "training, in processor seconds, the habit is 1. Clear means that the "
            "interval excludes 0. This is not a test, and the best of many ways looks "
            "better than it is."
        ),
    ]


def _advise(rows):
    """Return the best way of a part of the data, and the cheapest close to it."""
    losses = {way: row["log_loss"]["difference"] for way, row in rows.items()}
    best = min(losses, key=losses.get)
    close = [way for way, loss in losses.items() if loss <= losses[best] + 2]
    cheap = min(close, key=lambda way: rows[way]["times"])
    row = rows[best]
    return [
        WAYS[best],
        show(row["log_loss"], 1),
        "–" if best == BASELINE else judge(row["log_loss"]),
        f"× {row['times']:.2f}",
        WAYS[cheap],
        f"× {rows[cheap]['times']:.2f}",
    ]


def show_ways(study):
    """Compare all ways, kind by kind."""
    parts = [
        Heading(2, "How good is each way, and what does it cost?"),
        Paragraph(
            "Against the best mean round of the folds and a refit, not calibrated. "
            "Losses in log points, F1 in points. The calibration error, in points, is "
            "the expected one in 15 bins of the highest probability. Time is that of "
            "training in processor seconds, the habit is 1; that of GridSearchCV is "
            "added up from the stages that it would train. Ways that train the whole "
            "budget are missing on the heaviest sets."
        ),
    ]
    header = ["way", "units", "log loss", "Brier score", "F1", "calibration", "time"]
    for kind in KINDS:
        rows = descriptions.compare_ways(study, [kind])
        lines = [
            [
                WAYS[way],
                str(row["log_loss"]["n"]),
                show(row["log_loss"], 1),
                show(row["brier"], 1),
                show(row["f1"]),
                level(row["ece"]),
                "–" if math.isnan(row["times"]) else f"{row['times']:.2f}",
            ]
            for way, row in rows.items()
        ]
        parts += [Heading(3, KIND_NAMES[kind].capitalize()), Table(header, lines)]
    return parts


def show_parts(study):
    """List the differences by kind, by model, and by part of the data."""
    hypotheses = make_hypotheses(study.plan)
    of_kinds, of_models = (
        descriptions.split_by_kind(study),
        descriptions.split_by_model(study),
    )
    names = [h.name for h in hypotheses]
    lines = [
        [text, *(show(found[h.name][key], DIGITS[h.unit]) for h in hypotheses)]
        for found, texts in ((of_kinds, KIND_NAMES), (of_models, MODEL_NAMES))
        for key, text in texts.items()
        if key in found["H1"]
    ]
    parts = descriptions.split_by_part(study)
    pairs = list(descriptions.PAIRS)
    more = [
        [part, str(own["H1"]["n"]), *(show(own[name], 1) for name in pairs)]
        for part, own in parts.items()
    ]
    return [
        Heading(2, "Is it the same for all data and all models?"),
        Paragraph(
            "The differences of the hypotheses: H1, H2 and H4 in log points of log "
            "loss, H3 and H5 in points of F1. On each kind of data, and for each "
            "model alone:"
        ),
        Table(["data or model", *names], lines),
        Paragraph("Log points of log loss by classes, split, and size:"),
        Table(["data", "units", *pairs], more),
    ]


def show_costs(study):
    """Compare the cost of decisions on two classes."""
    lines = [
        [name, *(show(own[ratio], 1) for ratio in (5, 20))]
        for name, own in descriptions.compare_costs(study).items()
    ]
    return [
        Heading(2, "What do decisions cost?"),
        Paragraph(
            "Binary tables. Missing the rarer class costs 5 or 20 times as much as a "
            "false alarm; decisions minimise the expected cost. Log points of the "
            "total cost, pooled over the folds:"
        ),
        Table(["ways", "1 : 5", "1 : 20"], lines),
    ]


def show_timed(study):
    """Compare procedures that ran one by one with what was replayed."""
    rows = descriptions.compare_timed(study)
    if not rows:
        return []
    lines = [
        [
            WAYS[way],
            str(row["n"]),
            str(row["same"]),
            f"{row['gap']:.1g}",
            f"{row['times']:.2f}",
            f"{row['predict']:.2f}",
        ]
        for way, row in rows.items()
    ]
    header = [
        "way",
        "trainings",
        "same stage",
        "largest gap of log losses",
        "training time",
        "prediction time",
    ]
    seconds = descriptions.mean_predict_seconds(study)
    texts = [f"{KIND_NAMES[kind]} {value:.1f}" for kind, value in seconds.items()]
    return [
        Heading(2, "By the clock, one by one"),
        Paragraph(
            "On some of the sets the procedures also ran one after another, as a user "
            "runs them. They should choose what was replayed from shared trainings. "
            "Times by the clock, StagedSearchCV is 1, geometric means:"
        ),
        Table(header, lines),
        Paragraph(
            "Predicting 1,000 rows with StagedSearchCV takes, in milliseconds: "
            f"{'; '.join(texts)}."
        ),
    ]


def show_meta(study):
    """List the paper's claim over three studies."""
    lines = [
        [name, part, str(row["n"]), show(row), f"{row['n_up']} / {row['n_down']}"]
        for name, own in meta.combine(study).items()
        for part, row in own.items()
    ]
    return [
        Heading(2, "The paper's claim over three studies"),
        Paragraph(
            "Points of macro F1 on signals, best of all stages. Each unit weighs the "
            "same, whichever study it is of. The first study made the hypothesis, so "
            "the later two stand beside all three."
        ),
        Table(["rules", "studies", "units", "points of F1", "higher / lower"], lines),
    ]


def show_sets(study):
    """List the differences of all data sets."""
    hypotheses = make_hypotheses(study.plan)
    lines = []
    for kind in KINDS:
        for name in study.sets([kind]):
            cells = [
                signed(study.value(name, h.measure), DIGITS[h.unit])
                if kind in h.kinds
                else "–"
                for h in hypotheses
            ]
            n_rows = {r["n_rows"]["train"] for r in _found(study, name)}
            size = str(max(n_rows)) if n_rows else "–"
            lines.append([name.replace("_", " "), KIND_NAMES[kind], size, *cells])
    return [
        Heading(2, "Appendix: all data sets"),
        Paragraph(
            "H1, H2 and H4 in log points of log loss, H3 and H5 in points of F1."
        ),
        Table(
            ["data set", "data", "training rows", *(h.name for h in hypotheses)], lines
        ),
    ]


def _found(study, name):
    return [r for model in study.models(name) for r in study.counted(name, model)]


ALL = (show_ways, show_parts, show_costs, show_timed, show_meta)
