"""Scores of all stages of a fitted ensemble."""

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from sklearn_superior.early_stopping._classifier import EarlyStoppingClassifier
from sklearn_superior.staged._scoring import StageScorer, align_columns
from sklearn_superior.staged._training import transform
from sklearn_superior.staged.adapters import find_stages
from sklearn_superior.utils._checks import check_labels


def staged_scores(fitted_estimator, X, y, *, scoring=None):
    """Score every stage of a fitted boosted ensemble, in one pass.

    Parameters
    ----------
    fitted_estimator : estimator
        A fitted boosting classifier from scikit-learn, XGBoost, LightGBM or CatBoost, a
        pipeline that ends in one, or an `EarlyStoppingClassifier` of one. The
        temperature of the latter is not applied.

    X : array-like of shape (n_samples, n_features)
        Data.

    y : array-like of shape (n_samples,)
        True labels.

    scoring : str, callable or None, default=None
        Any scorer, such as ``"neg_penalized_brier_score"``; greater is better. None is
        the refined log loss, ``"neg_refined_log_loss"``.

    Returns
    -------
    scores : ndarray of shape (n_iterations,)
        The score after each iteration.

    See Also
    --------
    EarlyStoppingClassifier : Stops training and keeps the best stage.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import GradientBoostingClassifier
    >>> from sklearn_superior.early_stopping import staged_scores
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GradientBoostingClassifier(n_estimators=20).fit(X[::2], y[::2])
    >>> scores = staged_scores(model, X[1::2], y[1::2], scoring="f1_macro")
    >>> scores.shape
    (20,)
    """
    check_is_fitted(fitted_estimator)
    y = check_labels(y)
    classes = None
    if isinstance(fitted_estimator, EarlyStoppingClassifier):
        classes = fitted_estimator.classes_
        fitted_estimator = fitted_estimator.estimator_
    if isinstance(fitted_estimator, Pipeline):
        X = transform(fitted_estimator[:-1], X) if len(fitted_estimator) > 1 else X
        fitted_estimator = fitted_estimator[-1]
    stages = find_stages(fitted_estimator)
    own_classes = np.asarray(fitted_estimator.classes_)
    classes = np.unique(own_classes) if classes is None else classes
    score = StageScorer(scoring, classes, X, y)
    return np.array(
        [
            score(align_columns(y_proba, own_classes, classes))
            for y_proba in stages.staged_proba(X)
        ]
    )
