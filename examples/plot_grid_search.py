"""
Tune a classifier by the penalized Brier score
==============================================

How many neighbours should vote? The answer depends on the score. Here we search the
same grid by the accuracy, by the Brier score and by the penalized Brier score.
"""

# %%
# scikit-learn's images of ten digits: 300 for training, the rest for testing.

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, train_size=300, stratify=y, random_state=0
)

# %%
# Pass the PBS scorer like any other. ``GridSearchCV`` takes several scorers at once, so
# every model is trained once and scored three times. Normally ``refit`` names the score
# that decides. Here we leave it open, because we want all three answers.

from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier

from sklearn_superior.metrics import neg_penalized_brier_scorer

neighbours = list(range(1, 16))
search = GridSearchCV(
    KNeighborsClassifier(),
    {"n_neighbors": neighbours},
    scoring={
        "accuracy": "accuracy",
        "Brier": "neg_brier_score",
        "PBS": neg_penalized_brier_scorer,
    },
    refit=False,
).fit(X_train, y_train)
scores = {
    name: search.cv_results_[f"mean_test_{name}"]
    for name in ("accuracy", "Brier", "PBS")
}
best = {name: neighbours[values.argmax()] for name, values in scores.items()}

# %%
# All three scores fall with many neighbours, but their maxima differ.

import matplotlib.pyplot as plt

fig, axes = plt.subplots(1, 3, sharex=True, figsize=(9, 3.2), layout="constrained")
colours = {"accuracy": "0.3", "Brier": "#0072B2", "PBS": "#D55E00"}
titles = {"accuracy": "accuracy", "Brier": "−Brier score", "PBS": "−PBS"}
for ax, (name, values) in zip(axes, scores.items(), strict=True):
    ax.plot(neighbours, values, "o-", markersize=4, color=colours[name])
    ax.plot(best[name], values.max(), "o", markersize=10, color=colours[name])
    ax.annotate(
        f"best: {best[name]}",
        (best[name], values.max()),
        xytext=(0, 9),
        textcoords="offset points",
        color=colours[name],
        weight="bold",
    )
    ax.margins(y=0.15)
    ax.set(title=titles[name], xlabel="number of neighbours", xticks=[1, 5, 10, 15])
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("mean of five folds")
plt.show()

# %%
# The accuracy ignores probabilities. It chooses one neighbour, whose forecasts are all
# 0 or 1. The Brier score chooses two: two neighbours can disagree, and it does not
# matter that the order of the classes then decides the vote. PBS charges for both
# inaccurate probabilities and wrong votes, and chooses three.
#
# The results on unseen images:

from sklearn.metrics import accuracy_score, brier_score_loss

from sklearn_superior.metrics import penalized_brier_score_loss

print("chosen by   neighbours   accuracy    Brier      PBS")
for name, n_neighbors in best.items():
    model = KNeighborsClassifier(n_neighbors).fit(X_train, y_train)
    proba = model.predict_proba(X_test)
    print(
        f"{name:10s} {n_neighbors:11d} "
        f"{accuracy_score(y_test, model.predict(X_test)):10.3f} "
        f"{brier_score_loss(y_test, proba):8.3f} "
        f"{penalized_brier_score_loss(y_test, proba):8.3f}"
    )

# %%
# The mean PBS is the mean Brier score plus 0.9 times the error rate, where 0.9 is
# :math:`(c - 1)/c` for ten classes. So it balances the other two. One small grid is an
# illustration, not evidence. To see which rule chooses well on your data, compare them
# on many folds, as in :ref:`sphx_glr_gallery_plot_compare_rules.py`.
