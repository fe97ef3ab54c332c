"""Speed of HBlockSplit and sliding_windows against scikit-learn and NumPy.

All figures are ratios within this process on the same data. Run with ``make
benchmark`` or ``python benchmarks/bench_splitting.py``.
"""

from time import perf_counter

import numpy as np
from sklearn.model_selection import GroupKFold, KFold

from sklearn_superior.model_selection import HBlockSplit, sliding_windows

N_ROWS = 10_000_000
N_GROUPS = 10_000


def seconds_per_fold(cv, X, groups=None):
    start = perf_counter()
    n_folds = sum(1 for _ in cv.split(X, groups=groups))
    return (perf_counter() - start) / n_folds


def ratio(ours, theirs, *, rounds=4):
    """Ratio of the best times of two functions that take turns."""
    times = [(ours(), theirs()) for _ in range(rounds)]
    best_ours, best_theirs = np.min(times, axis=0)
    return best_ours / best_theirs


def timed(function):
    def run():
        start = perf_counter()
        function()
        return perf_counter() - start

    return run


def main():
    X = np.zeros((N_ROWS, 1), dtype=np.int8)
    print(
        f"{N_ROWS:,} rows, seconds per fold over scikit-learn's (goal: at most 1.5)\n"
    )
    plain = ratio(
        lambda: seconds_per_fold(HBlockSplit(10), X),
        lambda: seconds_per_fold(KFold(10), X),
    )
    print(f"  one series, gap=0         vs KFold       {plain:5.2f}")
    gapped = ratio(
        lambda: seconds_per_fold(HBlockSplit(10, gap=3), X),
        lambda: seconds_per_fold(KFold(10), X),
    )
    print(f"  one series, gap=3         vs KFold       {gapped:5.2f}")

    adjacent = np.repeat(np.arange(N_GROUPS), N_ROWS // N_GROUPS)
    shuffled = np.random.default_rng(0).permutation(adjacent)
    for name, groups in {"adjacent": adjacent, "interleaved": shuffled}.items():
        for gap in (0, 3):
            grouped = ratio(
                lambda gap=gap, g=groups: seconds_per_fold(
                    HBlockSplit(10, gap=gap), X, g
                ),
                lambda g=groups: seconds_per_fold(GroupKFold(10), X, g),
                rounds=2,
            )
            what = f"{N_GROUPS:,} groups, {name}, gap={gap}"
            print(f"  {what:<36} vs GroupKFold  {grouped:5.2f}")

    signal = np.random.default_rng(0).normal(size=(1_000_000, 6))
    print(
        "\nsliding_windows on 1,000,000 x 6 over one copy of its result (at most 2)\n"
    )
    series = np.repeat(np.arange(100), 10_000)
    for groups in (None, series):
        for length in (20, 100, 400):
            result = sliding_windows(signal, length=length, groups=groups).X
            factor = ratio(
                timed(
                    lambda n=length, g=groups: sliding_windows(
                        signal, length=n, groups=g
                    )
                ),
                timed(result.copy),
            )
            n_series = 1 if groups is None else 100
            print(f"  length {length:3}, {n_series:3} series  {factor:5.2f}")


if __name__ == "__main__":
    main()
