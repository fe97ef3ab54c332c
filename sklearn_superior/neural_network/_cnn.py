"""The paper's convolutional network as a classifier of scikit-learn."""

from copy import deepcopy

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

from sklearn_superior.early_stopping import register_stages
from sklearn_superior.early_stopping._holdout import (
    fit_holdout,
    make_training,
    names_validation_data,
    split_validation,
)
from sklearn_superior.neural_network._adapter import ADVICE, CNNStages, torch_trainer
from sklearn_superior.neural_network._windows_input import (
    ClassWeights,
    Encoding,
    WindowRows,
    Windows,
    check_params,
    check_training,
    check_windows,
)
from sklearn_superior.staged._scoring import align_columns, calibrate
from sklearn_superior.utils._checks import PATIENCE, says_instead
from sklearn_superior.utils._probabilistic import ProbabilisticMixin, all_or_nothing
from sklearn_superior.utils._sklearn_compat import CallbackSupportMixin, with_callbacks

_SCORE_ATTRIBUTES = (
    "best_iteration_",
    "best_score_",
    "scorer_",
    "temperature_",
    "validation_scores_",
)


class CNNClassifier(
    CallbackSupportMixin, ProbabilisticMixin, ClassifierMixin, BaseEstimator
):
    """Convolutional network for windows of signals, stopped early by any scorer.

    Convolutions along time, then a dense layer, after the network of the paper on
    superior scoring rules [1]_. It trains on a GPU where there is one. After every
    epoch the validation data is scored, and the weights of the best epoch are kept.
    Needs PyTorch.

    Parameters
    ----------
    channels : tuple of int, default=(64, 32, 16)
        Number of filters of each convolution.

    kernel_size : int, default=3
        Width of the filters, in time steps.

    hidden : int, default=1024
        Size of the dense layer.

    dropout : float, default=0.2
        Share of the values that are set to zero in training, after each layer.

    loss : {"log_loss", "brier"}, default="log_loss"
        What is minimised: the log loss (cross-entropy) or the Brier score.

    optimizer : {"nadam", "adam", "sgd"}, default="nadam"
        How it is minimised.

    learning_rate : float, default=1e-3
        Size of the steps.

    batch_size : int, default=32
        Largest number of windows in a batch. All batches are of about equal size, and
        a window that would be left alone joins another batch.

    max_iter : int, default=100
        Largest number of epochs.

    early_stopping : bool, default=True
        Whether to validate, to stop when the score no longer improves and to keep the
        best epoch. With False all `max_iter` epochs are trained and the last one is
        kept.

    scoring : str, callable or None, default=None
        Any scorer; greater is better. None is the penalized Brier score. A scorer sees
        the predictions of the validation data as a whole, and no others.

    n_iter_no_change : int, default=10
        Number of epochs without improvement after which training stops.

    tol : float, default=0.0
        By how much a score must exceed the best one to be an improvement. Absolute.

    validation_fraction : float, default=0.1
        Share of the windows to validate on, if neither `validation_split` nor
        validation data is given. The classes keep their shares as far as possible.

    validation_split : splitter, "last" or None, default=None
        A splitter of scikit-learn, whose first split is used, or ``"last"``: the last
        `validation_fraction` of the rows, in each group if there are groups. Windows
        that overlap leak from a random part into the other: prefer these.

    calibration : {"auto", "temperature"} or None, default="auto"
        Whether the probabilities of the kept epoch are recalibrated by the temperature
        that is best on the validation data, see
        :func:`~sklearn_superior.metrics.fit_temperature`: always, never (None), or if
        the rule that chooses is a refined one (``"auto"``), which judges them so, as
        the default is not. The predicted classes stay the same. Without early stopping
        there is none.

    standardize : bool, default=True
        Whether to bring each channel to mean 0 and variance 1 over the training part.
        A channel that is constant there up to rounding only gets mean 0. Weights have
        no part in it, but windows of weight 0 are left out.

    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, in training, in the validation score and in the
        temperature: numbers from 0 up, and 1 for a class that a dict does not name.
        ``"balanced"`` weighs by the frequencies of the classes in the training part.
        `StagedSearchCV` and `compare_stopping_rules` train with them, but score by
        their own `scoring`: ``get_scorer(name, class_weight=...)`` has them.

    device : str, default="auto"
        ``"cpu"``, ``"cuda"``, ``"cuda:1"``, ``"mps"``; ``"auto"`` takes cuda, else mps,
        else cpu.

    module : callable, torch.nn.Module or None, default=None
        Builds a network of your own: called with the number of channels, the length
        of the windows and the number of classes, it returns a `torch.nn.Module` that
        turns a batch of shape (n, channels, length) into logits of shape
        (n, n_classes). A module is a template. Each fit trains a copy. The parameters
        of the architecture are not used then.

    amp : bool, default=False
        Automatic mixed precision: train in bfloat16 where that is safe.

    compile : bool, default=False
        Train with `torch.compile`: takes a while to start, and needs a compiler.

    checkpoint_dir : str or path, default=None
        Folder in which to keep a checkpoint: scores, weights, optimizer and random
        numbers. It is written whole or not at all. A folder is for one fit: not for
        the folds of a cross-validation.

    resume : bool, default=False
        Resume from the checkpoint in `checkpoint_dir`, if there is one, to the result
        of training without a break. A checkpoint of another training is an error that
        says what differs.

    warm_start : bool, default=False
        Whether `fit` continues with the network of the previous call. The parameters
        of the architecture are ignored then, and the optimizer is reset. The same rows
        are validated on, if `X` has as many as before.

    n_jobs : int or None, default=None
        Number of threads on the CPU. None means 1: small batches gain little from
        more, the result does not depend on the machine, and cross-validation can use
        the other cores. -1 means all. A fit in a thread of its own always has one.

    random_state : int, RandomState instance or None, default=None
        Chooses the validation part, the first weights, the order of the windows and
        what is dropped. The same seed on the same kind of device gives the same
        weights.

    verbose : int, default=0
        With 1, print a line for each epoch.

    Attributes
    ----------
    module_ : torch.nn.Module
        The trained network.

    best_iteration_ : int
        Number of the best epoch, from 0. Only with early stopping, as the next three.

    best_score_ : float
        Its score.

    validation_scores_ : ndarray of shape (n_iterations,)
        The score of each epoch.

    scorer_ : callable
        The scorer that `scoring` means.

    n_iter_ : int
        Number of epochs that were trained.

    history_ : dict of str to ndarray of shape (n_iterations,)
        ``"train_loss"``, ``"time"`` in seconds and, with early stopping,
        ``"validation_score"`` of each epoch.

    temperature_ : float
        The temperature of the probabilities, 1.0 if they are not recalibrated.

    classes_ : ndarray of shape (n_classes,)
        The class labels.

    n_features_in_ : int
        Second dimension of `X`: the number of channels, or the length if there is but
        one channel.

    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    sklearn_superior.early_stopping.EarlyStoppingClassifier : The same for boosting.
    sklearn_superior.model_selection.sliding_windows : Cuts recordings into windows.

    Notes
    -----
    Predictions are made in single precision. A class that is missing from the training
    part gets probability 0. Ctrl-C during `fit` ends training with a warning and keeps
    the best epoch so far; in a search or cross-validation that is one fit of many.
    ``set_callbacks(ProgressBar())``, of `sklearn.callback`, shows the epochs.

    The text of the paper does not describe its network; the authors' notebook does.
    There, the second and the third convolution have a ReLU before the batch
    normalisation, which is left out here.

    References
    ----------
    .. [1] R. Ahmadian, M. Ghatee, J. Wahlström: Superior scoring rules for
       probabilistic evaluation of single-label multi-class classification tasks,
       International Journal of Approximate Reasoning, 2025.

    Examples
    --------
    Windows of three channels and twenty time steps; the class is the rhythm.

    >>> import numpy as np
    >>> from sklearn_superior.neural_network import CNNClassifier
    >>> rng = np.random.RandomState(0)
    >>> y = rng.choice(["slow", "fast"], size=300)
    >>> phase = rng.uniform(0, 6, size=(300, 3, 1))
    >>> speed = np.where(y == "slow", 0.5, 1.0)[:, np.newaxis, np.newaxis]
    >>> X = np.sin(speed * np.arange(20) + phase) + rng.normal(size=(300, 3, 20))
    >>> model = CNNClassifier(hidden=64, max_iter=15, random_state=0)
    >>> model.fit(X[:200], y[:200]).score(X[200:], y[200:]) > 0.8
    True
    """

    @says_instead(**PATIENCE)
    def __init__(
        self,
        *,
        channels=(64, 32, 16),
        kernel_size=3,
        hidden=1024,
        dropout=0.2,
        loss="log_loss",
        optimizer="nadam",
        learning_rate=1e-3,
        batch_size=32,
        max_iter=100,
        early_stopping=True,
        scoring=None,
        n_iter_no_change=10,
        tol=0.0,
        validation_fraction=0.1,
        validation_split=None,
        calibration="auto",
        standardize=True,
        class_weight=None,
        device="auto",
        module=None,
        amp=False,
        compile=False,
        checkpoint_dir=None,
        resume=False,
        warm_start=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.channels = channels
        self.kernel_size = kernel_size
        self.hidden = hidden
        self.dropout = dropout
        self.loss = loss
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.early_stopping = early_stopping
        self.scoring = scoring
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.validation_fraction = validation_fraction
        self.validation_split = validation_split
        self.calibration = calibration
        self.standardize = standardize
        self.class_weight = class_weight
        self.device = device
        self.module = module
        self.amp = amp
        self.compile = compile
        self.checkpoint_dir = checkpoint_dir
        self.resume = resume
        self.warm_start = warm_start
        self.n_jobs = n_jobs
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
        """Train until the score stops improving, and keep the best epoch.

        Parameters
        ----------
        X : array-like of shape (n_samples, length) or (n_samples, channels, length)
            Training windows.

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
            self._fit(X, y, sample_weight, (X_val, y_val, sample_weight_val), groups)
        return self

    def _fit(self, X, y, sample_weight, validation, groups):
        continues = bool(self.warm_start) and hasattr(self, "module_")
        start = None
        if continues:
            start = (torch_trainer().copy_network(self.module_), self._encoding)
        stages = CNNStages(self, checked=True, start=start)
        X, y, weight = self._check_training(X, y, sample_weight, continues=continues)
        data = WindowRows(Windows(X), y, weight)
        split = self._split(data, validation, groups, continues=continues)
        weights = ClassWeights(self.class_weight, split.train.y, self.classes_)
        for rows in (split.train, split.val):
            if rows is not None:
                rows.sample_weight = weights.apply(rows.y, rows.sample_weight)
        split.train = split.train.with_weight()
        for name in (*_SCORE_ATTRIBUTES, "_training"):
            vars(self).pop(name, None)
        own_classes = None
        if continues:
            own_classes = np.union1d(self._encoding.known_classes, split.train.y)
        training = make_training(
            self, split, self.classes_, own_classes=own_classes, stages=stages
        )
        holdout = fit_holdout(
            self,
            training,
            split,
            lambda network: vars(network) | {"classes_": self.classes_},
        )
        holdout.set_on(self)
        self.history_ = {"train_loss": stages.losses, "time": stages.times}
        if self.early_stopping:
            self.history_["validation_score"] = self.validation_scores_
        self.history_ = {
            key: np.array(values[: self.n_iter_])
            for key, values in self.history_.items()
        }

    def _split(self, data, validation, groups, *, continues):
        """Split off the validation part, the same one if training continues.

        Another one would hold windows that the network was trained on.
        """
        check_consistent_length(data.y, groups)
        n_all, (X_val, *labels_val) = len(data.y), validation
        if X_val is not None and self.early_stopping:
            X_val = check_windows(self, X_val, shape=data.X.shape[1:], name="X_val")
        splits = self.early_stopping and all(part is None for part in validation)
        n_rows, *parts = vars(self).pop("_validation_rows", (None,))
        if splits and continues and n_rows == n_all:
            data, val = map(data.take, parts)
            X_val, labels_val, groups = val.X, (val.y, val.sample_weight), None
        split = split_validation(
            self,
            data,
            (X_val, *labels_val),
            groups,
            validates=self.early_stopping,
        )
        if splits:
            self._validation_rows = (n_all, split.train.X.rows, split.val.X.rows)
            split.val.X = np.asarray(split.val.X)
        return split

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Train for one epoch, on data of which there may be more to come.

        A call takes the parameters as they are then, but those of the architecture,
        `standardize` and `random_state`, which count in the first call. A call that
        fails changes nothing.

        Parameters
        ----------
        X : array-like of shape (n_samples, length) or (n_samples, channels, length)
            Training windows. Those of the first call give the mean and the variance
            by which the channels are standardised.

        y : array-like of shape (n_samples,)
            Class labels.

        classes : array-like of shape (n_classes,), default=None
            All the classes that may ever come. Needed in the first call, unless `y`
            has them all.

        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights. They are used as they are, those of the classes as well, so
            that they count from one call to the next.

        Returns
        -------
        self : object
        """
        with all_or_nothing(self):
            self._partial_fit(X, y, classes, sample_weight)
        return self

    def _partial_fit(self, X, y, classes, sample_weight):
        check_params(self)
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight='balanced' is not for partial_fit, which does not know "
                "the frequencies of the classes in other calls. Use a dict."
            )
        torch_side, continues = torch_trainer(), hasattr(self, "module_")
        X, y, weight = self._check_training(
            X, y, sample_weight, continues=continues, classes=classes, n_least=1
        )
        weight = ClassWeights(self.class_weight, y, self.classes_).apply(y, weight)
        data = WindowRows(Windows(X), y, weight).with_weight()
        module = state = None
        if continues:
            module = torch_side.copy_network(self.module_)
            state = vars(self).get("_training")
        else:
            self._encoding = Encoding(
                data.X, self.classes_, standardize=self.standardize
            ).knowing(self.classes_)
        self._encoding = self._encoding.knowing(data.y)
        if isinstance(state, bytes):  # from a pickle
            state = torch_side.load_tensors(state)
        with torch_side.use_threads(self.n_jobs):
            trainer = torch_side.make_trainer(self, self._encoding, module, state)
            data = trainer.place(*self._encoding.encode(data))
            loss = float(trainer.train_epoch(*data))
        if not np.isfinite(loss):
            raise ValueError(f"Training diverged: the loss is {loss}. {ADVICE}")
        self.module_, self._training = trainer.module, trainer.state()
        del self._training["module"]
        losses = vars(self).get("history_", {"train_loss": []})["train_loss"]
        self.history_ = {"train_loss": np.append(losses, loss)}
        self.n_iter_ = len(self.history_["train_loss"])
        for name in _SCORE_ATTRIBUTES:  # they are of weights that are gone
            vars(self).pop(name, None)
        self.temperature_ = 1.0

    def predict_proba(self, X):
        """Return the probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, length) or (n_samples, channels, length)
            Windows.

        Returns
        -------
        y_proba : ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self, "module_")
        X = check_windows(self, X, shape=self._encoding.shape)
        options = {"device": self.device, "n_jobs": self.n_jobs}
        y_proba = torch_trainer().predict_proba(
            self.module_, self._encoding, X, **options
        )
        y_proba = calibrate(self, y_proba)
        return align_columns(y_proba, self._encoding.known_classes, self.classes_)

    def _check_training(self, X, y, sample_weight, *, continues, **options):
        """Check the data, and take the classes from it, unless training continues."""
        if continues:
            options |= {"shape": self._encoding.shape, "known": self.classes_}
        *data, classes = check_training(self, X, y, sample_weight, **options)
        if not continues:
            vars(self).pop("module_", None)  # it is for other classes
            self.classes_ = classes
        return data

    def __getstate__(self):
        state = dict(super().__getstate__())  # a copy of the instance's own
        if "module_" in state:  # to load where the device is missing
            state["module_"] = deepcopy(self.module_).cpu()
        if isinstance(state.get("_training"), dict):
            state["_training"] = torch_trainer().dump_tensors(self._training)
        return state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags


register_stages(CNNClassifier, CNNStages)
