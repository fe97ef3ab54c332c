"""The average of the fold models as one classifier."""

from contextlib import suppress
from copy import copy, deepcopy

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from sklearn_superior.metrics import scale_temperature
from sklearn_superior.staged._scoring import align_columns
from sklearn_superior.utils._probabilistic import ProbabilisticMixin


class FoldEnsembleClassifier(ProbabilisticMixin, ClassifierMixin, BaseEstimator):
    """Average the calibrated probabilities of fitted classifiers.

    :class:`StagedSearchCV` builds it from its fold models with ``refit="folds"``. Each
    member was trained on different rows. Predicting takes as long as with all members
    together: with k folds, k times as long as with one model.

    Parameters
    ----------
    estimators : list of estimator
        The fitted members. They are not trained again: `fit` does nothing, and a clone
        shares the members.

    classes : array-like of shape (n_classes,), default=None
        All classes, sorted. None means the union of the members' classes. A member
        gives probability 0 to classes that it does not know.

    temperature : float, default=1.0
        The probabilities of each member are scaled by it before they are averaged, see
        :func:`~sklearn_superior.metrics.scale_temperature`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.

    feature_importances_ : ndarray of shape (n_features,)
        The mean feature importances of the members, if they have them.

    n_features_in_ : int
        Number of features seen by the members.

    feature_names_in_ : ndarray of shape (n_features,)
        Names of features seen by the members, if they have any.

    See Also
    --------
    StagedSearchCV : Trains the members.

    Notes
    -----
    The log loss and the Brier score are convex: the loss of the average is at most the
    average loss of the members.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn_superior.model_selection import FoldEnsembleClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> members = [
    ...     LogisticRegression(max_iter=500).fit(X[k::3], y[k::3]) for k in range(3)
    ... ]
    >>> ensemble = FoldEnsembleClassifier(members)
    >>> ensemble.predict_proba(X[:1]).round(2)
    array([[0.96, 0.04, 0.  ]])
    """

    def __init__(self, estimators, *, classes=None, temperature=1.0):
        self.estimators = estimators
        self.classes = classes
        self.temperature = temperature

    def fit(self, X=None, y=None):
        """Check that the members are fitted.

        Parameters
        ----------
        X, y : object
            Ignored, exist for API consistency.

        Returns
        -------
        self : object
        """
        if not self.estimators:
            raise ValueError(
                "The 'estimators' parameter must hold at least one fitted classifier. "
                f"Got {self.estimators!r}."
            )
        for estimator in self.estimators:
            check_is_fitted(estimator)
        return self

    def __sklearn_clone__(self):
        # The fitted members are shared, but not the list: a search around a clone must
        # not change this object.
        other = copy(self)
        other.estimators = list(self.estimators)
        return other

    def __sklearn_is_fitted__(self):
        return True

    @property
    def classes_(self):
        """The class labels."""
        if self.classes is not None:
            return np.asarray(self.classes)
        return np.unique(np.concatenate([e.classes_ for e in self.estimators]))

    @property
    def feature_importances_(self):
        """The mean feature importances of the members, if they have them."""
        of_members = [importances_of(estimator) for estimator in self.estimators]
        if len({_features_of(estimator) for estimator in self.estimators}) > 1:
            raise AttributeError("The members have different features.")
        return np.mean(of_members, axis=0)

    @property
    def n_features_in_(self):
        """Number of features."""
        return self.estimators[0].n_features_in_

    @property
    def feature_names_in_(self):
        """Names of the features."""
        return self.estimators[0].feature_names_in_

    def predict_proba(self, X):
        """Return the average of the probabilities of the members.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.

        Returns
        -------
        y_proba : ndarray of shape (n_samples, n_classes)
        """
        self.fit()
        classes, total, dtypes = self.classes_, 0.0, []
        for estimator in self.estimators:
            # The steps of a pipeline may work in place.
            is_pipeline = isinstance(estimator, Pipeline)
            y_proba = estimator.predict_proba(deepcopy(X) if is_pipeline else X)
            own = np.asarray(estimator.classes_)
            if self.temperature != 1:
                y_proba = scale_temperature(y_proba, self.temperature)
            dtypes.append(y_proba.dtype)
            total = total + align_columns(y_proba.astype(np.float64), own, classes)
        return (total / len(self.estimators)).astype(np.result_type(*dtypes))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        if self.estimators:
            tags.input_tags = get_tags(self.estimators[0]).input_tags
        return tags


def _features_of(model):
    """Return the names of the features that the last step gets, or their number."""
    with suppress(AttributeError, ValueError):  # of steps that do not name them
        if isinstance(model, Pipeline) and len(model) > 1:
            return tuple(model[:-1].get_feature_names_out())
    return len(importances_of(model))


def importances_of(model):
    """Return the feature importances of a model, or of the last step of a pipeline."""
    last = model[-1] if isinstance(model, Pipeline) else model
    importances = np.asarray(last.feature_importances_)
    if importances.ndim == 0:  # CatBoost has not computed them yet
        importances = np.asarray(last.get_feature_importance())
    return importances
