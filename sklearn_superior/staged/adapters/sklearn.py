"""The boosting classifiers of scikit-learn."""

from copy import copy

import numpy as np
from sklearn.utils import check_random_state

from sklearn_superior.staged.adapters.base import (
    SkopsCheckpointed,
    Stages,
    check_n_stages,
    copy_with,
    hand_over_fit,
    stand_in_labels,
)
from sklearn_superior.staged.adapters.hist_hook import (
    cut_hist,
    hook_by_name,
    hook_works,
    make_hook,
    pack_trees,
    prepare_hist_to_resume,
    unpack_trees,
)
from sklearn_superior.utils._warnings import warn

# Their own early stopping is not used.
_OWN_STOPPING = ("n_iter_no_change", "tol", "validation_fraction")


class GradientBoostingStages(SkopsCheckpointed, Stages):
    """`sklearn.ensemble.GradientBoostingClassifier`."""

    without_effect = (*_OWN_STOPPING, "verbose", "warm_start")
    _model = None  # what is trained: a copy with other parameters
    _n_trained = 0

    def _copy(self):
        return copy_with(
            self.estimator, n_iter_no_change=None, warm_start=self.n_done > 0
        )

    def fit(self, X, y, X_val, on_stage, sample_weight=None):
        staged = None

        def monitor(stage, model, _):
            nonlocal staged
            if staged is None:
                # The generator sees trees that are added while it is in use, and each
                # step costs the prediction of one more tree.
                staged = model.staged_predict_proba(X_val)
                for _ in range(self.n_done):
                    next(staged)
            self._n_trained = stage + 1
            return on_stage(next(staged))

        if self._model is None:
            self._model = self._copy()
        self._model.fit(X, y, sample_weight=sample_weight, monitor=monitor)

    def keep(self, stage):
        hand_over_fit(_cut_gradient_boosting(self._model, stage + 1), self.estimator)

    def snapshot(self):
        return _cut_gradient_boosting(self._model, self._n_trained)

    def dump(self):
        return {"last": self.to_bytes(self.snapshot())}

    def restore(self, models, n_done, X, y, sample_weight=None):
        model = self.from_bytes(models["last"])
        check_n_stages(len(model.estimators_), n_done)
        self.n_done = self._n_trained = n_done
        self._model = hand_over_fit(model, self._copy())


def _cut_gradient_boosting(model, n_kept):
    of_stages = ("estimators_", "train_score_", "oob_improvement_", "oob_scores_")
    model = _cut(model, n_kept, of_stages)
    if hasattr(model, "oob_scores_"):
        model.oob_score_ = model.oob_scores_[-1]
    model.n_estimators_ = n_kept
    return model


def _cut(model, n_kept, names):
    """Copy a model with the first elements of those attributes that it has."""
    model = copy(model)
    for name in names:
        if hasattr(model, name):
            setattr(model, name, getattr(model, name)[:n_kept])
    return model


def hist_stages(estimator):
    """Return the adapter of a `HistGradientBoostingClassifier`."""
    if hook_works():
        return HistGradientBoostingStages(estimator)
    warn(
        "This version of scikit-learn has changed inside HistGradientBoosting. The "
        "result is the same, but training takes longer and writes no checkpoints. "
        "Look for a newer version of sklearn-superior."
    )
    return PublicHistGradientBoostingStages(estimator)


class HistGradientBoostingStages(SkopsCheckpointed, Stages):
    """`sklearn.ensemble.HistGradientBoostingClassifier`."""

    budget = "max_iter"
    without_effect = (
        *_OWN_STOPPING,
        "early_stopping",
        "scoring",
        "verbose",
        "warm_start",
    )
    _model = None
    _n_trained = 0

    def fit(self, X, y, X_val, on_stage, sample_weight=None):
        def count_and_report(y_proba):
            self._n_trained += 1
            return on_stage(y_proba)

        restored, resumes = self._model, self.n_done > 0
        hook = make_hook(count_and_report, self.n_done)
        with hook_by_name(hook) as name:
            self._model = _copy_for_hook(
                self.estimator, scoring=name, warm_start=resumes
            )
            if resumes:
                hand_over_fit(restored, self._model)
                prepare_hist_to_resume(self._model, hook)
            y_val = stand_in_labels(X_val, y)
            self._model.fit(X, y, sample_weight=sample_weight, X_val=X_val, y_val=y_val)

    def keep(self, stage):
        hand_over_fit(cut_hist(self._model, stage + 1), self.estimator)

    def snapshot(self):
        return cut_hist(self._model, self._n_trained)

    def dump(self):
        model = self.snapshot()
        model.scoring = "loss"  # the hook means nothing to another process
        return {"last": self.to_bytes(pack_trees(model))}

    def restore(self, models, n_done, X, y, sample_weight=None):
        self._model = unpack_trees(self.from_bytes(models["last"]))
        check_n_stages(self._model.n_iter_, n_done)
        self.n_done = self._n_trained = n_done


class PublicHistGradientBoostingStages(Stages):
    """The same without the hook: slower, and the kept stage is trained again."""

    budget = "max_iter"

    def __init__(self, estimator):
        super().__init__(estimator)
        seed = estimator.random_state
        if not isinstance(seed, int | np.integer):  # both trainings must be the same
            seed = check_random_state(seed).randint(np.iinfo(np.int32).max)
        self._seed = seed

    def fit(self, X, y, X_val, on_stage, sample_weight=None):
        self._train = X, y, sample_weight
        model = _copy_for_hook(
            self.estimator, scoring=make_hook(on_stage), random_state=self._seed
        )
        y_val = stand_in_labels(X_val, y)
        model.fit(X, y, sample_weight=sample_weight, X_val=X_val, y_val=y_val)

    def keep(self, stage):
        X, y, sample_weight = self._train
        params = {"max_iter": stage + 1, "early_stopping": False}
        model = copy_with(self.estimator, random_state=self._seed, **params)
        hand_over_fit(model.fit(X, y, sample_weight=sample_weight), self.estimator)


def _copy_for_hook(estimator, **params):
    """Copy a model so that it calls its scorer after each iteration."""
    return copy_with(
        estimator, early_stopping=True, n_iter_no_change=1, tol=0.0, **params
    )


class AdaBoostStages(Stages):
    """`sklearn.ensemble.AdaBoostClassifier`, which always trains to the end."""

    _n_seen = 0

    def fit(self, X, y, X_val, on_stage, sample_weight=None):
        self.estimator.fit(X, y, sample_weight=sample_weight)
        for y_proba in self.estimator.staged_predict_proba(X_val):
            self._n_seen += 1
            if on_stage(y_proba):
                break

    def _cut(self, n_kept):
        of_stages = ("estimators_", "estimator_weights_", "estimator_errors_")
        return _cut(self.estimator, n_kept, of_stages)

    def keep(self, stage):
        self.estimator = self._cut(stage + 1)

    def snapshot(self):
        return self._cut(self._n_seen)

    def obstacle(self):
        return "AdaBoostClassifier has no stages before the end of its training"
