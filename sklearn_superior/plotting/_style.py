"""What the displays share: colours for light and dark styles, and what fits where."""

from sklearn_superior.utils._optional import import_optional

# Colours that colour-blind readers tell apart, on white and on black.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
# Width of a character in inches, at the usual font size and at that of the legend.
_CHARACTER, _SMALL_CHARACTER = 0.085, 0.062


def ink(ax):
    """Return the colour of text: black, or white in a dark style."""
    return ax.xaxis.label.get_color()


def paper(ax):
    """Return the colour of the background."""
    return ax.get_facecolor()


def count_characters(ax):
    """Return how many characters fit side by side into the width of the axes."""
    return int(ax.get_position().width * ax.figure.get_figwidth() / _CHARACTER)


def set_labels(ax, labels):
    """Set a label at each of 0, 1, … on the x axis; slanted if they would collide."""
    ax.set_xticks(range(len(labels)), labels)
    widths = [max(map(len, label.split("\n"))) for label in labels]
    pairs = zip(widths, widths[1:] or [0], strict=False)
    if max((a + b) / 2 + 1 for a, b in pairs) > count_characters(ax) / len(labels):
        style = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"}
        flat = [label.replace("\n", " ") for label in labels]
        ax.set_xticks(range(len(labels)), flat, **style)


def shorten(text, n_most):
    """Return the text with at most `n_most` characters, without some in the middle."""
    if len(text) <= n_most:
        return text
    n_end = (n_most - 1) // 2
    return f"{text[: n_most - 1 - n_end]}…{text[len(text) - n_end :]}"


def set_axes(display, ax, size):
    """Set and return the axes of a display: `ax`, or of a new figure if it is None."""
    pyplot = import_optional(
        "matplotlib.pyplot", caller=type(display).__name__, extra="plot"
    )
    if ax is None:
        _, ax = pyplot.subplots(figsize=size, layout="constrained")
    display.ax_, display.figure_ = ax, ax.figure
    return ax


def legend_above(ax, *, make_room):
    """Draw the legend above the axes, in as many columns as fit, at most three.

    With `make_room` the figure becomes taller if the legend has more than two lines.
    """
    _, labels = ax.get_legend_handles_labels()
    longest = max(map(len, labels), default=0) + 10  # with the line before it
    n_fit = int(ax.figure.get_figwidth() / _SMALL_CHARACTER) // longest
    n_columns = max(1, min(3, n_fit, len(labels)))
    if make_room:
        n_lines = -(-len(labels) // n_columns)
        width, height = ax.figure.get_size_inches()
        ax.figure.set_size_inches(width, height + 0.2 * max(0, n_lines - 2))
    ax.legend(
        fontsize="small",
        frameon=False,
        loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
        ncols=n_columns,
    )
