"""Intervals and p-values of paired differences.

The folds of a cross-validation share training data, so their differences are correlated
and the usual t interval is too narrow. The corrected resampled t of Nadeau and Bengio
widens it, depending on the ratio of test to training rows. Data sets do not share data,
so the usual t interval and the exact sign-flip test are valid for them.
"""

import numpy as np
from scipy.stats import t as student_t

MIN_FOLDS = 3  # for an interval
_LEVEL = 0.95
_N_EXACT = 20  # largest number of differences for which all signs are tried
_N_RANDOM = 100_000


def corrected_t(differences, ratio=0.0):
    """Return the 95 % interval and the two-sided p-value of a mean of differences.

    Parameters
    ----------
    differences : array-like of shape (n_folds,)
        The differences; those that are not finite are ignored.

    ratio : float, default=0.0
        Ratio of test to training rows. 0 gives the usual t interval for independent
        units.

    Returns
    -------
    low, high, p_value : float
        NaN with fewer than three differences.

    Examples
    --------
    >>> low, high, p_value = corrected_t([1.0, 2.0, 3.0, 2.0], ratio=0.25)
    >>> round(low, 2), round(high, 2), round(p_value, 3)
    (0.16, 3.84, 0.041)
    """
    differences = np.asarray(differences, dtype=float)
    differences = differences[np.isfinite(differences)]
    n = len(differences)
    if n < MIN_FOLDS:
        return np.nan, np.nan, np.nan
    mean = float(differences.mean())
    error = float(np.sqrt((1 / n + ratio) * differences.var(ddof=1)))
    if error == 0:
        return mean, mean, 1.0 if mean == 0 else 0.0
    half = student_t.ppf((1 + _LEVEL) / 2, n - 1) * error
    p_value = 2 * student_t.sf(abs(mean) / error, n - 1)
    return mean - float(half), mean + float(half), float(p_value)


def fold_means(values, folds):
    """Return the mean of the values of each fold, over its repeats."""
    return np.array([values[folds == fold].mean() for fold in np.unique(folds)])


def sign_flip(differences, random_state=0):
    """Return the two-sided p-value of the sign-flip test of a mean of differences.

    Exact for up to 20 differences, otherwise with 100,000 random signs.

    Examples
    --------
    Of the eight ways to set three signs, two give a mean at least as far from 0:

    >>> sign_flip([1.0, 2.0, 3.0])
    0.25
    """
    differences = np.asarray(differences, dtype=float)
    differences = differences[np.isfinite(differences)]
    n = len(differences)
    if n == 0:
        return np.nan
    # Some slack, because sums in another order differ in the last digits of the terms,
    # which may be much larger than the sum.
    observed = abs(differences.sum()) - 1e-12 * abs(differences).sum()
    if n > _N_EXACT:
        rng = np.random.default_rng(random_state)
        signs = rng.choice([-1.0, 1.0], size=(_N_RANDOM, n))
        n_as_far = np.count_nonzero(abs(signs @ differences) >= observed)
        return (n_as_far + 1) / (_N_RANDOM + 1)
    # The first sign stays: flipping all signs gives the same absolute sum.
    is_flipped = (np.arange(2 ** (n - 1))[:, np.newaxis] >> np.arange(n - 1)) & 1
    sums = differences[0] + (1 - 2 * is_flipped) @ differences[1:]
    return float(np.mean(abs(sums) >= observed))


def pool(differences):
    """Summarize independent differences, such as those of data sets.

    Returns
    -------
    summary : dict
        The mean (`difference`), its t interval (`low`, `high`), the `p_value` of the
        sign-flip test, and the number of finite differences (`n`).

    Examples
    --------
    >>> pool([1.0, 2.0, 3.0])["difference"], pool([1.0, 2.0, 3.0])["p_value"]
    (2.0, 0.25)
    """
    differences = np.asarray(differences, dtype=float)
    differences = differences[np.isfinite(differences)]
    low, high, _ = corrected_t(differences)
    return {
        "difference": float(differences.mean()) if len(differences) else np.nan,
        "low": low,
        "high": high,
        "p_value": sign_flip(differences),
        "n": len(differences),
    }


def holm(p_values):
    """Return p-values adjusted for the number of tests by Holm's method.

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
