"""A meta-estimator that stops training by any scorer and keeps the best stage."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.pipeline import Pipeline
from sklearn.utils import indexable
from sklearn.utils.validation import check_is_fitted

from sklearn_superior.early_stopping._holdout import (
    check_stopping_parameters,
    fit_holdout,
    make_training,
    names_validation_data,
    split_validation,
)
from sklearn_superior.staged._scoring import align_columns, calibrate
from sklearn_superior.staged._training import prepare_estimator
from sklearn_superior.utils._checks import PATIENCE, Rows, check_target, says_instead
from sklearn_superior.utils._probabilistic import WrapperMixin, all_or_nothing
from sklearn_superior.utils._sklearn_compat import CallbackSupportMixin, with_callbacks


class EarlyStoppingClassifier(
    CallbackSupportMixin,
    WrapperMixin,
    ClassifierMixin,
    MetaEstimatorMixin,
    BaseEstimator,
):
    """Train a classifier until a score on validation data stops improving.

    The classifier is trained stage by stage (a tree, an epoch), and the validation data
    is scored after each stage. Predictions are updated incrementally, never computed
    twice. Training stops after `n_iter_no_change` stages without improvement, and the
    stage with the best score is kept.

    Parameters
    ----------
    estimator : estimator
        A scikit-learn `GradientBoostingClassifier`, `HistGradientBoostingClassifier` or
        `AdaBoostClassifier`, an `XGBClassifier`, `LGBMClassifier` or
        `CatBoostClassifier`, any classifier with `partial_fit`, `predict_proba` and
        `max_iter` such as `MLPClassifier`, or a pipeline that ends in one of these.
        Its number of stages is the budget; its own early stopping is not used.

    scoring : str, callable or None, default=None
        Any scorer; greater is better. None is the refined log loss,
        ``"neg_refined_log_loss"``. To use a penalized rule, name it, for example
        ``scoring="neg_penalized_brier_score"`` or ``"neg_penalized_log_loss"``. A
        scorer can predict the whole validation data, but not parts of it.

    n_iter_no_change : int, default=20
        Number of stages without improvement after which training stops.

    tol : float, default=0.0
        Minimum improvement over the best score. Absolute, in units of the score.

    validation_fraction : float, default=0.1
        Fraction of the samples to hold out for validation, stratified if possible. Not
        used if `validation_split` is a splitter or validation data is passed to `fit`.

    validation_split : splitter, "last" or None, default=None
        A scikit-learn splitter, whose first split is used, or ``"last"``: the last
        `validation_fraction` of the rows, within each group if there are groups.

    calibration : {"auto", "temperature"} or None, default="auto"
        Whether to recalibrate the probabilities of the kept stage with the temperature
        (by default at least 1) that fits the validation data best, see
        :func:`~sklearn_superior.metrics.fit_temperature`. ``"auto"`` does so if
        `scoring` is a refined rule, such as the default, ``"temperature"`` always, and
        None never. The predicted classes stay the same.

    checkpoint_dir : str or path, default=None
        Folder for a checkpoint: the scores so far, the last model and the best one. It
        is written atomically, and less often if writing is slow. scikit-learn
        estimators require skops. Use one folder per fit; do not share it between the
        folds of a cross-validation.

    resume : bool, default=False
        Resume from the checkpoint in `checkpoint_dir`, if there is one, with the same
        result as uninterrupted training. A checkpoint of another training raises an
        error that names the differences. If training cannot resume, `fit` warns and
        writes no checkpoint: this is the case for `AdaBoostClassifier` and
        `CatBoostClassifier`, and for XGBoost and LightGBM with random sampling.

    random_state : int, RandomState instance or None, default=None
        Controls the choice of the validation samples. The estimator has its own seed.

    verbose : int, default=0
        If 1, print a line for each stage.

    Attributes
    ----------
    estimator_ : estimator
        The fitted estimator, cut back to its best stage. Its own probabilities are not
        recalibrated. `fit` verifies that it predicts the validation data exactly as the
        best stage did when it was scored.

    feature_importances_ : ndarray of shape (n_features,)
        The feature importances, if the estimator has them.

    best_iteration_ : int
        Index of the best stage, starting at 0.

    best_score_ : float
        Score of the best stage.

    n_iter_ : int
        Number of stages that were trained.

    validation_scores_ : ndarray of shape (n_iterations,)
        The score of each stage.

    scorer_ : callable
        The scorer.

    temperature_ : float
        The temperature of the probabilities; 1.0 if they are not recalibrated.

    classes_ : ndarray of shape (n_classes,)
        The class labels.

    n_features_in_ : int
        Number of features.

    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, defined only if all feature names of `X` are strings.

    See Also
    --------
    EarlyStopper : The stopping rule, for your own training loop.
    staged_scores : Scores of all stages of a fitted ensemble.

    Notes
    -----
    No stage is trained beyond ``best_iteration_ + n_iter_no_change``, with two
    exceptions. `AdaBoostClassifier` cannot be interrupted and always trains to the end.
    As long as all scores are equal, training continues: the model has not learned
    anything yet.

    The default temperature softens probabilities and never sharpens them. If a model is
    underconfident by design, as `AdaBoostClassifier` is, the default may keep a poor
    early stage. Use ``scoring="neg_penalized_brier_score"`` or
    ``get_scorer("neg_refined_log_loss", sharpen=True)`` for such a model.

    A class that is missing from the training part gets probability 0. Ctrl-C during
    `fit` ends training with a warning and keeps the best stage so far.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> from sklearn_superior.early_stopping import EarlyStoppingClassifier
    >>> X, y = load_digits(n_class=5, return_X_y=True)
    >>> model = EarlyStoppingClassifier(
    ...     HistGradientBoostingClassifier(max_iter=200, max_leaf_nodes=4),
    ...     n_iter_no_change=5,
    ...     random_state=0,
    ... )
    >>> model = model.fit(X, y)
    >>> model.n_iter_ - model.best_iteration_
    6

    To choose the stage by the penalized Brier score, name it:

    >>> model.set_params(scoring="neg_penalized_brier_score").fit(X, y).temperature_
    1.0
    """

    @says_instead(**PATIENCE)
    def __init__(
        self,
        estimator,
        *,
        scoring=None,
        n_iter_no_change=20,
        tol=0.0,
        validation_fraction=0.1,
        validation_split=None,
        calibration="auto",
        checkpoint_dir=None,
        resume=False,
        random_state=None,
        verbose=0,
    ):
        self.estimator = estimator
        self.scoring = scoring
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.validation_fraction = validation_fraction
        self.validation_split = validation_split
        self.calibration = calibration
        self.checkpoint_dir = checkpoint_dir
        self.resume = resume
        self.random_state = random_state
        self.verbose = verbose

    @names_validation_data
    @with_callbacks
    def fit(
        self,
        X,
        y,
        *,
        sample_weight=None,
        X_val=None,
        y_val=None,
        sample_weight_val=None,
        groups=None,
    ):
        """Train until the score stops improving, and keep the best stage.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data.

        y : array-like of shape (n_samples,)
            Class labels.

        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights. They also weight the validation scores, where their scale
            has no effect.

        X_val, y_val : array-like, default=None
            Validation data. If given, all of `X` is used for training.

        sample_weight_val : array-like of shape (n_val,), default=None
            Weights of `X_val`.

        groups : array-like of shape (n_samples,), default=None
            Groups for `validation_split`.

        Returns
        -------
        self : object
        """
        with all_or_nothing(self):
            self._fit(
                Rows(X, y, sample_weight), (X_val, y_val, sample_weight_val), groups
            )
        return self

    def _fit(self, data, validation, groups):
        check_stopping_parameters(self)
        estimator, stages = prepare_estimator(self.estimator)
        if data.X is None:
            raise ValueError("X must be array-like. Got None.")
        self._remember_features(data.X, data.y)
        X, y, weight, groups = indexable(data.X, data.y, data.sample_weight, groups)
        y, weight, classes = check_target(y, weight)
        if validation[0] is not None:
            self._check_rows(validation[0])
        split = split_validation(self, Rows(X, y, weight), validation, groups)
        self.classes_ = classes
        training = make_training(estimator, split, classes, stages=stages)
        holdout = fit_holdout(self, training, split, lambda kept: {"estimator_": kept})
        holdout.set_on(self)
        self.estimator_ = training.estimator()

    @property
    def feature_importances_(self):
        """The feature importances, if the estimator has them."""
        check_is_fitted(self, "estimator_")
        kept = self.estimator_
        kept = kept[-1] if isinstance(kept, Pipeline) else kept
        importances = np.asarray(kept.feature_importances_)
        if importances.ndim == 0:  # CatBoost has not computed them yet
            importances = np.asarray(kept.get_feature_importance())
        return importances

    def predict_proba(self, X):
        """Return the probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.

        Returns
        -------
        y_proba : ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self, "estimator_")
        self._check_rows(X)
        y_proba = calibrate(self, self.estimator_.predict_proba(X))
        own_classes = np.asarray(self.estimator_.classes_)
        return align_columns(y_proba, own_classes, self.classes_)
