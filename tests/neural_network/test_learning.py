"""The network learns more than a linear model, on synthetic and on real recordings."""

import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_superior.datasets import fetch_paper_dataset, make_motion_signals
from sklearn_superior.model_selection import (
    HBlockSplit,
    recommended_gap,
    sliding_windows,
)
from sklearn_superior.neural_network import CNNClassifier

pytest.importorskip("torch")
DATA = Path(
    os.environ.get("SKLEARN_SUPERIOR_DATA")
    or Path(__file__).parents[3] / "shared" / "data"
)


def load(name):
    if name == "synthetic":
        recordings = make_motion_signals(random_state=0)
        return recordings, 50
    if not (DATA / f"{name}.csv.gz").exists():
        pytest.skip("the recordings are not here")
    recordings = fetch_paper_dataset(name, data_home=DATA)
    return recordings, recordings.window


def compare(name, n_epochs, step):
    """Mean test F1 over the folds of a linear model and of the network."""
    recordings, length = load(name)
    windows = sliding_windows(
        recordings.data, recordings.target, length=length, groups=recordings.groups
    )
    cv = HBlockSplit(10, gap=recommended_gap(length, 0.75), step=step)
    X, y = windows.X, windows.y
    flat = X.reshape(len(X), -1)
    scores = []
    for train, val, test in cv.split_with_validation(X, groups=windows.groups):
        linear = make_pipeline(
            StandardScaler(), LogisticRegression(max_iter=200, tol=0.01)
        )
        linear.fit(flat[train], y[train])
        network = CNNClassifier(max_iter=n_epochs, random_state=0, n_iter_no_change=15)
        network.fit(X[train], y[train], X_val=X[val], y_val=y[val])
        scores.append(
            [
                f1_score(y[test], y_pred, average="macro")
                for y_pred in (linear.predict(flat[test]), network.predict(X[test]))
            ]
        )
    linear, network = np.mean(scores, axis=0)
    chance = 1 / len(np.unique(y))
    print(f"{name}: linear {linear:.3f}, network {network:.3f}, chance {chance:.3f}")
    return linear, network, chance


@pytest.mark.parametrize(
    ("name", "n_epochs", "step"),
    [
        ("synthetic", 15, 5),
        ("walking_user_identification", 8, 10),
        pytest.param("motor_failure_time", 12, 3, marks=pytest.mark.slow),
    ],
)
def test_beats_a_linear_model_on_the_windows(name, n_epochs, step):
    linear, network, chance = compare(name, n_epochs, step)
    assert network > linear + 0.1
    assert network > 1.5 * chance
