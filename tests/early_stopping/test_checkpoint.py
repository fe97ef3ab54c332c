"""Checkpoints: kills, resumption, damage and malice."""

import io
import json
import os
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import clone

from sklearn_superior.early_stopping import EarlyStoppingClassifier
from sklearn_superior.early_stopping import _checkpoint as checkpoints
from sklearn_superior.early_stopping.stages import find_stages
from sklearn_superior.metrics import neg_penalized_brier_scorer
from tests.early_stopping.families import FAMILIES, make_data, resumable
from tests.early_stopping.kill_and_resume import RESUMABLE

skops = pytest.importorskip("skops.io")
ROOT = Path(__file__).parents[2]


def test_killed_training_goes_on_to_the_same_result():
    script = Path(__file__).with_name("kill_and_resume.py")
    run = subprocess.run(
        [sys.executable, str(script), "20"],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        timeout=500,
    )
    assert run.returncode == 0, run.stderr
    outcome = json.loads(run.stdout.splitlines()[-1])
    assert len(outcome) == 20
    assert sum(killed for _, killed, _, _ in outcome) >= 15  # a few end before that
    for name, _, resumed, reference in outcome:
        assert resumed["best"] == reference["best"], name
        assert_allclose(resumed["scores"], reference["scores"], rtol=1e-6, err_msg=name)
        assert_allclose(resumed["proba"], reference["proba"], rtol=1e-5, err_msg=name)


class Interrupt(Exception):
    left = 0  # number of stages before it comes


def interrupted_scorer(estimator, X, y):
    Interrupt.left -= 1
    if Interrupt.left < 0:
        raise Interrupt
    return neg_penalized_brier_scorer(estimator, X, y)


@pytest.mark.parametrize("name", RESUMABLE)
@pytest.mark.parametrize("kind", ["binary", "missing"])
@pytest.mark.parametrize("stop_at", [1, 7])
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.filterwarnings("ignore:The validation data has classes that training")
def test_interrupted_training_goes_on(name, kind, stop_at, tmp_path, monkeypatch):
    X, y, X_val, y_val = make_data(kind)
    monkeypatch.setattr(checkpoints.CheckpointStore, "is_due", lambda self: True)
    Interrupt.left = stop_at
    options = {"n_iter_no_change": 8, "checkpoint_dir": tmp_path / "one"}
    model = EarlyStoppingClassifier(
        resumable(name), scoring=interrupted_scorer, **options
    )
    with pytest.raises(Interrupt):
        model.fit(X, y, X_val=X_val, y_val=y_val)
    Interrupt.left = 1000
    model.set_params(resume=True).fit(X, y, X_val=X_val, y_val=y_val)

    whole = EarlyStoppingClassifier(
        resumable(name), n_iter_no_change=8, checkpoint_dir=tmp_path / "two"
    ).fit(X, y, X_val=X_val, y_val=y_val)
    assert model.best_iteration_ == whole.best_iteration_
    assert_allclose(model.validation_scores_, whole.validation_scores_, rtol=1e-6)
    assert_allclose(model.predict_proba(X_val), whole.predict_proba(X_val), rtol=1e-5)

    # A finished run is taken up as it is; not a stage is trained again.
    again = EarlyStoppingClassifier(
        resumable(name),
        n_iter_no_change=8,
        checkpoint_dir=tmp_path / "two",
        resume=True,
    ).fit(X, y, X_val=X_val, y_val=y_val)
    assert_array_equal(again.validation_scores_, whole.validation_scores_)
    assert_allclose(again.predict_proba(X_val), whole.predict_proba(X_val), rtol=1e-12)
    assert again.n_iter_ == whole.n_iter_


@pytest.mark.parametrize("name", RESUMABLE)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_more_stages_can_be_added(tmp_path, name):
    X, y, X_val, y_val = make_data("five")
    budget = "n_estimators" if hasattr(resumable(name), "n_estimators") else "max_iter"

    def fit(n_stages, **options):
        inner = resumable(name).set_params(**{budget: n_stages})
        model = EarlyStoppingClassifier(inner, n_iter_no_change=50, **options)
        return model.fit(X, y, X_val=X_val, y_val=y_val)

    assert fit(5, checkpoint_dir=tmp_path, resume=True).n_iter_ == 5
    longer = fit(12, checkpoint_dir=tmp_path, resume=True)
    whole = fit(12)
    assert_allclose(longer.validation_scores_, whole.validation_scores_, rtol=1e-5)
    assert_allclose(longer.predict_proba(X_val), whole.predict_proba(X_val), rtol=1e-4)


def saved(tmp_path, name="SGD"):
    X, y, X_val, y_val = make_data("five")
    model = EarlyStoppingClassifier(
        resumable(name), n_iter_no_change=3, checkpoint_dir=tmp_path, resume=True
    )
    model.fit(X, y, X_val=X_val, y_val=y_val)
    return model, tmp_path / "checkpoint.zip", (X, y, X_val, y_val)


def test_only_the_checkpoint_is_left(tmp_path):
    saved(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint.zip"]


@pytest.mark.parametrize("damage", ["cut", "foreign", "empty", "other zip", "flipped"])
def test_damaged_files_are_told(tmp_path, damage):
    model, path, (X, y, X_val, y_val) = saved(tmp_path)
    data = path.read_bytes()
    if damage == "flipped":
        middle = len(data) // 2
        data = data[:middle] + bytes([data[middle] ^ 255]) + data[middle + 1 :]
    elif damage == "other zip":
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr("meta.json", '{"format": "something else"}')
        data = buffer.getvalue()
    else:
        data = {"cut": data[: len(data) // 2], "foreign": b"hello", "empty": b""}[
            damage
        ]
    path.write_bytes(data)
    message = r"checkpoint.zip is damaged or no checkpoint: .* Remove it to start anew"
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, X_val=X_val, y_val=y_val)


@pytest.mark.parametrize("name", RESUMABLE)
def test_a_damaged_model_is_told(tmp_path, name):
    model, path, (X, y, X_val, y_val) = saved(tmp_path, name)
    rewrite(path, lambda member, data: b"nonsense" if member == "last" else data)
    with pytest.raises(ValueError, match="The checkpoint's model cannot be read"):
        model.fit(X, y, X_val=X_val, y_val=y_val)


def rewrite(path, change):
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, change(name, data))


class WritesAFile:
    """Would write a file if it were unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.write_text, (self.path, "owned")


def test_malicious_checkpoints_are_refused_and_not_run(tmp_path):
    victim = tmp_path / "victim"
    model, path, (X, y, X_val, y_val) = saved(tmp_path / "checkpoint")
    evil = pickle.dumps(WritesAFile(victim))
    pickle.loads(evil)
    assert victim.exists()  # it would work
    victim.unlink()

    original = path.read_bytes()
    path.write_bytes(evil)  # the whole file
    with pytest.raises(ValueError, match="is damaged or no checkpoint"):
        model.fit(X, y, X_val=X_val, y_val=y_val)
    path.write_bytes(original)
    rewrite(path, lambda member, data: evil if member in ("last", "best") else data)
    with pytest.raises(ValueError, match="model cannot be read"):
        model.fit(X, y, X_val=X_val, y_val=y_val)
    path.write_bytes(original)
    foreign = skops.dumps(WritesAFile("x").__class__)  # a type that is no model's
    rewrite(path, lambda member, data: foreign if member in ("last", "best") else data)
    with pytest.raises(ValueError, match="The checkpoint is refused: it holds types"):
        model.fit(X, y, X_val=X_val, y_val=y_val)
    assert not victim.exists()


def test_other_data_and_settings_are_told(tmp_path):
    model, _, (X, y, X_val, y_val) = saved(tmp_path)
    data = {"X": X, "y": y, "X_val": X_val, "y_val": y_val}
    message = "is of another estimator, other parameters, scoring or data"
    for change in (
        {"y": y[::-1]},
        {"y_val": y_val[::-1]},
        {"sample_weight": np.arange(300.0)},
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(**data | change)
    for change in (
        {"estimator": FAMILIES["MLP"]()},
        {"estimator__alpha": 0.1},
        {"scoring": "accuracy"},
    ):
        with pytest.raises(ValueError, match=message):
            clone(model).set_params(**change).fit(**data)
    with pytest.raises(ValueError, match="stages, more than the 2 that are wanted"):
        clone(model).set_params(estimator__max_iter=2).fit(**data)


def test_bad_parameters(tmp_path):
    X, y, _, _ = make_data("five")
    with pytest.raises(ValueError, match="resume=True needs a checkpoint_dir"):
        EarlyStoppingClassifier(FAMILIES["SGD"](), resume=True).fit(X, y)
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(ValueError, match="'checkpoint_dir' parameter must be a folder"):
        EarlyStoppingClassifier(FAMILIES["SGD"](), checkpoint_dir=file).fit(X, y)


@pytest.mark.parametrize("name", ["AdaBoost", "CatBoost", "XGBoost"])
def test_families_that_cannot_go_on_start_anew(name, tmp_path):
    X, y, X_val, y_val = make_data("five")
    results = []
    for _ in range(2):
        model = EarlyStoppingClassifier(
            FAMILIES[name](), checkpoint_dir=tmp_path, resume=True, n_iter_no_change=3
        ).fit(X, y, X_val=X_val, y_val=y_val)
        results.append(model.validation_scores_)
    assert_array_equal(*results)
    with zipfile.ZipFile(tmp_path / "checkpoint.zip") as archive:
        assert len(archive.read("last")) > 100


@pytest.mark.parametrize(
    ("options", "draws"),
    [
        ({}, False),
        ({"subsample": 0.5, "subsample_freq": 1}, True),
        ({"subsample_freq": 1}, False),
        ({"colsample_bytree": 0.5}, True),
        ({"bagging_fraction": 0.5}, True),
        ({"extra_trees": True}, True),
        ({"data_sample_strategy": "goss"}, True),
    ],
)
def test_lightgbm_that_draws_samples_cannot_go_on(options, draws):
    lightgbm = pytest.importorskip("lightgbm")
    stages = find_stages(lightgbm.LGBMClassifier(**options))
    assert stages.resumes is not draws


def test_scores_that_are_no_numbers_survive(tmp_path):
    store = checkpoints.CheckpointStore(tmp_path)
    scores = [float("nan"), float("-inf"), 0.1 + 0.2]
    store.save(checkpoints.Checkpoint({"X": "1"}, scores, 2, {"last": b"x"}))
    loaded = store.load()
    assert_array_equal(loaded.scores, scores)
    assert loaded.models == {"last": b"x"}
    assert np.isnan(loaded.scores[0])


def test_missing_skops_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    X, y, _, _ = make_data("five")
    message = (
        r'checkpoint_dir needs skops.* `pip install "sklearn-superior\[checkpoint\]"`'
    )
    with pytest.raises(ImportError, match=message):
        EarlyStoppingClassifier(FAMILIES["SGD"](), checkpoint_dir=tmp_path).fit(X, y)
    assert list(tmp_path.iterdir()) == []
