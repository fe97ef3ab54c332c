"""
Your own network, with Lightning
================================

Lightning trains PyTorch modules on any number of devices.
:class:`~sklearn_superior.integrations.torchmetrics.PenalizedBrierScore` can be logged
like any other metric, and Lightning's callbacks then use it for early stopping and
checkpoints.
"""

# %%
# Images of digits: a third each for training, validation and testing.

import logging
import warnings

import lightning as L
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)  # less output

X, y = load_digits(return_X_y=True)
X_train, X_rest, y_train, y_rest = train_test_split(
    X / 16, y, train_size=1 / 3, stratify=y, random_state=0
)
X_val, X_test, y_val, y_test = train_test_split(
    X_rest, y_rest, test_size=1 / 2, stratify=y_rest, random_state=0
)


def loader(X, y, **options):
    X, y = torch.tensor(X, dtype=torch.float32), torch.tensor(y)
    return DataLoader(TensorDataset(X, y), batch_size=32, **options)


# %%
# The module has a metric for each score. Metrics take probabilities, so apply the
# softmax first. Pass the metric itself to ``self.log``: Lightning then computes its
# value at the end of the epoch, over all processes, and resets it. With a penalty of 0
# the metric is the Brier score.

from sklearn_superior.integrations.torchmetrics import PenalizedBrierScore


class Digits(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(64, 256),
            torch.nn.ReLU(),
            torch.nn.Dropout(0.5),
            torch.nn.Linear(256, 10),
        )
        self.pbs = PenalizedBrierScore()
        self.brier = PenalizedBrierScore(penalty=0)
        self.history = []

    def forward(self, X):
        return self.layers(X)

    def training_step(self, batch):
        X, y = batch
        return torch.nn.functional.cross_entropy(self(X), y)

    def validation_step(self, batch):
        X, y = batch
        proba = self(X).softmax(dim=1)
        self.pbs.update(proba, y)
        self.brier.update(proba, y)
        self.log("val_pbs", self.pbs)
        self.log("val_brier", self.brier)

    def on_validation_epoch_end(self):
        self.history.append([self.brier.compute().item(), self.pbs.compute().item()])

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.003)


# %%
# The two callbacks monitor the penalized score. It is a loss, so lower is better and
# the mode is ``"min"``, Lightning's default. (In Keras, ``"val_pbs"`` of our
# ``ScorerCallback`` is the negated loss, with ``mode="max"``.)

from tempfile import mkdtemp

from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint

checkpoint = ModelCheckpoint(mkdtemp(), monitor="val_pbs", mode="min")
trainer = L.Trainer(
    max_epochs=100,
    callbacks=[EarlyStopping("val_pbs", mode="min", patience=10), checkpoint],
    accelerator="cpu",
    num_sanity_val_steps=0,
    logger=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)

L.seed_everything(0, verbose=False)
model = Digits()
with warnings.catch_warnings():  # Lightning's advice on the number of workers
    warnings.simplefilter("ignore")
    trainer.fit(model, loader(X_train, y_train, shuffle=True), loader(X_val, y_val))

print(f"{len(model.history)} epochs trained")
print(f"best penalized Brier score {checkpoint.best_model_score:.4f}")

# %%
# The checkpoint is an ordinary Lightning checkpoint.

from sklearn_superior.metrics import penalized_brier_score_loss

best = Digits.load_from_checkpoint(checkpoint.best_model_path).eval()
with torch.inference_mode():
    proba = best(torch.tensor(X_test, dtype=torch.float32)).softmax(dim=1)
accuracy = (proba.argmax(dim=1).numpy() == y_test).mean()
print(f"accuracy on the test images {accuracy:.3f}")
print(f"PBS on the test images      {penalized_brier_score_loss(y_test, proba):.4f}")

# %%
# The lines end where training stopped. The points are their lowest values.

import matplotlib.pyplot as plt
import numpy as np

fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
epochs = np.arange(1, len(model.history) + 1)
for name, values, color in zip(
    ["Brier score", "penalized"], np.transpose(model.history), ["C0", "C1"], strict=True
):
    lowest = np.argmin(values)
    ax.plot(epochs, values, color=color)
    ax.plot(epochs[lowest], values[lowest], "o", color=color)
    ax.annotate(
        name,
        (epochs[-1], values[-1]),
        xytext=(6, 0),
        textcoords="offset points",
        va="center",
        color=color,
    )
ax.set(xlabel="epoch", ylabel="validation loss (log axis)", yscale="log")
ax.set_yticks([0.05, 0.1, 0.2, 0.5, 1], ["0.05", "0.1", "0.2", "0.5", "1"])
ax.minorticks_off()
ax.spines[["top", "right"]].set_visible(False)
plt.show()
