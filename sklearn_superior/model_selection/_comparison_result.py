"""The result of a comparison of stopping rules."""

from functools import cached_property

import numpy as np

from sklearn_superior.model_selection._penalty_path import walk_path
from sklearn_superior.model_selection._statistics import MIN_FOLDS, corrected_t
from sklearn_superior.model_selection._trajectory import SELECTIONS
from sklearn_superior.model_selection._verdict import in_words
from sklearn_superior.utils._optional import import_optional
from sklearn_superior.utils._warnings import warn


class Records(list):
    """A list of dicts that prints as a table and turns into a data frame.

    The table leaves out columns that only go into the details of another: those whose
    names start with that of the other.

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

    def to_latex(self, columns=None, *, digits=3):
        """Return a LaTeX table, with the commands of the booktabs package.

        Parameters
        ----------
        columns : list of str, default=None
            The columns. None is those that are printed.

        digits : int, default=3
            Digits after the point.

        Returns
        -------
        table : str
            A tabular environment.
        """
        if not self:
            raise ValueError("There are no records to make a table of.")
        columns = self._main_columns() if columns is None else list(columns)
        unknown = [name for name in columns if name not in self[0]]
        if unknown:
            raise ValueError(
                f"The 'columns' parameter must hold names among {list(self[0])}. "
                f"Got {unknown}."
            )
        texts = [isinstance(self[0][name], str) for name in columns]
        rows = [columns, *([row[name] for name in columns] for row in self)]
        lines = [
            " & ".join(_escape(value, digits) for value in row) + r" \\" for row in rows
        ]
        layout = "".join("l" if is_text else "r" for is_text in texts)
        return "\n".join(
            [
                rf"\begin{{tabular}}{{{layout}}}",
                r"\toprule",
                lines[0],
                r"\midrule",
                *lines[1:],
                r"\bottomrule",
                r"\end{tabular}",
            ]
        )

    def _main_columns(self):
        """Names without those that only go into the details of another."""
        names = list(self[0])
        return [k for k in names if not any(k.startswith(f"{n}_") for n in names)]

    def __str__(self):
        if not self:
            return "(no records)"
        keys = self._main_columns()
        rows = [keys, *([_show(row[key]) for key in keys] for row in self)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        left = [isinstance(self[0][key], str) for key in keys]
        lines = []
        for row in rows:
            cells = [
                cell.ljust(width) if is_left else cell.rjust(width)
                for cell, width, is_left in zip(row, widths, left, strict=True)
            ]
            lines.append("  ".join(cells).rstrip())
        return "\n".join(lines)


_LATEX = str.maketrans({c: rf"\{c}" for c in "&%$#_{}"})
_LATEX |= str.maketrans(
    {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
)


def _escape(value, digits):
    """Return a cell of a LaTeX table."""
    if isinstance(value, float):
        if not np.isfinite(value):
            return "--" if np.isnan(value) else rf"${'-' if value < 0 else ''}\infty$"
        return f"${value:.{digits}f}$" if value < 0 else f"{value:.{digits}f}"
    return str(value).translate(_LATEX)


def _show(value):
    return f"{value:.4f}" if isinstance(value, float) else str(value)


class StoppingRuleComparison:
    """Result of `compare_stopping_rules`.

    Parameters
    ----------
    trajectories : list of Trajectory
        The scores of all stages, one for each fold and repeat.

    rules : list of str
        The rules.

    n_iter_no_change : int, default=10
        Patience of early stopping.

    tol : float, default=0.0
        Tolerance of early stopping.

    scoring : str, default="target"
        What the target is called.

    errors : list of dict, default=()
        The trainings that failed, with `fold`, `repeat`, `error`, `traceback` and
        `exception`.

    judges : list of str, default=()
        Further judges besides the target, which have scores in the trajectories.

    See Also
    --------
    compare_stopping_rules : Makes it.

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

    Printed, it says which rules are better or worse than the first one, and what to
    use. Its p-values are adjusted for the number of rules by Holm's method:

    >>> print(comparison)
    Judge: target on the test parts of 1 fold, greater is better.
    Choice: early stopping, patience 10.
    Baseline: brier, 0.7000 (mean stage 1.0).
    There is no other rule to compare.
    """

    def __init__(
        self,
        trajectories,
        rules,
        *,
        n_iter_no_change=10,
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
        """Return judge and baseline, each other rule beside it, and what to use."""
        return in_words(self) if self.trajectories else repr(self)

    @cached_property
    def records(self):
        """What each rule chose: one dict for each training, rule and selection.

        `selection` is ``"CP"`` for the best stage of all, ``"ES"`` for early stopping.
        `iteration` is the chosen stage, `n_iter` how many stages the choice has seen,
        `correlation` that of the rule with the target over these stages of the
        validation part, `validation_score` and `test_score` the target at the chosen
        stage, `best_score` the best that any choice would have reached on the test
        part, and `regret` how far the choice is from that. The scores and the regrets
        of further judges follow, as in `test_accuracy` and `regret_accuracy`.
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
        val, test = trajectory.validation, trajectory.test
        chosen = stage is not None
        record = {
            "fold": trajectory.fold,
            "repeat": trajectory.repeat,
            "rule": rule,
            "selection": selection,
            "iteration": stage,
            "n_iter": n_iter,
            "correlation": trajectory.correlation(rule, n_iter=n_iter),
            "validation_score": float(val["target"][stage]) if chosen else np.nan,
            "test_score": float(test["target"][stage]) if chosen else np.nan,
            "best_score": float(np.nanmax(test["target"])),
        }
        for judge in ("target", *self.judges):
            suffix = "" if judge == "target" else f"_{judge}"
            score = float(test[judge][stage]) if chosen else np.nan
            if suffix:
                record[f"test{suffix}"] = score
            record[f"regret{suffix}"] = float(np.nanmax(test[judge])) - score
        return record

    def to_frame(self):
        """Return the records as a pandas DataFrame."""
        return self.records.to_frame()

    def summary(self, *, baseline=None, judge=None, selection=None):
        """Summarise what the rules chose, in pairs with a baseline.

        Parameters
        ----------
        baseline : str, default=None
            The rule to compare with. None is the first one.

        judge : str, default=None
            The judge, one of `judges`. None is the target.

        selection : {"CP", "ES"}, default=None
            The best stage of all, or early stopping. None is both.

        Returns
        -------
        summary : Records
            A list of dicts, one for each rule and selection; it prints as a table of
            the main columns, and `to_frame` gives all of them. `mean` and `std` are
            those of the judge on the test part, and `difference` is the mean of the
            paired differences to the baseline, with a 95 % interval from `low` to
            `high` and a `p_value`, which is not adjusted for the number of rules: the
            printed comparison shows adjusted ones. `wins`, `ties` and `losses` count
            the differences, `n_folds` the folds that have any. `regret` is the mean
            distance to the stage that is best on the test part. `correlation` and what
            follows is the same for the correlation of the rule with the target.

        Notes
        -----
        The interval is the corrected resampled t of Nadeau and Bengio (2003) over the
        folds, whose repeats are averaged. It is wider than the usual one by the ratio
        of test to training rows, because folds share training data. With fewer than
        three folds it is NaN. It is about other splits of the same data, not about
        other data: see :func:`pool_comparisons` for several data sets.
        """
        rules = self.rules
        baseline = rules[0] if baseline is None else baseline
        if baseline not in rules:
            raise ValueError(
                f"The 'baseline' parameter must be one of {rules}. Got {baseline!r}."
            )
        judge = self._check_judge(judge)
        if selection not in (None, *SELECTIONS):
            raise ValueError(
                f"The 'selection' parameter must be one of {SELECTIONS} or None. "
                f"Got {selection!r}."
            )
        n_folds = len({trajectory.fold for trajectory in self.trajectories})
        if n_folds < MIN_FOLDS:
            warn(
                f"An interval over {n_folds} folds means nothing, so that low and high "
                f"are NaN. Use at least {MIN_FOLDS} folds.",
            )
        records = self.records
        return Records(
            _summarise(records, rule, baseline, choice, judge, self._ratio())
            for rule in rules
            for choice in ([selection] if selection else SELECTIONS)
        )

    def _check_judge(self, judge):
        """Return the name of a judge, None for the target."""
        known = [self.scoring, *self.judges]
        if judge is not None and judge not in known:
            raise ValueError(
                f"The 'judge' parameter must be one of {known}. Got {judge!r}."
            )
        return None if judge == self.scoring else judge

    def _ratio(self):
        """Ratio of test to training rows; that of k folds if it is not known."""
        sizes = [trajectory.n_rows for trajectory in self.trajectories]
        if all({"train", "test"} <= rows.keys() for rows in sizes) and sizes:
            return float(np.mean([rows["test"] / rows["train"] for rows in sizes]))
        n_folds = len({trajectory.fold for trajectory in self.trajectories})
        return 1 / max(n_folds - 1, 1)

    def penalty_path(self, rule="brier", penalties=None):
        """Return what every penalty would have chosen, without training again.

        Of all stages (as with ``selection="CP"``) the one is chosen with the least sum
        of the validation loss and the penalty times the error rate. With a penalty of 0
        that is the plain rule, with an infinite one the accuracy, and of equal
        accuracies the better loss. Along the path the error rate on the validation part
        never rises, and the loss never falls.

        Parameters
        ----------
        rule : {"brier", "log_loss", "spherical"}, default="brier"
            The plain rule. The trajectories must have its scores, and those of
            ``"accuracy"`` or of the penalized rule.

        penalties : list, default=None
            Numbers, ``"minimal"``, ``"paper"``, multiples such as ``"2 x paper"``, or
            ``math.inf``. None is a grid over all of these.

        Returns
        -------
        path : Records
            A list of dicts, one for each penalty, in the order of their values: its
            name and `value`, then means over the trainings. These are the chosen stage
            (`iteration`), its loss and error rate on the validation data, and its error
            rate, the target (`test_score`) and the further judges on the test data.
            All penalties choose among the same stages, so they are compared in pairs:
            a name with `_margin` behind it is half of the 95 % interval of the
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
        """Draw the validation scores over the stages, of one training or of all.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw. If None, a new figure is made.

        fold : int or "all", default=0
            Which training; with ``"all"`` those of all folds and repeats.

        repeat : int, default=0
            Which training of the fold.

        Returns
        -------
        display : StoppingTrajectoryDisplay
        """
        from sklearn_superior.plotting import StoppingTrajectoryDisplay

        return StoppingTrajectoryDisplay.from_comparison(
            self, fold=fold, repeat=repeat, ax=ax
        )


def _summarise(records, rule, baseline, selection, judge, ratio):
    """One row of a summary: a rule against a baseline."""
    row = {"rule": rule, "selection": selection}
    score = "test_score" if judge is None else f"test_{judge}"
    regret = "regret" if judge is None else f"regret_{judge}"
    values = {
        name: {
            (r["fold"], r["repeat"]): r
            for r in records
            if (r["rule"], r["selection"]) == (name, selection)
        }
        for name in (rule, baseline)
    }
    for key, prefix in ((score, ""), ("correlation", "correlation_")):
        own = _finite(record[key] for record in values[rule].values())
        differences = paired_differences(values[rule], values[baseline], key)
        by_fold = fold_means(differences)
        low, high, p_value = corrected_t(by_fold, ratio)
        differences = np.array(list(differences.values()))
        row[prefix.removesuffix("_") or "mean"] = _mean(own)
        row[f"{prefix}std"] = float(own.std(ddof=1)) if len(own) > 1 else np.nan
        row[f"{prefix}difference"] = _mean(differences)
        row[f"{prefix}low"], row[f"{prefix}high"] = low, high
        row[f"{prefix}p_value"] = p_value
        row[f"{prefix}wins"] = int((differences > 0).sum())
        row[f"{prefix}ties"] = int((differences == 0).sum())
        row[f"{prefix}losses"] = int((differences < 0).sum())
        row[f"{prefix}n_folds"] = len(by_fold)
        if not prefix:
            row["regret"] = _mean(
                _finite(record[regret] for record in values[rule].values())
            )
    return row


def paired_differences(own, base, key):
    """Differences of records of the same trainings, by fold and repeat, if finite."""
    differences = {
        unit: own[unit][key] - base[unit][key] for unit in own if unit in base
    }
    return {unit: value for unit, value in differences.items() if np.isfinite(value)}


def fold_means(differences):
    """Mean over the repeats of each fold."""
    folds = sorted({fold for fold, _ in differences})
    return np.array(
        [
            np.mean([value for (fold, _), value in differences.items() if fold == k])
            for k in folds
        ]
    )


def _finite(values):
    values = np.array(list(values), dtype=float)
    return values[np.isfinite(values)]


def _mean(values):
    return float(values.mean()) if len(values) else np.nan
