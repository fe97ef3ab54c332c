"""Classifiers that ship a temperature with their probabilities."""

import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_superior.early_stopping import (
    EarlyStopper,
    EarlyStoppingClassifier,
    staged_scores,
)
from sklearn_superior.metrics import fit_temperature, get_scorer, scale_temperature
from tests.early_stopping.families import FAMILIES, make_data, resumable


def fit_both(estimator, kind="five", weight=None, **options):
    """Fit without and with calibration."""
    X, y, X_val, y_val = make_data(kind)
    models = []
    for calibration in (None, "temperature"):
        model = EarlyStoppingClassifier(
            clone(estimator),
            scoring="neg_penalized_brier_score",
            calibration=calibration,
            n_iter_no_change=5,
            **options,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y, X_val=X_val, y_val=y_val, sample_weight_val=weight)
        models.append(model)
    return models


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("kind", ["binary", "five"])
def test_probabilities_are_scaled_and_classes_stay(name, kind):
    X, _, X_val, y_val = make_data(kind)
    plain, calibrated = fit_both(FAMILIES[name](), kind)
    assert plain.temperature_ == 1
    raw = plain.predict_proba(X_val)
    assert_allclose(calibrated.temperature_, fit_temperature(y_val, raw), rtol=1e-9)
    expected = scale_temperature(raw, calibrated.temperature_)
    assert_allclose(calibrated.predict_proba(X_val), expected, rtol=1e-6)
    assert_allclose(calibrated.predict_log_proba(X_val), np.log(expected), rtol=1e-6)
    for data in (X, X_val):
        assert_array_equal(calibrated.predict(data), plain.predict(data))
    assert_array_equal(calibrated.validation_scores_, plain.validation_scores_)
    before, after = (
        log_loss(y_val, m.predict_proba(X_val)) for m in (plain, calibrated)
    )
    assert after <= before + 1e-9


@pytest.mark.parametrize("name", ["HistGradientBoosting", "XGBoost", "CNN"])
def test_an_overfitted_model_gets_better_probabilities(name):
    """The last stage by accuracy: too sure, which a temperature mends on test data."""
    X, y, X_held, y_held = make_data("five")
    X_val, y_val, X_test, y_test = (
        X_held[:100],
        y_held[:100],
        X_held[100:],
        y_held[100:],
    )
    options = {"scoring": "accuracy", "n_iter_no_change": 40}
    losses = []
    for calibration in (None, "temperature"):
        model = EarlyStoppingClassifier(
            FAMILIES[name](), calibration=calibration, **options
        )
        model.fit(X, y, X_val=X_val, y_val=y_val)
        losses.append(log_loss(y_test, model.predict_proba(X_test)))
        if calibration is None:
            predicted = model.predict(X_test)
    assert model.temperature_ > 1.2
    assert losses[1] < losses[0] - 0.02
    assert_array_equal(model.predict(X_test), predicted)


def test_weights_and_pipelines():
    X, _, X_val, y_val = make_data("five")
    weight = np.random.default_rng(0).random(len(y_val))
    estimator = make_pipeline(StandardScaler(), FAMILIES["HistGradientBoosting"]())
    plain, calibrated = fit_both(estimator, weight=weight)
    weight /= weight.mean()
    expected = fit_temperature(y_val, plain.predict_proba(X_val), sample_weight=weight)
    assert_allclose(calibrated.temperature_, expected, rtol=1e-9)


@pytest.mark.parametrize("name", ["HistGradientBoosting", "XGBoost", "MLP"])
def test_a_class_that_is_missing_in_training(name):
    X, y, X_val, y_val = make_data("missing")
    plain, calibrated = fit_both(FAMILIES[name](), "missing")
    known = np.isin(y_val, plain.classes_)
    assert not known.all()
    expected = fit_temperature(
        y_val[known], plain.predict_proba(X_val)[known], labels=plain.classes_
    )
    assert_allclose(calibrated.temperature_, expected, rtol=1e-9)


def test_a_class_that_only_the_validation_part_has():
    X, y, _, _ = make_data("five")
    rows = y == "red"

    class Split:
        def split(self, X, y=None, groups=None):
            others = np.flatnonzero(~rows)
            yield others[:200], np.r_[others[200:], np.flatnonzero(rows)[:5]]

    model = EarlyStoppingClassifier(
        FAMILIES["HistGradientBoosting"](),
        calibration="temperature",
        validation_split=Split(),
    )
    model.fit(X, y)
    y_proba = model.predict_proba(X)
    column = list(model.classes_).index("red")
    assert_array_equal(y_proba[:, column], 0)  # whatever the temperature
    assert_allclose(y_proba.sum(axis=1), 1, rtol=1e-6)
    assert model.temperature_ > 0


@pytest.mark.parametrize("name", ["HistGradientBoosting", "CNN"])
def test_pickles_clones_and_fits_again(name):
    X, y, X_val, y_val = make_data("five")
    _, model = fit_both(FAMILIES[name]())
    copied = pickle.loads(pickle.dumps(model))
    assert copied.temperature_ == model.temperature_
    assert_array_equal(copied.predict_proba(X_val), model.predict_proba(X_val))
    assert clone(model).calibration == "temperature"
    model.set_params(calibration=None).fit(X, y, X_val=X_val, y_val=y_val)
    assert model.temperature_ == 1


@pytest.mark.parametrize("name", ["HistGradientBoosting", "CNN"])
def test_resumes_from_a_checkpoint(name, tmp_path):
    pytest.importorskip("skops")
    X, y, X_val, y_val = make_data("five")

    def fit(**options):
        model = EarlyStoppingClassifier(
            resumable(name),
            scoring="neg_refined_penalized_brier_score",
            n_iter_no_change=5,
            checkpoint_dir=tmp_path,
            **options,
        )
        return model.fit(X, y, X_val=X_val, y_val=y_val)

    plain = fit(calibration=None)
    calibrated = fit(resume=True)
    assert_array_equal(calibrated.validation_scores_, plain.validation_scores_)
    assert_array_equal(calibrated.predict(X_val), plain.predict(X_val))
    expected = fit_temperature(y_val, plain.predict_proba(X_val))
    assert_allclose(calibrated.temperature_, expected, rtol=1e-9)


def test_the_network_itself():
    pytest.importorskip("torch")
    X, y, X_val, y_val = make_data("five")
    network = FAMILIES["CNN"]().set_params(n_iter_no_change=5)
    plain = clone(network).set_params(calibration=None)
    plain.fit(X, y, X_val=X_val, y_val=y_val)
    calibrated = clone(network).set_params(calibration="temperature")
    calibrated.fit(X, y, X_val=X_val, y_val=y_val)
    raw = plain.predict_proba(X_val)
    assert_allclose(calibrated.temperature_, fit_temperature(y_val, raw), rtol=1e-6)
    assert_allclose(
        calibrated.predict_proba(X_val),
        scale_temperature(raw, calibrated.temperature_),
        rtol=1e-5,
    )
    assert_array_equal(calibrated.predict(X_val), plain.predict(X_val))
    calibrated.partial_fit(X, y)  # other weights have no temperature
    assert calibrated.temperature_ == 1
    bad = clone(network).set_params(calibration="temperature", early_stopping=False)
    with pytest.raises(ValueError, match="calibration='temperature' needs validation"):
        bad.fit(X, y)


def test_the_temperature_of_separated_validation_data_is_held_by_the_prior():
    X = np.linspace(0, 1, 60).reshape(-1, 1)
    y = (X[:, 0] > 0.5).astype(int)
    booster = HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=1)
    model = EarlyStoppingClassifier(booster, calibration="temperature")
    model.fit(X, y, X_val=X[::7], y_val=y[::7])
    assert 0.2 < model.temperature_ <= 1


@pytest.mark.parametrize("calibration", ["isotonic", True, 1.0])
def test_bad_parameter(calibration):
    X, y, _, _ = make_data("five")
    for model in (
        EarlyStoppingClassifier(FAMILIES["SGD"](), calibration=calibration),
        FAMILIES["CNN"]().set_params(calibration=calibration),
    ):
        with pytest.raises(ValueError, match="'calibration' parameter .* Got"):
            model.fit(X, y)


def test_small_validation_data_is_chosen_by_as_it_is_shipped():
    """The prior keeps the temperature of stages without an error from running away."""
    X, y = load_wine(return_X_y=True)
    kept = []
    for scoring in ("neg_penalized_brier_score", "neg_refined_penalized_brier_score"):
        model = EarlyStoppingClassifier(
            HistGradientBoostingClassifier(max_iter=30, random_state=0),
            scoring=scoring,
            calibration="temperature",
            n_iter_no_change=30,
        )
        model.fit(X[::2], y[::2], X_val=X[1::16], y_val=y[1::16])
        assert 0.2 < model.temperature_ < 2
        kept.append(model.best_iteration_)
    assert kept[1] >= kept[0] - 5
    assert kept[1] > 5


@pytest.mark.parametrize(
    ("scoring", "calibration", "ships"),
    [
        (None, "auto", True),
        ("neg_refined_penalized_log_loss", "auto", True),
        ("neg_refined_log_loss", "auto", True),
        ("refined_penalized_brier", "auto", True),
        (get_scorer("refined_brier", prior_scale=None), "auto", True),
        ("neg_penalized_log_loss", "auto", False),
        ("f1_macro", "auto", False),
        ("f1_macro", "temperature", True),
        (None, None, False),
        ("neg_refined_penalized_log_loss", None, False),
    ],
)
def test_refined_rules_ship_their_temperature(scoring, calibration, ships):
    X, y, X_val, y_val = make_data("five")
    options = {"scoring": scoring, "calibration": calibration}
    model = EarlyStoppingClassifier(FAMILIES["HistGradientBoosting"](), **options)
    model.fit(X, y, X_val=X_val, y_val=y_val)
    assert (model.temperature_ != 1) == ships


@pytest.mark.parametrize("options", [{}, {"prior_scale": None}, {"prior_scale": 0.1}])
@pytest.mark.parametrize("weights", [None, "balanced", {"red": 3.0}])
def test_what_a_refined_rule_judges_is_what_is_shipped(options, weights):
    """The plain rule, of the shipped probabilities, is the refined one."""
    X, y, X_val, y_val = make_data("five")
    scorer = get_scorer("refined_penalized_log_loss", class_weight=weights, **options)
    model = EarlyStoppingClassifier(FAMILIES["HistGradientBoosting"](), scoring=scorer)
    model.fit(X, y, X_val=X_val, y_val=y_val)
    plain = get_scorer("penalized_log_loss", class_weight=weights)
    assert_allclose(plain(model, X_val, y_val), model.best_score_, rtol=1e-6)


def test_the_default_rule_and_patience():
    X, y, X_val, y_val = make_data("five")
    data = {"X": X, "y": y, "X_val": X_val, "y_val": y_val}
    model = EarlyStoppingClassifier(FAMILIES["HistGradientBoosting"]())
    assert model.n_iter_no_change == EarlyStopper().n_iter_no_change == 20
    named = {"scoring": "neg_refined_log_loss", "calibration": "temperature"}
    default, same = model.fit(**data), clone(model).set_params(**named).fit(**data)
    assert repr(default.scorer_) == repr(get_scorer("neg_refined_log_loss"))
    assert_array_equal(default.validation_scores_, same.validation_scores_)
    assert default.temperature_ > 1
    assert_array_equal(default.predict_proba(X_val), same.predict_proba(X_val))
    expected = get_scorer("neg_log_loss")(default, X_val, y_val)
    assert_allclose(default.best_score_, expected, rtol=1e-6)
    kept = default.estimator_
    assert_allclose(
        staged_scores(kept, X_val, y_val), default.validation_scores_[: kept.n_iter_]
    )


def test_the_refined_rule_with_its_temperature():
    X, y, X_val, y_val = make_data("five")
    model = EarlyStoppingClassifier(
        FAMILIES["HistGradientBoosting"](),
        scoring="neg_refined_penalized_log_loss",
        n_iter_no_change=20,
    ).fit(X, y, X_val=X_val, y_val=y_val)
    assert model.temperature_ != 1
    scores = staged_scores(model, X_val, y_val, scoring=model.scorer_)
    assert_allclose(scores, model.validation_scores_[: len(scores)], rtol=1e-6)
