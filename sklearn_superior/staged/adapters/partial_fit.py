"""Anything with `partial_fit`: a stage is an epoch."""

from copy import deepcopy

import numpy as np

from sklearn_superior.staged.adapters.base import (
    SkopsCheckpointed,
    Stages,
    copy_with,
    hand_over_fit,
)


class PartialFitStages(SkopsCheckpointed, Stages):
    """Anything with `partial_fit`, `predict_proba` and `max_iter`."""

    budget = "max_iter"
    without_effect = ("early_stopping", "validation_fraction", "verbose", "warm_start")
    _model = None  # what is trained: a copy, perhaps with other parameters
    _best = None

    def _copy(self):
        # partial_fit raises an error if early_stopping is True.
        stops = getattr(self.estimator, "early_stopping", None) is True
        return copy_with(self.estimator, **({"early_stopping": False} if stops else {}))

    def fit(self, X, y, X_val, on_stage, sample_weight=None):
        if self._model is None:
            self._model = self._copy()
        options = {} if sample_weight is None else {"sample_weight": sample_weight}
        classes = np.unique(y)
        for _ in range(self.n_done, self.n_stages):
            self._model.partial_fit(X, y, classes=classes, **options)
            if on_stage(self._model.predict_proba(X_val)):
                break

    def remember(self):
        self._best = deepcopy(self._model)

    def keep(self, stage):
        hand_over_fit(self._best, self.estimator)

    def snapshot(self):
        return deepcopy(self._model)

    def dump(self):
        models = {"last": self._model, "best": self._best}
        return {k: self.to_bytes(v) for k, v in models.items() if v is not None}

    def restore(self, models, n_done, X, y, sample_weight=None):
        restored = {
            name: hand_over_fit(self.from_bytes(data), self._copy())
            for name, data in models.items()
        }
        self._model, self._best = restored["last"], restored.get("best")
        self.n_done = n_done

    def obstacle(self):
        for name, value in self.estimator.get_params().items():
            if isinstance(value, np.random.RandomState):
                return f"{name} is a RandomState, whose state is lost: use an int"
        return super().obstacle()
