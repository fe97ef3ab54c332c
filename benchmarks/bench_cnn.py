"""Seconds per epoch of CNNClassifier, as a ratio to a bare torch loop and to skorch.

The bare loop is what one writes by hand: the same network and data, torch's NAdam and
dropout, tensors in memory, no validation. skorch trains the same network. All run in
one process, in turns, and the median of the epochs counts.
"""

from time import perf_counter

import numpy as np
import torch
from sklearn_superior.neural_network._cnn_module import make_cnn
from skorch import NeuralNetClassifier
from skorch.callbacks import EpochTimer

from sklearn_superior.early_stopping._training import StageScorer
from sklearn_superior.metrics import get_scorer
from sklearn_superior.neural_network import CNNClassifier

SHAPE = {"channels": (64, 32, 16), "kernel_size": 3, "hidden": 1024, "dropout": 0.2}
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


def bare_loop(X, y, batch_size):
    X, y = torch.from_numpy(X), torch.from_numpy(y)
    module = make_cnn(N_CHANNELS, LENGTH, N_CLASSES, **SHAPE)
    optimizer = torch.optim.NAdam(module.parameters(), lr=1e-3)
    times = []
    for _ in range(N_EPOCHS):
        start = perf_counter()
        for rows in torch.randperm(len(X)).split(batch_size):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(module(X[rows]), y[rows])
            loss.backward()
            optimizer.step()
        times.append(perf_counter() - start)
    return times


def skorch_loop(X, y, batch_size):
    net = NeuralNetClassifier(
        make_cnn(N_CHANNELS, LENGTH, N_CLASSES, **SHAPE),
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


def our_loop(X, y, batch_size, n_jobs):
    model = CNNClassifier(
        max_iter=N_EPOCHS, batch_size=batch_size, early_stopping=False, n_jobs=n_jobs
    )
    return model.fit(X, y).history_["time"]


def scoring_cost(X, y, X_val, y_val):
    model = CNNClassifier(max_iter=2, early_stopping=False).fit(X, y)
    y_proba = model.predict_proba(X_val)
    scores = [
        StageScorer(get_scorer(name), model.classes_, X_val, y_val) for name in SCORERS
    ]
    times = []
    for _ in range(20):
        start = perf_counter()
        for score in scores:
            score(y_proba)
        times.append(perf_counter() - start)
    return np.median(times) / np.median(model.history_["time"])


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
    share = scoring_cost(X, y, X_val, y_val)
    print(f"five scores on {N_VAL} windows: {100 * share:.1f} % of an epoch")


if __name__ == "__main__":
    main()
