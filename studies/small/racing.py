"""Racing: what giving up candidates early would save in a search, and what it costs.

Full searches of 27 settings on small parts of twelve sets are recorded, with the score
of every stage and fold. Racing is then simulated on the records: candidates come one
after the other, and each is given up when a rule says so that compares it with the best
one of those before::

    OMP_NUM_THREADS=1 python -m studies racing run --data-home FOLDER
    python -m studies racing report
"""

import warnings
from dataclasses import asdict, dataclass
from functools import partial

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.model_selection import ParameterGrid
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_superior.model_selection import StagedSearchCV
from studies._page import Heading, Paragraph, Table
from studies._runner import check_names
from studies.small.search_table import SETS, load_set
from studies.small.search_table import load_table as load

__all__ = ["FIELDS", "QUICK", "TITLE", "load", "make_jobs", "make_parts", "train"]

TITLE = "Racing: what giving up candidates early would save, and cost"
FIELDS = ("job", "n_rows", "settings", "fit_time", "scores", "seconds")
QUICK = ("wine",)
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


@dataclass(frozen=True)
class Job:
    """One search."""

    dataset: str
    family: str
    seed: int
    max_iter: int = N_STAGES

    @property
    def name(self):
        """Unique name of the job."""
        return f"{self.dataset}/{self.family}-{self.max_iter}/seed{self.seed}"


def make_jobs(datasets=None, estimators=None, *, max_iter=None, n_repeats=None, **_):
    """List the searches; `n_repeats` is the number of seeds."""
    check_names("--datasets", datasets, SETS)
    check_names("--estimators", estimators, SETTINGS)
    return [
        Job(dataset, family, seed, max_iter or N_STAGES)
        for seed in range(n_repeats or 1)
        for family in estimators or SETTINGS
        for dataset in datasets or SETS
    ]


def make_search(job):
    """Return the search of a job."""
    if job.family == "HGB":
        estimator = HistGradientBoostingClassifier(
            max_iter=job.max_iter, early_stopping=False, random_state=job.seed
        )
    else:
        network = MLPClassifier(max_iter=job.max_iter, random_state=job.seed)
        estimator = make_pipeline(SimpleImputer(), StandardScaler(), network)
    return StagedSearchCV(
        estimator,
        SETTINGS[job.family],
        scoring="neg_log_loss",
        n_iter_no_change=20,
        refit=False,
    )


def train(job, data_home=None, device="auto"):
    """Run a search; return its record, ready for JSON."""
    X, y, *_ = load_set(job.dataset, data_home, n_train=N_ROWS, seed=job.seed)
    search = make_search(job)
    with warnings.catch_warnings(action="ignore"):
        search.fit(X, y)
    fit_time = search.cv_results_["mean_fit_time"] * search.n_splits_
    return {
        "job": asdict(job),
        "n_rows": len(y),
        "settings": list(ParameterGrid(SETTINGS[job.family])),
        "fit_time": fit_time.round(4).tolist(),
        "scores": [scores.round(6).tolist() for scores in search.stage_scores_],
        "seconds": round(float(fit_time.sum()), 1),
    }


def same_stage(scores, leader, *, grace=20, n_errors=2):
    """Return whether a candidate is behind the leader at the same stage."""
    if len(scores) < grace:
        return False
    top = int(leader.mean(axis=1).argmax())
    # Beyond its best stage the leader is what would be chosen.
    behind = leader[min(len(scores) - 1, top)] - scores[-1]
    return behind.mean() > n_errors * behind.std(ddof=1) / np.sqrt(len(behind))


def by_pace(scores, leader, *, grace=10, n_errors=1, n_before=5, n_ahead=10):
    """Return whether a candidate is behind the leader's best stage, and too slow.

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
    """Return the best score with racing, and the number of stages of each candidate.

    Parameters
    ----------
    curves : list of ndarray of shape (n_stages, n_folds)
        The scores of the candidates, in order.

    rule : callable
        Takes the scores of a candidate so far and all scores of the best finished one;
        returns whether to give the candidate up.

    Returns
    -------
    score : float
        The mean score of the chosen candidate.

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
    """Return the share of the time saved and the regret, for each order."""
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


def make_parts(records):
    """Return the parts of the page."""
    runs = {}
    for record in records:
        job = record["job"]
        runs.setdefault((job["family"], job["seed"]), []).append(record)
    parts = [
        Heading(1, TITLE),
        Paragraph(
            f"27 candidates in {N_ORDERS} orders. Share of the time saved; regret in % "
            "of the log loss: mean over all searches, mean of the worst data set, "
            "worst search. The last two columns are means in the order of the grid."
        ),
    ]
    for (family, seed), own in sorted(runs.items()):
        parts += [
            Heading(2, f"{family}, seed {seed}, {len(own)} sets"),
            _compare_rules(own),
        ]
    return parts


def _compare_rules(records):
    lines = []
    for name, rule in RULES.items():
        results = np.array([simulate(record, rule) for record in records])
        saved, regret = results[:, :, 0], results[:, :, 1]
        shares = (saved.mean(), saved[:, 0].mean())
        losses = (regret.mean(), regret.mean(axis=1).max(), regret.max())
        cells = [f"{shares[0]:.1%}", *(f"{loss:.2f}" for loss in losses)]
        lines.append([name, *cells, f"{shares[1]:.1%}", f"{regret[:, 0].mean():.2f}"])
    header = ["given up when", "saved", "regret", "worst set", "worst search"]
    return Table([*header, "saved, grid", "regret, grid"], lines)
