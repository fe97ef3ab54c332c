"""The data and the jobs of the study of habits."""

import csv
import gzip

import numpy as np
import pytest

from studies.habits import PLAN
from studies.habits.data import load, number_copies
from studies.tests.rules_records import DATA

FOLDER = DATA / "study3"
needs_data = pytest.mark.skipif(
    not FOLDER.exists(), reason="needs the data of the study"
)
JOBS = PLAN.make_jobs()


def read_index():
    with open(FOLDER / "index.csv", newline="") as file:
        return {row["name"]: row for row in csv.DictReader(file)}


@needs_data
def test_the_plan_follows_the_index():
    index = read_index()
    kinds = {"table": "tables", "binary": "binary", "signal": "signals"}
    assert {name: kinds[row["kind"]] for name, row in index.items()} == {
        name: PLAN.kind_of(name) for name in index
    }
    n_rows = {name: int(row["rows"]) for name, row in index.items()}
    assert set(PLAN["large"]) == {n for n, row in index.items() if row["large"] == "1"}
    assert set(PLAN["large"]) == {n for n, rows in n_rows.items() if rows >= 20_000}
    grouped = {n for n, row in index.items() if row["has_groups"] == "1"}
    assert set(PLAN["grouped"]) == grouped
    work = {name: measure_work(row) for name, row in index.items()}
    assert set(PLAN["heavy"]) == {n for n, amount in work.items() if amount > 5e6}
    for name, rows in n_rows.items():
        own = [job for job in JOBS if job.dataset == name]
        folds = {job.fold for job in own}
        assert folds == ({0} if rows > 50_000 or work[name] > 2e7 else {0, 1, 2})
        models = {"hgb", "lightgbm"} | ({"mlp"} if rows <= 10_000 else set())
        models |= {"cnn"} if PLAN.kind_of(name) == "signals" else set()
        assert {job.estimator for job in own} == models
    assert len({row["family"] for row in index.values()}) == len(index)
    assert not PLAN["families"]


def measure_work(row):
    """Training rows times features times classes of a table."""
    n_classes = int(row["classes"])
    features = 0 if "x" in row["size"] else int(row["size"])
    n_train = min(PLAN["most_rows"], int(row["rows"]) * 2 / 3)
    return n_train * features * (1 if n_classes == 2 else n_classes)


def test_every_set_and_model_has_its_first_fold_before_any_has_its_second():
    folds = [job.fold for job in JOBS]
    assert folds == sorted(folds)
    first = [job.dataset for job in JOBS if job.fold == 0]
    tested = [name for name in first if not name.endswith("_timed")]
    is_large = [name in PLAN["large"] for name in tested]
    assert is_large == sorted(is_large)
    assert len(set(tested)) == 46


@needs_data
@pytest.mark.parametrize("name", ["fishing_mode", "pbc_stage", "confused_eeg"])
def test_folds(name):
    task = load(PLAN, name, DATA)
    assert len(task.folds) == 3
    together = number_copies(task.X) if task.groups is None else task.groups
    assert (task.groups is None) == (name not in PLAN["grouped"])
    for train, test in task.folds:
        assert not np.intersect1d(together[train], together[test]).size
        assert set(task.y[test]) <= set(task.y[train])
    tests = np.concatenate([test for _, test in task.folds])
    assert len(np.unique(tests)) == len(tests) == len(task.y)


def test_timed_sets_have_the_same_rows(tmp_path):
    rng = np.random.default_rng(0)
    folder = tmp_path / "study3" / "tables"
    folder.mkdir(parents=True)
    X, y = rng.normal(size=(90, 2)).round(3), np.arange(90) % 2
    lines = ["a,b,target", *(f"{a},{b},c{c}" for (a, b), c in zip(X, y, strict=True))]
    with gzip.open(folder / "made_up.csv.gz", "wt") as file:
        file.write("\n".join(lines))
    own, timed = (load(PLAN, f"made_up{end}", tmp_path) for end in ("", "_timed"))
    for fold, other in zip(own.folds, timed.folds, strict=True):
        for rows, other_rows in zip(fold, other, strict=True):
            np.testing.assert_array_equal(rows, other_rows)


@needs_data
def test_missing_values_and_categories():
    task = load(PLAN, "spanish_credit", DATA)
    assert len(task.categories) == 4
    assert np.isnan(task.X).sum() == 455
