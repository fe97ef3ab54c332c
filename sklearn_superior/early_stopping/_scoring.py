"""Scoring of stages whose predictions are already there.

What does not change from stage to stage (the scorer, labels, classes, weights) is
checked once. A stage then pays for the pass over its probabilities.
"""

import inspect

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import check_scoring

import sklearn_superior.metrics
from sklearn_superior.metrics import get_scorer
from sklearn_superior.utils._sklearn_compat import ProbabilityScorer, scorer_parts
from sklearn_superior.utils._warnings import warn


class StageView(ClassifierMixin, BaseEstimator):
    """What a scorer sees of a stage: a classifier that knows its predictions."""

    @classmethod
    def of(cls, classes, X, y_proba, name="scoring"):
        """Return a view of the probabilities that a stage gives for `X`."""
        view = cls()
        view.classes_, view._X, view._y_proba = classes, X, y_proba
        view._name = name
        return view

    def fit(self, X, y):
        """Do nothing; here because scorers are for estimators."""
        return self

    def predict_proba(self, X):
        """Return the probabilities of the stage."""
        if X is not self._X:
            raise ValueError(
                f"The {self._name!r} parameter must be a scorer that predicts the "
                "validation data as a whole: those of other data are not available."
            )
        return self._y_proba

    def predict_log_proba(self, X):
        """Return the logarithms of the probabilities."""
        return np.log(self.predict_proba(X))

    def predict(self, X):
        """Return the most probable classes of the stage."""
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]


class StageScorer:
    """Score the probabilities of one stage after another on the same data.

    Parameters
    ----------
    scoring : str, callable or None
        Any scorer; None is the penalized Brier score.

    classes : ndarray of shape (n_classes,)
        The classes; one column of the probabilities for each.

    X, y, sample_weight : array-like
        The data that is predicted.

    name : str, default="scoring"
        What the caller's parameter is called.
    """

    def __init__(self, scoring, classes, X, y, sample_weight=None, *, name="scoring"):
        scorer, self._name = check_scorer(scoring, name), name
        _check_same_type(y, classes)
        if not np.isin(y, classes).any():
            raise ValueError(
                "The validation data must have classes of the training data. "
                f"Got {np.unique(y).tolist()} and {classes.tolist()}."
            )
        # Classes that only the validation data has count with probability 0.
        self._classes, self._all_classes = classes, np.union1d(classes, y)
        if len(self._all_classes) > len(classes):
            unseen = np.setdiff1d(y, classes).tolist()
            warn(
                f"The validation data has classes that training has not: {unseen}. "
                "They count with probability 0.",
            )
        if isinstance(scorer, ProbabilityScorer):
            self._score = scorer.prepare(self._all_classes, y, sample_weight)
            return
        options = {}
        if sample_weight is not None:
            _check_takes_weights(scorer, name)
            options["sample_weight"] = sample_weight

        def score_view(y_proba):
            view = StageView.of(self._all_classes, X, y_proba, name)
            return scorer(view, X, y, **options)

        self._score = score_view

    def __call__(self, y_proba):
        """Return the score; greater is better, and NaN if a probability is."""
        if np.isnan(y_proba).any():  # training has failed, but had better stages before
            return np.nan
        y_proba = align_columns(y_proba, self._classes, self._all_classes)
        score = self._score(y_proba)
        try:
            return float(score)
        except (TypeError, ValueError) as exc:
            raise ValueError(
                f"The {self._name!r} parameter must return a number. Got {score!r}."
            ) from exc


def _check_same_type(y, classes):
    if (y.dtype.kind in "biuf") != (classes.dtype.kind in "biuf"):
        raise ValueError(
            f"The labels to score must be of the type of the classes, such as "
            f"{classes.tolist()[:3]}. Got {np.unique(y).tolist()[:3]}."
        )


def _check_takes_weights(scorer, name):
    parts = scorer_parts(scorer)
    function = scorer if parts is None else parts[0]
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # no signature; the call will fail, if it has to
        return
    if not any(
        p.name == "sample_weight" or p.kind == p.VAR_KEYWORD for p in parameters
    ):
        raise ValueError(
            f"The {name!r} parameter must be a scorer that takes sample_weight: the "
            f"validation data has weights. Got {scorer!r}, which does not."
        )


def check_scorer(scoring, name="scoring"):
    """Return the scorer that `scoring` means; `name` is that of the parameter."""
    if scoring is None:
        scoring = "neg_penalized_brier_score"
    if isinstance(scoring, str):
        try:
            return get_scorer(scoring)
        except ValueError as exc:
            known = str(exc).partition("must be")[2]
            raise ValueError(
                f"The {name!r} parameter must be a scorer, or{known}"
            ) from exc
    if not callable(scoring):
        raise ValueError(
            f"The {name!r} parameter must be a str, a callable or None. "
            f"Got {scoring!r}."
        )
    if (
        getattr(sklearn_superior.metrics, getattr(scoring, "__name__", ""), 0)
        is scoring
    ):
        raise ValueError(
            f"The {name!r} parameter must be a scorer. Got the metric "
            f"{scoring.__name__}; take a scorer such as neg_penalized_brier_scorer."
        )
    return check_scoring(StageView(), scoring=scoring)


def align_columns(y_proba, own_classes, classes):
    """Columns for the sorted `classes`, from those of `own_classes` in any order.

    Classes that `own_classes` lacks get zeros.
    """
    if len(own_classes) == len(classes) and np.all(own_classes == classes):
        return y_proba
    columns = np.searchsorted(classes, own_classes)
    known = np.take(classes, columns, mode="clip") == own_classes
    if y_proba.shape[1] != len(own_classes) or not np.all(known):
        raise ValueError(
            f"Probabilities of the classes {np.asarray(own_classes).tolist()} were "
            f"expected to be of {np.asarray(classes).tolist()}. Got "
            f"{y_proba.shape[1]} columns."
        )
    full = np.zeros((len(y_proba), len(classes)), dtype=y_proba.dtype)
    full[:, columns] = y_proba
    return full
