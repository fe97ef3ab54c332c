"""
Overconfidence, and what to do about it
=======================================

The log loss of a network can rise long before its predictions stop improving. The
network becomes overconfident, which the log loss punishes most, so early stopping by
the log loss stops too early. But overconfidence is easy to remove afterwards: a single
number, the temperature, softens all probabilities and leaves the predicted classes
alone. Refined rules score each epoch *after* that.
"""

# %%
# A network and eight kinds of motion
# -----------------------------------
#
# Synthetic recordings of eight kinds of motion are cut into windows. The network trains
# for 60 epochs on each fold. Every rule scores the validation set after each epoch and
# chooses the best one. The test set shows how good the choice is, by the accuracy and
# by the log loss, before and after recalibration on the validation set.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_superior.datasets import make_motion_signals
from sklearn_superior.model_selection import (
    HBlockSplit,
    compare_stopping_rules,
    sliding_windows,
)

recordings = make_motion_signals(
    n_classes=8, n_timepoints=1500, difficulty=0.7, random_state=0
)
windows = sliding_windows(
    recordings.data, recordings.target, length=40, groups=recordings.groups
)
X, y = windows.X.reshape(len(windows.X), -1), windows.y
network = make_pipeline(
    StandardScaler(),
    MLPClassifier((64,), max_iter=60, learning_rate_init=0.003, random_state=0),
)
cv = HBlockSplit(10, step=2, gap=3)
rules = [
    "log_loss",
    "penalized_log_loss",
    "brier",
    "penalized_brier",
    "refined_log_loss",
    "refined_penalized_brier",
    "accuracy",
    "last",
]
comparison = compare_stopping_rules(
    network,
    X,
    y,
    groups=windows.groups,
    cv=cv,
    rules=rules,
    scoring=["accuracy", "log_loss", "calibrated_log_loss"],
    random_state=0,
)

# %%
# What each rule is worth
# -----------------------
#
# The figure shows CP, the checkpoint: each rule chooses the best of all epochs. The
# plain log loss chooses the earliest one, with the best log loss before recalibration:
# that is what it asks for. Its predictions are the worst, and so is its log loss after
# recalibration. The refined rules choose later epochs, with more correct predictions
# and, after recalibration, better probabilities.

rows = {row["rule"]: [] for row in comparison.records}
for row in comparison.records:
    if row["selection"] == "CP":
        rows[row["rule"]].append(row)
means = {
    rule: {key: np.mean([row[key] for row in own]) for key in own[0] if "test" in key}
    for rule, own in rows.items()
}
figure, (left, right) = plt.subplots(
    1, 2, figsize=(9, 3.6), sharey=True, layout="constrained"
)
for k, rule in enumerate(reversed(rules)):
    mean = means[rule]
    left.plot(100 * mean["test_score"], k, "o", color="#0072B2")
    before, after = -mean["test_log_loss"], -mean["test_calibrated_log_loss"]
    right.annotate(
        "", (after, k), (before, k), arrowprops={"arrowstyle": "->", "color": "grey"}
    )
    right.plot(before, k, "o", color="#D55E00", label="raw" if k == 0 else None)
    label = "recalibrated" if k == 0 else None
    right.plot(after, k, "o", color="#009E73", label=label)
left.set_yticks(range(len(rules)), [rule.replace("_", " ") for rule in reversed(rules)])
left.set_xlabel("test accuracy, in percent")
right.set_xlabel("test log loss (lower is better)")
right.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
for ax in (left, right):
    ax.grid(axis="x", alpha=0.3)
    ax.spines[["top", "right"]].set_visible(False)

# %%
# These are means over five folds of synthetic data. They show what can happen, not what
# will happen on yours. Here the last epoch is as good as any choice. On noisy data,
# above all with boosting, it can be far worse.
#
# What each penalty would choose
# ------------------------------
#
# The same fits also show what any penalty would have chosen, from none (the Brier
# score) to an infinite one (the accuracy). Nothing is retrained. The bars are 95 %
# intervals of the difference to the first penalty, over the folds.

from sklearn_superior.plotting import PenaltyPathDisplay

PenaltyPathDisplay.from_comparison(
    comparison, scores=["test_score", "test_calibrated_log_loss", "iteration"]
)

# %%
# The model and its temperature
# -----------------------------
#
# After a refined rule, here the refined PBS, ``EarlyStoppingClassifier`` fits the
# temperature on the validation data and scales the probabilities of the kept model. Its
# confidence then matches its accuracy. With ``calibration=None`` it is far too high.

from sklearn.calibration import CalibrationDisplay

from sklearn_superior.early_stopping import EarlyStoppingClassifier

network.set_params(mlpclassifier__max_iter=200)

train, validation, test = next(cv.split_with_validation(X, y, windows.groups))
figure, ax = plt.subplots(figsize=(4.8, 4.4), layout="constrained")
for calibration, name in [(None, "raw"), ("auto", "recalibrated")]:
    model = EarlyStoppingClassifier(
        network,
        scoring="neg_refined_penalized_brier_score",
        n_iter_no_change=10,
        calibration=calibration,
    )
    model.fit(X[train], y[train], X_val=X[validation], y_val=y[validation])
    confidence = model.predict_proba(X[test]).max(axis=1)
    is_correct = model.predict(X[test]) == y[test]
    CalibrationDisplay.from_predictions(
        is_correct, confidence, n_bins=6, strategy="quantile", name=name, ax=ax
    )
ax.set(
    xlabel="confidence in the predicted class", ylabel="share of correct predictions"
)
print(f"temperature: {model.temperature_:.2f}")
