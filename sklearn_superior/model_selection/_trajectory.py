"""The scores of one training, and the scorers by which it is scored."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import ConstantInputWarning, NearConstantInputWarning, pearsonr

from sklearn_superior.early_stopping import EarlyStopper, staged_scores
from sklearn_superior.early_stopping._training import check_scorer
from sklearn_superior.metrics._rules import rule_names

DEFAULT_RULES = ("brier", "penalized_brier", "log_loss", "penalized_log_loss")
SELECTIONS = ("CP", "ES")
LAST = "last"  # the rule that makes no choice
# Names of columns of the records that judges must not have.
_RESERVED = {"error", "score", "target"}
CALIBRATED = "calibrated_"  # before the name of a judge: after recalibration


@dataclass
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

    def choose(self, rule, selection, *, n_iter_no_change=10, tol=0.0):
        """Return the stage that a rule chooses, and how many stages it has seen."""
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
        return stopper.best_iteration, stopper.n_iter

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
        }
        return cls(fold=0, repeat=0, validation=scores, test={})

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
    """Return the scorers that `rules` means, by their names."""
    if rules is None:
        rules = DEFAULT_RULES
    names = rules if isinstance(rules, list | tuple | Mapping) else [None]
    if not all(isinstance(name, str) for name in names):
        raise ValueError(
            f"The 'rules' parameter must be a list of str or a dict. Got {rules!r}."
        )
    if not names:
        raise ValueError("The 'rules' parameter must hold at least one rule. Got none.")
    if len(set(names)) < len(names) or "target" in names:
        raise ValueError(
            "The 'rules' parameter must hold different names, none of them 'target'. "
            f"Got {list(names)}."
        )
    if isinstance(rules, Mapping):
        if LAST in rules:
            raise ValueError(
                "The 'rules' parameter must not name a scorer 'last', which is the "
                "rule that makes no choice: give it in a list of str."
            )
        return {
            name: check_scorer(scorer, f"rules[{name!r}]")
            for name, scorer in rules.items()
        }
    return {name: _find_scorer(name, "rules") for name in names}


def _find_scorer(name, parameter):
    if name == LAST and parameter == "rules":
        return None
    try:
        return check_scorer(name)
    except ValueError as exc:
        known = [*rule_names(refined=True), *([LAST] if parameter == "rules" else [])]
        raise ValueError(
            f"The {parameter!r} parameter must hold rules among {known}, or names of "
            f"scorers. Got {name!r}."
        ) from exc


@dataclass
class Judge:
    """A score that judges the chosen stages, maybe after recalibration."""

    scorer: object
    is_calibrated: bool = False


def find_judges(scoring):
    """Return the judges that `scoring` means, by their names; the first one counts."""
    if isinstance(scoring, Mapping):
        names = list(scoring)
        is_text = all(isinstance(name, str) for name in names)
        if not (names and is_text) or _RESERVED & set(names):
            raise ValueError(
                "The 'scoring' parameter must hold at least one judge, with a str that "
                f"is not among {sorted(_RESERVED)} for its name. Got {names}."
            )
        return {
            name: Judge(check_scorer(scorer, f"scoring[{name!r}]"))
            for name, scorer in scoring.items()
        }
    several = isinstance(scoring, list | tuple)
    names = scoring if several else [scoring]
    is_text = all(isinstance(name, str) for name in names)
    if several and not (names and is_text and len(set(names)) == len(names)):
        raise ValueError(
            "The 'scoring' parameter must be a str, a callable, a list of different "
            f"str, at least one, or a dict. Got {scoring!r}."
        )
    judges = {}
    for name in names:
        if not isinstance(name, str):
            return {"target": Judge(check_scorer(name))}
        if "refined_" in name:
            raise ValueError(
                "The 'scoring' parameter must not hold refined rules, which would fit "
                f"a temperature to the test part. Got {name!r}: use {CALIBRATED!r} "
                "before the name of a plain rule, to take that of the validation part."
            )
        is_calibrated = name.startswith(CALIBRATED)
        try:
            scorer = _find_scorer(name.removeprefix(CALIBRATED), "scoring")
        except ValueError as exc:
            raise ValueError(
                f"The 'scoring' parameter must hold rules among {rule_names()}, or "
                f"names of scorers, each with {CALIBRATED!r} before it or not. "
                f"Got {name!r}."
            ) from exc
        judges[name] = Judge(scorer, is_calibrated)
    return judges
