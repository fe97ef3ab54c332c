"""Racing: what giving up candidates early would save in a search, and what it costs.

Full searches of 27 settings on small parts of twelve sets are recorded, with the score
of every stage and fold, in ``racing.jsonl.gz``. Racing is then simulated on the
records: a candidate is given up when its mean score is behind that of the best finished
candidate at the same stage by more than some standard errors of the differences of
their folds::

    python -m benchmarks.racing run [--data-home FOLDER]
    python -m benchmarks.racing report
"""

import argparse
import os
import warnings
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"  # before OpenMP is loaded

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.model_selection import ParameterGrid
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.search_table import SETS, load_set, read, write
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


def race(curves, *, grace, n_errors):
    """Return the best score with racing, and how many stages each candidate had.

    Parameters
    ----------
    curves : list of ndarray of shape (n_stages, n_folds)
        The scores of the candidates, in the order in which they come.

    grace : int
        So many stages are trained in any case.

    n_errors : float
        How many standard errors behind is too far.

    Returns
    -------
    score : float
        The mean score of what is chosen.

    n_stages : list of int
        The stages that were trained.
    """
    leader, best, n_stages = None, -np.inf, []
    for curve in curves:
        n = len(curve) if leader is None else given_up(curve, leader, grace, n_errors)
        n_stages.append(n)
        means = curve[:n].mean(axis=1)
        if means.max() > best:
            best, leader = means.max(), curve[:n]
    return best, n_stages


def given_up(curve, leader, grace, n_errors):
    """Return after how many stages a candidate is given up, or its length."""
    top = int(leader.mean(axis=1).argmax())
    for stage in range(grace - 1, len(curve)):
        # Beyond its best stage the leader is what would be chosen.
        behind = leader[min(stage, top)] - curve[stage]
        error = behind.std(ddof=1) / np.sqrt(len(behind))
        if behind.mean() > n_errors * error:
            return stage + 1
    return len(curve)


def simulate(record, **rule):
    """Return share of the time that is saved and regret, means over the orders."""
    curves = [np.array(scores) for scores in record["scores"]]
    time = np.array(record["fit_time"])
    full = np.array([len(curve) for curve in curves])
    best = max(curve.mean(axis=1).max() for curve in curves)
    rng, results = np.random.default_rng(0), []
    for number in range(N_ORDERS):
        order = rng.permutation(len(curves)) if number else np.arange(len(curves))
        score, n_stages = race([curves[k] for k in order], **rule)
        saved = 1 - (time[order] * n_stages / full[order]).sum() / time.sum()
        results.append((saved, score / best - 1))  # both are negative losses
    return np.array(results)


def report():
    records = read(RECORDS)
    print(f"{len(records)} sets, 27 settings in {N_ORDERS} orders: share of the time")
    print("that is saved, regret in % of the log loss: mean, worst set, worst search\n")
    print(f"  {'grace':>5} {'errors':>6} {'saved':>6}{'mean':>7}{'set':>7}{'worst':>7}")
    for grace in (10, 20, 40):
        for n_errors in (1, 2, 3):
            rule = {"grace": grace, "n_errors": n_errors}
            results = np.array([simulate(record, **rule) for record in records])
            saved, regret = results[:, :, 0], 100 * results[:, :, 1]
            print(
                f"  {grace:5} {n_errors:6} {saved.mean():6.0%}{regret.mean():7.2f}"
                f"{regret.mean(axis=1).max():7.2f}{regret.max():7.2f}"
            )
    print("\n  each set with grace 20 and 2 errors: saved, regret of the grid's order,")
    print("  mean regret\n")
    for record in records:
        results = simulate(record, grace=20, n_errors=2)
        print(
            f"  {record['set']:<16}{results[:, 0].mean():6.0%}"
            f"{100 * results[0, 1]:7.2f}{100 * results[:, 1].mean():7.2f}"
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
