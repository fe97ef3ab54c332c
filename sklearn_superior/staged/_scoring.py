"""Scoring of stages from predictions that are already available.

The scorer, labels, classes and weights are the same for all stages and are checked
once. Each stage then only pays for the pass over its probabilities.
"""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import check_scoring

import sklearn_superior.metrics
from sklearn_superior.metrics import fit_temperature, get_scorer, scale_temperature
from sklearn_superior.utils._sklearn_compat import ProbabilityScorer
from sklearn_superior.utils._warnings import warn


class Stage(ClassifierMixin, BaseEstimator):
    """A stage as a scorer sees it: a classifier that knows its predictions."""

    @classmethod
    def of(cls, classes, X, y_proba, name="scoring"):
        """Return a view of the probabilities that a stage gives for `X`."""
        view = cls()
        view.classes_, view._X, view._y_proba = classes, X, y_proba
        view._name, view._predicted = name, None
        return view

    def fit(self, X, y):
        """Do nothing; scorers require an estimator."""
        return self

    def predict_proba(self, X):
        """Return the probabilities of the stage."""
        if X is not self._X:
            raise ValueError(
                f"The {self._name!r} parameter must be a scorer that predicts the "
                "validation data as a whole: no other predictions are available."
            )
        return self._y_proba

    def predict_log_proba(self, X):
        """Return the logarithms of the probabilities."""
        return np.log(self.predict_proba(X))

    def predict(self, X):
        """Return the most probable classes."""
        if self._predicted is None:  # several scorers may ask
            self._predicted = self.classes_[np.argmax(self.predict_proba(X), axis=1)]
        return self._predicted


class StageScorers:
    """Score the probabilities of one stage after another on the same data.

    All scorers of our rules share one pass over the probabilities, and all other
    scorers share one view of the stage.

    Parameters
    ----------
    scorers : dict of str to str, callable or None
        Any scorers; None means the default.

    classes : ndarray of shape (n_classes,)
        The classes, one for each column of the probabilities.

    X, y, sample_weight : array-like
        The data that is predicted.

    name : str, default="scoring"
        The name of the caller's parameter.
    """

    def __init__(self, scorers, classes, X, y, sample_weight=None, *, name="scoring"):
        scorers = {key: check_scorer(scorer, name) for key, scorer in scorers.items()}
        self._names, self._name, self._X, self._y = list(scorers), name, X, y
        labels = np.unique(y)
        if (y.dtype.kind in "biuf") != (classes.dtype.kind in "biuf"):
            raise ValueError(
                f"The labels to score must be of the type of the classes, such as "
                f"{classes.tolist()[:3]}. Got {labels.tolist()[:3]}."
            )
        is_known = np.isin(labels, classes)
        if not is_known.any():
            raise ValueError(
                "The validation data must have classes of the training data. "
                f"Got {labels.tolist()} and {classes.tolist()}."
            )
        if not is_known.all():
            warn(
                "The validation data has classes that training has not: "
                f"{labels[~is_known].tolist()}. They count with probability 0.",
            )
        self._classes, self._all_classes = classes, np.union1d(classes, labels)
        self._missing = np.setdiff1d(classes, labels).tolist()
        ours = {k: s for k, s in scorers.items() if isinstance(s, ProbabilityScorer)}
        self._ours = list(ours)
        self._others = {k: s for k, s in scorers.items() if k not in ours}
        if ours:
            first, *_ = ours.values()
            self._pass = first.prepare_all(
                list(ours.values()), self._all_classes, y, sample_weight
            )
        weighted = sample_weight is not None
        self._options = {"sample_weight": sample_weight} if weighted else {}

    def __call__(self, y_proba):
        """Return the scores; greater is better, and NaN if a probability is."""
        if np.isnan(y_proba).any():  # training diverged, but had better stages before
            return dict.fromkeys(self._names, np.nan)
        y_proba = align_columns(y_proba, self._classes, self._all_classes)
        scores = {}
        if self._ours:
            scores = dict(zip(self._ours, self._pass(y_proba), strict=True))
        if self._others:
            view = Stage.of(self._all_classes, self._X, y_proba, self._name)
            for key, scorer in self._others.items():
                scores[key] = self._score(scorer, view)
        return {name: scores[name] for name in self._names}

    def _score(self, scorer, view):
        must = f"The {self._name!r} parameter must"
        try:
            score = scorer(view, self._X, self._y, **self._options)
        except Exception as exc:
            problem = self._problem_of(exc)
            if problem is None:
                raise
            raise ValueError(
                f"{must} {problem}. Got {scorer!r}, which raises {exc!r}."
            ) from exc
        try:
            return float(score)
        except (TypeError, ValueError) as exc:
            raise ValueError(f"{must} return a number. Got {score!r}.") from exc

    def _problem_of(self, exc):
        """Return what is wrong with a scorer that raises an error; None if unknown."""
        if isinstance(exc, StopIteration):  # would silently end a loop around it
            return "return a number"
        if isinstance(exc, AttributeError) and "Stage" in str(exc):
            return "be a scorer of predict_proba or predict, which every stage has"
        if isinstance(exc, TypeError) and "sample_weight" in str(exc):
            return "be a scorer that takes sample_weight, as there are sample weights"
        if isinstance(exc, ValueError) and self._missing:
            return (
                "handle missing classes: the data to score has none of "
                f"{self._missing}. Use a rule such as 'log_loss', 'brier' or "
                "'penalized_brier', which knows the classes, or pass them all to the "
                "metric: make_scorer(metric, labels=classes, ...)"
            )
        return None


class StageScorer(StageScorers):
    """Score the probabilities of one stage after another with one scorer.

    Parameters
    ----------
    scoring : str, callable or None
        Any scorer; None means the default.

    classes, X, y, sample_weight, name
        As in `StageScorers`.
    """

    def __init__(self, scoring, classes, X, y, sample_weight=None, *, name="scoring"):
        super().__init__({name: scoring}, classes, X, y, sample_weight, name=name)

    def __call__(self, y_proba):
        """Return the score; greater is better, and NaN if a probability is."""
        return super().__call__(y_proba)[self._name]


# What `scoring=None` means.
DEFAULT_SCORING = "neg_refined_log_loss"
# Scorers of scikit-learn that fail if a class is missing, and ours with equal values.
_SAME_NUMBERS = {
    "neg_log_loss": ("log_loss", {}),
    "neg_brier_score": ("brier", {"scale": "auto"}),
}


def check_scorer(scoring, name="scoring"):
    """Return the scorer that `scoring` means; `name` is the name of the parameter.

    None means the default. ``"neg_log_loss"`` and ``"neg_brier_score"`` mean our rules,
    which have the same values and also score data that lacks a class.
    """
    scoring = DEFAULT_SCORING if scoring is None else scoring
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
    own_name = getattr(scoring, "__name__", "")
    if getattr(sklearn_superior.metrics, own_name, None) is scoring:
        raise ValueError(
            f"The {name!r} parameter must be a scorer. Got the metric {own_name}; use "
            "a scorer such as neg_penalized_brier_scorer."
        )
    return check_scoring(Stage(), scoring=scoring)


def warn_of_class_weight(stages, scorers):
    """Warn if the estimator's own score uses class weights, but `scorers` do not."""
    if stages.weighs_scores and not any(
        getattr(scorer, "options", {}).get("class_weight") is not None
        for scorer in scorers
    ):
        warn(
            f"{type(stages.estimator).__name__} uses class weights in its own "
            "validation score, but the scores here do not. Use a scorer that does: "
            "get_scorer(name, class_weight=...)."
        )


def align_columns(y_proba, own_classes, classes):
    """Reorder the columns of `own_classes` to the sorted `classes`.

    Classes that are missing from `own_classes` get zeros.
    """
    if np.array_equal(own_classes, classes):
        return y_proba
    n_columns = y_proba.shape[1]
    if n_columns != len(own_classes) or not np.isin(own_classes, classes).all():
        raise ValueError(
            f"Expected probabilities of the classes {np.asarray(classes).tolist()}. "
            f"Got {n_columns} columns for {np.asarray(own_classes).tolist()}."
        )
    full = np.zeros((len(y_proba), len(classes)), dtype=y_proba.dtype)
    full[:, np.searchsorted(classes, own_classes)] = y_proba
    return full


# Temperatures


def calibrates(calibration, scorer):
    """Return whether to ship a temperature: with "auto", if the rule is refined."""
    if calibration == "auto":
        return getattr(getattr(scorer, "score_function", None), "is_refined", False)
    return calibration is not None


def temperature_options(scorer):
    """Return the options with which a refined rule fits its temperature."""
    options = getattr(scorer, "options", {})
    return {k: options[k] for k in ("prior_scale", "sharpen") if k in options}


def best_temperature(y_true, y_proba, own_classes, sample_weight=None, **options):
    """Fit the temperature of a model on the samples of the classes that it knows.

    Samples of other classes say nothing about its probabilities.
    """
    # A class that no sample gets any probability for, such as one whose training weight
    # is 0, is unknown as well: its samples would drive the temperature to infinity.
    has_column = (y_proba > 0).any(axis=0)
    own_classes, y_proba = own_classes[has_column], y_proba[:, has_column]
    is_known = np.isin(y_true, own_classes)
    if len(own_classes) < 2 or not is_known.any():
        return 1.0
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
