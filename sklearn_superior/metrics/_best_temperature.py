"""The search for the best inverse temperature, with and without a prior.

A function `evaluate` gives the sum of the log losses at an inverse temperature, its
first and its second derivative. The sum is convex in the inverse temperature.
"""

from math import copysign, exp, log

import numpy as np

# The temperatures among which the best one is looked for.
LOW, HIGH = 1e-6, 1e6
_MAX_STEPS = 200
# Steps without a change of sign after which the search tries the end of the range.
_PATIENCE = 8
# Number of points at which a better minimum is looked for, and the distance from the
# known minimum within which none is.
_N_PLACES = 257
_NEIGHBOURHOOD = 0.02


def best_inverse(evaluate, start=1.0):
    """Return the inverse temperature with the lowest sum of log losses.

    It is the end of the range to which the loss falls, if it falls all the way, and 1
    if it is the same everywhere. The root of the first derivative is kept between the
    largest place where it is negative and the smallest where it is positive. A Newton
    step that leaves them is replaced by their geometric mean.
    """
    least, most = 1 / HIGH, 1 / LOW
    low, high, place = None, None, start
    for n_steps in range(_MAX_STEPS):
        _, first, second = evaluate(place)
        if first == 0 and (second > 0 or n_steps == 0):
            return place
        if first == 0:  # so extreme that nothing changes any more
            return most
        if first < 0:
            low = place
        else:
            high = place
        if low == most or high == least:
            return place
        step = -first / second if second > 0 else copysign(np.inf, -first)
        new = min(max(place + step, least), most)
        if low is None or high is None:
            if n_steps > _PATIENCE:  # there may be no root, or it is too far away
                new = most if high is None else least
        elif not low < new < high:
            new = (low * high) ** 0.5
        if abs(new - place) <= 1e-6 * place:
            return new
        place = new
    return place


def best_with_prior(evaluate, strength, start=1.0):
    """Return the inverse temperature b with the lowest sum of log losses and prior.

    The prior is ``strength * log(b)**2 / 2``. Let u be the logarithm of b. Where the
    derivative of the sum is positive at b = 1, the minimum is at u < 0, where all is
    convex in u. Else it is at u > 0, where there may be several: Newton's method finds
    one, and the tangents of the sum, which is convex in b, show where a better one can
    be. The search evaluates such places until there are none.
    """
    tangents = []

    def objective(place):
        inverse = exp(place)
        value, first, second = evaluate(inverse)
        tangents.append((place, value, first))
        slope = inverse * first + strength * place
        curvature = inverse * first + inverse**2 * second + strength
        return value + strength * place**2 / 2, slope, curvature

    limit = log(HIGH)
    place, value = _descend(objective, log(start), -limit, limit)
    if 0 < place < 1 and not _is_alone(tangents, place):
        objective(min(_end_of_rise(place), limit))  # mostly proves it
    for _ in range(_MAX_STEPS):
        candidate = _better_place(tangents, strength, place, value)
        if candidate is None:
            break
        other, *around = candidate
        other, other_value = _descend(objective, other, *around, best=value)
        if other_value < value:
            place, value = other, other_value
    return exp(place)


def _descend(objective, place, low, high, best=None):
    """Return a minimum in an interval and its value, by safeguarded Newton steps.

    With `best` the search ends after the first step if that is not below it.
    """
    least, most = low, high
    low, high = low - 1, high + 1
    for _ in range(_MAX_STEPS):
        value, slope, curvature = objective(place)
        if slope == 0 or (best is not None and value >= best):
            break
        best = None
        if slope < 0:
            low = place
        else:
            high = place
        if low == most or high == least:
            break
        step = -slope / curvature if curvature > 0 else copysign(1.0, -slope)
        new = place + step
        new = new if low < new < high else (low + high) / 2
        new = min(max(new, least), most)
        if abs(new - place) <= 1e-6:
            place = new
            break
        place = new
    return place, value


def _better_place(tangents, strength, place, value):
    """Return where a lower value is possible, and the interval around it, or None.

    A minimum is possible where the slope can be zero, that is between the tangents on
    the left and on the right, and where the tangents are below the value that is known.
    """
    if place <= 0 or (place < 1 and _is_alone(tangents, place)):
        return None
    at, values, slopes = np.array(sorted(tangents)).T
    # The objective rises where the sum does, and far away the prior alone is too large.
    most = min([*at[slopes >= 0], log(HIGH), (2 * value / strength) ** 0.5])
    places = np.linspace(0, max(most, place), _N_PLACES)
    inverses, prior = np.exp(places), strength * places
    bound = values + slopes * (inverses[:, np.newaxis] - np.exp(at))
    bound = np.maximum(bound.max(axis=1), 0) + prior * places / 2
    left = np.searchsorted(at, places, side="right")
    least = np.concatenate([[-np.inf], slopes])[left]
    greatest = np.append(slopes, np.inf)[left]
    is_possible = bound < value - 1e-9 * (1 + abs(value))
    is_possible &= inverses * least + prior <= 0
    is_possible &= inverses * greatest + prior >= 0
    is_possible &= np.abs(places - place) > _NEIGHBOURHOOD
    if not is_possible.any():
        return None
    best = int(np.argmin(np.where(is_possible, bound, np.inf)))
    gaps = np.flatnonzero(~is_possible)
    before, after = gaps[gaps < best], gaps[gaps > best]
    low = places[before[-1]] if len(before) else 0.0
    return places[best], low, places[after[0]] if len(after) else places[-1]


def _is_alone(tangents, place):
    """Tell whether a minimum below 1 is known to be the only one.

    To its left the objective falls. To its right it rises until `_end_of_rise` at
    least, and wherever the sum of the losses rises.
    """
    rising = [at for at, _, slope in tangents if slope >= 0]
    if not rising:
        return False
    first = min(rising)
    return first * exp(-first) >= place * exp(-place)


def _end_of_rise(place):
    """Return the other solution of ``u * exp(-u) == place * exp(-place)``, above 1."""
    other = 2.0
    for _ in range(50):
        other = log(other) - log(place) + place
    return other * (1 - 1e-9)
