"""Kill a search at random moments and resume it; run by test_store.py."""

import json
import random
import sys
import tempfile
import time
from pathlib import Path

from sklearn.ensemble import GradientBoostingClassifier

from sklearn_superior.metrics import get_scorer
from sklearn_superior.model_selection import StagedSearchCV
from tests.early_stopping.families import make_data
from tests.kills import finish, kill, start

GRID = {"max_depth": [1, 2], "learning_rate": [0.1, 0.3, 0.6]}


class Settings:
    pause = 0.0  # of each stage


class Logged(GradientBoostingClassifier):
    """Writes down which candidate is trained."""

    log = None

    def fit(self, X, y, **options):
        with open(Logged.log, "a") as file:
            file.write(json.dumps([self.max_depth, self.learning_rate, len(X)]) + "\n")
        return super().fit(X, y, **options)


def scorer(estimator, X, y):
    time.sleep(Settings.pause)
    return get_scorer("refined_log_loss")(estimator, X, y)


def search(directory, refit, pause):
    Settings.pause = pause
    Logged.log = directory.with_suffix(".log")
    X, y, X_val, _ = make_data("binary")
    found = StagedSearchCV(
        Logged(n_estimators=25, random_state=0),
        GRID,
        scoring=scorer,
        cv=3,
        refit=refit,
        n_iter_no_change=10,
        calibration="temperature",
        checkpoint_dir=directory,
        resume=True,
    ).fit(X, y)
    return {
        "best": [found.best_params_, found.best_iteration_, found.temperature_],
        "scores": [scores.tolist() for scores in found.stage_scores_],
        "oof": found.oof_proba_.tolist(),
        "proba": found.predict_proba(X_val).tolist(),
    }


def read_log(directory):
    """Return which candidates were trained on folds, in their order."""
    lines = directory.with_suffix(".log").read_text().splitlines()
    return [tuple(json.loads(line)[:2]) for line in lines if json.loads(line)[2] < 300]


def main(n_kills):
    random.seed(0)
    outcome = []
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        references = {}
        for k in range(n_kills):
            refit = ("all", "folds")[k % 2]
            result, directory = folder / f"{k}.json", folder / f"{k}"
            if refit not in references:
                references[refit] = finish(search, result, folder / refit, refit, 0)
            pid = start(search, result, directory, refit, 0.004)
            killed = kill(pid, directory / "candidate-*.npz", 1.2)
            n_before = len(read_log(directory))
            n_finished = len(list(directory.glob("candidate-*.npz")))
            resumed = finish(search, result, directory, refit, 0)
            log = read_log(directory)
            outcome.append(
                {
                    "refit": refit,
                    "killed": killed,
                    "n_finished": n_finished,
                    "before": log[:n_before],
                    "after": log[n_before:],
                    "same": resumed == references[refit],
                    "best": resumed["best"][0],
                }
            )
    print(json.dumps(outcome))


if __name__ == "__main__":
    main(int(sys.argv[1]))
