"""
Your own network, with skorch
=============================

:class:`~sklearn_superior.neural_network.CNNClassifier` is for windows of signals. For
other data and networks, skorch turns any PyTorch module into a classifier. Its
callbacks take our scorers as they are.
"""

# %%
# Images of digits: a third each for training, validation and testing. PyTorch expects
# single precision.

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

X, y = load_digits(return_X_y=True)
X = (X / 16).astype(np.float32)
X_train, X_rest, y_train, y_rest = train_test_split(
    X, y, train_size=1 / 3, stratify=y, random_state=0
)
X_val, X_test, y_val, y_test = train_test_split(
    X_rest, y_rest, test_size=1 / 2, stratify=y_rest, random_state=0
)

# %%
# A network that returns logits, without a final softmax.

import torch
from torch import nn

torch.manual_seed(0)
module = nn.Sequential(
    nn.Linear(64, 256), nn.ReLU(), nn.Dropout(0.5), nn.Linear(256, 10)
)

# %%
# ``EpochScoring`` writes the validation score into the history after each epoch, and
# ``EarlyStopping`` reads it from there. Three settings matter:
#
# - ``criterion=nn.CrossEntropyLoss`` takes logits, and skorch then applies the softmax
#   in ``predict_proba``. With another criterion, set
#   ``predict_nonlinearity=lambda logits: logits.softmax(dim=1)``, because the scorers
#   need probabilities. skorch's default criterion expects a module that ends in a
#   softmax.
# - ``lower_is_better=False`` in both callbacks, because the scorers are negated losses.
# - ``threshold_mode="abs"``. The default threshold is relative to the score, and for
#   negative scores it lowers the bar instead of raising it.

from skorch import NeuralNetClassifier
from skorch.callbacks import EarlyStopping, EpochScoring
from skorch.dataset import Dataset
from skorch.helper import predefined_split

from sklearn_superior.metrics import neg_penalized_brier_scorer

net = NeuralNetClassifier(
    module,
    criterion=nn.CrossEntropyLoss,
    optimizer=torch.optim.Adam,
    lr=0.003,
    batch_size=32,
    max_epochs=100,
    train_split=predefined_split(Dataset(X_val, y_val)),
    callbacks=[
        EpochScoring(
            neg_penalized_brier_scorer, lower_is_better=False, name="valid_pbs"
        ),
        EarlyStopping(
            monitor="valid_pbs",
            lower_is_better=False,
            patience=10,
            threshold=0,
            threshold_mode="abs",
            load_best=True,
        ),
    ],
    verbose=0,
)
net.fit(X_train, y_train)

# %%
# The weights of the best epoch are restored, so the network has the best score of the
# history. skorch counts epochs from 1.

scores = np.array(net.history[:, "valid_pbs"])
best = np.argmax(scores)
print(f"{len(scores)} epochs trained, epoch {best + 1} is the best")
print(f"its score in the history    {scores[best]:.6f}")
now = neg_penalized_brier_scorer(net, X_val, y_val)
print(f"the score of the net now    {now:.6f}")
print(f"accuracy on the test images {net.score(X_test, y_test):.3f}")

# %%
# The history also has the losses. The points mark the lowest validation losses: the log
# loss and the penalized Brier score need not agree on the best epoch.

import matplotlib.pyplot as plt

curves = {
    "log loss, training": (net.history[:, "train_loss"], "0.6"),
    "log loss, validation": (net.history[:, "valid_loss"], "C0"),
    "PBS, validation": (-scores, "C1"),
}
epochs = np.arange(1, len(scores) + 1)
fig, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
for name, (values, color) in curves.items():
    ax.plot(epochs, values, color=color)
    ax.annotate(
        name,
        (epochs[-1], values[-1]),
        xytext=(6, 0),
        textcoords="offset points",
        va="center",
        color=color,
    )
    if "validation" in name:
        lowest = np.argmin(values)
        ax.plot(epochs[lowest], values[lowest], "o", color=color)
ax.axvline(epochs[best], color="C1", linestyle=":", linewidth=1)
ax.text(epochs[best] - 0.5, 1, "kept", color="C1", ha="right")
ax.set(xlabel="epoch", ylabel="loss (log axis)", yscale="log")
ax.set_yticks([0.05, 0.1, 0.2, 0.5, 1, 2], ["0.05", "0.1", "0.2", "0.5", "1", "2"])
ax.minorticks_off()
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# The scorer asks the net for its classes, which skorch takes from ``y``. If you pass a
# custom data set to ``fit``, without ``y``, name them:
# ``NeuralNetClassifier(..., classes=list(range(10)))``.
