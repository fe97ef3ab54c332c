"""What a comparison of stopping rules says: a line for each rule."""

import warnings

import numpy as np

from sklearn_superior.model_selection._statistics import holm
from sklearn_superior.model_selection._trajectory import LAST
from sklearn_superior.staged._scoring import DEFAULT_SCORING

_LEVEL = 0.05
_DEFAULT = DEFAULT_SCORING.removeprefix("neg_").removesuffix("_score")  # its rule


def in_words(comparison):
    """Return the judge, the baseline, each other rule beside it, and what to use.

    The baseline is the first rule, and every rule stops early with the patience of the
    comparison. A rule is better or worse if its p-value, adjusted for the number of
    rules by Holm's method, is below 0.05; else that is undecided.
    """
    with warnings.catch_warnings():  # of few folds
        warnings.simplefilter("ignore", UserWarning)
        base, *others = comparison.summary(selection="ES")
    n_folds = len({trajectory.fold for trajectory in comparison.trajectories})
    stages = _mean_stages(comparison.records)
    return (
        f"Judge: {comparison.scoring} on the test parts of {n_folds} "
        f"fold{'s' if n_folds > 1 else ''}, greater is better.\n"
        f"Choice: early stopping, patience {comparison.n_iter_no_change}.\n"
        f"Baseline: {base['rule']}, {base['mean']:.4f} "
        f"(mean stage {stages[base['rule']]:.1f}).\n"
        + "\n".join(_differences(others, stages, base["rule"]))
    )


def _mean_stages(records):
    """Return the mean of the chosen stages of each rule."""
    chosen = {}
    for record in records:
        if record["selection"] == "ES" and record["iteration"] is not None:
            chosen.setdefault(record["rule"], []).append(record["iteration"])
    rules = {record["rule"] for record in records}
    return {rule: float(np.mean(chosen.get(rule, [np.nan]))) for rule in rules}


def _differences(rows, stages, baseline):
    """Yield for each row of a summary whether it differs, and what to use."""
    if not rows:
        yield "There is no other rule to compare."
        return
    better, worse = [], []
    for row, p_value in zip(rows, holm([r["p_value"] for r in rows]), strict=True):
        stage = f"mean stage {stages[row['rule']]:.1f}"
        if row["ties"] and not row["wins"] + row["losses"]:
            yield f"No difference: {row['rule']} ({stage})."
            continue
        is_known = not np.isnan(p_value)
        p_text = (
            f"adjusted p {p_value:.3f}" if is_known else "too few folds for a p-value"
        )
        word = "Undecided"
        if p_value < _LEVEL:
            is_better = row["difference"] > 0
            word = "Better" if is_better else "Worse"
            (better if is_better else worse).append(row)
        yield f"{word}: {row['rule']} {row['difference']:+.4f} ({p_text}, {stage})."
    rules = [baseline, *(row["rule"] for row in rows)]
    yield _what_to_use(rules, better, [row["rule"] for row in worse])


def _what_to_use(rules, better, worse):
    """Return a recommendation; the first one of the rules is the baseline."""
    if better:
        rule = max(better, key=lambda row: row["mean"])["rule"]
        what = f"{rule}, which is all stages" if rule == LAST else rule
        if len(better) == 1:
            return f"Use {what}: it is better than the baseline."
        return (
            f"Use {what}: it has the greatest mean of the rules that are better than "
            "the baseline."
        )
    default = [rule for rule in rules if rule in (_DEFAULT, DEFAULT_SCORING)]
    if default and default[0] not in worse:
        keep = "keep the default, scoring=None."
    else:
        keep = f"keep {rules[0] if worse else 'the one you use'}."
    if not default:
        keep += f"\nThe default, {_DEFAULT}, was not compared under this name."
    if worse:
        return f"No rule is better than the baseline: {keep}"
    return f"No rule can be told from the baseline: {keep}"
