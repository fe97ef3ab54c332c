"""The paper's convolutional network as a scikit-learn classifier."""

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
    Encoding,
    check_params,
    check_training,
    check_windows,
    weigh_classes,
)
from sklearn_superior.staged._scoring import align_columns, calibrate
from sklearn_superior.utils._checks import PATIENCE, Rows, says_instead
from sklearn_superior.utils._probabilistic import ProbabilisticMixin, all_or_nothing
from sklearn_superior.utils._sklearn_compat import CallbackSupportMixin, with_callbacks


class CNNClassifier(
    CallbackSupportMixin, ProbabilisticMixin, ClassifierMixin, BaseEstimator
):
    """Convolutional network for windows of signals, with early stopping by any scorer.

    The network has convolutions along time and a dense layer, like the network of the
    paper on superior scoring rules [1]_. It trains on a GPU if one is available. After
    every epoch the validation set is scored, and the weights of the best epoch are
    kept. Requires PyTorch.

    Parameters
    ----------
    channels : tuple of int, default=(64, 32, 16)
        Number of filters of each convolution.

    kernel_size : int, default=3
        Width of the filters, in time steps.

    hidden : int, default=1024
        Size of the dense layer.

    dropout : float, default=0.2
        Fraction of the values that are set to zero after each layer during training.

    loss : {"log_loss", "brier"}, default="log_loss"
        The loss to minimise: the log loss (cross-entropy) or the Brier score.

    optimizer : {"nadam", "adam", "sgd"}, default="nadam"
        The optimizer.

    learning_rate : float, default=1e-3
        The learning rate.

    clip_norm : float or None, default=None
        The largest norm of the gradient of a batch, all weights together. A longer
        gradient is shortened to it, so that a single batch cannot spoil the weights.

    ema : float or None, default=None
        Decay of an exponential moving average of the weights, which is then scored and
        kept instead of the weights themselves. After each batch, the average moves by
        the fraction ``1 - ema`` towards the new weights. The decay is smaller in the
        first batches. Values from 0.9 to 0.99 are common. Statistics of batch
        normalisation are averaged as well; other buffers and frozen parameters are
        copied.

    batch_size : int, default=32
        Maximum number of windows in a batch. All batches have about the same size. A
        single window that is left over joins another batch.

    max_iter : int, default=100
        Maximum number of epochs.

    early_stopping : bool, default=True
        Whether to stop when the validation score no longer improves, and to keep the
        best epoch. If False, all `max_iter` epochs are trained and the last one is
        kept.

    scoring : str, callable or None, default=None
        The scorer that selects the epoch; greater is better. None is the refined log
        loss, ``"neg_refined_log_loss"``. Use ``scoring="neg_penalized_brier_score"``
        for the penalized Brier score of the paper. A scorer can predict the
        whole validation set, but not parts of it.

    n_iter_no_change : int, default=20
        Number of epochs without improvement after which training stops.

    tol : float, default=0.0
        Minimum improvement over the best score. Absolute.

    validation_fraction : float, default=0.1
        Fraction of the windows to hold out for validation, if neither
        `validation_split` nor validation data is given. The split is stratified if
        possible.

    validation_split : splitter, "last" or None, default=None
        A scikit-learn splitter, whose first split is used, or ``"last"``: the last
        `validation_fraction` of the rows, of each group if there are groups.
        Prefer these options if windows overlap, because a random split would leak.

    calibration : {"auto", "temperature"} or None, default="auto"
        Whether to recalibrate the probabilities of the kept epoch by the temperature
        that fits the validation set best, see
        :func:`~sklearn_superior.metrics.fit_temperature`. ``"auto"`` does so if
        `scoring` is a refined rule, such as the default, ``"temperature"`` always, and
        None never. The predicted classes do not change. Without early stopping there is
        no recalibration.

    standardize : bool, default=True
        Whether to scale each channel to mean 0 and variance 1 on the training set. A
        channel that is constant up to rounding is only centred. Weights are ignored,
        except that windows of weight 0 are left out.

    class_weight : dict, "balanced" or None, default=None
        Non-negative class weights for training, the validation score and the
        temperature. Classes that are missing from a dict have weight 1. ``"balanced"``
        uses the class frequencies of the training set. `StagedSearchCV` and
        `compare_stopping_rules` train with these weights but score with their own
        `scoring`: use ``get_scorer(name, class_weight=...)`` there.

    device : str, default="auto"
        ``"cpu"``, ``"cuda"``, ``"cuda:1"``, ``"mps"``, or ``"auto"``: the first
        available of cuda, mps and cpu.

    module : {"paper", "residual"}, callable or torch.nn.Module, default="paper"
        The network. ``"paper"`` is that of the paper. ``"residual"`` has three residual
        blocks of convolutions [2]_, and most often lower losses. For your own network,
        pass a module or a callable. A callable gets the number of channels, the length
        of the windows and the number of classes, and returns a `torch.nn.Module` that
        maps a batch of shape (n, channels, length) to logits of shape (n, n_classes).
        Every fit trains a copy of the module. `channels`, `kernel_size`, `hidden` and
        `dropout` are those of ``"paper"``, and ignored otherwise.

    amp : bool, default=False
        Whether to train with automatic mixed precision, in bfloat16.

    compile : bool, default=False
        Whether to train with `torch.compile`. It is slow to start and needs a compiler.

    checkpoint_dir : str or path, default=None
        Folder for a checkpoint of scores, weights, optimizer and random states. It is
        written atomically. Use one folder per fit, not one for the folds of a
        cross-validation.

    resume : bool, default=False
        Whether to resume from the checkpoint in `checkpoint_dir`, if there is one. The
        result is the same as without the interruption. A checkpoint of a different
        training raises an error that lists the differences.

    warm_start : bool, default=False
        Whether `fit` continues with the network of the previous call. The parameters
        of the architecture are then ignored, and the optimizer is reset. The validation
        set consists of the same rows if `X` has as many rows as before.

    n_jobs : int or None, default=None
        Number of CPU threads. None means 1: small batches gain little from more, the
        result does not depend on the machine, and cross-validation can use the other
        cores. -1 means all. A fit outside the main thread always uses one.

    random_state : int, RandomState instance or None, default=None
        Controls the validation split, the initial weights, the order of the windows and
        dropout. The same seed gives the same weights on the same type of device.

    verbose : int, default=0
        If 1, print one line per epoch.

    Attributes
    ----------
    module_ : torch.nn.Module
        The trained network.

    best_iteration_ : int
        Index of the best epoch, from 0. Only with early stopping, like the next three
        attributes.

    best_score_ : float
        Score of the best epoch.

    validation_scores_ : ndarray of shape (n_iterations,)
        Score of each epoch.

    scorer_ : callable
        The scorer.

    n_iter_ : int
        Number of trained epochs.

    history_ : dict of str to ndarray of shape (n_iterations,)
        ``"train_loss"``, ``"time"`` in seconds and, with early stopping,
        ``"validation_score"`` of each epoch.

    temperature_ : float
        Temperature of the probabilities; 1.0 if they are not recalibrated.

    classes_ : ndarray of shape (n_classes,)
        The class labels.

    n_features_in_ : int
        Second dimension of `X`: the number of channels, or the length if `X` is 2-D.

    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if `X` has feature names that are all strings.

    See Also
    --------
    sklearn_superior.early_stopping.EarlyStoppingClassifier : The same for boosting.
    sklearn_superior.model_selection.sliding_windows : Cut recordings into windows.

    Notes
    -----
    Predictions are computed in single precision. A class that is missing from the
    training set gets probability 0. Ctrl-C during `fit` stops training with a warning
    and keeps the best epoch so far; in a search or cross-validation it stops one of
    many fits. ``set_callbacks(ProgressBar())``, from `sklearn.callback`, shows the
    progress.

    The text of the paper does not describe its network, but the authors' notebook does.
    There, the second and the third convolution are followed by a ReLU before the batch
    normalisation, which is omitted here.

    References
    ----------
    .. [1] R. Ahmadian, M. Ghatee, J. Wahlström: Superior scoring rules for
       probabilistic evaluation of single-label multi-class classification tasks,
       International Journal of Approximate Reasoning, 2025.

    .. [2] Z. Wang, W. Yan, T. Oates: Time series classification from scratch with deep
       neural networks, International Joint Conference on Neural Networks, 2017.

    Examples
    --------
    Windows with three channels and twenty time steps; the class is the rhythm.

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
        clip_norm=None,
        ema=None,
        batch_size=32,
        max_iter=100,
        early_stopping=True,
        scoring=None,
        n_iter_no_change=20,
        tol=0.0,
        validation_fraction=0.1,
        validation_split=None,
        calibration="auto",
        standardize=True,
        class_weight=None,
        device="auto",
        module="paper",
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
        self.clip_norm = clip_norm
        self.ema = ema
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
            Sample weights. They also weight the validation score; their scale does not
            matter.

        X_val, y_val : array-like, default=None
            Validation data. If given, all of `X` is used for training.

        sample_weight_val : array-like of shape (n_val,), default=None
            Sample weights of `X_val`.

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
        start = own_classes = None
        if continues:
            start = (torch_trainer().copy_network(self.module_), self._encoding)
        stages = CNNStages(self, checked=True, start=start)
        data = check_training(self, Rows(X, y, sample_weight), continues=continues)
        split = self._split(data, validation, groups, continues=continues)
        weigh = weigh_classes(self.class_weight, split.train.y, self.classes_)
        for rows in filter(None, (split.train, split.val)):
            weigh(rows)
        split.train = split.train.with_weight()
        self._forget_scores()
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
        history = {"train_loss": stages.losses, "time": stages.times}
        if self.early_stopping:
            history["validation_score"] = self.validation_scores_
        # An interrupted fit may have trained an epoch that was not scored.
        self.history_ = {
            key: np.array(values[: self.n_iter_]) for key, values in history.items()
        }

    def _split(self, data, validation, groups, *, continues):
        """Split off the validation set, the same one as before if training continues.

        Otherwise it would hold windows that the network was trained on.
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
            self, data, (X_val, *labels_val), groups, validates=self.early_stopping
        )
        if splits:
            self._validation_rows = (n_all, split.train.X.rows, split.val.X.rows)
            split.val.X = np.asarray(split.val.X)
        return split

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Train for one epoch, as part of incremental training.

        Every call uses the current parameters, except those of the architecture,
        `standardize` and `random_state`, which are read in the first call. A call that
        fails changes nothing.

        Parameters
        ----------
        X : array-like of shape (n_samples, length) or (n_samples, channels, length)
            Training windows. The channels are standardised with the mean and variance
            of the first call.

        y : array-like of shape (n_samples,)
            Class labels.

        classes : array-like of shape (n_classes,), default=None
            All classes that may occur. Required in the first call, unless `y` has all
            of them.

        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights. They are not rescaled, nor are class weights, so that they
            are comparable across calls.

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
                "class_weight='balanced' cannot be used with partial_fit, which does "
                "not know the class frequencies in other calls. Use a dict."
            )
        torch_side, continues = torch_trainer(), hasattr(self, "module_")
        data = Rows(X, y, sample_weight)
        data = check_training(
            self, data, continues=continues, classes=classes, n_least=1
        )
        weigh_classes(self.class_weight, data.y, self.classes_)(data)
        data = data.with_weight()
        module = state = None
        if continues:
            module = torch_side.copy_network(self.module_)
            state = vars(self).get("_training")
        else:
            self._encoding = Encoding(
                data.X, self.classes_, standardize=self.standardize
            ).knowing(self.classes_)
        self._encoding = self._encoding.knowing(data.y)
        with torch_side.use_threads(self.n_jobs):
            trainer = torch_side.Trainer(self, self._encoding, module, state)
            data = trainer.place(*self._encoding.encode(data))
            loss = float(trainer.train_epoch(*data))
        if not np.isfinite(loss):
            raise ValueError(f"Training diverged: the loss is {loss}. {ADVICE}")
        self._forget_scores()
        self.module_, self._training = trainer.kept, trainer.state()
        del self._training["networks"]["kept"]
        losses = vars(self).get("history_", {"train_loss": []})["train_loss"]
        self.history_ = {"train_loss": np.append(losses, loss)}
        self.n_iter_ = len(self.history_["train_loss"])
        self.temperature_ = 1.0

    def predict_proba(self, X):
        """Predict class probabilities.

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
        y_proba = torch_trainer().predict_proba(
            self.module_, self._encoding, X, device=self.device, n_jobs=self.n_jobs
        )
        y_proba = calibrate(self, y_proba)
        return align_columns(y_proba, self._encoding.known_classes, self.classes_)

    def _forget_scores(self):
        """Remove what a previous fit has left and does not hold for other weights."""
        names = "best_iteration_ best_score_ scorer_ temperature_ validation_scores_"
        for name in (*names.split(), "_training"):
            vars(self).pop(name, None)

    def __getstate__(self):
        # On the CPU, so that a pickle can be loaded where the device is missing.
        state = dict(super().__getstate__())
        if "module_" in state:
            state["module_"] = deepcopy(self.module_).cpu()
        if "_training" in state:
            torch_side = torch_trainer()
            tensors = torch_side.dump_tensors(self._training)
            state["_training"] = torch_side.load_tensors(tensors)
        return state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags


register_stages(CNNClassifier, CNNStages)
