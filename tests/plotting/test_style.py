"""What the displays share."""

import numpy as np
import pytest

from sklearn_superior.plotting._style import COLOURS, ink, paper, shorten

pyplot = pytest.importorskip("matplotlib.pyplot")


def luminance(colour):
    """Relative luminance, as the Web Content Accessibility Guidelines define it."""
    from matplotlib.colors import to_rgb

    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
        for c in to_rgb(colour)
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_text_and_lines_are_seen_in_any_style(style):
    with pyplot.style.context(style):
        _, ax = pyplot.subplots()
    assert contrast(ink(ax), paper(ax)) > 4.5
    for colour in COLOURS:
        assert contrast(colour, paper(ax)) > 1.8


def test_colours_are_distinct():
    from matplotlib.colors import rgb_to_hsv, to_rgb

    found = np.array([rgb_to_hsv(to_rgb(colour)) for colour in COLOURS])
    for k, (hue, _, value) in enumerate(found):
        for other in found[:k]:
            apart = abs(hue - other[0])
            assert min(apart, 1 - apart) > 0.05 or abs(value - other[2]) > 0.2


def test_long_text_is_shortened_in_the_middle():
    assert shorten("short", 9) == "short"
    assert shorten("participant_7", 9) == "part…nt_7"
    assert shorten("participant_7", 6) == "par…_7"
    for n_most in range(1, 13):
        assert len(shorten("participant_7", n_most)) == n_most
