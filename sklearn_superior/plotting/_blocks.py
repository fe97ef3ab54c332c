"""Folds as coloured blocks."""

import warnings

import numpy as np

from sklearn_superior.plotting._style import (
    count_characters,
    ink,
    legend_above,
    make_axes,
    paper,
    shorten,
)
from sklearn_superior.utils._arrays import read_array
from sklearn_superior.utils._sklearn_compat import count_rows

ROLES = ("train", "validation", "test", "left out")
# Distinct for colour-blind readers and in greyscale. Rows that are left out nearly have
# the colour of the background.
_COLOURS = ("#9ecae1", "#E69F00", "#b2182b")


class HBlockDisplay:
    """Visualisation of folds: the rows for training, validation and test.

    Parameters
    ----------
    roles : ndarray of shape (n_folds, n_rows)
        Role of every row in every fold: 0 for training, 1 for validation, 2 for test,
        3 for none of these, such as rows in a gap or in the future.

    groups : array-like of shape (n_rows,), default=None
        Group of every row. The rows of a group are drawn side by side.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the blocks.

    figure_ : matplotlib Figure
        Figure containing the axes.

    image_ : matplotlib AxesImage
        The blocks.

    See Also
    --------
    sklearn_superior.model_selection.HBlockSplit : Splitter with such folds.

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
            `HBlockSplit`, drawn with all three roles, or any scikit-learn splitter,
            which has no validation rows.

        X, y : array-like
            The data to split.

        groups : array-like of shape (n_rows,), default=None
            Group of every row.

        ax : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.

        Returns
        -------
        display : HBlockDisplay
        """
        if hasattr(splitter, "split_with_validation"):
            folds = list(splitter.split_with_validation(X, y, groups))
        else:
            with warnings.catch_warnings():  # about groups that the splitter ignores
                warnings.simplefilter("ignore", UserWarning)
                folds = [(a, [], b) for a, b in splitter.split(X, y, groups)]
        roles = np.full((len(folds), count_rows(X)), 3, dtype=np.int8)
        for fold, parts in enumerate(folds):
            for role, rows in enumerate(parts):
                roles[fold, np.asarray(rows, dtype=int)] = role
        return cls(roles, groups=groups).plot(ax=ax)

    def plot(self, ax=None):
        """Draw the folds.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.

        Returns
        -------
        display : HBlockDisplay
            The display itself.
        """
        n_folds, n_rows = self.roles.shape
        (ax,) = make_axes(self, ax, (8, 1.2 + 0.28 * n_folds))
        from matplotlib.colors import ListedColormap, to_rgb
        from matplotlib.patches import Patch

        faint = 0.96 * np.array(to_rgb(paper(ax))) + 0.04 * np.array(to_rgb(ink(ax)))
        colours = (*map(to_rgb, _COLOURS), tuple(faint))
        order, pad = np.arange(n_rows), 0.5
        if self.groups is not None:
            groups = read_array(self.groups, "groups")
            order, pad = np.argsort(groups, kind="stable"), 2.4  # room for the names
            self._mark_groups(groups[order])
        self.image_ = ax.imshow(
            self.roles[:, order],
            aspect="auto",
            interpolation="nearest",
            cmap=ListedColormap(colours),
            vmin=-0.5,
            vmax=len(ROLES) - 0.5,
            extent=(0, n_rows, n_folds - 0.5, -0.5),
        )
        for fold in range(1, n_folds):  # a line between the folds
            ax.axhline(fold - 0.5, color=paper(ax), linewidth=2)
        ax.set_yticks(range(n_folds))
        ax.set_ylabel("fold")
        ax.set_xlabel("row" if self.groups is None else "row, group by group")
        patches = [
            Patch(facecolor=colours[k], edgecolor="#888888", label=ROLES[k])
            for k in np.unique(self.roles)
        ]
        legend_above(ax, handles=patches, borderaxespad=pad)
        ax.spines[:].set_visible(False)
        return self

    def _mark_groups(self, groups):
        """Draw a line between groups, and write their names above."""
        starts = np.flatnonzero(np.r_[True, groups[1:] != groups[:-1]])
        ends = np.r_[starts[1:], len(groups)]
        characters_per_row = count_characters(self.ax_) / len(groups)
        names, n_taken = {}, 0.0
        for start, end in zip(starts, ends, strict=True):
            if start:
                self.ax_.axvline(start, color=ink(self.ax_), linewidth=1)
            n_most = max(9, int((end - start) * characters_per_row) - 1)
            text, centre = shorten(str(groups[start]), n_most), (start + end) / 2
            first = centre * characters_per_row - len(text) / 2
            if not names or first >= n_taken + 1:  # does not run into the previous one
                names[centre], n_taken = text, first + len(text)
        top = self.ax_.secondary_xaxis("top")
        top.set_xticks(list(names), list(names.values()))
        top.tick_params(length=0)
        top.spines[:].set_visible(False)
