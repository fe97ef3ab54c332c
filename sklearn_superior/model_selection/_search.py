"""Parameters and number of stages by cross-validation, then the model to use."""

import math
from collections.abc import Mapping
from numbers import Real
from os import PathLike
from time import perf_counter

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.exceptions import FitFailedWarning
from sklearn.utils import indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from sklearn_superior.early_stopping._holdout import (
    STOPPING_CONSTRAINTS,
    warn_of_scores,
)
from sklearn_superior.metrics import scale_temperature
from sklearn_superior.model_selection._candidates import (
    describe,
    find_settings,
    run_search,
    train_members,
)
from sklearn_superior.model_selection._cv_results import make_cv_results
from sklearn_superior.model_selection._fold_ensemble import FoldEnsembleClassifier
from sklearn_superior.model_selection._fold_training import (
    Plan,
    find_temperature,
    out_of_fold,
    train_on_all,
)
from sklearn_superior.model_selection._folds import split_in_two
from sklearn_superior.model_selection._trajectory import by_name
from sklearn_superior.staged._observers import Callbacks
from sklearn_superior.staged._scoring import (
    align_columns,
    check_scorer,
    warn_of_class_weight,
)
from sklearn_superior.staged._training import prepare_estimator
from sklearn_superior.utils._checks import (
    PATIENCE,
    Rows,
    check_groups,
    check_target,
    check_weights,
    says_instead,
    with_mean_one,
)
from sklearn_superior.utils._probabilistic import WrapperMixin, all_or_nothing
from sklearn_superior.utils._sklearn_compat import (
    CallbackSupportMixin,
    StrOptions,
    check_parameters,
    with_callbacks,
)
from sklearn_superior.utils._warnings import warn

# What `scoring=None` means here. Early stopping on one part has a default of its own.
SEARCH_SCORING = "neg_refined_penalized_log_loss"
# The members of an ensemble of folds are scaled by the temperature of a single model to
# this power, for the mean of members that are each calibrated is underconfident. The
# exponent is empirical, found with five folds.
MEMBER_EXPONENT = 0.75
# What `fit` sets without the underscore at the end.
_STATE = ("_refit_error",)
_CONSTRAINTS = {
    "scoring": [str, callable, list, tuple, dict, None],
    "refit": [StrOptions({"all", "folds"}), "boolean"],
    "calibration": [StrOptions({"auto", "temperature"}), None],
    "checkpoint_dir": [str, PathLike, None],
    "resume": ["boolean"],
    "error_score": [StrOptions({"raise"}), Real],
    "verbose": ["verbose"],
} | {name: STOPPING_CONSTRAINTS[name] for name in ("n_iter_no_change", "tol")}


def _has_model(search):
    """Say why there are no predictions, if none are meant to be.

    Once it is fitted, that does not depend on the parameters of the search any more.
    """
    if hasattr(search, "_refit_error"):
        raise AttributeError(
            "This StagedSearchCV has no model to predict with, because its training on "
            f"all rows failed. {search._refit_error}"
        )
    is_fitted = hasattr(search, "cv_results_")
    if not (hasattr(search, "best_estimator_") if is_fitted else search.refit):
        raise AttributeError(
            "This StagedSearchCV was made with refit=False, so that it has no model to "
            "predict with. Use refit='all' or 'folds', or train an estimator with "
            "best_params_ for best_iteration_ + 1 stages."
        )
    return True


class StagedSearchCV(
    CallbackSupportMixin,
    WrapperMixin,
    ClassifierMixin,
    MetaEstimatorMixin,
    BaseEstimator,
):
    """Choose parameters and the number of stages by cross-validation.

    The classifier is trained stage by stage (a tree, an epoch), all folds in lockstep.
    After each stage every fold scores its own test rows, and the mean over the folds is
    the score of that stage. Training stops after `n_iter_no_change` stages without an
    improvement of the mean. So each setting of the parameters is trained once, and
    every number of stages is judged: other than in a `GridSearchCV` over
    ``n_estimators``.

    The best setting at its best stage becomes one model for use: the average of the
    models of the folds, or a model that is trained on all rows. If the rule that
    chooses is a refined one, as the default is, its probabilities are recalibrated by
    the temperature that is best for the out-of-fold probabilities; see `calibration`.

    Parameters
    ----------
    estimator : estimator
        A classifier that is trained in stages, or a pipeline that ends in one, as for
        :class:`~sklearn_superior.early_stopping.EarlyStoppingClassifier`. Its own
        parameter for the number of stages is the budget. Transformers of a pipeline
        are fitted on the training rows of each fold only.

    param_grid : dict, list of dict, iterable or None, default=None
        The settings to try: a grid or a list of grids as for `GridSearchCV`, or any
        iterable of settings such as a `ParameterSampler`. A list of dicts is one of
        settings if all their values are single ones; with tuples it could be both, and
        is refused. None: the estimator as it is.

    scoring : str, callable, list, dict or None, default=None
        Any scorer; greater is better. None is the refined penalized log loss. Of
        several, the first one chooses, and the others are evaluated at its choice.

    cv : int, splitter, iterable or None, default=None
        The folds. None is 5 stratified folds, which keep groups together if there are
        any. Rows may be in the test part of several folds, or of none.

    refit : {"folds", "all"} or False, default="folds"
        ``"folds"``: the models of the folds, cut back to the chosen stage, whose
        probabilities are averaged; nothing is trained again, and a prediction takes as
        long as those of all folds together. ``"all"``: one model, trained on all rows
        for the chosen number of stages; use it if predictions must be fast, the model
        small, or one model is to be looked into. False: no model.

    n_iter_no_change : int, default=20
        Number of stages without improvement after which training stops.

    tol : float, default=0.0
        By how much a score must exceed the best one to be an improvement. Absolute.

    calibration : {"auto", "temperature"} or None, default="auto"
        ``"temperature"``: probabilities are recalibrated by the temperature that is
        best for the out-of-fold probabilities. ``"auto"``: exactly if the rule that
        chooses is a refined one. The predicted classes stay the same.

    n_jobs : int or None, default=None
        Number of candidates that are trained at once, by joblib: under
        ``joblib.parallel_config(backend="dask")`` on a cluster. If there are fewer
        candidates, folds are trained at the same time.

    checkpoint_dir : str or path, default=None
        Folder in which to keep the finished candidates. Each is written whole or not
        at all: scores and out-of-fold probabilities, no models.

    resume : bool, default=False
        Use the finished candidates in `checkpoint_dir`, to the result of a search
        without a break. Those of another search (data, folds, estimator, scoring) are
        an error that says what differs; the grid may have changed. With
        ``refit="folds"`` the best candidate is trained again if it is one of them.

    error_score : "raise" or float, default=nan
        The score of a candidate that fails, with a warning, in `cv_results_`. Whatever
        it is, such a candidate has the last rank and is never the best one.
        ``"raise"`` raises the error. If all candidates fail, it is always raised. If
        the training on all rows fails, with ``refit="all"``, there is a warning as
        well, and the search is fitted without a model.

    verbose : int, default=0
        With 1, show progress: a bar if tqdm is installed, else lines.

    Attributes
    ----------
    best_estimator_ : estimator
        With ``refit="folds"`` a :class:`FoldEnsembleClassifier`, which has the
        temperature. With ``"all"`` the estimator that is trained on all rows; its own
        probabilities are not recalibrated.

    best_params_ : dict
        The parameters of the best candidate.

    best_index_ : int
        Its place in `cv_results_`.

    best_score_ : float
        Its mean score over the folds at the chosen stage.

    best_iteration_ : int
        The chosen stage, from 0.

    n_iter_ : int
        Number of stages that were trained to find it.

    temperature_ : float
        The temperature of a single model; 1.0 if none is fitted. With
        ``refit="folds"`` the models are scaled by its power of 0.75 before their
        probabilities are averaged, which would otherwise be too uncertain: an
        exponent that was found by experiments with five folds.

    oof_proba_ : ndarray of shape (n_samples, n_classes)
        Out-of-fold probabilities of the chosen stage, not recalibrated: the mean for
        rows that several folds have judged, NaN for rows that none has.

    stage_scores_ : list of ndarray of shape (n_stages, n_folds)
        For each candidate, the score of every stage and fold by the scorer that
        chooses; empty for one that failed.

    cv_results_ : dict of ndarray
        As that of `GridSearchCV`, each candidate at its own best stage, and with
        ``"best_iteration"`` and ``"n_iter"``. As a data frame, its columns
        ``["params", "mean_test_score", "best_iteration"]`` make a short table.

    estimators_ : list of estimator
        The models of the folds, with ``refit="folds"``.

    refit_time_ : float
        Seconds for the model of all rows, with ``refit="all"``.

    n_splits_ : int
        Number of folds.

    scorer_ : callable or dict of callable
        The scorer, or the scorers by their names.

    classes_ : ndarray of shape (n_classes,)
        The class labels.

    n_features_in_ : int
        Number of features.

    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    sklearn_superior.early_stopping.EarlyStoppingClassifier : Holds out one part.
    compare_stopping_rules : Which rule picks the best stage?
    FoldEnsembleClassifier : The averaged models of the folds.

    Notes
    -----
    The folds of a candidate take turns in the thread of the caller, so that each has
    all the cores that its library wants. With `n_jobs` and fewer candidates than jobs,
    the folds are dealt to threads. A fold that ends by itself, as AdaBoost does on a
    perfect fit, is represented by its last stage from then on.

    Ctrl-C ends the search at the end of the present stage. Candidates that were
    finished are kept, with a warning. Before the first of them, and while the model for
    use is trained, it is raised: a `checkpoint_dir` keeps what is finished.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.ensemble import GradientBoostingClassifier
    >>> from sklearn_superior.model_selection import StagedSearchCV
    >>> X, y = load_wine(return_X_y=True)
    >>> search = StagedSearchCV(
    ...     GradientBoostingClassifier(n_estimators=100, random_state=0),
    ...     {"max_depth": [1, 2]},
    ...     n_iter_no_change=10,
    ... )
    >>> search = search.fit(X, y)
    >>> search.best_params_
    {'max_depth': 1}
    >>> [len(model.estimators_) for model in search.estimators_] == (
    ...     5 * [search.best_iteration_ + 1]
    ... )
    True
    >>> search.oof_proba_.shape
    (178, 3)
    """

    @says_instead(**PATIENCE)
    def __init__(
        self,
        estimator,
        param_grid=None,
        *,
        scoring=None,
        cv=None,
        refit="folds",
        n_iter_no_change=20,
        tol=0.0,
        calibration="auto",
        n_jobs=None,
        checkpoint_dir=None,
        resume=False,
        error_score=math.nan,
        verbose=0,
    ):
        self.estimator = estimator
        self.param_grid = param_grid
        self.scoring = scoring
        self.cv = cv
        self.refit = refit
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.calibration = calibration
        self.n_jobs = n_jobs
        self.checkpoint_dir = checkpoint_dir
        self.resume = resume
        self.error_score = error_score
        self.verbose = verbose

    @with_callbacks
    def fit(self, X, y, *, sample_weight=None, groups=None):
        """Search, and make the model of the best candidate.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.

        y : array-like of shape (n_samples,)
            Class labels.

        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights. Training gets them as they are; for scores and for the
            temperature their scale means nothing.

        groups : array-like of shape (n_samples,), default=None
            Groups for `cv`.

        Returns
        -------
        self : object
        """
        with all_or_nothing(self):
            for name in ("best_estimator_", "estimators_", "refit_time_", *_STATE):
                vars(self).pop(name, None)
            self._fit(X, y, sample_weight, groups)
        return self

    def _fit(self, X, y, sample_weight, groups):
        self._check_parameters()
        settings = find_settings(self.param_grid)
        plan = self._make_plan(X, y, sample_weight, groups)
        callbacks = Callbacks(self, plan.data, len(settings), "candidate")
        finished = run_search(self, settings, plan, callbacks)
        if self.refit == "folds":
            train_members(finished, plan)
        self._set_results(finished, plan)
        best, estimator = finished.best, finished.estimators[finished.index]
        _, stages = prepare_estimator(estimator)
        warn_of_class_weight(stages, plan.scorers.values())
        warn_of_scores(
            best.stage_scores.mean(axis=1).tolist(),
            best.best_iteration,
            stages,
            self.n_iter_no_change,
        )
        if self.refit == "folds":
            self._average(best)
        elif self.refit:
            self._train_on_all(estimator, best, plan)
        callbacks.finished(
            lambda: {k: v for k, v in vars(self).items() if k in _STATE or k[-1] == "_"}
        )

    def _check_parameters(self):
        params = self.get_params(deep=False)
        check_parameters("StagedSearchCV", _CONSTRAINTS, params)
        if self.refit is True:
            raise ValueError(
                "The 'refit' parameter of StagedSearchCV must be 'all', 'folds' or "
                "False. Got True."
            )
        if self.resume and self.checkpoint_dir is None:
            raise ValueError("resume=True needs a checkpoint_dir.")
        if self.checkpoint_dir == "":
            raise ValueError(
                "The 'checkpoint_dir' parameter must be a folder or None. Got ''; use "
                "'.' for the present one."
            )

    def _make_plan(self, X, y, sample_weight, groups):
        """Check the data, and return what all candidates have in common."""
        if X is None:
            raise ValueError("X must be array-like. Got None.")
        self._remember_features(X, y)
        X, y, sample_weight, groups = indexable(X, y, sample_weight, groups)
        y, weight, self.classes_ = check_target(y, sample_weight)
        groups = check_groups(groups, y)
        scorers = find_scorers(self.scoring)
        plan = Plan(
            Rows(X, y, weight),
            self.classes_,
            split_in_two(self.cv, X, y, groups),
            scorers,
            {name: _requested(scorer, weight) for name, scorer in scorers.items()},
            self.n_iter_no_change,
            self.tol,
            keeps_members=self.refit == "folds",
        )
        for name, own in plan.weights.items():  # errors before training
            for fold, (_, test) in enumerate(plan.folds):
                if own is not None and not own[test].any():
                    raise ValueError(
                        "sample_weight must be positive for a test row of every fold. "
                        f"Got only zeros in fold {fold}."
                    )
            plan.make_scorer(name, 0)
        _warn_of_missing_classes(plan)
        return plan

    def _set_results(self, finished, plan):
        names, n_folds = list(plan.scorers), len(plan.folds)
        settings, candidates = finished.settings, finished.candidates
        index, best = finished.index, finished.best
        error_score = math.nan if self.error_score == "raise" else self.error_score
        self.cv_results_ = make_cv_results(
            settings, candidates, names, n_folds, error_score
        )
        self.multimetric_ = len(names) > 1
        self.scorer_ = (
            dict(plan.scorers) if self.multimetric_ else plan.scorers[names[0]]
        )
        self.n_splits_ = n_folds
        self.best_index_, self.best_params_ = index, settings[index]
        self.best_score_ = float(np.mean(best.test_scores[names[0]]))
        self.best_iteration_ = best.best_iteration
        self.n_iter_ = len(best.stage_scores)
        self.stage_scores_ = [
            np.empty((0, n_folds)) if c is None else c.stage_scores for c in candidates
        ]
        self.oof_proba_ = out_of_fold(plan, best.test_proba)
        self.temperature_ = find_temperature(self.calibration, plan, best.test_proba)

    def _train_on_all(self, estimator, best, plan):
        start = perf_counter()
        try:
            self.best_estimator_ = train_on_all(estimator, best, plan)
        except Exception as exc:  # what was searched for is there all the same
            if self.error_score == "raise":
                raise
            self._refit_error = describe(exc)
            warn(
                "The training of the best candidate on all rows failed, so that the "
                f"search is fitted without a model to predict with. {describe(exc)} "
                "Use refit='folds', or another setting.",
                FitFailedWarning,
            )
            return
        self.refit_time_ = perf_counter() - start

    def _average(self, best):
        self.estimators_ = best.members
        self.best_estimator_ = FoldEnsembleClassifier(
            list(best.members),
            classes=self.classes_,
            temperature=self.temperature_**MEMBER_EXPONENT,
        )

    @available_if(_has_model)
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
        check_is_fitted(self, "best_estimator_")
        self._check_rows(X)
        y_proba = self.best_estimator_.predict_proba(X)
        if hasattr(self, "estimators_"):  # recalibrated, and with all columns
            return y_proba
        if self.temperature_ != 1:
            y_proba = scale_temperature(y_proba, self.temperature_)
        own_classes = np.asarray(self.best_estimator_.classes_)
        return align_columns(y_proba, own_classes, self.classes_)

    predict = available_if(_has_model)(WrapperMixin.predict)
    predict_log_proba = available_if(_has_model)(WrapperMixin.predict_log_proba)

    @available_if(_has_model)
    def score(self, X, y, sample_weight=None):
        """Return the score of the model by the scorer that has chosen.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.

        y : array-like of shape (n_samples,)
            Class labels.

        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights.

        Returns
        -------
        score : float
            Greater is better.
        """
        check_is_fitted(self, "best_estimator_")
        scorer = self.scorer_
        if self.multimetric_:
            scorer = next(iter(scorer.values()))
        options = {}
        if sample_weight is not None:
            weight = check_weights(sample_weight, y)
            options["sample_weight"] = with_mean_one(weight)
        return scorer(self, X, y, **options)

    def plot(self, ax=None, *, n_candidates=3):
        """Draw the mean scores of the best candidates over the stages.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw. If None, a new figure is made.

        n_candidates : int, default=3
            How many candidates to draw, the best ones.

        Returns
        -------
        display : StagedSearchDisplay
        """
        from sklearn_superior.plotting import StagedSearchDisplay

        check_is_fitted(self)
        return StagedSearchDisplay.from_search(self, n_candidates=n_candidates, ax=ax)


def find_scorers(scoring):
    """Return the scorers that `scoring` means by their names; the first one chooses."""
    if scoring is None or isinstance(scoring, str) or callable(scoring):
        return {"score": _check_scorer(scoring, "scoring")}
    is_dict = isinstance(scoring, Mapping)
    return {
        name: _check_scorer(scorer, f"scoring[{name!r}]" if is_dict else "scoring")
        for name, scorer in by_name(scoring, "scoring").items()
    }


def _check_scorer(scoring, name):
    return check_scorer(scoring, name, default=SEARCH_SCORING)


def _requested(scorer, weight):
    """Return the weights, unless metadata routing says that a scorer wants none."""
    if not (get_config()["enable_metadata_routing"] and weight is not None):
        return weight
    if not hasattr(scorer, "get_metadata_routing"):
        return weight
    request = scorer.get_metadata_routing().score.requests.get("sample_weight")
    return None if request is False else weight


def _warn_of_missing_classes(plan):
    y, weight = plan.data.y, plan.data.sample_weight

    def classes(rows):
        return y[rows] if weight is None else y[rows][weight[rows] > 0]

    missing = [
        np.setdiff1d(classes(test), classes(train)) for train, test in plan.folds
    ]
    if any(map(len, missing)):
        aside = "" if weight is None else " (rows of weight 0 do not count)"
        warn(
            f"The training part of {sum(len(m) > 0 for m in missing)} of "
            f"{len(missing)} folds lacks classes of its test part{aside}: "
            f"{np.unique(np.concatenate(missing)).tolist()}. They count with "
            f"probability 0 there{'' if weight is None else ', or nearly so'}."
        )
