"""What pruning saves: sixty settings by GridSearchCV and by Optuna, with and without.

All procedures see the same random settings of LightGBM, the same five folds and the
same budget of trees. A third of the rows is for testing. Seconds are those of the
processor, with one thread. "Folds" is the log loss of the chosen setting averaged over
the folds, refined but for GridSearchCV; "test" is that of the final model.

Run with ``make benchmark`` or ``python benchmarks/bench_optuna.py [FILE.csv ...]``,
where the last column of a file is the class. Without files, the table is
breast_cancer of scikit-learn.
"""

import sys
import warnings
from pathlib import Path
from time import process_time

import numpy as np
import optuna
import pandas as pd
from lightgbm import LGBMClassifier
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, train_test_split

from sklearn_superior.integrations.optuna import prune
from sklearn_superior.model_selection import StagedSearchCV

N_TRIALS, N_STAGES, N_WARMUP = 60, 200, 5
PRUNERS = {
    "without pruning": optuna.pruners.NopPruner(),
    "MedianPruner": optuna.pruners.MedianPruner(n_warmup_steps=N_WARMUP),
    "HyperbandPruner": optuna.pruners.HyperbandPruner(N_WARMUP, N_STAGES),
}


def suggest(trial):
    """Return the parameters of a trial."""
    return {
        "learning_rate": trial.suggest_float("learning_rate", 0.02, 0.3, log=True),
        "num_leaves": trial.suggest_int("num_leaves", 4, 64, log=True),
        "min_child_samples": trial.suggest_int("min_child_samples", 5, 50, log=True),
        "colsample_bytree": trial.suggest_float("colsample_bytree", 0.4, 1.0),
    }


def make_model(params):
    return LGBMClassifier(
        n_estimators=N_STAGES, n_jobs=1, verbose=-1, random_state=0, **params
    )


def create_study(pruner=None):
    """Return a study whose settings do not depend on the scores."""
    return optuna.create_study(
        study_name="settings",
        direction="maximize",
        sampler=optuna.samplers.RandomSampler(seed=0),
        pruner=pruner,
    )


def tune(X, y, pruner):
    """Return the best parameters, the loss and the number of stages of a study."""
    n_stages = 0

    def objective(trial):
        nonlocal n_stages
        report = prune(trial)

        def count(*args):
            nonlocal n_stages
            n_stages += 1
            return report(*args)

        model = make_model(suggest(trial))
        return StagedSearchCV(model, refit=False, pruner=count).fit(X, y).best_score_

    study = create_study(pruner)
    study.optimize(objective, n_trials=N_TRIALS)
    return study.best_params, -study.best_value, n_stages


def grid_search(X, y):
    """Return the same for GridSearchCV over the settings of the studies."""
    study = create_study()
    settings = [suggest(study.ask()) for _ in range(N_TRIALS)]
    grids = [{name: [value] for name, value in own.items()} for own in settings]
    search = GridSearchCV(make_model({}), grids, scoring="neg_log_loss", refit=False)
    search.fit(X, y)
    return search.best_params_, -search.best_score_, N_TRIALS * N_STAGES


def compare(name, X, y):
    """Print a line for each procedure."""
    X, X_test, y, y_test = train_test_split(
        X, y, test_size=1 / 3, stratify=y, random_state=0
    )

    def report(procedure, search, make_final):
        start = process_time()
        params, loss, n_stages = search()
        seconds = process_time() - start
        final = make_final(make_model(params)).fit(X, y)
        test = log_loss(y_test, final.predict_proba(X_test), labels=final.classes_)
        print(
            f"{name:16s} {procedure:16s} {seconds:7.1f} s  {n_stages:6d} stages  "
            f"folds {loss:.4f}  test {test:.4f}",
            flush=True,
        )

    report("GridSearchCV", lambda: grid_search(X, y), lambda model: model)
    for procedure, pruner in PRUNERS.items():
        report(procedure, lambda pruner=pruner: tune(X, y, pruner), StagedSearchCV)


def load(path):
    """Return the features, as numbers, and the class of a table."""
    table = pd.read_csv(path)
    features = table.iloc[:, :-1]
    codes = features.select_dtypes(exclude="number").apply(lambda c: c.factorize()[0])
    return features.assign(**codes).to_numpy(float), table.iloc[:, -1].to_numpy()


if __name__ == "__main__":
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    warnings.simplefilter("ignore")
    tables = {Path(path).name.split(".")[0]: load(path) for path in sys.argv[1:]}
    tables = tables or {"breast_cancer": load_breast_cancer(return_X_y=True)}
    for name, (X, y) in tables.items():
        compare(name, X, np.unique(y, return_inverse=True)[1])
