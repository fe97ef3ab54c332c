"""Memory, traffic and time of the loss on Dask blocks while the rows grow.

The blocks are made by the workers when they are needed, so that there may be more of
them than memory has room for. Time is a ratio to that of a bare sum of the same
blocks. Run with ``make benchmark`` or ``python benchmarks/bench_dask.py``.
"""

import resource
from time import perf_counter

import dask.array as da
import numpy as np
import psutil
from distributed import Client, LocalCluster

from sklearn_superior.integrations.dask import penalized_brier_score_loss

N_CLASSES = 10
BLOCK = 250_000
ROWS = (1_000_000, 10_000_000, 100_000_000)


def make_block(block_id=None):
    """Make a column of labels, then the probabilities."""
    rng = np.random.default_rng(block_id[0])
    block = rng.random((BLOCK, N_CLASSES + 1))
    block[:, 0] = rng.integers(N_CLASSES, size=BLOCK)
    block[:, 1:] /= block[:, 1:].sum(axis=1, keepdims=True)
    return block


def make_data(n_rows):
    chunks = ((BLOCK,) * (n_rows // BLOCK), (N_CLASSES + 1,))
    source = da.map_blocks(make_block, chunks=chunks, meta=np.empty((0, 0)))
    return source[:, 0].astype(np.int64), source[:, 1:]


def peak_memory():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def traffic():
    """Return the bytes sent through the loopback device, messages included."""
    return psutil.net_io_counters(pernic=True)["lo"].bytes_sent


def cost(lazy):
    """Return the seconds and bytes of a computation."""
    before, start = traffic(), perf_counter()
    lazy.compute()
    return perf_counter() - start, traffic() - before


def measure(n_rows, labels, *, rounds=2):
    """Peak memory of a worker over that of an idle one, traffic, and time."""
    y_true, y_proba = make_data(n_rows)
    loss = penalized_brier_score_loss(y_true, y_proba, labels=labels)
    bare = y_proba.sum() + y_true.sum()
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as pool,
        Client(pool) as client,
    ):
        first = penalized_brier_score_loss(y_true[:1], y_proba[:1], labels=range(10))
        first.compute()  # what is imported is there now
        idle = max(client.run(lambda: psutil.Process().memory_info().rss).values())
        ours = [cost(loss)]
        peak = max(client.run(peak_memory).values()) - idle / 2**20
        theirs = [cost(bare)]
        for _ in range(rounds - 1):
            ours.append(cost(loss))
            theirs.append(cost(bare))
    time, moved = np.min(ours, axis=0)
    bare_time, bare_moved = np.min(theirs, axis=0)
    per_block = 1 / 1024 / (n_rows // BLOCK)
    return peak, moved * per_block, bare_moved * per_block, time / bare_time


def main():
    print(f"{N_CLASSES} classes, blocks of {BLOCK:,} rows, two worker processes\n")
    print("                      data,         |  peak,     KiB a block     time")
    print("       rows  blocks     GiB  labels  |    MiB     loss     sum    over")
    print("                                     |                         the sum")
    for n_rows in ROWS:
        for name, labels in {"given": range(N_CLASSES), "found": None}.items():
            peak, moved, bare_moved, ratio = measure(n_rows, labels)
            size = n_rows * (N_CLASSES + 1) * 8 / 2**30
            print(
                f"{n_rows:11,} {n_rows // BLOCK:7}  {size:7.2f}  {name:6} | "
                f"{peak:6.0f} {moved:10.1f} {bare_moved:7.1f} {ratio:7.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
