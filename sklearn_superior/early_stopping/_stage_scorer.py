"""Scoring of stages whose predictions are already there."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import check_scoring

from sklearn_superior.metrics import get_scorer


class StageView(ClassifierMixin, BaseEstimator):
    """What a scorer sees of a stage: a classifier that knows its predictions."""

    @classmethod
    def of(cls, classes, y_proba):
        """Return a view of the probabilities of a stage."""
        view = cls()
        view.classes_, view._y_proba = classes, y_proba
        return view

    def fit(self, X, y):
        """Do nothing; here because scorers are for estimators."""
        return self

    def predict_proba(self, X):
        """Return the probabilities of the stage."""
        return self._y_proba

    def predict(self, X):
        """Return the most probable classes of the stage."""
        return self.classes_[np.argmax(self._y_proba, axis=1)]


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
    """

    def __init__(self, scoring, classes, X, y, sample_weight=None):
        if scoring is None:
            scoring = "neg_penalized_brier_score"
        if isinstance(scoring, str):
            scoring = get_scorer(scoring)
        self._scorer = check_scoring(StageView(), scoring=scoring)
        self._classes, self._X, self._y = classes, X, y
        self._options = {}
        if sample_weight is not None:
            self._options["sample_weight"] = sample_weight

    def __call__(self, y_proba):
        """Return the score; greater is better."""
        view = StageView.of(self._classes, y_proba)
        return float(self._scorer(view, self._X, self._y, **self._options))


def expand_classes(y_proba, own_classes, classes):
    """Columns for all `classes`, with zeros for those that `own_classes` lacks."""
    if len(own_classes) == len(classes):
        return y_proba
    full = np.zeros((len(y_proba), len(classes)), dtype=y_proba.dtype)
    full[:, np.searchsorted(classes, own_classes)] = y_proba
    return full
