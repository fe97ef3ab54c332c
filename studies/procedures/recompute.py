"""Recompute the five results from the files of the records.

This uses neither the package nor `analysis`. It was written independently of them, so
that a mistake in either shows. Run it as::

    python studies/procedures/recompute.py PLAN FOLDER
"""

import gzip
import json
import sys
import tomllib
from pathlib import Path

import numpy as np
from scipy.stats import t as student


def pick(r, rule):
    """Return F1 on test data of the stage that a rule likes best."""
    v = {k: np.array(x, dtype=float) for k, x in r["validation"].items()}
    tested = [np.array(x, dtype=float) for x in r["test"].values()]
    c, wrong = r["n_classes"], v["errors"] / r["n_rows"]["validation"]
    loss = {
        "LL": v["log_loss"],
        "BS": v["brier"],
        "PBS": v["brier"] + wrong * (1 - 1 / c),
        "refined PLL": v["refined_log_loss"] + wrong * np.log(c),
    }[rule].copy()
    loss[np.isnan([*v.values(), *tested]).any(axis=0)] = np.inf
    k = int(np.argmin(loss))
    return r["test"]["f1_macro"][k] if np.isfinite(loss[k]) else np.nan


def measure(r, name):
    """Return what a hypothesis is about, in one training."""
    if r is None or r.get("problem"):
        return np.nan
    if name in ("H1", "H4"):
        return 100 * (pick(r, "refined PLL") - pick(r, "LL"))
    if name == "H2":
        return 100 * (pick(r, "PBS") - pick(r, "BS"))
    above, below = {"H3": ("default", "former"), "H5": ("all", "default")}[name]
    losses = np.array([r["ways"][w]["log_loss"] for w in (above, below)], dtype=float)
    return 100 * np.subtract(*np.log(np.maximum(losses, 1e-6)))


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


def recompute(plan, records):
    """Return (n, mean, low, high, p, adjusted p) of each hypothesis: name -> tuple."""
    kinds = {name: k for k, own in plan["data"].items() for name in own["sets"]}
    jobs = set()  # of the plan: data set, fold, model
    for t in plan["trainings"]:
        for s in plan["data"][t["data"]]["sets"]:
            for f in range(t["rounds"] * t["folds"]):
                jobs |= {(s, f, m) for m in t["estimators"]}
    places = [
        (r["job"]["dataset"], r["job"]["fold"], r["job"]["estimator"]) for r in records
    ]
    got = dict(zip(places, records, strict=True))
    lacking = {f: {s for s, g, m in jobs - got.keys() if g == f} for _, f, _ in jobs}
    everywhere = ["tables", "binary", "signals"]
    tested = {s for s in kinds if kinds[s] in everywhere} - set(plan["seen"])
    rounds = [f for f in sorted(lacking) if not lacking[f] & tested] or [0]
    where = {"H1": ["signals"], "H2": ["signals"], "H4": ["tables"]}
    results = {}
    for name in ("H1", "H2", "H3", "H4", "H5"):
        units = {}
        for s in sorted(tested - lacking[rounds[0]]):
            if kinds[s] in where.get(name, everywhere):
                models = {m for of, _, m in jobs if of == s}
                table = [
                    [measure(got.get((s, f, m)), name) for f in rounds] for m in models
                ]
                family = next((tuple(f) for f in plan["families"] if s in f), (s,))
                of_models = [
                    np.nanmean(row) for row in table if not np.isnan(row).all()
                ]
                units.setdefault(family, []).append(np.mean(of_models))
        d = np.array([np.mean(v) for v in units.values()])
        m = plan["margin"]
        p = (
            max(flip(d + m), flip(m - d))
            if name == "H4"
            else flip(d if name < "H3" else -d)
        )
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
