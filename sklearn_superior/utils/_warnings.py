"""Warnings that point at the user's line, however deep they arise."""

import sys
import warnings
from contextlib import contextmanager
from threading import current_thread, main_thread

# Frames of these modules are passed over: ours, and the wrappers around `fit`.
_INSIDE = ("sklearn_superior.", "sklearn.base", "sklearn.callback", "contextlib")


def warn(message, category=UserWarning):
    """Warn at the line outside of this package from which the call came."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals.get("__name__", "").startswith(_INSIDE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def ignored_warnings(message="", category=Warning):
    """Ignore warnings in this context, if it is in the main thread.

    The filters are those of the whole process. Threads that leave such contexts in the
    order in which they came leave the filters of the first one for good, also if the
    other context is that of another library.
    """
    if current_thread() is not main_thread():
        yield
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message, category)
        yield
