"""
Stop three boosting libraries by the same score
===============================================

scikit-learn, XGBoost and LightGBM each have their own early stopping, with their own
scores. :class:`~sklearn_superior.early_stopping.EarlyStoppingClassifier` stops all of
them by the same score, here the penalized Brier score, and keeps the best stage.
"""

# %%
# Synthetic data with five classes. About one label in twelve is wrong.

from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

X, y = make_classification(
    3000,
    n_features=20,
    n_informative=8,
    n_classes=5,
    flip_y=0.1,
    random_state=0,
)
X, X_test, y, y_test = train_test_split(X, y, stratify=y, random_state=0)
X_train, X_val, y_train, y_val = train_test_split(X, y, stratify=y, random_state=0)

# %%
# Each library's own parameter sets the maximum of 300 iterations. All use trees with at
# most eight leaves and the same learning rate.

from lightgbm import LGBMClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from xgboost import XGBClassifier

boosters = {
    "HistGradientBoosting": HistGradientBoostingClassifier(
        max_iter=300, max_leaf_nodes=8, learning_rate=0.2, random_state=0
    ),
    "XGBoost": XGBClassifier(
        n_estimators=300, max_depth=3, learning_rate=0.2, n_jobs=1, random_state=0
    ),
    "LightGBM": LGBMClassifier(
        n_estimators=300,
        num_leaves=8,
        learning_rate=0.2,
        n_jobs=1,
        verbose=-1,
        random_state=0,
    ),
}

# %%
# We ask for PBS by name; the default is the refined log loss. We also pass validation
# data to ``fit``. Without it, a tenth of the training data would be held out.

from sklearn_superior.early_stopping import EarlyStoppingClassifier

models = {}
for name, booster in boosters.items():
    model = EarlyStoppingClassifier(booster, scoring="neg_penalized_brier_score")
    models[name] = model.fit(X_train, y_train, X_val=X_val, y_val=y_val)

# %%
# ``validation_scores_`` has the score of every stage, and ``best_iteration_`` is the
# stage that is kept, counted from 0. ``estimator_`` is the library's own classifier,
# cut back to that stage.

from sklearn.metrics import f1_score

from sklearn_superior.metrics import neg_penalized_brier_scorer

print(f"{'':20s} trained   kept   test F1   test PBS")
for name, model in models.items():
    f1 = f1_score(y_test, model.predict(X_test), average="macro")
    pbs = -neg_penalized_brier_scorer(model, X_test, y_test)
    kept = model.best_iteration_ + 1
    print(f"{name:20s} {model.n_iter_:7d} {kept:6d} {f1:9.3f} {pbs:10.3f}")

# %%
# The curves end where training stopped. The points are the stages that are kept. At the
# same learning rate, XGBoost takes smaller steps than the others and needs more of
# them.

import matplotlib.pyplot as plt

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for (name, model), colour in zip(
    models.items(), ("#0072B2", "#D55E00", "#009E73"), strict=True
):
    ax.plot(model.validation_scores_, color=colour, label=name)
    ax.plot(model.best_iteration_, model.best_score_, "o", markersize=8, color=colour)
ax.set(xlabel="iteration", ylabel="validation score (−PBS)")
ax.legend(frameon=False, loc="lower right")
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# A single data set does not rank the libraries. To use a library's own early stopping
# with the same score, see the ``eval_metric`` functions in
# ``sklearn_superior.integrations``.
