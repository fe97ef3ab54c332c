"""A scoring rule over the forecasts of three classes."""

import numpy as np

import sklearn_superior.metrics
from sklearn_superior.metrics._rules import find_rule
from sklearn_superior.plotting._style import make_axes

# The corners of the triangle: the true class is on top.
_CORNERS = np.array([[0.5, np.sqrt(3) / 2], [0.0, 0.0], [1.0, 0.0]])
_CENTRE = _CORNERS.mean(axis=0)


class ScoringRuleDisplay:
    """A scoring rule over the forecasts of three classes, the first of which is true.

    Each point of the triangle is a forecast: the closer to a corner, the more probable
    its class. Darker is better. White lines separate the three regions of the most
    probable class; forecasts in the upper region are correct. Wrong forecasts that
    score better than some correct one are hatched: a superior rule has none.

    Parameters
    ----------
    forecasts : ndarray of shape (n_forecasts, 3)
        The forecasts.

    losses : ndarray of shape (n_forecasts,)
        Loss of each forecast if the first class is true.

    title : str, default=None
        Title of the figure.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the triangle.

    figure_ : matplotlib Figure
        Figure containing the axes.

    mesh_ : matplotlib collection
        The coloured triangles.

    reversed_ : ndarray of bool of shape (n_forecasts,)
        Wrong forecasts that score better than some correct one.

    Examples
    --------
    >>> from sklearn_superior.plotting import ScoringRuleDisplay
    >>> display = ScoringRuleDisplay.from_rule("penalized_brier")
    >>> display.ax_.get_title()
    'penalized Brier score'
    """

    def __init__(self, forecasts, losses, *, title=None):
        self.forecasts = np.asarray(forecasts)
        self.losses = np.asarray(losses)
        self.title = title

    @classmethod
    def from_rule(
        cls,
        rule="penalized_brier",
        *,
        resolution=120,
        ax=None,
        vmin=None,
        vmax=None,
        colorbar=True,
        **options,
    ):
        """Draw a rule.

        Parameters
        ----------
        rule : str, default="penalized_brier"
            Name of the rule, such as ``"brier"`` or ``"penalized_log_loss"``.

        resolution : int, default=120
            Number of steps along a side of the triangle.

        ax : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.

        vmin, vmax : float, default=None
            Losses at the ends of the colour map, to compare several rules.

        colorbar : bool, default=True
            Whether to draw a colour bar.

        **options
            Options of the loss, such as ``penalty="minimal"``.

        Returns
        -------
        display : ScoringRuleDisplay
        """
        row, penalty = find_rule(rule)
        samples = getattr(sklearn_superior.metrics, row.samples_name)
        forecasts = _make_forecasts(resolution)
        losses = samples(
            np.zeros(len(forecasts), dtype=int),
            forecasts,
            labels=[0, 1, 2],
            **{"penalty": penalty} | options,
        )
        title = rule.replace("_", " ").replace("brier", "Brier score")
        display = cls(forecasts, losses, title=title)
        return display.plot(ax=ax, vmin=vmin, vmax=vmax, colorbar=colorbar)

    def plot(self, ax=None, *, vmin=None, vmax=None, colorbar=True):
        """Draw the rule.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.

        vmin, vmax : float, default=None
            Losses at the ends of the colour map, to compare several rules.

        colorbar : bool, default=True
            Whether to draw a colour bar.

        Returns
        -------
        display : ScoringRuleDisplay
            The display itself.
        """
        (ax,) = make_axes(self, ax, (5, 4.4))
        x, y = (self.forecasts @ _CORNERS).T
        top = np.quantile(self.losses, 0.98) if vmax is None else vmax
        self.mesh_ = ax.tripcolor(
            x, y, self.losses, cmap="viridis", vmin=vmin, vmax=top, rasterized=True
        )
        self._mark_reversed(x, y)
        for a, b in ((0, 1), (1, 2), (0, 2)):
            middle = (_CORNERS[a] + _CORNERS[b]) / 2
            ax.plot(*zip(_CENTRE, middle, strict=True), color="white", linewidth=2)
        if colorbar:
            self.figure_.colorbar(self.mesh_, ax=ax, label="loss", shrink=0.75)
        ax.text(*_CORNERS[0] + [0, 0.03], "true class", ha="center", va="bottom")
        ax.text(*_CORNERS[1] - [0, 0.03], "class 1", ha="center", va="top")
        ax.text(*_CORNERS[2] - [0, 0.03], "class 2", ha="center", va="top")
        ax.set(xlim=(-0.1, 1.1), ylim=(-0.2, 0.95), aspect="equal")
        ax.set_axis_off()
        ax.set_title(self.title or "", pad=10)
        return self

    def _mark_reversed(self, x, y):
        correct = self.forecasts.argmax(axis=1) == 0
        worst = self.losses[correct].max()
        self.reversed_ = ~correct & (self.losses < worst)
        remark = "no wrong forecast is better than a correct one"
        if self.reversed_.any():
            remark = "hatched: wrong, yet better than a correct forecast"
            is_reversed = self.reversed_.astype(float)
            self.ax_.tricontourf(
                x, y, is_reversed, levels=[0.5, 1.5], colors="none", hatches=["xxx"]
            )
        self.ax_.text(0.5, -0.12, remark, ha="center", va="top", fontsize="small")


def _make_forecasts(resolution):
    """Return a grid of forecasts over the simplex."""
    steps = np.arange(resolution + 1)
    grid = np.stack(np.meshgrid(steps, steps, indexing="ij"), axis=-1).reshape(-1, 2)
    grid = grid[grid.sum(axis=1) <= resolution]
    return np.column_stack([grid, resolution - grid.sum(axis=1)]) / resolution
