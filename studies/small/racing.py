"""Racing: what giving up candidates early would save in a search, and what it costs.

Full searches of 27 settings on small parts of twelve sets are recorded, with the score
of every stage and fold, in ``racing.jsonl.gz``. Racing is then simulated on the
records: candidates come one after the other, and each is given up when a rule says so
that compares it with the best one of those before::

    python -m benchmarks.racing run [--data-home FOLDER]
    python -m benchmarks.racing report
"""

import argparse
import os
import warnings
from functools import partial
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"  # before OpenMP is loaded

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.model_selection import ParameterGrid
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from studies.small.search_table import SETS, load_set, read, write
from sklearn_superior.model_selection import StagedSearchCV

RECORDS = Path(__file__).with_suffix(".jsonl.gz")
N_ROWS, N_STAGES = 300, 100
SETTINGS = {  # 27 of each
    "HGB": {
        "learning_rate": [0.05, 0.1, 0.3],
        "max_leaf_nodes": [4, 8, 31],
        "min_samples_leaf": [5, 10, 30],
    },
    "MLP": {
        "mlpclassifier__learning_rate_init": [0.003, 0.01, 0.03],
        "mlpclassifier__hidden_layer_sizes": [(10,), (30,), (100,)],
        "mlpclassifier__alpha": [1e-4, 1e-2, 1.0],
    },
}
N_ORDERS = 20  # in which the candidates come


def make_search(family, seed):
    if family == "HGB":
        estimator = HistGradientBoostingClassifier(
            max_iter=N_STAGES, early_stopping=False, random_state=seed
        )
    else:
        network = MLPClassifier(max_iter=N_STAGES, random_state=seed)
        estimator = make_pipeline(SimpleImputer(), StandardScaler(), network)
    return StagedSearchCV(
        estimator, SETTINGS[family], scoring="neg_log_loss", refit=False
    )


def run(data_home, names, family, seed):
    done = {_key(record) for record in read(RECORDS)}
    for name in names:
        if (name, family, seed) in done:
            continue
        X, y, *_ = load_set(name, data_home, n_train=N_ROWS, seed=seed)
        search = make_search(family, seed)
        with warnings.catch_warnings(action="ignore"):
            search.fit(X, y)
        fit_time = search.cv_results_["mean_fit_time"] * search.n_splits_
        record = {
            "set": name,
            "family": family,
            "seed": seed,
            "n_rows": len(y),
            "settings": list(ParameterGrid(SETTINGS[family])),
            "fit_time": fit_time.round(4).tolist(),
            "scores": [scores.round(6).tolist() for scores in search.stage_scores_],
        }
        write(record, RECORDS)
        print(name, fit_time.sum().round(1), flush=True)


def _key(record):
    return record["set"], record["family"], record["seed"]


def same_stage(scores, leader, *, grace=20, n_errors=2):
    """Tell whether a candidate is behind the leader at the same stage."""
    if len(scores) < grace:
        return False
    top = int(leader.mean(axis=1).argmax())
    # Beyond its best stage the leader is what would be chosen.
    behind = leader[min(len(scores) - 1, top)] - scores[-1]
    return behind.mean() > n_errors * behind.std(ddof=1) / np.sqrt(len(behind))


def by_pace(scores, leader, *, grace=10, n_errors=1, n_before=5, n_ahead=10):
    """Tell whether a candidate is behind the best stage of the leader, and too slow.

    It is too slow if at the pace of its last stages it would still be behind some
    stages later: a small learning rate is behind for long and may win in the end.
    """
    if len(scores) < grace:
        return False
    behind = leader[leader.mean(axis=1).argmax()] - scores[-1]
    gap, error = behind.mean(), behind.std(ddof=1) / np.sqrt(len(behind))
    pace = (scores[-1] - scores[-1 - n_before]).mean() / n_before
    return gap > n_errors * error and pace * n_ahead < gap


RULES = {
    "same stage, 2 errors, grace 20": same_stage,
    "same stage, 2 errors, grace 40": partial(same_stage, grace=40),
    "same stage, 3 errors, grace 20": partial(same_stage, n_errors=3),
    "pace, 1 error": by_pace,
    "pace, 2 errors": partial(by_pace, n_errors=2),
    "pace of 10, 30 ahead": partial(by_pace, grace=20, n_before=10, n_ahead=30),
}


def race(curves, rule):
    """Return the best score with racing, and how many stages each candidate had.

    Parameters
    ----------
    curves : list of ndarray of shape (n_stages, n_folds)
        The scores of the candidates, in the order in which they come.

    rule : callable
        Tells from the scores of a candidate so far, and all of the best finished one,
        whether it is given up.

    Returns
    -------
    score : float
        The mean score of what is chosen.

    n_stages : list of int
        The stages that were trained.
    """
    leader, best, n_stages = None, -np.inf, []
    for curve in curves:
        n = 1 if leader is not None else len(curve)
        while n < len(curve) and not rule(curve[:n], leader):
            n += 1
        n_stages.append(n)
        top = curve[:n].mean(axis=1).max()
        if top > best:
            best, leader = top, curve[:n]
    return best, n_stages


def simulate(record, rule):
    """Return for each order the share of the time that is saved, and the regret."""
    curves = [np.array(scores) for scores in record["scores"]]
    time = np.array(record["fit_time"])
    full = np.array([len(curve) for curve in curves])
    best = max(curve.mean(axis=1).max() for curve in curves)
    rng, results = np.random.default_rng(0), []
    for number in range(N_ORDERS):
        order = rng.permutation(len(curves)) if number else np.arange(len(curves))
        score, n_stages = race([curves[k] for k in order], rule)
        saved = 1 - (time[order] * n_stages / full[order]).sum() / time.sum()
        results.append((saved, 100 * (score / best - 1)))  # both are negative losses
    return np.array(results)


def report():
    runs: dict = {}
    for record in read(RECORDS):
        runs.setdefault((record["family"], record["seed"]), []).append(record)
    for (family, seed), records in runs.items():
        print(
            f"\n{family}, seed {seed}, {len(records)} sets, 27 settings in {N_ORDERS}"
        )
        print(
            "orders: saved share of the time; regret in % of the log loss: mean, mean"
        )
        print(
            "of the worst set, worst search; the two means in the order of the grid\n"
        )
        for name, rule in RULES.items():
            results = np.array([simulate(record, rule) for record in records])
            saved, regret = results[:, :, 0], results[:, :, 1]
            print(
                f"  {name:<32}{saved.mean():5.0%}{regret.mean():7.2f}"
                f"{regret.mean(axis=1).max():7.2f}{regret.max():7.2f}"
                f"{saved[:, 0].mean():7.0%}{regret[:, 0].mean():7.2f}"
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=("run", "report"))
    parser.add_argument("--data-home")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--family", choices=SETTINGS, default="HGB")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.command == "run":
        run(options.data_home, options.sets, options.family, options.seed)
    report()


if __name__ == "__main__":
    main()
