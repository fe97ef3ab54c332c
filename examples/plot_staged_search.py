"""
Size and number of trees in one search
======================================

One model for use: which parameters, how many trees, and are its probabilities to be
trusted? ``StagedSearchCV`` trains all folds of a cross-validation in step, judges every
number of trees by the rows that the folds leave out, and averages the models of the
folds. Here it is compared with early stopping on a hold-out.
"""

# %%
# Search
# ------
#
# Images of ten digits that come with scikit-learn: 400 to train on, the rest to test.
# The learning rate is fixed. How large the trees should be and how many of them is to
# be found. ``max_iter`` is the budget, not a parameter of the search.

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
# ``cv_results_`` has the keys that it has in ``GridSearchCV``, each setting at its best
# iteration. A few of them make a short table:

import pandas as pd

results = pd.DataFrame(search.cv_results_).sort_values("rank_test_score")
print(results[["params", "mean_test_score", "std_test_score", "best_iteration"]])

# %%
# The curves are the means of five folds, the bands their standard errors. Larger trees
# stop improving earlier. Each size has its own best number of iterations, with a
# circle: a comparison at any fixed number would favour one of them. (The first, steep
# part of the curves is cut off.)

import matplotlib.pyplot as plt

display = search.plot()
display.ax_.set_ylabel("refined penalized log loss,\nnegated (greater is better)")
display.ax_.set_ylim(bottom=-0.9, top=-0.25)
plt.show()

# %%
# Each size of trees was trained once. A ``GridSearchCV`` over ten numbers of
# iterations, 20 to 200, would have trained 1,100 iterations for each size and fold, and
# would have known ten points of each curve.
#
# Compare with a hold-out
# -----------------------
#
# ``EarlyStoppingClassifier`` holds out a tenth of the rows, here 40 images, and stops
# by these. It is given the rule and the patience of the search, and the size of the
# trees that the search has found. Which 40 images are held out is chance, so it is
# repeated with eight seeds.

from sklearn.metrics import accuracy_score, log_loss

from sklearn_superior.early_stopping import EarlyStoppingClassifier


def judge(model):
    loss = log_loss(y_test, model.predict_proba(X_test))
    return loss, 100 * accuracy_score(y_test, model.predict(X_test))


best = booster.set_params(**search.best_params_)
hold_outs = [
    judge(
        EarlyStoppingClassifier(
            best,
            scoring="neg_refined_penalized_log_loss",
            n_iter_no_change=20,
            random_state=seed,
        ).fit(X_train, y_train)
    )
    for seed in range(8)
]
of_all = StagedSearchCV(best, refit="all").fit(X_train, y_train)
found = {
    "a hold-out,\neight seeds": hold_outs,
    'five folds,\nrefit="folds"': [judge(search)],
    'five folds,\nrefit="all"': [judge(of_all)],
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
# The hold-outs differ from each other: 40 images say little about when to stop, and
# about the temperature. The search has judged by all 400 and trained on all 400: with
# ``refit="folds"``, the default, on 320 in each fold, with ``refit="all"`` on all of
# them once more. This is one small data set and one split. With plenty of rows a
# hold-out says enough, and costs one training instead of five or six.
#
# Probabilities without a test set
# --------------------------------
#
# ``oof_proba_`` has, for every training image, the probabilities from a fold that has
# not seen it. After the temperature they tell how good the model in use will be,
# without any test images: roughly, for each image is judged by one model, not by the
# average of five, and the number of iterations and the temperature were chosen on the
# same rows.

from sklearn_superior.metrics import scale_temperature

calibrated = scale_temperature(search.oof_proba_, search.temperature_)
losses = {
    "out of fold, as it is": log_loss(y_train, search.oof_proba_),
    "out of fold, after the temperature": log_loss(y_train, calibrated),
    "test images, after the temperature": judge(search)[0],
}
print(f"temperature: {search.temperature_:.2f}, log loss:")
for name, loss in losses.items():
    print(f"  {name:36s} {loss:.3f}")
