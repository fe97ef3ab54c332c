"""Training stage by stage: which adapter is for which estimator."""

from importlib import import_module

from sklearn.base import is_regressor

from sklearn_superior.staged.adapters.base import Checkpointed, Stages

__all__ = ["Checkpointed", "Stages", "find_stages", "register_stages"]

# Adapters by the package and name of the estimator's class, as a module of this folder
# and a name in it, so that no library is imported before it is used.
_ADAPTERS = {
    "sklearn.GradientBoostingClassifier": "sklearn.GradientBoostingStages",
    "sklearn.HistGradientBoostingClassifier": "sklearn.hist_stages",
    "sklearn.AdaBoostClassifier": "sklearn.AdaBoostStages",
    "xgboost.XGBClassifier": "xgboost.XGBoostStages",
    "lightgbm.LGBMClassifier": "lightgbm.LightGBMStages",
    "catboost.CatBoostClassifier": "catboost.CatBoostStages",
}
_REGISTERED: dict = {}  # by the class itself


def register_stages(estimator_class, adapter):
    """Register an adapter that trains another family of estimators in stages.

    Parameters
    ----------
    estimator_class : type
        The class of the estimators; subclasses are included.

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
    _REGISTERED[estimator_class] = adapter


def find_stages(estimator):
    """Return the adapter of an estimator, or raise an error that says why not."""
    if estimator is None or isinstance(estimator, type | str):
        raise TypeError(
            "The 'estimator' parameter must be a classifier that is trained in "
            f"stages, for example HistGradientBoostingClassifier(). Got {estimator!r}."
        )
    names = ("n_iter_no_change", "calibration", "estimator")
    if all(hasattr(estimator, name) for name in names):
        raise TypeError(
            "The 'estimator' parameter must be the classifier inside of the "
            f"{type(estimator).__name__}, which stops training itself. Got "
            f"{estimator!r}."
        )
    if is_regressor(estimator):
        raise TypeError(
            "The 'estimator' parameter must be a classifier: scoring rules are for "
            f"probabilities of classes. Got the regressor {estimator!r}."
        )
    for base in type(estimator).__mro__:
        if base in _REGISTERED:
            return _REGISTERED[base](estimator)
        path = _ADAPTERS.get(f"{base.__module__.partition('.')[0]}.{base.__name__}")
        if path is not None:
            return _load(path)(estimator)
    for name in ("partial_fit", "predict_proba", "max_iter"):
        try:
            getattr(estimator, name)
        except AttributeError as exc:  # scikit-learn puts the reason into the cause
            raise TypeError(
                f"{type(estimator).__name__} cannot be trained stage by stage: it has "
                f"no {name} ({exc.__cause__ or exc}). Supported are GradientBoosting, "
                "HistGradientBoosting, AdaBoost, XGBoost, LightGBM and CatBoost "
                "classifiers, CNNClassifier, and any with partial_fit, predict_proba "
                "and max_iter; register_stages adds others. For models without stages "
                "use GridSearchCV with a scorer from sklearn_superior.metrics."
            ) from exc
    return _load("partial_fit.PartialFitStages")(estimator)


def _load(path):
    module, name = path.split(".")
    return getattr(import_module(f"{__name__}.{module}"), name)
