r"""
How often do the Brier score and the log loss rank right above wrong?
=====================================================================

The paper's appendix compares random forecasts. Class :math:`i` is true, :math:`x` is a
correct forecast and :math:`q` a wrong one. A rule should give :math:`q` the greater
loss. The paper finds that the Brier score does so in 99.996 % of the pairs with
:math:`q_i < x_i`, and in roughly 63 % of those with :math:`q_i > x_i`. It samples from
a normal distribution, but does not say how. So here are two ways, for several numbers
of classes.
"""

# %%
# Both ways treat all classes the same:
#
# - *uniform*: all probability vectors are equally likely, a Dirichlet distribution with
#   all parameters 1;
# - *softmax*: the softmax of independent standard normal numbers, as if they were the
#   logits of a network.
#
# For a correct forecast, the true class is the one with the greatest entry. For a wrong
# forecast, sampled independently, it is any other class. Each pair then falls into one
# of the two cases.

import numpy as np
from scipy.special import softmax


def draw_uniform(rng, n_pairs, n_classes):
    return rng.dirichlet(np.ones(n_classes), size=n_pairs)


def draw_softmax(rng, n_pairs, n_classes):
    return softmax(rng.normal(size=(n_pairs, n_classes)), axis=1)


def draw_pairs(draw, rng, n_pairs, n_classes):
    x = draw(rng, n_pairs, n_classes)
    x_true = x.argmax(axis=1)
    q = draw(rng, n_pairs, n_classes)
    steps = rng.integers(1, n_classes, size=n_pairs)
    q_true = (q.argmax(axis=1) + steps) % n_classes
    return (x_true, x), (q_true, q)


# %%
# The losses of all forecasts, with and without the penalty. The plain Brier score and
# the plain log loss are the penalized ones with a penalty of 0.

from sklearn_superior.metrics import (
    penalized_brier_score_samples,
    penalized_log_loss_samples,
)

rules = {
    "Brier": (penalized_brier_score_samples, {"penalty": 0}),
    "log loss": (penalized_log_loss_samples, {"penalty": 0}),
    "PBS": (penalized_brier_score_samples, {}),
    "PLL": (penalized_log_loss_samples, {}),
}
samplings = {"uniform": draw_uniform, "softmax": draw_softmax}
n_pairs, class_numbers = 400_000, (3, 4, 5, 10)


def compare(sampling, n_classes):
    """Return which pairs have q_i < x_i, and which each rule ranks correctly."""
    rng = np.random.default_rng(n_classes)
    correct, wrong = draw_pairs(samplings[sampling], rng, n_pairs, n_classes)
    rows = np.arange(n_pairs)
    is_below = wrong[1][rows, wrong[0]] < correct[1][rows, correct[0]]
    labels = np.arange(n_classes)
    ranked = {
        name: loss(*wrong, labels=labels, **options)
        > loss(*correct, labels=labels, **options)
        for name, (loss, options) in rules.items()
    }
    return is_below, ranked


results = {
    (sampling, n_classes): compare(sampling, n_classes)
    for sampling in samplings
    for n_classes in class_numbers
}

# %%
# The percentage of pairs that each rule ranks correctly. The last column is the share
# of the case among all pairs.

line = "{:8s} {:>7s}" + 5 * " {:>9s}"
for case, paper in {"q_i < x_i": 99.996, "q_i > x_i": 63}.items():
    print(f"{case} (the paper's Brier score: {paper} %)")
    print(line.format("sampling", "classes", *rules, "of pairs"))
    for (sampling, n_classes), (is_below, ranked) in results.items():
        chosen = is_below if case == "q_i < x_i" else ~is_below
        shares = [100 * np.mean(ranked[name][chosen]) for name in rules]
        shares = [f"{share:.3f}" for share in (*shares, 100 * np.mean(chosen))]
        print(line.format(sampling, str(n_classes), *shares))
    print()

# %%
# The running share of the Brier score shows how precise the figures are. The second
# case is rare with this sampling, so it has fewer pairs.

import matplotlib.pyplot as plt

fig, axes = plt.subplots(
    2, 2, sharex="row", sharey="row", figsize=(7.2, 5.4), layout="constrained"
)
for (sampling, n_classes), (is_below, ranked) in results.items():
    column = list(samplings).index(sampling)
    for ax, chosen in zip(axes[:, column], (is_below, ~is_below), strict=True):
        right = ranked["Brier"][chosen]
        count = np.arange(1, len(right) + 1)
        shown = np.unique(np.geomspace(100, len(right), 300).astype(int)) - 1
        share = 100 * np.cumsum(right) / count
        ax.plot(count[shown], share[shown], label=f"{n_classes} classes")
for row, (case, paper, limits) in enumerate(
    [("$q_i < x_i$", 99.996, (99.975, 100.001)), ("$q_i > x_i$", 63, (35, 90))]
):
    for ax in axes[row]:
        ax.axhline(paper, color="0.3", linestyle="--", linewidth=1)
        ax.set(xscale="log", ylim=limits, xlabel=f"pairs with {case}")
        ax.ticklabel_format(axis="y", useOffset=False)
        ax.spines[["top", "right"]].set_visible(False)
    axes[row, 0].set_ylabel("ranked correctly, %")
    axes[row, 1].annotate(
        "paper",
        (1, paper),
        xycoords=("axes fraction", "data"),
        xytext=(4, 0),
        textcoords="offset points",
        va="center",
        color="0.3",
    )
for column, sampling in enumerate(samplings):
    axes[0, column].set_title(sampling)
axes[1, 1].legend(frameon=False, ncols=2, loc="upper right", fontsize="small")
plt.show()

# %%
# The paper's figures are within the range of ours, at about four or five classes. The
# second one depends strongly on the number of classes: it is about 70 % with three
# classes and about 50 % with ten.
#
# - The first figure rests on a handful of mistakes, so its last digit is uncertain.
#   With three classes there cannot be any: the worst correct forecast and the best
#   wrong one that give the true class the same probability :math:`p`, where both exist,
#   have the same Brier score :math:`6 p^2 - 6 p + 2`, and it falls as :math:`p` grows.
# - The second figure has a standard error of about 1 %.
# - The log loss only looks at the true class: it is always right in the first case and
#   always wrong in the second. The second case is rare, and there the Brier score gains
#   more than it loses in the first.
# - PBS and PLL rank every pair correctly. That is a theorem, not a matter of sampling.
