"""
Overconfidence, and what to do about it
=======================================

The log loss of a network can rise long before its predictions stop getting better: the
network becomes overconfident, which the log loss punishes most. Early stopping by the
log loss then stops too early. But overconfidence is easily removed afterwards: one
number, the temperature, makes all probabilities more even and leaves the predicted
classes as they are. Refined rules ask of each epoch how good its probabilities will be
*after* that.
"""

# %%
# A network and eight kinds of motion
# -----------------------------------
#
# Synthetic recordings of eight kinds of motion are cut into windows. The network is
# trained for 60 epochs on each fold. Every rule scores the validation set after each
# epoch and chooses the best one; the test set shows what the choice is worth. It is
# judged by the accuracy and by the log loss, before and after the temperature that is
# best on the validation set.

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
# The figure shows CP, the checkpoint: each rule chooses among all epochs the one with
# the best score. The plain log loss chooses the earliest, with the best log loss as it
# stands: that is what it asks for. Its predictions are the worst, and after the
# temperature its log loss is the worst as well. The refined rules choose later epochs,
# with more correct predictions and, after the temperature, better probabilities.

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
    right.plot(before, k, "o", color="#D55E00", label="as it is" if k == 0 else None)
    label = "after the temperature" if k == 0 else None
    right.plot(after, k, "o", color="#009E73", label=label)
left.set_yticks(range(len(rules)), [rule.replace("_", " ") for rule in reversed(rules)])
left.set_xlabel("test accuracy, in percent")
right.set_xlabel("test log loss (lower is better)")
right.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
for ax in (left, right):
    ax.grid(axis="x", alpha=0.3)
    ax.spines[["top", "right"]].set_visible(False)

# %%
# These are means over five folds of synthetic data: they show what can happen, not what
# will happen on yours. Here the last epoch is as good as any choice. With boosting on
# small tables it can be far worse.
#
# What each penalty would choose
# ------------------------------
#
# The same fits also show what any penalty would have chosen, from none, which is
# the Brier score, to an infinite one, which is the accuracy. Nothing is trained again.
# A bar is the 95 % interval of the difference from the first penalty, over the folds.

from sklearn_superior.plotting import PenaltyPathDisplay

PenaltyPathDisplay.from_comparison(
    comparison, scores=["test_score", "test_calibrated_log_loss", "iteration"]
)

# %%
# The model and its temperature
# -----------------------------
#
# ``calibration="temperature"`` fits the temperature on the validation data and scales
# the probabilities of the kept model. Its confidence then is about as high as its
# accuracy; without the temperature it is far too high.

from sklearn.calibration import CalibrationDisplay

from sklearn_superior.early_stopping import EarlyStoppingClassifier

network.set_params(mlpclassifier__max_iter=200)

train, validation, test = next(cv.split_with_validation(X, y, windows.groups))
figure, ax = plt.subplots(figsize=(4.8, 4.4), layout="constrained")
for calibration, name in [(None, "as it is"), ("temperature", "after the temperature")]:
    model = EarlyStoppingClassifier(
        network,
        scoring="neg_refined_penalized_brier_score",
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
