"""Checks of parameters, with errors that say what is allowed and what came."""

from math import inf
from numbers import Integral, Real

import numpy as np


def check_integer(name, value, *, least):
    """Check that a parameter is an int from `least` up.

    Examples
    --------
    >>> check_integer("gap", -1, least=0)
    Traceback (most recent call last):
    ValueError: The 'gap' parameter must be an int in the range [0, inf). Got -1.
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(
            f"The {name!r} parameter must be an int in the range [{least}, inf). "
            f"Got {value!r}."
        )


def check_bool(name, value):
    """Check that a parameter is a bool.

    Examples
    --------
    >>> check_bool("resume", "no")
    Traceback (most recent call last):
    ValueError: The 'resume' parameter must be a bool. Got 'no'.
    """
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"The {name!r} parameter must be a bool. Got {value!r}.")


def check_real(name, value, *, low=0, below=inf, open_low=False, closed=False):
    """Check that a parameter is a number in [low, below).

    Or in (low, below) with `open_low`, or in [low, below] if `closed`.

    Examples
    --------
    >>> check_real("overlap", 75, below=1)
    Traceback (most recent call last):
    ValueError: The 'overlap' parameter must be a float in the range [0, 1). Got 75.
    """
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    is_inside = is_number and (low <= value < below or (closed and value == below))
    if not is_inside or (open_low and value == low):
        left, right = "(" if open_low else "[", "]" if closed else ")"
        raise ValueError(
            f"The {name!r} parameter must be a float in the range "
            f"{left}{low}, {below}{right}. Got {value!r}."
        )
