"""Classifiers whose predictions follow from their probabilities."""

from collections.abc import Sized
from contextlib import contextmanager

import numpy as np
from sklearn.utils import get_tags
from sklearn.utils.validation import validate_data


@contextmanager
def all_or_nothing(classifier):
    """Restore a classifier if the fit in this context fails."""
    before = dict(vars(classifier))
    for name in ("estimator_", "temperature_"):
        vars(classifier).pop(name, None)
    try:
        yield
    except BaseException:
        vars(classifier).clear()
        vars(classifier).update(before)
        raise


class ProbabilisticMixin:
    """Mixin that adds `predict` and `predict_log_proba` to `predict_proba`."""

    def predict_log_proba(self, X):
        """Predict logarithms of class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.

        Returns
        -------
        y_log_proba : ndarray of shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X):
        """Predict the most probable classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        y_proba = self.predict_proba(X)
        return self.classes_[np.argmax(y_proba, axis=1)]


class WrapperMixin(ProbabilisticMixin):
    """Mixin for wrappers, which accept the data that their `estimator` accepts."""

    def _remember_features(self, X, y):
        """Set the number and the names of the features, if the data has features."""
        for name in ("n_features_in_", "feature_names_in_"):
            vars(self).pop(name, None)
        if _has_features(X):
            validate_data(self, X, y, skip_check_array=True)

    def _check_rows(self, X):
        """Raise an error unless `X` has the features seen in `fit`."""
        if not hasattr(self, "n_features_in_"):  # text, for example
            return
        if getattr(X, "ndim", 2) == 1:
            raise ValueError(
                "X must be 2-dimensional. Got a single dimension. Reshape your data: "
                "X.reshape(1, -1) if it is one sample."
            )
        validate_data(self, X, reset=False, skip_check_array=True)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        if inner.classifier_tags is not None:
            tags.classifier_tags.poor_score = inner.classifier_tags.poor_score
        return tags


def _has_features(X):
    """Return whether data has columns: texts and lists of tokens have none."""
    if not isinstance(X, list | tuple):
        return getattr(X, "ndim", 2) != 1
    if not all(isinstance(row, Sized) and not isinstance(row, str) for row in X):
        return False
    has_text = any(isinstance(cell, str) for row in X[:1] for cell in row)
    return len({len(row) for row in X}) == 1 and not has_text
