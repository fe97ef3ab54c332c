r"""A live race in breadth: what it saves in a search, and what it costs.

The rule was chosen on the records of the study "racing". Here it is tried on twelve
other sets: the tables of several classes of the study "procedures" with at least 4,000
rows, by alphabet, every second. A search of 27 settings and a race of the same
settings are timed in the same process, alternating which is first. Then the winner of
each is trained on all rows, and scored on test rows::

    OMP_NUM_THREADS=1 python -m studies race_live run --data-home FOLDER \
        --estimators HGB MLP
    python -m studies race_live run --data-home FOLDER \
        --estimators HGB_threads MLP_threads
    python -m studies race_live report

The second command does the same for every fourth set with the libraries' own number of
threads.
"""

import ctypes
import gc
import sys
import time
import warnings
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from sklearn.model_selection import ParameterGrid
from threadpoolctl import threadpool_limits

from studies import procedures
from studies._page import Bullets, Heading, Paragraph, Table, interval, signed
from studies._runner import check_names
from studies._statistics import summarize
from studies._tables import load_table
from studies.small import racing
from studies.small.breadth_first import Live, race
from studies.small.search_table import split

__all__ = ["FIELDS", "QUICK", "TITLE", "load", "make_jobs", "make_parts", "train"]

TITLE = "A live race in breadth: what it saves, and what it costs"
FIELDS = ("job", "n_rows", "settings", "order", "full", "race", "scores", "test")
QUICK = ("wine",)
SETS = (
    "abalone3",
    "bird_strikes",
    "diamonds_cut",
    "gas_drift",
    "hpc_jobs",
    "nsl_kdd",
    "page_blocks",
    "portal_rodents",
    "steel_energy",
    "texture",
    "transport_mode",
    "wine_quality_white",
)
N_ROWS, N_STAGES = 300, 100  # as in the records on which the rule was chosen
DECIDING = ("HGB", "MLP")
FAMILIES = dict.fromkeys(DECIDING, SETS)
FAMILIES |= {f"{family}_threads": SETS[::4] for family in DECIDING}
# The criterion for building a race into the search, fixed before the run.
LEAST_SAVED, MOST_MEAN_REGRET, MOST_REGRET = 50, 0.5, 3.0  # percent


@dataclass(frozen=True)
class Job:
    """A search and a race on a split of a data set."""

    dataset: str
    family: str
    seed: int
    max_iter: int = N_STAGES

    @property
    def name(self):
        """Unique name of the job."""
        return f"{self.dataset}/{self.family}-{self.max_iter}/seed{self.seed}"


def make_jobs(datasets=None, estimators=None, *, max_iter=None, n_repeats=None, **_):
    """List the jobs; `n_repeats` is the number of seeds."""
    check_names("--datasets", datasets, [*SETS, *QUICK])
    check_names("--estimators", estimators, FAMILIES)
    return [
        Job(dataset, family, seed, max_iter or N_STAGES)
        for seed in range(n_repeats or 1)
        for dataset in datasets or SETS
        for family in estimators or FAMILIES
        if datasets or dataset in FAMILIES[family]
    ]


def load(dataset, data_home=None):
    """Return the features and the classes of a data set."""
    if dataset in QUICK:
        return load_table(dataset)
    task = procedures.load(dataset, data_home)
    return task.X, task.y


def make_search(job):
    """Return the search of a job, by the default rule."""
    family = job.family.removesuffix("_threads")
    same = racing.Job(job.dataset, family, job.seed, job.max_iter)
    return racing.make_search(same).set_params(scoring=None)


def make_one(job, params, **options):
    """Return a search of a single candidate."""
    search = make_search(job)
    search.estimator.set_params(**params)
    return search.set_params(param_grid=None, **options)


@contextmanager
def metered(meter):
    """Write seconds and peak memory, in MiB above the start, into a dict."""
    gc.collect()
    start = _reset_peak()
    clock, cpu = time.perf_counter(), time.process_time()
    yield
    meter["clock"] = round(time.perf_counter() - clock, 3)
    meter["cpu"] = round(time.process_time() - cpu, 3)
    meter["memory"] = None if start is None else round(_read("VmHWM") - start, 1)
    meter["memory_before"] = start and round(start, 1)


def _reset_peak():
    """Start a new peak; return the resident memory in MiB, None if not on Linux."""
    if sys.platform != "linux":
        return None
    ctypes.CDLL(None).malloc_trim(0)  # what is free already is not counted
    Path("/proc/self/clear_refs").write_text("5")
    return _read("VmRSS")


def _read(name):
    """Return an entry of this process in MiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    (line,) = [line for line in lines if line.startswith(f"{name}:")]
    return int(line.split()[1]) / 1024


def run_search(job, settings, X, y):
    """Return the winner of a search, its score, and the curves of all candidates."""
    search = make_search(job).fit(X, y)
    return int(search.best_index_), float(search.best_score_), search.stage_scores_


def run_race(job, settings, X, y):
    """Return the winner of a race, its score, and the curves of all candidates."""
    candidates = [Live(make_one(job, params), X, y) for params in settings]
    winner = race(candidates, job.max_iter)
    curves = [np.array(candidate.scores) for candidate in candidates]
    return winner, float(candidates[winner].best), curves


RUNS = {"full": run_search, "race": run_race}


def train(job, data_home=None, device="auto"):
    """Do a job; return its record, ready for JSON."""
    X, y, X_test, y_test = split(*load(job.dataset, data_home), N_ROWS, job.seed)
    grid = make_search(job).param_grid
    settings = list(ParameterGrid(grid))
    order = list(RUNS)
    if job.dataset in SETS[1::2]:
        order.reverse()
    limit = None if job.family.endswith("_threads") else 1
    start, record, curves = time.perf_counter(), {}, {}
    with warnings.catch_warnings(action="ignore"), threadpool_limits(limit):
        race([Live(make_one(job, settings[0]), X, y)], job.max_iter)  # warm up
        for name in order:
            record[name] = meter = {}
            with metered(meter):
                winner, score, curves[name] = RUNS[name](job, settings, X, y)
            n_stages = [len(curve) for curve in curves[name]]
            meter |= {"winner": winner, "score": score, "n_stages": n_stages}
        test = score_winners(job, settings, record, (X, y, X_test, y_test))
    return {
        "job": asdict(job),
        "n_rows": {"train": len(y), "test": len(y_test)},
        "n_classes": int(y.max()) + 1,
        "settings": settings,
        "order": order,
        **record,
        "same_scores": _are_same(curves["full"], curves["race"]),
        "scores": [curve.round(6).tolist() for curve in curves["full"]],
        "test": test,
        "seconds": round(time.perf_counter() - start, 1),
    }


def _are_same(curves, starts):
    """Return whether the race has seen the first scores of the search, to the bit."""
    pairs = zip(curves, starts, strict=True)
    return all(np.array_equal(curve[: len(part)], part) for curve, part in pairs)


def score_winners(job, settings, record, data):
    """Return the test log loss of both winners, trained on all rows.

    The error is the standard error of their difference over the test rows.
    """
    X, y, X_test, y_test = data
    losses = {}
    for number in {record[name]["winner"] for name in RUNS}:
        model = make_one(job, settings[number], refit="all").fit(X, y)
        p_true = model.predict_proba(X_test)[np.arange(len(y_test)), y_test]
        losses[number] = -np.log(np.maximum(p_true, np.finfo(p_true.dtype).eps))
    full, other = (losses[record[name]["winner"]] for name in RUNS)
    return {
        "full": float(full.mean()),
        "race": float(other.mean()),
        "error": float((other - full).std(ddof=1) / np.sqrt(len(full))),
    }


def measure(record):
    """Return what a race saved and cost, in percent; regrets are of the log loss."""
    full, race_, test = record["full"], record["race"], record["test"]
    best = [-np.mean(curve, axis=1).max() for curve in record["scores"]]
    ratio = best[race_["winner"]] / best[full["winner"]]
    return {
        "clock": 100 * (1 - race_["clock"] / full["clock"]),
        "cpu": 100 * (1 - race_["cpu"] / full["cpu"]),
        "stages": 100 * (1 - sum(race_["n_stages"]) / sum(full["n_stages"])),
        "regret_cv": 100 * np.log(ratio),
        "regret": 100 * np.log(test["race"] / test["full"]),
        "error": 100 * test["error"] / test["full"],
        "memory_search": full["memory"],
        "memory_race": race_["memory"],
    }


def by_family(records):
    """Return what the races of each family saved and cost, by data set."""
    sets = {}
    for record in records:
        job = record["job"]
        sets.setdefault(job["family"], {})[job["dataset"]] = measure(record)
    return {family: sets[family] for family in FAMILIES if family in sets}


def summarize_sets(sets):
    """Return means over the sets, and the largest regret."""
    rows = list(sets.values())
    means = {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}
    regrets = summarize(row["regret"] for row in rows)
    return means | {
        "low": regrets["low"],
        "high": regrets["high"],
        "worst": max(row["regret"] for row in rows),
    }


def meets_criterion(summary):
    """Return whether a race is worth being built into the search."""
    return (
        summary["clock"] >= LEAST_SAVED
        and summary["regret"] < MOST_MEAN_REGRET
        and summary["worst"] <= MOST_REGRET
    )


def make_parts(records):
    """Return the parts of the page."""
    families = by_family(records)
    n_same = sum(record["same_scores"] for record in records)
    n_equal = sum(r["race"]["winner"] == r["full"]["winner"] for r in records)
    parts = [
        Heading(1, TITLE),
        Paragraph(
            f"27 candidates, {N_ROWS} training rows, five folds, at most {N_STAGES} "
            "stages. Saved: time by the clock, time of the processor, and stages, in "
            "percent of the search. Regret: by how many percent the log loss of the "
            "winner is above that of the search's winner, in cross-validation and on "
            "the test rows. Memory: the peak above the start in MiB, of the search and "
            "of the race. Families whose names end with _threads have as many threads "
            "as the libraries choose, the others have one. Other programs were running."
        ),
        Paragraph(
            f"In {n_same} of {len(records)} races every stage had exactly the scores "
            f"that it had in the search; in {n_equal} the winner was the same."
        ),
        Heading(2, "Families"),
        _family_table(families),
        Bullets([_verdict(n, sets) for n, sets in families.items() if n in DECIDING]),
    ]
    for family, sets in families.items():
        parts += [Heading(2, family), _set_table(sets)]
    return parts


def _family_table(families):
    lines = []
    for family, sets in families.items():
        s = summarize_sets(sets)
        cells = [signed(s[name], 1) for name in ("clock", "cpu", "stages")]
        cells += [signed(s[name]) for name in ("regret_cv", "regret")]
        cells += [interval(s["low"], s["high"]), signed(s["worst"])]
        cells += [f"{s[name]:.0f}" for name in ("memory_search", "memory_race")]
        lines.append([family, str(len(sets)), *cells])
    header = ["family", "sets", "clock", "processor", "stages", "regret, folds"]
    header += ["regret, test", "95 %", "worst set", "memory, search", "race"]
    return Table(header, lines)


def _verdict(family, sets):
    is_met = meets_criterion(summarize_sets(sets))
    return (
        f"{family}: the criterion (at least {LEAST_SAVED} % of the time by the clock, "
        f"a mean regret below {MOST_MEAN_REGRET} %, no set above {MOST_REGRET:g} %) is "
        f"{'met' if is_met else 'not met'}."
    )


def _set_table(sets):
    lines = []
    for name, row in sets.items():
        cells = [signed(row[key], 1) for key in ("clock", "cpu", "stages")]
        cells += [signed(row["regret_cv"]), signed(row["regret"])]
        cells += [f"{row['error']:.2f}"]
        cells += [f"{row[key]:.0f}" for key in ("memory_search", "memory_race")]
        lines.append([name, *cells])
    header = ["set", "clock", "processor", "stages", "regret, folds", "regret, test"]
    return Table([*header, "standard error", "memory, search", "race"], lines)
