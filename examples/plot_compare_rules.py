"""
Which rule picks the best model?
================================

Early stopping needs a score. Does it matter which one? Here an ensemble is trained once
for each fold, and every rule chooses among its stages. The test part shows how good the
choices are.
"""

# %%
# Recordings are cut into windows; blocks of time make the folds, with a gap where
# windows overlap.

from sklearn.ensemble import HistGradientBoostingClassifier

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
# One call trains and compares.

comparison = compare_stopping_rules(
    HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=6, learning_rate=0.3),
    X,
    windows.y,
    groups=windows.groups,
    cv=HBlockSplit(10, step=2, gap=recommended_gap(40, 0.75)),
    scoring="f1_macro",
    random_state=0,
)
columns = ("rule", "selection", "mean", "difference", "low", "high", "wins", "losses")
frame = comparison.summary(baseline="brier").to_frame()[list(columns)]
print(frame.round(3).to_string(index=False))

# %%
# The differences are small, and the intervals show how uncertain they are: an
# illustration on synthetic data, no evidence. The curves of one training show what each
# rule sees: a filled marker is the best stage of all, a hollow one the choice of early
# stopping.

display = comparison.plot(fold=0)
