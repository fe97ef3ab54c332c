"""Intervals and p-values of differences whose units are data sets.

Data sets are independent, so the usual t interval and the exact sign-flip test apply.
"""

import math

import numpy as np
from scipy.stats import t as student_t

_MOST_UNITS = 50  # for which all signs are tried
_FEWEST_UNITS = 3  # fewer have no interval
_SLACK = 1e-10  # of sums in another order, relative


def mean(values):
    """Return the mean of the finite values; NaN if there is none."""
    values = [value for value in values if math.isfinite(value)]
    return math.fsum(values) / len(values) if values else math.nan


def summarize(values):
    """Return the number of units, their mean and its 95 % t interval.

    Examples
    --------
    >>> summarize([1.0, 2.0, 3.0])["difference"]
    2.0
    """
    values = np.array([v for v in values if math.isfinite(v)])
    centre = mean(values)
    half = math.nan
    if len(values) >= _FEWEST_UNITS:
        error = values.std(ddof=1) / math.sqrt(len(values))
        half = float(student_t.ppf(0.975, len(values) - 1) * error)
    return {
        "n": len(values),
        "difference": centre,
        "low": centre - half,
        "high": centre + half,
        "n_up": int((values > 0).sum()),
        "n_down": int((values < 0).sum()),
    }


def pool(values):
    """Return the same, with the two-sided p-value of the sign-flip test.

    Examples
    --------
    >>> pool([1.0, 2.0, 3.0])["p_value"]
    0.25
    """
    values = np.array([v for v in values if math.isfinite(v)])
    # All signs together are symmetric, so both tails are as likely as one.
    p_value = 2 * sign_flip_above(values if values.sum() > 0 else -values)
    return summarize(values) | {"p_value": min(p_value, 1.0)}


def sign_flip_above(differences):
    """Return the exact one-sided p-value of a mean above 0 under random signs.

    It is the share of all sign assignments whose sum is at least the observed one. The
    sums of each half are sorted, so that for each sum of one half a binary search
    counts the sums of the other half that reach it.

    Examples
    --------
    >>> sign_flip_above([1.0, 2.0, 3.0])
    0.125
    """
    differences = np.asarray(list(differences), dtype=float)
    n = len(differences)
    if n == 0:
        return math.nan
    if n > _MOST_UNITS or not np.isfinite(differences).all():
        raise ValueError(
            f"differences must be at most {_MOST_UNITS} finite numbers. Got {n}."
        )
    least = differences.sum() - _SLACK * np.abs(differences).sum()
    left, right = (
        _signed_sums(half) for half in (differences[: n // 2], differences[n // 2 :])
    )
    n_below = np.searchsorted(right, least - left)
    return float((len(right) * len(left) - int(n_below.sum())) / 2**n)


def _signed_sums(values):
    """Return the sums of all ways to set the signs, sorted."""
    sums = np.zeros(1)
    for value in np.abs(values):
        sums = np.concatenate([sums - value, sums + value])
        sums.sort(kind="stable")  # two sorted runs are merged
    return sums


def holm(p_values):
    """Return p-values adjusted for the number of tests by Holm's method.

    NaN stays NaN and does not count.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    p_values = np.asarray(p_values, dtype=float)
    order = np.argsort(p_values)
    n = np.count_nonzero(~np.isnan(p_values))
    factors = np.maximum(n - np.arange(len(p_values)), 1)
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(np.maximum.accumulate(p_values[order] * factors), 1)
    return adjusted
