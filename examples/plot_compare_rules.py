"""
Five rules and one network
==========================

Early stopping needs a score. Does it matter which one? Here a network is trained once
per fold, to the last epoch. Every rule scores the validation set after each epoch and
chooses among the same epochs. The test set shows how good the choices are.
"""

# %%
# Cut the recordings into windows. The folds are blocks of time, with a gap because the
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
# One call trains and compares. Besides the plain and the penalized rules there is the
# refined log loss, the default, which scores an epoch after recalibration, and
# ``"last"``, which keeps the last epoch. The table shows CP, the checkpoint: each rule
# chooses the best of all epochs.

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
        "refined_log_loss",
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
# The log loss chooses an early epoch: it rises as soon as the network becomes
# overconfident, while the network is still learning to tell the classes apart. The
# penalized rules wait longer, because there are still fewer and fewer errors. The
# intervals are wide: five folds of one data set show what can happen, and prove nothing
# about other data.
#
# The figure shows all folds, with each curve scaled to its range. The markers show
# which epoch each rule chooses in each fold. They are stacked where several rules
# choose the same epoch. r is the correlation with F1, averaged over the folds.

display = comparison.plot(fold="all")
