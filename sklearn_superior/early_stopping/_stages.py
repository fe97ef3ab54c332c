"""Training stage by stage: one small adapter for each family of estimators.

An adapter trains its estimator and, after each stage (a tree, an epoch), hands over
the probabilities of that stage on the validation data. These come from what the
library has at hand, so that a stage costs the prediction of that stage alone.
"""

from abc import ABC, abstractmethod
from copy import copy, deepcopy

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from sklearn_superior.early_stopping._checkpoint import dump_sklearn, load_sklearn
from sklearn_superior.utils._sklearn_compat import (
    copy_unfinished_hist,
    fit_with_validation_hook,
    keep_hist_iterations,
)


class Stages(ABC):
    """Base class of the adapters.

    Parameters
    ----------
    estimator : estimator
        A clone of its own: it is trained and cut back in place.

    See Also
    --------
    register_stages : Make an adapter known.

    Examples
    --------
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
    # Whether training can go on from what `dump` returns, to the same result.
    can_resume = False
    # Number of stages that `restore` has brought.
    n_done = 0

    def __init__(self, estimator):
        self.estimator = estimator

    @property
    def n_stages(self):
        """Largest number of stages that `fit` may train."""
        return getattr(self.estimator, self.budget)

    @abstractmethod
    def fit(self, X, y, X_val, on_stage, sample_weight=None):
        """Train the estimator.

        Parameters
        ----------
        X, y, sample_weight : array-like
            The training data.

        X_val : array-like
            The data to predict after each stage.

        on_stage : callable
            Called after each stage with the probabilities for `X_val`, of shape
            (n_val, n_classes) with the classes that are in `y`. Returns whether to
            stop.
        """

    def remember(self):  # noqa: B027
        """Note the present stage as one that `keep` may be asked for.

        Only needed by estimators that cannot be cut back afterwards.
        """

    @abstractmethod
    def keep(self, stage):
        """Make the estimator predict as it did after `stage`, counted from 0."""

    def staged_proba(self, X):
        """Yield the probabilities of a fitted estimator, stage by stage."""
        yield from self.estimator.staged_predict_proba(X)

    def facts(self):
        """Return what is to be told of the present stage, a list of str."""
        return []

    def dump(self):
        """Return the models of a checkpoint, as bytes under the names last and best.

        Called within `on_stage` and after `fit`. None if there is no model to be had.
        """
        return None

    def restore(self, models, n_done):
        """Take over the models of a checkpoint after `n_done` stages."""
        raise TypeError(f"{type(self).__name__} cannot go on after a break.")

    def complete(self, X, y):  # noqa: B027
        """Make a restored estimator usable if there is nothing left to train.

        Only needed by those whose checkpoint is less than the estimator.
        """


class GradientBoostingStages(Stages):
    """`sklearn.ensemble.GradientBoostingClassifier`."""

    can_resume = True

    def fit(self, X, y, X_val, on_stage, sample_weight=None):
        staged = None

        def monitor(stage, estimator, _):
            nonlocal staged
            if staged is None:  # opened now, it goes on tree by tree
                staged = estimator.staged_predict_proba(X_val)
                for _ in range(self.n_done):
                    next(staged)
            self._n_trained = stage + 1
            return on_stage(next(staged))

        model = self.estimator
        own = {
            "n_iter_no_change": model.n_iter_no_change,
            "warm_start": model.warm_start,
        }
        model.set_params(n_iter_no_change=None, warm_start=self.n_done > 0)
        model.fit(X, y, sample_weight=sample_weight, monitor=monitor)
        model.set_params(**own)

    def keep(self, stage):
        _cut_gradient_boosting(self.estimator, stage + 1)

    def dump(self):
        so_far = copy(self.estimator)
        _cut_gradient_boosting(so_far, self._n_trained)
        return {"last": dump_sklearn(so_far)}

    def restore(self, models, n_done):
        params = self.estimator.get_params()
        self.estimator = load_sklearn(models["last"]).set_params(**params)
        self.n_done = self._n_trained = n_done


def _cut_gradient_boosting(model, n_kept):
    for name in ("estimators_", "train_score_", "oob_improvement_", "oob_scores_"):
        if hasattr(model, name):
            setattr(model, name, getattr(model, name)[:n_kept])
    if hasattr(model, "oob_scores_"):
        model.oob_score_ = model.oob_scores_[-1]
    model.n_estimators_ = n_kept


class HistGradientBoostingStages(Stages):
    """`sklearn.ensemble.HistGradientBoostingClassifier`."""

    budget = "max_iter"

    can_resume = True

    def fit(self, X, y, X_val, on_stage, sample_weight=None):
        fit_with_validation_hook(self.estimator, X, y, X_val, on_stage, sample_weight)

    def keep(self, stage):
        keep_hist_iterations(self.estimator, stage + 1)

    def dump(self):
        return {"last": dump_sklearn(copy_unfinished_hist(self.estimator))}

    def restore(self, models, n_done):
        params = self.estimator.get_params()
        self.estimator = load_sklearn(models["last"]).set_params(**params)
        self.n_done = n_done


class AdaBoostStages(Stages):
    """`sklearn.ensemble.AdaBoostClassifier`, which cannot be stopped on the way."""

    def fit(self, X, y, X_val, on_stage, sample_weight=None):
        self.estimator.fit(X, y, sample_weight=sample_weight)
        for y_proba in self.estimator.staged_predict_proba(X_val):
            if on_stage(y_proba):
                break

    def keep(self, stage):
        for name in ("estimators_", "estimator_weights_", "estimator_errors_"):
            setattr(self.estimator, name, getattr(self.estimator, name)[: stage + 1])

    def dump(self):
        return {"last": dump_sklearn(self.estimator)}


class PartialFitStages(Stages):
    """Anything with `partial_fit`, `predict_proba`, `max_iter`: a stage is an epoch."""

    budget = "max_iter"
    can_resume = True

    def __init__(self, estimator):
        super().__init__(estimator)
        self._stops_itself = getattr(estimator, "early_stopping", None) is True

    def fit(self, X, y, X_val, on_stage, sample_weight=None):
        options = {} if sample_weight is None else {"sample_weight": sample_weight}
        classes = np.unique(y)
        if self._stops_itself:
            self.estimator.set_params(early_stopping=False)
        for _ in range(self.n_done, self.n_stages):
            self.estimator.partial_fit(X, y, classes=classes, **options)
            if on_stage(self.estimator.predict_proba(X_val)):
                break

    _remembered = None

    def remember(self):
        self._remembered = deepcopy(self.estimator)

    def keep(self, stage):
        self.estimator = self._remembered
        if self._stops_itself:
            self.estimator.set_params(early_stopping=True)

    def dump(self):
        models = {"last": dump_sklearn(self.estimator)}
        if self._remembered is not None:
            models["best"] = dump_sklearn(self._remembered)
        return models

    def restore(self, models, n_done):
        params = self.estimator.get_params()
        self.estimator = load_sklearn(models["last"]).set_params(**params)
        if "best" in models:
            self._remembered = load_sklearn(models["best"]).set_params(**params)
        self.n_done = n_done

    def staged_proba(self, X):
        raise TypeError(
            f"{type(self.estimator).__name__} does not keep its stages; only boosted "
            "ensembles can be scored stage by stage after they are fitted."
        )


# Adapters by the class of the estimator, given as "module.Class" so that no library
# has to be imported. The bases of an estimator's class are looked up in their order.
_ADAPTERS = {
    "sklearn.ensemble._gb.GradientBoostingClassifier": GradientBoostingStages,
    "sklearn.ensemble._hist_gradient_boosting.gradient_boosting"
    ".HistGradientBoostingClassifier": HistGradientBoostingStages,
    "sklearn.ensemble._weight_boosting.AdaBoostClassifier": AdaBoostStages,
}
# Those of other libraries, in a module that is imported when one of them is met.
_BOOSTERS = {
    "xgboost.sklearn.XGBClassifier": "XGBoostStages",
    "lightgbm.sklearn.LGBMClassifier": "LightGBMStages",
    "catboost.core.CatBoostClassifier": "CatBoostStages",
}


def register_stages(estimator_class, adapter):
    """Teach early stopping to train another family of estimators stage by stage.

    Parameters
    ----------
    estimator_class : type
        The class of estimators; its subclasses are meant as well.

    adapter : type
        A subclass of `Stages`.

    Examples
    --------
    >>> from sklearn.ensemble import GradientBoostingClassifier
    >>> from sklearn_superior.early_stopping import Stages, register_stages
    >>> class MyBoosting(GradientBoostingClassifier):
    ...     pass
    >>> class MyStages(Stages):
    ...     def fit(self, X, y, X_val, on_stage, sample_weight=None):
    ...         self.estimator.fit(X, y)
    ...         for proba in self.estimator.staged_predict_proba(X_val):
    ...             if on_stage(proba):
    ...                 break
    ...
    ...     def keep(self, stage):
    ...         self.estimator.estimators_ = self.estimator.estimators_[: stage + 1]
    >>> register_stages(MyBoosting, MyStages)
    """
    if not isinstance(estimator_class, type):
        raise TypeError(f"estimator_class must be a class. Got {estimator_class!r}.")
    if not (isinstance(adapter, type) and issubclass(adapter, Stages)):
        raise TypeError(f"adapter must be a subclass of Stages. Got {adapter!r}.")
    _ADAPTERS[_full_name(estimator_class)] = adapter


def find_stages(estimator):
    """Return the adapter of an estimator."""
    for base in type(estimator).__mro__:
        name = _full_name(base)
        if name in _ADAPTERS:
            return _ADAPTERS[name](estimator)
        if name in _BOOSTERS:
            from sklearn_superior.early_stopping import _boosters

            return getattr(_boosters, _BOOSTERS[name])(estimator)
    needed = ("partial_fit", "predict_proba", "max_iter")
    if all(hasattr(estimator, name) for name in needed):
        return PartialFitStages(estimator)
    raise TypeError(
        f"{type(estimator).__name__} cannot be trained stage by stage. Known are "
        "GradientBoosting, HistGradientBoosting, AdaBoost, XGBoost, LightGBM and "
        "CatBoost classifiers, CNNClassifier, and any with partial_fit, predict_proba "
        "and max_iter; register_stages adds others. Of an EarlyStoppingClassifier, "
        "give the estimator inside."
    )


def enter_stages(estimator, X, y, X_val):
    """Fit what comes before the stages in a pipeline, in place.

    Returns the stages and the data as they take it.
    """
    if not isinstance(estimator, Pipeline):
        return find_stages(estimator), X, X_val
    stages = find_stages(estimator[-1])
    if len(estimator) > 1:
        before = estimator[:-1]
        X = before.fit_transform(X, y)
        X_val = before.transform(X_val)
        estimator.steps[:-1] = before.steps
    return stages, X, X_val


def fresh_clone(estimator):
    """Clone an estimator, also one of CatBoost whose parameters forbid it."""
    try:
        return clone(estimator)
    except RuntimeError:
        return deepcopy(estimator)


def _full_name(cls):
    return f"{cls.__module__}.{cls.__qualname__}"
