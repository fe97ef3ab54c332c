"""What a comparison of stopping rules says: a line for each rule."""

import warnings

import numpy as np

from sklearn_superior.model_selection._statistics import holm

_LEVEL = 0.05


def in_words(comparison):
    """Return the judge, the baseline, and for each other rule whether it differs.

    The baseline is the first rule, and every rule stops early with the patience of the
    comparison. A rule differs if its p-value, adjusted for the number of rules by
    Holm's method, is below 0.05; else that is undecided.
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
        + "\n".join(_differences(others, stages))
    )


def _mean_stages(records):
    """Return the mean of the chosen stages of each rule."""
    chosen = {}
    for record in records:
        if record["selection"] == "ES" and record["iteration"] is not None:
            chosen.setdefault(record["rule"], []).append(record["iteration"])
    rules = {record["rule"] for record in records}
    return {rule: float(np.mean(chosen.get(rule, [np.nan]))) for rule in rules}


def _differences(rows, stages):
    """Yield for each row of a summary whether it differs from the baseline."""
    if not rows:
        yield "There is no other rule to compare."
        return
    is_any_different = False
    for row, p_value in zip(rows, holm([r["p_value"] for r in rows]), strict=True):
        stage = f"mean stage {stages[row['rule']]:.1f}"
        if row["ties"] and not row["wins"] + row["losses"]:
            yield f"No difference: {row['rule']} ({stage})."
            continue
        is_known = not np.isnan(p_value)
        p_text = (
            f"adjusted p {p_value:.3f}" if is_known else "too few folds for a p-value"
        )
        is_different = p_value < _LEVEL
        is_any_different |= is_different
        yield (
            f"{'Different' if is_different else 'Undecided'}: {row['rule']} "
            f"{row['difference']:+.4f} ({p_text}, {stage})."
        )
    if not is_any_different:
        yield "No rule can be told from the baseline: keep the default, scoring=None."
