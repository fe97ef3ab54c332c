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

    The classifier is trained stage by stage (a tree, an epoch). After each stage the
    validation data is scored, from predictions that grow with the stages and are
    never computed twice. Training stops after `n_iter_no_change` stages without an
    improvement, and the stage with the best score is kept.

    Parameters
    ----------
    estimator : estimator
        A `GradientBoostingClassifier`, `HistGradientBoostingClassifier` or
        `AdaBoostClassifier` of scikit-learn, an `XGBClassifier`, `LGBMClassifier` or
        `CatBoostClassifier`, any classifier with `partial_fit`, `predict_proba` and
        `max_iter` such as `MLPClassifier`, or a pipeline that ends in one of these.
        Its own parameter for the number of stages is the budget; its own early
        stopping is not used.

    scoring : str, callable or None, default=None
        Any scorer; greater is better. None is the penalized Brier score. A scorer sees
        the predictions of the validation data as a whole, and no others.

    n_iter_no_change : int, default=10
        Number of stages without improvement after which training stops.

    tol : float, default=0.0
        By how much a score must exceed the best one to be an improvement. Absolute.

    validation_fraction : float, default=0.1
        Share of the samples to validate on, if neither `validation_split` nor
        validation data is given. The classes keep their shares as far as possible.

    validation_split : splitter, "last" or None, default=None
        A splitter of scikit-learn, whose first split is used, or ``"last"``: the last
        `validation_fraction` of the rows, in each group if there are groups.

    calibration : {"auto", "temperature"} or None, default="auto"
        Whether the probabilities of the kept stage are recalibrated by the temperature
        that is best on the validation data, see
        :func:`~sklearn_superior.metrics.fit_temperature`: always, never (None), or if
        the rule that chooses is a refined one (``"auto"``), which judges them so, as
        the default is not. The predicted classes stay the same.

    checkpoint_dir : str or path, default=None
        Folder in which to keep a checkpoint: the scores so far, the last model and the
        best one. It is written whole or not at all, and less often if writing is slow.
        Needs skops for estimators of scikit-learn. A folder is for one fit: not for the
        folds of a cross-validation.

    resume : bool, default=False
        Resume from the checkpoint in `checkpoint_dir`, if there is one, to the result
        of training without a break. A checkpoint of another training is an error that
        says what differs. Where training cannot resume, a warning says so and no
        checkpoint is written: with `AdaBoostClassifier`, with `CatBoostClassifier`,
        and with XGBoost and LightGBM if they draw something at random.

    random_state : int, RandomState instance or None, default=None
        Chooses the validation samples. The estimator has a seed of its own.

    verbose : int, default=0
        With 1, print a line for each stage.

    Attributes
    ----------
    estimator_ : estimator
        The fitted estimator, cut back to its best stage. Its own probabilities are not
        recalibrated. It predicts the validation data exactly as that stage did when it
        was scored, which `fit` verifies.

    feature_importances_ : ndarray of shape (n_features,)
        The importances of the features, where the kept estimator has them.

    best_iteration_ : int
        Number of the best stage, from 0.

    best_score_ : float
        Its score.

    n_iter_ : int
        Number of stages that were trained.

    validation_scores_ : ndarray of shape (n_iterations,)
        The score of each stage.

    scorer_ : callable
        The scorer that `scoring` means.

    temperature_ : float
        The temperature of the probabilities, 1.0 if they are not recalibrated.

    classes_ : ndarray of shape (n_classes,)
        The class labels.

    n_features_in_ : int
        Number of features.

    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    EarlyStopper : The rule of stopping, for loops of your own.
    staged_scores : Scores of all stages of a fitted ensemble.

    Notes
    -----
    No stage is trained beyond ``best_iteration_ + n_iter_no_change``, except by
    `AdaBoostClassifier`, which cannot be stopped on the way and trains to its end.

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
    """

    @says_instead(**PATIENCE)
    def __init__(
        self,
        estimator,
        *,
        scoring=None,
        n_iter_no_change=10,
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
            Sample weights. The validation part of the samples is scored with its own,
            whose scale means nothing.

        X_val, y_val : array-like, default=None
            Validation data. If given, all of `X` is trained on.

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

        def attributes_of(estimator):
            return {"estimator_": estimator}

        fit_holdout(self, training, split, attributes_of).set_on(self)
        vars(self).update(attributes_of(training.estimator()))

    @property
    def feature_importances_(self):
        """The importances of the features, where the kept estimator has them."""
        check_is_fitted(self, "estimator_")
        kept = self.estimator_
        kept = kept[-1] if isinstance(kept, Pipeline) else kept
        importances = np.asarray(kept.feature_importances_)
        if importances.ndim == 0:  # of CatBoost, which has not computed them yet
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
