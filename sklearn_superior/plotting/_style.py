"""What the displays share: axes, colours for light and dark styles, and the legend."""

from sklearn_superior.utils._optional import import_optional

# Distinct for colour-blind readers, and visible on white and on black.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#882255", "#56B4E9")
_CHARACTER = 0.085  # width of a character in inches, at the default font size
# Columns and size of the legend; the first that fits is taken.
_LEGENDS = (
    *((4, "small"), (3, "small"), (2, "small"), (2, "x-small")),
    *((1, "small"), (2, "xx-small"), (1, "xx-small")),
)


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
    # A tight layout does not keep subfigures apart.
    if figure.get_layout_engine() is None and not figure.subfigs:
        figure.set_layout_engine("tight")
    style = {"frameon": False, "loc": "lower center", "bbox_to_anchor": (0.5, 1.0)}
    style |= {"columnspacing": 1.5} | options
    n_entries = len(options.get("handles", ax.get_legend_handles_labels()[0]))
    for n_columns, fontsize in _LEGENDS:
        n_lines = -(-n_entries // n_columns)
        n_even = -(-n_entries // max(1, n_lines))  # columns of the same length
        legend = ax.legend(ncols=max(1, n_even), fontsize=fontsize, **style)
        if _fits(legend, ax, any_height=make_room):
            break
    if make_room:
        width, height = figure.get_size_inches()
        figure.set_size_inches(width, height + 0.2 * max(0, n_lines - 2))


def _fits(legend, ax, *, any_height):
    """Return whether the legend fits into the part of the figure that is for `ax`."""
    size, figure = legend.get_window_extent(), ax.figure.bbox
    width, height, spec = 1.0, 1.0, ax.get_subplotspec()
    if spec is not None:
        grid = spec.get_gridspec()
        width, height = len(spec.colspan) / grid.ncols, len(spec.rowspan) / grid.nrows
    is_low = size.height <= 0.5 * height * figure.height
    return size.width <= width * figure.width and (any_height or is_low)
