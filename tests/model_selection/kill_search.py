"""Kill a search at random moments and resume it; run by test_search_store.py.

Every search runs in a process forked from this one, which itself never trains: threads
of the libraries do not survive a fork.
"""

import json
import os
import random
import signal
import sys
import tempfile
import time
import warnings
from pathlib import Path

from sklearn.ensemble import GradientBoostingClassifier

from sklearn_superior.metrics import get_scorer
from sklearn_superior.model_selection import StagedSearchCV
from tests.early_stopping.families import make_data

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


def search(directory, result, refit, pause):
    Settings.pause = pause
    Logged.log = result.with_suffix(".log")
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
    outcome = {
        "best": [found.best_params_, found.best_iteration_, found.temperature_],
        "scores": [scores.tolist() for scores in found.stage_scores_],
        "oof": found.oof_proba_.tolist(),
        "proba": found.predict_proba(X_val).tolist(),
    }
    result.write_text(json.dumps(outcome))


def in_child(*args):
    pid = os.fork()
    if pid == 0:
        warnings.simplefilter("ignore")
        code = 1
        try:
            search(*args)
            code = 0
        finally:
            os._exit(code)
    return pid


def finish(*args):
    _, status = os.waitpid(in_child(*args), 0)
    if status:
        raise SystemExit(f"the search failed with status {status}")
    return json.loads(args[1].read_text())


def read_log(result):
    """Return which candidates were trained on folds, in their order."""
    lines = result.with_suffix(".log").read_text().splitlines()
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
                other = folder / f"{refit}.json"
                references[refit] = finish(folder / refit, other, refit, 0)
            pid = in_child(directory, result, refit, 0.004)
            while not list(directory.glob("candidate-*.npz")):
                time.sleep(0.001)
            time.sleep(random.uniform(0, 1.2))
            os.kill(pid, signal.SIGKILL)
            killed = os.WIFSIGNALED(os.waitpid(pid, 0)[1])
            n_before = len(read_log(result))
            n_finished = len(list(directory.glob("candidate-*.npz")))
            resumed = finish(directory, result, refit, 0)
            log = read_log(result)
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
