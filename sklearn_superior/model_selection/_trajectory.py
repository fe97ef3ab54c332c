"""The scores of one training, and the scorers they come from."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from sklearn_superior.early_stopping import EarlyStopper, staged_scores
from sklearn_superior.staged._scoring import calibrates, check_scorer
from sklearn_superior.utils._sklearn_compat import scorer_parts

DEFAULT_RULES = (
    "log_loss",
    "brier",
    "penalized_brier",
    "penalized_log_loss",
    "refined_log_loss",
    "accuracy",
    "last",
)
SELECTIONS = ("CP", "ES")
LAST = "last"  # keeps the last stage
# Judges must not have these names, which would clash with columns of the records.
_RESERVED = {"error", "score", "target"}
CALIBRATED = "calibrated_"  # prefix of judges that see calibrated probabilities


@dataclass(repr=False)
class Trajectory:
    """The scores of one training, stage by stage.

    Parameters
    ----------
    fold, repeat : int
        Identify the training.

    validation, test : dict of str to array-like
        The scores of all stages by each rule, and by ``"target"``; greater is better.

    seed : int, default=None
        The random seed of the estimator.

    n_rows : dict, default={}
        Number of rows in ``"train"``, ``"validation"`` and ``"test"``.

    time : float, default=0.0
        Training time in seconds.

    n_classes : int, default=None
        Number of classes.

    temperature : array-like, default=None
        For each stage, the temperature that is best on the validation data, if a judge
        uses calibrated probabilities.

    tie_scores : array-like, default=None
        A score for each stage on the validation data that breaks ties; greater is
        better. In `compare_stopping_rules` it is the negative log loss. None means that
        the first of tied stages is chosen.

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

    def choose(self, rule, selection, *, n_iter_no_change=20, tol=0.0):
        """Return the stage that a rule chooses, and how many stages it has seen.

        Ties are broken by `tie_scores`, or else by the first stage. They do not affect
        when early stopping ends.
        """
        check_choice(selection, "selection", SELECTIONS)
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
        check_choice(rule, "rule", self.validation)
        return self.validation[rule]

    def correlation(self, rule, *, n_iter=None):
        """Return the correlation of a rule with the target on the validation data.

        Parameters
        ----------
        rule : str
            The rule.

        n_iter : int, default=None
            Number of stages to use. None means all.

        Returns
        -------
        r : float
            Pearson's correlation; NaN if one of the two is constant.
        """
        if rule == LAST:
            return np.nan
        scores = np.array(
            [self._scores(name)[:n_iter] for name in (rule, "target")], dtype=float
        )
        scores = scores[:, np.isfinite(scores).all(axis=0)]
        if scores.shape[1] < 2 or np.any(np.ptp(scores, axis=1) == 0):
            return np.nan
        return float(np.corrcoef(scores)[0, 1])

    @classmethod
    def from_estimator(cls, estimator, X, y, *, rules=None, scoring="f1_macro"):
        """Score the stages of a fitted boosted ensemble.

        Parameters
        ----------
        estimator : estimator
            A fitted boosting classifier, a pipeline that ends in one, or an
            `EarlyStoppingClassifier` of one.

        X, y : array-like
            Validation data, not seen in training.

        rules : list of str, dict or None, default=None
            The rules, as in `compare_stopping_rules`.

        scoring : str or callable, default="f1_macro"
            The target: the score that counts.

        Returns
        -------
        trajectory : Trajectory
            With scores on the validation data only.
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
        self, ax=None, *, rules=None, scoring="target", n_iter_no_change=20, tol=0.0
    ):
        """Draw the validation scores over the stages.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.

        rules : list of str, default=None
            The rules to draw. None means all.

        scoring : str, default="target"
            The name of the target.

        n_iter_no_change : int, default=20
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
        for rule in rules:
            check_choice(rule, "rules", [*self.validation, "last"])
        options = {"n_iter_no_change": n_iter_no_change, "tol": tol}
        display = StoppingTrajectoryDisplay(self, rules, scoring=scoring, **options)
        return display.plot(ax=ax)


def check_choice(value, parameter, allowed):
    """Raise an error if a value is not one of those allowed."""
    if value not in list(allowed):
        raise ValueError(
            f"The {parameter!r} parameter must be one of {list(allowed)}. "
            f"Got {value!r}."
        )


def by_name(given, parameter, check):
    """Return checked scorers by their names.

    Parameters
    ----------
    given : list or dict
        Scorers, or names of scorers. In a list, a scorer has the name of its function.

    parameter : str
        The name of the caller's parameter.

    check : callable
        Called with each scorer and the name of the parameter; returns what to use.
    """
    is_dict, named = isinstance(given, Mapping), given
    if isinstance(given, list | tuple):
        named = {_name_of(scorer, parameter): scorer for scorer in given}
    if not (isinstance(named, Mapping) and named) or not all(
        isinstance(name, str) for name in named
    ):
        raise ValueError(
            f"The {parameter!r} parameter must be a non-empty list of str or scorers, "
            f"or a dict from str to these. Got {given!r}."
        )
    if len(named) < len(given):
        raise ValueError(
            f"The {parameter!r} parameter must have unique names; use a dict to choose "
            f"them. Got {list(given)}."
        )
    return {
        name: check(scorer, f"{parameter}[{name!r}]" if is_dict else parameter)
        for name, scorer in named.items()
    }


def _name_of(scorer, parameter):
    """Return the name of a scorer in a list."""
    if isinstance(scorer, str) or not callable(scorer):
        return scorer
    parts = scorer_parts(scorer)
    name = getattr(scorer if parts is None else parts[0], "__name__", "")
    if not name.isidentifier():  # a lambda, for example
        raise ValueError(
            f"The {parameter!r} parameter must be a dict to name {scorer!r}, which has "
            "no name of its own."
        )
    return name


def find_scorers(rules):
    """Return the scorers of `rules` by name; None for the last stage."""

    def check(rule, parameter):
        return None if rule == LAST else check_scorer(rule, parameter)

    scorers = by_name(DEFAULT_RULES if rules is None else rules, "rules", check)
    if "target" in scorers:
        raise ValueError(
            "The 'rules' parameter must not use the name 'target'. Got "
            f"{list(scorers)}."
        )
    if any((name == LAST) != (scorer is None) for name, scorer in scorers.items()):
        raise ValueError(
            f"The 'rules' parameter must not rename {LAST!r} or reuse its name, which "
            f"is reserved for keeping the last stage. Got {rules!r}."
        )
    return scorers


@dataclass
class Judge:
    """A score that evaluates the chosen stages, possibly after calibration."""

    scorer: object
    is_calibrated: bool = False


def find_judges(scoring):
    """Return the judges of `scoring` by name; the first one counts."""
    if callable(scoring):
        return {"target": _find_judge(scoring, "scoring")}
    scoring = [scoring] if isinstance(scoring, str) else scoring
    judges = by_name(scoring, "scoring", _find_judge)
    if _RESERVED & judges.keys():
        raise ValueError(
            f"The 'scoring' parameter must not use the names {sorted(_RESERVED)}. Got "
            f"{list(judges)}."
        )
    return judges


def _find_judge(judge, parameter):
    is_calibrated = isinstance(judge, str) and judge.startswith(CALIBRATED)
    scorer = check_scorer(
        judge.removeprefix(CALIBRATED) if is_calibrated else judge, parameter
    )
    if calibrates("auto", scorer):
        raise ValueError(
            f"The {parameter!r} parameter must not hold refined rules, which would fit "
            f"a temperature on the test data. Got {judge!r}. Use {CALIBRATED!r} before "
            "the name of a plain rule, to use the temperature of the validation data."
        )
    return Judge(scorer, is_calibrated)
