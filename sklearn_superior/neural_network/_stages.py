"""Training epoch by epoch, for early stopping and for comparisons."""

import math
from time import perf_counter

import numpy as np
from scipy.special import softmax

from sklearn_superior.early_stopping import Stages
from sklearn_superior.neural_network._input import check_windows
from sklearn_superior.utils._warnings import warn


class CNNStages(Stages):
    """`CNNClassifier`: a stage is an epoch.

    Parameters
    ----------
    estimator : CNNClassifier
        What is trained.

    checked : bool
        Whether the data is checked and the classes are known.

    goes_on : bool
        Whether to go on from the present weights.
    """

    unit = "epoch"
    budget = "max_iter"
    without_effect = (
        "checkpoint_dir",
        "device",
        "early_stopping",
        "n_iter_no_change",
        "n_jobs",
        "resume",
        "scoring",
        "tol",
        "verbose",
    )
    can_resume = True

    def __init__(self, estimator, *, checked=False, goes_on=False):
        super().__init__(estimator)
        self._checked, self._goes_on = checked, goes_on
        self.losses, self.times = [], []
        self._best = self._restored = None

    def fit(self, X, y, X_val, on_stage, sample_weight=None):
        if not self._checked:
            X, y, sample_weight = self.estimator._check_training(X, y, sample_weight)
            X_val = check_windows(self.estimator, X_val, reset=False, name="X_val")
        with self.estimator._threads():
            self._train(X, y, X_val, on_stage, sample_weight)

    def _train(self, X, y, X_val, on_stage, sample_weight):
        model = self.estimator
        trainer = self._begin(X)
        data = trainer.place(*model._encode(X, y, sample_weight))
        if X_val is not None:
            (X_val,) = trainer.place(model._scaler.transform(X_val))
        for epoch in range(self.n_done, self.n_stages):
            start = perf_counter()
            loss = trainer.train_epoch(*data)
            y_proba = None
            if X_val is not None:
                y_proba = to_proba(trainer.logits(X_val))
            self.losses.append(float(loss))
            self.times.append(perf_counter() - start)
            if not math.isfinite(self.losses[-1]):
                self._diverged(epoch)
                break
            if on_stage(y_proba):
                break

    def _begin(self, X):
        model = self.estimator
        self.trainer = model._make_trainer(X, self._goes_on)
        if self._restored is not None:
            self.trainer.load_state(self._restored["trainer"])
            self.losses = list(self._restored["losses"])
            self.times = list(self._restored["times"])
        model.module_ = self.trainer.module
        return self.trainer

    def _diverged(self, epoch):
        advice = "Try a smaller learning_rate, or look for huge values in X."
        if self._best is None:
            del self.estimator.module_
            raise ValueError(
                f"Training diverged: the loss is {self.losses[-1]} after epoch "
                f"{epoch}. {advice}"
            )
        self.losses.pop()
        self.times.pop()
        warn(
            f"Training diverged in epoch {epoch}; the best epoch before is kept. "
            f"{advice}",
        )

    def facts(self):
        return [f"loss {self.losses[-1]:.6f}"]

    def remember(self):
        self._best = self.trainer.weights()

    def keep(self, stage):
        self.trainer.module.load_state_dict(self._best)

    def dump(self):
        from sklearn_superior.neural_network._training import dump_tensors

        last = {
            "trainer": self.trainer.state(),
            "losses": self.losses,
            "times": self.times,
        }
        models = {"last": dump_tensors(last)}
        if self._best is not None:
            models["best"] = dump_tensors(self._best)
        return models

    def restore(self, models, n_done):
        from sklearn_superior.neural_network._training import load_tensors

        self._restored = load_tensors(models["last"])
        if "best" in models:
            self._best = load_tensors(models["best"])
        self.n_done = n_done

    def complete(self, X, y):
        if not self._checked:
            X, *_ = self.estimator._check_training(X, y, None)
        self._begin(X)

    def staged_proba(self, X):
        raise TypeError(
            "CNNClassifier does not keep its epochs; only boosted ensembles can be "
            "scored stage by stage after they are fitted."
        )


def to_proba(logits):
    """Probabilities in double precision, on the host."""
    return softmax(logits.cpu().numpy().astype(np.float64), axis=1)
