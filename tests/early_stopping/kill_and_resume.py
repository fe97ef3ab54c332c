"""Kill training at random moments and go on; run as a script by test_checkpoint.py.

Every fit runs in a process forked from this one, which itself never trains: threads
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
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from sklearn_superior.early_stopping import EarlyStoppingClassifier
from sklearn_superior.metrics import neg_penalized_brier_scorer
from tests.early_stopping.families import installed, resumable, resumable_data


class Settings:
    pause = 0.0  # of each stage


def scorer(estimator, X, y):
    time.sleep(Settings.pause)
    return neg_penalized_brier_scorer(estimator, X, y)


def train(name, directory, result, pause):
    Settings.pause = pause
    X, y, X_val, y_val = resumable_data(name)
    options = {
        "scoring": scorer,
        "n_iter_no_change": 25,
        "checkpoint_dir": directory,
        "resume": True,
    }
    model = resumable(name)
    if name == "CNN":  # keeps checkpoints itself
        model.set_params(**options)
    else:
        model = EarlyStoppingClassifier(model, **options)
    model.fit(X, y, X_val=X_val, y_val=y_val)
    outcome = {
        "best": model.best_iteration_,
        "scores": model.validation_scores_.tolist(),
        "proba": model.predict_proba(X_val).tolist(),
    }
    result.write_text(json.dumps(outcome))


def in_child(*args):
    pid = os.fork()
    if pid == 0:
        warnings.simplefilter("ignore")
        code = 1
        try:
            train(*args)
            code = 0
        finally:
            os._exit(code)
    return pid


def finish(*args):
    _, status = os.waitpid(in_child(*args), 0)
    if status:
        raise SystemExit(f"{args[0]}: training failed with status {status}")
    return json.loads(args[2].read_text())


def main(n_kills):
    # Imported once, before the forks, to save each of them the time.
    for library in ("lightgbm", "torch.optim", "xgboost"):
        with suppress(ImportError):
            import_module(library)

    random.seed(0)
    names = installed()
    outcome = []
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        references = {}
        for k in range(n_kills):
            name = names[k % len(names)]
            result, directory = folder / f"{k}.json", folder / f"{k}"
            if name not in references:
                references[name] = finish(name, folder / name, result, 0)
            pid = in_child(name, directory, result, 0.01)
            while not (directory / "checkpoint.zip").exists():
                time.sleep(0.001)
            time.sleep(random.uniform(0, 0.4))
            os.kill(pid, signal.SIGKILL)
            killed = os.WIFSIGNALED(os.waitpid(pid, 0)[1])
            resumed = finish(name, directory, result, 0)
            outcome.append([name, killed, resumed, references[name]])
    print(json.dumps(outcome))


if __name__ == "__main__":
    main(int(sys.argv[1]))
