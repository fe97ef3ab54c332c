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

# In this order: a row keeps its role unless a block within `gap` rows has a higher one.
_DROPPED, _TRAIN, _VALIDATION, _TEST = range(4)


class HBlockSplit(BaseCrossValidator):
    """Cross-validation on contiguous blocks of time series, with gaps between parts.

    Each series is cut into `n_blocks` blocks of consecutive rows. In each fold, a
    stretch of consecutive blocks is held out: first the validation blocks, then the
    test blocks. All others are for training. The stretch moves on by `step` from fold
    to fold. A gap around it keeps similar neighbours, or windows that share samples,
    from ending up on both sides.

    `split_with_validation` yields all three parts. `split`, and therefore
    `cross_val_score`, uses the validation blocks for training too, so no rows are
    wasted.

    .. warning::
       Three mistakes lead to misleading scores:

       - *No gap.* The default is ``gap=0``. Overlapping windows then share samples
         across the border between two parts, and scores are too optimistic. Set
         ``gap=recommended_gap(length, overlap)``.
       - *New subjects.* Every group is in every part, so scores are for more data from
         the same people or machines. To score on new ones, test on whole groups, for
         example with :class:`~sklearn.model_selection.StratifiedGroupKFold`.
       - *One class after another.* If a series contains one class after another, the
         training part of a fold may lack a class. In this case, let `groups` identify
         the series *and* the class, so that each has its own blocks.

    Parameters
    ----------
    n_blocks : int, default=10
        Number of blocks per series, at least 3.

    n_validation_blocks : int, default=None
        Number of validation blocks, possibly 0. If None, a fifth of `n_blocks`,
        rounded down.

    n_test_blocks : int, default=None
        Number of test blocks, at least 1. If None, three tenths of `n_blocks`,
        rounded down, but at least 1.

    step : int, default=1
        Number of blocks between the starts of two folds.

    circular : bool, default=True
        Whether the stretch wraps around from the last block to the first one. There are
        then ``ceil(n_blocks / step)`` folds, and with ``step=1`` all blocks are tested
        equally often. Otherwise, only folds whose stretch fits are generated.

    gap : int, default=0
        Number of rows to leave out of the training part on both sides of each
        validation and test row, and out of the validation part on both sides of each
        test row. In `split`, rows are left out next to test rows only. Counted within a
        series, without wrapping around. For overlapping windows, use
        :func:`recommended_gap`.

    past_only : bool, default=False
        Whether to train only on blocks before the stretch, as needed for forecasting;
        in `split`, on all blocks before the test blocks. Later blocks are not used. The
        first stretch follows at least one training block, and the last one ends with
        the last block. `circular` has no effect.

    evaluate_on : {"test", "validation"}, default="test"
        The second part that `split` yields. ``"test"`` to evaluate a model.
        ``"validation"`` to tune it: the test blocks are then held out, and the training
        part is that of `split_with_validation`. Over all folds, every row is in both
        parts; to evaluate a model after tuning, tune within each fold, with
        `split_with_validation`.

    See Also
    --------
    sliding_windows : Cut series into windows.
    recommended_gap : The gap that keeps overlapping windows apart.
    sklearn.model_selection.TimeSeriesSplit : Trains on the past only, without groups.

    Notes
    -----
    Block sizes are those of :func:`numpy.array_split`. Series are given by `groups`
    (persons, recordings, sensors, …), whose rows need not be adjacent. Without groups,
    all rows are one series, in their order. `groups` is requested by default when
    metadata routing is enabled.

    If ``step=n_test_blocks`` divides `n_blocks`, circular folds test every row exactly
    once, as required by :func:`sklearn.model_selection.cross_val_predict`.

    For tools that do not pass `groups` to the splitter, pass the folds themselves:
    ``cv=list(HBlockSplit().split(X, groups=groups))``.

    With ``gap=0`` this is the scheme of the paper on superior scoring rules;
    ``circular=False`` gives the folds of its code.

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

    `split` trains on the validation blocks as well:

    >>> for train, test in cv.split(X):
    ...     print(train, test)
    [0 1 4 5 6 7 8 9] [2 3]
    [0 1 2 3 6 7 8 9] [4 5]
    [0 1 2 3 4 5 8 9] [6 7]
    [0 1 2 3 4 5 6 7] [8 9]
    [2 3 4 5 6 7 8 9] [0 1]

    With a gap, neighbours of the stretch are left out of training, and neighbours of
    test rows out of validation:

    >>> cv = HBlockSplit(
    ...     n_blocks=5, n_validation_blocks=1, n_test_blocks=1, gap=1, circular=False
    ... )
    >>> for train, validation, test in cv.split_with_validation(X):
    ...     print(train, validation, test)
    [5 6 7 8 9] [0] [2 3]
    [0 7 8 9] [2] [4 5]
    [0 1 2 9] [4] [6 7]
    [0 1 2 3 4] [6] [8 9]

    Train on the past only:

    >>> cv = HBlockSplit(
    ...     n_blocks=5, n_validation_blocks=1, n_test_blocks=1, past_only=True
    ... )
    >>> for train, validation, test in cv.split_with_validation(X):
    ...     print(train, validation, test)
    [0 1] [2 3] [4 5]
    [0 1 2 3] [4 5] [6 7]
    [0 1 2 3 4 5] [6 7] [8 9]

    With overlapping windows and the gap they need:

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
    ...     cv=HBlockSplit(5, gap=recommended_gap(40, 0.75)),
    ... )
    >>> len(scores)
    5
    """

    # scikit-learn's metadata routing: `groups` is requested by default.
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
            Ignored, exist for API consistency.

        Returns
        -------
        n_splits : int
        """
        self._check_parameters()
        return len(self._starts())

    def split(self, X, y=None, groups=None):
        """Generate indices of the training and the evaluation part of each fold.

        Parameters
        ----------
        X : array-like of shape (n_samples, ...)
            The data, in time order within each series.

        y : object
            Ignored, exists for API consistency.

        groups : array-like of shape (n_samples,), default=None
            The series of each row. If None, all rows are one series.

        Yields
        ------
        train : ndarray of int64
            All rows outside of the gap to the test rows, or the training part of
            `split_with_validation` if ``evaluate_on="validation"``.
        evaluation : ndarray of int64
            The test part, or the validation part if ``evaluate_on="validation"``.
        """
        self._check_parameters()
        tests = self.evaluate_on == "test"
        for roles in self._roles_of_rows(X, groups, validates=not tests):
            yield _rows(roles, _TRAIN), _rows(roles, _TEST if tests else _VALIDATION)

    def split_with_validation(self, X, y=None, groups=None):
        """Generate indices of all three parts of each fold.

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
        for roles in self._roles_of_rows(X, groups, validates=True):
            yield tuple(_rows(roles, r) for r in (_TRAIN, _VALIDATION, _TEST))

    def block_ids(self, X, groups=None):
        """Return the block of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, ...)
            The data.

        groups : array-like of shape (n_samples,), default=None
            The series of each row.

        Returns
        -------
        blocks : ndarray of int64 of shape (n_samples,)
            From 0 to ``n_blocks - 1``.
        """
        self._check_parameters()
        series = self._find_series(X, groups)
        return series.to_row_order(self._blocks_in_layout(series))

    def _roles_of_rows(self, X, groups, *, validates):
        """Yield the role of each row, fold by fold.

        Without validation, the validation blocks are training blocks, and the gap is
        that to the test blocks.
        """
        self._check_parameters()
        series = self._find_series(X, groups)
        block = self._blocks_in_layout(series)
        first, last = self._blocks_within_gap(series, block)
        has_warned = False
        for fold, start in enumerate(self._starts()):
            of_blocks = self._roles_of_blocks(start)
            if not validates:
                of_blocks[of_blocks == _VALIDATION] = _TRAIN
            # highest[i, j]: the highest role among the blocks from i to j.
            above = np.triu(np.broadcast_to(of_blocks, 2 * of_blocks.shape))
            highest = np.maximum.accumulate(above, axis=1)
            roles = of_blocks[block]
            roles[highest[first, last] > roles] = _DROPPED
            self._check_parts(fold, of_blocks, roles)
            if not has_warned:
                has_warned = self._warn_of_untrained_series(fold, series, roles)
            yield series.to_row_order(roles)

    def _blocks_in_layout(self, series):
        """Return the block of each row, series by series."""
        blocks = np.arange(self.n_blocks)
        short, n_long = np.divmod(series.sizes[:, None], self.n_blocks)
        sizes = short + (blocks < n_long)  # as numpy.array_split does
        return np.repeat(np.tile(blocks, len(sizes)), sizes.ravel())

    def _blocks_within_gap(self, series, block):
        """Return the first and the last block within `gap` rows of each row."""
        if self.gap == 0:
            return block, block
        rows, gap = np.arange(len(block)), min(self.gap, len(block))
        end = np.repeat(np.cumsum(series.sizes), series.sizes)
        begin = end - np.repeat(series.sizes, series.sizes)
        first = block[np.maximum(rows - gap, begin)]
        return first, block[np.minimum(rows + gap, end - 1)]

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
        stretch = (start + np.arange(n_validation + n_test)) % self.n_blocks
        roles[stretch[:n_validation]] = _VALIDATION
        roles[stretch[n_validation:]] = _TEST
        return roles

    def _find_series(self, X, groups):
        series = find_series(X, groups)
        shortest = np.argmin(series.sizes)
        if series.sizes[shortest] < self.n_blocks:
            who = "X" if groups is None else f"group {series.name(shortest)}"
            raise ValueError(
                f"{who} has {series.sizes[shortest]} rows, too few for "
                f"n_blocks={self.n_blocks}."
            )
        return series

    def _check_parts(self, fold, of_blocks, roles):
        for role, name in ((_TRAIN, "training"), (_VALIDATION, "validation")):
            if role in of_blocks and not np.any(roles == role):
                raise ValueError(
                    f"gap={self.gap} leaves no {name} row in fold {fold}, with "
                    f"{len(roles)} rows and n_blocks={self.n_blocks}. Use a smaller "
                    "gap or fewer blocks."
                )

    def _warn_of_untrained_series(self, fold, series, roles):
        """Warn if the gap leaves no training row of a series; return whether it did."""
        begin = np.cumsum(series.sizes) - series.sizes
        untrained = np.flatnonzero(~np.logical_or.reduceat(roles == _TRAIN, begin))
        if len(untrained):
            warn(
                f"gap={self.gap} leaves no training row of {len(untrained)} of "
                f"{len(series.names)} groups in fold {fold}, among them "
                f"{series.name(untrained[0])}."
            )
        return len(untrained) > 0

    def _check_parameters(self):
        """Check all parameters, and convert NumPy integers to Python ones."""
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
                "evaluate_on='validation' requires validation blocks, but "
                f"n_validation_blocks={self.n_validation_blocks} and "
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
