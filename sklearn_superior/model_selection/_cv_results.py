"""The table of a search, with the keys of scikit-learn's `GridSearchCV`."""

import numpy as np
from numpy.ma import MaskedArray
from scipy.stats import rankdata


def make_cv_results(
    settings, candidates, names, n_folds, error_score, *, has_pruner=False
):
    """Return `cv_results_`: the scores of each candidate at its chosen stage.

    Parameters
    ----------
    settings : list of dict
        The parameters of each candidate.

    candidates : list of Candidate or None
        The results; None for candidates that failed.

    names : list of str
        The names of the scorers; a single one is called "score".

    n_folds : int
        Number of folds.

    error_score : float
        The score of candidates that failed.

    has_pruner : bool, default=False
        Whether there is a column that tells which candidates were pruned.
    """
    nan, has_failed = np.full(n_folds, np.nan), [c is None for c in candidates]
    results = {}
    for name in ("fit_time", "score_time"):
        times = [nan if c is None else getattr(c, f"{name}s") for c in candidates]
        results[f"mean_{name}"] = np.mean(times, axis=1)
        results[f"std_{name}"] = np.std(times, axis=1)
    results |= _param_columns(settings) | {"params": list(settings)}
    failed = np.full(n_folds, error_score, dtype=float)
    for name in names:
        label = name if len(names) > 1 else "score"
        scores = [failed if c is None else c.test_scores[name] for c in candidates]
        results |= _score_columns(np.array(scores, dtype=float), label, has_failed)
    for name, values in (
        ("best_iteration", [c and c.best_iteration for c in candidates]),
        ("n_iter", [c and len(c.stage_scores) for c in candidates]),
    ):
        column = np.array([value or 0 for value in values])
        mask = [value is None for value in values]
        results[name] = MaskedArray(column, mask) if any(mask) else column
    if has_pruner:
        is_pruned = [c is not None and c.is_pruned for c in candidates]
        results["pruned"] = np.array(is_pruned)
    return results


def _score_columns(scores, label, has_failed):
    columns = {f"split{k}_test_{label}": column for k, column in enumerate(scores.T)}
    means = scores.mean(axis=1)
    columns[f"mean_test_{label}"] = means
    columns[f"std_test_{label}"] = scores.std(axis=1)
    # Failed candidates share the last rank, whatever `error_score` is: a candidate that
    # was not trained is never the best one.
    is_last = has_failed | np.isnan(means)
    worst = np.min(means[~is_last], initial=np.inf) - 1
    ranks = rankdata(-np.where(is_last, worst, means), method="min")
    columns[f"rank_test_{label}"] = ranks.astype(np.int32)
    return columns


def _param_columns(settings):
    """Return the values of each parameter, masked where a candidate has none."""
    columns = {}
    for name in sorted({name for params in settings for name in params}):
        rows = [k for k, params in enumerate(settings) if name in params]
        values = [settings[k][name] for k in rows]
        try:
            array = np.array(values)
        except ValueError:  # sequences of different lengths
            array = np.empty(())
        # As in scikit-learn, only numbers have a dtype of their own.
        is_column = array.ndim == 1 and array.dtype.kind != "U"
        dtype = array.dtype if is_column else object
        column = MaskedArray(np.empty(len(settings), dtype), mask=True)
        for k, value in zip(rows, values, strict=True):
            column[k] = value
        columns[f"param_{name}"] = column
    return columns
