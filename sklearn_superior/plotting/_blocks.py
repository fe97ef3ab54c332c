"""Folds as coloured blocks."""

import warnings

import numpy as np

from sklearn_superior.utils._optional import import_optional

ROLES = ("train", "validation", "test", "left out")
# Colours that colour-blind readers tell apart, also in grey.
_COLOURS = ("#9ecae1", "#E69F00", "#b2182b", "#f7f7f7")


class HBlockDisplay:
    """Folds over the rows of the data: which rows train, validate, test.

    Parameters
    ----------
    roles : ndarray of shape (n_folds, n_rows)
        The role of every row in every fold: 0 to train, 1 to validate, 2 to test, 3
        for none of these, as in a gap or in the future.

    groups : array-like of shape (n_rows,), default=None
        The group of every row. The rows of a group are drawn side by side.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it is drawn.

    figure_ : matplotlib Figure
        Its figure.

    image_ : matplotlib AxesImage
        The blocks.

    See Also
    --------
    sklearn_superior.model_selection.HBlockSplit : Makes such folds.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_superior.model_selection import HBlockSplit
    >>> from sklearn_superior.plotting import HBlockDisplay
    >>> display = HBlockDisplay.from_splitter(HBlockSplit(5, gap=1), np.zeros((50, 1)))
    >>> display.roles.shape
    (5, 50)
    >>> display.roles[0, :12]
    array([1, 1, 1, 1, 1, 1, 1, 1, 1, 3, 2, 2], dtype=int8)
    """

    def __init__(self, roles, *, groups=None):
        self.roles = np.asarray(roles)
        self.groups = groups

    @classmethod
    def from_splitter(cls, splitter, X, y=None, *, groups=None, ax=None):
        """Draw the folds of a splitter.

        Parameters
        ----------
        splitter : splitter
            `HBlockSplit`, or any of scikit-learn's; these have no validation part.

        X, y : array-like
            The data to split.

        groups : array-like of shape (n_rows,), default=None
            The groups.

        ax : matplotlib Axes, default=None
            Where to draw. If None, a new figure is made.

        Returns
        -------
        display : HBlockDisplay
        """
        if hasattr(splitter, "split_with_validation"):
            folds = list(splitter.split_with_validation(X, y, groups))
        else:
            with warnings.catch_warnings():  # of groups that it does not take
                warnings.simplefilter("ignore", UserWarning)
                folds = [(a, [], b) for a, b in splitter.split(X, y, groups)]
        n_rows = len(X)
        roles = np.full((len(folds), n_rows), ROLES.index("left out"), dtype=np.int8)
        for fold, parts in enumerate(folds):
            for role, rows in enumerate(parts):
                roles[fold, np.asarray(rows, dtype=int)] = role
        return cls(roles, groups=groups).plot(ax=ax)

    def plot(self, ax=None):
        """Draw the folds.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw. If None, a new figure is made.

        Returns
        -------
        display : HBlockDisplay
            Itself.
        """
        pyplot = import_optional(
            "matplotlib.pyplot", caller="HBlockDisplay", extra="plot"
        )
        from matplotlib.colors import ListedColormap
        from matplotlib.patches import Patch

        n_folds, n_rows = self.roles.shape
        if ax is None:
            height = 1.2 + 0.28 * n_folds
            _, ax = pyplot.subplots(figsize=(8, height), layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        order = np.arange(n_rows)
        if self.groups is not None:
            groups = np.asarray(self.groups)
            order = np.argsort(groups, kind="stable")
            self._mark_groups(groups[order])
        self.image_ = ax.imshow(
            self.roles[:, order],
            aspect="auto",
            interpolation="nearest",
            cmap=ListedColormap(_COLOURS),
            vmin=-0.5,
            vmax=len(ROLES) - 0.5,
            extent=(0, n_rows, n_folds - 0.5, -0.5),
        )
        for fold in range(1, n_folds):  # a line between the folds
            ax.axhline(fold - 0.5, color="white", linewidth=2)
        ax.set_yticks(range(n_folds))
        ax.set_ylabel("fold")
        ax.set_xlabel("row" if self.groups is None else "row, group by group")
        present = np.unique(self.roles)
        ax.legend(
            handles=[
                Patch(facecolor=_COLOURS[k], edgecolor="#888888", label=ROLES[k])
                for k in present
            ],
            loc="lower center",
            bbox_to_anchor=(0.5, 1.0 if self.groups is None else 1.08),
            ncols=len(present),
            frameon=False,
        )
        ax.spines[:].set_visible(False)
        return self

    def _mark_groups(self, groups):
        starts = np.flatnonzero(np.r_[True, groups[1:] != groups[:-1]])
        ends = np.r_[starts[1:], len(groups)]
        for start in starts[1:]:
            self.ax_.axvline(start, color="black", linewidth=1)
        top = self.ax_.secondary_xaxis("top")
        # Names that would run into each other are left out.
        some = slice(None, None, -(-len(starts) // 12))
        top.set_xticks(((starts + ends) / 2)[some], groups[starts][some])
        top.tick_params(length=0)
        top.spines[:].set_visible(False)
