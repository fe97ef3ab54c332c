"""Bad parameters: what is wrong, what is allowed, what came."""

import inspect

import pytest
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline

from sklearn_superior.early_stopping import EarlyStoppingClassifier
from sklearn_superior.neural_network import CNNClassifier
from tests.early_stopping.families import make_data

BOTH = [
    ({"n_iter_no_change": 0}, r"'n_iter_no_change' .* int in the range \[1, inf\).* 0"),
    ({"n_iter_no_change": 2.5}, "'n_iter_no_change' .* Got 2.5"),
    ({"tol": -1}, r"'tol' .* float in the range \[0.0, inf\)|'tol' .* Got -1"),
    ({"tol": "small"}, "'tol' .* Got 'small'"),
    ({"validation_fraction": 0}, "'validation_fraction' .* Got 0"),
    ({"validation_fraction": 1.0}, "'validation_fraction' .* Got 1.0"),
    ({"scoring": 5}, "'scoring' .* Got 5"),
    ({"scoring": "pbs"}, "'scoring' .* Got 'pbs'"),
    ({"checkpoint_dir": ""}, "'checkpoint_dir' parameter must be a folder or None"),
    ({"checkpoint_dir": 3}, "'checkpoint_dir' .* Got 3"),
    ({"resume": "yes"}, "'resume' .* Got 'yes'"),
    ({"resume": True}, "resume=True needs a checkpoint_dir"),
    ({"verbose": "loud"}, "'verbose' .* Got 'loud'"),
    ({"random_state": "zero"}, "'random_state' .* Got 'zero'"),
]


@pytest.mark.parametrize(("params", "message"), BOTH)
@pytest.mark.parametrize(
    "model",
    [EarlyStoppingClassifier(HistGradientBoostingClassifier()), CNNClassifier()],
    ids=["booster", "network"],
)
def test_parameters_that_both_have(model, params, message):
    X, y, _, _ = make_data("binary")
    with pytest.raises(ValueError, match=message):
        clone(model).set_params(**params).fit(X, y)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"early_stopping": "no"}, "'early_stopping' .* Got 'no'"),
        ({"warm_start": "a"}, "'warm_start' .* Got 'a'"),
        ({"amp": 3}, "'amp' .* Got 3"),
        ({"compile": "yes"}, "'compile' .* Got 'yes'"),
        ({"standardize": None}, "'standardize' .* Got None"),
        ({"n_jobs": 1.5}, "'n_jobs' .* Got 1.5"),
        ({"class_weight": 3}, "'class_weight' .* Got 3"),
    ],
)
def test_parameters_of_the_network(params, message):
    X, y, _, _ = make_data("binary")
    with pytest.raises(ValueError, match=message):
        CNNClassifier(**params).fit(X, y)
    with pytest.raises(ValueError, match=message):
        EarlyStoppingClassifier(CNNClassifier(**params)).fit(X, y)


def test_no_data():
    model = EarlyStoppingClassifier(HistGradientBoostingClassifier())
    with pytest.raises(ValueError, match="X must be array-like. Got None"):
        model.fit(None, [0, 1])


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (None, "'estimator' parameter must be a classifier .* Got None"),
        (GradientBoostingClassifier, "'estimator' parameter must be .* Got <class"),
        ("hgb", "'estimator' parameter must be .* Got 'hgb'"),
        (MLPClassifier(solver="lbfgs"), "MLPClassifier .* no partial_fit .*lbfgs"),
        (SGDClassifier(loss="hinge"), "SGDClassifier .* no predict_proba .*hinge"),
        (
            GaussianNB(),
            "GaussianNB cannot be trained stage by stage: it has no max_iter",
        ),
    ],
)
def test_estimators_without_stages_say_why(estimator, message):
    X, y, _, _ = make_data("binary")
    with pytest.raises(TypeError, match=message):
        EarlyStoppingClassifier(estimator).fit(X, y)


@pytest.mark.parametrize(
    "model",
    [EarlyStoppingClassifier(HistGradientBoostingClassifier()), CNNClassifier()],
    ids=["booster", "network"],
)
@pytest.mark.parametrize("name", ["eval_set", "validation_data"])
def test_names_of_other_libraries_for_validation_data(model, name):
    X, y, X_val, y_val = make_data("binary")
    message = f"fit has no {name!r}: pass the validation data as X_val= and y_val="
    with pytest.raises(TypeError, match=message):
        model.fit(X, y, **{name: [(X_val, y_val)]})
    with pytest.raises(TypeError, match=message):
        make_pipeline(model).fit(X, y, **{f"{type(model).__name__.lower()}__{name}": 1})
    with pytest.raises(TypeError, match="unexpected keyword argument 'X_vall'"):
        model.fit(X, y, X_vall=X_val)
    assert list(inspect.signature(model.fit).parameters)[:4] == [
        "X",
        "y",
        "sample_weight",
        "X_val",
    ]
