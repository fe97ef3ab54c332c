"""The scores of one training, and the scorers by which it is scored."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import ConstantInputWarning, NearConstantInputWarning, pearsonr

from sklearn_superior.early_stopping import EarlyStopper, staged_scores
from sklearn_superior.metrics._rules import rule_names
from sklearn_superior.staged._scoring import check_scorer
from sklearn_superior.utils._sklearn_compat import scorer_parts

DEFAULT_RULES = (
    "log_loss",
    "brier",
    "penalized_brier",
    "penalized_log_loss",
    "refined_penalized_log_loss",
    "accuracy",
    "last",
)
SELECTIONS = ("CP", "ES")
LAST = "last"  # the rule that makes no choice
# Names of columns of the records that judges must not have.
_RESERVED = {"error", "score", "target"}
CALIBRATED = "calibrated_"  # before the name of a judge: after recalibration


@dataclass(repr=False)
class Trajectory:
    """The scores of one training, stage by stage.

    Parameters
    ----------
    fold, repeat : int
        Which training it is.

    validation, test : dict of str to array-like
        The scores of all stages by each rule, and by ``"target"``; greater is better.

    seed : int, default=None
        The seed of the estimator.

    n_rows : dict, default={}
        Number of rows in ``"train"``, ``"validation"`` and ``"test"``.

    time : float, default=0.0
        Seconds that it took.

    n_classes : int, default=None
        Number of classes.

    temperature : array-like, default=None
        The temperature of each stage that is best on the validation part, if a judge
        looks at recalibrated probabilities.

    tie_scores : array-like, default=None
        A score of the validation part for each stage, greater is better: of stages
        that are equal by a rule the one with the best is chosen. In
        `compare_stopping_rules` it is the negative log loss. None: the first stage of
        equals is chosen.

    Examples
    --------
    >>> from sklearn_superior.model_selection import Trajectory
    >>> scores = {"brier": [-0.5, -0.4, -0.45, -0.3], "target": [0.5, 0.6, 0.6, 0.7]}
    >>> trajectory = Trajectory(fold=0, repeat=0, validation=scores, test=scores)
    >>> trajectory.choose("brier", "ES", n_iter_no_change=1)
    (1, 3)
    """

    fold: int
    repeat: int
    validation: dict
    test: dict
    seed: int | None = None
    n_rows: dict = field(default_factory=dict)
    time: float = 0.0
    n_classes: int | None = None
    temperature: np.ndarray | None = None
    tie_scores: np.ndarray | None = None

    def __repr__(self):
        n_stages = len(next(iter(self.validation.values()), ()))
        return (
            f"<Trajectory of fold {self.fold}, repeat {self.repeat}: {n_stages} stages "
            f"scored by {', '.join(self.validation) or 'nothing'}>"
        )

    def choose(self, rule, selection, *, n_iter_no_change=10, tol=0.0):
        """Return the stage that a rule chooses, and how many stages it has seen.

        Of stages with the same score the one with the best of `tie_scores` is chosen,
        the first one if there are none. How long early stopping goes on does not depend
        on that.
        """
        if selection not in SELECTIONS:
            raise ValueError(
                f"selection must be one of {SELECTIONS}. Got {selection!r}."
            )
        if rule == LAST:
            n_stages = len(self._scores("target"))
            return n_stages - 1, n_stages
        scores = self._scores(rule)
        if selection == "CP":
            n_iter_no_change, tol = len(scores) + 1, 0.0
        stopper = EarlyStopper(n_iter_no_change=n_iter_no_change, tol=tol)
        for score in scores:
            if stopper.update(score):
                break
        if stopper.best_iteration is None or self.tie_scores is None:
            return stopper.best_iteration, stopper.n_iter
        tied = np.flatnonzero(np.array(stopper.scores) == stopper.best_score)
        by_tie_score = np.nan_to_num(np.asarray(self.tie_scores)[tied], nan=-np.inf)
        return int(tied[np.argmax(by_tie_score)]), stopper.n_iter

    def _scores(self, rule):
        if rule not in self.validation:
            raise ValueError(
                f"There are scores of {sorted(self.validation)} only. Got {rule!r}."
            )
        return self.validation[rule]

    def correlation(self, rule, *, n_iter=None):
        """Return the correlation of a rule with the target over the validation part.

        Parameters
        ----------
        rule : str
            The rule.

        n_iter : int, default=None
            Number of stages to look at. None is all.

        Returns
        -------
        r : float
            Pearson's correlation; NaN if one of the two does not vary.
        """
        if rule == LAST:
            return np.nan
        a, b = (
            np.asarray(self._scores(name)[:n_iter], dtype=float)
            for name in (rule, "target")
        )
        is_finite = np.isfinite(a) & np.isfinite(b)
        if is_finite.sum() < 2:
            return np.nan
        with warnings.catch_warnings():  # scores that do not vary, or hardly
            warnings.simplefilter("ignore", NearConstantInputWarning)
            warnings.simplefilter("ignore", ConstantInputWarning)
            return float(pearsonr(a[is_finite], b[is_finite]).statistic)

    @classmethod
    def from_estimator(cls, estimator, X, y, *, rules=None, scoring="f1_macro"):
        """Score the stages of a fitted boosted ensemble.

        Parameters
        ----------
        estimator : estimator
            A fitted boosting classifier, a pipeline that ends in one, or an
            `EarlyStoppingClassifier` of one.

        X, y : array-like
            Validation data, which it was not trained on.

        rules : list of str, dict or None, default=None
            The rules, as in `compare_stopping_rules`.

        scoring : str or callable, default="f1_macro"
            The score that really counts: the target.

        Returns
        -------
        trajectory : Trajectory
            With scores of the validation part only.
        """
        scorers = {**find_scorers(rules), "target": scoring}
        scores = {
            name: staged_scores(estimator, X, y, scoring=scorer)
            for name, scorer in scorers.items()
            if name != LAST
        }
        tie_scores = staged_scores(estimator, X, y, scoring="log_loss")
        return cls(0, 0, validation=scores, test={}, tie_scores=tie_scores)

    def plot(
        self, ax=None, *, rules=None, scoring="target", n_iter_no_change=10, tol=0.0
    ):
        """Draw the validation scores over the stages.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw. If None, a new figure is made.

        rules : list of str, default=None
            The rules to draw. None is all.

        scoring : str, default="target"
            What to call the target.

        n_iter_no_change : int, default=10
            Patience of early stopping.

        tol : float, default=0.0
            Tolerance of early stopping.

        Returns
        -------
        display : StoppingTrajectoryDisplay
        """
        from sklearn_superior.plotting import StoppingTrajectoryDisplay

        if rules is None:
            rules = [name for name in self.validation if name != "target"]
        options = {"n_iter_no_change": n_iter_no_change, "tol": tol}
        display = StoppingTrajectoryDisplay(self, rules, scoring=scoring, **options)
        return display.plot(ax=ax)


def find_scorers(rules):
    """Return the scorers that `rules` means, by their names; None for no choice."""
    named = by_name(DEFAULT_RULES if rules is None else rules, "rules")
    if "target" in named:
        raise ValueError(
            "The 'rules' parameter must hold different names, none of them 'target'. "
            f"Got {list(named)}."
        )
    scorers = {}
    for name, rule in named.items():
        if (name == LAST) != (isinstance(rule, str) and rule == LAST):
            raise ValueError(
                f"The 'rules' parameter must call {LAST!r} what makes no choice, and "
                f"nothing else. Got {rule!r} by the name {name!r}."
            )
        where = f"rules[{name!r}]" if isinstance(rules, Mapping) else "rules"
        scorers[name] = None if name == LAST else _find_scorer(rule, where, LAST)
    return scorers


def by_name(given, parameter):
    """Return scorers, or their names, by the names that they go by."""
    if isinstance(given, Mapping):
        named = dict(given)
    elif isinstance(given, list | tuple):
        named = {_name_of(scorer, parameter): scorer for scorer in given}
    else:
        named = {None: given}
    if not named or not all(isinstance(name, str) for name in named):
        raise ValueError(
            f"The {parameter!r} parameter must be a list of at least one str or "
            f"scorer, or a dict from str to these. Got {given!r}."
        )
    if len(named) < len(given):
        raise ValueError(
            f"The {parameter!r} parameter must hold different names; give a dict to "
            f"choose them. Got {list(given)}."
        )
    return named


def _name_of(scorer, parameter):
    """Return what a scorer of a list is called: its name, or that of its function."""
    if isinstance(scorer, str):
        return scorer
    parts = scorer_parts(scorer)
    name = getattr(scorer if parts is None else parts[0], "__name__", None)
    if callable(scorer) and (name is None or not name.isidentifier()):
        raise ValueError(
            f"The {parameter!r} parameter must be a dict, if it holds scorers without "
            f"names. Got {scorer!r}."
        )
    return name if callable(scorer) else None


def _find_scorer(scorer, parameter, *others):
    """Return a scorer, maybe by its name; an error names what else it might be."""
    if not isinstance(scorer, str):
        return check_scorer(scorer, parameter)
    try:
        return check_scorer(scorer)
    except ValueError as exc:
        known = [*rule_names(refined=bool(others)), *others]
        raise ValueError(
            f"The {parameter!r} parameter must hold rules among {known}, or names of "
            f"scorers. Got {scorer!r}."
        ) from exc


@dataclass
class Judge:
    """A score that judges the chosen stages, maybe after recalibration."""

    scorer: object
    is_calibrated: bool = False


def find_judges(scoring):
    """Return the judges that `scoring` means, by their names; the first one counts."""
    if callable(scoring):
        return {"target": _find_judge(scoring, "scoring")}
    named = by_name([scoring] if isinstance(scoring, str) else scoring, "scoring")
    if _RESERVED & named.keys():
        raise ValueError(
            "The 'scoring' parameter must hold judges by names that are not among "
            f"{sorted(_RESERVED)}. Got {list(named)}."
        )
    is_dict = isinstance(scoring, Mapping)
    return {
        name: _find_judge(judge, f"scoring[{name!r}]" if is_dict else "scoring")
        for name, judge in named.items()
    }


def _find_judge(judge, parameter):
    name = judge if isinstance(judge, str) else ""
    try:
        scorer = _find_scorer(name.removeprefix(CALIBRATED) or judge, parameter)
    except ValueError as exc:
        if not name:
            raise
        raise ValueError(
            f"The {parameter!r} parameter must hold rules among {rule_names()}, or "
            f"names of scorers, each with {CALIBRATED!r} before it or not. "
            f"Got {name!r}."
        ) from exc
    if getattr(getattr(scorer, "score_function", None), "is_refined", False):
        raise ValueError(
            f"The {parameter!r} parameter must not hold refined rules, which would fit "
            f"a temperature to the test part. Got {judge!r}: use {CALIBRATED!r} "
            "before the name of a plain rule, to take that of the validation part."
        )
    return Judge(scorer, name.startswith(CALIBRATED))
