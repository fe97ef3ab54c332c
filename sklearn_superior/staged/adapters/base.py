"""The contracts of an adapter: to train in stages, and to be checkpointed."""

from abc import ABC, abstractmethod
from numbers import Integral

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import clone

from sklearn_superior.utils._optional import import_optional
from sklearn_superior.utils._sklearn_compat import MODEL_TYPES


class Stages(ABC):
    """Base class of the adapters: one for each family of estimators.

    An adapter trains its estimator and, after each stage (a tree, an epoch), hands
    over the probabilities of that stage. These come from what the library has at
    hand, so that a stage costs the prediction of that stage alone.

    Parameters
    ----------
    estimator : estimator
        A private copy with the user's own parameters, not fitted. After `keep` it is
        fitted. An adapter that needs other parameters for training sets them on a
        copy of its own.

    See Also
    --------
    register_stages : Make an adapter known.

    Examples
    --------
    >>> from copy import deepcopy
    >>> from sklearn_superior.early_stopping import Stages
    >>> class PartialFit(Stages):
    ...     budget = "max_iter"
    ...
    ...     def fit(self, X, y, X_val, on_stage, sample_weight=None):
    ...         for _ in range(self.n_stages):
    ...             self.estimator.partial_fit(X, y, classes=[0, 1])
    ...             if on_stage(self.estimator.predict_proba(X_val)):
    ...                 break
    ...
    ...     def remember(self):
    ...         self.best = deepcopy(self.estimator)
    ...
    ...     def keep(self, stage):
    ...         self.estimator = self.best
    """

    # What a stage is called.
    unit = "stage"
    # The parameter of the estimator that holds the number of stages.
    budget = "n_estimators"
    # Other parameters that do not change what a stage becomes.
    without_effect: tuple = ()
    # Whether the estimator wants the labels to be 0, 1, … instead of any.
    encodes_labels = False
    # Maximum number of threads, or None for no limit.
    max_threads: int | None = None
    # Packages that the result depends on besides that of the estimator.
    packages: tuple = ()
    # By how much a kept model may differ from its stage; None: by the type of numbers.
    rounding: float | None = None
    # Whether training again gives the same stages, for models that cannot be cut back.
    trains_again = False
    # What is known to make a kept model predict otherwise than its stage did.
    known_causes = ""
    # Whether the library has one source of random numbers for each thread, which
    # trainings in lockstep must not share.
    needs_own_thread = False
    # Whether training has failed on the way, set by `fit`.
    has_failed = False
    # Classes in the order of the columns of probabilities, set by `fit`. None: sorted.
    column_classes = None

    def __init__(self, estimator):
        self.estimator = estimator

    @property
    def n_stages(self):
        """Largest number of stages that `fit` may train."""
        return getattr(self.estimator, self.budget)

    def budget_name(self):
        """Return under which name the user gives the number of stages."""
        return self.budget

    @abstractmethod
    def fit(self, X, y, X_val, on_stage, sample_weight=None):
        """Train the estimator.

        An exception of `on_stage`, `KeyboardInterrupt` included, ends training and is
        raised; the stages handed over before can still be kept.

        Parameters
        ----------
        X, y, sample_weight : array-like
            The training data.

        X_val : array-like
            The data to predict after each stage.

        on_stage : callable
            Called after each stage with the probabilities for `X_val`, of shape
            (n_val, n_classes) with the classes that are in `y`. Returns whether to
            stop. To be called in the thread of `fit`, which waits in it: other
            trainings may advance in the meantime.
        """

    def set_seed(self, seed):
        """Set all random states of the estimator, which is not fitted yet."""
        set_seeds(self.estimator, seed)

    def limit_threads(self, own):
        """Return the number of threads: the user's `own`, up to `max_threads`."""
        most = self.max_threads
        return own if most is None or own in range(1, most + 1) else most

    def remember(self):  # noqa: B027
        """Store the present stage; called from `on_stage`.

        Only needed by adapters whose `keep` cannot cut back to any stage.
        """

    @abstractmethod
    def keep(self, stage):
        """Make `estimator` predict as it did after `stage`, counted from 0."""

    def snapshot(self):
        """Return an estimator that predicts as the present stage does.

        Called from `on_stage`, for callbacks that ask for it. None if the library has
        no model before training is over.
        """
        return None

    def staged_proba(self, X):
        """Return the probabilities of a fitted estimator, stage by stage."""
        if not hasattr(self.estimator, "staged_predict_proba"):
            raise TypeError(
                f"{type(self.estimator).__name__} does not keep its {self.unit}s; only "
                "boosted ensembles can be scored stage by stage after they are fitted."
            )
        return self.estimator.staged_predict_proba(X)

    @property
    def weighs_scores(self):
        """Whether the estimator's own validation score has weights of classes."""
        return False

    def facts(self):
        """Return what `verbose` shows of the present stage, a list of str."""
        return []

    def obstacle(self):
        """Return why training cannot be checkpointed and resumed; None if it can.

        Called before the first stage.
        """
        return f"the adapter of {type(self.estimator).__name__} writes no checkpoints"


class Checkpointed(ABC):
    """What an adapter adds to `Stages` so that its training can be checkpointed.

    Training that resumes must come to the result of training without a break. `n_done`
    is the number of stages that `restore` has brought.
    """

    n_done = 0

    def obstacle(self):
        """Return why training cannot resume; None if it can."""
        return None

    @abstractmethod
    def dump(self):
        """Return the models as bytes, by the names ``"last"`` and maybe ``"best"``.

        Called from `on_stage` and after `fit`. None if training has failed since the
        last stage.
        """

    def why_unreadable(self, models):
        """Return why what `dump` returned could not be read again; None if it can."""
        return None

    @abstractmethod
    def restore(self, models, n_done, X, y, sample_weight=None):
        """Take over the models of a checkpoint, or raise an error.

        Afterwards either `fit` is called, with the same data, or `keep` if no stage is
        left to train.

        Parameters
        ----------
        models : dict of str to bytes
            What `dump` returned.

        n_done : int
            Number of stages that were trained.

        X, y, sample_weight : array-like
            The training data.
        """

    def initial_state(self):
        """Return what training starts from besides data and parameters, as bytes."""
        return b""


class SkopsFormat:
    """Adds bytes in the format of skops to an adapter that is `Checkpointed`.

    Estimators of scikit-learn are read from it without running code of the file.
    """

    def obstacle(self):
        """Return whether what is trained could not be read again."""
        unreadable = self.why_unreadable({"": self.to_bytes(self.estimator)})
        return super().obstacle() if unreadable is None else unreadable

    def why_unreadable(self, models):
        """Return which types of the models would be refused."""
        skops, types = _skops(), set()
        for data in models.values():
            types |= {*skops.get_untrusted_types(data=data)} - MODEL_TYPES
        if not types:
            return None
        return f"skops, which reads checkpoints, does not trust {sorted(types)}"

    def to_bytes(self, estimator):
        """Bytes of an estimator."""
        return _skops().dumps(estimator)

    def from_bytes(self, data):
        """Estimator from bytes; types that are not known to be safe are refused."""
        return _skops().loads(data, trusted=sorted(MODEL_TYPES))


def _skops():
    return import_optional("skops.io", caller="checkpoint_dir", extra="checkpoint")


def set_seeds(estimator, seed):
    """Set all seeds of an estimator and of what is in it, under any name.

    These are `random_state`, `seed` and what ends in ``_seed``, such as LightGBM's
    `bagging_seed`, if it holds a whole number or None.
    """
    names = []
    for name, value in estimator.get_params().items():
        last = name.rpartition("__")[-1]
        is_number = isinstance(value, Integral) and not isinstance(value, bool)
        if last == "random_state" or (
            (last == "seed" or last.endswith("_seed")) and (value is None or is_number)
        ):
            names.append(name)
    estimator.set_params(**dict.fromkeys(names, seed))


def copy_with(estimator, **params):
    """Copy an estimator, not fitted, with other parameters."""
    return clone(estimator).set_params(**params)


def hand_over_fit(source, target, before=()):
    """Give `target` all that `fit` has set on `source`, but the parameters.

    `before` are the attributes of `source` before it was fitted, if these are more
    than parameters.
    """
    params = target.get_params(deep=False).keys() | source.get_params(deep=False).keys()
    for name, value in vars(source).items():
        if name not in params and not (name in before and before[name] is value):
            setattr(target, name, value)
    return target


def check_n_stages(n_stages, n_done):
    """Check that a restored model has the stages of its scores."""
    if n_stages != n_done:
        raise ValueError(f"it has {n_done} scores, but its model {n_stages} stages")


def two_columns(p):
    """Probabilities of both classes from those of the second."""
    if p.ndim == 2:
        return p
    both = np.empty((len(p), 2), dtype=p.dtype)
    np.subtract(1, p, out=both[:, 0])
    both[:, 1] = p
    return both


def margin_to_proba(margin):
    """Probabilities of the classes from additive scores."""
    margin = np.asarray(margin)
    if margin.ndim == 1:
        return two_columns(expit(margin))
    return softmax(margin, axis=1)


def stand_in_labels(X_val, y):
    """Labels for libraries that want some: the first class throughout.

    So the labels of the validation data cannot reach the training.
    """
    n_rows = X_val.shape[0] if hasattr(X_val, "shape") else len(X_val)
    return np.full(n_rows, np.asarray(y)[0])
