"""A bar on the terminal."""

import sys


def show_progress(task, n_done, n_all, unit):
    """Redraw the bar, if there is a terminal to see it."""
    if sys.stderr.isatty():
        bar = "#" * (30 * n_done // n_all)
        end = "\n" if n_done == n_all else ""
        line = f"\r{task} [{bar:<30}] {n_done} of {n_all} {unit}"
        print(line, end=end, file=sys.stderr, flush=True)
