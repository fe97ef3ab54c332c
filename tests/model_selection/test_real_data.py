"""The leak of random folds on real recordings; skipped where they are absent."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import KFold, cross_val_score

from sklearn_superior.model_selection import HBlockSplit, sliding_windows

DATA = Path(
    os.environ.get("SKLEARN_SUPERIOR_DATA")
    or Path(__file__).parents[3] / "shared" / "data"
)
WALKING = DATA / "walking_user_identification.csv.gz"


@pytest.mark.skipif(not WALKING.exists(), reason="the walking data is not here")
def test_random_folds_flatter_on_the_walking_data():
    table = pd.read_csv(WALKING, dtype={"series": str, "label": str})
    signal = table.iloc[:, 2:].to_numpy()
    windows = sliding_windows(
        signal, table["label"], length=96, overlap=0.75, groups=table["series"]
    )
    assert windows.X.shape[1:] == (3, 96)
    assert set(windows.groups) == set(table["series"])
    X, y = windows.X.reshape(len(windows.X), -1), windows.y
    model = ExtraTreesClassifier(30, random_state=0, n_jobs=2)
    options = {"scoring": "f1_macro", "error_score": "raise"}
    leaking = cross_val_score(
        model, X, y, cv=KFold(5, shuffle=True, random_state=0), **options
    )
    honest = cross_val_score(
        model,
        X,
        y,
        groups=windows.groups,
        cv=HBlockSplit(10, n_test_blocks=2, step=2, gap=3),
        **options,
    )
    print(f"random {leaking.mean():.3f}, blocks {honest.mean():.3f}")
    assert leaking.mean() > honest.mean() + 0.1
    assert np.isfinite(honest).all()
