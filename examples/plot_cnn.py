"""
Stop a network when it no longer improves
=========================================

From motion-sensor recordings to a trained network: cut the recordings into windows,
split the windows into blocks, train on some blocks, and let others decide when to stop.
"""

# %%
# Six kinds of motion, each recorded twice by a sensor with three channels. The windows
# have 40 time points and overlap by 75 %.

from sklearn_superior.datasets import make_motion_signals
from sklearn_superior.model_selection import (
    HBlockSplit,
    recommended_gap,
    sliding_windows,
)

recordings = make_motion_signals(
    n_classes=6, n_series=2, n_timepoints=2000, difficulty=0.6, random_state=0
)
windows = sliding_windows(
    recordings.data,
    recordings.target,
    length=40,
    overlap=0.75,
    groups=recordings.groups,
)
X, y = windows.X, windows.y
print("windows, channels, length:", X.shape)

# %%
# Every recording is cut into ten blocks: two for validation, three for testing and the
# others for training. The gap leaves out windows that share samples with another part.
# Here we only use the first fold.

cv = HBlockSplit(n_blocks=10, gap=recommended_gap(length=40, overlap=0.75))
train, validation, test = next(cv.split_with_validation(X, groups=windows.groups))
print(f"{len(train)} training, {len(validation)} validation, {len(test)} test windows")

# %%
# The network is a smaller version of the paper's. After every epoch it scores the
# validation windows by the refined log loss, the default, negated because greater
# scores are better. Training stops after eight epochs without improvement, and the
# weights of the best epoch are restored.

from sklearn_superior.neural_network import CNNClassifier

model = CNNClassifier(
    channels=(32, 16),
    hidden=128,
    max_iter=60,
    n_iter_no_change=8,
    device="cpu",
    random_state=0,
)
model.fit(X[train], y[train], X_val=X[validation], y_val=y[validation])
print(f"{model.n_iter_} epochs trained, epoch {model.best_iteration_} is kept")

# %%
# ``history_`` records the training.

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import MaxNLocator

history, best = model.history_, model.best_iteration_
epochs = np.arange(model.n_iter_)
fig, (top, bottom) = plt.subplots(
    2, sharex=True, figsize=(6.4, 4.8), layout="constrained"
)
top.plot(epochs, history["train_loss"], color="C0")
top.set(ylabel="training loss", ylim=(0, None))
bottom.plot(epochs, history["validation_score"], color="C1")
bottom.plot(best, model.best_score_, "o", color="C3")
bottom.annotate(
    f"best: epoch {best}",
    (best, model.best_score_),
    xytext=(-8, 4),
    textcoords="offset points",
    ha="right",
    color="C3",
)
bottom.margins(y=0.2)
bottom.set(xlabel="epoch", ylabel="validation score\n(−refined log loss)")
bottom.xaxis.set_major_locator(MaxNLocator(integer=True))
for ax in (top, bottom):
    ax.axvline(best, color="C3", linestyle=":", linewidth=1)
    ax.axvspan(best, epochs[-1], color="0.93", linewidth=0)
    ax.spines[["top", "right"]].set_visible(False)
top.text(
    (best + epochs[-1]) / 2,
    0.9,
    "no improvement",
    transform=top.get_xaxis_transform(),
    ha="center",
    color="0.4",
)
plt.show()

# %%
# In the grey area the training loss keeps falling, but the validation score no longer
# rises: what the network learns there does not help on other blocks. The score on the
# test blocks is honest, because they took no part in any choice.

from sklearn.metrics import f1_score, log_loss

f1 = f1_score(y[test], model.predict(X[test]), average="macro")
loss = log_loss(y[test], model.predict_proba(X[test]))
print(f"test: macro F1 {f1:.3f}, log loss {loss:.3f}")
