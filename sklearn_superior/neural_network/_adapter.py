"""Training epoch by epoch, for early stopping and for comparisons."""

import math
from copy import copy
from time import perf_counter

from sklearn_superior.early_stopping._holdout import STOPPING_CONSTRAINTS
from sklearn_superior.neural_network._windows_input import (
    Encoding,
    WindowRows,
    check_params,
    check_training,
    check_windows,
    weigh_classes,
)
from sklearn_superior.staged.adapters import Checkpointed, Stages
from sklearn_superior.utils._checks import with_mean_one
from sklearn_superior.utils._optional import import_optional
from sklearn_superior.utils._warnings import warn

ADVICE = "Try a smaller learning_rate, or look for huge values in X or in the weights."


def torch_trainer():
    """Import the training loop, which needs torch."""
    import_optional("torch", caller="CNNClassifier", extra="torch")
    from sklearn_superior.neural_network import _trainer

    return _trainer


class CNNStages(Checkpointed, Stages):
    """`CNNClassifier`: a stage is an epoch.

    It sets the attributes `module_` and `_encoding` of the classifier.

    Parameters
    ----------
    estimator : CNNClassifier
        The classifier to train.

    checked : bool, default=False
        Whether the data is already checked, and the class weights are part of the
        sample weights.

    start : tuple of torch.nn.Module and Encoding, default=None
        The network to continue with, and its encoding. None: a new network.

    Attributes
    ----------
    encoding : Encoding
        Turns windows and labels into the input of the network.

    trainer : Trainer
        The network in training.

    losses, times : list of float
        Training loss and seconds of each epoch.
    """

    unit = "epoch"
    budget = "max_iter"
    without_effect = (
        *(STOPPING_CONSTRAINTS.keys() - {"random_state"}),
        "early_stopping",
        "validation_split",
    )
    rounding = 1e-4  # single precision
    packages = ("torch",)

    def __init__(self, estimator, *, checked=False, start=None):
        check_params(estimator)
        super().__init__(estimator)
        self._checked = checked
        self._module, self.encoding = (None, None) if start is None else start
        self.losses, self.times = [], []
        self._best = self._data = None

    def fit(self, X, y, X_val, on_stage, sample_weight=None):
        if self._data is None:
            self._begin(X, y, sample_weight)
        torch_side, trainer = torch_trainer(), self.trainer
        if X_val is not None:
            if not self._checked:
                X_val = check_windows(
                    self.estimator, X_val, shape=self.encoding.shape, name="X_val"
                )
            (X_val,) = trainer.place(self.encoding.transform(X_val))
        with torch_side.use_threads(self.estimator.n_jobs):
            for epoch in range(self.n_done, self.n_stages):
                start, y_proba = perf_counter(), None
                loss = trainer.train_epoch(*self._data)
                if X_val is not None:
                    y_proba = torch_side.to_proba(trainer.logits(X_val), self.encoding)
                loss = float(loss)  # read only now, so that a GPU need not wait
                if not math.isfinite(loss):
                    self._report_divergence(loss, epoch)
                    break
                self.losses.append(loss)
                self.times.append(perf_counter() - start)
                if on_stage(y_proba):
                    break

    def _begin(self, X, y, sample_weight):
        """Make the trainer, and encode the data for it."""
        model, torch_side = self.estimator, torch_trainer()
        data = WindowRows(X, y, sample_weight)
        if not self._checked:
            data = check_training(model, data)
            weigh_classes(model.class_weight, data.y)(data)
        data = data.with_weight()
        data.sample_weight = with_mean_one(data.sample_weight)
        if self.encoding is None:
            self.encoding = Encoding(
                data.X, model.classes_, standardize=model.standardize
            )
        self.encoding = self.encoding.knowing(data.y)
        self.column_classes = self.encoding.known_classes
        with torch_side.use_threads(model.n_jobs):
            self.trainer = torch_side.Trainer(model, self.encoding, self._module)
            self._data = self.trainer.place(*self.encoding.encode(data))
        model.module_, model._encoding = self.trainer.kept, self.encoding

    def _report_divergence(self, loss, epoch):
        if self._best is None:
            del self.estimator.module_
            raise ValueError(
                f"Training diverged: the loss is {loss} after epoch {epoch}. {ADVICE}"
            )
        self.has_failed = True
        warn(
            f"Training diverged in epoch {epoch}; the best previous epoch is kept. "
            f"{ADVICE}"
        )

    @property
    def weighs_scores(self):
        """Whether `fit` has class weights, which also count in its scores."""
        return self.estimator.class_weight is not None

    def facts(self):
        return [f"loss {self.losses[-1]:.6f}"]

    def remember(self):
        self._best = self.trainer.weights()

    def keep(self, stage):
        self.trainer.load_weights(self._best)

    def snapshot(self):
        return copy(self.estimator)  # with a copy of the network

    def dump(self):
        if self.has_failed:
            return None
        state = {"trainer": self.trainer.state(), "best": self._best}
        state |= {"losses": self.losses, "times": self.times}
        return {"last": torch_trainer().dump_tensors(state)}

    def restore(self, models, n_done, X, y, sample_weight=None):
        state = torch_trainer().load_tensors(models["last"])
        self._begin(X, y, sample_weight)
        self.trainer.load_state(state["trainer"])
        self._best, self.n_done = state["best"], n_done
        self.losses, self.times = state["losses"], state["times"]

    def why_unreadable(self, models):
        try:
            torch_trainer().load_tensors(models["last"])
        except Exception as exc:  # depends on the network's extra state
            return f"its network cannot be loaded again: {str(exc).splitlines()[0]}"
        return None

    def obstacle(self):
        module = self.estimator.module
        if hasattr(module, "state_dict") and not isinstance(module, type):
            return (
                "parameter module: a network cannot be identified in another process; "
                "pass a function or a class that builds it"
            )
        return None

    def initial_state(self):
        if self._module is None:
            return b""
        return torch_trainer().hash_network(self._module)
