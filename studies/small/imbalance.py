"""What weights of classes buy, on made data with two rare classes.

Three classes, with about 95, 4 and 1 % of the rows. A search of one setting, with four
folds, trains on 6,000 rows and is judged on 20,000 others. Prints means over the seeds.

Run: ``OMP_NUM_THREADS=1 python -m studies.small.imbalance``, one to two minutes.
"""

import argparse

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import balanced_accuracy_score, f1_score, log_loss, recall_score
from sklearn.utils.class_weight import compute_sample_weight

from sklearn_superior.metrics import get_scorer
from sklearn_superior.model_selection import StagedSearchCV
from studies._scores import ANY_TEMPERATURE

N_TRAIN = 6000
RULE = "neg_refined_penalized_log_loss"
REFINED = get_scorer(RULE, class_weight="balanced", **ANY_TEMPERATURE)
PLAIN = get_scorer("neg_penalized_log_loss", class_weight="balanced")
UNWEIGHTED = {"scoring": get_scorer(RULE, **ANY_TEMPERATURE)}
# Class weights of the booster, options of the search, and whether `fit` is given
# sample weights that balance the classes.
WAYS = {
    "no weights": (None, UNWEIGHTED, False),
    "weights of rows": (None, UNWEIGHTED, True),
    "class_weight, weighted PLL": ("balanced", {"scoring": PLAIN}, False),
    "class_weight, weighted refined PLL": (
        "balanced",
        {"scoring": REFINED, "calibration": None},
        False,
    ),
    "the same, with its temperature": ("balanced", {"scoring": REFINED}, False),
    "class_weight, refined PLL without weights": ("balanced", UNWEIGHTED, False),
}
COLUMNS = (
    "balanced log loss",
    "log loss",
    "balanced accuracy",
    "recall of the rarest",
    "macro F1",
    "stages",
)


def fit(X, y, class_weight, options, weigh_rows):
    """Return the fitted search."""
    booster = HistGradientBoostingClassifier(
        max_iter=150, max_leaf_nodes=7, class_weight=class_weight, random_state=0
    )
    weights = compute_sample_weight("balanced", y) if weigh_rows else None
    search = StagedSearchCV(booster, cv=4, refit="all", n_iter_no_change=20, **options)
    return search.fit(X, y, sample_weight=weights)


def judge(search, X, y):
    """Return the values of `COLUMNS`."""
    y_proba = search.predict_proba(X)
    y_pred = search.classes_[y_proba.argmax(axis=1)]
    return (
        log_loss(y, y_proba, sample_weight=compute_sample_weight("balanced", y)),
        log_loss(y, y_proba),
        balanced_accuracy_score(y, y_pred),
        recall_score(y, y_pred, average=None)[-1],
        f1_score(y, y_pred, average="macro"),
        search.best_iteration_ + 1,
    )


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=range(2, 8))
    found = {way: [] for way in WAYS}
    for seed in parser.parse_args().seeds:
        X, y = make_classification(
            N_TRAIN + 20_000,
            n_features=15,
            n_informative=6,
            n_classes=3,
            weights=[0.95, 0.04],
            random_state=seed,
        )
        for way, settings in WAYS.items():
            search = fit(X[:N_TRAIN], y[:N_TRAIN], *settings)
            found[way].append(judge(search, X[N_TRAIN:], y[N_TRAIN:]))
    print(" | ".join(("", *COLUMNS)))
    for way, values in found.items():
        print(" | ".join((way, *(f"{mean:.3f}" for mean in np.mean(values, axis=0)))))


if __name__ == "__main__":
    main()
