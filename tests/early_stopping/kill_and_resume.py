"""Kill training at random moments and resume it; run by test_checkpoint.py.

By hand, with 20 kills of one family::

    python -m tests.early_stopping.kill_and_resume 20 Averaged
"""

import json
import random
import sys
import tempfile
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from sklearn_superior.early_stopping import EarlyStoppingClassifier
from sklearn_superior.metrics import neg_penalized_brier_scorer
from sklearn_superior.neural_network import CNNClassifier
from tests.early_stopping.families import installed, resumable, resumable_data
from tests.kills import finish, kill, start


class Settings:
    pause = 0.0  # of each stage


def scorer(estimator, X, y):
    time.sleep(Settings.pause)
    return neg_penalized_brier_scorer(estimator, X, y)


def train(name, directory, pause):
    Settings.pause = pause
    X, y, X_val, y_val = resumable_data(name)
    options = {
        "scoring": scorer,
        "n_iter_no_change": 25,
        "checkpoint_dir": directory,
        "resume": True,
    }
    model = resumable(name)
    if isinstance(model, CNNClassifier):  # keeps checkpoints itself
        model.set_params(**options)
    else:
        model = EarlyStoppingClassifier(model, **options)
    model.fit(X, y, X_val=X_val, y_val=y_val)
    return {
        "best": model.best_iteration_,
        "scores": model.validation_scores_.tolist(),
        "proba": model.predict_proba(X_val).tolist(),
    }


def main(n_kills, names):
    # Imported once, before the forks, to save each of them the time.
    for library in ("lightgbm", "torch.optim", "xgboost"):
        with suppress(ImportError):
            import_module(library)

    random.seed(0)
    names = names or installed()
    outcome = []
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        references = {}
        for k in range(n_kills):
            name = names[k % len(names)]
            result, directory = folder / f"{k}.json", folder / f"{k}"
            if name not in references:
                references[name] = finish(train, result, name, folder / name, 0)
            pid = start(train, result, name, directory, 0.01)
            killed = kill(pid, directory / "checkpoint.zip", 0.4)
            resumed = finish(train, result, name, directory, 0)
            outcome.append(
                {
                    "name": name,
                    "killed": killed,
                    "resumed": resumed,
                    "reference": references[name],
                }
            )
    print(json.dumps(outcome))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
