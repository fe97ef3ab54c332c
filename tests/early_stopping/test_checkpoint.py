"""Checkpoints: kills, resumption, damage and malice."""

import io
import json
import os
import pickle
import shutil
import sys
import warnings
import zipfile
from copy import deepcopy
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix
from sklearn import clone
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import GroupKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, OneHotEncoder, StandardScaler

from sklearn_superior.early_stopping import (
    EarlyStopper,
    Stages,
    register_stages,
)
from sklearn_superior.early_stopping import _checkpoint as checkpoints
from sklearn_superior.metrics import neg_penalized_brier_scorer
from sklearn_superior.staged import _identity
from sklearn_superior.staged.adapters import find_stages
from tests.early_stopping.families import (
    FAMILIES,
    RESUMABLE,
    XGBOOST_KEEPS_STATE,
    installed,
    make_data,
    plain_stopping,
    resumable,
    resumable_data,
    with_stages,
)
from tests.kills import run_script

skops = pytest.importorskip("skops.io")


@pytest.mark.parametrize("n_kills", [24, pytest.param(64, marks=pytest.mark.slow)])
def test_killed_training_resumes_to_the_same_result(n_kills):
    outcome = run_script(Path(__file__).with_name("kill_and_resume.py"), n_kills)
    assert {kill["name"] for kill in outcome} == set(installed())
    for kill in outcome:
        name, resumed, reference = kill["name"], kill["resumed"], kill["reference"]
        assert resumed["best"] == reference["best"], name
        assert_allclose(resumed["scores"], reference["scores"], rtol=1e-6, err_msg=name)
        assert_allclose(resumed["proba"], reference["proba"], rtol=1e-5, err_msg=name)


def save_every_stage(monkeypatch):
    keeper = checkpoints.CheckpointKeeper
    monkeypatch.setattr(keeper, "stage_done", lambda self, result, _: self.save(result))


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
def test_interrupted_training_resumes(name, kind, stop_at, tmp_path, monkeypatch):
    X, y, X_val, y_val = resumable_data(name, kind)
    save_every_stage(monkeypatch)
    Interrupt.left = stop_at
    options = {"n_iter_no_change": 8, "checkpoint_dir": tmp_path / "one"}
    model = plain_stopping(resumable(name), scoring=interrupted_scorer, **options)
    with pytest.raises(Interrupt):
        model.fit(X, y, X_val=X_val, y_val=y_val)
    Interrupt.left = 1000
    model.set_params(resume=True).fit(X, y, X_val=X_val, y_val=y_val)

    whole = plain_stopping(
        resumable(name), n_iter_no_change=8, checkpoint_dir=tmp_path / "two"
    ).fit(X, y, X_val=X_val, y_val=y_val)
    assert model.best_iteration_ == whole.best_iteration_
    assert_allclose(model.validation_scores_, whole.validation_scores_, rtol=1e-6)
    assert_allclose(model.predict_proba(X_val), whole.predict_proba(X_val), rtol=1e-5)

    # A finished run is taken up as it is; not a stage is trained again.
    again = plain_stopping(
        resumable(name),
        n_iter_no_change=8,
        checkpoint_dir=tmp_path / "two",
        resume=True,
    ).fit(X, y, X_val=X_val, y_val=y_val)
    assert_array_equal(again.validation_scores_, whole.validation_scores_)
    assert_allclose(again.predict_proba(X_val), whole.predict_proba(X_val), rtol=1e-12)
    assert again.n_iter_ == whole.n_iter_


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_that_can_resume_is_tested(name):
    can_resume = find_stages(resumable(name)).obstacle() is None
    assert can_resume == (name in RESUMABLE)


@pytest.mark.parametrize("name", RESUMABLE)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_more_stages_can_be_added(tmp_path, name):
    X, y, X_val, y_val = resumable_data(name)

    def fit(n_stages, **options):
        inner = with_stages(resumable(name), n_stages)
        model = plain_stopping(inner, n_iter_no_change=50, **options)
        return model.fit(X, y, X_val=X_val, y_val=y_val)

    assert fit(5, checkpoint_dir=tmp_path, resume=True).n_iter_ == 5
    longer = fit(12, checkpoint_dir=tmp_path, resume=True)
    whole = fit(12)
    assert_allclose(longer.validation_scores_, whole.validation_scores_, rtol=1e-5)
    assert_allclose(longer.predict_proba(X_val), whole.predict_proba(X_val), rtol=1e-4)


def saved(tmp_path, name="SGD"):
    X, y, X_val, y_val = resumable_data(name)
    model = plain_stopping(
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
    rewrite(path, lambda member, data: b"nonsense" if member == "models/last" else data)
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
    rewrite(path, lambda member, data: evil if member.startswith("models/") else data)
    with pytest.raises(ValueError, match="model cannot be read"):
        model.fit(X, y, X_val=X_val, y_val=y_val)
    path.write_bytes(original)
    foreign = skops.dumps(WritesAFile("x").__class__)  # a type that is no model's
    rewrite(
        path, lambda member, data: foreign if member.startswith("models/") else data
    )
    with pytest.raises(ValueError, match="model cannot be read: Untrusted types"):
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
    with pytest.raises(ValueError, match="stages, more than the budget 2"):
        clone(model).set_params(estimator__max_iter=2).fit(**data)


def test_bad_parameters(tmp_path):
    X, y, _, _ = make_data("five")
    with pytest.raises(ValueError, match="resume=True needs a checkpoint_dir"):
        plain_stopping(FAMILIES["SGD"](), resume=True).fit(X, y)
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(ValueError, match="'checkpoint_dir' parameter must be a folder"):
        plain_stopping(FAMILIES["SGD"](), checkpoint_dir=file).fit(X, y)


CANNOT_RESUME = {
    "AdaBoost": "AdaBoostClassifier has no stages before the end",
    "CatBoost": "CatBoost does not expose its RNG state",
    "XGBoost": r"XGBClassifier\(subsample=0.7\) uses random sampling",
}


if XGBOOST_KEEPS_STATE:
    del CANNOT_RESUME["XGBoost"]


@pytest.mark.parametrize("name", CANNOT_RESUME)
def test_what_cannot_resume_says_so_and_leaves_other_checkpoints_alone(name, tmp_path):
    _, path, (X, y, X_val, y_val) = saved(tmp_path)
    before = path.read_bytes()
    model = plain_stopping(
        FAMILIES[name](), checkpoint_dir=tmp_path, resume=True, n_iter_no_change=3
    )
    with pytest.warns(UserWarning, match="cannot resume, .*" + CANNOT_RESUME[name]):
        model.fit(X, y, X_val=X_val, y_val=y_val)
    assert path.read_bytes() == before


class OwnSGD(SGDClassifier):
    """A subclass of the user's, which skops does not trust."""


def test_a_class_that_could_not_be_read_again_writes_no_checkpoint(tmp_path):
    X, y, X_val, y_val = make_data("five")
    model = plain_stopping(
        OwnSGD(loss="log_loss", max_iter=3, random_state=0), checkpoint_dir=tmp_path
    )
    with pytest.warns(UserWarning, match=r"cannot resume.*does not trust .*OwnSGD"):
        model.fit(X, y, X_val=X_val, y_val=y_val)
    assert list(tmp_path.iterdir()) == []


def test_scores_that_are_no_numbers_survive():
    scores = [float("nan"), float("-inf"), 0.1 + 0.2]
    scored = {"last": np.array([[0.25, 0.75]], dtype=np.float32)}
    written = checkpoints.Checkpoint({"X": "1"}, scores, 2, {"last": b"x"}, scored)
    loaded = checkpoints.Checkpoint.from_bytes(written.to_bytes())
    assert_array_equal(loaded.scores, scores)
    assert loaded.models == {"last": b"x"}
    assert_array_equal(loaded.scored["last"], scored["last"])
    assert loaded.scored["last"].dtype == np.float32


def test_missing_skops_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    X, y, _, _ = make_data("five")
    message = (
        r'checkpoint_dir needs skops.* `pip install "sklearn-superior\[checkpoint\]"`'
    )
    with pytest.raises(ImportError, match=message):
        plain_stopping(FAMILIES["SGD"](), checkpoint_dir=tmp_path).fit(X, y)
    assert list(tmp_path.iterdir()) == []


def refuse(model, data, message):
    with pytest.raises(ValueError, match=message):
        model.fit(**data)


DATA = {
    "X": ("training data", lambda X: X + 1e-9),
    "y": ("training labels", lambda y: y[::-1]),
    "X_val": ("validation data", lambda X: X + 1e-9),
    "y_val": ("validation labels", lambda y: y[::-1]),
    "sample_weight": ("training weights", lambda w: w + 1e-9),
    "sample_weight_val": ("validation weights", lambda w: w + 1e-9),
}


@pytest.mark.parametrize("name", ["SGD", "HistGradientBoosting", "CNN"])
def test_other_data_is_refused_by_name(tmp_path, name):
    X, y, X_val, y_val = make_data("five")
    data = {"X": X, "y": y, "X_val": X_val, "y_val": y_val}
    data |= {"sample_weight": np.ones(300), "sample_weight_val": np.ones(200)}
    model = resumable(name).set_params(max_iter=2)
    options = {"checkpoint_dir": tmp_path, "resume": True}
    if name == "CNN":
        model.set_params(**options)
    else:
        model = plain_stopping(model, **options)
    model.fit(**data)
    for changed, (part, change) in DATA.items():
        other = data | {changed: change(data[changed])}
        refuse(model, other, rf"What differs: {part}\..*Remove it to start anew")
    model.fit(**data)


@pytest.mark.parametrize("kind", ["frame", "sparse", "categories", "list", "polars"])
def test_other_values_in_any_table_are_refused(tmp_path, kind):
    X, y, X_val, y_val = make_data("five")
    make = {
        "frame": pd.DataFrame,
        "sparse": csr_matrix,
        "categories": lambda X: pd.DataFrame(X > 0).astype("category"),
        "list": lambda X: X.tolist(),
        "polars": pl.DataFrame,
    }[kind]
    model = plain_stopping(
        resumable("SGD" if kind == "sparse" else "HistGradientBoosting"),
        n_iter_no_change=2,
        checkpoint_dir=tmp_path,
        resume=True,
    )
    data = {"X": make(X), "y": y, "X_val": make(X_val), "y_val": y_val}
    first = model.fit(**data).predict_proba(make(X_val))
    other = X.copy()
    other[7, 3] *= -1
    refuse(model, data | {"X": make(other)}, "What differs: training data\\.")
    refuse(model, data | {"X_val": make(-X_val)}, "What differs: validation data\\.")
    if kind == "frame":
        named = make(X).add_prefix("x"), make(X_val).add_prefix("x")
        refuse(model, data | dict(zip(("X", "X_val"), named, strict=True)), "data")
        refuse(
            model,
            data | {"X": make(X).astype("float32")},
            "What differs: training data\\.",
        )
    assert_array_equal(model.fit(**data).predict_proba(make(X_val)), first)


def test_another_split_is_refused(tmp_path):
    X, y, _, _ = make_data("five")
    groups = np.arange(300) % 5
    model = plain_stopping(
        resumable("SGD"), checkpoint_dir=tmp_path, resume=True, validation_split="last"
    ).fit(X, y, groups=groups)
    data = {"X": X, "y": y, "groups": groups}
    refuse(model, data | {"groups": np.arange(300) // 60}, "differs: training data")
    clone(model).fit(**data)
    model.set_params(validation_fraction=0.3)
    refuse(model, data, "What differs: training data")
    model.set_params(validation_split=GroupKFold(3))
    refuse(model, data, "What differs: training data")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"estimator__sgdclassifier__alpha": 0.1}, r"alpha \(0.0001 there, 0.1 here\)"),
        ({"estimator__standardscaler__with_mean": False}, "training data"),
        ({"estimator__standardscaler": "passthrough"}, "training data"),
        ({"scoring": "accuracy"}, "scoring"),
    ],
)
def test_other_parameters_are_refused_by_name(tmp_path, change, message):
    X, y, X_val, y_val = make_data("five")
    inner = make_pipeline(StandardScaler(), resumable("SGD"))
    model = plain_stopping(inner, checkpoint_dir=tmp_path, resume=True)
    data = {"X": X, "y": y, "X_val": X_val, "y_val": y_val}
    first = model.fit(**data).validation_scores_
    refuse(clone(model).set_params(**change), data, f"What differs: .*{message}")
    assert_array_equal(clone(model).fit(**data).validation_scores_, first)


def test_other_versions_are_refused(tmp_path, monkeypatch):
    model, _, (X, y, X_val, y_val) = saved(tmp_path)
    version = _identity.metadata.version
    monkeypatch.setattr(
        _identity.metadata,
        "version",
        lambda name: "0.1" if name == "numpy" else version(name),
    )
    data = {"X": X, "y": y, "X_val": X_val, "y_val": y_val}
    _identity.version_of.cache_clear()
    try:
        refuse(model, data, r"version of numpy \(.* there, 0.1 here\)")
    finally:
        _identity.version_of.cache_clear()


def closure(factor):
    def scorer(estimator, X, y):
        return factor * neg_penalized_brier_scorer(estimator, X, y)

    return scorer


class ScorerObject:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, estimator, X, y):
        return self.factor * neg_penalized_brier_scorer(estimator, X, y)


def test_a_scorer_without_identity_is_said_and_never_resumes(tmp_path):
    model, path, (X, y, X_val, y_val) = saved(tmp_path)
    data = {"X": X, "y": y, "X_val": X_val, "y_val": y_val}
    before = path.read_bytes()
    for scorer in (closure(1.0), lambda *args: 1.0):
        model.set_params(scoring=scorer, resume=True)
        refuse(model, data, "resume=True is refused: .*cannot be imported by this")
        model.set_params(checkpoint_dir=tmp_path / "new", scoring=closure(1.0))
        with pytest.warns(UserWarning, match="cannot resume.*scoring: .*<locals>"):
            model.fit(**data)
        assert not (tmp_path / "new").exists()
        model.set_params(checkpoint_dir=tmp_path)
    assert path.read_bytes() == before


def test_scorers_that_are_objects_resume(tmp_path):
    X, y, X_val, y_val = make_data("five")
    data = {"X": X, "y": y, "X_val": X_val, "y_val": y_val}
    model = plain_stopping(
        resumable("SGD"),
        scoring=ScorerObject(1.0),
        checkpoint_dir=tmp_path,
        resume=True,
    )
    first = model.fit(**data).validation_scores_
    model.set_params(scoring=ScorerObject(np.float64(1.0)))
    assert_array_equal(model.fit(**data).validation_scores_, first)
    model.set_params(scoring=ScorerObject(2.0))
    refuse(model, data, r"What differs: scoring")


@pytest.mark.parametrize("name", ["SGD", "HistGradientBoosting", "LightGBM"])
@pytest.mark.parametrize("patience", [1, 3, 5, 9])
@pytest.mark.parametrize("tol", [0.0, 0.004, 0.05])
def test_another_patience_gives_the_unbroken_result_or_is_refused(
    tmp_path, name, patience, tol
):
    X, y, X_val, y_val = make_data("five")
    data = {"X": X, "y": y, "X_val": X_val, "y_val": y_val}
    first = plain_stopping(
        resumable(name), n_iter_no_change=5, tol=0.004, checkpoint_dir=tmp_path
    ).fit(**data)
    options = {"n_iter_no_change": patience, "tol": tol}
    whole = plain_stopping(resumable(name), **options).fit(**data)
    model = plain_stopping(
        resumable(name), **options, checkpoint_dir=tmp_path, resume=True
    )
    if whole.n_iter_ < first.n_iter_:
        refuse(model, data, f"n_iter_no_change={patience} and tol={tol}")
        return
    # There is but one best stage to offer, that of the first patience and tolerance.
    best = EarlyStopper(**options)
    for score in first.validation_scores_:
        best.update(score)
    if best.best_iteration != first.best_iteration_:
        refuse(model, data, "cannot be resumed with")
        return
    model.fit(**data)
    assert model.best_iteration_ == whole.best_iteration_
    assert_allclose(model.validation_scores_, whole.validation_scores_, rtol=1e-6)
    assert_allclose(model.predict_proba(X_val), whole.predict_proba(X_val), rtol=1e-5)


def score_and_remove(folder, estimator, X, y):
    shutil.rmtree(folder, ignore_errors=True)
    return neg_penalized_brier_scorer(estimator, X, y)


@pytest.mark.parametrize("how", ["disk full", "folder gone"])
def test_a_write_that_fails_costs_a_warning_once(tmp_path, monkeypatch, how):
    X, y, X_val, y_val = make_data("five")
    folder = tmp_path / "checkpoint"
    save_every_stage(monkeypatch)
    if how == "disk full":

        def full(fd):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        scoring = "neg_penalized_brier_score"
    else:
        scoring = partial(score_and_remove, folder)

    model = plain_stopping(
        resumable("SGD"), checkpoint_dir=folder, scoring=scoring, n_iter_no_change=4
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, X_val=X_val, y_val=y_val)
    told = [str(w.message) for w in caught if "could not be written" in str(w.message)]
    assert len(told) == 1
    assert "checkpoint.zip could not be written: " in told[0]
    assert "Training continues without it" in told[0]
    whole = plain_stopping(resumable("SGD"), n_iter_no_change=4)
    whole.fit(X, y, X_val=X_val, y_val=y_val)
    assert_array_equal(model.validation_scores_, whole.validation_scores_)
    assert not folder.exists() or list(folder.iterdir()) == []


@pytest.mark.parametrize("name", RESUMABLE)
def test_flipped_bits_never_pass_unnoticed(tmp_path, name):
    model, path, (X, y, X_val, y_val) = saved(tmp_path, name)
    expected = model.predict_proba(X_val)
    original = path.read_bytes()
    rng = np.random.default_rng(0)
    n_told = 0
    for position in rng.integers(len(original), size=8):
        data = bytearray(original)
        data[position] ^= 1 << rng.integers(8)
        path.write_bytes(data)
        try:
            model.fit(X, y, X_val=X_val, y_val=y_val)
        except ValueError as exc:
            n_told += "checkpoint.zip" in str(exc)
        else:  # a bit that nobody reads, such as that of a time
            assert_allclose(model.predict_proba(X_val), expected, rtol=1e-12)
    assert n_told >= 6


def write_zip(members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def wrong_archives(path):
    """Yield archives with right checksums that are no checkpoints all the same."""
    members = members_of(path)
    meta = json.loads(members["meta.json"])

    def with_meta(**changes):
        return members | {"meta.json": json.dumps(meta | changes)}

    yield "more scores", with_meta(scores=meta["scores"] * 3)
    yield "no scores", with_meta(scores=[])
    yield "best of none", with_meta(best=10**6)
    yield "words", with_meta(scores=["__import__('os')"])
    yield "no last", {k: v for k, v in members.items() if k != "models/last"}
    yield "identity", with_meta(identity=[1, 2])
    yield "format", with_meta(format="sklearn-superior checkpoint 2")
    yield "deep", members | {"meta.json": "[" * 10**5}
    pickled = io.BytesIO()
    np.save(pickled, np.array([WritesAFile("x")], dtype=object), allow_pickle=True)
    yield "pickled scored", members | {"scored/last": pickled.getvalue()}


@pytest.mark.parametrize("name", RESUMABLE)
def test_wrong_archives_are_refused_and_left_alone(tmp_path, name):
    model, path, (X, y, X_val, y_val) = saved(tmp_path, name)
    original = path.read_bytes()
    for kind, members in wrong_archives(path):
        data = write_zip(members)
        path.write_bytes(data)
        with pytest.raises(ValueError, match="checkpoint.zip"):
            model.fit(X, y, X_val=X_val, y_val=y_val)
        assert path.read_bytes() == data, kind
        assert [p.name for p in tmp_path.iterdir()] == ["checkpoint.zip"], kind
    path.write_bytes(original)
    assert model.fit(X, y, X_val=X_val, y_val=y_val).n_iter_ > 0


def test_a_network_that_continues_has_its_weights_in_the_identity(tmp_path):
    pytest.importorskip("torch")
    X, y, X_val, y_val = make_data("five")
    data = {"X": X, "y": y, "X_val": X_val, "y_val": y_val}
    first = resumable("CNN").set_params(max_iter=2, warm_start=True).fit(**data)
    again = pickle.loads(pickle.dumps(first))
    first.set_params(checkpoint_dir=tmp_path, resume=True).fit(**data)
    other = pickle.loads(pickle.dumps(again)).partial_fit(X, y)
    other.set_params(checkpoint_dir=tmp_path, resume=True)
    refuse(other, data, "What differs: initial weights")
    again.set_params(checkpoint_dir=tmp_path, resume=True).fit(**data)
    assert_array_equal(again.predict_proba(X), first.predict_proba(X))


def test_another_device_or_number_of_threads_is_another_training(tmp_path):
    pytest.importorskip("torch")
    X, y, X_val, y_val = make_data("five")
    data = {"X": X, "y": y, "X_val": X_val, "y_val": y_val}
    model = resumable("CNN").set_params(
        max_iter=2, device="cpu", checkpoint_dir=tmp_path, resume=True
    )
    model.fit(**data)
    refuse(clone(model).set_params(n_jobs=2), data, "What differs: parameter n_jobs")


class WithoutCheckpoints(Stages):
    budget = "max_iter"

    def fit(self, X, y, X_val, on_stage, sample_weight=None):
        for _ in range(self.n_stages):
            self.estimator.partial_fit(X, y, classes=np.unique(y))
            if on_stage(self.estimator.predict_proba(X_val)):
                break

    def remember(self):
        self.best = deepcopy(self.estimator)

    def keep(self, stage):
        self.estimator = self.best


class SGDWithoutCheckpoints(SGDClassifier):
    pass


def test_adapters_without_checkpoints_are_told(tmp_path):
    register_stages(SGDWithoutCheckpoints, WithoutCheckpoints)
    X, y, X_val, y_val = make_data("five")
    inner = SGDWithoutCheckpoints(loss="log_loss", max_iter=3, random_state=0)
    model = plain_stopping(inner, checkpoint_dir=tmp_path, resume=True)
    with pytest.warns(UserWarning, match="SGDWithoutCheckpoints writes no"):
        model.fit(X, y, X_val=X_val, y_val=y_val)
    assert list(tmp_path.iterdir()) == []


def members_of(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.mark.parametrize("name", RESUMABLE)
def test_a_model_of_another_training_does_not_pass(tmp_path, name):
    _, path, (X, y, X_val, y_val) = saved(tmp_path / "own", name)
    folder = tmp_path / "other"
    model = plain_stopping(
        resumable(name), n_iter_no_change=3, checkpoint_dir=folder, resume=True
    )
    model.fit(X[::-1], y, X_val=X_val, y_val=y_val)
    own, other = members_of(path), members_of(folder / "checkpoint.zip")
    models = {k: v for k, v in own.items() if k.startswith("models/")}
    # The models of one training, with the identity and the scores of another.
    (folder / "checkpoint.zip").write_bytes(write_zip(other | models))
    with pytest.raises(ValueError, match="checkpoint.zip: |does not predict"):
        model.fit(X[::-1], y, X_val=X_val, y_val=y_val)


@pytest.mark.parametrize(
    "model",
    [
        SGDClassifier(loss="log_loss", random_state=np.random.RandomState(1)),
        FAMILIES["MLP"]().set_params(random_state=np.random.RandomState(1)),
    ],
)
def test_a_generator_as_random_state_starts_anew(tmp_path, model):
    X, y, X_val, y_val = make_data("five")
    data = {"X": X, "y": y, "X_val": X_val, "y_val": y_val}
    options = {"n_iter_no_change": 50}
    whole = plain_stopping(clone(model).set_params(max_iter=8), **options)
    whole.fit(**data)
    options |= {"checkpoint_dir": tmp_path, "resume": True}
    for n_iter in (4, 8):
        inner = clone(model).set_params(max_iter=n_iter)
        with pytest.warns(UserWarning, match="cannot resume.*is a RandomState"):
            resumed = plain_stopping(inner, **options).fit(**data)
    assert_array_equal(resumed.validation_scores_, whole.validation_scores_)


def test_standard_pipelines_of_data_frames_resume(tmp_path):
    X, y, _, _ = make_data("five")
    frame = pd.DataFrame(X, columns=list("abcdefghijkl"))
    numbers = make_column_selector(dtype_include=np.number)
    inner = make_pipeline(
        make_column_transformer((StandardScaler(), numbers)),
        resumable("HistGradientBoosting"),
    )
    model = plain_stopping(inner, random_state=0, checkpoint_dir=tmp_path, resume=True)
    first = model.fit(frame, y).validation_scores_
    assert_array_equal(clone(model).fit(frame, y).validation_scores_, first)


def test_a_budget_under_another_name_may_grow(tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    X, y, X_val, y_val = make_data("five")
    for n_stages in (3, 5):
        inner = lightgbm.LGBMClassifier(num_iterations=n_stages, verbose=-1, n_jobs=1)
        model = plain_stopping(inner, checkpoint_dir=tmp_path, resume=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert model.fit(X, y, X_val=X_val, y_val=y_val).n_iter_ == n_stages


def score_and_tick(clock, estimator, X, y):
    clock[0] += 1.0
    return neg_penalized_brier_scorer(estimator, X, y)


def test_saving_takes_a_tenth_of_the_time_at_most(tmp_path, monkeypatch):
    X, y, X_val, y_val = make_data("five")
    clock = [0.0]
    monkeypatch.setattr(checkpoints, "perf_counter", lambda: clock[0])
    n_saved = []

    def slow_dump(self):
        clock[0] += 1.0
        n_saved.append(1)
        return {"last": b"x"}

    stages = type(find_stages(resumable("SGD")))
    monkeypatch.setattr(stages, "dump", slow_dump)
    monkeypatch.setattr(stages, "why_unreadable", lambda self, models: None)

    scoring = partial(score_and_tick, clock)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain_stopping(
            resumable("SGD"),
            scoring=scoring,
            n_iter_no_change=50,
            checkpoint_dir=tmp_path,
        ).fit(X, y, X_val=X_val, y_val=y_val)
    assert 3 <= len(n_saved) <= 5  # 40 stages of a second; the first and the last count


class Scaled(TransformerMixin, BaseEstimator):
    """A transformer of the user's own."""

    def __init__(self, draws=False):
        self.draws = draws

    def fit(self, X, y=None):
        self.factor_ = np.random.default_rng().uniform() if self.draws else 2.0
        return self

    def transform(self, X):
        return self.factor_ * X


def test_what_transformers_do_is_part_of_the_identity(tmp_path, monkeypatch):
    X, y, X_val, y_val = make_data("five")
    data = {"X": X, "y": y, "X_val": X_val, "y_val": y_val}
    inner = make_pipeline(Scaled(), resumable("SGD"))
    model = plain_stopping(inner, checkpoint_dir=tmp_path, resume=True)
    model.fit(**data)
    clone(model).fit(**data)
    monkeypatch.setattr(Scaled, "transform", lambda self, X: 3.0 * X)
    refuse(model, data, "What differs: training data, validation data")


def test_a_transformer_with_unseeded_randomness_is_refused(tmp_path):
    X, y, X_val, y_val = make_data("five")
    data = {"X": X, "y": y, "X_val": X_val, "y_val": y_val}
    inner = make_pipeline(Scaled(draws=True), resumable("SGD"))
    model = plain_stopping(inner, checkpoint_dir=tmp_path, resume=True)
    model.fit(**data)
    refuse(model, data, "something uses random sampling: set random_state to an int")


def test_swapped_steps_are_refused(tmp_path):
    X, y, X_val, y_val = make_data("five")
    data = {"X": X, "y": y, "X_val": X_val, "y_val": y_val}
    first, second = StandardScaler(), Normalizer()
    for steps in ((first, second), (second, first)):
        model = plain_stopping(
            make_pipeline(*steps, resumable("SGD")),
            checkpoint_dir=tmp_path,
            resume=True,
        )
        if steps[0] is first:
            model.fit(**data)
        else:
            refuse(model, data, "What differs: training data")


def test_encoders_with_a_type_as_parameter_resume(tmp_path):
    X, y, _, _ = make_data("five")
    frame = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0, "u", "v")})
    inner = make_pipeline(
        make_column_transformer(
            (OneHotEncoder(sparse_output=False), ["b"]), remainder="passthrough"
        ),
        resumable("HistGradientBoosting"),
    )
    model = plain_stopping(inner, random_state=0, checkpoint_dir=tmp_path, resume=True)
    first = model.fit(frame, y).validation_scores_
    assert_array_equal(clone(model).fit(frame, y).validation_scores_, first)


def test_rows_that_are_drawn_without_a_seed_are_told(tmp_path, capsys):
    X, y, *_ = make_data("five")
    options = {"checkpoint_dir": tmp_path, "resume": True, "n_iter_no_change": 50}
    inner = FAMILIES["GradientBoosting"]().set_params(n_estimators=4)
    plain_stopping(inner, **options).fit(X, y)
    with pytest.raises(ValueError, match="set random_state to an int"):
        plain_stopping(inner, **options).fit(X, y)
    seeded = options | {"checkpoint_dir": tmp_path / "seeded", "random_state": 0}
    for n_done in (0, 4):
        plain_stopping(inner, verbose=1, **seeded).fit(X, y)
        told = f"resumed after {n_done} " in capsys.readouterr().out
        assert told == (n_done > 0)


def test_a_checkpoint_that_is_replaced_is_told(tmp_path):
    X, y, *_ = make_data("five")
    inner = FAMILIES["GradientBoosting"]().set_params(n_estimators=3)
    model = plain_stopping(inner, checkpoint_dir=tmp_path, random_state=0)
    model.fit(X, y)  # which is silent
    with pytest.warns(UserWarning, match=r"checkpoint.zip is replaced, because resume"):
        model.fit(X, y)


class Prices:
    """What a scorer may read without anybody knowing."""

    of_an_error = 1.0


def priced_scorer(estimator, X, y):
    return -Prices.of_an_error * np.mean(estimator.predict(X) != y)


def test_a_scorer_that_judges_otherwise_is_found_by_its_scores(tmp_path, monkeypatch):
    X, y, X_val, y_val = make_data("five")
    data = {"X": X, "y": y, "X_val": X_val, "y_val": y_val}
    model = plain_stopping(
        resumable("SGD"),
        scoring=priced_scorer,
        n_iter_no_change=3,
        checkpoint_dir=tmp_path,
        resume=True,
    )
    first = model.fit(**data).validation_scores_
    assert_array_equal(clone(model).fit(**data).validation_scores_, first)
    monkeypatch.setattr(Prices, "of_an_error", 2.0)
    refuse(model, data, "with the present 'scoring' and data, the score of its last")


def cost_scorer(estimator, X, y):
    return -np.average(estimator.predict(X) != y, weights=X["amount"])


def test_data_that_only_the_scorer_reads_counts(tmp_path):
    X, y, X_val, y_val = make_data("five")
    names = list("abcdefghijkl")
    frame, frame_val = (pd.DataFrame(part, columns=names) for part in (X, X_val))
    amount = np.arange(1.0, 201)
    inner = make_pipeline(
        make_column_transformer((StandardScaler(), names)), resumable("SGD")
    )
    model = plain_stopping(
        inner, scoring=cost_scorer, checkpoint_dir=tmp_path, resume=True
    )
    data = {"X": frame.assign(amount=1.0), "y": y, "y_val": y_val}
    model.fit(**data, X_val=frame_val.assign(amount=amount))
    other = data | {"X_val": frame_val.assign(amount=amount[::-1])}
    refuse(model, other, "is refused: with the present 'scoring' and data")


def test_a_fitted_model_that_could_not_be_read_writes_no_checkpoint(tmp_path):
    X, y, X_val, y_val = make_data("binary")
    inner = GradientBoostingClassifier(
        n_estimators=3, init=KNeighborsClassifier(), random_state=0
    )
    model = plain_stopping(inner, checkpoint_dir=tmp_path, n_iter_no_change=3)
    with pytest.warns(UserWarning, match="cannot resume.*does not trust") as caught:
        model.fit(X, y, X_val=X_val, y_val=y_val)
    assert len([w for w in caught if "cannot resume" in str(w.message)]) == 1
    assert list(tmp_path.iterdir()) == []


def test_an_archive_that_lost_a_member_is_refused(tmp_path):
    model, path, (X, y, X_val, y_val) = saved(tmp_path)
    for lost in ("scored/last", "scored/best", "models/best"):
        members = members_of(path)
        members.pop(lost)
        (tmp_path / "other").mkdir(exist_ok=True)
        (tmp_path / "other" / "checkpoint.zip").write_bytes(write_zip(members))
        other = clone(model).set_params(checkpoint_dir=tmp_path / "other")
        with pytest.raises(ValueError, match="a part of it is missing"):
            other.fit(X, y, X_val=X_val, y_val=y_val)
