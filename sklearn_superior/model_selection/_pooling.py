"""Pool comparisons of several data sets."""

from collections.abc import Mapping

import numpy as np

from sklearn_superior.model_selection._statistics import holm, pool
from sklearn_superior.model_selection._summary import Records
from sklearn_superior.model_selection._trajectory import SELECTIONS, check_choice

POOLED = "pooled"


def pool_comparisons(comparisons, *, rule, baseline, selection="ES", judge=None):
    """Compare rules over several data sets.

    The data sets are the units: only the mean difference over the folds of each one
    counts. The interval and the p-value are therefore about other data sets like these,
    while those of a single comparison are about other splits of the same data.

    Parameters
    ----------
    comparisons : dict of str to StoppingRuleComparison
        The comparisons, by the names of the data sets.

    rule : str or list of str
        The rule, or several rules, to compare with the baseline.

    baseline : str
        The rule to compare with.

    selection : {"CP", "ES"}, default="ES"
        Early stopping, as in a printed comparison, or the best of all stages (CP). The
        two may differ in sign.

    judge : str, default=None
        The judge. None means the target.

    Returns
    -------
    pooled : Records
        A list of dicts that prints as a table. For each rule, there is one row for each
        data set, with the interval over its folds, and one whose `dataset` is
        ``"pooled"``. The latter has the mean of the differences, its t interval, the
        p-value of the exact sign-flip test (with random signs for more than 20 data
        sets), and `p_holm`, the same adjusted for the number of rules by Holm's method.
        Data sets without a finite difference are ignored.

    See Also
    --------
    StoppingRuleComparison.summary : One data set.

    Examples
    --------
    >>> from sklearn_superior.model_selection import (
    ...     StoppingRuleComparison, Trajectory, pool_comparisons
    ... )
    >>> def compared(gain):
    ...     scores = {"a": [1, 0], "b": [0, 1], "target": [0.5, 0.5 + gain]}
    ...     folds = [Trajectory(k, 0, scores, scores) for k in range(3)]
    ...     return StoppingRuleComparison(folds, ["a", "b"])
    >>> comparisons = {"x": compared(0.1), "y": compared(0.2), "z": compared(0.3)}
    >>> pooled = pool_comparisons(comparisons, rule="b", baseline="a")
    >>> pooled[-1]["dataset"], round(pooled[-1]["difference"], 3), pooled[-1]["p_value"]
    ('pooled', 0.2, 0.25)
    """
    if not (isinstance(comparisons, Mapping) and comparisons):
        raise ValueError(
            "comparisons must be a non-empty dict from names of data sets to "
            f"comparisons. Got {comparisons!r}."
        )
    if POOLED in comparisons:
        raise ValueError(
            f"comparisons must not have a data set named {POOLED!r}, which is reserved "
            "for the pooled rows."
        )
    check_choice(selection, "selection", SELECTIONS)
    rules = [rule] if isinstance(rule, str) else list(rule)
    for name, comparison in comparisons.items():
        missing = [r for r in (*rules, baseline) if r not in comparison.rules]
        if missing:
            raise ValueError(
                f"The comparison of {name!r} must have the rules {missing}. It has "
                f"{comparison.rules}."
            )
    options = {"baseline": baseline, "selection": selection}
    rows, totals = [], []
    for own_rule in rules:
        differences = []
        for name, comparison in comparisons.items():
            summary = comparison.summary(judge=judge, **options)
            (row,) = (row for row in summary if row["rule"] == own_rule)
            kept = {key: row[key] for key in ("difference", "low", "high", "p_value")}
            kept |= {"n": row["n_folds"], "p_holm": np.nan}
            rows.append({"rule": own_rule, **options, "dataset": name, **kept})
            differences.append(row["difference"])
        total = {"rule": own_rule, **options, "dataset": POOLED, **pool(differences)}
        totals.append(total)
        rows.append(total)
    for total, p_holm in zip(totals, holm([t["p_value"] for t in totals]), strict=True):
        total["p_holm"] = float(p_holm)
    return Records(rows)
