"""A first look at superior scoring rules, on data that comes with scikit-learn."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import brier_score_loss, f1_score, log_loss
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    cross_val_score,
    train_test_split,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from sklearn_superior.early_stopping import EarlyStoppingClassifier
from sklearn_superior.metrics import (
    neg_penalized_brier_scorer,
    penalized_brier_score_loss,
    penalized_log_loss,
)
from sklearn_superior.model_selection import (
    HBlockSplit,
    recommended_gap,
    sliding_windows,
)


def print_table(header, rows):
    """Print rows of text and numbers under a header, in aligned columns."""
    cells = [header]
    for row in rows:
        cells.append([f"{v:.4f}" if isinstance(v, float) else v for v in row])
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for k, row in enumerate(cells):
        first, *rest = zip(row, widths, strict=True)
        line = first[0].ljust(first[1]) + "".join(f"   {v:>{w}}" for v, w in rest)
        print("  " + line)
        if k == 0:
            print("  " + "-" * len(line))
    print()


def two_forecasts():
    """Show the paper's example: class 1 of three is true."""
    print("Two forecasts for a sample of class 1 (lower scores are better)\n")
    rows = []
    for name, proba in {
        "A  (0.33, 0.34, 0.33)  right": [0.33, 0.34, 0.33],
        "B  (0.51, 0.49, 0.00)  wrong": [0.51, 0.49, 0.00],
    }.items():
        data = {"y_true": [1], "y_proba": [proba], "labels": [0, 1, 2]}
        rows.append(
            [
                name,
                brier_score_loss(**data),
                log_loss(**data),
                penalized_brier_score_loss(**data),
                penalized_log_loss(**data),
            ]
        )
    print_table(["forecast", "Brier", "log loss", "PBS", "PLL"], rows)
    print("  Brier score and log loss prefer B; PBS and PLL prefer A.\n")


def grid_search():
    """Tune three models by the Brier score and by PBS; compare on held-out data."""
    print(
        "GridSearchCV on the digits: 10 classes, 300 samples to train, 1497 to test\n"
    )
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, train_size=300, stratify=y, random_state=0
    )
    rows = []
    for model, parameter, values in [
        (KNeighborsClassifier(), "n_neighbors", [1, 2, 3, 5, 8]),
        (GaussianNB(), "var_smoothing", [1e-9, 1e-4, 1e-2, 1.0]),
        (DecisionTreeClassifier(random_state=0), "min_samples_leaf", [1, 2, 4, 8]),
    ]:
        row = [f"{type(model).__name__}, {parameter}"]
        for scoring in ("neg_brier_score", neg_penalized_brier_scorer):
            search = GridSearchCV(model, {parameter: values}, scoring=scoring)
            predicted = search.fit(X_train, y_train).predict(X_test)
            row += [
                f"{search.best_params_[parameter]:g}",
                f1_score(y_test, predicted, average="macro"),
            ]
        rows.append(row)
    print_table(["model", "by Brier", "test F1", "by PBS", "test F1"], rows)
    print("  Where the two choices differ, either may be the better one:")
    print("  three rows are an illustration, not evidence.\n")


def h_blocks():
    """Cross-validate overlapping windows of two walks, with and without a leak."""
    print("Windows of two noisy, drifting signals, which overlap by 75 %: whose?\n")
    rng = np.random.default_rng(0)
    drift = np.cumsum(rng.normal(scale=0.2, size=(2, 2000)), axis=1)
    drift -= drift.mean(axis=1, keepdims=True)
    signal = drift.ravel() + rng.normal(size=4000)
    person = np.repeat(["Ann", "Bob"], 2000)
    windows = sliding_windows(signal, person, length=40, groups=person)
    gap = recommended_gap(length=40, overlap=0.75)
    blocks = HBlockSplit(n_validation_blocks=0, n_test_blocks=2, step=2, gap=gap)
    rows = []
    for name, cv, groups in [
        ("random folds", KFold(5, shuffle=True, random_state=0), None),
        (f"blocks with a gap of {gap}", blocks, windows.groups),
    ]:
        scores = cross_val_score(
            KNeighborsClassifier(), windows.X[:, 0], windows.y, cv=cv, groups=groups
        )
        rows.append([name, float(scores.mean())])
    print_table(["cross-validation", "accuracy"], rows)


def early_stopping():
    """Stop a booster by PBS and keep its best stage."""
    print("HistGradientBoosting on the digits, at most 300 iterations\n")
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, stratify=y, random_state=0)
    booster = HistGradientBoostingClassifier(
        max_iter=300, max_leaf_nodes=5, random_state=0
    )
    rows = []
    for name, scoring in {
        "log loss": "neg_log_loss",
        "PBS": neg_penalized_brier_scorer,
    }.items():
        model = EarlyStoppingClassifier(booster, scoring=scoring, random_state=0)
        predicted = model.fit(X, y).predict(X_test)
        f1 = float(f1_score(y_test, predicted, average="macro"))
        rows.append([name, f"{model.n_iter_}", f"{model.best_iteration_ + 1}", f1])
    print_table(["stopped by", "trained", "kept", "test F1"], rows)


if __name__ == "__main__":
    two_forecasts()
    grid_search()
    h_blocks()
    early_stopping()
