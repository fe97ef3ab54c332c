"""
Five rules and one network
==========================

Early stopping needs a score. Does it matter which one? Here a network is trained once
for each fold, to the last epoch. Every rule scores the validation set after each epoch
and chooses among the same epochs. The test set shows how good the choices are.
"""

# %%
# Recordings are cut into windows. The folds consist of blocks of time, with a gap where
# windows overlap.

from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_superior.datasets import make_motion_signals
from sklearn_superior.model_selection import (
    HBlockSplit,
    compare_stopping_rules,
    recommended_gap,
    sliding_windows,
)

recordings = make_motion_signals(n_timepoints=1500, random_state=0)
windows = sliding_windows(
    recordings.data, recordings.target, length=40, groups=recordings.groups
)
X = windows.X.reshape(len(windows.X), -1)

# %%
# One call trains and compares. Besides the usual rules there is the refined PBS, which
# judges an epoch after recalibration, and ``"last"``, which makes no choice at all. The
# table shows CP, the checkpoint: each rule chooses among all epochs the one with the
# best score.

network = MLPClassifier(64, batch_size=32, learning_rate_init=3e-3, max_iter=60)
comparison = compare_stopping_rules(
    make_pipeline(StandardScaler(), network),
    X,
    windows.y,
    groups=windows.groups,
    cv=HBlockSplit(10, step=2, gap=recommended_gap(40, 0.75)),
    rules=[
        "log_loss",
        "penalized_log_loss",
        "brier",
        "penalized_brier",
        "refined_penalized_brier",
        "last",
    ],
    scoring="f1_macro",
    random_state=0,
)
frame = comparison.summary(baseline="log_loss").to_frame()
columns = ["rule", "mean", "difference", "low", "high", "wins", "losses", "regret"]
checkpoints = frame[frame["selection"] == "CP"]
print(checkpoints[columns].round(3).to_string(index=False))

# %%
# The log loss chooses an early epoch: it rises as soon as the network becomes too sure
# of itself, while the network still learns to tell the classes apart. The penalized
# rules wait longer, because the errors still become fewer. The intervals are wide: five
# folds of one data set show what can happen, and prove nothing about other data.
#
# The figure shows all folds, each curve scaled to its range. A marker is the epoch that
# a rule chooses in a fold. Where several rules choose the same epoch, their markers are
# stacked. r is the correlation with F1, the mean over the folds.

display = comparison.plot(fold="all")
