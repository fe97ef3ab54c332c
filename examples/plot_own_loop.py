"""
Early stopping in your own loop
===============================

:class:`~sklearn_superior.early_stopping.EarlyStopper` only keeps track of scores and
knows nothing about models. Here it stops a handwritten gradient boosting.
"""

# %%
# Images of digits: 600 for training, 400 for validation, the rest for testing.

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

X, y = load_digits(return_X_y=True)
X_train, X_rest, y_train, y_rest = train_test_split(
    X, y, train_size=600, stratify=y, random_state=0
)
X_val, X_test, y_val, y_test = train_test_split(
    X_rest, y_rest, train_size=400, stratify=y_rest, random_state=0
)

# %%
# A stage of boosting fits a tree to the residuals of the probabilities, for all classes
# at once, and adds a multiple of it to the logits. The loop then scores the validation
# data and asks the stopper. Greater scores are better, so losses are negated.

import numpy as np
from scipy.special import softmax
from sklearn.tree import DecisionTreeRegressor

from sklearn_superior.early_stopping import EarlyStopper
from sklearn_superior.metrics import penalized_brier_score_loss

target = np.eye(10)[y_train]
logits = np.zeros((len(X_train), 10))
logits_val = np.zeros((len(X_val), 10))
trees = []
stopper = EarlyStopper(n_iter_no_change=10)

for stage in range(500):
    residual = target - softmax(logits, axis=1)
    tree = DecisionTreeRegressor(max_depth=6, max_features=8, random_state=stage)
    trees.append(tree.fit(X_train, residual))
    logits += 2 * tree.predict(X_train)
    logits_val += 2 * tree.predict(X_val)
    if stopper.update(-penalized_brier_score_loss(y_val, softmax(logits_val, axis=1))):
        break

print(f"{stopper.n_iter} stages trained, stage {stopper.best_iteration} is the best")

# %%
# The stopper only counts. What to keep is up to you. Here we drop the trees after the
# best stage. For a network, copy the weights whenever ``stopper.is_best`` is true.

trees = trees[: stopper.best_iteration + 1]


def predict_proba(X):
    return softmax(sum(2 * tree.predict(X) for tree in trees), axis=1)


proba = predict_proba(X_test)
print(f"accuracy on the test images {np.mean(proba.argmax(axis=1) == y_test):.3f}")
print(f"PBS on the test images      {penalized_brier_score_loss(y_test, proba):.3f}")

# %%
# ``stopper.scores`` has all scores. In the grey area no stage improved on the best one.

import matplotlib.pyplot as plt

best = stopper.best_iteration
fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
ax.plot(stopper.scores, color="#0072B2")
ax.plot(best, stopper.best_score, "o", color="#D55E00")
ax.axvspan(best, stopper.n_iter - 1, color="0.93", linewidth=0)
ax.annotate(
    f"best: stage {best}",
    (best, stopper.best_score),
    xytext=(0, 8),
    textcoords="offset points",
    ha="right",
    color="#D55E00",
)
ax.margins(y=0.12)
ax.set(xlabel="stage", ylabel="validation score (−PBS)")
ax.spines[["top", "right"]].set_visible(False)
plt.show()
