"""Training epoch by epoch, for early stopping and for comparisons."""

import math
from copy import copy
from time import perf_counter

from sklearn_superior.neural_network._windows_input import (
    ClassWeights,
    Encoding,
    WindowRows,
    Windows,
    check_params,
    check_training,
    check_windows,
    with_mean_1,
)
from sklearn_superior.staged.adapters import Checkpointed, Stages
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

    It takes the parameters from the classifier, and hands over to it the network and
    the encoding of the data: the attributes `module_` and `_encoding`.

    Parameters
    ----------
    estimator : CNNClassifier
        What is trained.

    checked : bool, default=False
        Whether the data is checked, and the weights of the classes are in those of
        the samples.

    start : tuple of torch.nn.Module and Encoding, default=None
        The network to continue with, and what it takes. None: a new one.

    Attributes
    ----------
    encoding : Encoding
        What the network takes.

    trainer : Trainer
        The network in training.

    losses, times : list of float
        Training loss and seconds of each epoch.
    """

    unit = "epoch"
    budget = "max_iter"
    without_effect = (
        "calibration",
        "checkpoint_dir",
        "early_stopping",
        "n_iter_no_change",
        "resume",
        "scoring",
        "tol",
        "validation_fraction",
        "validation_split",
        "verbose",
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
        trainer = self.trainer
        if X_val is not None:
            if not self._checked:
                X_val = check_windows(
                    self.estimator, X_val, shape=self.encoding.shape, name="X_val"
                )
            (X_val,) = trainer.place(self.encoding.transform(X_val))
        with torch_trainer().use_threads(self.estimator.n_jobs):
            for epoch in range(self.n_done, self.n_stages):
                start = perf_counter()
                loss = trainer.train_epoch(*self._data)
                y_proba = None if X_val is None else self._predict(X_val)
                self.losses.append(float(loss))
                self.times.append(perf_counter() - start)
                if not math.isfinite(self.losses[-1]):
                    self._diverged(epoch)
                    break
                if on_stage(y_proba):
                    break

    def _predict(self, X):
        return torch_trainer().to_proba(self.trainer.logits(X), self.encoding)

    def _begin(self, X, y, sample_weight):
        """Make the trainer, and encode the data for it."""
        model, torch_side = self.estimator, torch_trainer()
        if not self._checked:
            X, y, sample_weight, model.classes_ = check_training(
                model, X, y, sample_weight
            )
            sample_weight = ClassWeights(model.class_weight, y).apply(y, sample_weight)
        data = WindowRows(X if isinstance(X, Windows) else Windows(X), y, sample_weight)
        data = data.with_weight()
        data.sample_weight = with_mean_1(data.sample_weight)
        if self.encoding is None:
            self.encoding = Encoding(
                data.X, model.classes_, standardize=model.standardize
            )
        self.encoding = self.encoding.knowing(data.y)
        self.column_classes = self.encoding.known_classes
        with torch_side.use_threads(model.n_jobs):
            self.trainer = torch_side.make_trainer(model, self.encoding, self._module)
            self._data = self.trainer.place(*self.encoding.encode(data))
        model.module_, model._encoding = self.trainer.module, self.encoding

    def _diverged(self, epoch):
        if self._best is None:
            del self.estimator.module_
            raise ValueError(
                f"Training diverged: the loss is {self.losses[-1]} after epoch "
                f"{epoch}. {ADVICE}"
            )
        self.losses.pop()
        self.times.pop()
        self.has_failed = True
        warn(
            f"Training diverged in epoch {epoch}; the best epoch before is kept. "
            f"{ADVICE}"
        )

    @property
    def weighs_scores(self):
        """Whether `fit` has weights of classes, which count in its scores, too."""
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
        dump_tensors = torch_trainer().dump_tensors
        last = {"trainer": self.trainer.state()}
        last |= {"losses": self.losses, "times": self.times}
        models = {"last": dump_tensors(last)}
        if self._best is not None:
            models["best"] = dump_tensors(self._best)
        return models

    def restore(self, models, n_done, X, y, sample_weight=None):
        load_tensors = torch_trainer().load_tensors
        last = load_tensors(models["last"])
        losses, times = list(last["losses"]), list(last["times"])
        if not len(losses) == len(times) == n_done:
            raise ValueError("The checkpoint has another number of epochs than scores.")
        self._begin(X, y, sample_weight)
        if "best" in models:
            self._best = load_tensors(models["best"])
            self.trainer.load_weights(self._best)  # an error if it does not fit
        self.trainer.load_state(last["trainer"])
        self.losses, self.times, self.n_done = losses, times, n_done

    def why_unreadable(self, models):
        try:
            torch_trainer().load_tensors(models["last"])
        except Exception as exc:  # whatever the network has in its extra state
            return f"its network cannot be read again: {str(exc).splitlines()[0]}"
        return None

    def obstacle(self):
        module = self.estimator.module
        if hasattr(module, "state_dict") and not isinstance(module, type):
            return (
                "parameter module: a network cannot be recognised in another process; "
                "give a function or a class that builds it"
            )
        return None

    def initial_state(self):
        if self._module is None:
            return b""
        return torch_trainer().network_bytes(self._module)
