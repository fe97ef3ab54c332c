"""The tables of the comparison of procedures, beside its five tests."""

import math

from studies._evidence import KINDS
from studies._figures import KIND_NAMES, MODEL_NAMES
from studies._measures import LAST, log_ratio, way_gain
from studies._page import (
    Heading,
    Paragraph,
    Table,
    signed,
)
from studies._wording import DIGITS, level, show
from studies.procedures import descriptions
from studies.procedures.analysis import (
    AT_RANDOM,
    BASELINE,
    HYPOTHESES,
    REFINED,
    five_results,
    has_one_class,
)
from studies.procedures.data import COPIES
from studies.rules.evidence import SHORT

WAY_NAMES = {
    "default": "early stopping, default",
    "former": "early stopping, former default",
    "all": "StagedSearchCV, all rows",
    "folds": "StagedSearchCV, folds",
}


def short(rule):
    """Return the name of a rule."""
    return SHORT[rule].split(" (")[0]


def _kinds_of(study, kinds=KINDS):
    return [kind for kind in kinds if study.sets([kind])]


def _by_kind(study, rows, kinds, text=show, digits=2):
    """Return the cells of a row for each kind."""
    return [text(rows[kind], digits) for kind in _kinds_of(study, kinds)]


def _header(study, first, kinds=KINDS):
    return [first, *(KIND_NAMES[kind] for kind in _kinds_of(study, kinds))]


def show_rules(study):
    """Compare every rule with the log loss and with the last stage."""
    kinds = descriptions.ALL_KINDS
    parts = [
        Heading(2, "Which rule?"),
        Paragraph(
            "Each rule chooses the best of all stages. Macro F1 of that stage on test "
            "data, in points above the choice of the log loss:"
        ),
    ]
    for baseline in (BASELINE, LAST):
        rows = descriptions.compare_rules(study, baseline)
        lines = [
            [short(rule), *_by_kind(study, own, kinds)] for rule, own in rows.items()
        ]
        parts.append(Table(_header(study, "rule", kinds), lines))
        if baseline == BASELINE:
            parts.append(Paragraph("The same, in points above the last stage:"))
    return parts


def show_splits(study):
    """Compare new groups with a split at random."""
    rows = descriptions.compare_splits(study)
    if not rows["H1"]["groups"]["n"]:
        return []
    lines = [
        [
            AXES_IN_WORDS[name],
            str(own["groups"]["n"]),
            *(show(own[key]) for key in ("groups", "at_random", "difference")),
        ]
        for name, own in rows.items()
    ]
    header = ["points of F1", "units", "new groups", "at random", "difference"]
    return [
        Heading(2, "Is it the data or the split?"),
        Paragraph(
            f"{_say_split(rows['H1']['difference'])} These are the signals with groups "
            "(people, recordings, days). Once whole groups are held out, as in the "
            "tests, and once random rows:"
        ),
        Table(header, lines),
    ]


AXES_IN_WORDS = {"H1": "refined PLL − log loss", "H2": "PBS − Brier score"}


def _say_split(row):
    if not row["low"] > 0 and not row["high"] < 0:
        return "On the same data, the two splits show no clear difference."
    more = "more" if row["difference"] > 0 else "less"
    return f"The split matters: with new groups refined PLL gains {more}."


def show_parts(study):
    """List the five differences by kind of data and model by model."""
    kinds = _kinds_of(study, descriptions.ALL_KINDS)
    of_kinds = descriptions.split_by_kind(study)
    own = [h for h in HYPOTHESES if h.name != "H4"]  # the same measure as H1
    lines = [
        [KIND_NAMES[kind], *(show(of_kinds[h.name][kind], DIGITS[h.unit]) for h in own)]
        for kind in kinds
    ]
    of_models = descriptions.split_by_model(study)
    models = [
        [
            MODEL_NAMES.get(model, model),
            *(show(of_models[h.name][model], DIGITS[h.unit]) for h in HYPOTHESES),
        ]
        for model in of_models["H1"]
    ]
    names = ["H1, H4" if h.name == "H1" else h.name for h in own]
    return [
        Heading(2, "Is it the same for all data and all models?"),
        Paragraph(
            "The differences of the five hypotheses: H1, H2 and H4 in points of F1, H3 "
            "and H5 in log points of log loss. On each kind of data:"
        ),
        Table(["data", *names], lines),
        Paragraph("For each model alone, on the data of the hypothesis:"),
        Table(["model", *(h.name for h in HYPOTHESES)], models),
    ]


def show_procedures(study):
    """Compare the four ways: quality of the probabilities, and cost."""
    kinds = _kinds_of(study)
    ratios = {
        way: descriptions.of_kinds(study, log_ratio(way, "default"), kinds)
        for way in descriptions.WAYS
    }
    gains = {
        way: descriptions.of_kinds(
            study, way_gain(way, "default", "f1_macro", 100), kinds
        )
        for way in descriptions.WAYS
    }
    errors = descriptions.compare_calibration(study)
    seconds = descriptions.compare_seconds(study)
    lines = [
        [
            WAY_NAMES[way],
            KIND_NAMES[kind],
            *(
                ["–", "–"]
                if way == "default"
                else [show(ratios[way][kind], 1), show(gains[way][kind])]
            ),
            level(errors[way][kind]),
            f"{seconds[way][kind][0]:.1f}" if way in seconds else "–",
            f"{seconds[way][kind][1]:.1f}" if way in seconds else "–",
        ]
        for kind in kinds
        for way in descriptions.WAYS
    ]
    header = [
        "procedure",
        "data",
        "log loss, log points against the default",
        "F1, points against the default",
        "calibration error, points",
        "seconds",
        "time relative to the default",
    ]
    budgets = descriptions.compare_budgets(study)
    shares = [
        [WAY_NAMES[way], *_by_kind(study, own, KINDS, level, 0)]
        for way, own in budgets.items()
    ]
    return [
        Heading(2, "How good is each procedure, and what does it cost?"),
        Paragraph(
            "Calibration error is the expected calibration error, in 15 bins of the "
            "highest probability. Seconds are measured on one core."
        ),
        Table(header, lines),
        Paragraph("Percentage of the budget that early stopping trains:"),
        Table(_header(study, "procedure"), shares),
    ]


def show_refits(study):
    """Compare the model of all rows with the models of the folds."""
    rows = descriptions.compare_refits(study)
    lines = [
        [f"{above} against {below}", *_by_kind(study, own, KINDS, digits=1)]
        for (above, below), own in rows.items()
    ]
    return [
        Heading(2, "One model of all rows, or the models of the folds?"),
        Paragraph("Log loss on test data, in log points:"),
        Table(_header(study, "refit"), lines),
    ]


def show_sizes(study):
    """List what the size of the validation part changes."""
    lines = [
        [
            row["size"],
            str(row["n_trainings"]),
            str(row["f1"]["n"]),
            show(row["f1"]),
            show(row["log_ratio"], 1),
        ]
        for row in descriptions.compare_sizes(study)
    ]
    header = [
        "validation rows",
        "trainings",
        "units",
        "F1: refined PLL − log loss",
        "log loss, log points: default against former",
    ]
    return [
        Heading(2, "Are small validation sets different?"),
        Paragraph(
            "Tables, binary tables and signals together. Each size has data sets of "
            "its own, so more than the size may differ."
        ),
        Table(header, lines),
    ]


def show_tuned(study):
    """Compare two rules that choose among settings as well."""
    values, summaries = descriptions.compare_tuned(study)
    if not values:
        return []
    lines = [
        [name.replace("_", " "), signed(gain), signed(ratio, 1)]
        for name, (gain, ratio) in sorted(values.items())
    ]
    pooled = [show(summaries["f1"]), show(summaries["log_ratio"], 1)]
    header = ["data set", "F1, points", "log loss, log points"]
    return [
        Heading(2, "Which rule to tune by?"),
        Paragraph(
            "LightGBM with 27 candidates. StagedSearchCV chooses candidate and stage, "
            "once by refined PLL and once by the log loss. Both are recalibrated. "
            "Refined PLL against the log loss:"
        ),
        Table(header, [*lines, ["mean over units", *pooled]]),
    ]


def show_within(study):
    """List how many data sets show a difference by themselves."""
    lines = []
    for (way, baseline), row in descriptions.count_within(study).items():
        unclear = row["n"] - row["lower"] - row["higher"]
        numbers = [str(n) for n in (row["n"], row["lower"], row["higher"], unclear)]
        lines.append([f"{way} against {baseline}", *numbers])
    header = ["log loss", "data sets", "lower", "higher", "no clear difference"]
    return [
        Heading(2, "Is one data set enough to compare two procedures?"),
        Paragraph(
            "A loss counts as lower or higher if the difference is more than twice its "
            "standard error over the test rows of the data set. This treats folds as "
            "independent, and rows as well, even those of the same person, recording "
            "or day. Where there are such groups, the standard error is too small, and "
            "fewer data sets show a clear difference than the table says."
        ),
        Table(header, lines),
    ]


def list_exclusions(study):
    """Return what is left out to see what H3 depends on: name -> test of a record."""
    values = study.values(log_ratio("default", "former"))
    groups = {
        "the largest difference": [max(values, key=lambda name: abs(values[name]))],
        "related to the pilot": find_related(study),
        "test rows with copies": [name for name in study.sets() if name in COPIES],
    }
    exclusions = {
        "nothing, as planned": None,
        "test folds of a single class": has_one_class,
    }
    for reason, names in groups.items():
        if names:
            title = f"{', '.join(names)} ({reason})".replace("_", " ")
            exclusions[title] = lambda record, names=tuple(names): (
                record["job"]["dataset"] in names
            )
    return exclusions


def find_related(study):
    """Return the data sets of the tests that share data with one of the pilot."""
    seen = set(study.plan["seen"])
    families = [set(family) for family in study.plan["families"]]
    return [n for n in study.sets() if any(n in f and f & seen for f in families)]


def show_sensitivity(study):
    """List what becomes of H3 if some of the data is left out."""
    lines = []
    for name, is_out in list_exclusions(study).items():
        results = five_results(study.plan, study, is_out)
        (row,) = (result for result in results if result["name"] == "H3")
        if row["n"]:
            numbers = [f"{row[key]:.2g}" for key in ("p", "p_adjusted")]
            holding = ", ".join(r["name"] for r in results if r["holds"]) or "none"
            lines.append([name, str(row["n"]), show(row, 1), *numbers, holding])
    header = ["left out", "units", "H3, log points", "p", "adjusted p", "what holds"]
    return [
        Heading(2, "What does H3 depend on?"),
        Paragraph(
            "The five tests again, with some of the data left out. The plan leaves "
            "nothing out, so its verdict is the first row. The other rows were added "
            "afterwards and show how far the verdict depends on a few trainings."
        ),
        Table(header, lines),
    ]


def show_policies(study):
    """List what every rule reaches with every patience."""
    rows = descriptions.compare_policies(study)
    lines = [
        [
            short(row["rule"]),
            "–" if row["rule"] == LAST else _show_patience(row["patience"]),
            f"{row['share']:.0f}",
            f"{row['f1_lost']:.2f}",
            f"{row['loss_lost']:.1f}",
        ]
        for row in rows
    ]
    header = [
        "rule",
        "patience",
        "budget trained, %",
        "F1 lost",
        "log loss lost, log points",
    ]
    return [
        Heading(2, "Which patience?"),
        Paragraph(
            "Each rule is replayed with each patience on the same trainings. Listed is "
            "what it loses to the best row of this table: means over the units of all "
            "kinds. Refined rules are recalibrated, with any temperature; defaults.md, "
            "in the folder of the records, has temperatures of at least 1."
        ),
        Table(header, lines),
    ]


def _show_patience(patience):
    return "all stages" if patience is None else str(patience)


def show_sets(study):
    """List the differences of all data sets."""
    families = {
        name: ", ".join(other for other in family if other != name)
        for family in study.plan["families"]
        for name in family
    }
    measures = {h.name: h for h in HYPOTHESES if h.name != "H4"}  # the same as H1
    lines = []
    for kind in (*KINDS, AT_RANDOM):
        for name in study.sets([kind]):
            cells = [
                signed(study.value(name, h.measure), DIGITS[h.unit])
                for h in measures.values()
            ]
            shared = families.get(name, "–").replace("_", " ")
            text = name.removesuffix(f"_{AT_RANDOM}").replace("_", " ")
            lines.append([text, KIND_NAMES[kind], *cells, shared])
    names = ["H1 and H4" if name == "H1" else name for name in measures]
    return [
        Heading(2, "Appendix: all data sets"),
        Paragraph(
            "H1, H2 and H4 in points of F1, H3 and H5 in log points of log loss: means "
            "over the folds of each model, then over the models."
        ),
        Table(["data set", "data", *names, "one unit with"], lines),
    ]


def show_last_stages(study):
    """Say how often the best stage is the last."""
    texts = []
    for rule, own in descriptions.count_last_stages(study).items():
        n, n_all = (sum(count[k] for count in own.values()) for k in (0, 1))
        of_models = ", ".join(
            f"{MODEL_NAMES.get(model, model)} {100 * k / of:.0f} %"
            for model, (k, of) in own.items()
        )
        share = 100 * n / n_all if n_all else math.nan
        texts.append(f"{short(rule)} in {share:.0f} % ({of_models})")
    return " and ".join(texts)


ALL = (
    show_sensitivity,
    show_rules,
    show_splits,
    show_parts,
    show_procedures,
    show_refits,
    show_policies,
    show_sizes,
    show_tuned,
    show_within,
)
RULES_OF_FRONTIER = ("log_loss", "refined_log_loss", "penalized_brier", REFINED)
