"""Folds as coloured blocks."""

import warnings

import numpy as np

from sklearn_superior.plotting._style import (
    count_characters,
    ink,
    paper,
    set_axes,
    shorten,
)
from sklearn_superior.utils._arrays import read_array
from sklearn_superior.utils._sklearn_compat import count_rows

ROLES = ("train", "validation", "test", "left out")
# Colours that colour-blind readers tell apart, also in grey. The last role has nearly
# the colour of the background.
_COLOURS = ("#9ecae1", "#E69F00", "#b2182b")


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
            with warnings.catch_warnings():  # that the splitter ignores groups
                warnings.simplefilter("ignore", UserWarning)
                folds = [(a, [], b) for a, b in splitter.split(X, y, groups)]
        n_rows = count_rows(X)
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
        n_folds, n_rows = self.roles.shape
        ax = set_axes(self, ax, (8, 1.2 + 0.28 * n_folds))
        from matplotlib.colors import ListedColormap, to_rgb
        from matplotlib.patches import Patch

        faint = 0.96 * np.array(to_rgb(paper(ax))) + 0.04 * np.array(to_rgb(ink(ax)))
        colours = (*map(to_rgb, _COLOURS), tuple(faint))
        order = np.arange(n_rows)
        if self.groups is not None:
            groups = read_array(self.groups, "groups")
            order = np.argsort(groups, kind="stable")
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
        present = np.unique(self.roles)
        ax.legend(
            handles=[
                Patch(facecolor=colours[k], edgecolor="#888888", label=ROLES[k])
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
            self.ax_.axvline(start, color=ink(self.ax_), linewidth=1)
        top = self.ax_.secondary_xaxis("top")
        names = _names_that_fit(
            list(map(str, groups[starts])), starts, ends, count_characters(self.ax_)
        )
        top.set_xticks(list(names), list(names.values()))
        top.tick_params(length=0)
        top.spines[:].set_visible(False)


def _names_that_fit(names, starts, ends, n_characters):
    """Return the names to write, by their places; long ones are shortened.

    A name that would run into the one before is left out.
    """
    characters_per_row = n_characters / ends[-1]
    written, n_taken = {}, 0.0
    for name, start, end in zip(names, starts, ends, strict=True):
        text = shorten(name, max(9, int((end - start) * characters_per_row) - 1))
        centre = (start + end) / 2
        first = centre * characters_per_row - len(text) / 2
        if not written or first >= n_taken + 1:
            written[centre] = text
            n_taken = first + len(text)
    return written
