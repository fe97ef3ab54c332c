"""Training stage by stage: which adapter is for which estimator."""

from importlib import import_module

from sklearn.base import is_regressor

from sklearn_superior.staged.adapters.base import Checkpointed, Stages

__all__ = ["Checkpointed", "Stages", "find_stages", "register_stages"]

# The adapters by package and name of the class, so that no library is imported before
# it is used: the module of this folder, and what to call in it. The bases of a class
# are looked up in their order.
_ADAPTERS = {
    ("sklearn", "GradientBoostingClassifier"): ("sklearn", "GradientBoostingStages"),
    ("sklearn", "HistGradientBoostingClassifier"): (
        "sklearn",
        "HistGradientBoostingStages",
    ),
    ("sklearn", "AdaBoostClassifier"): ("sklearn", "AdaBoostStages"),
    ("xgboost", "XGBClassifier"): ("xgboost", "XGBoostStages"),
    ("lightgbm", "LGBMClassifier"): ("lightgbm", "LightGBMStages"),
    ("catboost", "CatBoostClassifier"): ("catboost", "CatBoostStages"),
}
_REGISTERED: dict = {}  # by the class itself
# What any other estimator must have.
_NEEDED = ("partial_fit", "predict_proba", "max_iter")


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
    _REGISTERED[estimator_class] = adapter


def find_stages(estimator):
    """Return the adapter of an estimator, or say why there is none."""
    if estimator is None or isinstance(estimator, type | str):
        raise TypeError(
            "The 'estimator' parameter must be a classifier that is trained in "
            f"stages, for example HistGradientBoostingClassifier(). Got {estimator!r}."
        )
    if hasattr(estimator, "n_iter_no_change") and hasattr(estimator, "calibration"):
        if hasattr(estimator, "estimator"):
            raise TypeError(
                f"The 'estimator' parameter must be the classifier inside of the "
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
        key = (base.__module__.partition(".")[0], base.__name__)
        if key in _ADAPTERS:
            module, name = _ADAPTERS[key]
            return getattr(import_module(f"{__name__}.{module}"), name)(estimator)
    lacking = {name: _why_absent(estimator, name) for name in _NEEDED}
    lacking = {name: reason for name, reason in lacking.items() if reason}
    if not lacking:
        module = import_module(f"{__name__}.partial_fit")
        return module.PartialFitStages(estimator)
    name, reason = next(iter(lacking.items()))
    raise TypeError(
        f"{type(estimator).__name__} cannot be trained stage by stage: it has no "
        f"{name} ({reason}). Known are GradientBoosting, HistGradientBoosting, "
        "AdaBoost, XGBoost, LightGBM and CatBoost classifiers, CNNClassifier, and any "
        "with partial_fit, predict_proba and max_iter; register_stages adds others. Of "
        "an EarlyStoppingClassifier, give the estimator inside. For models without "
        "stages use GridSearchCV with a scorer of sklearn_superior.metrics.get_scorer."
    )


def _why_absent(estimator, name):
    """Return why an attribute is missing; scikit-learn has the reason as the cause."""
    try:
        getattr(estimator, name)
    except AttributeError as exc:
        return str(exc.__cause__ or exc)
    return None
