"""Speed and memory of PBS and PLL against scikit-learn's metrics.

All figures are ratios within this process on the same arrays, validation
included. Run with ``make benchmark`` or ``python benchmarks/bench_metrics.py``.
"""

import tracemalloc
from time import perf_counter

import numpy as np
from sklearn.metrics import brier_score_loss, log_loss

from sklearn_superior.metrics import penalized_brier_score_loss, penalized_log_loss

SHAPES = [
    (1_000, 10, np.float64),
    (100_000, 3, np.float64),
    (1_000_000, 10, np.float64),
    (1_000_000, 10, np.float32),
    (300_000, 100, np.float64),
]


def best_times(functions, *, seconds=2.0, least=5):
    """Shortest time of each function; they take turns, so that noise hits all."""
    best = [np.inf] * len(functions)
    stop, n_rounds = perf_counter() + seconds * len(functions), 0
    while n_rounds < least or perf_counter() < stop:
        for k, function in enumerate(functions):
            start = perf_counter()
            function()
            best[k] = min(best[k], perf_counter() - start)
        n_rounds += 1
    return best


def peak_memory(function):
    """Largest extra memory while `function` runs, in MiB."""
    tracemalloc.start()
    function()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20


def main():
    rng = np.random.default_rng(0)
    print("times faster than scikit-learn (higher is better); time over one bare pass")
    print("`y_proba.sum()` (lower is better); peak extra memory in MiB\n")
    print(
        f"{'rows':>9} {'classes':>7} {'dtype':>8} | {'PBS vs BS':>9} {'PLL vs LL':>9} |"
        f" {'PBS/pass':>8} {'PLL/pass':>8} | {'PBS':>5} {'PLL':>5} {'BS':>6} {'LL':>6}"
    )
    for n_samples, n_classes, dtype in SHAPES:
        y_proba = rng.dirichlet(np.ones(n_classes), n_samples).astype(dtype)
        y_true = rng.integers(0, n_classes, n_samples)
        metrics = [
            lambda q=y_proba, y=y_true, f=f: f(y, q)
            for f in (
                penalized_brier_score_loss,
                penalized_log_loss,
                brier_score_loss,
                log_loss,
            )
        ]
        pbs, pll, bs, ll, bare = best_times([*metrics, y_proba.sum])
        memory = [peak_memory(metric) for metric in metrics]
        print(
            f"{n_samples:9} {n_classes:7} {dtype.__name__:>8} |"
            f" {bs / pbs:8.1f}x {ll / pll:8.1f}x |"
            f" {pbs / bare:8.1f} {pll / bare:8.1f} |"
            f" {memory[0]:5.1f} {memory[1]:5.1f} {memory[2]:6.0f} {memory[3]:6.0f}"
        )


if __name__ == "__main__":
    main()
