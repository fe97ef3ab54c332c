"""h-block cross-validation: contiguous blocks of every series move along."""

import numpy as np
from sklearn.model_selection import BaseCrossValidator

from sklearn_superior.model_selection._series import find_series
from sklearn_superior.utils._checks import says_instead
from sklearn_superior.utils._sklearn_compat import (
    StrOptions,
    check_parameters,
    integer_from,
)
from sklearn_superior.utils._warnings import warn

_TRAIN, _VALIDATION, _TEST, _DROPPED = range(4)


class HBlockSplit(BaseCrossValidator):
    """Cross-validation by contiguous blocks of time series, with gaps between.

    Every series is cut into `n_blocks` blocks of consecutive rows. In each fold
    some blocks in a row validate, the next ones test and all others train; from
    fold to fold the stretch moves on by `step` blocks. Rows close to the stretch
    can be left out of the training part, so that neighbours which resemble each
    other, or windows which share samples, are never on both sides.

    `split`, and with it `cross_val_score`, does not use the validation blocks, a fifth
    of the rows: set ``n_validation_blocks=0`` to train on them if nothing is stopped
    early or tuned. `split_with_validation` yields all three parts.

    .. warning::
       Three mistakes give scores that mean something else than you think:

       - *No gap.* The default is ``gap=0``. Windows that overlap then share samples
         across the border of two parts, and the score is too good. Set
         ``gap=recommended_gap(length, overlap)``.
       - *New subjects.* Every group is in every part. So the score is for more data of
         the same persons or machines. For new ones test on whole groups, for example
         with :class:`~sklearn.model_selection.StratifiedGroupKFold`.
       - *Classes one after another.* If the classes of a series are recorded one after
         another, a fold may train without one of them. Then let `groups` name the
         series *and* the class, so that each stretch has blocks of its own.

    Parameters
    ----------
    n_blocks : int, default=10
        Number of blocks of each series, at least 3.

    n_validation_blocks : int, default=None
        Number of validation blocks; 0 for none, which leaves more to train on where
        no validation part is needed. If None, a fifth of `n_blocks`, rounded down.

    n_test_blocks : int, default=None
        Number of test blocks, at least 1. If None, three tenths of `n_blocks`,
        rounded down, but at least 1.

    step : int, default=1
        Number of blocks between the starts of two folds.

    circular : bool, default=True
        Whether the stretch continues at the first block when it passes the last
        one. Then there are ``ceil(n_blocks / step)`` folds, and with ``step=1``
        every block is tested equally often. Otherwise only those folds are made
        whose stretch fits.

    gap : int, default=0
        Number of rows to leave out of the training part before and after each
        validation and test row, and out of the validation part before and after
        each test row. Counted within the row's own series, without wrapping. For
        overlapping windows, :func:`recommended_gap` says how many share samples.

    past_only : bool, default=False
        Whether to train only on the blocks before the stretch, as one has to if the
        model is to predict the future. Then the blocks after it are not used, the
        first stretch follows at least one block of training, the last one ends with
        the last block, and `circular` has no effect.

    evaluate_on : {"test", "validation"}, default="test"
        The second part that `split` yields: ``"test"`` to measure a model,
        ``"validation"`` to tune it. Over all folds every row is in either part; to
        measure a model that was tuned, tune it within each fold, with
        `split_with_validation`.

    See Also
    --------
    sliding_windows : Cut series into windows.
    recommended_gap : The gap that keeps overlapping windows apart.
    sklearn.model_selection.TimeSeriesSplit : Trains on the past only, without groups.

    Notes
    -----
    The blocks are sized as :func:`numpy.array_split` does. The series are given by
    `groups` (persons, recordings, sensors, …), whose rows need not be adjacent;
    without them all rows are one series, in their order. `groups` is requested by
    default when metadata routing is on.

    With ``step=n_test_blocks``, where that divides `n_blocks`, circular folds test
    every row exactly once, as :func:`sklearn.model_selection.cross_val_predict` needs
    it.

    Tools that do not pass `groups` on to their splitter take the folds themselves:
    ``cv=list(HBlockSplit().split(X, groups=groups))``.

    With ``gap=0`` this is the scheme of the paper on superior scoring rules;
    ``circular=False`` has the folds of its code.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_superior.model_selection import HBlockSplit
    >>> X = np.zeros((10, 1))
    >>> cv = HBlockSplit(n_blocks=5, n_validation_blocks=1, n_test_blocks=1)
    >>> for train, validation, test in cv.split_with_validation(X):
    ...     print(train, validation, test)
    [4 5 6 7 8 9] [0 1] [2 3]
    [0 1 6 7 8 9] [2 3] [4 5]
    [0 1 2 3 8 9] [4 5] [6 7]
    [0 1 2 3 4 5] [6 7] [8 9]
    [2 3 4 5 6 7] [8 9] [0 1]

    With a gap, the neighbours of the stretch are left out, and those of the test
    rows also from the validation part:

    >>> cv = HBlockSplit(
    ...     n_blocks=5, n_validation_blocks=1, n_test_blocks=1, gap=1, circular=False
    ... )
    >>> for train, validation, test in cv.split_with_validation(X):
    ...     print(train, validation, test)
    [5 6 7 8 9] [0] [2 3]
    [0 7 8 9] [2] [4 5]
    [0 1 2 9] [4] [6 7]
    [0 1 2 3 4] [6] [8 9]

    Trained on the past only:

    >>> cv = HBlockSplit(
    ...     n_blocks=5, n_validation_blocks=1, n_test_blocks=1, past_only=True
    ... )
    >>> for train, validation, test in cv.split_with_validation(X):
    ...     print(train, validation, test)
    [0 1] [2 3] [4 5]
    [0 1 2 3] [4 5] [6 7]
    [0 1 2 3 4 5] [6 7] [8 9]

    As any splitter, with windows that overlap and the gap that they need:

    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn_superior.datasets import make_motion_signals
    >>> from sklearn_superior.model_selection import recommended_gap, sliding_windows
    >>> recordings = make_motion_signals(n_classes=3, n_timepoints=600, random_state=0)
    >>> windows = sliding_windows(
    ...     recordings.data,
    ...     recordings.target,
    ...     length=40,
    ...     overlap=0.75,
    ...     groups=recordings.groups,
    ... )
    >>> scores = cross_val_score(
    ...     LogisticRegression(max_iter=500),
    ...     windows.X.reshape(len(windows.X), -1),
    ...     windows.y,
    ...     groups=windows.groups,
    ...     cv=HBlockSplit(5, n_validation_blocks=0, gap=recommended_gap(40, 0.75)),
    ... )
    >>> len(scores)
    5
    """

    # scikit-learn's metadata routing: `groups` is passed on without being asked.
    __metadata_request__split = {"groups": True}

    _parameter_constraints = {
        "n_blocks": [integer_from(3)],
        "n_validation_blocks": [integer_from(0), None],
        "n_test_blocks": [integer_from(1), None],
        "step": [integer_from(1)],
        "circular": ["boolean"],
        "gap": [integer_from(0)],
        "past_only": ["boolean"],
        "evaluate_on": [StrOptions({"test", "validation"})],
    }

    @says_instead(n_splits="the number of folds follows from n_blocks= and step=")
    def __init__(
        self,
        n_blocks=10,
        *,
        n_validation_blocks=None,
        n_test_blocks=None,
        step=1,
        circular=True,
        gap=0,
        past_only=False,
        evaluate_on="test",
    ):
        self.n_blocks = n_blocks
        self.n_validation_blocks = n_validation_blocks
        self.n_test_blocks = n_test_blocks
        self.step = step
        self.circular = circular
        self.gap = gap
        self.past_only = past_only
        self.evaluate_on = evaluate_on
        self._check_parameters()

    def get_n_splits(self, X=None, y=None, groups=None):
        """Return the number of folds.

        Parameters
        ----------
        X, y, groups : object
            Not used; here for compatibility.

        Returns
        -------
        n_splits : int
        """
        self._check_parameters()
        return len(self._starts())

    def split(self, X, y=None, groups=None):
        """Yield the row numbers of the training and the evaluation part of each fold.

        Parameters
        ----------
        X : array-like of shape (n_samples, ...)
            The data, in time order within each series.

        y : object
            Not used; here for compatibility.

        groups : array-like of shape (n_samples,), default=None
            The series of every row. If None, all rows are one series.

        Yields
        ------
        train : ndarray of int64
        evaluation : ndarray of int64
            The test part, or the validation part if ``evaluate_on="validation"``.
        """
        self._check_parameters()
        role = _TEST if self.evaluate_on == "test" else _VALIDATION
        for roles in self._roles_of_rows(X, groups):
            yield _rows(roles, _TRAIN), _rows(roles, role)

    def split_with_validation(self, X, y=None, groups=None):
        """Yield the row numbers of all three parts of each fold.

        Parameters
        ----------
        X, y, groups : as in `split`
            The data.

        Yields
        ------
        train : ndarray of int64
        validation : ndarray of int64
            Empty if there are no validation blocks.
        test : ndarray of int64
        """
        for roles in self._roles_of_rows(X, groups):
            yield tuple(_rows(roles, r) for r in (_TRAIN, _VALIDATION, _TEST))

    def block_ids(self, X, groups=None):
        """Return the block of every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, ...)
            The data.

        groups : array-like of shape (n_samples,), default=None
            The series of every row.

        Returns
        -------
        blocks : ndarray of int64 of shape (n_samples,)
            From 0 to ``n_blocks - 1``.
        """
        series = self._find_series(X, groups)
        cells = _Cells(series.sizes, self.n_blocks, gap=0)
        return series.to_row_order(cells.spread(cells.block))

    def _roles_of_rows(self, X, groups):
        """Yield the role of every row, fold by fold."""
        self._check_parameters()
        series = self._find_series(X, groups)
        cells = _Cells(series.sizes, self.n_blocks, self.gap)
        folds = [cells.roles(self._roles_of_blocks(start)) for start in self._starts()]
        for k, roles in enumerate(folds):
            self._check_parts(k, cells.count_rows(roles))
        self._warn_of_untrained_series(series, cells, folds)
        for roles in folds:
            yield series.to_row_order(cells.spread(roles))

    def _starts(self):
        """Return the first block of the stretch of each fold."""
        last = self.n_blocks - sum(self._n_parts())
        if self.past_only:
            return range(last, 0, -self.step)[::-1]
        return range(0, self.n_blocks if self.circular else last + 1, self.step)

    def _roles_of_blocks(self, start):
        n_validation, n_test = self._n_parts()
        roles = np.full(self.n_blocks, _TRAIN, dtype=np.uint8)
        if self.past_only:
            roles[start:] = _DROPPED
        stretch = start + np.arange(n_validation + n_test)
        stretch %= self.n_blocks
        roles[stretch[:n_validation]] = _VALIDATION
        roles[stretch[n_validation:]] = _TEST
        return roles

    def _find_series(self, X, groups):
        series = find_series(X, groups)
        short = np.flatnonzero(series.sizes < self.n_blocks)
        if len(short):
            who = "X" if groups is None else f"group {series.name(short[0])}"
            raise ValueError(
                f"{who} has {series.sizes[short[0]]} rows, too few for "
                f"n_blocks={self.n_blocks}."
            )
        return series

    def _check_parts(self, fold, n_rows):
        n_validation, _ = self._n_parts()
        empty = "training" if n_rows[_TRAIN] == 0 else None
        if n_validation and n_rows[_VALIDATION] == 0:
            empty = "validation"
        if empty:
            raise ValueError(
                f"gap={self.gap} leaves no {empty} row in fold {fold}, where "
                f"{n_rows.sum()} rows are in n_blocks={self.n_blocks} blocks. Make the "
                "gap smaller or the blocks fewer"
                + (", or set n_validation_blocks=0." if n_validation else ".")
            )

    def _warn_of_untrained_series(self, series, cells, folds):
        for k, roles in enumerate(folds):
            n_trained = np.where(roles == _TRAIN, cells.lengths, 0).sum(axis=1)
            if not n_trained.all():
                untrained = np.flatnonzero(n_trained == 0)
                warn(
                    f"gap={self.gap} leaves no training row of {len(untrained)} of "
                    f"{len(series.names)} groups in fold {k}, among them "
                    f"{series.name(untrained[0])}.",
                )
                return

    def _check_parameters(self):
        """Check all parameters, and make NumPy's integers those of Python."""
        checked = check_parameters(
            "HBlockSplit", self._parameter_constraints, vars(self)
        )
        vars(self).update(checked)
        n_validation, n_test = self._n_parts()
        if n_validation + n_test >= self.n_blocks:
            raise ValueError(
                f"{n_validation} validation and {n_test} test blocks leave no training "
                f"block: n_blocks={self.n_blocks} must be larger than their sum."
            )
        if self.evaluate_on == "validation" and n_validation == 0:
            raise ValueError(
                "evaluate_on='validation' needs validation blocks, but "
                f"n_validation_blocks is {self.n_validation_blocks} and "
                f"n_blocks={self.n_blocks}."
            )

    def _n_parts(self):
        """Return the numbers of validation and test blocks."""
        n_validation, n_test = self.n_validation_blocks, self.n_test_blocks
        if n_validation is None:
            n_validation = self.n_blocks // 5
        if n_test is None:
            n_test = max(1, 3 * self.n_blocks // 10)
        return n_validation, n_test


def _rows(roles, role):
    return np.flatnonzero(roles == role).astype(np.int64, copy=False)


class _Cells:
    """Runs of rows that share their role in every fold.

    A role changes only where a block begins, or `gap` rows before or after. These
    places cut each series into cells; a fold need only be worked out for cells.
    """

    def __init__(self, sizes, n_blocks, gap):
        self.n_blocks = n_blocks
        size = sizes[:, None]
        short, n_long = np.divmod(size, n_blocks)  # as numpy.array_split does
        k = np.arange(n_blocks + 1)
        bounds = k * short + np.minimum(k, n_long)
        cuts = [bounds - gap, bounds, bounds + gap] if gap else [bounds]
        cuts = np.sort(np.clip(np.hstack(cuts), 0, size), axis=1)
        self.lengths = np.diff(cuts, axis=1)

        def block_at(position):
            position = np.clip(position, 0, size - 1)
            in_long = position // (short + 1)
            in_short = n_long + (position - n_long * (short + 1)) // short
            return np.where(in_long < n_long, in_long, in_short)

        # The blocks that can be reached within `gap` rows, the same for all rows.
        first_row = cuts[:, :-1]
        self.block = block_at(first_row)
        self.first_near = block_at(first_row - gap)
        self.last_near = block_at(first_row + gap)

    def roles(self, roles_of_blocks):
        """Role of every cell, given that of the blocks."""
        own = roles_of_blocks[self.block]
        near_any = self._is_near(roles_of_blocks != _TRAIN)
        near_test = self._is_near(roles_of_blocks == _TEST)
        dropped = (own == _TRAIN) & near_any | (own == _VALIDATION) & near_test
        return np.where(dropped, np.uint8(_DROPPED), own)

    def _is_near(self, is_meant):
        n_before = np.concatenate([[0], np.cumsum(is_meant)])
        return n_before[self.last_near + 1] > n_before[self.first_near]

    def count_rows(self, roles):
        """Count the rows in each role."""
        return np.bincount(roles.ravel(), self.lengths.ravel(), _DROPPED + 1).astype(
            int
        )

    def spread(self, values):
        """Give every row the value of its cell."""
        return np.repeat(values.ravel(), self.lengths.ravel())
