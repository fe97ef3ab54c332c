"""What theory says of the rules, checked for every row of the table."""

import os
import pickle
import re
import shutil
import subprocess
import sys
import textwrap
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import sklearn_superior
from sklearn_superior.metrics import get_scorer
from sklearn_superior.metrics._rules import RULES, find_rule
from sklearn_superior.metrics._scorers import SCORERS
from tests.metrics.forecasts import D2_SCORES, LOSSES, SAMPLES, simplex_grid

rules = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
ROOT = Path(sklearn_superior.__file__).parents[1]
GRIDS = [(2, 12), (3, 12), (4, 8)]


def all_losses(rule, forecasts, **options):
    """Loss of every forecast for every true class, shape (n_forecasts, n_classes)."""
    n_forecasts, n_classes = forecasts.shape
    losses = SAMPLES[rule.name](
        np.tile(np.arange(n_classes), n_forecasts),
        np.repeat(forecasts, n_classes, axis=0),
        labels=range(n_classes),
        **options,
    )
    return losses.reshape(n_forecasts, n_classes)


def random_forecasts(seed, n_classes, n_forecasts=200):
    rng = np.random.default_rng(seed)
    alpha = rng.choice([0.1, 1.0, 30.0], size=(n_forecasts, 1))
    gamma = rng.gamma(np.broadcast_to(alpha, (n_forecasts, n_classes)))
    gamma[gamma.sum(axis=1) == 0] = 1
    extremes = [np.full(n_classes, 1 / n_classes)]
    for pair in [(0, 1), (1, 0), (0, n_classes - 1)]:
        half = np.zeros(n_classes)
        half[list(pair)] = 0.5
        extremes.append(half)
    return np.vstack([gamma / gamma.sum(axis=1, keepdims=True), extremes])


@rules
@pytest.mark.parametrize("n_classes", [2, 3, 5, 50])
def test_table_agrees_with_its_own_score(rule, n_classes):
    uniform = np.full((1, n_classes), 1 / n_classes)
    half = np.zeros((1, n_classes))
    half[0, :2] = 0.5
    worst_correct = all_losses(rule, uniform, penalty=0)[0, 0]
    best_wrong = all_losses(rule, half, penalty=0)[0, 1]
    assert_allclose(rule.worst_correct(n_classes), worst_correct, rtol=1e-14)
    assert_allclose(rule.best_wrong, best_wrong, rtol=1e-14)


def test_penalties_are_those_of_the_theory():
    for c in [2, 3, 7, 50]:
        brier, log_loss, spherical = (
            RULES[name] for name in ("brier", "log_loss", "spherical")
        )
        assert_allclose(brier.penalty("paper", c), (c - 1) / c)
        assert_allclose(brier.penalty("minimal", c), (c - 2) / (2 * c), atol=1e-16)
        assert_allclose(log_loss.penalty("paper", c), np.log(c))
        assert_allclose(log_loss.penalty("minimal", c), np.log(c / 2), atol=1e-16)
        assert_allclose(spherical.penalty("paper", c), 1 - c**-0.5)
        assert_allclose(spherical.penalty("minimal", c), 2**-0.5 - c**-0.5, atol=1e-16)


def exact_penalized_brier(q, i, penalty, ties):
    """Theory, in fractions and without a look at the implementation."""
    brier = sum((q_j - (j == i)) ** 2 for j, q_j in enumerate(q))
    top = max(q)
    winners = [j for j, q_j in enumerate(q) if q_j == top]
    wrong = {
        "first": Fraction(winners[0] != i),
        "split": 1 - Fraction(i in winners, len(winners)),
        "correct": Fraction(i not in winners),
    }[ties]
    return brier + penalty * wrong


@pytest.mark.parametrize("ties", ["first", "split"])
@pytest.mark.parametrize("penalty", ["paper", "minimal"])
@pytest.mark.parametrize(("n_classes", "n_steps"), GRIDS)
def test_penalized_brier_is_strictly_proper_in_exact_arithmetic(
    n_classes, n_steps, penalty, ties
):
    c = n_classes
    exact_penalty = Fraction(c - 1, c) if penalty == "paper" else Fraction(c - 2, 2 * c)
    grid = [[Fraction(k, n_steps) for k in row] for row in simplex_grid(c, n_steps)]
    exact = [
        [exact_penalized_brier(q, i, exact_penalty, ties) for i in range(c)]
        for q in grid
    ]
    for truth_index, truth in enumerate(grid):
        expected = [
            sum(t * loss for t, loss in zip(truth, row, strict=True)) for row in exact
        ]
        honest = expected.pop(truth_index)
        assert honest < min(expected), truth
    # The implementation has the same values, so it has the same property.
    ours = all_losses(
        RULES["brier"], np.array(grid, dtype=float), penalty=penalty, ties=ties
    )
    assert_allclose(ours, np.array(exact, dtype=float), rtol=0, atol=1e-15)


@rules
@pytest.mark.parametrize("ties", ["first", "split"])
@pytest.mark.parametrize("penalty", ["paper", "minimal", 3.0])
@pytest.mark.parametrize(("n_classes", "n_steps"), GRIDS)
def test_every_rule_is_strictly_proper(rule, n_classes, n_steps, penalty, ties):
    grid = np.array(simplex_grid(n_classes, n_steps)) / n_steps
    expected = grid @ all_losses(rule, grid, penalty=penalty, ties=ties).T
    honest = np.diag(expected).copy()
    np.fill_diagonal(expected, np.inf)
    # The nearest rival on the grid loses by far more than rounding errors.
    assert np.all(honest < expected.min(axis=1) - 1e-4)


@rules
def test_counting_ties_as_correct_is_not_proper(rule):
    # The counter-example: Q = (0.6, 0.4) does better by saying (0.5, 0.5).
    truth, evasive = np.array([[0.6, 0.4]]), np.array([[0.5, 0.5]])
    honest_loss = truth @ all_losses(rule, truth, ties="correct")[0]
    evasive_loss = truth @ all_losses(rule, evasive, ties="correct")[0]
    assert evasive_loss < honest_loss
    if rule.name == "brier":
        assert_allclose([evasive_loss[0], honest_loss[0]], [0.5, 0.68])


@rules
@pytest.mark.parametrize("penalty", ["paper", "minimal"])
@given(seed=st.integers(0, 2**32 - 1), n_classes=st.integers(2, 20))
def test_no_wrong_prediction_beats_a_correct_one(rule, penalty, seed, n_classes):
    forecasts = random_forecasts(seed, n_classes)
    losses = all_losses(rule, forecasts, penalty=penalty)
    correct = forecasts.argmax(axis=1)[:, None] == np.arange(n_classes)
    gap = losses[~correct].min() - losses[correct].max()
    # With the paper's penalty they stay apart by the best wrong score.
    assert gap >= (rule.best_wrong if penalty == "paper" else 0) - 1e-12


@rules
@pytest.mark.parametrize("n_classes", [3, 4, 10])
def test_one_percent_below_minimal_is_not_enough(rule, n_classes):
    penalty = 0.99 * rule.penalty("minimal", n_classes)
    forecasts = random_forecasts(0, n_classes)
    losses = all_losses(rule, forecasts, penalty=penalty)
    correct = forecasts.argmax(axis=1)[:, None] == np.arange(n_classes)
    assert losses[~correct].min() < losses[correct].max()


@pytest.mark.parametrize("name", ["brier", "log_loss", "spherical"])
def test_near_perfect_forecasts_keep_their_digits(name):
    # For the forecast (1 - d, d) the leading term of each loss is known.
    d = np.logspace(-14, -7, 8)
    losses = SAMPLES[name](np.zeros(8), np.c_[1 - d, d], labels=[0, 1])
    q = 1 - d  # as rounded
    expected = {
        "brier": (1 - q) ** 2 + d**2,
        "log_loss": -np.log1p(-(1 - q)),
        "spherical": d**2 / 2,
    }
    assert_allclose(losses, expected[name], rtol=1e-6)


def test_find_rule_names_the_choices():
    assert find_rule("penalized_spherical") == (RULES["spherical"], "paper")
    for bad in ["pbs", None, ["brier"]]:
        with pytest.raises(ValueError, match=r"'rule' parameter must be one of .*Got"):
            find_rule(bad)


USE_NEW_RULE = """
import pickle
import warnings
import dask.array as da
import numpy as np
import torch
from scipy.special import log_softmax
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB
from sklearn_superior.integrations import (
    catboost, dask, lightgbm, torchmetrics, xgboost
)
from sklearn_superior.metrics import (
    fit_temperature, get_scorer, neg_penalized_power_scorer, penalized_power_loss,
    register_scorers, scale_temperature, superiority_rate,
)
from sklearn_superior.model_selection import compare_stopping_rules

X, y = load_iris(return_X_y=True)
X = X[:, :2]
model = GaussianNB().fit(X, y)
q = model.predict_proba(X)
rows = np.arange(len(y))

def power(q):
    return np.mean(1 - 3 * q[rows, y] ** 2 + 2 * (q**3).sum(axis=1))

error = 8 / 9 * np.mean(q.argmax(axis=1) != y)
scaled = scale_temperature(q, fit_temperature(y, q))
expected = {
    "power": power(q),
    "penalized_power": power(q) + error,
    "refined_power": power(scaled),
    "refined_penalized_power": power(scaled) + error,
}
close = dict(rtol=1e-9)
register_scorers()
np.testing.assert_allclose(penalized_power_loss(y, q), expected["penalized_power"])
for name, loss in expected.items():
    scorer = pickle.loads(pickle.dumps(get_scorer(name)))
    np.testing.assert_allclose(scorer(model, X, y), -loss, **close)
    if name != "power":
        registered = get_scorer(f"neg_{name}_loss")
        np.testing.assert_allclose(registered(model, X, y), -loss, **close)
    np.testing.assert_allclose(xgboost.eval_metric(name)(y, q), loss, **close)
    named, value, _ = lightgbm.eval_metric(name)(y, q)
    assert named == name
    np.testing.assert_allclose(value, loss, **close)
    sums = catboost.EvalMetric(name).evaluate(np.log(q).T - np.log(q).mean(1), y, None)
    np.testing.assert_allclose(sums[0] / sums[1], loss, **close)
loss = expected["penalized_power"]
np.testing.assert_allclose(neg_penalized_power_scorer(model, X, y), -loss)
lazy = dask.penalized_power_loss(da.from_array(y, 40), da.from_array(q, (40, 3)))
np.testing.assert_allclose(float(lazy), loss)
metric = torchmetrics.PenalizedPowerLoss()
metric.update(torch.asarray(q), torch.asarray(y))
np.testing.assert_allclose(metric.compute().item(), loss)
assert type(pickle.loads(pickle.dumps(metric))) is torchmetrics.PenalizedPowerLoss
assert superiority_rate(y, q, rule="penalized_power") == 1
print("all of it follows")
"""


def worked_example():
    """Return the code of the worked example of a rule in the guide, in its order."""
    text = (ROOT / "doc" / "contributing.rst").read_text()
    text = text.split("Add a scoring rule\n---")[1].split("\nAdd an adapter")[0]
    blocks = re.findall(r"\.\. code-block:: python\n\n((?:      .*\n|\n)+)", text)
    return [textwrap.dedent(block).strip() + "\n" for block in blocks]


def test_what_a_new_rule_needs(tmp_path):
    """A row, a function and a scorer; everything else follows, tests included."""
    for library in ("catboost", "dask", "lightgbm", "torchmetrics", "xgboost"):
        pytest.importorskip(library)
    shutil.copytree(ROOT / "sklearn_superior", tmp_path / "sklearn_superior")
    shutil.copytree(ROOT / "tests", tmp_path / "tests")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    folder = tmp_path / "sklearn_superior" / "metrics"
    score, row, function, scorer, names = worked_example()

    def insert(file, text, before):
        source = (folder / file).read_text()
        assert source.count(before) == 1
        (folder / file).write_text(source.replace(before, f"{text}{before}"))

    insert("_rules.py", f"{score}\n\n", "RULES = {\n")
    insert("_rules.py", textwrap.indent(row, " " * 8), "    )\n}\n")
    insert("_losses.py", f"{function}\n\n", "def penalized_brier_score_samples(")
    insert("_scorers.py", scorer, "\n# The names that `scoring` takes")
    with open(folder / "__init__.py", "a") as module:
        module.write(names)
        module.write(
            '__all__ += ["neg_penalized_power_scorer", "penalized_power_loss"]'
        )
    run_in_copy(tmp_path, "-W", "ignore", "-c", USE_NEW_RULE, ends="all of it follows")
    tests = ["metrics/test_rules.py"]
    tests = [f"tests/{file}" for file in tests]
    options = ["-p", "no:cacheprovider", "-k", "not new_rule", "--no-header", "-q"]
    run_in_copy(tmp_path, "-m", "pytest", *options, *tests, ends=" passed")


def run_in_copy(folder, *arguments, ends):
    run = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert ends in run.stdout.strip().splitlines()[-1]


def test_names_in_the_table_are_those_of_the_functions():
    for name, rule in RULES.items():
        assert LOSSES[name].__name__ == rule.loss_name
    for name in ("brier", "log_loss", "spherical"):
        assert SAMPLES[name].__name__ == RULES[name].samples_name
    d2_names = {rule.name: rule.d2_name for rule in RULES.values() if rule.d2_name}
    assert d2_names == {name: d2.__name__ for name, d2 in D2_SCORES.items()}
    scored = {get_scorer(name).score_function.rule.name for name in SCORERS}
    assert scored == set(RULES)


def test_names_for_sentences():
    assert [RULES[name].title for name in ("brier", "log_loss", "spherical")] == [
        "penalized Brier score",
        "penalized log loss",
        "penalized spherical loss",
    ]


@rules
def test_functions_pickle_by_their_public_name(rule):
    for function in (LOSSES[rule.name], SAMPLES[rule.name]):
        if not hasattr(sklearn_superior.metrics, function.__name__):
            continue
        assert pickle.loads(pickle.dumps(function)) is function
        assert getattr(sklearn_superior.metrics, function.__name__) is function


def test_a_split_tie_may_cost_more_than_a_wrong_forecast():
    losses = all_losses(
        RULES["brier"], np.array([[0.25] * 4, [0.499, 0.501, 0, 0]]), ties="split"
    )
    assert_allclose(losses[:, 0], [1.3125, 1.252002], rtol=1e-12)


def test_same_probability_of_the_true_class_in_appendix_b():
    """A wrong forecast with the lower Brier score, from four classes on."""
    forecasts = np.array([[0.34, 0.339, 0.321, 0], [0.34, 0.35, 0.155, 0.155]])
    losses = all_losses(RULES["brier"], forecasts, penalty=0)[:, 0]
    assert_allclose(losses, [0.653562, 0.60615], rtol=1e-6)
    assert forecasts[1].argmax() != 0


@given(seed=st.integers(0, 2**32 - 1), n_classes=st.integers(2, 8))
def test_regret_is_the_distance_plus_the_priced_decision(seed, n_classes):
    rng = np.random.default_rng(seed)
    truth, forecast = rng.dirichlet(np.ones(n_classes), 2)
    penalty = 1.7
    expected = [
        truth @ all_losses(RULES["brier"], q[np.newaxis], penalty=penalty)[0]
        for q in (forecast, truth)
    ]
    distance = np.linalg.norm(forecast - truth)
    decision = truth.max() - truth[forecast.argmax()]
    regret = expected[0] - expected[1]
    assert_allclose(regret, distance**2 + penalty * decision, atol=1e-12)
    assert decision <= np.sqrt(2) * distance + 1e-12


@pytest.mark.parametrize(
    ("ties", "is_proper"), [("first", 1), ("split", 1), ("correct", 0)]
)
def test_what_a_tie_rule_does_not_charge_is_a_distribution(ties, is_proper):
    tied = np.array([[0.4, 0.4, 0.2]])
    plain = all_losses(RULES["brier"], tied, penalty=0)
    charged = all_losses(RULES["brier"], tied, penalty=1, ties=ties) - plain
    assert np.isclose((1 - charged[0]).sum(), 1) == is_proper


def test_balanced_weights_give_the_balanced_error():
    rng = np.random.default_rng(0)
    y = rng.choice(3, 300, p=[0.9, 0.08, 0.02])
    q = rng.dirichlet(np.ones(3), 300)
    weight = (1 / np.bincount(y))[y]
    options = {"sample_weight": weight, "labels": range(3)}
    loss = LOSSES["brier"]
    gap = loss(y, q, penalty=1, **options) - loss(y, q, penalty=0, **options)
    recalls = [np.mean(q[y == k].argmax(axis=1) == k) for k in range(3)]
    assert_allclose(gap, 1 - np.mean(recalls))
