"""The tables of the study of few validation rows."""

from collections import defaultdict

import numpy as np

from sklearn_superior.datasets import list_paper_datasets
from studies._page import Bullets, Heading, Paragraph, Table
from studies._statistics import summarize
from studies.small.policies import OLD, PLAIN, POLICIES

TITLE = "Early stopping with few validation rows"
DEFAULT = "refined log loss, 20, σ = 0.5, T ≥ 1"  # of the package
TWO_SIDED = "refined PLL, 20, σ = 0.5"  # what the second study tested
GUIDE = tuple(
    name
    for name in POLICIES
    if name == "refined log loss, 20, σ = 0.5"
    or not (name.startswith("refined log loss") or name.endswith("T ≥ 1"))
)
FAMILIES = {"hgb": "HistGradientBoosting", "mlp": "MLP", "cnn": "CNN"}
KINDS = ("tables", "signals")
# Validation rows, at least and at most.
BINS = {
    "fewer than 60": (1, 59),
    "60 to 120": (60, 120),
    "121 to 250": (121, 250),
    "more than 250": (251, 10**6),
}


class Results:
    """What each policy reaches in each cell: a data set, a family, and a size.

    Parameters
    ----------
    records : list of dict
        The records.
    """

    def __init__(self, records):
        values = defaultdict(list)
        for record in records:
            job = record["job"]
            cell = job["dataset"], job["family"], job["n_validation"]
            values[cell].append([p.judge(record) for p in POLICIES.values()])
        # Log loss and F1 of each policy: means over the seeds.
        self.cells = {
            cell: dict(zip(POLICIES, np.mean(v, axis=0), strict=True))
            for cell, v in values.items()
        }
        sizes = [n_rows for _, _, n_rows in self.cells]
        self.bins = [
            name
            for name, (least, most) in BINS.items()
            if any(least <= n_rows <= most for n_rows in sizes)
        ]

    def ratios(self, policy, name, *, baseline=OLD, family=None):
        """Return the log loss over that of the baseline, by data sets.

        The value of a data set is the geometric mean over its families and sizes.
        """
        logs = self._by_set(
            name, family, lambda c: np.log(c[policy][0] / c[baseline][0])
        )
        return {dataset: float(np.exp(np.mean(v))) for dataset, v in logs.items()}

    def gain_in_f1(self, policy, name):
        """Return the mean over the data sets of the difference in F1, in points."""
        differences = self._by_set(
            name, None, lambda c: 100 * (c[policy][1] - c[OLD][1])
        )
        return float(np.mean([np.mean(v) for v in differences.values()]))

    def _by_set(self, name, family, function):
        least, most = BINS[name]
        values = defaultdict(list)
        for (dataset, own, n_rows), cell in self.cells.items():
            if least <= n_rows <= most and family in (None, own):
                values[dataset].append(function(cell))
        return values


def geometric_mean(ratios):
    """Return the geometric mean over the data sets."""
    return float(np.exp(np.mean(np.log(list(ratios.values())))))


def sum_up(results, policy, name):
    """Return the cells of a table: mean, worst data set, gain in F1."""
    ratios = results.ratios(policy, name)
    return [
        f"{geometric_mean(ratios):.3f}",
        f"{max(ratios.values()):.2f}",
        f"{results.gain_in_f1(policy, name):+.1f}".replace("-", "−"),
    ]


def compare_policies(results, name):
    """Return the table of one size: all policies."""
    lines = []
    for policy in POLICIES:
        ratios = results.ratios(policy, name)
        mean, worst, gain = sum_up(results, policy, name)
        where = "" if policy == OLD else f" ({max(ratios, key=ratios.get)})"
        n_above = sum(ratio > 1.05 for ratio in ratios.values())
        lines.append([policy, mean, worst + where, str(n_above), gain])
    header = ["policy", "log loss", "worst set", "sets above 1.05", "F1"]
    return Table(header, lines)


def sum_up_policy(results, policy):
    """Say how a policy does in its worst size and on its worst data set."""
    means = [geometric_mean(results.ratios(policy, name)) for name in results.bins]
    worst = {
        f"{dataset.replace('_', ' ')} with {name} rows": ratio
        for name in results.bins
        for dataset, ratio in results.ratios(policy, name).items()
    }
    where = max(worst, key=worst.get)
    return (
        f"{policy}: {min(means):.3f} to {max(means):.3f}, depending on the number of "
        f"validation rows. The worst data set is {where}, {worst[where]:.2f}."
    )


def compare_with_default(results):
    """Return the table of the log loss over that of the default."""
    others = [n for n in POLICIES if n.startswith("refined") and n != DEFAULT]
    lines = []
    for policy in others:
        line = [policy]
        for name in results.bins:
            ratios = results.ratios(policy, name, baseline=DEFAULT)
            summary = summarize(np.log(list(ratios.values())))
            mean, low, high = np.exp(
                [summary[k] for k in ("difference", "low", "high")]
            )
            line.append(f"{mean:.3f} ({low:.3f} to {high:.3f})")
        lines.append(line)
    return Table(["policy", *results.bins], lines)


def compare_groups(results):
    """Return the table of the kinds of data and the families: mean and worst set."""
    groups = {kind: (None, kind) for kind in KINDS}
    groups |= {title: (family, None) for family, title in FAMILIES.items()}
    lines = []
    for title, (family, kind) in groups.items():
        for policy in (DEFAULT, TWO_SIDED, PLAIN):
            line = [title, policy]
            for name in results.bins:
                ratios = of_kind(results.ratios(policy, name, family=family), kind)
                worst = max(ratios.values(), default=np.nan)
                text = f"{geometric_mean(ratios):.3f}, {worst:.2f}" if ratios else "–"
                line.append(text)
            lines.append(line)
    return Table(["", "policy", *results.bins], lines)


def of_kind(ratios, kind):
    """Return the values of the signals or of the tables; of all without a kind."""
    signals = {dataset.name for dataset in list_paper_datasets()}
    return {
        dataset: ratio
        for dataset, ratio in ratios.items()
        if kind is None or (dataset in signals) == (kind == "signals")
    }


def compare_defaults(results):
    """Return the table of the data sets, each with its most rows."""
    most = defaultdict(int)
    for dataset, _, n_rows in results.cells:
        most[dataset] = max(most[dataset], n_rows)
    policies = (OLD, DEFAULT, PLAIN)
    lines = []
    for (dataset, family, n_rows), cell in sorted(results.cells.items()):
        if n_rows == most[dataset]:
            losses = [f"{cell[policy][0]:.3f}" for policy in policies]
            scores = [f"{100 * cell[policy][1]:.1f}" for policy in policies]
            lines.append([dataset, FAMILIES[family], str(n_rows), *losses, *scores])
    header = ["data set", "family", "validation rows"]
    header += [f"{what}: {p}" for what in ("log loss", "F1") for p in policies]
    return Table(header, lines)


def make_guide_table(records, policies=GUIDE):
    """Return the table of the guide: means and worst sets of the main policies."""
    results = Results(records)
    lines = [".. csv-table::", f"   :header: {_quoted(['policy', *BINS])}"]
    lines += ["   :widths: 40 15 15 15 15", ""]
    for policy in policies:
        cells = [", ".join(sum_up(results, policy, name)[:2]) for name in BINS]
        lines.append(f"   {_quoted([policy, *cells])}")
    return "\n".join(lines) + "\n"


def _quoted(cells):
    return ", ".join(f'"{cell}"' for cell in cells)


def make_parts(records):
    """Return the parts of the page."""
    results = Results(records)
    parts = [
        Heading(1, TITLE),
        Paragraph(
            f"{len(records)} trainings. The numbers beside a rule are its patience and "
            "the scale σ of the prior on the temperature. With T ≥ 1 the temperature "
            "softens and never sharpens, in the rule and in what is shipped. Log loss "
            f"on the test part, divided by that of {OLD}: the geometric mean over the "
            "data sets. F1: macro F1 on the test part minus that of the same policy, "
            "in points. Each training has three repeats; tables with up to 250 "
            "validation rows and signals with fewer than 60 have eight. We added the "
            "repeats after a look at the first three, which were too noisy. Policies "
            "with T ≥ 1 came later, too. They are replayed from the same records, of "
            "which 30 were trained again for longer."
        ),
        Bullets([sum_up_policy(results, policy) for policy in (DEFAULT, TWO_SIDED)]),
    ]
    for name in results.bins:
        n_sets = len(results.ratios(OLD, name))
        title = f"{name.capitalize()} validation rows ({n_sets} data sets)"
        parts += [Heading(2, title), compare_policies(results, name)]
    return [
        *parts,
        Heading(2, f"Against {DEFAULT}"),
        Paragraph(
            "Log loss divided by that of this policy, the default: geometric mean over "
            "the data sets, with its 95 % interval."
        ),
        compare_with_default(results),
        Heading(2, "By kind of data, and by family"),
        Paragraph(f"Log loss divided by that of {OLD}, and the worst data set."),
        compare_groups(results),
        Heading(2, "All data sets, each with the most rows that it has"),
        compare_defaults(results),
    ]
