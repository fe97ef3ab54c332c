"""Warnings that point at the user's line, however deep the call is."""

import sys
import warnings
from contextlib import contextmanager
from threading import current_thread, main_thread

# Frames of these modules are skipped: ours, and the wrappers around `fit`.
_INSIDE = ("sklearn_superior.", "sklearn.base", "sklearn.callback", "contextlib")


def warn(message, category=UserWarning):
    """Warn at the line outside this package that made the call."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals.get("__name__", "").startswith(_INSIDE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def ignored_warnings(message="", category=Warning):
    """Ignore warnings in this context, in the main thread only.

    Warning filters are global. If two threads leave such contexts in the order in which
    they entered them, the filters of the first one remain for good.
    """
    if current_thread() is not main_thread():
        yield
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message, category)
        yield
