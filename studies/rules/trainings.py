"""The trainings of the comparison of rules: data, models, records.

A record keeps, for each stage and part, what every rule can be computed from: the log
loss, the Brier score, the number of errors, macro F1, and both losses after
recalibration by the temperature that is best on the validation part. The committed
records were made with version 0.1.0, whose temperatures could be below 1.
"""

import warnings
import zlib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from sklearn_superior.model_selection import compare_stopping_rules
from sklearn_superior.neural_network import CNNClassifier
from studies._scores import paper_penalty, shorten_all
from studies._tables import TABLES, load_table
from studies.paper.protocol import (
    ChannelImputer,
    describe_training,
    flatten,
    load_windows,
    make_booster,
)

FIELDS = ("job", "seed", "n_rows", "n_classes", "validation", "test", "temperature")
NAMES = {
    "cnn": "convolutional network",
    "cnn_relu": "network of the notebook",
    "mlp": "multilayer perceptron",
    "sgd": "logistic regression by SGD",
    "hgb": "HistGradientBoosting",
    "xgboost": "XGBoost",
}
_VALIDATION_FRACTION = 0.2
_N_FOLDS = 5  # of a table


@dataclass
class Task:
    """A data set, and the rows of each part in each fold."""

    X: np.ndarray
    y: np.ndarray
    folds: list


@lru_cache(maxsize=4)
def load(plan, name, data_home=None):
    """Read a data set, cut it to the size of the plan and split it."""
    if name in TABLES:
        X, y = load_table(name, data_home)
        return Task(X, y, list(_split_table(y)))
    signals = plan["data"]["signals"]
    windows = load_windows(name, data_home)
    X = average_down(windows.X, signals["most_points"])
    rng = np.random.RandomState(zlib.crc32(name.encode()) % 2**31)
    folds = [
        tuple(_thin_out(rows, signals["most_rows"], rng) for rows in parts)
        for parts in windows.folds
    ]
    return Task(X.astype(np.float32), windows.y, folds)


def _split_table(y):
    rows = np.arange(len(y))
    for seed in range(2):
        cv = StratifiedKFold(_N_FOLDS, shuffle=True, random_state=seed)
        for train, test in cv.split(rows, y):
            fit, val = train_test_split(
                train,
                test_size=_VALIDATION_FRACTION,
                stratify=y[train],
                random_state=seed,
            )
            yield fit, val, test


def average_down(X, most_points):
    """Average neighbouring points of windows, until there are few enough of them.

    Examples
    --------
    >>> average_down(np.array([[[1.0, 3.0, 5.0, 7.0]]]), 2)
    array([[[2., 6.]]])
    """
    length = X.shape[2]
    factor = next(k for k in range(1, length + 1) if length / k <= most_points)
    while length % factor:
        factor += 1
    grouped = X.reshape(*X.shape[:2], length // factor, factor)
    with warnings.catch_warnings():  # of means of nothing but missing values
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.nanmean(grouped, axis=3)


def _thin_out(rows, n_most, rng):
    return np.sort(rng.permutation(rows)[:n_most])


def make_estimator(job, device="auto"):
    """Return the estimator of a job."""
    head = [] if job.dataset in TABLES else [ChannelImputer()]
    if job.estimator in ("cnn", "cnn_relu"):
        module = make_notebook_network if job.estimator == "cnn_relu" else None
        options = {"loss": job.loss, "max_iter": job.max_iter, "module": module}
        return make_pipeline(*head, CNNClassifier(**options, device=device))
    if head:
        head.append(FunctionTransformer(flatten))
    if job.estimator in ("hgb", "xgboost"):
        model = make_booster(job)
    else:
        head += [SimpleImputer(), StandardScaler()]
        if job.estimator == "mlp":
            model = MLPClassifier(batch_size=32, max_iter=job.max_iter)
        else:
            model = SGDClassifier(loss="log_loss", max_iter=job.max_iter)
    return make_pipeline(*head, model)


def make_notebook_network(n_channels, length, n_classes):
    """Build the network of the authors' notebook.

    Its second and third convolution have a ReLU before the batch normalisation, which
    `CNNClassifier` has not.
    """
    from torch import nn

    def normalised(width, n_filters):
        convolution = nn.Conv1d(width, n_filters, 3, padding="same")
        norm = nn.BatchNorm1d(n_filters)
        return [convolution, nn.ReLU(), norm, nn.LeakyReLU(0.2), nn.Dropout(0.2)]

    return nn.Sequential(
        nn.Conv1d(n_channels, 64, 3, padding="same"),
        nn.ReLU(),
        nn.Dropout(0.2),
        *normalised(64, 32),
        *normalised(32, 16),
        nn.Flatten(),
        nn.Linear(16 * length, 1024),
        nn.LeakyReLU(0.2),
        nn.Dropout(0.2),
        nn.Linear(1024, n_classes),
    )


def train(plan, job, data_home=None, device="auto"):
    """Run a job; return its record, ready for JSON."""
    task = load(plan, job.dataset, data_home)
    with warnings.catch_warnings():  # of networks that have not converged, and of
        warnings.simplefilter("ignore")  # classes without a sample in a small part
        comparison = compare_stopping_rules(
            make_estimator(job, device),
            task.X,
            task.y,
            cv=[task.folds[job.fold]],
            rules=["log_loss", "brier", "penalized_brier"],
            scoring=["f1_macro", "calibrated_log_loss", "calibrated_brier"],
            n_iter_no_change=10,
            random_state=job.seed,
        )
    (trajectory,) = comparison.trajectories
    n_classes, n_rows = trajectory.n_classes, trajectory.n_rows
    return describe_training(job, trajectory) | {
        "n_classes": n_classes,
        "validation": _compact(trajectory.validation, n_classes, n_rows["validation"]),
        "test": _compact(trajectory.test, n_classes, n_rows["test"]),
        "temperature": shorten_all(trajectory.temperature),
    }


def _compact(scores, n_classes, n_rows):
    """Turn scores into losses, few and short."""
    penalty = paper_penalty("brier", n_classes)
    errors = (scores["brier"] - scores["penalized_brier"]) / penalty * n_rows
    return {
        "log_loss": shorten_all(-scores["log_loss"]),
        "brier": shorten_all(-scores["brier"]),
        "errors": [None if np.isnan(e) else round(float(e)) for e in errors],
        "f1_macro": shorten_all(scores["target"]),
        "calibrated_log_loss": shorten_all(-scores["calibrated_log_loss"]),
        "calibrated_brier": shorten_all(-scores["calibrated_brier"]),
    }
