"""The models of the folds as one classifier."""

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
    """Average of the probabilities of fitted classifiers, each of them recalibrated.

    :class:`StagedSearchCV` makes it of the models of its folds, unless ``refit`` says
    otherwise.
    Each has seen another part of the data. A prediction takes as long as those of all
    members together: k times that of one model for k folds.

    Parameters
    ----------
    estimators : list of estimator
        The fitted members. They are not trained any more: `fit` does nothing, and a
        clone is another object with the same members.

    classes : array-like of shape (n_classes,), default=None
        All classes, sorted. None: all that a member knows. A class that a member does
        not know has probability 0 there.

    member_classes : list of array-like, default=None
        The classes of the columns of each member's probabilities. None: the `classes_`
        of each member.

    temperature : float, default=1.0
        Each member's probabilities are scaled by it before the mean is taken, see
        :func:`~sklearn_superior.metrics.scale_temperature`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.

    n_features_in_ : int
        Number of features, if the members have seen any.

    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if the members know them.

    See Also
    --------
    StagedSearchCV : Trains the members.

    Notes
    -----
    The log loss and the Brier score are convex: those of the mean are at most the mean
    of those of the members.

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

    def __init__(
        self, estimators, *, classes=None, member_classes=None, temperature=1.0
    ):
        self.estimators = estimators
        self.classes = classes
        self.member_classes = member_classes
        self.temperature = temperature

    def fit(self, X=None, y=None):
        """Check that the members are fitted; they stay as they are.

        Parameters
        ----------
        X, y : object
            Not used.

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
        # Its parameters are its own: a search around it must not change this object.
        other = copy(self)
        other.estimators = list(self.estimators)
        return other

    def __sklearn_is_fitted__(self):
        return True

    @property
    def _member_classes(self):
        if self.member_classes is None:
            return [np.asarray(estimator.classes_) for estimator in self.estimators]
        return [np.asarray(classes) for classes in self.member_classes]

    @property
    def classes_(self):
        """The class labels."""
        if self.classes is not None:
            return np.asarray(self.classes)
        return np.unique(np.concatenate(self._member_classes))

    @property
    def n_features_in_(self):
        """Number of features."""
        return self.estimators[0].n_features_in_

    @property
    def feature_names_in_(self):
        """Names of the features."""
        return self.estimators[0].feature_names_in_

    def predict_proba(self, X):
        """Return the mean of the members' probabilities.

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
        for estimator, own in zip(self.estimators, self._member_classes, strict=True):
            # Some steps of pipelines work in place: every member has rows of its own.
            is_pipeline = isinstance(estimator, Pipeline)
            y_proba = estimator.predict_proba(deepcopy(X) if is_pipeline else X)
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
