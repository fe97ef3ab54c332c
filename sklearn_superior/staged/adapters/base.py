"""What an adapter must provide: training in stages, and checkpoints."""

from abc import ABC, abstractmethod
from numbers import Integral

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import clone

from sklearn_superior.utils._optional import import_optional
from sklearn_superior.utils._sklearn_compat import MODEL_TYPES, count_rows


class Stages(ABC):
    """Base class of the adapters, one for each family of estimators.

    An adapter trains its estimator and reports the probabilities after each stage (a
    tree, an epoch). It reads them from predictions that the library updates as it
    trains, so a stage costs no more than its own prediction.

    Parameters
    ----------
    estimator : estimator
        An unfitted private copy with the user's parameters, fitted after `keep`. An
        adapter that needs other parameters for training sets them on its own copy.

    See Also
    --------
    register_stages : Register an adapter.

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
    # Other parameters that do not change a stage.
    without_effect: tuple = ()
    # Maximum number of threads, or None for no limit.
    max_threads: int | None = None
    # Packages that the result depends on besides that of the estimator.
    packages: tuple = ()
    # How much a kept model may differ from its stage; None: depends on the dtype.
    rounding: float | None = None
    # Whether retraining gives the same stages, for models that cannot be cut back.
    trains_again = False
    # What is known to make a kept model predict differently from its stage.
    known_causes = ""
    # Whether the estimator's own validation score uses class weights.
    weighs_scores = False
    # Whether the library has one random number generator per thread, which trainings in
    # lockstep must not share.
    needs_own_thread = False
    # Whether training failed after its first stage, set by `fit`.
    has_failed = False
    # The classes in the order of the probability columns, set by `fit`. None: sorted.
    column_classes = None

    def __init__(self, estimator):
        self.estimator = estimator

    @property
    def n_stages(self):
        """Maximum number of stages that `fit` trains."""
        return getattr(self.estimator, self.budget)

    def budget_name(self):
        """Return the name under which the user sets the number of stages."""
        return self.budget

    @abstractmethod
    def fit(self, X, y, X_val, on_stage, sample_weight=None):
        """Train the estimator.

        An exception in `on_stage`, including `KeyboardInterrupt`, ends training and
        propagates; earlier stages can still be kept.

        Parameters
        ----------
        X, y, sample_weight : array-like
            The training data.

        X_val : array-like
            The data to predict after each stage.

        on_stage : callable
            Called after each stage with the probabilities for `X_val`, of shape
            (n_val, n_classes) with the classes in `y`. Returns whether to stop. Call it
            in the thread of `fit`. It blocks while other trainings advance.
        """

    def set_seed(self, seed):
        """Set all random states of the unfitted estimator."""
        set_seeds(self.estimator, seed)

    def limit_threads(self, own):
        """Return the number of threads: the user's `own`, up to `max_threads`."""
        most = self.max_threads
        return own if most is None or own in range(1, most + 1) else most

    def remember(self):  # noqa: B027
        """Store the current stage; called from `on_stage`.

        Only needed if `keep` cannot cut back to any stage.
        """

    @abstractmethod
    def keep(self, stage):
        """Make `estimator` predict as it did after `stage`, which counts from 0."""

    def snapshot(self):
        """Return an estimator that predicts as the current stage does.

        Called from `on_stage`, if a callback asks for it. None if the library has no
        model before the end of training.
        """
        return None

    def staged_proba(self, X):
        """Return the probabilities of a fitted estimator, stage by stage."""
        if not hasattr(self.estimator, "staged_predict_proba"):
            raise TypeError(
                f"{type(self.estimator).__name__} does not keep its {self.unit}s: only "
                "boosted ensembles can be scored stage by stage after fitting."
            )
        return self.estimator.staged_predict_proba(X)

    def facts(self):
        """Return what `verbose` prints about the current stage, a list of str."""
        return []

    def obstacle(self):
        """Return why training cannot be checkpointed and resumed; None if it can.

        Called before the first stage.
        """
        return f"the adapter of {type(self.estimator).__name__} writes no checkpoints"


class Checkpointed(ABC):
    """What an adapter adds to `Stages` to write checkpoints.

    Training that resumes must give the result of uninterrupted training. `n_done` is
    the number of stages that `restore` brought back.
    """

    n_done = 0

    def obstacle(self):
        """Return why training cannot resume; None if it can."""
        return None

    @abstractmethod
    def dump(self):
        """Return the models as bytes, named ``"last"`` and optionally ``"best"``.

        Further names may hold what else is needed to continue. Called from `on_stage`
        and after `fit`. None if training has failed since the last stage.
        """

    def why_unreadable(self, models):
        """Return why the output of `dump` could not be read again; None if it can."""
        return None

    @abstractmethod
    def restore(self, models, n_done, X, y, sample_weight=None):
        """Restore the models of a checkpoint, or raise an error.

        Afterwards `fit` is called with the same data, or `keep` if no stage is left to
        train.

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


class SkopsCheckpointed(Checkpointed):
    """Write scikit-learn estimators with skops.

    Reading them runs no code from the file.
    """

    def obstacle(self):
        """Return why what is trained could not be read again; None if it can."""
        return self.why_unreadable({"": self.to_bytes(self.estimator)})

    def why_unreadable(self, models):
        """Return which types in the models would be refused."""
        skops, types = _skops(), set()
        for data in models.values():
            types |= {*skops.get_untrusted_types(data=data)} - MODEL_TYPES
        if not types:
            return None
        return f"skops, which reads checkpoints, does not trust {sorted(types)}"

    def to_bytes(self, estimator):
        """Return an estimator as bytes."""
        return _skops().dumps(estimator)

    def from_bytes(self, data):
        """Read an estimator; types that are not known to be safe are refused."""
        return _skops().loads(data, trusted=sorted(MODEL_TYPES))


def _skops():
    return import_optional("skops.io", caller="checkpoint_dir", extra="checkpoint")


def refuse(estimator, name, problem, remedy):
    """Raise an error about a parameter that does not go with stages."""
    value = estimator.get_params()[name]
    raise ValueError(
        f"{type(estimator).__name__}({name}={value!r}) {problem}. Use {remedy}."
    )


def set_seeds(estimator, seed):
    """Set all seeds of an estimator and of its components, whatever their names.

    These are `random_state`, `seed` and names ending in ``_seed``, such as LightGBM's
    `bagging_seed`, if the value is an integer or None.
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
    """Clone an estimator and change some of its parameters."""
    return clone(estimator).set_params(**params)


def hand_over_fit(source, target, before=()):
    """Give `target` everything that `fit` has set on `source`, except parameters.

    `before` has the attributes of `source` before `fit`, if there are others than
    parameters.
    """
    params = target.get_params(deep=False).keys() | source.get_params(deep=False).keys()
    for name, value in vars(source).items():
        if name not in params and not (name in before and before[name] is value):
            setattr(target, name, value)
    return target


def check_n_stages(n_stages, n_done):
    """Check that a restored model has one stage per score."""
    if n_stages != n_done:
        raise ValueError(f"it has {n_done} scores, but its model {n_stages} stages")


def two_columns(p):
    """Return probabilities of both classes, given those of the second."""
    if p.ndim == 2:
        return p
    both = np.empty((len(p), 2), dtype=p.dtype)
    np.subtract(1, p, out=both[:, 0])
    both[:, 1] = p
    return both


def margin_to_proba(margin):
    """Return the probabilities of the classes, given additive scores."""
    margin = np.asarray(margin)
    if margin.ndim == 1:
        return two_columns(expit(margin))
    return softmax(margin, axis=1)


def stand_in_labels(X_val, y):
    """Return placeholder labels for libraries that require some.

    The real labels of the validation data cannot leak into training this way.
    """
    return np.full(count_rows(X_val), np.asarray(y)[0])
