"""Scorers that take the class set from the estimator."""

import inspect

import numpy as np
import sklearn.metrics
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from sklearn_superior.metrics._columns import (
    check_declared,
    labels_of,
    not_among,
    union,
    with_all_classes,
)
from sklearn_superior.metrics._penalized import LOSSES
from sklearn_superior.metrics._prepared import PreparedLoss
from sklearn_superior.metrics._refined import REFINED_LOSSES
from sklearn_superior.metrics._rules import RULES, find_rule, rule_names
from sklearn_superior.metrics._validation import (
    as_host_array,
    check_labels,
    check_options,
    shown,
)
from sklearn_superior.utils._sklearn_compat import (
    ProbabilityScorer,
    array_namespace,
    register_scorer_names,
)

__all__ = [
    "get_scorer",
    "neg_penalized_brier_scorer",
    "neg_penalized_log_loss_scorer",
    "neg_penalized_spherical_scorer",
    "register_scorers",
]


class _ScoreFunction:
    """A loss as scorers call it.

    `of_classes` is for probabilities of an estimator whose classes are known. The
    object itself is called by tools of scikit-learn that take a scorer apart:
    `LogisticRegressionCV` passes probabilities and labels, `TunedThresholdClassifierCV`
    passes decisions, which count as certain forecasts.
    """

    def __init__(self, rule_name, refined=False):
        self._rule_name = rule_name
        self.refined = refined

    @property
    def __name__(self):
        return self._loss.__name__

    def __repr__(self):
        return self.__name__

    @property
    def rule(self):
        """The row of the table of rules."""
        return RULES[self._rule_name]

    @property
    def __signature__(self):
        return inspect.signature(self._loss)

    @property
    def _loss(self):
        return (REFINED_LOSSES if self.refined else LOSSES)[self._rule_name]

    def __call__(self, y_true, y_proba, *, labels=None, pos_label=None, **options):
        """Evaluate the loss of probabilities or of decisions."""
        if pos_label is None and _are_decisions(y_true, y_proba, labels):
            decisions = as_host_array(y_proba, "y_proba")
            known = [] if labels is None else [as_host_array(labels, "labels")]
            labels = union(as_host_array(y_true, "y_true"), decisions, *known)
            y_proba = (decisions[:, None] == labels).astype(np.float64)
        elif labels is not None:
            return self.of_classes(
                y_true, y_proba, labels, pos_label=pos_label, **options
            )
        return self._loss(
            y_true, y_proba, labels=labels, pos_label=pos_label, **options
        )

    def of_classes(
        self, y_true, y_proba, classes, *, declared=(), pos_label=None, **options
    ):
        """Evaluate the loss of probabilities whose columns follow `classes`.

        Labels in `y_true` that are not among the classes get probability 0, and so do
        the classes that are `declared` besides.
        """
        classes, y_proba = with_all_classes(
            y_true, y_proba, classes, pos_label, declared
        )
        return self._loss(
            y_true, y_proba, labels=classes, pos_label=pos_label, **options
        )


def _are_decisions(y_true, y_proba, labels):
    """Whether a single column holds class labels in place of probabilities.

    Floats are labels if one of them is no probability, or if each is a label. The
    latter could also be probabilities of 0 and 1, which have the same loss if these are
    the labels; scikit-learn passes `pos_label` with probabilities.
    """
    if array_namespace(y_proba)[0] is not np or np.ndim(y_proba) != 1:
        return False
    values = np.asarray(y_proba)
    if values.dtype.kind != "f":
        return True
    if np.asarray(y_true).dtype.kind not in "biuf":
        return False
    known = np.concatenate([np.ravel(y_true), () if labels is None else labels])
    return bool(np.any((values < 0) | (values > 1)) or np.isin(values, known).all())


class _PenalizedScorer(ProbabilityScorer):
    """Scorer of a penalized loss: the negated loss, so greater is better.

    It takes the classes from the fitted estimator. A test fold that lacks a
    class is scored like any other, and a class that the estimator has never
    seen counts with probability 0, with a warning that names it.

    `get_scorer` returns such a scorer of your own, with options if you like, on
    which `set_score_request` has no effect elsewhere.

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
        """Evaluate the loss of the estimator's predictions."""
        if not hasattr(estimator, "predict_proba"):
            raise TypeError(
                f"{self.score_function.__name__} scores probabilities, but "
                f"{type(estimator).__name__} has no predict_proba."
            )
        classes = _classes_of(estimator)
        declared = options.pop("labels", None)
        if classes is None:
            classes, declared = declared, None
        if classes is not None and len(classes) == 1:
            # scikit-learn gives no probabilities of a classifier with one class.
            y_proba = estimator.predict_proba(X)
        else:
            y_proba = predict_proba()
        if classes is None:
            return self.score_function(y_true, y_proba, **options)
        declared = () if declared is None else declared
        _check_two_classes(estimator, classes, declared, y_true)
        if np.ndim(y_proba) == 1:
            options["pos_label"] = classes[-1]
        return self.score_function.of_classes(
            y_true, y_proba, classes, declared=declared, **options
        )

    def prepare(self, classes, y_true, sample_weight=None):
        """Check labels and weights once; return a function of probabilities alone.

        Parameters
        ----------
        classes : ndarray of shape (n_classes,)
            The sorted classes, those of `y_true` among them: the columns of the
            probabilities.

        y_true, sample_weight : array-like of shape (n_samples,)
            Labels and weights.

        Returns
        -------
        score : callable
            Called with probabilities as a NumPy array; greater is better.
        """
        options = self.options
        declared = options.pop("labels", None)
        declared = () if declared is None else declared
        added = not_among(check_declared(declared, classes), classes)
        labels = union(classes, added) if len(added) else classes
        loss = PreparedLoss(
            self.score_function.rule,
            y_true,
            labels=labels,
            sample_weight=sample_weight,
            refined=self.score_function.refined,
            **options,
        )
        if not len(added):
            if len(labels) > 2:
                return lambda y_proba: -loss(y_proba)
            # scikit-learn's scorers get the positive class alone: use the same values.
            return lambda y_proba: -loss(y_proba[:, 1])
        columns = np.searchsorted(labels, classes)

        def score(y_proba):
            full = np.zeros((len(y_proba), len(labels)), dtype=y_proba.dtype)
            full[:, columns] = y_proba
            if len(classes) == 2:
                full[:, columns[0]] = 1 - y_proba[:, 1]
            return -loss(full)

        return score


def _classes_of(estimator):
    """Classes of a fitted classifier; None if it has no `classes_`."""
    if not hasattr(estimator, "classes_"):
        if isinstance(estimator, BaseEstimator):
            check_is_fitted(estimator)
        return None
    if isinstance(estimator.classes_, list):
        raise ValueError(
            f"{type(estimator).__name__} has several outputs; only classifiers with "
            "one output can be scored."
        )
    return estimator.classes_


def _check_two_classes(estimator, classes, declared, y_true):
    if len(union(classes, check_declared(declared, classes))) > 1:
        return
    if len(not_among(labels_of(y_true, classes), classes)) == 0:
        raise ValueError(
            f"{type(estimator).__name__} knows a single class, {shown(classes)}, and "
            "y_true has no other: the loss needs two. Declare all classes with "
            "get_scorer(name, labels=...)."
        )


def _make_scorer(rule_name, *, refined=False, **options):
    function = _ScoreFunction(rule_name, refined)
    return _PenalizedScorer(function, -1, options, "predict_proba")


neg_penalized_brier_scorer = _make_scorer("brier")
neg_penalized_log_loss_scorer = _make_scorer("log_loss")
neg_penalized_spherical_scorer = _make_scorer("spherical")

# The scorers by the names that `scoring` takes.
SCORERS = {
    "neg_penalized_brier_score": neg_penalized_brier_scorer,
    "neg_penalized_log_loss": neg_penalized_log_loss_scorer,
    "neg_penalized_spherical_loss": neg_penalized_spherical_scorer,
    "neg_refined_brier_score": _make_scorer("brier", refined=True, penalty=0.0),
    "neg_refined_log_loss": _make_scorer("log_loss", refined=True, penalty=0.0),
    "neg_refined_penalized_brier_score": _make_scorer("brier", refined=True),
    "neg_refined_penalized_log_loss": _make_scorer("log_loss", refined=True),
}


def get_scorer(name, **options):
    """Get a scorer by its name: ours, or else one of scikit-learn's.

    Parameters
    ----------
    name : str
        ``"neg_penalized_brier_score"``, ``"neg_penalized_log_loss"`` or
        ``"neg_penalized_spherical_loss"``; after recalibration by the best temperature
        ``"neg_refined_brier_score"``, ``"neg_refined_log_loss"``,
        ``"neg_refined_penalized_brier_score"`` or ``"neg_refined_penalized_log_loss"``;
        the name of a rule such as ``"brier"`` or ``"refined_penalized_brier"``; or any
        scoring string of scikit-learn. A callable is returned as it is.

    **options : dict
        Options of our losses, such as ``penalty="minimal"`` or ``ties="split"``.
        With ``labels`` one can declare classes that some fold may not have at all,
        so that the number of classes, and with it the penalty, is the same in all.

    Returns
    -------
    scorer : callable
        Called as ``scorer(estimator, X, y)``; greater is better. It is a new object,
        so `set_score_request` on it changes no other.

    See Also
    --------
    register_scorers : Make the names known to scikit-learn itself.

    Examples
    --------
    >>> from sklearn_superior.metrics import get_scorer
    >>> get_scorer("neg_penalized_brier_score", penalty="minimal")
    make_scorer(penalized_brier_score_loss, greater_is_better=False,
                response_method='predict_proba', penalty=minimal)
    """
    if isinstance(name, str) and name in {*SCORERS, *rule_names(refined=True)}:
        refined = "refined_" in name
        if name in SCORERS:
            rule = SCORERS[name].score_function.rule
            options = SCORERS[name].options | options
        else:
            rule, penalty = find_rule(name, refined=True)
            options = options if penalty == "paper" else {"penalty": penalty} | options
        allowed = set(inspect.signature(LOSSES[rule.name]).parameters)
        allowed -= {"y_true", "y_proba", "sample_weight", "pos_label"}
        if not options.keys() <= allowed:
            unknown = sorted(options.keys() - allowed)
            raise TypeError(
                f"The options of {name!r} are {sorted(allowed)}. Got {unknown}."
            )
        check_options(rule, **{k: v for k, v in options.items() if k != "labels"})
        if options.get("labels") is not None:
            check_labels(options["labels"])
        return _make_scorer(rule.name, refined=refined, **options)
    if options:
        raise TypeError(
            f"Options are only for the names {sorted(SCORERS)} and for those of rules, "
            f"{rule_names(refined=True)}. Got name={name!r} with {sorted(options)}."
        )
    try:
        scorer = sklearn.metrics.get_scorer(name)
    except ValueError:
        scorer = None
    if scorer is None:
        raise ValueError(
            f"The 'name' parameter must be one of {sorted(SCORERS)}, a rule among "
            f"{rule_names(refined=True)}, or a name in "
            f"sklearn.metrics.get_scorer_names(). Got {name!r} instead."
        )
    return scorer


def register_scorers():
    """Make the names of our scorers valid wherever scikit-learn takes `scoring`.

    Nothing is registered by importing the package; this function is the only
    thing here that changes scikit-learn. Calling it again is harmless.

    See Also
    --------
    get_scorer : Get a scorer by name without registering anything.

    Notes
    -----
    The names are known in the process that called this. A worker process that
    has to look a name up itself, say to fit
    ``HistGradientBoostingClassifier(scoring="neg_penalized_brier_score")`` with
    ``n_jobs=2`` around it, does not know it: pass the scorer object there.

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
