"""The result of a comparison of stopping rules: records, tables and words."""

import warnings
from functools import cached_property

import numpy as np

from sklearn_superior.model_selection._penalty_path import walk_path
from sklearn_superior.model_selection._statistics import (
    MIN_FOLDS,
    corrected_t,
    fold_means,
    holm,
)
from sklearn_superior.model_selection._trajectory import LAST, SELECTIONS, check_choice
from sklearn_superior.staged._scoring import DEFAULT_SCORING
from sklearn_superior.utils._optional import import_optional
from sklearn_superior.utils._warnings import warn

_LEVEL = 0.05  # of adjusted p-values, below which a rule is called better or worse
_DEFAULT = DEFAULT_SCORING.removeprefix("neg_").removesuffix("_score")  # its rule


class Records(list):
    """A list of dicts that prints as a table and converts to a data frame.

    Printing leaves out columns whose name starts with that of another column: they
    hold its details.

    Examples
    --------
    >>> print(Records([{"rule": "brier", "mean": 0.5}, {"rule": "log", "mean": 0.25}]))
    rule      mean
    brier   0.5000
    log     0.2500
    """

    def __getitem__(self, index):
        """Return a record, or the records of a slice."""
        found = super().__getitem__(index)
        return Records(found) if isinstance(index, slice) else found

    def to_frame(self):
        """Return a pandas DataFrame."""
        pandas = import_optional("pandas", caller="to_frame", extra="pandas")
        return pandas.DataFrame(list(self))

    def __str__(self):
        if not self:
            return "(no records)"
        names = list(self[0])
        columns = []
        for key in names:
            if any(key.startswith(f"{name}_") for name in names):
                continue
            values = [record[key] for record in self]
            texts = [f"{v:.4f}" if isinstance(v, float) else str(v) for v in values]
            texts, width = [key, *texts], max(map(len, [key, *texts]))
            align = "<" if isinstance(values[0], str) else ">"
            columns.append([f"{text:{align}{width}}" for text in texts])
        rows = zip(*columns, strict=True)
        return "\n".join("  ".join(row).rstrip() for row in rows)


class StoppingRuleComparison:
    """Result of `compare_stopping_rules`.

    Parameters
    ----------
    trajectories : list of Trajectory
        The scores of all stages, one trajectory for each fold and repeat.

    rules : list of str
        The rules.

    n_iter_no_change : int, default=20
        Patience of early stopping.

    tol : float, default=0.0
        Tolerance of early stopping.

    scoring : str, default="target"
        The name of the target.

    errors : list of dict, default=()
        The trainings that failed, with `fold`, `repeat`, `error`, `traceback` and
        `exception`.

    judges : list of str, default=()
        Further judges besides the target, with scores in the trajectories.

    See Also
    --------
    compare_stopping_rules : Runs a comparison.

    Examples
    --------
    The rule prefers the second stage, the target the third:

    >>> from sklearn_superior.model_selection import StoppingRuleComparison
    >>> from sklearn_superior.model_selection import Trajectory
    >>> scores = {"brier": [-0.5, -0.3, -0.4], "target": [0.6, 0.7, 0.8]}
    >>> trajectory = Trajectory(fold=0, repeat=0, validation=scores, test=scores)
    >>> comparison = StoppingRuleComparison([trajectory], rules=["brier"])
    >>> row = comparison.records[0]
    >>> row["selection"], row["iteration"], row["test_score"]
    ('CP', 1, 0.7)

    When printed, it shows which rules are better or worse than the first one, and which
    one to use. These p-values are adjusted for the number of rules by Holm's method:

    >>> print(comparison)
    Judge: target on the test parts of 1 fold, greater is better.
    Choice: early stopping, patience 20.
    Baseline: brier, 0.7000 (mean stage 1.0).
    There is no other rule to compare.
    """

    def __init__(
        self,
        trajectories,
        rules,
        *,
        n_iter_no_change=20,
        tol=0.0,
        scoring="target",
        errors=(),
        judges=(),
    ):
        self.trajectories = list(trajectories)
        self.scoring = scoring
        self.rules = list(rules)
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.errors = list(errors)
        self.judges = list(judges)

    def __repr__(self):
        return (
            f"<StoppingRuleComparison of {len(self.rules)} rules over "
            f"{len(self.trajectories)} trainings>"
        )

    def __str__(self):
        """Describe each rule in comparison with the first one, and recommend a rule."""
        return _in_words(self) if self.trajectories else repr(self)

    @cached_property
    def records(self):
        """The choices of all rules: one dict for each training, rule and selection.

        `selection` is ``"CP"`` for the best of all stages, ``"ES"`` for early stopping.
        `iteration` is the chosen stage, `n_iter` the number of stages seen,
        `correlation` that of the rule with the target over these stages on the
        validation data. `validation_score` and `test_score` are the target at the
        chosen stage, `best_score` is its best value on the test data, and `regret` the
        distance to that. Scores and regrets of further judges follow, such as
        `test_accuracy` and `regret_accuracy`.
        """
        return Records(
            self._record(trajectory, rule, selection)
            for trajectory in self.trajectories
            for rule in self.rules
            for selection in SELECTIONS
        )

    def _record(self, trajectory, rule, selection):
        stage, n_iter = trajectory.choose(
            rule, selection, n_iter_no_change=self.n_iter_no_change, tol=self.tol
        )
        test = trajectory.test

        def score(scores):
            return np.nan if stage is None else float(scores[stage])

        record = {
            "fold": trajectory.fold,
            "repeat": trajectory.repeat,
            "rule": rule,
            "selection": selection,
            "iteration": stage,
            "n_iter": n_iter,
            "correlation": trajectory.correlation(rule, n_iter=n_iter),
            "validation_score": score(trajectory.validation["target"]),
            "test_score": score(test["target"]),
            "best_score": float(np.nanmax(test["target"])),
        }
        record["regret"] = record["best_score"] - record["test_score"]
        for judge in self.judges:
            own = record[f"test_{judge}"] = score(test[judge])
            record[f"regret_{judge}"] = float(np.nanmax(test[judge])) - own
        return record

    def to_frame(self):
        """Return the records as a pandas DataFrame."""
        return self.records.to_frame()

    def summary(self, *, baseline=None, judge=None, selection=None):
        """Summarize the choices of the rules, in pairs with a baseline.

        Parameters
        ----------
        baseline : str, default=None
            The rule to compare with. None means the first one.

        judge : str, default=None
            The judge, one of `judges`. None means the target.

        selection : {"CP", "ES"}, default=None
            The best of all stages, or early stopping. None means both.

        Returns
        -------
        summary : Records
            A list of dicts, one for each rule and selection. It prints as a table of
            the main columns; `to_frame` returns all of them. `mean` and `std` are those
            of the judge on the test data. `difference` is the mean of the paired
            differences to the baseline, with a 95 % interval from `low` to `high` and a
            `p_value`, which is not adjusted for the number of rules, unlike in the
            printed comparison. `wins`, `ties` and `losses` count the differences,
            `n_folds` the folds that have any. `regret` is the mean distance to the
            stage that is best on the test data. The columns from `correlation` on are
            the same for the correlation of the rule with the target.

        Notes
        -----
        The interval is the corrected resampled t of Nadeau and Bengio (2003) over the
        folds, with repeats averaged. It is wider than the usual interval, depending on
        the ratio of test to training rows, because folds share training data. With
        fewer than three folds it is NaN. It is about other splits of the same data, not
        about other data: see :func:`pool_comparisons` for several data sets.
        """
        rules = self.rules
        baseline = rules[0] if baseline is None else baseline
        check_choice(baseline, "baseline", rules)
        check_choice(selection, "selection", (*SELECTIONS, None))
        check_choice(judge, "judge", (self.scoring, *self.judges, None))
        judge = None if judge == self.scoring else judge
        n_folds = len({trajectory.fold for trajectory in self.trajectories})
        if n_folds < MIN_FOLDS:
            warn(
                f"Intervals over {n_folds} folds are not meaningful: low and high are "
                f"NaN. Use at least {MIN_FOLDS} folds."
            )
        records = self.records
        return Records(
            _summarise(records, rule, baseline, choice, judge, self._ratio())
            for rule in rules
            for choice in ([selection] if selection else SELECTIONS)
        )

    def _ratio(self):
        """Return the ratio of test to training rows; that of k folds if unknown."""
        sizes = [trajectory.n_rows for trajectory in self.trajectories]
        if all({"train", "test"} <= rows.keys() for rows in sizes) and sizes:
            return float(np.mean([rows["test"] / rows["train"] for rows in sizes]))
        n_folds = len({trajectory.fold for trajectory in self.trajectories})
        return 1 / max(n_folds - 1, 1)

    def penalty_path(self, rule="brier", penalties=None):
        """Return what each penalty would have chosen, without training again.

        Each penalty chooses among all stages (as with ``selection="CP"``) the one with
        the smallest sum of the validation loss and the penalty times the error rate.
        With a penalty of 0 this is the plain rule, with an infinite one the accuracy,
        ties broken by the loss. Along the path, the error rate on the validation data
        never increases, and the loss never decreases.

        Parameters
        ----------
        rule : {"brier", "log_loss", "spherical"}, default="brier"
            The plain rule. The trajectories must have its scores, and those of
            ``"accuracy"`` or of the penalized rule.

        penalties : list, default=None
            Numbers, ``"minimal"``, ``"paper"``, multiples such as ``"2 x paper"``, or
            ``math.inf``. None means a grid over all of these.

        Returns
        -------
        path : Records
            A list of dicts, one for each penalty, sorted by value: its name and
            `value`, then means over the trainings. These are the chosen stage
            (`iteration`), its loss and error rate on the validation data, and its error
            rate, the target (`test_score`) and further judges on the test data. All
            penalties choose among the same stages, so they are compared in pairs: a
            column with the suffix `_margin` is half of the 95 % interval of the
            difference from the first penalty, over the folds as in `summary`. It is NaN
            with fewer than three folds.

        See Also
        --------
        sklearn_superior.plotting.PenaltyPathDisplay : Draws it.
        """
        return Records(
            walk_path(self.trajectories, rule, penalties, self.judges, self._ratio())
        )

    def plot(self, ax=None, *, fold=0, repeat=0):
        """Draw the validation scores over the stages, for one training or for all.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.

        fold : int or "all", default=0
            The fold; ``"all"`` for all folds and repeats.

        repeat : int, default=0
            The repeat of the fold.

        Returns
        -------
        display : StoppingTrajectoryDisplay
        """
        from sklearn_superior.plotting import StoppingTrajectoryDisplay

        return StoppingTrajectoryDisplay.from_comparison(
            self, fold=fold, repeat=repeat, ax=ax
        )


def _summarise(records, rule, baseline, selection, judge, ratio):
    """Return one row of a summary: a rule compared with a baseline."""
    own, base = (
        {
            (r["fold"], r["repeat"]): r
            for r in records
            if (r["rule"], r["selection"]) == (name, selection)
        }
        for name in (rule, baseline)
    )
    row = {"rule": rule, "selection": selection}
    suffix = "score" if judge is None else judge
    regret = "regret" if judge is None else f"regret_{judge}"
    for key, prefix in ((f"test_{suffix}", ""), ("correlation", "correlation_")):
        values = _finite(record[key] for record in own.values())
        units = [unit for unit in own if unit in base]
        differences = np.array([own[unit][key] - base[unit][key] for unit in units])
        is_finite = np.isfinite(differences)
        folds = np.array([fold for fold, _ in units])[is_finite]
        differences = differences[is_finite]
        by_fold = fold_means(differences, folds)
        low, high, p_value = corrected_t(by_fold, ratio)
        row[prefix.removesuffix("_") or "mean"] = _mean(values)
        row |= {
            f"{prefix}std": float(values.std(ddof=1)) if len(values) > 1 else np.nan,
            f"{prefix}difference": _mean(differences),
            f"{prefix}low": low,
            f"{prefix}high": high,
            f"{prefix}p_value": p_value,
            f"{prefix}wins": int((differences > 0).sum()),
            f"{prefix}ties": int((differences == 0).sum()),
            f"{prefix}losses": int((differences < 0).sum()),
            f"{prefix}n_folds": len(by_fold),
        }
        if not prefix:
            row["regret"] = _mean(_finite(record[regret] for record in own.values()))
    return row


def _finite(values):
    values = np.array(list(values), dtype=float)
    return values[np.isfinite(values)]


def _mean(values):
    return float(values.mean()) if len(values) else np.nan


def _in_words(comparison):
    """Describe each rule in comparison with the first one, and recommend a rule.

    All rules use early stopping. A rule is better or worse if its adjusted p-value is
    below 0.05, otherwise undecided.
    """
    with warnings.catch_warnings():  # of few folds
        warnings.simplefilter("ignore", UserWarning)
        base, *others = comparison.summary(selection="ES")
    n_folds = len({trajectory.fold for trajectory in comparison.trajectories})
    folds = f"{n_folds} fold{'s' if n_folds > 1 else ''}"

    def stage(rule):
        chosen = _finite(
            np.nan if record["iteration"] is None else record["iteration"]
            for record in comparison.records
            if (record["rule"], record["selection"]) == (rule, "ES")
        )
        return f"mean stage {_mean(chosen):.1f}"

    greater = "greater is better"
    if base["mean"] < 0:
        greater += ": losses are negative"
    lines = [
        f"Judge: {comparison.scoring} on the test parts of {folds}, {greater}.",
        f"Choice: early stopping, patience {comparison.n_iter_no_change}.",
        f"Baseline: {base['rule']}, {base['mean']:.4f} ({stage(base['rule'])}).",
    ]
    if not others:
        return "\n".join([*lines, "There is no other rule to compare."])
    better, worse = [], []
    p_values = holm([row["p_value"] for row in others])
    for row, p_value in zip(others, p_values, strict=True):
        rule, difference, word = row["rule"], row["difference"], "Undecided"
        if row["ties"] and not row["wins"] + row["losses"]:
            lines.append(f"No difference: {rule} ({stage(rule)}).")
            continue
        if p_value < _LEVEL:
            word = "Better" if difference > 0 else "Worse"
            (better if difference > 0 else worse).append(row)
        p_text = f"adjusted p {p_value:.3f}"
        if np.isnan(p_value):
            p_text = "too few folds for a p-value"
        lines.append(f"{word}: {rule} {difference:+z.4f} ({p_text}, {stage(rule)}).")
    best = max(better, key=lambda row: row["mean"], default=base)["rule"]
    return "\n".join([*lines, _recommend(best, comparison.rules, better, worse)])


def _recommend(best, rules, better, worse):
    if better:
        what = f"{best}, which is all stages" if best == LAST else best
        of = "" if len(better) == 1 else ", with the greatest mean of those that are"
        return f"Use {what}: it is better than the baseline{of}."
    worse = [row["rule"] for row in worse]
    defaults = {_DEFAULT, DEFAULT_SCORING} & set(rules) - set(worse)
    keep = "the package's default, scoring=None" if defaults else best
    if worse:
        return f"No rule is better than the baseline: keep {keep}."
    return f"No rule can be told apart from the baseline: keep {keep}."
