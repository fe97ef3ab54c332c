"""What `StagedSearchDisplay` shows."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.metrics import cohen_kappa_score, make_scorer

from sklearn_superior.metrics import get_scorer
from sklearn_superior.model_selection import StagedSearchCV
from sklearn_superior.plotting import StagedSearchDisplay
from tests.early_stopping.families import make_data

pyplot = pytest.importorskip("matplotlib.pyplot")


def search(**options):
    X, y, _, _ = make_data("binary")
    model = GradientBoostingClassifier(n_estimators=8, random_state=0)
    grid = {"max_depth": [1, 2], "learning_rate": [0.1, 0.5]}
    return StagedSearchCV(model, grid, cv=3, refit=False, **options).fit(X, y)


def test_the_best_candidates_with_their_chosen_stages():
    found = search(scoring="neg_refined_log_loss")
    display = found.plot()
    order = np.argsort(found.cv_results_["rank_test_score"])
    assert len(display.lines_) == 3
    for line, k in zip(display.lines_, order[:3], strict=True):
        assert_allclose(line.get_ydata(), found.stage_scores_[k].mean(axis=1))
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    best = found.best_params_
    assert (
        f"learning_rate={best['learning_rate']}, max_depth={best['max_depth']}" in texts
    )
    points = [line for line in display.ax_.get_lines() if line.get_marker() == "o"]
    assert (found.best_iteration_, found.best_score_) in [
        (p.get_xdata()[0], pytest.approx(p.get_ydata()[0])) for p in points
    ]
    band = display.ax_.collections[0].get_paths()[0].vertices
    scores = found.stage_scores_[order[0]]
    error = scores[0].std(ddof=1) / np.sqrt(3)
    assert band[:, 1].max() >= scores[0].mean() + error - 1e-12
    name = "refined log loss, negative"
    assert display.ax_.get_ylabel() == f"{name}\n(mean of 3 folds)"


def half_right(estimator, X, y):
    return estimator.score(X, y) / 2


@pytest.mark.parametrize(
    ("scoring", "name"),
    [
        ("brier", "brier, negative"),
        ("neg_log_loss", "log loss, negative"),
        ("f1_macro", "f1 macro"),
        (get_scorer("penalized_brier"), "penalized brier score loss, negative"),
        (make_scorer(cohen_kappa_score), "cohen kappa score"),
        (half_right, "half right"),
        (partial(half_right), "score"),
        (lambda model, X, y: model.score(X, y), "score"),
        ({"neg_ll": "log_loss", "hits": "accuracy"}, "ll, negative"),
        ({"macro F1": "f1_macro", "hits": "accuracy"}, "macro F1"),
        (["accuracy", "log_loss"], "accuracy"),
    ],
)
def test_the_scorer_is_named_and_whether_it_is_negated(scoring, name):
    X, y, _, _ = make_data("binary")
    model = GradientBoostingClassifier(n_estimators=2, random_state=0)
    found = StagedSearchCV(model, scoring=scoring, cv=3, refit=False).fit(X, y)
    assert found.plot().ax_.get_ylabel() == f"{name}\n(mean of 3 folds)"


def test_axes_scorers_and_numbers_of_candidates():
    found = search(scoring=["log_loss", "accuracy"])
    _, ax = pyplot.subplots()
    display = StagedSearchDisplay.from_search(found, n_candidates=9, ax=ax)
    assert display.ax_ is ax
    assert len(display.lines_) == 4
    assert ax.get_ylabel() == "log loss, negative\n(mean of 3 folds)"


def test_one_fold_has_no_band_and_no_parameters_a_name():
    display = StagedSearchDisplay([np.ones((4, 1))], [2], ["plain"]).plot()
    assert not display.ax_.collections
    X, y, _, _ = make_data("binary")
    model = GradientBoostingClassifier(n_estimators=3, random_state=0)
    single = StagedSearchCV(model, cv=3, refit=False).fit(X, y).plot()
    (text,) = single.ax_.get_legend().get_texts()
    assert text.get_text() == "the estimator as it is"


def test_the_legend_stays_in_the_figure():
    labels = [f"learning_rate=0.5, max_depth={k}" for k in range(3)]
    display = StagedSearchDisplay([np.ones((4, 1))] * 3, [2] * 3, labels).plot()
    display.figure_.draw_without_rendering()
    legend, figure = display.ax_.get_legend().get_window_extent(), display.figure_.bbox
    assert legend.x0 >= 0
    assert legend.x1 <= figure.width
    assert legend.y1 <= figure.height


def test_infinite_scores_leave_the_other_stages_as_they_are():
    scores = np.array([[-np.inf, -2.0], [-1.0, -2.0], [-2.0, -3.0]])
    display = StagedSearchDisplay([scores], [1], ["a"]).plot()
    assert display.lines_[0].get_ydata().tolist() == [-np.inf, -1.5, -2.5]
    display.figure_.draw_without_rendering()
    low, high = display.ax_.get_ylim()
    assert -4 < low < high < 0
