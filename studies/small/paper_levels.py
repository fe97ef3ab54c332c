"""Why are the paper's F1 higher than ours? What its code does, switched on.

The authors' notebook trains one network on from fold to fold, so that it has seen the
test blocks of a fold in another one. Here a network of this package does the same, and
is compared with a new one for each fold: F1 on the test part after the last epoch.

    python -m studies.small.paper_levels --data-home FOLDER ble_rssi
"""

import argparse
from pathlib import Path

import numpy as np
from sklearn.metrics import f1_score

from sklearn_superior.neural_network import CNNClassifier
from studies.paper.protocol import ChannelImputer
from studies.rules import load


def f1_of_folds(task, *, carry_on, max_iter, n_folds):
    """Return F1 on the test part of each fold."""
    network = CNNClassifier(
        max_iter=max_iter, early_stopping=False, warm_start=carry_on, random_state=0
    )
    scores = []
    for train, _, test in task.folds[:n_folds]:
        imputer = ChannelImputer().fit(task.X[train])
        network.fit(imputer.transform(task.X[train]), task.y[train])
        y_pred = network.predict(imputer.transform(task.X[test]))
        scores.append(f1_score(task.y[test], y_pred, average="macro"))
    return np.array(scores)


def main():
    """Compare both ways on the data sets that are named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", nargs="+")
    parser.add_argument("--data-home", type=Path)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--folds", type=int, default=6)
    options = parser.parse_args()
    for name in options.datasets:
        task = load(name, options.data_home)
        new, carried = (
            100
            * f1_of_folds(
                task, carry_on=carry_on, max_iter=options.epochs, n_folds=options.folds
            )
            for carry_on in (False, True)
        )
        print(
            f"{name}: new {new.mean():.1f}, carried on {carried.mean():.1f}; last fold "
            f"{new[-1]:.1f}, {carried[-1]:.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
