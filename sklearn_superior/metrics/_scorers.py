"""Scorers that take the class set from the estimator."""

from copy import deepcopy
from difflib import get_close_matches

import numpy as np
import sklearn.metrics
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from sklearn_superior.metrics._decisions import decision_cost, mean_cost, read_costs
from sklearn_superior.metrics._forecast import (
    check_class_weight,
    check_forecast,
    check_labels,
    classes_on_host,
    declared_only,
    shown,
    union,
    with_all_classes,
)
from sklearn_superior.metrics._kernel import PreparedLosses, mean_loss
from sklearn_superior.metrics._rules import (
    RULES,
    TEMPERATURE_OPTIONS,
    check_options,
    find_rule,
    rule_names,
)
from sklearn_superior.utils._sklearn_compat import (
    ClassifierScorer,
    ProbabilityScorer,
    register_scorer_names,
)


class _ScoreFunction:
    """The loss of a rule as scorers call it, or its skill score.

    Some scikit-learn tools call the function of a scorer themselves.
    `LogisticRegressionCV` passes probabilities and labels, and with a single column
    also `pos_label`. `TunedThresholdClassifierCV` passes predicted labels without
    `pos_label`; they count as forecasts of probability 1.

    Parameters
    ----------
    name : str
        Name of a rule, such as ``"refined_penalized_brier"``; the prefix ``"d2_"``
        selects its skill score.
    """

    def __init__(self, name):
        self.is_d2 = name.startswith("d2_")
        name = name.removeprefix("d2_")
        rule, self.penalty = find_rule(name, refined=True)
        self.rule_name, self.is_refined = rule.name, name.startswith("refined_")

    @property
    def rule(self):
        """The row of the table of rules."""
        return RULES[self.rule_name]

    @property
    def __name__(self):
        if self.is_d2:
            return self.rule.d2_name
        name = self.rule.loss_name if self.penalty else self.rule.plain_name
        return f"refined_{name}" if self.is_refined else name

    def __repr__(self):
        return self.__name__

    @property
    def options(self):
        """Names of the options of the scorer."""
        of_rule = ("penalty", "ties") if self.is_d2 else self.rule.options
        options = {"labels", "class_weight", *of_rule}
        return options.union(TEMPERATURE_OPTIONS) if self.is_refined else options

    def loss(self, **options):
        """Return the rule with the options of its loss, which are checked."""
        kind = {"refined": self.is_refined, "d2": self.is_d2}
        return check_options(self.rule, **{"penalty": self.penalty} | options, **kind)

    def __call__(
        self,
        y_true,
        y_proba,
        *,
        sample_weight=None,
        classes=None,
        labels=None,
        pos_label=None,
        class_weight=None,
        **options,
    ):
        """Evaluate probabilities, whose columns are `classes`, or predicted labels.

        Without `classes` the columns are the labels.
        """
        if classes is None:
            classes, labels = labels, None
        if pos_label is None and np.ndim(y_proba) == 1:
            classes, y_proba = _as_certain(y_true, y_proba, classes)
        elif classes is not None:
            inputs = classes_on_host(classes), pos_label, labels
            classes, y_proba = with_all_classes(y_true, y_proba, *inputs)
            if len(classes) == 1:
                raise ValueError(
                    f"The estimator and y_true have a single class, {shown(classes)}, "
                    "but the loss needs two. Declare all classes with "
                    "get_scorer(name, labels=...)."
                )
        inputs = sample_weight, classes, pos_label, class_weight
        return mean_loss(self.loss(**options), y_true, y_proba, *inputs)


def _as_certain(y_true, predicted, labels):
    """Return all labels, and predicted labels as probabilities of 0 and 1."""
    predicted = classes_on_host(predicted)
    if predicted.dtype.kind == "f" and np.any(predicted != np.floor(predicted)):
        raise ValueError(
            "y_proba with one column must come with pos_label, the class it is for; "
            "otherwise it must hold predicted labels. Got values such as "
            f"{predicted[predicted != np.floor(predicted)][0]:.6g}."
        )
    known = [] if labels is None else [classes_on_host(labels)]
    labels = union(classes_on_host(y_true), predicted, *known)
    return labels, (predicted[:, np.newaxis] == labels).astype(np.float64)


class _PenalizedScorer(ProbabilityScorer):
    """Scorer of a penalized loss or of a skill score.

    Losses are negated, so greater is better.

    The scorer takes the classes from the fitted estimator. It handles test folds with
    missing classes. A class that the estimator has never seen gets probability 0
    and is named in a warning.

    `get_scorer` returns a new scorer, optionally with options. Calling
    `set_score_request` on it does not affect other scorers.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn_superior.metrics import neg_penalized_brier_scorer
    >>> X, y = load_iris(return_X_y=True)
    >>> search = GridSearchCV(
    ...     LogisticRegression(max_iter=500),
    ...     {"C": [0.01, 1]},
    ...     scoring=neg_penalized_brier_scorer,
    ... )
    >>> search.fit(X, y).best_params_
    {'C': 1}
    """

    def evaluate(self, estimator, X, y_true, predict_proba, options):
        """Evaluate the loss, or the score, of the estimator's predictions."""
        y_proba, classes, pos_label = _predict(estimator, X, predict_proba, options)
        options |= {"classes": classes, "pos_label": pos_label}
        return self.score_function(y_true, y_proba, **options)

    @staticmethod
    def prepare_all(scorers, classes, y_true, sample_weight=None):
        """Prepare several scorers for a sequence of forecasts for the same labels.

        Parameters
        ----------
        scorers : list of ProbabilityScorer
            Scorers of our rules.

        classes : ndarray of shape (n_classes,)
            The sorted classes, which include those of `y_true`: the columns of the
            probabilities.

        y_true, sample_weight : array-like of shape (n_samples,)
            Labels and weights.

        Returns
        -------
        scores : callable
            Takes probabilities as a NumPy array and returns the list of scores; greater
            is better. Scorers with the same `labels` and `class_weight` share one pass.
        """
        groups = {}
        for k, scorer in enumerate(scorers):
            options = scorer.options
            added = declared_only(options.pop("labels", None), classes)
            weights = options.pop("class_weight", None)
            key = repr((added.tolist(), weights))
            _, losses, places = groups.setdefault(key, ((added, weights), [], []))
            losses.append(scorer.score_function.loss(**options))
            places.append(k)
        passes = []
        for (added, weights), losses, places in groups.values():
            labels = union(classes, added) if len(added) else classes
            inputs = {"sample_weight": sample_weight, "class_weight": weights}
            prepared = PreparedLosses(losses, y_true, labels=labels, **inputs)
            passes.append((prepared, _column_filler(classes, labels), places))

        def scores(y_proba):
            found = [0.0] * len(scorers)
            for prepared, fill, places in passes:
                for place, value in zip(places, prepared(fill(y_proba)), strict=True):
                    found[place] = scorers[place].sign * value
            return found

        return scores


def _cost_of_scored(y_true, y_proba, *, labels=None, pos_label=None, **options):
    """Evaluate `decision_cost` of probabilities or, as some tools pass, of labels."""
    if pos_label is None and np.ndim(y_proba) == 1:
        labels, y_proba = _as_certain(y_true, y_proba, labels)
    return decision_cost(y_true, y_proba, labels=labels, **options)


_cost_of_scored.__name__ = "decision_cost"  # in the repr of the scorer


class _DecisionScorer(ClassifierScorer):
    """Scorer of the cost of decisions."""

    def evaluate(self, estimator, X, y_true, predict_proba, options):
        """Evaluate the mean cost of the decisions for the estimator's predictions."""
        # Both columns of two classes: 1 minus one of them could break a tie otherwise
        # than the decisions of the model do.
        y_proba, classes, pos_label = _predict(
            estimator, X, lambda: estimator.predict_proba(X), options
        )
        labels, costs = options.pop("labels", None), options.pop("cost_matrix")
        if classes is not None:
            inputs = y_proba, classes, pos_label, labels
            labels, y_proba = with_all_classes(y_true, *inputs)
        options |= {"labels": labels, "pos_label": pos_label}
        return mean_cost(check_forecast(y_true, y_proba, **options), costs)


def _predict(estimator, X, predict_proba, options):
    """Return the probabilities of an estimator, its classes, and that of one column."""
    if not hasattr(estimator, "predict_proba"):
        raise TypeError(
            "The scorer needs probabilities, but "
            f"{type(estimator).__name__} has no predict_proba."
        )
    classes = _classes_of(estimator)
    if classes is None and options.get("labels") is not None:
        classes = classes_on_host(options.pop("labels"))
    # scikit-learn gives no probabilities of a classifier with one class.
    is_single = classes is not None and len(classes) == 1
    y_proba = estimator.predict_proba(X) if is_single else predict_proba()
    is_column = classes is not None and np.ndim(y_proba) == 1
    return y_proba, classes, classes[-1] if is_column else None


def _column_filler(classes, labels):
    """Return a function that adds columns of zeros for the missing `labels`."""
    if len(labels) == len(classes):
        # scikit-learn's scorers get the positive class alone: use the same values.
        return (lambda q: q[:, 1]) if len(labels) == 2 else (lambda q: q)
    columns = np.searchsorted(labels, classes)

    def fill(y_proba):
        full = np.zeros((len(y_proba), len(labels)), dtype=y_proba.dtype)
        full[:, columns] = y_proba
        if len(classes) == 2:
            full[:, columns[0]] = 1 - y_proba[:, 1]
        return full

    return fill


def _classes_of(estimator):
    """Return the classes of a fitted classifier; None if it has no `classes_`."""
    if not hasattr(estimator, "classes_"):
        if isinstance(estimator, BaseEstimator):
            check_is_fitted(estimator)
        return None
    classes = estimator.classes_
    if isinstance(classes, list) and any(np.ndim(part) for part in classes):
        raise ValueError(
            f"{type(estimator).__name__} has several outputs, but only classifiers "
            "with one output can be scored."
        )
    return classes_on_host(classes)


def _make_scorer(rule, **options):
    function = _ScoreFunction(rule)
    sign = 1 if function.is_d2 else -1
    return _PenalizedScorer(function, sign, options, "predict_proba")


neg_penalized_brier_scorer = _make_scorer("penalized_brier")
neg_penalized_log_loss_scorer = _make_scorer("penalized_log_loss")
neg_penalized_spherical_scorer = _make_scorer("penalized_spherical")

# The names that `scoring` takes, and the rules that they mean.
SCORERS = {
    f"neg_{prefix}{rule.plain_name.replace('score_loss', 'score')}": prefix + rule.name
    for prefix in ("penalized_", "refined_", "refined_penalized_")
    for rule in RULES.values()
} | {
    rule.d2_name: f"d2_penalized_{rule.name}" for rule in RULES.values() if rule.d2_name
}


def get_scorer(name, **options):
    """Get one of our scorers, or a scikit-learn scorer, by name.

    Parameters
    ----------
    name : str
        One of these names:

        - ``"neg_penalized_brier_score"``, ``"neg_penalized_log_loss"`` or
          ``"neg_penalized_spherical_loss"``;
        - a loss after recalibration by the best temperature: ``"neg_refined_"`` or
          ``"neg_refined_penalized_"`` and the name of the loss, as in
          ``"neg_refined_log_loss"``;
        - the skill scores ``"d2_penalized_brier_score"`` and
          ``"d2_penalized_log_loss_score"``;
        - ``"neg_decision_cost"``, which needs the option ``cost_matrix``, see
          `decision_cost`;
        - the name of a rule, such as ``"brier"`` or ``"refined_penalized_brier"``;
        - any scikit-learn scoring string.

        A callable is returned as it is.

    **options : dict
        Options of our losses, such as ``penalty="minimal"`` or ``ties="split"``.
        Refined rules also have `prior_scale` and `sharpen`, see `fit_temperature`; by
        default their temperature is never below 1. Skill scores have no `scale`.
        ``labels`` declares all classes, so that their number, and thus the penalty, is
        the same in folds that lack some.
        ``class_weight="balanced"`` gives every class in the scored labels the same
        total weight; a dict maps classes to weights, 1 for those not listed. Both
        multiply `sample_weight`.

    Returns
    -------
    scorer : callable
        Called as ``scorer(estimator, X, y)``; greater is better. It is a new object:
        `set_score_request` does not affect other scorers.

    See Also
    --------
    register_scorers : Make the names known to scikit-learn itself.

    Notes
    -----
    The classes and functions of this package accept our names. scikit-learn tools such
    as `cross_val_score` and `GridSearchCV` accept the scorer returned here, but not its
    name, until :func:`register_scorers` has been called.

    A model trained with ``class_weight="balanced"`` should be evaluated in the same
    way: it predicts probabilities of balanced classes, which an unweighted score
    penalizes. Temperatures ignore class weights. Use ``calibration=None`` in this case,
    or pass sample weights to `fit` instead, which count in training, in the score and
    in the temperature.

    Examples
    --------
    >>> from sklearn_superior.metrics import get_scorer
    >>> get_scorer("neg_penalized_brier_score", penalty="minimal")
    make_scorer(penalized_brier_score_loss, greater_is_better=False,
                response_method='predict_proba', penalty=minimal)
    """
    if name == "neg_decision_cost":
        if not {"cost_matrix"} <= options.keys() <= {"cost_matrix", "labels"}:
            raise TypeError(
                "'neg_decision_cost' needs the option 'cost_matrix' and takes 'labels'."
                f" Got {sorted(options)}."
            )
        read_costs(options["cost_matrix"])
        options = deepcopy(options)
        return _DecisionScorer(_cost_of_scored, -1, options, "predict_proba")
    if isinstance(name, str) and name in {*SCORERS, *rule_names(refined=True)}:
        scorer = _make_scorer(SCORERS.get(name, name), **options)
        allowed = scorer.score_function.options
        if not options.keys() <= allowed:
            unknown = sorted(options.keys() - allowed)
            raise TypeError(
                f"The options of {name!r} are {sorted(allowed)}. Got {unknown}."
            )
        if options.get("labels") is not None:
            check_labels(options["labels"])
        check_class_weight(options.get("class_weight"))
        of_loss = options.keys() - {"labels", "class_weight"}
        scorer.score_function.loss(**{name: options[name] for name in of_loss})
        return scorer
    if options:
        raise TypeError(
            f"Only the scorers {sorted([*SCORERS, 'neg_decision_cost'])} and the rules "
            f"{rule_names(refined=True)} take options. Got name={name!r} with "
            f"{sorted(options)}."
        )
    try:
        scorer = sklearn.metrics.get_scorer(name)
    except ValueError:
        scorer = None
    if scorer is None:
        if similar := _similar_name(name):
            raise ValueError(
                f"The 'name' parameter must be the name of a scorer. Got {name!r}. Did "
                f"you mean {similar!r}?"
            )
        raise ValueError(
            f"The 'name' parameter must be one of {sorted(SCORERS)}, a rule among "
            f"{rule_names(refined=True)}, or a name in "
            f"sklearn.metrics.get_scorer_names(). Got {name!r} instead."
        )
    return scorer


_ABBREVIATIONS = {"pbs": "penalized_brier_score", "pll": "penalized_log_loss"}


def _similar_name(name):
    """Return the known name that is most similar; None if there is none."""
    name = _ABBREVIATIONS.get(str(name).lower(), str(name))
    names = [*SCORERS, *rule_names(refined=True), "neg_decision_cost"]
    names += sklearn.metrics.get_scorer_names()
    similar = [f"neg_{name}", *get_close_matches(name, names, n=1)]
    return next((own for own in similar if own in names), None)


def register_scorers():
    """Make the names of our scorers valid wherever scikit-learn takes `scoring`.

    Importing the package registers nothing: this function is the only one that modifies
    scikit-learn. It may be called repeatedly.

    See Also
    --------
    get_scorer : Get a scorer by name without registering anything.

    Notes
    -----
    The names are registered in the current process only. A worker process that has to
    look up a name itself, for example to fit
    ``HistGradientBoostingClassifier(scoring="neg_penalized_brier_score")`` inside a
    search with ``n_jobs=2``, does not know it: pass the scorer object instead.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn_superior.metrics import register_scorers
    >>> register_scorers()
    >>> X, y = load_iris(return_X_y=True)
    >>> scores = cross_val_score(
    ...     LogisticRegression(max_iter=500), X, y, scoring="neg_penalized_brier_score"
    ... )
    >>> float(scores.mean())
    -0.082
    """
    register_scorer_names({name: get_scorer(name) for name in SCORERS})
