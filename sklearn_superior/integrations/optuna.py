"""Pruning of Optuna trials by the mean score over the folds."""

from sklearn_superior.utils._optional import import_optional

__all__ = ["prune"]


class _TrialPruner:
    """Reports each stage to a trial, and raises `TrialPruned` if it falls behind."""

    def __init__(self, trial, trial_pruned):
        self._trial, self._trial_pruned, self._last = trial, trial_pruned, -1

    def __sklearn_clone__(self):
        return self  # a copy of a trial would report to nobody

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return _TrialPruner, (None, None)

    def __call__(self, stage, mean_score, fold_scores):
        if self._trial is None:
            raise ValueError(
                "prune(trial) has been copied to another process or a file, and cannot "
                "report to the trial from there. Use it in one fit of a search without "
                "a param_grid."
            )
        if stage <= self._last:
            raise ValueError(
                f"Stage {stage} of this trial has been reported before. Each trial "
                "needs one fit of a search without a param_grid and a new "
                "prune(trial): pass its parameters to the estimator."
            )
        self._last = stage
        self._trial.report(mean_score, stage)
        if self._trial.should_prune():
            raise self._trial_pruned(f"Trial was pruned at stage {stage}.")
        return False


def prune(trial):
    """Prune an Optuna trial by the mean score over the folds.

    After each stage, the mean over the folds is reported to the trial. If the pruner of
    the study gives the trial up, all folds are stopped and `fit` raises
    ``optuna.TrialPruned``.

    Parameters
    ----------
    trial : optuna.trial.Trial
        The trial, of a study with ``direction="maximize"``: greater scores are better.

    Returns
    -------
    pruner : callable
        For ``StagedSearchCV(..., pruner=pruner)`` without a `param_grid`, and for
        a single `fit`.

    See Also
    --------
    sklearn_superior.model_selection.StagedSearchCV : Trains all folds in lockstep.

    Notes
    -----
    Optuna's steps are the stages, counted from 0. Where a pruner asks for the greatest
    number of steps, as `HyperbandPruner` does for ``max_resource``, pass the number of
    stages of the estimator: trials that stop early report fewer.

    Examples
    --------
    >>> import optuna
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.ensemble import GradientBoostingClassifier
    >>> from sklearn_superior.integrations.optuna import prune
    >>> from sklearn_superior.model_selection import StagedSearchCV
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> X, y = load_wine(return_X_y=True)
    >>> def objective(trial):
    ...     model = GradientBoostingClassifier(
    ...         n_estimators=20,
    ...         learning_rate=trial.suggest_float("learning_rate", 0.01, 1, log=True),
    ...         max_depth=1,
    ...         random_state=0,
    ...     )
    ...     search = StagedSearchCV(model, cv=3, refit=False, pruner=prune(trial))
    ...     return search.fit(X, y).best_score_
    >>> study = optuna.create_study(
    ...     direction="maximize",
    ...     sampler=optuna.samplers.RandomSampler(seed=0),
    ...     pruner=optuna.pruners.MedianPruner(n_startup_trials=2),
    ... )
    >>> study.optimize(objective, n_trials=6)
    >>> [trial.state.name for trial in study.trials]
    ['COMPLETE', 'COMPLETE', 'PRUNED', 'PRUNED', 'PRUNED', 'COMPLETE']
    """
    optuna = import_optional("optuna", caller="prune", extra="optuna")
    if not (hasattr(trial, "report") and hasattr(trial, "should_prune")):
        raise TypeError(
            f"The 'trial' parameter must be an Optuna trial. Got {trial!r} instead."
        )
    study = getattr(trial, "study", None)  # a FixedTrial has none, and is never pruned
    maximize = optuna.study.StudyDirection.MAXIMIZE
    if study is not None and study.directions != [maximize]:
        directions = [direction.name.lower() for direction in study.directions]
        raise ValueError(
            "prune(trial) needs a study with direction='maximize', because greater "
            "scores are better: return search.best_score_, not its negative. Got "
            f"{', '.join(directions)}."
        )
    return _TrialPruner(trial, optuna.TrialPruned)
