"""Classifiers whose predictions all follow from their probabilities."""

import numpy as np


class ProbabilisticMixin:
    """Adds `predict` and `predict_log_proba` to a classifier with `predict_proba`."""

    def predict_log_proba(self, X):
        """Return the logarithms of the probabilities of the classes.

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
        """Return the most probable classes.

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
