"""Make the figure of README and home page; rerun it when the drawing changes."""

from pathlib import Path

import matplotlib.pyplot as plt

from sklearn_superior.plotting import ScoringRuleDisplay

FOLDER = Path(__file__).parent / "_static"
TITLES = {"brier": "Brier score", "penalized_brier": "PBS"}
# Readable on a phone, which shows the figure 400 pixels wide.
STYLE = {
    "font.size": 13,
    "axes.titlesize": 16,
    "hatch.color": "white",
    "hatch.linewidth": 1.5,
}


def draw_home():
    """Draw the Brier score and PBS over all forecasts of three classes."""
    fig, axes = plt.subplots(1, 2, figsize=(6.4, 2.8), layout="constrained")
    fig.get_layout_engine().set(wspace=0.06)
    colours = {"vmin": 0, "vmax": 2 + 2 / 3, "colorbar": False}  # those of PBS
    for (rule, title), ax in zip(TITLES.items(), axes, strict=True):
        display = ScoringRuleDisplay.from_rule(rule, ax=ax, **colours)
        ax.texts[0].remove()  # what the hatches mean: in the caption
        ax.set_title(title, pad=8)
        ax.set(xlim=(-0.13, 1.13), ylim=(-0.13, 1.0))
    fig.colorbar(display.mesh_, ax=axes, label="loss", shrink=0.8, ticks=[0, 1, 2])
    return fig


if __name__ == "__main__":
    with plt.rc_context(STYLE):
        draw_home().savefig(FOLDER / "superior.png", dpi=200, bbox_inches="tight")
