"""What a comparison of stopping rules says, in three lines."""

import warnings

import numpy as np

from sklearn_superior.model_selection._statistics import holm

_LEVEL = 0.05


def in_words(comparison):
    """Return the judge, the baseline, and which rules differ from it.

    The baseline is the first rule, and every rule chooses the stage with its best
    score. A rule differs if its p-value, adjusted for the number of rules by Holm's
    method, is below 0.05; else that is undecided.
    """
    with warnings.catch_warnings():  # of few folds
        warnings.simplefilter("ignore", UserWarning)
        base, *others = comparison.summary(selection="CP")
    n_folds = len({trajectory.fold for trajectory in comparison.trajectories})
    stages = _mean_stages(comparison.records)
    return (
        f"Judge: {comparison.scoring} on the test parts of {n_folds} "
        f"fold{'s' if n_folds > 1 else ''}, greater is better.\n"
        f"Baseline: {base['rule']}, {base['mean']:.4f} at its best stages "
        f"(mean {stages[base['rule']]:.1f}).\n"
        f"{_differences(others, stages)}"
    )


def _mean_stages(records):
    """Return the mean of the chosen stages of each rule."""
    chosen = {}
    for record in records:
        if record["selection"] == "CP" and record["iteration"] is not None:
            chosen.setdefault(record["rule"], []).append(record["iteration"])
    rules = {record["rule"] for record in records}
    return {rule: float(np.mean(chosen.get(rule, [np.nan]))) for rule in rules}


def _differences(rows, stages):
    """Say which rows of a summary differ from the baseline, and by how much."""
    if not rows:
        return "There is no other rule to compare."
    verdicts = {"Different": [], "Undecided": [], "No difference": []}
    for row, p_value in zip(rows, holm([r["p_value"] for r in rows]), strict=True):
        stage = f"mean stage {stages[row['rule']]:.1f}"
        if row["ties"] and not row["wins"] + row["losses"]:
            verdicts["No difference"].append(f"{row['rule']} ({stage})")
            continue
        is_known = not np.isnan(p_value)
        p_text = (
            f"adjusted p {p_value:.3f}" if is_known else "too few folds for a p-value"
        )
        verdicts["Different" if p_value < _LEVEL else "Undecided"].append(
            f"{row['rule']} {row['difference']:+.4f} ({p_text}, {stage})"
        )
    said = [f"{word}: {', '.join(found)}." for word, found in verdicts.items() if found]
    if not verdicts["Different"]:
        said.append("No rule can be told from the baseline: keep the default.")
    return " ".join(said)
