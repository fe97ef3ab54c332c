"""The live race: its rule, its coroutines, and its report."""

import gzip
import signal
import sys
import warnings

import numpy as np
import pytest
from joblib.parallel import get_active_backend
from numpy.testing import assert_array_equal
from scipy.integrate import quad
from sklearn import get_config
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_superior.model_selection import StagedSearchCV
from studies.__main__ import main
from studies._page import interval, signed
from studies._store import RecordStore
from studies.small import race_live, racing
from studies.small.breadth_first import Live, Recorded, race, upper_bound
from studies.small.race_live import (
    MOST_REGRET,
    SETS,
    by_family,
    make_jobs,
    make_parts,
    measure,
    meets_criterion,
    summarize_sets,
)
from studies.tests.rules_records import DATA, RECORDS, ROOT

BUDGET, N_RACES = 40, 60


def make_curves(seed, n_candidates=9):
    """Return curves that saturate, of several lengths.

    With even seeds what is to come decides the race, with odd ones the errors do.
    """
    rng = np.random.default_rng(seed)
    of_stages, of_folds = (0.05, 0.0) if seed % 2 == 0 else (0.02, 0.3)
    curves = []
    for _ in range(n_candidates):
        stages = np.arange(1, rng.integers(4, BUDGET + 1) + 1)[:, np.newaxis]
        gain = rng.random() * (1 - np.exp(-stages * rng.random()))
        noise = of_stages * rng.normal(size=(len(stages), 5))
        start = of_folds * rng.normal(size=5) - 1 - rng.random()
        curves.append(start + gain + noise)
    return curves


def oracle(curves, budget):
    """Race with nothing but the curves and the numbers of stages, step by step."""
    n = [min(15, len(curve)) for curve in curves]
    while True:
        seen = [curve[:k].mean(axis=1) for curve, k in zip(curves, n, strict=True)]
        best = [means.max() for means in seen]
        leader = best.index(max(best))
        open_ones = [k for k in range(len(curves)) if n[k] < len(curves[k])]
        bounds = {}
        for k in open_ones:
            pace = (best[k] - seen[k][:-5].max()) / 5
            to_come = quad(lambda t, k=k, p=pace: p * (t / n[k]) ** -3, n[k], budget)[0]
            top, own = seen[leader].argmax(), seen[k].argmax()
            error = np.std(curves[leader][top] - curves[k][own], ddof=1) / 5**0.5
            bounds[k] = best[k] + to_come + 0.5 * error
        chosen = max(bounds, key=bounds.get, default=None)
        if chosen is None or bounds[chosen] <= best[leader]:
            if leader not in open_ones:
                return leader, n
            chosen = leader
        n[chosen] = min(n[chosen] + 2, len(curves[chosen]))


@pytest.mark.parametrize("seed", range(N_RACES))
def test_a_race_takes_the_steps_of_the_oracle(seed):
    curves = make_curves(seed)
    candidates = [Recorded(curve) for curve in curves]
    winner = race(candidates, BUDGET)
    n_stages = [len(candidate.scores) for candidate in candidates]
    assert (winner, n_stages) == oracle(curves, BUDGET)


def test_races_save_stages():
    """Otherwise the oracle would be tried on nothing."""
    saved = []
    for seed in range(N_RACES):
        curves = make_curves(seed)
        candidates = [Recorded(curve) for curve in curves]
        race(candidates, BUDGET)
        n_seen = sum(len(candidate.scores) for candidate in candidates)
        saved.append(1 - n_seen / sum(map(len, curves)))
    assert min(saved) < 0.2 < 0.4 < max(saved)


def test_the_winner_is_trained_to_its_end():
    for seed in range(N_RACES):
        candidates = [Recorded(curve) for curve in make_curves(seed)]
        assert not candidates[race(candidates, BUDGET)].is_open


def test_at_the_end_of_the_budget_nothing_is_to_come():
    curve = np.linspace(-1, 0, BUDGET)[:, np.newaxis] + np.zeros(5)
    candidate = Recorded(curve)
    candidate.train(BUDGET)
    assert upper_bound(candidate, candidate, BUDGET) == 0
    assert upper_bound(candidate, candidate, 2 * BUDGET) > 0


HGB = HistGradientBoostingClassifier(max_iter=24, random_state=0)
MLP = make_pipeline(StandardScaler(), MLPClassifier(max_iter=24, random_state=0))
FAMILIES = {
    "HGB": (HGB, [{"learning_rate": 0.05}, {"learning_rate": 0.3}, {"max_bins": 4}]),
    "MLP": (MLP, [{"mlpclassifier__learning_rate_init": r} for r in (0.001, 0.1, 0.3)]),
}


def make_live(family, X, y):
    """Return live candidates whose searches stop by themselves."""
    estimator, settings = FAMILIES[family]
    return [
        Live(
            StagedSearchCV(
                clone(estimator).set_params(**params), refit=False, n_iter_no_change=6
            ),
            X,
            y,
        )
        for params in settings
    ]


def search_curves(family, X, y):
    """Return the scores of all stages in one ordinary search."""
    estimator, settings = FAMILIES[family]
    search = StagedSearchCV(estimator, settings, refit=False, n_iter_no_change=6)
    return search.fit(X, y).stage_scores_


def get_settings():
    """Return what belongs to the thread or to the process."""
    return {
        "config": get_config(),
        "errors": np.geterr(),
        "backend": type(get_active_backend()[0]),
        "filters": id(warnings.filters),
        "show": warnings.showwarning,
        "interrupt": signal.getsignal(signal.SIGINT),
    }


@pytest.mark.parametrize("family", FAMILIES)
def test_a_race_that_gives_nobody_up_is_the_search(family):
    """Two stages of one candidate, two of the next: the same scores to the bit."""
    X, y = load_wine(return_X_y=True)
    with warnings.catch_warnings(action="ignore"):
        candidates, n_rounds = make_live(family, X, y), 0
        before = get_settings()
        while any(candidate.is_open for candidate in candidates):
            for candidate in candidates:
                candidate.train(2)
                assert get_settings() == before  # of a fit that is paused, too
            n_rounds += 1
        curves = search_curves(family, X, y)
    assert n_rounds > 5
    assert len({len(curve) for curve in curves}) > 1  # some stop by themselves
    for candidate, curve in zip(candidates, curves, strict=True):
        assert_array_equal(candidate.scores, curve)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_live_race_is_the_race_of_the_recorded_curves(family):
    X, y = load_wine(return_X_y=True)
    with warnings.catch_warnings(action="ignore"):
        live = make_live(family, X, y)
        winner = race(live, 24)
        recorded = [Recorded(curve) for curve in search_curves(family, X, y)]
    assert winner == race(recorded, 24)
    n_stages = [len(candidate.scores) for candidate in live]
    assert n_stages == [len(candidate.scores) for candidate in recorded]
    assert min(n_stages) < max(n_stages)


def test_a_candidate_that_is_given_up_ends_its_trainings():
    X, y = load_wine(return_X_y=True)
    (first, *_) = candidates = make_live("HGB", X, y)
    first.train(3)
    for candidate in candidates:  # the others have not begun
        candidate.close()
        assert candidate.is_closed
    assert len(first.scores) == 3


def test_an_error_of_a_candidate_ends_the_race():
    X, y = load_wine(return_X_y=True)
    estimator = HistGradientBoostingClassifier(max_iter=9, learning_rate=-1)
    candidate = Live(StagedSearchCV(estimator, refit=False), X, y)
    with pytest.raises(ValueError, match="'learning_rate' parameter"):
        race([candidate], 9)


def make_record(dataset="abalone3", family="HGB", *, clock=4.0, race_loss=0.5):
    curves = [[[-0.9] * 5, [-0.8] * 5], [[-0.7] * 5, [-0.72] * 5]]
    common = {"cpu": 8.0, "memory": 100.0}
    return {
        "job": {"dataset": dataset, "family": family, "seed": 0, "max_iter": 2},
        "full": {"clock": 10.0, "winner": 1, "n_stages": [2, 2]} | common,
        "race": {"clock": clock, "cpu": 2.0, "memory": 160.0}
        | {"winner": 0, "n_stages": [2, 1]},
        "scores": curves,
        "same_scores": True,
        "test": {"full": 0.5, "race": race_loss, "error": 0.01},
    }


def test_what_a_race_saved_and_cost():
    assert measure(make_record(race_loss=0.51)) == {
        "clock": 60,
        "cpu": 75,
        "stages": 25,
        "regret_cv": pytest.approx(100 * np.log(0.8 / 0.7)),
        "regret": pytest.approx(100 * np.log(0.51 / 0.5)),
        "error": pytest.approx(2),
        "memory_search": 100,
        "memory_race": 160,
    }


@pytest.mark.parametrize(
    ("clock", "losses", "is_met"),
    [
        (5.0, [0.5, 0.5, 0.5], True),
        (5.1, [0.5, 0.5, 0.5], False),
        (4.0, [0.503, 0.503, 0.503], False),
        (4.0, [0.514, 0.495, 0.495], True),
        (4.0, [0.516, 0.49, 0.49], False),
    ],
)
def test_the_criterion(clock, losses, is_met):
    rows = {
        str(k): measure(make_record(clock=clock, race_loss=loss))
        for k, loss in enumerate(losses)
    }
    assert meets_criterion(summarize_sets(rows)) == is_met


def test_the_report_has_both_families_and_their_sets():
    records = [make_record(name, "HGB") for name in SETS]
    records += [make_record(name, "MLP", clock=6.0) for name in SETS]
    parts = make_parts(records)
    families, *tables = [part for part in parts if part.kind == "table"]
    assert [row[:3] for row in families.rows] == [
        ["HGB", "12", "+60.0"],
        ["MLP", "12", "+40.0"],
    ]
    assert [len(table.rows) for table in tables] == [12, 12]
    (verdicts,) = [part for part in parts if part.kind == "bullets"]
    assert [text.endswith("is met.") for text in verdicts.items] == [True, False]


def test_the_sets_follow_the_rule():
    """Tables of several classes with 4,000 rows or more, by alphabet, every second."""
    if not DATA.exists():
        pytest.skip("the data is not here")
    sizes = {}
    for path in (DATA / "study2" / "tables").glob("*.csv.gz"):
        with gzip.open(path) as lines:
            sizes[path.name.removesuffix(".csv.gz")] = sum(1 for _ in lines) - 1
    large = sorted(name for name, size in sizes.items() if size >= 4000)
    assert SETS == tuple(large[::2])


def test_jobs():
    assert len(make_jobs(estimators=["HGB", "MLP"])) == 24
    names = [job.dataset for job in make_jobs(estimators=["HGB_threads"])]
    assert names == ["abalone3", "hpc_jobs", "steel_energy"]
    with pytest.raises(ValueError, match="--datasets must be among"):
        make_jobs(["glass"])


def test_a_quick_run(tmp_path):
    pytest.importorskip("jinja2")
    options = ["--quick", "--estimators", "HGB", "--epochs", "18"]
    assert main(["race_live", "run", *options, "--folder", str(tmp_path)]) == 0
    (record,), damaged = RecordStore(tmp_path, race_live.FIELDS).load_all()
    assert not damaged
    assert record["same_scores"]
    assert len(record["scores"]) == 27
    assert sum(record["race"]["n_stages"]) < sum(record["full"]["n_stages"])
    if sys.platform == "linux":
        assert record["race"]["memory"] > record["full"]["memory"] > 0
    assert main(["race_live", "report", "--folder", str(tmp_path)]) == 0


@pytest.fixture(scope="module")
def records():
    if not RECORDS.exists():
        pytest.skip("no records here")
    return RecordStore(RECORDS / "race_live", race_live.FIELDS).load_all()[0]


@pytest.fixture(scope="module")
def guide():
    """The section, in one line."""
    text = (ROOT / "doc" / "benchmarks.rst").read_text()
    text = text[text.index("Racing\n------") : text.index("Speed of the network\n---")]
    return " ".join(text.split())


def row_of(title, *cells):
    return f"* - {title} " + " ".join(f"- {cell}" for cell in cells)


def test_the_guide_shows_the_table_of_the_records(records, guide):
    families = by_family(records)
    s = [summarize_sets(families[name]) for name in ("HGB", "MLP")]

    def show(title, name, form=lambda v: f"{signed(v)} %"):
        assert row_of(title, *(form(own[name]) for own in s)) in guide

    show("wall-clock time saved", "clock", lambda v: f"{v:.1f} %")
    show("CPU time saved", "cpu", lambda v: f"{v:.1f} %")
    show("log loss in cross-validation, mean", "regret_cv")
    show("log loss on the test rows, mean", "regret")
    show("… on the worst set", "worst")
    intervals = [interval(own["low"], own["high"]) for own in s]
    assert row_of("… 95 % interval over the sets", *intervals) in guide
    peaks = [f"{o['memory_search']:.0f} and {o['memory_race']:.0f} MiB" for o in s]
    assert row_of("peak memory, search and race", *peaks) in guide
    same = [
        sum(
            r["race"]["winner"] == r["full"]["winner"]
            for r in records
            if r["job"]["family"] == name
        )
        for name in ("HGB", "MLP")
    ]
    assert row_of("same winner", *(f"{n} of 12" for n in same)) in guide


def test_the_guide_says_what_was_decided_and_why(records, guide):
    families = by_family(records)
    hgb, mlp = (families[name] for name in ("HGB", "MLP"))
    assert meets_criterion(summarize_sets(hgb))
    assert not meets_criterion(summarize_sets(mlp))
    assert "HistGradientBoosting meets it. The MLP does not" in guide
    bad = [name for name, row in mlp.items() if row["regret"] > MOST_REGRET]
    assert f"on {' and '.join(bad)}, the test log loss rose" in guide
    missed = {name: row for name, row in mlp.items() if row["regret_cv"] > 1}
    low, *_, high = sorted(row["regret_cv"] for row in missed.values())
    assert len(missed) == 3
    assert not set(missed) & set(bad)
    assert f"that are {low:.0f} to {high:.0f} % better on three other sets" in guide
    assert sum(row["regret"] < 0 for row in missed.values()) == 2
    assert "So ``StagedSearchCV`` has no racing" in guide


def test_the_guide_says_how_the_race_was_run(records, guide):
    assert all(record["same_scores"] for record in records)
    assert "on 3,000 test rows" in guide
    assert "27 candidates on 300 rows" in guide
    assert {record["n_rows"]["test"] for record in records} == {3000}
    assert {record["n_rows"]["train"] for record in records} == {300}
    families = by_family(records)
    rows = [row for sets in families.values() for row in sets.values()]
    most = max(rows, key=lambda row: row["memory_race"])
    sizes = f"{most['memory_race']:.0f} MiB instead of {most['memory_search']:.0f}"
    assert sizes in guide
    changes = []
    for name in ("HGB", "MLP"):
        threads = families[f"{name}_threads"]
        assert len(threads) == 3
        alone = {dataset: families[name][dataset] for dataset in threads}
        change = summarize_sets(alone)["clock"] - summarize_sets(threads)["clock"]
        changes.append(abs(change))
    assert f"by about {max(changes):.0f} points or less" in guide
    for record in records:  # the clock counts little but our own work
        if not record["job"]["family"].endswith("_threads"):
            for name in ("full", "race"):
                assert record[name]["cpu"] > 0.89 * record[name]["clock"]


def test_a_replay_of_the_records_is_the_live_race(records):
    """A sixth of them, to save time."""
    for record in records[::6]:
        candidates = [Recorded(np.array(curve)) for curve in record["scores"]]
        assert race(candidates, 100) == record["race"]["winner"]
        n_stages = [len(candidate.scores) for candidate in candidates]
        assert n_stages == record["race"]["n_stages"]


@pytest.mark.slow
def test_the_guide_says_what_the_rule_saved_where_it_was_chosen(guide):
    if not RECORDS.exists():
        pytest.skip("no records here")
    groups = {}
    for record in RecordStore(RECORDS / "racing", racing.FIELDS).load_all()[0]:
        curves = [np.array(curve) for curve in record["scores"]]
        candidates, time = [Recorded(c) for c in curves], np.array(record["fit_time"])
        best = max(curve.mean(axis=1).max() for curve in curves)
        score = candidates[race(candidates, 100)].best
        shares = [
            len(own.scores) / len(curve)
            for own, curve in zip(candidates, curves, strict=True)
        ]
        saved = 100 * (1 - time @ shares / time.sum())
        job = record["job"]
        group = groups.setdefault((job["family"], job["seed"]), [])
        group.append((saved, 100 * (score / best - 1)))
    means = [np.mean(groups[key], axis=0) for key in sorted(groups)]
    cells = [f"{saved:.0f} %, {regret:.2f} %" for saved, regret in means]
    assert row_of("all at once, the highest bound first", *cells) in guide
