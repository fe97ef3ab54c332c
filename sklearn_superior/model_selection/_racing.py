"""Racing: a candidate of a search that is out of the race is not trained further."""

import numpy as np

# So many stages every candidate has.
GRACE = 10
# The pace of a candidate is that of so many stages, and is expected to go on for
# so many more.
N_BEFORE, N_AHEAD = 5, 10


def is_out(stage_scores, leader, *, n_errors=1.0):
    """Tell whether a candidate is behind the best one, and too slow to catch up.

    It is behind if its mean score is lower by more than the standard error of the
    differences of the folds. It is too slow if at the pace of its last stages it would
    still be behind ten stages later. The pace counts because a small learning rate is
    behind for long and may win in the end.

    Parameters
    ----------
    stage_scores : array-like of shape (n_stages, n_folds)
        The scores of the candidate so far; greater is better.

    leader : array-like of shape (n_folds,)
        The scores of the best candidate at its best stage.

    n_errors : float, default=1.0
        How many standard errors are too far behind.

    Returns
    -------
    is_out : bool
        False if a score is not finite.

    Examples
    --------
    >>> leader = [0.9, 0.8]
    >>> is_out([[0.5, 0.4]] * 10, leader)
    True
    >>> is_out([[0.1 * k, 0.1 * k - 0.1] for k in range(8)], leader)
    False
    """
    if len(stage_scores) < GRACE:
        return False
    before, present = (np.asarray(stage_scores[k]) for k in (-1 - N_BEFORE, -1))
    behind = np.asarray(leader) - present
    if not np.isfinite(behind).all() or len(behind) < 2:
        return False
    gap, error = behind.mean(), behind.std(ddof=1) / np.sqrt(len(behind))
    pace = (present - before).mean() / N_BEFORE
    return bool(gap > n_errors * error and pace * N_AHEAD < gap)
