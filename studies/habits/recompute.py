"""Recompute the five results from the files of the records.

This uses neither the package nor `analysis`. It was written independently of them, so
that a mistake in either shows. Run it as::

    python studies/habits/recompute.py PLAN FOLDER
"""

import gzip
import json
import sys
import tomllib
from pathlib import Path

import numpy as np
from scipy.stats import t as student

PAIRS = {
    "H1": ("stopping", "stopping_habit"),
    "H2": ("search", "search_habit"),
    "H3": ("search", "search_habit"),
    "H4": ("search", "stopping"),
}


def number(x):
    """Return a number; NaN for what is missing."""
    return np.nan if x is None else float(x)


def choice_of(r, penalty):
    """Return macro F1 on test data of the stage with the least (penalized) log loss."""
    v = {k: np.array(x, dtype=float) for k, x in r["validation"].items()}
    tested = [np.array(x, dtype=float) for x in r["test"].values()]
    loss = v["log_loss"] + penalty * v["errors"] / r["n_rows"]["validation"]
    loss[np.isnan([*v.values(), *tested]).any(axis=0)] = np.inf
    k = int(np.argmin(loss))
    return r["test"]["f1_macro"][k] if np.isfinite(loss[k]) else np.nan


def of_model(records, name):
    """Return the value of a data set and a model, from the records of its folds."""
    records = [
        r for r in records if r and not r.get("problem") and r["n_test_classes"] > 1
    ]
    if name == "H5":
        f1 = [
            100 * (choice_of(r, np.log(r["n_classes"])) - choice_of(r, 0.0))
            for r in records
        ]
        return np.nanmean(f1) if f1 and not np.isnan(f1).all() else np.nan
    key = "f1_macro" if name == "H3" else "log_loss"
    both = [
        [number(r["ways"].get(w, {}).get(key)) for w in PAIRS[name]] for r in records
    ]
    both = np.array(both, dtype=float).reshape(-1, 2)
    rows = np.array([r["n_rows"]["test"] for r in records], dtype=float)
    good = ~np.isnan(both).any(axis=1)
    if not good.any():
        return np.nan
    if name == "H3":
        return 100 * (both[good, 0] - both[good, 1]).mean()
    sums = rows[good] @ np.maximum(both[good], 1e-6)
    return 100 * np.log(sums[0] / sums[1])


def flip(d):
    """Share of all settings of signs with a sum as high as that of d, in integers."""
    whole = np.rint(d / max(np.abs(d).max(), 1e-300) * 2**44).astype(np.int64)
    halves = []
    for part in (whole[::2], whole[1::2]):
        sums = np.zeros(1, dtype=np.int64)
        for x in part:
            sums = np.add.outer([x, -x], sums).ravel()
        halves.append(np.sort(sums))
    wanted = whole.sum() - 2**12 - halves[0]  # less than rounding can amount to
    reached = len(halves[1]) - np.searchsorted(halves[1], wanted, side="left")
    return int(reached.sum()) / 2.0 ** len(d)


def list_jobs(plan):
    """Return what is planned: sets of (data set, fold, model)."""
    jobs = set()
    for t in plan["trainings"]:
        for s in t.get("sets", plan["data"][t["data"]]["sets"]):
            for f in range(t["rounds"] * t["folds"]):
                jobs |= {(s, f, m) for m in t["estimators"]}
    return jobs


def recompute(plan, records):
    """Return (n, mean, low, high, p, adjusted p) of each hypothesis: name -> tuple."""
    kinds = {name: k for k, own in plan["data"].items() for name in own["sets"]}
    jobs = list_jobs(plan)
    places = [
        (r["job"]["dataset"], r["job"]["fold"], r["job"]["estimator"]) for r in records
    ]
    got = dict(zip(places, records, strict=True))
    tested = {s for s in kinds if kinds[s] != "timed"} - set(plan["seen"])
    last = max(f for _, f, _ in jobs)
    lacking = {
        f: {s for s, g, m in jobs - got.keys() if g == f} & tested
        for f in range(last + 1)
    }
    rounds = [f for f in lacking if not lacking[f]] or [0]
    results = {}
    for name in ("H1", "H2", "H3", "H4", "H5"):
        units = {}
        for s in sorted(tested - lacking[rounds[0]]):
            if name == "H5" and kinds[s] != "signals":
                continue
            if name == "H4" and s not in plan["large"]:
                continue
            models = sorted({m for of, _, m in jobs if of == s})
            values = [
                of_model([got.get((s, f, m)) for f in rounds], name) for m in models
            ]
            if np.isnan(values).all():
                continue
            family = next((tuple(f) for f in plan["families"] if s in f), (s,))
            units.setdefault(family, []).append(np.nanmean(values))
        d = np.array([np.mean(v) for v in units.values()])
        if name == "H3":
            p = flip(d + plan["margin"])
        else:
            p = flip(d if name == "H5" else -d)
        half = student.ppf(0.975, len(d) - 1) * d.std(ddof=1) / len(d) ** 0.5
        results[name] = [len(d), d.mean(), d.mean() - half, d.mean() + half, p]
    largest = 0.0
    for rank, name in enumerate(sorted(results, key=lambda h: results[h][4])):
        largest = max(largest, min(1.0, (5 - rank) * results[name][4]))
        results[name].append(largest)
    return results


if __name__ == "__main__":
    lines = (
        line
        for path in sorted(Path(sys.argv[2]).glob("*.jsonl.gz"))
        for line in gzip.open(path)
    )
    for name, numbers in recompute(
        tomllib.loads(Path(sys.argv[1]).read_text()),
        [json.loads(line) for line in lines],
    ).items():
        print(
            "{}: n {}, {:+.4f} ({:+.4f} to {:+.4f}), p {:.3g}, adjusted {:.3g}".format(
                name, *numbers
            )
        )
