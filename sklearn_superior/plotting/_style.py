"""What the displays share: axes, colours for light and dark styles, and the legend."""

from sklearn_superior.utils._optional import import_optional

# Distinct for colour-blind readers, and visible on white and on black.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#882255", "#56B4E9")
# Width of a character in inches, at the default font size and at that of the legend.
_CHARACTER, _SMALL_CHARACTER = 0.085, 0.062


def make_axes(display, ax, size, n_rows=1):
    """Return a list of axes: of a new figure, or the given `ax` alone.

    Sets the attributes `ax_` and `figure_` of the display.
    """
    pyplot = import_optional(
        "matplotlib.pyplot", caller=type(display).__name__, extra="plot"
    )
    axes = [ax]
    if ax is None:
        options = {"figsize": size, "layout": "constrained", "sharex": True}
        axes = list(pyplot.subplots(n_rows, squeeze=False, **options)[1][:, 0])
    for each in axes:
        each.spines[["top", "right"]].set_visible(False)
    display.ax_, display.figure_ = axes[0], axes[0].figure
    return axes


def ink(ax):
    """Return the colour of text: black, or white in a dark style."""
    return ax.xaxis.label.get_color()


def paper(ax):
    """Return the colour of the background."""
    return ax.get_facecolor()


def count_characters(ax):
    """Return how many characters fit into the width of the axes."""
    return int(ax.get_window_extent().width / ax.figure.dpi / _CHARACTER)


def shorten(text, n_most):
    """Return at most `n_most` characters of a text, leaving out its middle."""
    if len(text) <= n_most:
        return text
    n_end = (n_most - 1) // 2
    return f"{text[: n_most - 1 - n_end]}…{text[len(text) - n_end :]}"


def legend_above(ax, *, make_room=False, **options):
    """Draw the legend above the axes, in as many columns as fit.

    With `make_room`, the figure grows if the legend has more than two lines. A figure
    without a layout engine gets one: otherwise the legend could be cut off.
    """
    figure = ax.figure.figure  # of a subfigure, the figure that it is in
    handles = options.get("handles", ax.get_legend_handles_labels()[0])
    labels = [handle.get_label() for handle in handles]
    longest = max(map(len, labels), default=0) + 10  # including the line before it
    n_fit = int(figure.get_figwidth() / _SMALL_CHARACTER) // longest
    n_columns = max(1, min(4, n_fit, len(labels)))
    if make_room:
        n_lines = -(-len(labels) // n_columns)
        width, height = figure.get_size_inches()
        figure.set_size_inches(width, height + 0.2 * max(0, n_lines - 2))
    # A tight layout does not keep subfigures apart.
    if figure.get_layout_engine() is None and not figure.subfigs:
        figure.set_layout_engine("tight")
    style = {"fontsize": "small", "frameon": False, "ncols": n_columns}
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), **style | options)
