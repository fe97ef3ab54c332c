"""
Treat, discharge or refer
=========================

When some mistakes cost more than others, the most probable class is not always the best
decision. This example makes the decision with the lowest expected cost, and refers
uncertain cases.
"""

# %%
# The data describes breast biopsies. Missing a malignant tumour costs 20 times as much
# as a false alarm.

import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
y = y.map({0: "malignant", 1: "benign"})
costs = pd.DataFrame(
    {
        "treat": {"malignant": 0, "benign": 1},
        "discharge": {"malignant": 20, "benign": 0},
    }
)
print(costs)

# %%
# The search chooses the number of trees by cross-validation and calibrates the
# probabilities out of fold. ``BayesDecisionClassifier`` turns the probabilities into
# decisions. It tunes nothing, so no rows are held out for a threshold.

from sklearn.ensemble import HistGradientBoostingClassifier

from sklearn_superior.model_selection import BayesDecisionClassifier, StagedSearchCV

booster = HistGradientBoostingClassifier(max_iter=200, max_leaf_nodes=8, random_state=0)
model = BayesDecisionClassifier(StagedSearchCV(booster), costs)

X_train, X_test, y_train, y_test = train_test_split(
    X, y, test_size=0.5, stratify=y, random_state=0
)
model.fit(X_train, y_train)

# %%
# The mean cost on the test rows, compared with decisions by the most probable class:

import numpy as np

y_proba = model.predict_proba(X_test)
decided = model.predict(X_test)
most_probable = np.where(y_proba[:, 1] > 0.5, "treat", "discharge")
for name, decision in {"most probable": most_probable, "by costs": decided}.items():
    paid = [costs.loc[label, d] for label, d in zip(y_test, decision, strict=True)]
    print(
        f"{name:14} {np.mean(paid):.3f} per case, {np.sum(decision == 'treat')} treated"
    )

# %%
# Uncertain cases can be referred to a second test. The curve shows the mean cost of the
# remaining cases. The marker is the share of referrals if each of them costs 0.1.

import matplotlib.pyplot as plt

from sklearn_superior.plotting import ReferralCurveDisplay

ReferralCurveDisplay.from_estimator(
    model, X_test, y_test, cost_matrix=costs, name="by costs", referral_cost=0.1
)
plt.show()

# %%
# If referral is one of the decisions, the classifier refers cases itself:

with_referral = costs.assign(refer=0.1)
model = BayesDecisionClassifier(model.estimator, with_referral).fit(X_train, y_train)
print(pd.crosstab(y_test, model.predict(X_test), colnames=["decision"]))
