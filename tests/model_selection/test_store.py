"""Finished candidates on disk: whole or not at all, and of this search only."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn import clone, config_context
from sklearn.datasets import load_iris
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_superior.metrics import get_scorer
from sklearn_superior.model_selection import StagedSearchCV
from sklearn_superior.model_selection import _candidates as search_module
from tests.kills import run_script
from tests.model_selection.searches import data

CV = StratifiedKFold(3)
GRID = {"max_depth": [1, 2, 3]}


class WritesAFile:
    """Would write a file if it were unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.write_text, (self.path, "owned")


def model(**options):
    options = {"n_estimators": 6, "random_state": 0} | options
    return GradientBoostingClassifier(**options)


@pytest.fixture
def trained(monkeypatch):
    """The candidates that are trained, by their parameters."""
    found = []
    train = search_module.train_candidate

    def note(estimator, plan, *args):
        last = estimator[-1] if hasattr(estimator, "steps") else estimator
        found.append(last.max_depth)
        return train(estimator, plan, *args)

    monkeypatch.setattr(search_module, "train_candidate", note)
    return found


def make_search(folder, grid=GRID, **options):
    options = {"cv": CV, "checkpoint_dir": folder, "resume": True} | options
    estimator = options.pop("estimator", model())
    return StagedSearchCV(estimator, grid, **options)


def assert_same(search, other, X):
    assert search.best_params_ == other.best_params_
    assert search.best_iteration_ == other.best_iteration_
    assert search.temperature_ == other.temperature_
    assert_array_equal(search.oof_proba_, other.oof_proba_)
    for a, b in zip(search.stage_scores_, other.stage_scores_, strict=True):
        assert_array_equal(a, b)
    for name, column in other.cv_results_.items():
        if name not in ("params", "param_max_depth") and "time" not in name:
            assert_array_equal(search.cv_results_[name], column, err_msg=name)
    assert_array_equal(search.predict_proba(X), other.predict_proba(X))


@pytest.mark.parametrize("refit", ["all", "folds"])
@pytest.mark.parametrize("scoring", [None, ["log_loss", "accuracy"]])
def test_finished_candidates_are_not_trained_again(tmp_path, trained, refit, scoring):
    X, y = data()
    options = {"refit": refit, "scoring": scoring}
    reference = make_search(None, **options, resume=False).fit(X, y)
    trained.clear()
    first = make_search(tmp_path, {"max_depth": [1, 3]}, **options).fit(X, y)
    assert trained == [1, 3]
    search = make_search(tmp_path, **options).fit(X, y)
    best = [] if refit == "all" else [first.best_params_["max_depth"]]
    if refit == "folds" and search.best_params_ == {"max_depth": 2}:
        best = []
    assert trained == [1, 3, 2, *best]
    assert_same(search, reference, X)
    again = make_search(tmp_path, **options).fit(X, y)
    assert trained[4:] == [] if refit == "all" else trained[-1:]
    assert_same(again, reference, X)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"X": 1.0}, "training data"),
        ({"y": 1}, "training labels"),
        ({"sample_weight": 1}, "training weights"),
        ({"cv": KFold(3)}, "training and test rows of the folds"),
        ({"cv": StratifiedKFold(4)}, "training and test rows of the folds"),
        ({"scoring": "log_loss"}, "scoring"),
        ({"n_iter_no_change": 3}, "n_iter_no_change of the search"),
        ({"tol": 0.1}, "tol of the search"),
        ({"estimator": model(subsample=0.5)}, r"parameter subsample \(1.0 there"),
        ({"estimator": make_pipeline(StandardScaler(), model())}, "class"),
    ],
)
def test_another_search_is_refused_by_name(tmp_path, trained, change, what):
    X, y = data()
    make_search(tmp_path).fit(X, y)
    files = {path: path.read_bytes() for path in tmp_path.iterdir()}
    trained.clear()
    options, fit_options = dict(change), {}
    if options.pop("X", None):
        X = X + 1
    if options.pop("y", None):
        y = np.roll(y, 1)
    if options.pop("sample_weight", None):
        fit_options["sample_weight"] = np.full(len(y), 2.0)
    grid = None if "class" in what else GRID
    with pytest.raises(ValueError, match=f"What differs: .*{what}"):
        make_search(tmp_path, grid, **options).fit(X, y, **fit_options)
    assert trained == []
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == files


def test_without_resume_the_candidates_are_replaced_with_a_warning(tmp_path, trained):
    X, y = data()
    make_search(tmp_path).fit(X, y)
    with pytest.warns(UserWarning, match="are replaced, because resume is False"):
        make_search(tmp_path, {"max_depth": [2]}, resume=False, tol=0.1).fit(X, y)
    assert len(list(tmp_path.glob("candidate-*.npz"))) == 1
    make_search(tmp_path, {"max_depth": [2]}, tol=0.1, refit="all").fit(X, y)
    assert trained == [1, 2, 3, 2]


def scorer_with(estimator, X, y, name):
    return get_scorer(name)(estimator, X, y)


def test_what_has_no_stable_identity_is_not_written(tmp_path):
    X, y = data()
    with pytest.warns(UserWarning, match="cannot resume.*scoring.*cannot be imported"):
        make_search(tmp_path, scoring=lambda *data: scorer_with(*data, "brier")).fit(
            X, y
        )
    assert list(tmp_path.iterdir()) == []
    stable = partial(scorer_with, name="log_loss")
    make_search(tmp_path, scoring=stable).fit(X, y)
    assert len(list(tmp_path.iterdir())) == 4
    with pytest.raises(ValueError, match="resume=True is refused"):
        make_search(tmp_path, scoring=lambda e, X, y: 0.5).fit(X, y)
    other = tmp_path / "other"
    grid = {"init": [None, make_local()]}
    with (
        pytest.warns(UserWarning, match="All 2 candidates, with values of init"),
        pytest.warns(UserWarning, match="cannot resume.*param_grid"),
    ):
        make_search(other, grid).fit(X, y)
    assert not other.exists()


def make_local():
    from sklearn.dummy import DummyClassifier

    class Local(DummyClassifier):
        pass

    return Local(strategy="prior")


@pytest.mark.parametrize("where", ["start", "middle", "end", "empty"])
def test_damage_is_found(tmp_path, where):
    X, y = data()
    make_search(tmp_path).fit(X, y)
    path = sorted(tmp_path.glob("candidate-*.npz"))[1]
    content = path.read_bytes()
    place = {"start": 150, "middle": len(content) // 2, "end": len(content) - 30}
    if where == "empty":
        content = b""
    else:
        k = place[where]
        content = content[:k] + bytes([content[k] ^ 16]) + content[k + 1 :]
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"candidate-\w+.npz is damaged or not a cand"):
        make_search(tmp_path).fit(X, y)
    path.unlink()
    make_search(tmp_path).fit(X, y)
    (tmp_path / "search.json").write_text("{")
    with pytest.raises(ValueError, match="search.json is damaged or does not belong"):
        make_search(tmp_path).fit(X, y)


def test_a_folder_that_cannot_be_written_costs_a_warning(tmp_path, monkeypatch):
    X, y = data()
    from sklearn_superior.model_selection import _store

    def full(path, content):
        raise OSError("disk full")

    monkeypatch.setattr(_store, "write_atomically", full)
    with pytest.warns(UserWarning, match="could not be written: disk full") as caught:
        make_search(tmp_path).fit(X, y)
    assert len([w for w in caught if "disk full" in str(w.message)]) == 1
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(ValueError, match="'checkpoint_dir' parameter must be a folder"):
        make_search(file / "folder").fit(X, y)


def test_folds_that_come_out_otherwise_are_scored_again(tmp_path):
    X, y = data()
    estimator = model(random_state=None, subsample=0.3)
    options = {"estimator": estimator, "refit": "folds"}
    make_search(tmp_path, None, **options).fit(X, y)
    with pytest.warns(UserWarning, match="gave different results; the new"):
        search = make_search(tmp_path, None, **options).fit(X, y)
    for (_, test), member in zip(CV.split(X, y), search.estimators_, strict=True):
        assert_array_equal(member.predict_proba(X[test]), search.oof_proba_[test])


@pytest.mark.parametrize("n_kills", [5, pytest.param(20, marks=pytest.mark.slow)])
def test_killed_searches_resume_to_the_same_result(n_kills):
    outcome = run_script(Path(__file__).with_name("kill_search.py"), n_kills)
    for kill in outcome:
        assert kill["same"], kill
        order = list(dict.fromkeys(map(tuple, kill["before"])))
        finished = set(order[: kill["n_finished"]])
        after = [tuple(candidate) for candidate in kill["after"]]
        if kill["refit"] == "folds":  # the models of the best one are made again
            best = (kill["best"]["max_depth"], kill["best"]["learning_rate"])
            finished -= {best}
        assert not finished & set(after), kill


def small_search(folder, **options):
    inner = GradientBoostingClassifier(n_estimators=6, max_depth=2, random_state=0)
    return StagedSearchCV(
        inner, {"max_depth": [1, 2]}, cv=3, checkpoint_dir=folder, **options
    )


def test_another_order_of_scorers_is_another_search(tmp_path):
    X, y = load_iris(return_X_y=True)
    small_search(tmp_path, scoring=["accuracy", "neg_log_loss"]).fit(X, y)
    other = small_search(tmp_path, scoring=["neg_log_loss", "accuracy"], resume=True)
    with pytest.raises(ValueError, match="What differs: scoring"):
        other.fit(X, y)


def test_candidates_of_another_search_do_not_pass(tmp_path):
    X, y = load_iris(return_X_y=True)
    small_search(tmp_path).fit(X, y)
    (tmp_path / "search.json").unlink()
    other = small_search(tmp_path, resume=True).fit(X[::-1], y)
    expected = StagedSearchCV(other.estimator, other.param_grid, cv=3).fit(X[::-1], y)
    assert_array_equal(other.oof_proba_, expected.oof_proba_)


def test_files_of_others_are_left_alone(tmp_path):
    X, y = load_iris(return_X_y=True)
    small_search(tmp_path).fit(X, y)
    mine = tmp_path / "candidate-mine.npz"
    mine.touch()
    with pytest.warns(UserWarning, match="are replaced, because resume is False"):
        small_search(tmp_path).fit(X, y)
    assert mine.exists()


def test_what_metadata_routing_asks_for_is_part_of_a_search(tmp_path):
    X, y = load_iris(return_X_y=True)
    weight = np.arange(150) % 3 + 1.0
    inner = GradientBoostingClassifier(n_estimators=4, random_state=0)
    scorer = get_scorer("neg_penalized_log_loss")

    def fit(wants_weight, **options):
        booster = clone(inner).set_fit_request(sample_weight=wants_weight)
        search = StagedSearchCV(
            booster, cv=3, scoring=scorer, checkpoint_dir=tmp_path, **options
        )
        return search.fit(X, y, sample_weight=weight)

    with config_context(enable_metadata_routing=True):
        scorer.set_score_request(sample_weight=True)
        first = fit(True)
        assert fit(True, resume=True).best_score_ == first.best_score_
        with pytest.raises(ValueError, match="What differs: metadata routing"):
            fit(False, resume=True)


def test_code_in_a_candidate_is_not_run(tmp_path):
    victim, folder = tmp_path / "victim", tmp_path / "search"
    X, y = data()
    search = make_search(folder, {"max_depth": [1]}).fit(X, y)
    (path,) = folder.glob("candidate-*.npz")
    with np.load(path) as archive:
        arrays = dict(archive)
    evil = np.array([WritesAFile(victim)], dtype=object)
    for name in arrays:
        np.savez(path, **arrays | {name: evil})
        with pytest.raises(ValueError, match="npz is damaged or not a candidate"):
            clone(search).fit(X, y)
        assert not victim.exists()
    with np.load(path, allow_pickle=True) as archive:
        assert archive[name].shape == (1,)
    assert victim.exists()  # it would work
