"""
Find the worst mistakes
=======================

A mean shows how good a model is, but not where it fails. To find out, sort the samples
by their loss and look at the top.
"""

# %%
# Out-of-fold forecasts for all images of digits.

from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

digits = load_digits()
X, y = digits.data, digits.target
model = make_pipeline(MinMaxScaler(), LogisticRegression(max_iter=500))
proba = cross_val_predict(model, X, y, method="predict_proba")

# %%
# The loss of every image, with and without the penalty.

from sklearn_superior.metrics import penalized_brier_score_samples

pbs = penalized_brier_score_samples(y, proba)
brier = penalized_brier_score_samples(y, proba, penalty=0)
predicted = proba.argmax(axis=1)
is_wrong = predicted != y
print(f"{is_wrong.sum()} of {len(y)} images are misclassified")

# %%
# The twelve images with the greatest PBS. The bars show the probabilities of the ten
# digits: the true one in blue, the predicted one in orange.

import matplotlib.pyplot as plt
import numpy as np

worst = np.argsort(-pbs, kind="stable")[:12]


def show_images(rows):
    fig, axes = plt.subplots(
        4,
        6,
        figsize=(8, 5.6),
        layout="constrained",
        gridspec_kw={"height_ratios": [2.2, 1, 2.2, 1]},
    )
    pictures, bars = axes[::2].ravel(), axes[1::2].ravel()
    for row, picture, bar in zip(rows, pictures, bars, strict=True):
        picture.imshow(digits.images[row], cmap="gray_r")
        picture.set_title(f"{y[row]}, not {predicted[row]}\nPBS {pbs[row]:.2f}", size=9)
        picture.set_axis_off()
        colours = np.full(10, "0.75", dtype=object)
        colours[predicted[row]], colours[y[row]] = "#D55E00", "#0072B2"
        bar.bar(range(10), proba[row], color=list(colours))
        bar.set(ylim=(0, 1), yticks=[])
        bar.set_xticks(range(10), range(10), size=7)
        bar.tick_params(length=0)
        bar.spines[["top", "right", "left"]].set_visible(False)
    plt.show()


show_images(worst)

# %%
# In all of these, the true digit gets almost no probability. Some are hard to read even
# for people, others show what the model lacks.
#
# The Brier score orders the misclassified images in the same way, because all of them
# pay the same penalty. Further down, however, it mixes unconfident right forecasts with
# wrong ones. PBS does not. Each point in the figure is an image.

fig, axes = plt.subplots(1, 2, sharey=True, figsize=(8, 3.6), layout="constrained")
for ax, (name, losses) in zip(axes, {"Brier": brier, "PBS": pbs}.items(), strict=True):
    order = np.argsort(-losses, kind="stable")[: 2 * is_wrong.sum()]
    rank = np.arange(1, len(order) + 1)
    for label, chosen, colour in (
        ("wrong", is_wrong[order], "#D55E00"),
        ("right", ~is_wrong[order], "#0072B2"),
    ):
        ax.plot(
            rank[chosen],
            losses[order][chosen],
            "o",
            markersize=4,
            color=colour,
            label=label,
        )
    ax.set(xlabel=f"rank by {name}", title=name)
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("loss of the image")
axes[1].legend(frameon=False)
plt.show()

# %%
# ``superiority_rate`` quantifies this: among all pairs of a right and a wrong forecast,
# the share in which the wrong one has the greater loss.

from sklearn_superior.metrics import superiority_rate

for rule in ("brier", "log_loss", "penalized_brier", "penalized_log_loss"):
    print(f"{rule:20s} {superiority_rate(y, proba, rule=rule):.5f}")
