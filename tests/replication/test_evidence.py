"""The comparison of rules: its plan, its records, its numbers, its report."""

import math
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from sklearn.utils import Bunch

pytest.importorskip("torch")
pytest.importorskip("pandas")

import pandas as pd

from sklearn_superior.datasets import list_paper_datasets
from sklearn_superior.model_selection import compare_stopping_rules
from sklearn_superior.replication import _tables
from sklearn_superior.replication.__main__ import main
from sklearn_superior.replication._evidence import (
    FAMILIES,
    PENALTIES,
    SHORT,
    Evidence,
    _smooth_by_sums,
    as_trajectory,
    judge_interval,
    smooth,
)
from sklearn_superior.replication._evidence_report import answer
from sklearn_superior.replication._protocol import Job
from sklearn_superior.replication._rules_plan import (
    PLAN,
    average_down,
    load_task,
    make_estimator,
    make_jobs,
    train_job,
)
from sklearn_superior.replication._store import RecordStore

SHARED = Path(__file__).parents[3] / "shared" / "data"


def test_plan():
    jobs = make_jobs()
    assert len({job.name for job in jobs}) == len(jobs) == 1515
    # A round is done for all data sets before the next one begins.
    rounds = [
        job.fold // 5 if job.dataset in _tables.TABLES else job.repeat for job in jobs
    ]
    assert rounds == sorted(rounds)
    assert set(PLAN["rules"]) == set(SHORT)
    assert {name for pair in PLAN["contrasts"] for name in pair} <= set(SHORT)
    known = {d.name for d in list_paper_datasets()}
    assert set(PLAN["data"]["signals"]["sets"]) < known
    assert set(PLAN["data"]["tables"]["sets"]) == set(_tables.TABLES)


@pytest.mark.parametrize("estimator", ["mlp", "sgd", "hgb", "cnn_relu"])
def test_a_record_gives_the_scores_of_all_rules(estimator):
    job = Job("synthetic", estimator, "log_loss", 4, 3, 0)
    trajectory = as_trajectory(train_job(job))
    task = load_task("synthetic")
    rules = [r for r in PLAN["rules"] if r != "last" and "smoothed" not in r]
    comparison = compare_stopping_rules(
        make_estimator(job),
        task.X,
        task.y,
        cv=[task.folds[3]],
        rules=rules,
        scoring=PLAN["judges"],
        random_state=job.seed,
    )
    (expected,) = comparison.trajectories
    for rule in rules:
        np.testing.assert_allclose(
            trajectory.validation[rule], expected.validation[rule], rtol=1e-4
        )
    for judge in PLAN["judges"][1:]:
        np.testing.assert_allclose(
            trajectory.test[judge], expected.test[judge], rtol=1e-4
        )
    np.testing.assert_allclose(trajectory.temperature, expected.temperature, rtol=1e-4)
    assert trajectory.seed == expected.seed


def test_moving_mean():
    values = np.random.default_rng(0).normal(size=40)
    expected = [values[max(0, k - 7) : k + 8].mean() for k in range(40)]
    np.testing.assert_allclose(smooth(values, 15), expected)
    np.testing.assert_allclose(_smooth_by_sums(values, 15), expected)


def test_moving_means_of_counts_are_exact():
    rng = np.random.default_rng(0)
    errors = np.tile(rng.integers(0, 5, size=20), 15)
    exact = [
        Fraction(int(sum(part)), len(part))
        for part in (errors[max(0, k - 7) : k + 8] for k in range(300))
    ]
    found = smooth(errors, 15)
    assert found.tolist() == [float(mean) for mean in exact]
    # Rates by cumulative sums tell equal ones apart, or not, by rounding.
    rates = _smooth_by_sums(1 - errors / 317, 15)
    equal = [(a, b) for a in range(300) for b in range(a) if exact[a] == exact[b]]
    assert all(found[a] == found[b] for a, b in equal)
    assert any(rates[a] != rates[b] for a, b in equal)


def test_exact_trajectories_break_ties_by_the_log_loss():
    job = Job("synthetic", "mlp", "log_loss", 4, 3, 0)
    record = train_job(job)
    n_stages = len(record["validation"]["errors"])
    record["validation"]["errors"] = [3] * n_stages
    record["validation"]["log_loss"] = [2.0] * (n_stages - 2) + [1.0, 1.5]
    plain, exact = (as_trajectory(record, exact=value) for value in (False, True))
    assert plain.choose("accuracy", "CP")[0] == 0
    assert exact.choose("accuracy", "CP")[0] == n_stages - 2
    assert exact.choose("smoothed_accuracy", "CP")[0] == n_stages - 2


def test_windows_are_averaged_down():
    X = np.arange(2 * 1 * 96.0).reshape(2, 1, 96)
    small = average_down(X, 32)
    assert small.shape == (2, 1, 32)
    assert small[0, 0, 0] == X[0, 0, :3].mean()
    X[0, 0, :2] = np.nan
    assert average_down(X, 32)[0, 0, 0] == X[0, 0, 2]
    assert average_down(X[..., :20], 32).shape == (2, 1, 20)


def test_parts_of_a_task():
    task = load_task("synthetic")
    for parts in task.folds:
        assert not set.intersection(*map(set, parts))
        assert max(map(len, parts)) <= PLAN["data"]["signals"]["most_rows"]
        for rows in parts:
            assert (np.diff(rows) > 0).all()


def make_record(dataset, estimator, fold, *, f1, loss="log_loss", repeat=0):
    """Three stages: the log loss likes the first, the errors the second."""
    job = Job(dataset, estimator, loss, 3, fold, repeat)
    validation = {
        "log_loss": [0.5, 0.6, 0.9],
        "brier": [0.5, 0.6, 0.9],
        "errors": [5, 2, 3],
        "f1_macro": [0.5, 0.8, 0.7],
        "calibrated_log_loss": [0.5, 0.4, 0.6],
        "calibrated_brier": [0.5, 0.4, 0.6],
    }
    return job, {
        "job": asdict(job),
        "seed": 1,
        "n_rows": {"train": 20, "validation": 10, "test": 10},
        "n_classes": 3,
        "seconds": 36.0,
        "versions": {"python": "3.11"},
        "validation": validation,
        "test": validation | {"f1_macro": list(f1)},
        "temperature": [1.0, 2.0, 3.0],
    }


SETS = {"walking_user_identification": 0.01, "ble_rssi": 0.02, "tetouan_power": 0.06}


def make_records():
    for dataset, gain in SETS.items():
        for fold in range(3):
            for estimator, factor in (("cnn", 1), ("mlp", 2)):
                f1 = (0.5, 0.5 + factor * gain, 0.4)
                yield make_record(dataset, estimator, fold, f1=f1)


def test_contrasts_have_data_sets_as_units():
    evidence = Evidence([record for _, record in make_records()])
    row = evidence.contrast("accuracy", "log_loss")
    # The mean of both families: 1.5 times the gain of each data set.
    expected = [1.5 * gain for gain in SETS.values()]
    assert row["difference"] == pytest.approx(np.mean(expected))
    assert (row["n"], row["n_up"], row["n_down"]) == (3, 3, 0)
    assert row["p_value"] == Fraction(2, 8)
    half = 4.302652729911275 * np.std(expected, ddof=1) / math.sqrt(3)
    assert row["high"] - row["difference"] == pytest.approx(half)
    (network,) = (f for f in FAMILIES if f.estimators == ("cnn",))
    row = evidence.contrast("accuracy", "log_loss", [network])
    assert row["difference"] == pytest.approx(0.03)
    planned = evidence.planned_contrasts()
    assert [(r["rule"], r["baseline"]) for r in planned] == [
        tuple(pair) for pair in PLAN["contrasts"]
    ]
    assert all(row["p_holm"] >= row["p_value"] for row in planned)


def test_repeats_do_not_outweigh_folds():
    records = [make_record("ble_rssi", "cnn", 0, f1=(0.5, 0.9, 0), repeat=0)[1]]
    records += [
        make_record("ble_rssi", "cnn", 1, f1=(0.5, 0.5, 0), repeat=k)[1]
        for k in range(3)
    ]
    row = Evidence(records).contrast("accuracy", "log_loss")
    assert row["difference"] == pytest.approx(0.2)


def test_regrets_and_paths():
    evidence = Evidence([record for _, record in make_records()])
    regrets = evidence.regrets()
    network, perceptron = evidence.families()
    assert regrets["last"][network] == pytest.approx(0.1 + 0.03)
    assert regrets["log_loss"][perceptron] == pytest.approx(0.06)
    for rule in ("accuracy", "f1_macro", "refined_log_loss"):
        assert regrets[rule][network] == 0
    path = evidence.penalty_path(network)
    # Three errors fewer outweigh 0.1 of the loss from a penalty of a third on.
    penalty = [0, 1 / 3, 2 / 3, 4 / 3, 8 / 3, 16 / 3, math.inf]
    assert len(penalty) == len(PENALTIES)
    expected = [0.5 + 0.03 * (p * 0.3 > 0.1) for p in penalty]
    np.testing.assert_allclose(path, expected)


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0.6, 2, "a gain that matters"),
        (-2, -0.6, "a loss that matters"),
        (0.1, 0.4, "no difference that matters"),
        (0.1, 0.6, "undecided, leaning to a gain"),
        (-0.6, -0.1, "undecided, leaning to a loss"),
        (-0.6, 0.1, "undecided"),
        (math.nan, math.nan, "undecided"),
    ],
)
def test_words(low, high, words):
    assert judge_interval({"low": low, "high": high}, 0.5) == words


def test_report(tmp_path, capsys):
    store = RecordStore(tmp_path, compress=True)
    for job, record in make_records():
        store.save(job, record)
    args = ["report", "--plan", "rules", "--folder", str(tmp_path)]
    assert main([*args, "--home", "pages"]) == 0
    markdown, html = (Path(line) for line in capsys.readouterr().out.splitlines())
    text = markdown.read_text()
    for question in PLAN["questions"]:
        assert f"## {question}" in text
    assert "pages/index.html" not in text
    assert "accuracy instead of log loss changes F1 by +4.50 points" in text
    assert "18 of 1515 planned trainings" in text
    page = html.read_text()
    assert page.count("<img") == 2
    assert "pages/index.html" in page
    assert 'id="the-plan"' in page
    assert 'href="#the-plan"' in page
    assert len(list(answer(Evidence(store.load_all()[0])))) == 5
    damaged = next(tmp_path.rglob("*.gz"))
    damaged.write_bytes(damaged.read_bytes()[:-9])
    assert main(args) == 0
    text = markdown.read_text()
    assert f"Damaged records were left out: {damaged.name}" in text
    assert "index.html" not in text


def test_no_records(tmp_path, capsys):
    args = ["report", "--plan", "rules", "--folder", str(tmp_path)]
    assert main(args) == 2
    assert "superior-replicate run --plan rules" in capsys.readouterr().err


def test_quick_run_resumes(tmp_path, capsys):
    args = "run --plan rules --quick --epochs 2 --folds 1 --estimators mlp sgd hgb"
    args = [*args.split(), "--folder", str(tmp_path)]
    assert main(args) == 0
    assert len(list(tmp_path.rglob("*.json.gz"))) == 3
    capsys.readouterr()
    assert main(args) == 0
    assert "3 of 3 trainings are done already" in capsys.readouterr().out


def test_tables_are_checked(tmp_path, capsys):
    pd.DataFrame({"a": [1, 2], "target": ["x", "y"]}).to_csv(
        tmp_path / "glass.csv.gz", index=False
    )
    args = "run --plan rules --datasets glass --repeats 1".split()
    folder = tmp_path / "records"
    assert main([*args, "--data-home", str(tmp_path), "--folder", str(folder)]) == 1
    out = capsys.readouterr().out
    assert "glass must have 214 rows, 9 features and 6 classes" in out
    assert "has 2, 1 and 2" in out


def test_tables_of_openml_are_found_by_their_columns(monkeypatch, tmp_path):
    """OpenML cannot be reached here: what it would give is made up."""
    asked = []

    def fetch(name, *, version, as_frame, data_home):
        asked.append((name, version))
        rng = np.random.default_rng(0)
        data = pd.DataFrame(rng.normal(size=(2310, 18)))
        data["constant"] = 9
        data["text"] = pd.Categorical(["a", "b"] * 1155)
        if version == 2:
            data = data.drop(columns=0)
        return Bunch(
            data=data, target=pd.Series(np.arange(2310) % 7).astype("category")
        )

    monkeypatch.setattr(_tables, "fetch_openml", fetch)
    X, y = _tables.load_table("image_segments", tmp_path)
    assert asked == [("segment", 1), ("segment", 2)]
    assert X.shape == (2310, 18)
    assert X.dtype == float
    assert set(X[:, -1]) == {0.0, 1.0}
    assert set(y) == set("0123456")


@pytest.mark.skipif(not SHARED.exists(), reason="the data is not here")
@pytest.mark.parametrize("name", ["soybean", "vowel", "glass"])
def test_tables_of_a_folder(name):
    task = load_task(name, SHARED)
    assert len(task.folds) == 10
    for train, val, test in task.folds:
        assert (
            len({*train, *val, *test})
            == len(task.y)
            == sum(map(len, (train, val, test)))
        )
        assert set(task.y[train]) == set(task.y)
    for start in (0, 5):  # every row is tested once in each partition
        tested = np.concatenate([test for _, _, test in task.folds[start : start + 5]])
        assert sorted(tested) == list(range(len(task.y)))


def test_the_folder_of_the_tables_can_be_set(monkeypatch, tmp_path):
    frame = pd.DataFrame({k: np.arange(990.0) for k in "abcdefghij"})
    frame.assign(target=np.arange(990) % 11).to_csv(
        tmp_path / "vowel.csv.gz", index=False
    )
    monkeypatch.setenv("SKLEARN_SUPERIOR_DATA", str(tmp_path))
    X, _ = _tables.load_table("vowel")
    assert X.shape == (990, 10)


def test_plans_do_not_mix(tmp_path, capsys):
    """Both plans may write into one folder; each report reads its own records."""
    common = ["--folder", str(tmp_path), "--quick", "--epochs", "2", "--folds", "1"]
    assert main(["run", *common, "--estimators", "hgb"]) == 0
    assert main(["report", "--plan", "rules", "--folder", str(tmp_path)]) == 2
    assert "has no records" in capsys.readouterr().err
    assert main(["run", "--plan", "rules", *common, "--estimators", "hgb"]) == 0
    for plan in ("paper", "rules"):
        assert main(["report", "--plan", plan, "--folder", str(tmp_path)]) == 0
    text = (tmp_path / "evidence.md").read_text()
    assert "made-up data" in text
    assert "No family of models is complete" in text  # XGBoost is missing


@pytest.mark.parametrize(
    ("args", "allowed", "got"),
    [
        ("--datasets glass", "ble_rssi", "Got glass."),
        ("--plan rules --datasets glass wisdm_phone_accel", "vowel", "Got wisdm"),
        ("--estimators mlp", "xgboost", "Got mlp."),
    ],
)
def test_what_a_plan_does_not_have_is_told(args, allowed, got, capsys):
    assert main(["run", *args.split()]) == 2
    err = capsys.readouterr().err
    assert allowed in err
    assert got in err


def test_readme_says_what_the_records_say():
    root = Path(__file__).parents[2]
    records, damaged = RecordStore(root / "doc" / "evidence", compress=True).load_all()
    assert records
    assert not damaged
    evidence = Evidence(records)
    text = " ".join((root / "README.md").read_text().split())
    assert f"{len(records)} of its {len(make_jobs()):,} trainings" in text
    for family in FAMILIES:
        if family.name.startswith("logistic"):
            continue
        row = evidence.contrast("refined_penalized_brier", "log_loss", [family])
        low, middle, high = (
            f"{100 * row[key]:+.1f}".replace("-", "−")
            for key in ("low", "difference", "high")
        )
        assert f"{middle} ({low} to {high})" in text, family.title
    worst = {rule: 100 * max(of.values()) for rule, of in evidence.regrets().items()}
    assert (
        f"PBS {worst['penalized_brier']:.1f}, the log loss {worst['log_loss']:.1f}"
        in text
    )
