"""Networks for windows: the paper's, a residual one and an InceptionTime-like one.

Each builder takes the number of channels, the length of the windows and the number of
classes, as the parameter `module` of `CNNClassifier` expects.
"""

import torch
from torch import nn

_WIDTH = 32  # channels of a residual or of an inception block


def make_paper(n_channels, length, n_classes):
    """Build the network that `CNNClassifier` has by default, of torch's own layers."""
    return nn.Sequential(
        nn.Conv1d(n_channels, 64, 3, padding="same"),
        nn.ReLU(),
        nn.Dropout(0.2),
        *_normalised(64, 32),
        *_normalised(32, 16),
        nn.Flatten(),
        nn.Linear(16 * length, 1024),
        nn.LeakyReLU(0.2),
        nn.Dropout(0.2),
        nn.Linear(1024, n_classes),
    )


def _normalised(width, n_filters):
    convolution = nn.Conv1d(width, n_filters, 3, padding="same")
    return convolution, nn.BatchNorm1d(n_filters), nn.LeakyReLU(0.2), nn.Dropout(0.2)


def make_residual(n_channels, length, n_classes):
    """Build three residual blocks, the mean over time and a linear layer."""
    blocks = [Residual(n_channels, [7, 5, 3])]
    blocks += [Residual(_WIDTH, [7, 5, 3]) for _ in range(2)]
    return nn.Sequential(*blocks, MeanOverTime(), nn.Linear(_WIDTH, n_classes))


def make_inception(n_channels, length, n_classes):
    """Build two residual blocks of two inception modules, the mean, a linear layer."""
    blocks = [Residual(n_channels), Residual(_WIDTH)]
    return nn.Sequential(*blocks, MeanOverTime(), nn.Linear(_WIDTH, n_classes))


class MeanOverTime(nn.Module):
    """The mean of each channel."""

    def forward(self, x):
        """Return shape (n, n_channels)."""
        return x.mean(dim=2)


class Residual(nn.Module):
    """Layers with a shortcut around them.

    Parameters
    ----------
    width : int
        Number of channels of the input.

    kernel_sizes : list of int, default=None
        Widths of the filters of convolutions. None: inception modules.
    """

    def __init__(self, width, kernel_sizes=None):
        super().__init__()
        widths = [width, _WIDTH, _WIDTH]
        if kernel_sizes is None:
            layers = [Inception(own) for own in widths[:2]]
        else:
            layers = [
                nn.Conv1d(own, _WIDTH, size, padding="same", bias=False)
                for own, size in zip(widths, kernel_sizes, strict=True)
            ]
        steps = []
        for layer in layers:
            steps += [layer, nn.BatchNorm1d(_WIDTH), nn.ReLU()]
        self.steps = nn.Sequential(*steps[:-1])
        self.shortcut = nn.Sequential(
            nn.Conv1d(width, _WIDTH, 1, bias=False), nn.BatchNorm1d(_WIDTH)
        )

    def forward(self, x):
        """Return the sum of both ways."""
        return torch.relu(self.steps(x) + self.shortcut(x))


class Inception(nn.Module):
    """Convolutions of several widths side by side, on a bottleneck, and a maximum."""

    def __init__(self, width, kernel_sizes=(9, 19, 39)):
        super().__init__()
        n_filters = _WIDTH // 4
        self.bottleneck = nn.Conv1d(width, n_filters, 1, bias=False)
        self.convolutions = nn.ModuleList(
            nn.Conv1d(n_filters, n_filters, size, padding="same", bias=False)
            for size in kernel_sizes
        )
        self.maximum = nn.Sequential(
            nn.MaxPool1d(3, stride=1, padding=1),
            nn.Conv1d(width, n_filters, 1, bias=False),
        )

    def forward(self, x):
        """Return the outputs of all branches."""
        narrow = self.bottleneck(x)
        branches = [convolution(narrow) for convolution in self.convolutions]
        return torch.cat([*branches, self.maximum(x)], dim=1)
