"""What the displays share."""

from itertools import combinations

import numpy as np
import pytest

from sklearn_superior.plotting._style import COLOURS, ink, paper, shorten

pyplot = pytest.importorskip("matplotlib.pyplot")


def luminance(colour):
    """Relative luminance, as the Web Content Accessibility Guidelines define it."""
    return linear(colour) @ [0.2126, 0.7152, 0.0722]


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


# Linear RGB as it is seen without one kind of cones (Machado et al., 2009).
SEEN = {
    "all cones": np.eye(3),
    "protanopia": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1]],
    "deuteranopia": [[0.367, 0.861, -0.228], [0.28, 0.673, 0.047], [-0.012, 0.043, 1]],
    "tritanopia": [
        [1.256, -0.077, -0.179],
        [-0.078, 0.931, 0.148],
        [0.005, 0.691, 0.3],
    ],
}


@pytest.mark.parametrize("seen", SEEN)
def test_colours_are_distinct_for_colour_blind_readers(seen):
    """The difference in CIELAB is several times what can just be noticed."""
    labs = [lab(np.clip(SEEN[seen] @ linear(colour), 0, 1)) for colour in COLOURS]
    for one, other in combinations(labs, 2):
        assert np.linalg.norm(one - other) > 14


def linear(colour):
    from matplotlib.colors import to_rgb

    rgb = np.array(to_rgb(colour))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    """Return the CIELAB coordinates of linear sRGB, with the white point D65."""
    xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    relative = xyz @ rgb / np.sum(xyz, axis=1)
    x, y, z = np.where(
        relative > 0.008856, np.cbrt(relative), 7.787 * relative + 16 / 116
    )
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def test_long_text_is_shortened_in_the_middle():
    assert shorten("short", 9) == "short"
    assert shorten("participant_7", 9) == "part…nt_7"
    assert shorten("participant_7", 6) == "par…_7"
    for n_most in range(1, 13):
        assert len(shorten("participant_7", n_most)) == n_most
