"""What users of signals would choose instead: rockets, and boosting on features."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_superior.metrics import fit_temperature, scale_temperature
from studies.signals.data import N_FOLDS

_STRENGTHS = np.logspace(-5, -1, 5)  # the values of C
_N_BANDS = 4  # of frequencies
_SHORTEST = 9  # window of a rocket: the length of its kernels


class RocketClassifier(ClassifierMixin, BaseEstimator):
    """Logistic regression on the features of a rocket of aeon, calibrated out of fold.

    The forecasts of the folds choose the strength of the penalty and fit the
    temperature. The features need no labels: they are computed once. Only their
    principal components are used, all of them, which changes nothing but the time: an
    L2 penalty is the same after a rotation.

    Parameters
    ----------
    rocket : str
        Name of the class in ``aeon.transformations.collection.convolution_based``.

    random_state : int
        Seed of the rocket.
    """

    def __init__(self, rocket, random_state):
        self.rocket = rocket
        self.random_state = random_state

    def fit(self, X, y, groups=None):
        """Fit to windows and class numbers."""
        from aeon.transformations.collection import convolution_based

        rocket = getattr(convolution_based, self.rocket)
        self.transform_ = rocket(random_state=self.random_state, n_jobs=1)
        features = np.nan_to_num(self.transform_.fit_transform(pad(X)))
        self.rotate_ = make_pipeline(StandardScaler(), PCA()).fit(features)
        X = self.rotate_.transform(features)
        folds = list(make_folds(y, groups).split(X, y, groups))
        forecasts = {C: forecast_out_of_fold(X, y, folds, C) for C in _STRENGTHS}
        self.C_ = min(_STRENGTHS, key=lambda C: log_loss_of(*forecasts[C]))
        true, y_proba = forecasts[self.C_]
        labels = np.arange(y_proba.shape[1])
        self.temperature_ = fit_temperature(true, y_proba, labels=labels)
        self.model_ = make_model(self.C_).fit(X, y)
        return self

    def predict_proba(self, X):
        """Return calibrated probabilities."""
        features = np.nan_to_num(self.transform_.transform(pad(X)))
        y_proba = self.model_.predict_proba(self.rotate_.transform(features))
        return scale_temperature(y_proba, self.temperature_)


def make_model(C):
    """Return the logistic regression."""
    return LogisticRegression(C=C, max_iter=300, tol=1e-3)


def make_folds(y, groups):
    """Return the splitter of the folds."""
    if groups is None:
        return StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
    n_folds = min(N_FOLDS, len(np.unique(groups)))
    return StratifiedGroupKFold(n_folds, shuffle=True, random_state=0)


def forecast_out_of_fold(X, y, folds, C):
    """Return the classes and the out-of-fold probabilities of all rows.

    Rows of classes that their fold does not know are left out.
    """
    true, forecasts = [], []
    for train, test in folds:
        model = make_model(C).fit(X[train], y[train])
        test = test[np.isin(y[test], model.classes_)]
        y_proba = np.zeros((len(test), y.max() + 1))
        y_proba[:, model.classes_] = model.predict_proba(X[test])
        true.append(y[test])
        forecasts.append(y_proba)
    return np.concatenate(true), np.concatenate(forecasts)


def log_loss_of(true, y_proba):
    """Return the log loss of forecasts of all classes."""
    return log_loss(true, y_proba, labels=np.arange(y_proba.shape[1]))


def pad(X):
    """Return windows that are long enough for a rocket; their last values repeat."""
    missing = max(0, _SHORTEST - X.shape[2])
    return np.pad(X, ((0, 0), (0, 0), (0, missing)), mode="edge")


def describe_windows(X):
    """Return simple features of each channel.

    These are mean, standard deviation, quartiles and extremes, the mean absolute
    difference of neighbours, and the energy in bands of frequencies.
    """
    changes = np.abs(np.diff(X, axis=2)).mean(axis=2)
    quantiles = np.quantile(X, [0, 0.25, 0.5, 0.75, 1], axis=2)
    energy = np.abs(np.fft.rfft(X, axis=2)[:, :, 1:]) ** 2
    bands = [band.mean(axis=2) for band in split_bands(energy)]
    return np.hstack([X.mean(axis=2), X.std(axis=2), changes, *quantiles, *bands])


def split_bands(energy):
    """Split frequencies into bands, each about twice as wide as the one before."""
    n = energy.shape[2]
    edges = np.unique(np.round(n / 2.0 ** np.arange(1, _N_BANDS)).astype(int))
    return [band for band in np.split(energy, edges, axis=2) if band.shape[2]]
