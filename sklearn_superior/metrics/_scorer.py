"""Scorers that take the class set from the estimator."""

import inspect

import numpy as np
import sklearn.metrics
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from sklearn_superior.metrics._labels import shown, unique_labels
from sklearn_superior.metrics._penalized import LOSSES, PreparedLoss
from sklearn_superior.metrics._rules import RULES
from sklearn_superior.metrics._validation import as_host_array
from sklearn_superior.utils._sklearn_compat import (
    ProbabilityScorer,
    array_namespace,
    register_scorer_names,
)
from sklearn_superior.utils._warnings import warn


class _ScoreFunction:
    """A loss as scikit-learn's tools call it through a scorer.

    More lenient than the loss itself: labels in `y_true` that are not among
    `labels` get probability 0, and class labels in place of probabilities
    (`TunedThresholdClassifierCV` scores decisions) count as certain forecasts.
    """

    def __init__(self, rule_name):
        self._rule_name = rule_name

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
        return LOSSES[self._rule_name]

    def __call__(
        self, y_true, y_proba, *, labels=None, pos_label=None, declared=(), **options
    ):
        """Evaluate the loss; `declared` are further classes that may occur."""
        if labels is None and _holds_labels(y_proba):
            labels, decisions = np.union1d(y_true, y_proba), np.asarray(y_proba)
            y_proba = (decisions[:, None] == labels).astype(np.float64)
        elif labels is not None:
            labels, y_proba, pos_label = _with_all_classes(
                y_true, y_proba, as_host_array(labels, "labels"), pos_label, declared
            )
        return self._loss(
            y_true, y_proba, labels=labels, pos_label=pos_label, **options
        )


def _holds_labels(y_proba):
    is_host = array_namespace(y_proba)[0] is np
    return is_host and np.ndim(y_proba) == 1 and np.asarray(y_proba).dtype.kind != "f"


def _with_all_classes(y_true, y_proba, classes, pos_label, declared):
    """Sort the columns of `y_proba` and add one for each class never seen."""
    added = _strangers(np.unique(as_host_array(declared, "labels")), classes)
    unseen = _unseen_classes(y_true, np.concatenate([classes, added]))
    order = np.argsort(classes)
    is_sorted = bool(np.all(order == np.arange(len(classes))))
    if not len(added) and not len(unseen) and (is_sorted or np.ndim(y_proba) == 1):
        return classes[order], y_proba, pos_label

    y_proba = as_host_array(y_proba, "y_proba")
    if y_proba.ndim == 1:
        positive = classes[-1] if pos_label is None else pos_label
        y_proba = np.where(classes == positive, y_proba[:, None], 1 - y_proba[:, None])
    if len(unseen):
        warn(
            f"y_true has classes that the estimator has never seen: {shown(unseen)}. "
            "They count with probability 0.",
        )
    nothing = np.zeros((len(y_proba), len(added) + len(unseen)), dtype=y_proba.dtype)
    y_proba = np.hstack([y_proba, nothing])
    classes = np.concatenate([classes, added, unseen])
    order = np.argsort(classes)
    return classes[order], y_proba[:, order], pos_label


def _unseen_classes(y_true, classes):
    if array_namespace(y_true)[0] is not np:
        return classes[:0]
    y_true = as_host_array(y_true, "y_true")
    if y_true.ndim != 1:
        return classes[:0]
    unseen = _strangers(unique_labels(y_true, "y_true"), classes)
    if len(unseen) and isinstance(unseen[0], str) != isinstance(classes[0], str):
        raise ValueError(
            f"y_true has labels {shown(unseen)}, of another type than the classes "
            f"{shown(classes)} of the estimator."
        )
    return unseen


def _strangers(labels, classes):
    """Those of the labels that are not among the classes."""
    known = set(classes.tolist())
    is_strange = [label not in known for label in labels.tolist()]
    return labels[is_strange] if any(is_strange) else classes[:0]


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
            classes = declared
        elif declared is not None:
            options["declared"] = declared
        if classes is not None and len(classes) == 1:
            # scikit-learn gives no probabilities of a classifier with one class.
            y_proba = estimator.predict_proba(X)
        else:
            y_proba = predict_proba()
        if classes is not None and np.ndim(y_proba) == 1:
            options["pos_label"] = classes[-1]
        return self.score_function(y_true, y_proba, labels=classes, **options)

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
        declared = classes if declared is None else as_host_array(declared, "labels")
        added = _strangers(np.unique(declared), classes)
        labels = np.sort(np.concatenate([classes, added])) if len(added) else classes
        loss = PreparedLoss(
            self.score_function.rule,
            y_true,
            labels=labels,
            sample_weight=sample_weight,
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
    """Classes of a fitted classifier; None of one that does not tell."""
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


def _make_scorer(rule, **options):
    return _PenalizedScorer(_ScoreFunction(rule.name), -1, options, "predict_proba")


_BY_SCORING_NAME = {rule.scoring_name: rule for rule in RULES.values()}

# The public names.
SCORERS = {name: _make_scorer(rule) for name, rule in _BY_SCORING_NAME.items()}
globals().update(
    {rule.scorer_name: SCORERS[rule.scoring_name] for rule in RULES.values()}
)
__all__ = ["get_scorer", "register_scorers"]
__all__ += [rule.scorer_name for rule in RULES.values()]


def get_scorer(name, **options):
    """Get a scorer by its name: ours, or else one of scikit-learn's.

    Parameters
    ----------
    name : str
        ``"neg_penalized_brier_score"``, ``"neg_penalized_log_loss"``,
        ``"neg_penalized_spherical_loss"`` or any scoring string of scikit-learn.
        A callable is returned as it is.

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
    if isinstance(name, str) and name in _BY_SCORING_NAME:
        rule = _BY_SCORING_NAME[name]
        allowed = set(inspect.signature(LOSSES[rule.name]).parameters)
        allowed -= {"y_true", "y_proba", "sample_weight", "pos_label"}
        if not options.keys() <= allowed:
            raise TypeError(
                f"The options of {name!r} are {sorted(allowed)}. Got {sorted(options)}."
            )
        return _make_scorer(rule, **options)
    if options:
        raise TypeError(
            f"Options are only for the names {sorted(SCORERS)}. Got name={name!r} with "
            f"{sorted(options)}."
        )
    try:
        return sklearn.metrics.get_scorer(name)
    except ValueError as exc:
        raise ValueError(
            f"The 'name' parameter must be one of {sorted(SCORERS)} or a name in "
            f"sklearn.metrics.get_scorer_names(). Got {name!r} instead."
        ) from exc


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
