"""The scorers inside the tools of scikit-learn and skorch."""

import pickle
import subprocess
import sys
import warnings
from copy import deepcopy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn import clone, config_context
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import RFECV
from sklearn.inspection import permutation_importance
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
)
from sklearn.metrics import make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    StratifiedKFold,
    TunedThresholdClassifierCV,
    cross_val_score,
    cross_validate,
)
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.class_weight import compute_sample_weight

import sklearn_superior.metrics
from sklearn_superior.early_stopping import EarlyStoppingClassifier
from sklearn_superior.metrics import (
    fit_temperature,
    get_scorer,
    neg_penalized_brier_scorer,
    neg_penalized_log_loss_scorer,
    penalized_brier_score_loss,
    penalized_log_loss,
    scale_temperature,
)
from sklearn_superior.metrics._rules import RULES, find_rule, rule_names
from sklearn_superior.metrics._scorers import SCORERS as NAMES
from tests.logistic_path import logistic_path, path_scores
from tests.metrics.forecasts import CANCER, D2_SCORES, IRIS, LOSSES, text

SCORING = {
    name.removeprefix("penalized_"): scoring
    for scoring, name in NAMES.items()
    if name.startswith("penalized_")
}
SCORERS = {name: get_scorer(name) for name in NAMES}
rules = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
d2_scores = pytest.mark.parametrize("d2", D2_SCORES.values(), ids=D2_SCORES)


@rules
@pytest.mark.parametrize(
    ("data", "name_labels"),
    [(IRIS, False), (IRIS, True), (CANCER, False), (CANCER, True)],
)
def test_score_is_the_negated_loss(rule, data, name_labels):
    X, y = data
    y = text(y) if name_labels else y
    model = GaussianNB().fit(X, y)
    proba = model.predict_proba(X)
    if len(model.classes_) == 2:  # what scikit-learn hands to scorers
        proba = proba[:, 1]
    expected = -LOSSES[rule.name](y, proba)
    assert_allclose(SCORERS[SCORING[rule.name]](model, X, y), expected)
    assert_allclose(get_scorer(SCORING[rule.name])(model, X, pd.Series(y)), expected)
    weight = np.arange(len(y))
    assert_allclose(
        SCORERS[SCORING[rule.name]](model, X, y, sample_weight=weight),
        -LOSSES[rule.name](y, proba, sample_weight=weight),
    )
    # The plain function does too, wrapped as any metric is.
    plain = make_scorer(
        LOSSES[rule.name], response_method="predict_proba", greater_is_better=False
    )
    assert_allclose(plain(model, X, y), expected)


def test_public_scorers_are_those_of_get_scorer():
    for rule in RULES:
        public = getattr(sklearn_superior.metrics, f"neg_penalized_{rule}_scorer")
        assert repr(public) == repr(SCORERS[SCORING[rule]])


def test_every_scorer_has_a_name_of_its_own():
    scorers = {name: get_scorer(name) for name in rule_names(refined=True)}
    names = [scorer.score_function.__name__ for scorer in scorers.values()]
    assert len(set(names)) == len(names)
    assert len({repr(scorer) for scorer in scorers.values()}) == len(names)
    shown = {name: scorers[name].score_function.__name__ for name in scorers}
    assert shown["brier"] == "brier_score_loss"
    assert shown["penalized_brier"] == "penalized_brier_score_loss"
    assert shown["refined_log_loss"] == "refined_log_loss"
    assert shown["refined_penalized_spherical"] == "refined_penalized_spherical_loss"


@rules
def test_a_fold_without_a_class_scores_normally(rule):
    X, y = IRIS
    model = GaussianNB().fit(X, y)
    rows = y != 1
    score = SCORERS[SCORING[rule.name]](model, X[rows], y[rows])
    expected = -LOSSES[rule.name](
        y[rows], model.predict_proba(X[rows]), labels=[0, 1, 2]
    )
    assert_allclose(score, expected)


def test_cross_validation_by_groups_where_folds_lack_classes():
    X, y = IRIS  # sorted by class: each group holds one class
    groups = np.repeat(np.arange(6), 25)
    scores = cross_val_score(
        GaussianNB(),
        X,
        y,
        groups=groups,
        cv=GroupKFold(6),
        scoring=neg_penalized_brier_scorer,
        error_score="raise",
    )
    assert np.isfinite(scores).all()
    with pytest.warns(UserWarning, match="never seen"):
        cross_val_score(
            GaussianNB(), X, y, cv=KFold(3), scoring=neg_penalized_log_loss_scorer
        )


@d2_scores
@pytest.mark.parametrize("data", [IRIS, CANCER])
@pytest.mark.parametrize("name_labels", [False, True])
def test_d2_scorers_are_the_functions(d2, data, name_labels):
    X, y = data
    X, y = X[:, :2], text(y) if name_labels else y
    model = GaussianNB().fit(X, y)
    proba = model.predict_proba(X)
    if len(model.classes_) == 2:  # what scikit-learn hands to scorers
        proba = proba[:, 1]
    scorer = get_scorer(d2.__name__)
    assert scorer(model, X, y) == d2(y, proba)
    assert scorer._sign == 1
    assert repr(scorer) == repr(make_scorer(d2, response_method="predict_proba"))
    weight = np.arange(len(y)) % 5
    expected = d2(y, proba, sample_weight=weight)
    assert scorer(model, X, y, sample_weight=weight) == expected
    assert pickle.loads(pickle.dumps(scorer))(model, X, y) == d2(y, proba)
    prepared = scorer.prepare_all([scorer], model.classes_, y, weight)
    for _ in range(2):
        assert_allclose(prepared(model.predict_proba(X)), [expected], rtol=1e-12)
    options = {"penalty": "minimal", "ties": "split"}
    with_options = get_scorer(d2.__name__, **options)
    assert with_options(model, X, y) == d2(y, proba, **options)


@d2_scores
def test_d2_scorers_weigh_classes(d2):
    X, y = IRIS[0][UNEVEN, :2], IRIS[1][UNEVEN]
    model = GaussianNB().fit(X, y)
    weight = np.arange(len(y)) % 4 + 0.5
    balanced = weight * (weight.sum() / (3 * np.bincount(y, weight)))[y]
    for own, of_class in (
        ("balanced", balanced),
        ({0: 0.5, 2: 10.0}, weight * np.array([0.5, 1.0, 10.0])[y]),
    ):
        scorer = get_scorer(d2.__name__, class_weight=own)
        expected = d2(y, model.predict_proba(X), sample_weight=of_class)
        assert_allclose(scorer(model, X, y, sample_weight=weight), expected)
        prepared = scorer.prepare_all([scorer], model.classes_, y, weight)
        assert_allclose(prepared(model.predict_proba(X)), [expected])


@d2_scores
def test_d2_scorers_where_a_fold_lacks_a_class(d2):
    X, y = IRIS[0][:, :2], IRIS[1]
    model = GaussianNB().fit(X, y)
    rows = y != 1
    scorer = get_scorer(d2.__name__)
    expected = d2(y[rows], model.predict_proba(X[rows]), labels=[0, 1, 2])
    assert scorer(model, X[rows], y[rows]) == expected
    prepared = scorer.prepare_all([scorer], model.classes_, y[rows])
    assert_allclose(prepared(model.predict_proba(X[rows])), [expected])
    # One class only: the class frequencies are a perfect forecast.
    message = "d2 score is not defined when y_true holds a single class"
    with pytest.raises(ValueError, match=message):
        scorer(model, X[:50], y[:50])
    with pytest.raises(ValueError, match=message):
        scorer.prepare_all([scorer], model.classes_, y[:50])


@d2_scores
def test_d2_scorers_in_tools_of_scikit_learn(d2):
    X, y = IRIS[0][:, :2], IRIS[1]
    scorer = get_scorer(d2.__name__)
    plain = make_scorer(d2, response_method="predict_proba")
    for tool in (
        lambda scoring: cross_val_score(GaussianNB(), X, y, scoring=scoring),
        lambda scoring: (
            GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9, 0.1]}, scoring=scoring)
            .fit(X, y)
            .cv_results_["mean_test_score"]
        ),
    ):
        assert_allclose(tool(scorer), tool(plain))
    options = {"labels", "class_weight", "penalty", "ties"}
    assert scorer.score_function.options == options
    with pytest.raises(TypeError, match=r"options of 'd2_.*Got \['scale'\]"):
        get_scorer(d2.__name__, scale="half")


class Hard(GaussianNB):
    """Gives whole numbers as probabilities."""

    def predict_proba(self, X):
        return (super().predict_proba(X) > 0.5).astype(int)


@pytest.mark.parametrize("name_labels", [False, True])
def test_probabilities_may_be_whole_numbers(name_labels):
    X, y = CANCER
    y = text(y) if name_labels else y
    model = Hard().fit(X, y)
    error = np.mean(model.predict(X) != y)
    assert_allclose(neg_penalized_brier_scorer(model, X, y), -2.5 * error)


class Counting(GaussianNB):
    """Counts the calls of predict_proba."""

    n_calls = 0

    def predict_proba(self, X):
        Counting.n_calls += 1
        return super().predict_proba(X)


@pytest.mark.parametrize("data", [IRIS, CANCER])
def test_several_metrics_predict_once(data):
    X, y = data
    scoring = SCORERS | {"log": "neg_log_loss"}
    Counting.n_calls = 0
    result = cross_validate(Counting(), X, y, scoring=scoring, cv=3)
    assert Counting.n_calls == 3
    alone = cross_val_score(
        GaussianNB(), X, y, scoring=SCORERS[next(iter(SCORERS))], cv=3
    )
    assert_allclose(result[f"test_{next(iter(SCORERS))}"], alone)


@rules
def test_scorers_copy_and_print_like_scikit_learns(rule):
    X, y = IRIS
    model = GaussianNB().fit(X, y)
    scorer = SCORERS[SCORING[rule.name]]
    score = scorer(model, X, y)
    for copied in (pickle.loads(pickle.dumps(scorer)), deepcopy(scorer)):
        assert copied(model, X, y) == score
        assert repr(copied) == repr(scorer)
    expected = make_scorer(
        LOSSES[rule.name], response_method="predict_proba", greater_is_better=False
    )
    assert repr(scorer) == repr(expected)
    search = clone(GridSearchCV(GaussianNB(), {}, scoring=scorer))
    assert search.fit(X, y).best_score_ < 0


def test_get_scorer_returns_new_scorers_or_those_of_scikit_learn():
    assert (
        repr(get_scorer("accuracy"))
        == "make_scorer(accuracy_score, response_method='predict')"
    )
    assert get_scorer("neg_penalized_log_loss") is not neg_penalized_log_loss_scorer
    assert get_scorer(neg_penalized_log_loss_scorer) is neg_penalized_log_loss_scorer
    message = r"'name' parameter must be one of \['d2_penalized_brier.*Got 'xyz'"
    with pytest.raises(ValueError, match=message):
        get_scorer("xyz")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("neg_penalised_brier_score", "neg_penalized_brier_score"),
        ("neg_log_los", "neg_log_loss"),
        ("refind_log_loss", "refined_log_loss"),
        ("balanced_acc", "balanced_accuracy"),
        ("neg_decision_costs", "neg_decision_cost"),
        ("penalized_brier_score", "neg_penalized_brier_score"),
        ("PBS", "neg_penalized_brier_score"),
        ("pll", "neg_penalized_log_loss"),
    ],
)
def test_a_typo_in_a_name(name, meant):
    end = f"Got '{name}'. Did you mean '{meant}'?"
    with pytest.raises(ValueError, match="'name' parameter must be") as error:
        get_scorer(name)
    assert str(error.value).endswith(end)
    with pytest.raises(ValueError, match="'scoring' parameter must be") as error:
        EarlyStoppingClassifier(HistGradientBoostingClassifier(), scoring=name).fit(
            *IRIS
        )
    assert str(error.value).endswith(end)
    assert len(str(error.value)) < 160


def test_scorers_with_options():
    X, y = IRIS
    model = GaussianNB().fit(X, y)
    scorer = get_scorer("neg_penalized_brier_score", penalty=7.0, ties="split")
    expected = -penalized_brier_score_loss(
        y, model.predict_proba(X), penalty=7.0, ties="split"
    )
    assert_allclose(scorer(model, X, y), expected)
    assert_allclose(pickle.loads(pickle.dumps(scorer))(model, X, y), expected)
    assert "penalty=7.0" in repr(scorer)
    with pytest.raises(
        TypeError, match=r"options of .* \['class_weight', 'labels', 'normalize'.*\['sc"
    ):
        get_scorer("neg_penalized_log_loss", scale="mean")
    with pytest.raises(TypeError, match="Only the scorers .* name='accuracy'"):
        get_scorer("accuracy", penalty=1)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"penalty": "foo"}, ValueError, "'penalty' parameter .* Got 'foo'"),
        ({"penalty": -1}, ValueError, "'penalty' parameter .* Got -1"),
        ({"penalty": np.nan}, ValueError, "'penalty' parameter .* Got nan"),
        ({"ties": "x"}, ValueError, "'ties' parameter .* Got 'x'"),
        ({"scale": "x"}, ValueError, "'scale' parameter .* Got 'x'"),
        ({"scale": None}, ValueError, "'scale' parameter .* Got None"),
        ({"labels": "abc"}, TypeError, "labels must be array-like"),
        ({"labels": [0, np.nan]}, ValueError, "labels must not contain NaN"),
    ],
)
def test_options_are_checked_when_the_scorer_is_made(options, error, message):
    with pytest.raises(error, match=message):
        get_scorer("neg_penalized_brier_score", **options)
    if "scale" not in options:
        with pytest.raises(error, match=message):
            get_scorer("neg_penalized_log_loss", **options)


def test_get_scorer_takes_the_names_of_rules():
    X, y = IRIS
    model = GaussianNB().fit(X, y)
    for name in rule_names():
        rule, penalty = find_rule(name)
        expected = -LOSSES[rule.name](y, model.predict_proba(X), penalty=penalty)
        assert get_scorer(name)(model, X, y) == expected
    assert get_scorer("brier", ties="split").options == {"ties": "split"}


def test_unfitted_and_multi_output_estimators_are_refused():
    X, y = IRIS
    with pytest.raises(NotFittedError, match="GaussianNB instance is not fitted"):
        neg_penalized_brier_scorer(GaussianNB(), X, y)
    several = MultiOutputClassifier(GaussianNB()).fit(X, np.c_[y, y])
    with pytest.raises(ValueError, match="MultiOutputClassifier has several outputs"):
        neg_penalized_brier_scorer(several, X, np.c_[y, y])


def test_requests_do_not_leak_into_new_scorers():
    scorer = deepcopy(neg_penalized_log_loss_scorer)
    with config_context(enable_metadata_routing=True):
        scorer.set_score_request(sample_weight=True)
        fresh = get_scorer("neg_penalized_log_loss").get_metadata_routing()
    assert fresh.score.requests.get("sample_weight") is None


def test_regressors_and_estimators_without_probabilities_are_refused():
    X, y = IRIS
    model = LinearRegression().fit(X, y)
    with pytest.raises(TypeError, match="LinearRegression has no predict_proba"):
        neg_penalized_brier_scorer(model, X, y)


def test_sample_weight_is_routed():
    X, y = IRIS
    weight = np.arange(len(y)) % 3 + 0.5
    with config_context(enable_metadata_routing=True):
        scorer = get_scorer("neg_penalized_brier_score")
        scorer.set_score_request(sample_weight=True)
        model = GaussianNB().set_fit_request(sample_weight=False)
        scores = cross_val_score(
            model,
            X,
            y,
            cv=StratifiedKFold(3),
            scoring=scorer,
            params={"sample_weight": weight},
        )
        # A request on a copy does not leak into the module's scorer.
        requests = neg_penalized_brier_scorer.get_metadata_routing().score.requests
    assert requests.get("sample_weight") is None
    for score, (train, test) in zip(
        scores, StratifiedKFold(3).split(X, y), strict=True
    ):
        fitted = GaussianNB().fit(X[train], y[train])
        expected = -penalized_brier_score_loss(
            y[test], fitted.predict_proba(X[test]), sample_weight=weight[test]
        )
        assert_allclose(score, expected)


@pytest.mark.parametrize("data", [IRIS, CANCER])
@pytest.mark.parametrize("name_labels", [False, True])
def test_tools_of_scikit_learn(data, name_labels):
    X, y = data
    X = StandardScaler().fit_transform(X)[:, :4]
    y = text(y) if name_labels else y
    scorer = neg_penalized_brier_scorer
    model = LogisticRegression()
    search = GridSearchCV(model, {"C": [0.1, 1]}, scoring=scorer, n_jobs=2).fit(X, y)
    assert search.best_score_ == search.cv_results_["mean_test_score"].max()

    fitted = model.fit(X, y)
    importance = permutation_importance(
        fitted, X, y, scoring=scorer, n_repeats=2, random_state=0
    )
    assert importance.importances_mean.max() > 0

    selector = RFECV(model, scoring=scorer, cv=3).fit(X, y)
    assert np.isfinite(selector.cv_results_["mean_test_score"]).all()

    path = logistic_path(Cs=[0.1, 1], scoring=scorer, cv=3).fit(X, y)
    by_hand = cross_val_score(
        LogisticRegression(C=1), X, y, cv=StratifiedKFold(3), scoring=scorer
    )
    assert_allclose(np.ravel(path_scores(path)[..., 1]), by_hand, rtol=1e-3)
    assert path.score(X, y) < 0


@pytest.mark.parametrize("declared", [False, True])
@pytest.mark.parametrize(
    "labels",
    [
        [0, 1],
        [-1, 1],
        ["no", "yes"],
        [False, True],
        [0.0, 1.0],
        [1.0, 2.0],
        [-1.0, 1.0],
    ],
)
def test_tuned_threshold_scores_decisions(labels, declared):
    # Certain forecasts cost 2 + 1/2 when wrong: the threshold of best accuracy wins.
    X, y = make_classification(300, weights=[0.8], flip_y=0.2, random_state=0)
    y = np.array(labels)[y]
    options = {"cv": 3, "store_cv_results": True, "thresholds": 20}
    scorer = neg_penalized_brier_scorer
    if declared:
        scorer = get_scorer("neg_penalized_brier_score", labels=labels)
    tuned = TunedThresholdClassifierCV(GaussianNB(), scoring=scorer, **options)
    tuned.fit(X, y)
    reference = TunedThresholdClassifierCV(
        GaussianNB(), scoring="accuracy", **options
    ).fit(X, y)
    assert_allclose(
        tuned.cv_results_["scores"], -2.5 * (1 - reference.cv_results_["scores"])
    )
    assert tuned.best_threshold_ == reference.best_threshold_


def test_a_column_of_probabilities_needs_pos_label():
    """Without it the values are predicted labels, as scikit-learn passes them."""
    function = neg_penalized_brier_scorer.score_function
    y, p = np.array([0, 1, 1]), np.array([0.2, 0.7, 0.4])
    with pytest.raises(ValueError, match="one column must come with pos_label"):
        function(y, p)
    assert_allclose(function(y, p, pos_label=1), penalized_brier_score_loss(y, p))
    assert_allclose(function(y, np.array([0.0, 1.0, 0.0])), 2.5 / 3)
    assert_allclose(function(y, np.array([0, 1, 0]), labels=[0, 1]), 2.5 / 3)


def test_empty_labels_are_refused():
    X, y = IRIS
    model = GaussianNB().fit(X, y)
    with pytest.raises(ValueError, match="y_true must hold at least one label"):
        neg_penalized_brier_scorer(model, X, y[:0])
    with pytest.raises(ValueError, match="labels must be 1-dimensional, with"):
        get_scorer("brier", labels=[])
    for labels in ([], np.array([], dtype=int)):
        with pytest.raises(ValueError, match="labels must be 1-dimensional, with"):
            penalized_brier_score_loss(y, model.predict_proba(X), labels=labels)
        with pytest.raises(ValueError, match="y_true must be a non-empty array"):
            penalized_brier_score_loss(labels, model.predict_proba(X))


class Recalibrated(ClassifierMixin, BaseEstimator):
    """A fitted classifier whose probabilities are scaled by a temperature."""

    def __init__(self, model, temperature):
        self.model, self.temperature = model, temperature
        self.classes_ = model.classes_

    def predict_proba(self, X):
        return scale_temperature(self.model.predict_proba(X), self.temperature)


UNEVEN = np.r_[0:50, 50:70, 100:105]  # rows of IRIS with 50, 20 and 5 of a class


@pytest.mark.parametrize("name", rule_names(refined=True))
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("labels", ["numbers", "text", "one-hot"])
def test_balanced_classes_weigh_as_in_scikit_learn(name, weighted, labels):
    X, y = IRIS[0][UNEVEN, :2], IRIS[1][UNEVEN]
    target = {"numbers": y, "text": text(y), "one-hot": np.eye(3)[y]}[labels]
    model = GaussianNB().fit(X, text(y) if labels == "text" else y)
    weight = np.arange(len(y)) % 4 if weighted else np.ones(len(y))
    counts = np.bincount(y, weight)
    balanced = weight * (weight.sum() / (3 * counts))[y]
    if not weighted:
        assert_allclose(balanced, compute_sample_weight("balanced", y))
    given_weight = {"sample_weight": weight} if weighted else {}
    scorer = get_scorer(name, class_weight="balanced")
    judged = model
    if name.startswith("refined_"):  # the temperature is for the samples as they are
        y_proba = model.predict_proba(X)
        temperature = fit_temperature(y, y_proba, **given_weight)
        judged = Recalibrated(model, temperature)
    plain = get_scorer(name.removeprefix("refined_"))
    expected = plain(judged, X, target, sample_weight=balanced)
    assert_allclose(scorer(model, X, target, **given_weight), expected, rtol=1e-6)
    if labels == "text":
        prepared = scorer.prepare_all(
            [scorer], model.classes_, target, given_weight.get("sample_weight")
        )
        assert_allclose(prepared(model.predict_proba(X)), [expected], rtol=1e-6)
    # Every class counts the same, however many samples it has.
    if not weighted and "refined" not in name and labels == "numbers":
        plain = get_scorer(name, labels=[0, 1, 2])
        parts = [plain(model, X[y == k], y[y == k]) for k in range(3)]
        assert_allclose(expected, np.mean(parts))


def test_weights_of_classes_by_a_dict():
    X, y = IRIS[0][UNEVEN, :2], IRIS[1][UNEVEN]
    model = GaussianNB().fit(X, y)
    own = {0: 0.5, 2: 10.0}
    weight = np.array([0.5, 1.0, 10.0])[y]
    expected = neg_penalized_brier_scorer(model, X, y, sample_weight=weight)
    scorer = get_scorer("penalized_brier", class_weight=own)
    assert_allclose(scorer(model, X, y), expected)
    assert_allclose(pickle.loads(pickle.dumps(scorer))(model, X, y), expected)
    # A class that a fold lacks is known to the estimator.
    assert scorer(model, X[y < 2], y[y < 2]) < 0
    with pytest.raises(ValueError, match=r"keys of class_weight .* Got \[7\]"):
        get_scorer("brier", class_weight={7: 1.0})(model, X, y)
    for bad in ("even", {}, {0: -1.0}, {0: np.nan}, {0: "x"}, [1, 2]):
        with pytest.raises(ValueError, match="'class_weight' option must be"):
            get_scorer("brier", class_weight=bad)


def test_balanced_scores_in_cross_validation_and_on_a_device():
    X, y = IRIS[0][UNEVEN, :2], IRIS[1][UNEVEN]
    scorer = get_scorer("neg_penalized_brier_score", class_weight="balanced")
    folds = StratifiedKFold(3)
    scores = cross_val_score(GaussianNB(), X, y, scoring=scorer, cv=folds)
    for score, (train, test) in zip(scores, folds.split(X, y), strict=True):
        proba = GaussianNB().fit(X[train], y[train]).predict_proba(X[test])
        weight = compute_sample_weight("balanced", y[test])
        expected = -penalized_brier_score_loss(y[test], proba, sample_weight=weight)
        assert_allclose(score, expected)
    torch = pytest.importorskip("torch")
    model = GaussianNB().fit(X, y)
    expected = scorer(model, X, y)

    class InTorch(BaseEstimator):
        classes_ = model.classes_

        def predict_proba(self, X):
            return torch.asarray(model.predict_proba(X))

    with config_context(array_api_dispatch=True):
        assert_allclose(scorer(InTorch(), X, torch.asarray(y)), expected)


def test_hist_gradient_boosting_takes_the_scorer():
    X, y = IRIS
    model = HistGradientBoostingClassifier(
        max_iter=3, early_stopping=True, scoring=neg_penalized_log_loss_scorer
    )
    assert len(model.fit(X, y).validation_score_) == 4


def test_pipelines_and_single_class_estimators():
    X, y = IRIS
    model = make_pipeline(StandardScaler(), DecisionTreeClassifier()).fit(X, text(y))
    assert_allclose(neg_penalized_brier_scorer(model, X, text(y)), 0, atol=1e-12)
    constant = DummyClassifier().fit(X[:50], y[:50])
    message = r"estimator and y_true have a single class, \[0\], but the loss needs two"
    with pytest.raises(ValueError, match=message):
        neg_penalized_brier_scorer(constant, X[:50], y[:50])
    declared = get_scorer("neg_penalized_brier_score", labels=[0, 1, 2])
    assert declared(constant, X[:50], y[:50]) == 0


def test_skorch_epoch_scoring():
    torch = pytest.importorskip("torch")
    skorch = pytest.importorskip("skorch")
    from skorch.callbacks import EarlyStopping, EpochScoring

    X, y = IRIS
    torch.manual_seed(0)
    net = skorch.NeuralNetClassifier(
        torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Softmax(dim=-1)),
        max_epochs=5,
        lr=0.05,
        verbose=0,
        callbacks=[
            EpochScoring(neg_penalized_brier_scorer, lower_is_better=False, name="pbs"),
            EarlyStopping(
                "pbs", lower_is_better=False, patience=5, threshold_mode="abs"
            ),
        ],
    )
    net.fit(X.astype(np.float32), y.astype(np.int64))
    assert len(net.history[:, "pbs"]) == 5
    assert_allclose(
        neg_penalized_brier_scorer(net, X.astype(np.float32), y),
        -penalized_brier_score_loss(y, net.predict_proba(X.astype(np.float32))),
    )


REGISTER = """
import warnings
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_selection import RFECV, SequentialFeatureSelector
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.model_selection import (
    GridSearchCV, RandomizedSearchCV, cross_val_score, cross_validate,
    learning_curve, permutation_test_score, validation_curve,
)
from sklearn.naive_bayes import GaussianNB
import sklearn_superior.metrics as m
from tests.logistic_path import logistic_path

X, y = load_iris(return_X_y=True)
name = "neg_penalized_brier_score"
assert name not in get_scorer_names()
try:
    cross_val_score(GaussianNB(), X, y, scoring=name)
except ValueError:
    pass
else:
    raise AssertionError("known before it was registered")

m.register_scorers()
names = get_scorer_names()
m.register_scorers()
assert names == get_scorer_names()
assert {"neg_penalized_log_loss", "neg_penalized_spherical_loss"} <= set(names)
for d2 in ("d2_penalized_brier_score", "d2_penalized_log_loss_score"):
    scores = cross_val_score(GaussianNB(), X, y, scoring=d2)
    assert (scores > 0.5).all() and (scores <= 1).all()

score = cross_val_score(GaussianNB(), X, y, scoring=name)
assert (score == cross_val_score(
    GaussianNB(), X, y, scoring=m.neg_penalized_brier_scorer)).all()
model = GaussianNB().fit(X, y)
assert check_scoring(model, name)(model, X, y) < 0
GridSearchCV(GaussianNB(), {}, scoring=name, n_jobs=2).fit(X, y)
GridSearchCV(GaussianNB(), {}, scoring=[name, "accuracy"], refit=name).fit(X, y)
RandomizedSearchCV(GaussianNB(), {"var_smoothing": [1e-9]}, n_iter=1, scoring=name
                   ).fit(X, y)
cross_validate(GaussianNB(), X, y, scoring=[name, "neg_penalized_log_loss"])
permutation_importance(model, X, y, scoring=name, n_repeats=1)
learning_curve(GaussianNB(), X, y, scoring=name, train_sizes=[0.9])
validation_curve(GaussianNB(), X, y, scoring=name, param_name="var_smoothing",
                 param_range=[1e-9])
permutation_test_score(GaussianNB(), X, y, scoring=name, n_permutations=2)
RFECV(LogisticRegression(max_iter=500), scoring=name).fit(X, y)
SequentialFeatureSelector(GaussianNB(), scoring=name, n_features_to_select=1).fit(X, y)
logistic_path(Cs=[1], max_iter=500, scoring=name).fit(X, y)
HistGradientBoostingClassifier(max_iter=2, early_stopping=True, scoring=name).fit(X, y)
# Modules that are imported only now know the names as well.
from sklearn.experimental import enable_halving_search_cv
from sklearn.model_selection import HalvingGridSearchCV, TunedThresholdClassifierCV
HalvingGridSearchCV(GaussianNB(), {"var_smoothing": [1e-9, 1e-8]}, scoring=name
                    ).fit(X, y)
TunedThresholdClassifierCV(GaussianNB(), scoring=name).fit(X[50:], y[50:] - 1)
print("registered")
"""


def test_registered_names_work_everywhere():
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", REGISTER],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert run.stdout.strip() == "registered", run.stderr


def test_no_warning_where_there_is_nothing_to_say():
    X, y = IRIS
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cross_val_score(GaussianNB(), X, y, scoring=neg_penalized_brier_scorer)
    assert penalized_log_loss([0, 1], [0.0, 1.0]) < 1e-15


def test_names_and_options_that_are_not_known():
    with pytest.raises(ValueError, match="'name' parameter .*Got None"):
        get_scorer(None)
    with pytest.raises(TypeError, match=r"options of 'brier' .* Got \['foo'\]"):
        get_scorer("brier", foo=1)
    with pytest.raises(TypeError, match="rules .* take options.*name='accuracy'"):
        get_scorer("accuracy", penalty=1)
    X, y = IRIS
    model = GaussianNB().fit(X, y)
    with pytest.raises(ValueError, match="Labels must have the same type"):
        get_scorer("brier", labels=[b"0", b"1"])(model, X, y)
    with pytest.raises(ValueError, match="Labels must have the same type"):
        neg_penalized_brier_scorer(model, X, y.astype("S"))
