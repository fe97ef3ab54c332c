"""
Size and number of trees in one search
======================================

Which parameters, how many trees, and can you trust the probabilities?
``StagedSearchCV`` trains all folds of a cross-validation in lockstep, scores every
number of trees on the held-out rows, and refits the best candidate on all rows. Here we
compare it with early stopping on a hold-out set.
"""

# %%
# Search
# ------
#
# scikit-learn's images of ten digits: 400 for training, the rest for testing. The
# learning rate is fixed. The search finds the size and the number of the trees.
# ``max_iter`` is the budget, not a parameter of the search.

from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from sklearn_superior.model_selection import StagedSearchCV

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, train_size=400, stratify=y, random_state=0
)
booster = HistGradientBoostingClassifier(
    max_iter=200, learning_rate=0.15, random_state=0
)
search = StagedSearchCV(booster, {"max_leaf_nodes": [3, 6, 15]}).fit(X_train, y_train)
print(search.best_params_, "iterations:", search.best_iteration_ + 1)

# %%
# ``cv_results_`` has the same keys as in ``GridSearchCV``, with each candidate at its
# best iteration:

import pandas as pd

results = pd.DataFrame(search.cv_results_).sort_values("rank_test_score")
print(results[["params", "mean_test_score", "std_test_score", "best_iteration"]])

# %%
# The curves are means over five folds, the bands their standard errors. Larger trees
# stop improving earlier. The circles mark the best number of iterations for each size:
# a comparison at any fixed number would favour one of them. (The first, steep part of
# the curves is cut off.)

import matplotlib.pyplot as plt

display = search.plot()
display.ax_.set_ylabel("refined log loss,\nnegated (greater is better)")
display.ax_.set_ylim(bottom=-0.7)
plt.show()

# %%
# Each size was trained once. A ``GridSearchCV`` over ten numbers of iterations, 20 to
# 200, would have trained 1,100 iterations for each size and fold, and seen ten points
# of each curve.
#
# Compare with a hold-out
# -----------------------
#
# ``EarlyStoppingClassifier`` holds out a tenth of the rows, here 40 images. Its rule
# and patience are the same as those of the search, and we give it the best size of
# trees. Which 40 images are held out is random, so we repeat it with eight seeds.

from sklearn.metrics import accuracy_score, log_loss

from sklearn_superior.early_stopping import EarlyStoppingClassifier


def judge(model):
    loss = log_loss(y_test, model.predict_proba(X_test))
    return loss, 100 * accuracy_score(y_test, model.predict(X_test))


best = booster.set_params(**search.best_params_)
hold_outs = [
    judge(EarlyStoppingClassifier(best, random_state=seed).fit(X_train, y_train))
    for seed in range(8)
]
folds = StagedSearchCV(best, refit="folds").fit(X_train, y_train)
found = {
    "a hold-out,\neight seeds": hold_outs,
    'five folds,\nrefit="all"': [judge(search)],
    'five folds,\nrefit="folds"': [judge(folds)],
}

figure, axes = plt.subplots(2, 1, figsize=(6.4, 4.4), layout="constrained")
colours = ["0.45", "#0072B2", "#D55E00"]
for row, (results, colour) in enumerate(zip(found.values(), colours, strict=True)):
    for ax, values in zip(axes, zip(*results, strict=True), strict=True):
        ax.plot(
            values, [row] * len(values), "o", color=colour, alpha=0.8, clip_on=False
        )
axes[0].set_xlabel("test log loss (lower is better)")
axes[1].set_xlabel("test accuracy in percent (greater is better)")
for ax in axes:
    ax.set_yticks(range(3), list(found))
    ax.set_ylim(2.5, -0.5)
    ax.grid(axis="x", alpha=0.3)
    ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# The hold-outs vary: 40 images say little about when to stop and which temperature to
# use. The search scores all 400 images and trains on all of them: at once with
# ``refit="all"``, the default, and 320 in each fold with ``refit="folds"``. This is one
# small data set and one split. With plenty of rows a hold-out is good enough, and costs
# one training instead of six.
#
# Probabilities without a test set
# --------------------------------
#
# For every training image, ``oof_proba_`` has the probabilities from a fold that has
# not seen it. Scaled by the temperature, they estimate how good the final model will
# be, without any test images. The estimate is rough: the fold models have seen fewer
# rows than the final one, and the number of iterations and the temperature were chosen
# on the same rows.

from sklearn_superior.metrics import scale_temperature

calibrated = scale_temperature(search.oof_proba_, search.temperature_)
losses = {
    "out of fold, raw": log_loss(y_train, search.oof_proba_),
    "out of fold, recalibrated": log_loss(y_train, calibrated),
    "test images, recalibrated": judge(search)[0],
}
print(f"temperature: {search.temperature_:.2f}, log loss:")
for name, loss in losses.items():
    print(f"  {name:36s} {loss:.3f}")
