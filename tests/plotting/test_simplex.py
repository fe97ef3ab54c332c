"""What `ScoringRuleDisplay` shows."""

import numpy as np
import pytest

from sklearn_superior.metrics import superiority_rate
from sklearn_superior.plotting import ScoringRuleDisplay

pyplot = pytest.importorskip("matplotlib.pyplot")


@pytest.mark.parametrize(
    ("rule", "superior"),
    [
        ("brier", False),
        ("log_loss", False),
        ("penalized_brier", True),
        ("penalized_log_loss", True),
        ("penalized_spherical", True),
    ],
)
def test_reversed_forecasts_are_hatched(rule, superior):
    display = ScoringRuleDisplay.from_rule(rule, resolution=30)
    assert len(display.forecasts) == 31 * 32 // 2
    np.testing.assert_allclose(display.forecasts.sum(axis=1), 1)
    assert display.losses.argmin() == display.forecasts[:, 0].argmax()
    assert display.reversed_.any() != superior
    rate = superiority_rate(
        np.zeros(len(display.forecasts), dtype=int),
        display.forecasts,
        rule=rule,
        labels=[0, 1, 2],
    )
    assert (rate == 1) == superior
    texts = {text.get_text() for text in display.ax_.texts}
    assert {"true class", "class 1", "class 2"} < texts
    assert ("no wrong forecast is better than a correct one" in texts) == superior


def test_options_of_the_loss_and_common_colours():
    minimal = ScoringRuleDisplay.from_rule(
        "penalized_brier", resolution=12, penalty="minimal"
    )
    plain = ScoringRuleDisplay.from_rule("brier", resolution=12)
    wrong = minimal.forecasts.argmax(axis=1) != 0
    np.testing.assert_allclose(
        (minimal.losses - plain.losses)[wrong], 1 / 6, atol=1e-12
    )
    assert plain.plot(vmin=0, vmax=3).mesh_.get_clim() == (0, 3)
    with pytest.raises(ValueError, match="rule"):
        ScoringRuleDisplay.from_rule("brie")
