"""The trainings of the study of signals."""

import numpy as np
import pytest

from studies.signals.data import Parts
from studies.signals.trainings import DEFAULT, NAMES, ROCKETS, Job, fit_estimator

pytest.importorskip("torch")


@pytest.mark.parametrize("model", [name for name in NAMES if name not in ROCKETS])
def test_every_estimator_learns(model):
    rng = np.random.RandomState(0)
    X, y, parts = {}, {}, ("train", "validation")
    for part, n_rows in zip(parts, (60, 30), strict=True):
        y[part] = np.arange(n_rows) % 3
        signal = np.sin(np.arange(24) * (1 + y[part][:, None, None]) / 3)
        X[part] = (signal + 0.1 * rng.normal(size=(n_rows, 2, 24))).astype("f4")
    fitted = fit_estimator(Job("none", model, DEFAULT, 20, 0), Parts(X, y, None))
    assert fitted.score(X["validation"], y["validation"]) > 0.9
    if model in ("paper", "residual"):
        assert fitted.module == model
