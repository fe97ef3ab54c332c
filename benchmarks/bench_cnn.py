"""Seconds per epoch of CNNClassifier, as a ratio to a bare torch loop and to skorch.

The bare loop is what one writes by hand: the same network and data, torch's NAdam and
dropout, tensors in memory, no validation. skorch trains the same network. All run in
one process, in turns, and the median of the epochs counts. The options of the network
are compared with a bare loop that has them, too.

Memory is the peak of a process that trains, less that of one that only has the data.

A search in five folds is compared with five fits, one after the other, each validated
on the test rows of its fold; seconds of the clock, the best of three.
"""

import re
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import StratifiedKFold
from skorch import NeuralNetClassifier
from skorch.callbacks import EpochTimer
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from sklearn_superior.metrics import get_scorer
from sklearn_superior.model_selection import StagedSearchCV
from sklearn_superior.neural_network import CNNClassifier

SCORERS = (
    "neg_penalized_brier_score",
    "neg_penalized_log_loss",
    "neg_brier_score",
    "neg_log_loss",
    "f1_macro",
)
N_TRAIN, N_VAL, N_CHANNELS, LENGTH, N_CLASSES = 1600, 400, 3, 96, 10
N_EPOCHS = 4


def make_data():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(N_TRAIN + N_VAL, N_CHANNELS, LENGTH)).astype(np.float32)
    y = np.arange(N_TRAIN + N_VAL) % N_CLASSES
    return X[:N_TRAIN], y[:N_TRAIN], X[N_TRAIN:], y[N_TRAIN:]


def make_network(n_channels, length, n_classes):
    """Build the default network of CNNClassifier, as one would by hand."""
    return nn.Sequential(
        nn.Conv1d(n_channels, 64, 3, padding="same"),
        nn.ReLU(),
        nn.Dropout(0.2),
        nn.Conv1d(64, 32, 3, padding="same"),
        nn.BatchNorm1d(32),
        nn.LeakyReLU(0.2),
        nn.Dropout(0.2),
        nn.Conv1d(32, 16, 3, padding="same"),
        nn.BatchNorm1d(16),
        nn.LeakyReLU(0.2),
        nn.Dropout(0.2),
        nn.Flatten(),
        nn.Linear(16 * length, 1024),
        nn.LeakyReLU(0.2),
        nn.Dropout(0.2),
        nn.Linear(1024, n_classes),
    )


def make_residual(X, y):
    """Build the residual network of CNNClassifier."""
    model = CNNClassifier(module="residual", max_iter=1, early_stopping=False)
    return model.fit(X[:100], y[:100]).module_


def bare_loop(X, y, batch_size, module="paper", ema=None):
    if module == "paper":
        module = make_network(N_CHANNELS, LENGTH, N_CLASSES)
    else:
        module = make_residual(X, y)
    module.train()
    X, y = torch.from_numpy(X), torch.from_numpy(y)
    optimizer = torch.optim.NAdam(module.parameters(), lr=1e-3)
    if ema is not None:
        average = AveragedModel(
            module, multi_avg_fn=get_ema_multi_avg_fn(ema), use_buffers=True
        )
    times = []
    for _ in range(N_EPOCHS):
        start = perf_counter()
        for rows in torch.randperm(len(X)).split(batch_size):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(module(X[rows]), y[rows])
            loss.backward()
            optimizer.step()
            if ema is not None:
                average.update_parameters(module)
        times.append(perf_counter() - start)
    return times


def skorch_loop(X, y, batch_size):
    net = NeuralNetClassifier(
        make_network(N_CHANNELS, LENGTH, N_CLASSES),
        criterion=torch.nn.CrossEntropyLoss,
        optimizer=torch.optim.NAdam,
        lr=1e-3,
        batch_size=batch_size,
        max_epochs=N_EPOCHS,
        train_split=None,
        callbacks=[("timer", EpochTimer())],
        verbose=0,
    )
    net.fit(X, y)
    return net.history[:, "dur"]


def our_loop(X, y, batch_size, n_jobs=None, **options):
    model = CNNClassifier(
        max_iter=N_EPOCHS,
        batch_size=batch_size,
        early_stopping=False,
        n_jobs=n_jobs,
        **options,
    )
    return model.fit(X, y).history_["time"]


class Forecaster(ClassifierMixin, BaseEstimator):
    """A fitted classifier that always returns the same probabilities."""

    def __init__(self, y_proba):
        self.y_proba = y_proba
        self.classes_ = np.arange(y_proba.shape[1])

    def predict_proba(self, X):
        """Return the probabilities."""
        return self.y_proba

    def predict(self, X):
        """Return the most probable classes."""
        return self.y_proba.argmax(axis=1)


def peak_of_this_process(loop, options):
    global N_EPOCHS
    N_EPOCHS = 1
    torch.set_num_threads(1)
    X, y, *_ = make_data()
    X, y = np.tile(X, (20, 1, 1)), np.tile(y, 20)
    if loop is not None:
        loop(X, y, 32, **options)
    # Not `ru_maxrss`, which a new process has from the one that started it.
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1])


def peak_memory(loop, **options):
    """Return the peak of the memory that a loop needs in a process of its own."""
    peaks = []
    for own in (None, loop):
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            peaks.append(pool.submit(peak_of_this_process, own, options).result())
    return peaks[1] - peaks[0]


def scoring_cost(X, y, X_val, y_val):
    model = CNNClassifier(max_iter=2, early_stopping=False).fit(X, y)
    forecaster = Forecaster(model.predict_proba(X_val))
    scorers = [get_scorer(name) for name in SCORERS]
    times = []
    for _ in range(20):
        start = perf_counter()
        for scorer in scorers:
            scorer(forecaster, X_val, y_val)
        times.append(perf_counter() - start)
    return np.median(times) / np.median(model.history_["time"])


def seconds_of_folds(n_rows=3000, n_epochs=5):
    """Return the best times of five fits and of a search in five folds."""
    rng = np.random.RandomState(0)
    X = rng.normal(size=(n_rows, N_CHANNELS, 32)).astype(np.float32)
    y = np.arange(n_rows) % N_CLASSES
    folds = list(StratifiedKFold(5).split(X[:, 0], y))
    common = {"scoring": "neg_log_loss", "n_iter_no_change": n_epochs + 1}
    common["calibration"] = None
    model = CNNClassifier(
        channels=(16, 16), hidden=64, max_iter=n_epochs, random_state=0, **common
    )
    search = StagedSearchCV(model, cv=folds, refit=False, **common)

    def five_fits():
        for train, test in folds:
            clone(model).fit(X[train], y[train], X_val=X[test], y_val=y[test])

    times = np.empty((3, 2))
    for row in times:
        for k, function in enumerate((five_fits, lambda: search.fit(X, y))):
            start = perf_counter()
            function()
            row[k] = perf_counter() - start
    return times.min(axis=0)


def main():
    X, y, X_val, y_val = make_data()
    n_threads = torch.get_num_threads()
    print(f"{N_TRAIN} windows of {N_CHANNELS} x {LENGTH}, {n_threads} threads at most")
    for batch_size in (32, 128):
        for threads, n_jobs in ((1, None), (n_threads, -1)):
            torch.set_num_threads(threads)
            times = {"bare": [], "skorch": [], "ours": []}
            for _ in range(3):
                times["bare"] += bare_loop(X, y, batch_size)
                times["skorch"] += list(skorch_loop(X, y, batch_size))
                times["ours"] += list(our_loop(X, y, batch_size, n_jobs))
            median = {name: np.median(values) for name, values in times.items()}
            torch.set_num_threads(n_threads)
            print(
                f"batches of {batch_size:3}, {threads} thread(s): "
                f"{median['ours'] / median['bare']:.2f} of the bare loop, "
                f"{median['ours'] / median['skorch']:.2f} of skorch"
            )
    torch.set_num_threads(1)
    for options in ({"ema": 0.9}, {"module": "residual"}):
        times = np.array(
            [
                [np.median(loop(X, y, 32, **options)) for loop in (our_loop, bare_loop)]
                + [np.median(our_loop(X, y, 32))]
                for _ in range(3)
            ]
        ).min(axis=0)
        print(
            f"{options}: {times[0] / times[1]:.2f} of the bare loop with it, "
            f"{times[0] / times[2]:.2f} of our epoch without it"
        )
    torch.set_num_threads(n_threads)
    peaks = [
        peak_memory(loop, **options)
        for loop, options in (
            (skorch_loop, {}),
            (our_loop, {}),
            (our_loop, {"ema": 0.9}),
        )
    ]
    print(
        f"peak of memory: {peaks[1] / peaks[0]:.2f} of skorch, "
        f"with ema {peaks[2] / peaks[0]:.2f}"
    )
    share = scoring_cost(X, y, X_val, y_val)
    print(f"five scores on {N_VAL} windows: {100 * share:.1f} % of an epoch")
    fits, search = seconds_of_folds()
    print(
        f"StagedSearchCV in five folds {search:.2f} s, five fits {fits:.2f} s: "
        f"{search / fits:.2f} (goal: at most 1.1)"
    )


if __name__ == "__main__":
    main()
