"""Scoring of stages whose predictions are already there.

What does not change from stage to stage (the scorer, labels, classes, weights) is
checked once. A stage then pays for the pass over its probabilities.
"""

import inspect

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import check_scoring

import sklearn_superior.metrics
from sklearn_superior.metrics import fit_temperature, get_scorer, scale_temperature
from sklearn_superior.utils._sklearn_compat import ProbabilityScorer, scorer_parts
from sklearn_superior.utils._warnings import warn


class StageView(ClassifierMixin, BaseEstimator):
    """What a scorer sees of a stage: a classifier that knows its predictions."""

    @classmethod
    def of(cls, classes, X, y_proba, name="scoring"):
        """Return a view of the probabilities that a stage gives for `X`."""
        view = cls()
        view.classes_, view._X, view._y_proba = classes, X, y_proba
        view._name, view._predicted = name, None
        return view

    def fit(self, X, y):
        """Do nothing; here because scorers are for estimators."""
        return self

    def predict_proba(self, X):
        """Return the probabilities of the stage."""
        if X is not self._X:
            raise ValueError(
                f"The {self._name!r} parameter must be a scorer that predicts the "
                "validation data as a whole: those of other data are not available."
            )
        return self._y_proba

    def __getattr__(self, name):
        if name.startswith("_") or name.endswith("_"):  # others ask for these
            raise AttributeError(name)
        raise AttributeError(_of_decisions(self._name, name))

    def predict_log_proba(self, X):
        """Return the logarithms of the probabilities."""
        return np.log(self.predict_proba(X))

    def predict(self, X):
        """Return the most probable classes of the stage."""
        if self._predicted is None:
            top = np.argmax(self.predict_proba(X), axis=1)
            self._predicted = self.classes_[top]
        return self._predicted


def _of_decisions(parameter, name):
    """Return what is wrong with a scorer that asks a stage for something else."""
    return (
        f"The {parameter!r} parameter must be a scorer of predict_proba or predict, "
        f"which every stage has. Got one that needs {name}."
    )


class StageScorers:
    """Score the probabilities of one stage after another on the same data.

    All scorers of our rules share one pass over the probabilities, and all others one
    view of the stage.

    Parameters
    ----------
    scorers : dict of str to str, callable or None
        Any scorers; None is the default of early stopping.

    classes : ndarray of shape (n_classes,)
        The classes; one column of the probabilities for each.

    X, y, sample_weight : array-like
        The data that is predicted.

    name : str, default="scoring"
        What the caller's parameter is called.
    """

    def __init__(self, scorers, classes, X, y, sample_weight=None, *, name="scoring"):
        scorers = {key: check_scorer(scorer, name) for key, scorer in scorers.items()}
        self._names, self._name = list(scorers), name
        _check_same_type(y, classes)
        labels = np.unique(y)
        is_known = np.isin(labels, classes)
        if not is_known.any():
            raise ValueError(
                "The validation data must have classes of the training data. "
                f"Got {labels.tolist()} and {classes.tolist()}."
            )
        # Classes that only the validation data has count with probability 0.
        self._classes, self._all_classes = classes, np.union1d(classes, labels)
        if not is_known.all():
            warn(
                "The validation data has classes that training has not: "
                f"{labels[~is_known].tolist()}. They count with probability 0.",
            )
        ours = {k: s for k, s in scorers.items() if isinstance(s, ProbabilityScorer)}
        self._ours, self._pass = list(ours), None
        if ours:
            first = next(iter(ours.values()))
            self._pass = first.prepare_all(
                list(ours.values()), self._all_classes, y, sample_weight
            )
        self._others = {k: s for k, s in scorers.items() if k not in ours}
        for scorer in self._others.values():
            _check_response(scorer, name)
        self._options = {}
        if sample_weight is not None:
            for scorer in self._others.values():
                _check_takes_weights(scorer, name)
            self._options["sample_weight"] = sample_weight
        self._X, self._y = X, y
        self._lacking = np.setdiff1d(self._all_classes, labels).tolist()

    def __call__(self, y_proba):
        """Return the scores; greater is better, and NaN if a probability is."""
        if np.isnan(y_proba).any():  # training has failed, but had better stages before
            return dict.fromkeys(self._names, np.nan)
        y_proba = align_columns(y_proba, self._classes, self._all_classes)
        scores = {}
        if self._pass is not None:
            scores = dict(zip(self._ours, self._pass(y_proba), strict=True))
        if self._others:
            view = StageView.of(self._all_classes, self._X, y_proba, self._name)
            for key, scorer in self._others.items():
                scores[key] = self._score(scorer, view)
        return {name: scores[name] for name in self._names}

    def _score(self, scorer, view):
        try:
            score = scorer(view, self._X, self._y, **self._options)
        except StopIteration as exc:  # would end loops around it
            raise ValueError(
                f"The {self._name!r} parameter must return a number. Got {scorer!r}, "
                "which raises StopIteration."
            ) from exc
        except ValueError as exc:
            if not self._lacking:
                raise
            raise ValueError(
                f"The {self._name!r} parameter must be a scorer of data that lacks "
                f"classes: the data that is scored has none of {self._lacking}. Got "
                f"{scorer!r}, which raises: {exc} Take a rule such as 'log_loss', "
                "'brier' or 'penalized_brier', which knows the classes, or give the "
                "metric all of them: make_scorer(metric, labels=classes, ...)."
            ) from exc
        try:
            return float(score)
        except (TypeError, ValueError) as exc:
            raise ValueError(
                f"The {self._name!r} parameter must return a number. Got {score!r}."
            ) from exc


class StageScorer(StageScorers):
    """Score the probabilities of one stage after another by one scorer.

    Parameters
    ----------
    scoring : str, callable or None
        Any scorer; None is the default of early stopping.

    classes, X, y, sample_weight, name
        As in `StageScorers`.
    """

    def __init__(self, scoring, classes, X, y, sample_weight=None, *, name="scoring"):
        super().__init__({name: scoring}, classes, X, y, sample_weight, name=name)

    def __call__(self, y_proba):
        """Return the score; greater is better, and NaN if a probability is."""
        return super().__call__(y_proba)[self._name]


def _check_same_type(y, classes):
    if (y.dtype.kind in "biuf") != (classes.dtype.kind in "biuf"):
        raise ValueError(
            f"The labels to score must be of the type of the classes, such as "
            f"{classes.tolist()[:3]}. Got {np.unique(y).tolist()[:3]}."
        )


def _check_response(scorer, name):
    """Refuse a scorer of what no stage has, such as a decision function."""
    parts = scorer_parts(scorer)
    methods = () if parts is None else parts[3]
    methods = (methods,) if isinstance(methods, str) else methods
    if methods and not any(hasattr(StageView, method) for method in methods):
        raise ValueError(_of_decisions(name, " or ".join(methods)))


def _check_takes_weights(scorer, name):
    parts = scorer_parts(scorer)
    function = scorer if parts is None else parts[0]
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # no signature; the call will fail, if it has to
        return
    if not any(
        p.name == "sample_weight" or p.kind == p.VAR_KEYWORD for p in parameters
    ):
        raise ValueError(
            f"The {name!r} parameter must be a scorer that takes sample_weight: the "
            f"validation data has weights. Got {scorer!r}, which does not."
        )


# What `scoring=None` means in early stopping.
DEFAULT_SCORING = "neg_refined_log_loss"
# Scorers of scikit-learn that do not know the classes, and ours with the same numbers.
_SAME_NUMBERS = {
    "neg_log_loss": ("log_loss", {}),
    "neg_brier_score": ("brier", {"scale": "auto"}),
}


def check_scorer(scoring, name="scoring", *, default=DEFAULT_SCORING):
    """Return the scorer that `scoring` means; `name` is that of the parameter.

    None means `default`.

    ``"neg_log_loss"`` and ``"neg_brier_score"`` are our plain rules, whose numbers are
    the same and which score data that lacks a class, too.
    """
    if scoring is None:
        scoring = default
    if isinstance(scoring, str):
        rule, options = _SAME_NUMBERS.get(scoring, (scoring, {}))
        try:
            return get_scorer(rule, **options)
        except ValueError as exc:
            known = str(exc).partition("must be")[2]
            raise ValueError(
                f"The {name!r} parameter must be a scorer, or{known}"
            ) from exc
    if not callable(scoring):
        raise ValueError(
            f"The {name!r} parameter must be a str, a callable or None. "
            f"Got {scoring!r}."
        )
    if (
        getattr(sklearn_superior.metrics, getattr(scoring, "__name__", ""), 0)
        is scoring
    ):
        raise ValueError(
            f"The {name!r} parameter must be a scorer. Got the metric "
            f"{scoring.__name__}; take a scorer such as neg_penalized_brier_scorer."
        )
    return check_scoring(StageView(), scoring=scoring)


def warn_of_class_weight(stages, scorers):
    """Warn if scores lack the weights of classes that the estimator's own have."""
    if stages.weighs_scores and not any(
        getattr(scorer, "options", {}).get("class_weight") is not None
        for scorer in scorers
    ):
        warn(
            f"{type(stages.estimator).__name__} weighs the classes in its own "
            "validation score, but the scores here do not. Use a scorer that does: "
            "get_scorer(name, class_weight=...)."
        )


def align_columns(y_proba, own_classes, classes):
    """Columns for the sorted `classes`, from those of `own_classes` in any order.

    Classes that `own_classes` lacks get zeros.
    """
    if len(own_classes) == len(classes) and np.all(own_classes == classes):
        return y_proba
    columns = np.searchsorted(classes, own_classes)
    known = np.take(classes, columns, mode="clip") == own_classes
    if y_proba.shape[1] != len(own_classes) or not np.all(known):
        raise ValueError(
            f"Probabilities of the classes {np.asarray(own_classes).tolist()} were "
            f"expected to be of {np.asarray(classes).tolist()}. Got "
            f"{y_proba.shape[1]} columns."
        )
    full = np.zeros((len(y_proba), len(classes)), dtype=y_proba.dtype)
    full[:, columns] = y_proba
    return full


def calibrates(calibration, scorer):
    """Return whether a temperature is to be shipped."""
    if calibration == "auto":
        return getattr(getattr(scorer, "score_function", None), "is_refined", False)
    return calibration is not None


def temperature_options(scorer):
    """Return the options of a refined rule that decide its temperature."""
    options = getattr(scorer, "options", {})
    return {name: options[name] for name in ("prior_scale",) if name in options}


def best_temperature(y_true, y_proba, own_classes, sample_weight=None, **options):
    """Return the best temperature for the samples of the classes of a model.

    Samples of other classes say nothing of its probabilities.
    """
    is_known = np.isin(y_true, own_classes)
    if sample_weight is not None:
        sample_weight = sample_weight[is_known]
    return fit_temperature(
        y_true[is_known],
        y_proba[is_known],
        sample_weight=sample_weight,
        labels=own_classes,
        **options,
    )


def calibrate(classifier, y_proba):
    """Scale the probabilities of a classifier by its temperature."""
    temperature = getattr(classifier, "temperature_", 1.0)
    return y_proba if temperature == 1 else scale_temperature(y_proba, temperature)
