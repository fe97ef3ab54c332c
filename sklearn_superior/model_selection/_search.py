"""Search over parameters and the number of stages by cross-validation."""

import math
from numbers import Real
from time import perf_counter

import numpy as np
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
    train_on_all,
)
from sklearn_superior.model_selection._cv_results import make_cv_results
from sklearn_superior.model_selection._fold_ensemble import (
    FoldEnsembleClassifier,
    importances_of,
)
from sklearn_superior.model_selection._folds import (
    Plan,
    find_folds,
    find_temperature,
    out_of_fold,
)
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

# The mean of calibrated fold models is underconfident, so they are scaled by a power of
# the temperature of a single model. The exponent was found by experiments with 5 folds.
MEMBER_EXPONENT = 0.75
# What `fit` sets depending on `refit`.
_OPTIONAL = ("best_estimator_", "estimators_", "refit_time_", "_refit_error")
_CONSTRAINTS = {
    "scoring": [str, callable, list, tuple, dict, None],
    "refit": [StrOptions({"all", "folds"}), "boolean"],
    "pruner": [callable, None],
    "error_score": [StrOptions({"raise"}), Real],
}
for _name in "n_iter_no_change tol calibration checkpoint_dir resume verbose".split():
    _CONSTRAINTS[_name] = STOPPING_CONSTRAINTS[_name]


def _has_model(search):
    """Whether there is a model to predict with; raise an error that says why not.

    After `fit` this depends on what was fitted, not on the parameters.
    """
    if hasattr(search, "_refit_error"):
        raise AttributeError(
            "This StagedSearchCV has no model to predict with, because training it on "
            f"all rows failed. {search._refit_error}"
        )
    is_fitted = hasattr(search, "cv_results_")
    if not (hasattr(search, "best_estimator_") if is_fitted else search.refit):
        raise AttributeError(
            "This StagedSearchCV has no model to predict with, because of refit=False. "
            "Use refit='all' or 'folds', or train an estimator with best_params_ for "
            "best_iteration_ + 1 stages."
        )
    return True


class StagedSearchCV(
    CallbackSupportMixin,
    WrapperMixin,
    ClassifierMixin,
    MetaEstimatorMixin,
    BaseEstimator,
):
    """Search over parameters and the number of stages by cross-validation.

    The classifier is trained stage by stage (a tree, an epoch), all folds in lockstep.
    After each stage every fold scores its own test rows, and the mean over the folds is
    the score of that stage. Training stops after `n_iter_no_change` stages without
    improvement. Unlike a `GridSearchCV` over ``n_estimators``, this trains each
    candidate only once, and evaluates every number of stages.

    The best candidate at its best stage becomes the final model: one model trained on
    all rows, or the average of the fold models. If the scoring rule is refined, as
    the default is, its probabilities are recalibrated; see `calibration`.

    Parameters
    ----------
    estimator : estimator
        A classifier that is trained in stages, or a pipeline that ends in one, as for
        :class:`~sklearn_superior.early_stopping.EarlyStoppingClassifier`. Its own
        number of stages is the budget. The transformers of a pipeline are fitted on the
        training rows of each fold only.

    param_grid : dict, list of dict, iterable or None, default=None
        The parameters to try: a grid or a list of grids as for `GridSearchCV`, or any
        iterable of settings such as a `ParameterSampler`. A list of dicts with single
        values is a list of settings; with tuples it is ambiguous and raises an error.
        None means the estimator as it is.

    scoring : str, callable, list, dict or None, default=None
        Any scorer; greater is better. None is the refined log loss. To choose by the
        penalized Brier score, use ``scoring="neg_penalized_brier_score"``. If there are
        several, the first one chooses, and the others are evaluated at its choice.

    cv : int, splitter, iterable or None, default=None
        The folds. None means 5 stratified folds, which keep groups together if there
        are any. Rows may be in the test part of several folds, or of none.

    refit : {"all", "folds"} or False, default="all"
        ``"all"``: one model, trained on all rows for the chosen number of stages.
        ``"folds"``: average the probabilities of the fold models, each cut back to the
        chosen stage. Nothing is trained again, but predicting takes as long as with all
        fold models together. Recommended for neural networks, where a single fit may
        diverge. False: no model.

    n_iter_no_change : int, default=20
        Number of stages without improvement after which training stops.

    tol : float, default=0.0
        Minimum improvement over the best score. Absolute, in units of the score.

    calibration : {"auto", "temperature"} or None, default="auto"
        Whether to recalibrate the probabilities with the temperature (by default at
        least 1) that fits the out-of-fold probabilities best. ``"auto"`` does so if the
        rule that chooses is a refined one, such as the default, ``"temperature"``
        always, and None never. The predicted classes stay the same.

    pruner : callable or None, default=None
        Called after each stage of a candidate as ``pruner(stage, mean_score,
        fold_scores)``: the stage counted from 0, the mean over the folds, and the
        scores of the folds as an array of shape (n_folds,), all by the scorer that
        chooses. If it returns True, the candidate is given up; an error is raised if
        none is left. An exception that it raises ends the search and propagates. For
        Optuna, use :func:`sklearn_superior.integrations.optuna.prune`.

    n_jobs : int or None, default=None
        Number of candidates to train in parallel with joblib: on a cluster, for
        example, under ``joblib.parallel_config(backend="dask")``. With fewer candidates
        than jobs, folds are trained in parallel.

    checkpoint_dir : str or path, default=None
        Folder for finished candidates: scores and out-of-fold probabilities, but no
        models. Each file is written completely or not at all. Pruned candidates are not
        written.

    resume : bool, default=False
        Use the finished candidates in `checkpoint_dir`; the result is that of an
        uninterrupted search. If they belong to a different search (data, folds,
        estimator, scoring), an error says what differs; the grid may change. With
        ``refit="folds"`` the best candidate is trained again if it was read from disk.

    error_score : "raise" or float, default=nan
        The score in `cv_results_` of a candidate that fails, with a warning. Such a
        candidate always has the last rank. ``"raise"`` raises the error, which also
        happens if all candidates fail. If the refit on all rows fails, the search warns
        and has no model.

    verbose : int, default=0
        With 1, show progress: a bar if tqdm is installed, otherwise lines.

    Attributes
    ----------
    best_estimator_ : estimator
        With ``refit="all"`` the estimator trained on all rows; its own probabilities
        are not calibrated. With ``"folds"`` a :class:`FoldEnsembleClassifier`, which
        includes the temperature.

    best_params_ : dict
        The parameters of the best candidate.

    best_index_ : int
        Its index in `cv_results_`.

    best_score_ : float
        Its mean score over the folds at the chosen stage.

    best_iteration_ : int
        The chosen stage, counted from 0.

    n_iter_ : int
        Number of stages that were trained to find it.

    temperature_ : float
        The temperature of a single model; 1.0 without calibration. With
        ``refit="folds"`` each fold model is scaled by the temperature to the power of
        0.75, because the average of calibrated models would be underconfident. The
        exponent was found by experiments with five folds.

    oof_proba_ : ndarray of shape (n_samples, n_classes)
        Out-of-fold probabilities of the chosen stage, not calibrated: the mean for rows
        in several test parts, NaN for rows in none.

    stage_scores_ : list of ndarray of shape (n_stages, n_folds)
        For each candidate, the scores of all stages and folds by the scorer that
        chooses; up to the last stage of a pruned one, and empty for candidates that
        failed.

    cv_results_ : dict of ndarray
        As in `GridSearchCV`, each candidate at its own best stage, plus
        ``"best_iteration"`` and ``"n_iter"``. With a `pruner` also ``"pruned"``; pruned
        candidates have NaN scores, the last rank and a masked ``"best_iteration"``. In
        a data frame, the columns ``["params", "mean_test_score", "best_iteration"]``
        make a short table.

    feature_importances_ : ndarray of shape (n_features,)
        The feature importances of the final model, if it has them; with
        ``refit="folds"`` their mean over the fold models, if these have the same
        features. In a pipeline, the features are those that the last step gets.

    estimators_ : list of estimator
        The fold models, with ``refit="folds"``.

    refit_time_ : float
        Seconds to train on all rows, with ``refit="all"``.

    n_splits_ : int
        Number of folds.

    scorer_ : callable or dict of callable
        The scorer, or the scorers by name.

    classes_ : ndarray of shape (n_classes,)
        The class labels.

    n_features_in_ : int
        Number of features seen during `fit`.

    feature_names_in_ : ndarray of shape (n_features,)
        Names of features seen during `fit`, if they are all strings.

    See Also
    --------
    sklearn_superior.early_stopping.EarlyStoppingClassifier : Uses one validation set.
    compare_stopping_rules : Which rule picks the best stage?
    FoldEnsembleClassifier : The average of the fold models.

    Notes
    -----
    The folds of a candidate take turns in the calling thread, so each can use all
    cores. With `n_jobs` and fewer candidates than jobs, folds are trained in several
    threads. If a fold ends by itself, as AdaBoost does on a perfect fit, its last stage
    stands for the later ones.

    A `pruner` is called in the thread of `fit`, and may remember what it has seen: a
    stage of 0 is the first of the next candidate. With `n_jobs` and several candidates
    it must be picklable, and each process has copies of its own, which share nothing.
    It is not called for candidates that are read from disk, because these are finished.
    Pruned candidates are trained again.

    Ctrl-C ends the search after the current stage. Finished candidates are kept, with a
    warning. Before the first one is finished, and while the final model is trained, the
    interrupt is raised; use `checkpoint_dir` to keep finished candidates.

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
    >>> list(search.best_params_)
    ['max_depth']
    >>> len(search.best_estimator_.estimators_) == search.best_iteration_ + 1
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
        refit="all",
        n_iter_no_change=20,
        tol=0.0,
        calibration="auto",
        pruner=None,
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
        self.pruner = pruner
        self.n_jobs = n_jobs
        self.checkpoint_dir = checkpoint_dir
        self.resume = resume
        self.error_score = error_score
        self.verbose = verbose

    @says_instead(
        **dict.fromkeys(
            ("eval_set", "validation_data", "X_val"),
            "the test parts of `cv` are the validation data",
        )
    )
    @with_callbacks
    def fit(self, X, y, *, sample_weight=None, groups=None):
        """Run the search, then fit the final model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.

        y : array-like of shape (n_samples,)
            Class labels.

        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights. They are passed to training as they are; scores and the
            temperature do not depend on their scale.

        groups : array-like of shape (n_samples,), default=None
            Groups for `cv`.

        Returns
        -------
        self : object
        """
        with all_or_nothing(self):
            for name in _OPTIONAL:
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
        fitted = [k for k in vars(self) if k.endswith("_") or k in _OPTIONAL]
        callbacks.finished(lambda: {name: getattr(self, name) for name in fitted})

    def _check_parameters(self):
        params = self.get_params(deep=False)
        check_parameters("StagedSearchCV", _CONSTRAINTS, params)
        if self.refit is True:
            raise ValueError(
                "The 'refit' parameter of StagedSearchCV must be 'all', 'folds' or "
                "False. Got True; use 'all' to train one model on all rows, as True "
                "does in GridSearchCV."
            )
        if self.resume and self.checkpoint_dir is None:
            raise ValueError("resume=True requires a checkpoint_dir.")
        if self.checkpoint_dir == "":
            raise ValueError(
                "The 'checkpoint_dir' parameter must be a folder or None. Got ''. Use "
                "'.' for the current folder."
            )

    def _make_plan(self, X, y, sample_weight, groups):
        """Validate the data; return what all candidates have in common."""
        if X is None:
            raise ValueError("X must be array-like. Got None.")
        self._remember_features(X, y)
        X, y, sample_weight, groups = indexable(X, y, sample_weight, groups)
        y, weight, self.classes_ = check_target(y, sample_weight)
        groups = check_groups(groups, y)
        plan = Plan(
            Rows(X, y, weight),
            self.classes_,
            find_folds(self.cv, X, y, groups),
            _find_scorers(self.scoring),
            self.n_iter_no_change,
            self.tol,
            keeps_members=self.refit == "folds",
        )
        for fold, (_, test) in enumerate(plan.folds):
            if not plan.counts[test].any():
                raise ValueError(
                    "sample_weight must be positive for a test row of every fold. Got "
                    f"only zeros in fold {fold}."
                )
        for name in plan.scorers:  # raises errors before training
            plan.make_scorer(name, 0)
        _warn_of_missing_classes(plan)
        return plan

    def _set_results(self, finished, plan):
        names, n_folds = list(plan.scorers), len(plan.folds)
        settings, candidates = finished.settings, finished.candidates
        index, best = finished.index, finished.best
        error_score = math.nan if self.error_score == "raise" else self.error_score
        self.cv_results_ = make_cv_results(
            settings,
            candidates,
            names,
            n_folds,
            error_score,
            has_pruner=self.pruner is not None,
        )
        self.multimetric_ = len(names) > 1
        self.scorer_ = plan.scorers if self.multimetric_ else plan.scorers[names[0]]
        self.n_splits_ = n_folds
        self.best_index_, self.best_params_ = index, settings[index]
        self.best_score_ = float(best.score)
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
        except Exception as exc:  # the results of the search are still of use
            if self.error_score == "raise":
                raise
            self._refit_error = describe(exc)
            warn(
                "Training the best candidate on all rows failed, so the search is "
                f"fitted without a model to predict with. {self._refit_error} Use "
                "refit='folds' or other parameters.",
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

    @property
    def feature_importances_(self):
        """The feature importances of the final model, if it has them."""
        check_is_fitted(self, "cv_results_")
        _has_model(self)
        return importances_of(self.best_estimator_)

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
        if hasattr(self, "estimators_"):  # calibrated, with a column for each class
            return y_proba
        if self.temperature_ != 1:
            y_proba = scale_temperature(y_proba, self.temperature_)
        own_classes = np.asarray(self.best_estimator_.classes_)
        return align_columns(y_proba, own_classes, self.classes_)

    predict = available_if(_has_model)(WrapperMixin.predict)
    predict_log_proba = available_if(_has_model)(WrapperMixin.predict_log_proba)

    @available_if(_has_model)
    def score(self, X, y, sample_weight=None):
        """Return the score of the model by the scorer that chose it.

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
        if sample_weight is None:
            return scorer(self, X, y)
        weight = with_mean_one(check_weights(sample_weight, y))
        return scorer(self, X, y, sample_weight=weight)

    def plot(self, ax=None, *, n_candidates=3):
        """Draw the mean scores of the best candidates over the stages.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.

        n_candidates : int, default=3
            Number of candidates to draw, the best ones first.

        Returns
        -------
        display : StagedSearchDisplay
        """
        from sklearn_superior.plotting import StagedSearchDisplay

        check_is_fitted(self)
        return StagedSearchDisplay.from_search(self, n_candidates=n_candidates, ax=ax)


def _find_scorers(scoring):
    """Return the scorers by name; the first one chooses."""
    if scoring is None or isinstance(scoring, str) or callable(scoring):
        return {"score": check_scorer(scoring)}
    return by_name(scoring, "scoring", check_scorer)


def _warn_of_missing_classes(plan):
    y, counts = plan.data.y, plan.counts
    missing = [
        np.setdiff1d(y[test[counts[test]]], y[train[counts[train]]])
        for train, test in plan.folds
    ]
    if any(map(len, missing)):
        aside = "" if counts.all() else " (rows of weight 0 do not count)"
        warn(
            f"The training part of {sum(len(m) > 0 for m in missing)} of "
            f"{len(missing)} folds lacks classes of its test part{aside}: "
            f"{np.unique(np.concatenate(missing)).tolist()}. They get a probability of "
            "0, or nearly so."
        )
