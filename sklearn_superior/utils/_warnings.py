"""Warnings that point at the user's line, however deep they arise."""

import sys
import warnings

# Frames of these modules are passed over: ours, and the wrappers around `fit`.
_INSIDE = ("sklearn_superior.", "sklearn.base", "sklearn.callback", "contextlib")


def warn(message, category=UserWarning):
    """Warn at the line outside of this package from which the call came."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals.get("__name__", "").startswith(_INSIDE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
