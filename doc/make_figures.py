"""Make the figure of the home page; run it again when the drawing changes."""

from pathlib import Path

import matplotlib.pyplot as plt

from sklearn_superior.plotting import ScoringRuleDisplay

FOLDER = Path(__file__).parent / "_static"


def draw_home():
    """Draw the Brier score and PBS over all forecasts of three classes."""
    fig, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
    colours = {"vmin": 0, "vmax": 2 + 2 / 3, "colorbar": False}  # those of PBS
    for rule, ax in zip(("brier", "penalized_brier"), axes, strict=True):
        display = ScoringRuleDisplay.from_rule(rule, ax=ax, **colours)
    fig.colorbar(display.mesh_, ax=axes, label="loss", shrink=0.75)
    return fig


if __name__ == "__main__":
    draw_home().savefig(FOLDER / "superior.png", dpi=110, bbox_inches="tight")
