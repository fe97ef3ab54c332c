"""The table of a search, with the keys of scikit-learn's `GridSearchCV`."""

import numpy as np
from numpy.ma import MaskedArray
from scipy.stats import rankdata


def make_cv_results(settings, candidates, names, n_folds, error_score):
    """Return `cv_results_`: the scores of each candidate at its chosen stage.

    Parameters
    ----------
    settings : list of dict
        The parameters of each candidate.

    candidates : list of Candidate or None
        What came of each; None if it failed.

    names : list of str
        The names of the scorers; with a single one it is called "score".

    n_folds : int
        Number of folds.

    error_score : float
        The score of a candidate that failed.
    """
    nan = np.full(n_folds, np.nan)
    fit = np.array([nan if c is None else c.fit_times for c in candidates])
    score = np.array([nan if c is None else c.score_times for c in candidates])
    results = {
        "mean_fit_time": fit.mean(axis=1),
        "std_fit_time": fit.std(axis=1),
        "mean_score_time": score.mean(axis=1),
        "std_score_time": score.std(axis=1),
        **_param_columns(settings),
        "params": list(settings),
    }
    for name in names:
        label = name if len(names) > 1 else "score"
        failed = np.full(n_folds, error_score, dtype=float)
        scores = [failed if c is None else c.test_scores[name] for c in candidates]
        has_failed = np.array([c is None for c in candidates])
        results |= _score_columns(np.array(scores, dtype=float), label, has_failed)
    results["best_iteration"] = _column(candidates, lambda c: c.best_iteration)
    results["n_iter"] = _column(candidates, lambda c: len(c.stage_scores))
    return results


def _score_columns(scores, label, has_failed):
    columns = {f"split{k}_test_{label}": column for k, column in enumerate(scores.T)}
    means = scores.mean(axis=1)
    columns[f"mean_test_{label}"] = means
    columns[f"std_test_{label}"] = scores.std(axis=1)
    # Those without a score share the last place, also if `error_score` gives them one:
    # what was not trained is not the best.
    is_last = has_failed | np.isnan(means)
    worst = np.min(means[~is_last], initial=np.inf) - 1
    ranks = rankdata(-np.where(is_last, worst, means), method="min")
    columns[f"rank_test_{label}"] = ranks.astype(np.int32)
    return columns


def _param_columns(settings):
    """Return the values of each parameter, masked where a candidate has none."""
    columns: dict = {}
    for name in sorted({name for params in settings for name in params}):
        values = {
            k: params[name] for k, params in enumerate(settings) if name in params
        }
        dtype = _dtype_of(list(values.values()))
        column = MaskedArray(np.empty(len(settings), dtype=dtype), mask=True)
        for k, value in values.items():
            column[k] = value
        columns[f"param_{name}"] = column
    return columns


def _dtype_of(values):
    """Return the dtype of numbers; text, sequences and all else are objects."""
    try:
        array = np.array(values)
    except ValueError:  # sequences of several lengths
        return np.dtype(object)
    is_column = array.ndim == 1 and array.dtype.kind != "U"
    return array.dtype if is_column else np.dtype(object)


def _column(candidates, value_of):
    """Return whole numbers, masked for candidates that failed."""
    values = np.array([0 if c is None else value_of(c) for c in candidates])
    failed = [c is None for c in candidates]
    return MaskedArray(values, mask=failed) if any(failed) else values
