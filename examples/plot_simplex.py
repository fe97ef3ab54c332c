"""
Where a rule prefers wrong forecasts
====================================

A forecast for three classes is a point in a triangle. Here every point is coloured by
its loss, so that you can see a whole rule at once. The first class is the true one.
"""

# %%
# Two forecasts. In A, the true class is the most probable one, if only just. B gives it
# nearly one half, but another class more. So A is right and B is wrong.

import numpy as np

A = np.array([0.34, 0.33, 0.33])
B = np.array([0.49, 0.51, 0.00])

# %%
# The closer a point is to a corner, the more probable is the class of that corner.
# White lines separate the regions by the most probable class: forecasts in the upper
# one are right. Wrong forecasts with a lower loss than some right forecast are hatched.

import matplotlib.pyplot as plt

from sklearn_superior.plotting import ScoringRuleDisplay

CORNERS = np.array([[0.5, np.sqrt(3) / 2], [0.0, 0.0], [1.0, 0.0]])


def mark_forecasts(display):
    for name, forecast, offset in (("A", A, (9, 5)), ("B", B, (-14, 4))):
        x, y = forecast @ CORNERS
        display.ax_.plot(
            x, y, "o", markersize=9, color="#D55E00", markeredgecolor="white", zorder=5
        )
        display.ax_.annotate(
            name,
            (x, y),
            xytext=offset,
            textcoords="offset points",
            ha="center",
            weight="bold",
            zorder=5,
            bbox={"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none"},
        )


def draw(rules, **options):
    fig, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
    for rule, ax in zip(rules, axes, strict=True):
        mark_forecasts(ScoringRuleDisplay.from_rule(rule, ax=ax, **options))
    plt.show()


draw(["brier", "penalized_brier"])

# %%
# B is in the hatched region: its Brier score is lower than that of A. With the penalty
# nothing is hatched, and A beats B. In numbers:

from sklearn.metrics import brier_score_loss, log_loss

from sklearn_superior.metrics import penalized_brier_score_loss, penalized_log_loss

metrics = {
    "Brier": brier_score_loss,
    "PBS": penalized_brier_score_loss,
    "log loss": log_loss,
    "PLL": penalized_log_loss,
}
print(f"{'':8s}      A      B")
for name, metric in metrics.items():
    a, b = (metric([0], [forecast], labels=[0, 1, 2]) for forecast in (A, B))
    print(f"{name:8s} {a:6.3f} {b:6.3f}")

# %%
# The log loss only looks at the probability of the true class, so its contours are
# horizontal. Many wrong forecasts lie above the lowest right one.

draw(["log_loss", "penalized_log_loss"])

# %%
# How far apart are right and wrong? The smallest penalty that separates them,
# ``penalty="minimal"``, lifts the best wrong forecast exactly to the worst right one.
# For the Brier score and three classes it is 1/6. The paper's penalty, the default, is
# 2/3 and leaves a gap of 1/2.

from sklearn_superior.metrics import penalized_brier_score_samples

rng = np.random.default_rng(0)
forecasts = rng.dirichlet(np.ones(3), size=100_000)
is_right = forecasts.argmax(axis=1) == 0
titles = {
    0: "no penalty: Brier score",
    "minimal": 'penalty="minimal"',
    "paper": 'penalty="paper"',
}
fig, axes = plt.subplots(
    3, sharex=True, sharey=True, figsize=(7, 4.8), layout="constrained"
)
for (penalty, title), ax in zip(titles.items(), axes, strict=True):
    losses = penalized_brier_score_samples(
        np.zeros(len(forecasts), dtype=int),
        forecasts,
        labels=[0, 1, 2],
        penalty=penalty,
    )
    bins = np.linspace(0, 2.7, 109)
    ax.hist(losses[is_right], bins, color="#0072B2", alpha=0.7, label="right")
    ax.hist(losses[~is_right], bins, color="#D55E00", alpha=0.7, label="wrong")
    ax.text(0.99, 0.85, title, transform=ax.transAxes, ha="right", va="top")
    ax.set_yticks([])
    ax.spines[["top", "right", "left"]].set_visible(False)
axes[0].legend(
    frameon=False,
    ncols=2,
    loc="lower center",
    bbox_to_anchor=(0.5, 1),
    fontsize="small",
)
axes[-1].set(xlabel="loss of random forecasts, all equally likely", xlim=(0, 2.7))
plt.show()
