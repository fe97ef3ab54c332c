"""The report of the study of signals: tables, and the figure of all sets."""

from collections import defaultdict

import numpy as np

from studies._page import (
    Bullets,
    Code,
    Figures,
    Heading,
    Paragraph,
    Table,
    as_png,
    interval,
    signed,
)
from studies._statistics import summarize
from studies.paper.protocol import describe_versions
from studies.signals.trainings import DEFAULT, NAMES, OTHER, PLAIN, make_jobs

AVERAGES = {"ema 0.9": "0.9", "ema 0.99": "0.99"}  # ways, and their decays
DESCRIPTIONS = {
    "adamw": "AdamW, weight decay 0.01",
    "decay": "AdamW, weight decay 0.5",
    "cosine": "cosine schedule",
    "clip": "gradients clipped at 1",
    "smoothing": "label smoothing 0.1",
    "augment": "jitter and scaling, 0.1",
    "usual": "AdamW 0.01, cosine and clipping",
}
# What an option has to gain, and may cost.
MOST_RATIO, LEAST_POINTS, MOST_TIME, SHARE = 0.97, 1.0, 2.0, 0.75
_COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00")
_MARKERS = "o^sDv"


def list_options(model):
    """Return the fits that are compared with the plain one, by what they are called."""
    options = {
        text: (model, option, PLAIN)
        for option, text in DESCRIPTIONS.items()
        if option != "usual"
    }
    options |= {
        f"averaged weights, decay {decay}": (model, PLAIN, way)
        for way, decay in AVERAGES.items()
    }
    usual = DESCRIPTIONS["usual"]
    return options | {
        usual: (model, "usual", PLAIN),
        f"{usual}, averaged 0.99": (model, "usual", "ema 0.99"),
    }


class Results:
    """The fits of all records: by model, option and way, then by data set.

    Parameters
    ----------
    records : list of dict
        The records.

    families : list of list of str
        Data sets that count as one unit.
    """

    def __init__(self, records, families=()):
        self.fits, self.families = defaultdict(dict), families
        for record in records:
            job = record["job"]
            for way, fit in record["fits"].items():
                key = job["model"], job["option"], way
                self.fits[key].setdefault(job["dataset"], {})[job["seed"]] = fit

    def datasets(self, *keys):
        """Return the sets that have all of these fits."""
        sets = set.intersection(*(set(self.fits[key]) for key in keys))
        return sorted(sets)

    def mean(self, key, dataset, measure):
        """Return the mean over the seeds."""
        return float(
            np.mean([fit[measure] for fit in self.fits[key][dataset].values()])
        )

    def log_ratios(self, key, baseline, measure):
        """Return the logarithm of the ratio to the baseline, by units."""
        return self._by_unit(
            key, baseline, measure, lambda own, other: np.log(own / other)
        )

    def differences(self, key, baseline, measure):
        """Return the difference from the baseline in points, by units."""
        return self._by_unit(
            key, baseline, measure, lambda own, other: 100 * (own - other)
        )

    def _by_unit(self, key, baseline, measure, compare):
        """Compare the fits of the seeds that both have; return the means."""
        unit_of = {name: family[0] for family in self.families for name in family}
        values = defaultdict(list)
        for name in self.datasets(key, baseline):
            own, other = self.fits[key][name], self.fits[baseline][name]
            pairs = [
                compare(own[seed][measure], other[seed][measure])
                for seed in own.keys() & other.keys()
            ]
            values[unit_of.get(name, name)].append(float(np.mean(pairs)))
        return {unit: float(np.mean(own)) for unit, own in values.items()}


def make_line(results, key, baseline):
    """Return the cells of a comparison: losses, scores, times."""
    losses = results.log_ratios(key, baseline, "log_loss")
    loss, f1, accuracy = (
        summarize(values.values())
        for values in (
            losses,
            results.differences(key, baseline, "f1"),
            results.differences(key, baseline, "accuracy"),
        )
    )
    low, centre, high = np.exp([loss[k] for k in ("low", "difference", "high")])
    cells = [f"{centre:.3f}", "–" if np.isnan(low) else f"{low:.3f} to {high:.3f}"]
    cells += [f"{np.exp(np.median(list(losses.values()))):.3f}"]
    cells += [f"{loss['n_down']} of {loss['n']}", signed(f1["difference"], 1)]
    cells += [interval(f1["low"], f1["high"], 1), signed(accuracy["difference"], 1)]
    return cells + [
        f"{time_ratio(results, key, baseline, measure):.2f}"
        for measure in ("fit_cpu", "predict_cpu")
    ]


HEADER = [
    "log loss",
    "95 %",
    "median",
    "units better",
    "F1",
    "95 %",
    "accuracy",
    "fit time",
    "predict time",
]


def time_ratio(results, key, baseline, measure="fit_cpu"):
    """Return the geometric mean over the units of the ratio of times."""
    logs = results.log_ratios(key, baseline, measure)
    return float(np.exp(np.mean(list(logs.values()))))


def judge(results, key, baseline):
    """Say whether an option pays, by the rule of the plan."""
    loss = summarize(results.log_ratios(key, baseline, "log_loss").values())
    f1 = summarize(results.differences(key, baseline, "f1").values())
    by_loss = loss["difference"] <= np.log(MOST_RATIO)
    by_f1 = f1["difference"] >= LEAST_POINTS
    if not (by_loss or by_f1):
        return "no"
    if time_ratio(results, key, baseline) > MOST_TIME:
        return "too slow"
    certain = (by_loss and loss["high"] < 0) or (by_f1 and f1["low"] > 0)
    return "yes" if certain else "yes, but the interval has 0"


def compare(results, lines, baseline, *, judged=False):
    """Return the table of the fits that have a set in common with the baseline."""
    rows = [
        [
            text,
            *make_line(results, key, baseline),
            *([judge(results, key, baseline)] if judged else []),
        ]
        for text, key in lines.items()
        if results.datasets(key, baseline)
    ]
    return Table(["", *HEADER, *(["pays"] if judged else [])], rows)


def compare_options(results, model):
    """Return the parts on the options of one network."""
    baseline = model, PLAIN, PLAIN
    if not results.fits[baseline]:
        return []
    n_seeds = len(next(iter(results.fits[baseline].values())))
    return [
        Heading(2, f"Options: {NAMES[model]}"),
        Paragraph(
            f"Against the same loop without them, seed by seed, with up to {n_seeds} "
            "seeds. An option pays if it lowers the log loss by 3 % or raises F1 by a "
            "point in the mean, at no more than twice the time. Where the interval of "
            "what it gains has 0, the mean may be chance: the log loss of one network "
            "differs from seed to seed by about a tenth."
        ),
        compare(results, list_options(model), baseline, judged=True),
    ]


def compare_loops(results):
    """Return the parts on the plain loop and the package's own."""
    key = "paper", PLAIN, PLAIN
    if not results.fits[key]:
        return []
    return [
        Heading(2, "The plain loop against the package's"),
        Paragraph(
            "Options are measured by a plain PyTorch loop, against the same loop "
            "without them and with the same seed. Here is that loop, without options, "
            "against CNNClassifier: other random numbers and a slower optimizer, the "
            "same network and the same rule."
        ),
        compare(results, {NAMES["paper"]: key}, _default("paper")),
    ]


def answer_default(results):
    """Say of each estimator whether the rule of the plan makes it the default."""
    baseline, items = _default("paper"), []
    for model in ("residual", "inception"):
        key = _default(model)
        losses = results.log_ratios(key, baseline, "log_loss")
        if losses:
            n_better = sum(value < 0 for value in losses.values())
            time = time_ratio(results, key, baseline)
            holds = n_better >= SHARE * len(losses) and time <= 1
            items.append(
                f"The {NAMES[model]} is better on {n_better} of {len(losses)} units, "
                f"at {time:.2f} of the time. By the rule it "
                f"{'becomes' if holds else 'does not become'} the default."
            )
    return items


def _default(model):
    return model, DEFAULT, PLAIN


def show_sets(results):
    """Return the table of all sets: log loss and macro F1 of all estimators."""
    models = [m for m in NAMES if results.fits[_default(m)]]
    rows = []
    for name in results.datasets(_default("paper")):
        cells = [
            f"{results.mean(_default(m), name, measure):.{digits}f}"
            if name in results.fits[_default(m)]
            else "–"
            for measure, digits in (("log_loss", 3), ("f1", 3))
            for m in models
        ]
        rows.append([name.replace("_", " "), *cells])
    header = [f"{what}: {NAMES[m]}" for what in ("log loss", "F1") for m in models]
    return Table(["data set", *header], rows)


def draw_sets(results):
    """Draw the log loss of each estimator over that of the paper's network, by set."""
    from matplotlib import pyplot

    baseline = _default("paper")
    others = [m for m in NAMES if m != "paper" and results.fits[_default(m)]]
    ratios = {
        model: {
            name: results.mean(_default(model), name, "log_loss")
            / results.mean(baseline, name, "log_loss")
            for name in results.datasets(_default(model), baseline)
        }
        for model in others
    }
    names = sorted(
        results.datasets(baseline),
        key=lambda name: min(own.get(name, np.inf) for own in ratios.values()),
    )
    figure, axes = pyplot.subplots(figsize=(8, 1.5 + 0.27 * len(names)))
    for model, color, marker in zip(others, _COLORS, _MARKERS, strict=False):
        own = ratios[model]
        places = [k for k, name in enumerate(names) if name in own]
        axes.plot(
            [own[names[k]] for k in places],
            places,
            marker,
            color=color,
            markersize=6,
            alpha=0.85,
            label=NAMES[model],
        )
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(lambda ratio, _: f"{ratio:g}")
    axes.set_xlabel("test log loss / that of the paper's network")
    axes.set_yticks(range(len(names)), [name.replace("_", " ") for name in names])
    axes.grid(axis="both", alpha=0.3)
    axes.legend(loc="upper center", bbox_to_anchor=(0.4, 1.1), ncols=3, frameon=False)
    figure.tight_layout()
    return as_png(figure, dpi=110)


def make_parts(plan, records):
    """Return the parts of the page."""
    results = Results(records, plan["families"])
    default = _default("paper")
    n_seeds = len({record["job"]["seed"] for record in records})
    lines = {NAMES[m]: _default(m) for m in NAMES if m != "paper"}
    return [
        Heading(1, plan["title"]),
        Paragraph(
            f"{len(results.datasets(default))} data sets, {len(records)} trainings: "
            f"all {len(make_jobs(plan))} of the plan with one seed, those of the "
            f"networks of the package with {n_seeds}. "
            f"At most {plan['most_rows']} rows are trained and validated on: nothing "
            "is known about large data. All sets were seen before: this is a choice, "
            "not a test. A ratio is the geometric mean over the units, of the test log "
            "loss or of CPU time; below 1 is better. Differences of macro F1 and of "
            "accuracy are in points. The two hydraulic sets share data and count as "
            "one unit."
        ),
        Heading(2, "Estimators against the paper's network"),
        Paragraph(
            "All with their defaults and the same training rows, networks for "
            f"{plan['max_iter']} epochs. The networks and boosting hold out the same "
            "validation rows; the rockets train on them, too, and are calibrated out "
            "of fold."
        ),
        compare(results, lines, default),
        Bullets(answer_default(results)),
        Figures([draw_sets(results)], "Log loss over that of the paper's network."),
        *compare_options(results, "paper"),
        *compare_options(results, OTHER),
        *compare_loops(results),
        Heading(2, "All data sets"),
        show_sets(results),
        Heading(2, "The plan"),
        Code(plan.text),
        Paragraph(describe_versions(records)),
    ]
