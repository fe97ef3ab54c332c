"""
Random folds leak, blocks do not
================================

Who is walking? Windows of an acceleration signal overlap by 75 %, so a random K-fold
puts windows that share samples into both the training and the test set. The score then
measures memory. Blocks with a gap show how well the model will do on new data.
"""

# %%
# Three sensors record eight people. Each person has their own rhythm, which drifts over
# time, and the noise is autocorrelated, as in real sensors.

import numpy as np

rng = np.random.default_rng(0)
n_people, n_points = 8, 3000


def record(person):
    time = np.arange(n_points)
    drift = np.cumsum(rng.normal(scale=0.05, size=(n_points, 3)), axis=0)
    rhythm = 0.2 + 0.03 * person + 0.03 * np.sin(time / 400)[:, None]
    swing = 2 * np.sin(np.cumsum(rhythm, axis=0) + [0, 1, 2])
    noise = rng.normal(size=(n_points, 3))
    for k in range(1, n_points):
        noise[k] += 0.9 * noise[k - 1]
    return swing + drift + noise


signal = np.concatenate([record(person) for person in range(n_people)])
person = np.repeat(np.arange(n_people), n_points)

# %%
# Windows of 60 samples, with a stride of 15 samples. The features are the level, the
# spread and the spectrum of each channel.

from sklearn_superior.model_selection import (
    HBlockSplit,
    recommended_gap,
    sliding_windows,
)

windows = sliding_windows(signal, person, length=60, overlap=0.75, groups=person)
spectrum = np.abs(np.fft.rfft(windows.X))[..., 1:8].reshape(len(windows.X), -1)
X = np.hstack([windows.X.mean(axis=2), windows.X.std(axis=2), spectrum])
y = windows.y
gap = recommended_gap(length=60, overlap=0.75)
print(f"{len(X)} windows, gap = {gap}")

# %%
# The same model, cross-validated in three ways.

from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import KFold, cross_val_score

model = RandomForestClassifier(n_estimators=50, random_state=0)
splitters = {
    "random K-fold": KFold(5, shuffle=True, random_state=0),
    "blocks, gap=0": HBlockSplit(10, n_test_blocks=2, step=2),
    f"blocks, gap={gap}": HBlockSplit(10, n_test_blocks=2, step=2, gap=gap),
}
scores = {}
for name, cv in splitters.items():
    groups = None if isinstance(cv, KFold) else windows.groups
    scores[name] = cross_val_score(
        model, X, y, groups=groups, cv=cv, scoring="f1_macro"
    )

import matplotlib.pyplot as plt

fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
for row, values in enumerate(scores.values()):
    ax.barh(row, values.mean(), color="0.85")
    ax.plot(values, np.full(len(values), row), "o", color="C0")
    ax.text(values.max() + 0.02, row, f"{values.mean():.2f}", va="center")
ax.axvline(1 / n_people, color="0.5", linestyle=":")
ax.text(1 / n_people + 0.01, 2.5, "chance", color="0.4", va="bottom")
ax.set(
    yticks=range(3),
    yticklabels=list(scores),
    xlim=(0, 1),
    xlabel="macro F1 of each fold, and their mean",
)
ax.invert_yaxis()
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# The signal changes a little over a block, and no part of a test window is in the
# training set. So the score of the blocks is what to expect on new recordings of the
# same people.
