"""The networks that `CNNClassifier` builds."""

import torch
from torch import nn

_WIDTH = 32  # filters of a convolution of the residual network


def make_cnn(n_channels, length, n_classes, *, channels, kernel_size, hidden, dropout):
    """Build convolutions along time, followed by a dense layer.

    Every convolution but the first is followed by batch normalisation. The authors'
    notebook has an additional ReLU before each normalisation; the text of the paper
    does not describe the network.
    """
    layers = []
    width = n_channels
    for depth, n_filters in enumerate(channels):
        padding = "same"
        if kernel_size % 2 == 0:  # torch warns about padding="same"
            layers.append(nn.ZeroPad1d((kernel_size // 2 - 1, kernel_size // 2)))
            padding = "valid"
        layers.append(nn.Conv1d(width, n_filters, kernel_size, padding=padding))
        if depth == 0:
            layers.append(nn.ReLU())
        else:
            layers += [nn.BatchNorm1d(n_filters), nn.LeakyReLU(0.2)]
        layers.append(SeededDropout(dropout))
        width = n_filters
    layers += [
        nn.Flatten(),
        nn.Linear(width * length, hidden),
        nn.LeakyReLU(0.2),
        SeededDropout(dropout),
        nn.Linear(hidden, n_classes),
    ]
    return nn.Sequential(*layers)


def make_residual(n_channels, length, n_classes):
    """Build three residual blocks, the mean over time and a linear layer.

    The layers are those of the residual network of Wang, Yan and Oates (2017), with 32
    filters in every convolution.
    """
    blocks = [Residual(width) for width in (n_channels, _WIDTH, _WIDTH)]
    mean = [nn.AvgPool1d(length), nn.Flatten()]  # deterministic on CUDA, too
    return nn.Sequential(*blocks, *mean, nn.Linear(_WIDTH, n_classes))


class Residual(nn.Module):
    """Three convolutions with a shortcut around them.

    Parameters
    ----------
    n_channels : int
        Number of channels of the input.
    """

    def __init__(self, n_channels):
        super().__init__()
        steps, width = [], n_channels
        for size in (7, 5, 3):
            steps += [*_convolution(width, size), nn.ReLU()]
            width = _WIDTH
        self.steps = nn.Sequential(*steps[:-1])
        self.shortcut = nn.Sequential(*_convolution(n_channels, 1))

    def forward(self, x):
        """Return the sum of both ways."""
        return torch.relu(self.steps(x) + self.shortcut(x))


def _convolution(width, size):
    convolution = nn.Conv1d(width, _WIDTH, size, padding="same", bias=False)
    return convolution, nn.BatchNorm1d(_WIDTH)


class SeededDropout(nn.Dropout):
    """Fast dropout with its own random generator.

    A fit then needs no global generator, and on a CPU the layer takes a sixth of the
    time of torch's dropout.
    """

    generator = None

    def forward(self, x):
        """Zero some of the values and scale the others."""
        if not self.training or self.p == 0:
            return x
        mask = self._sample_mask(x)
        return x.mul_(mask) if self.inplace else x * mask

    def _sample_mask(self, x):
        """Return 0 or the scale for each value."""
        p = float(self.p)
        # 16 random bits per value make p exact to 1 / 65536. That is too coarse near 0
        # and 1, where we sample as torch does.
        if not 2**-8 <= p <= 1 - 2**-8:
            keep = torch.empty_like(x).bernoulli_(1 - p, generator=self.generator)
            return keep.div_(max(1 - p, 2**-53))
        n_dropped, n_draws = round(p * 2**16), -(-x.numel() // 4)
        # One draw of 64 bits serves four values.
        bits = torch.empty(n_draws, dtype=torch.int64, device=x.device)
        bits.random_(-(2**63), None, generator=self.generator)
        bits = bits.view(torch.int16)[: x.numel()].view(x.shape)
        keep = torch.ge(bits, n_dropped - 2**15, out=torch.empty_like(x))
        return keep.mul_(2**16 / (2**16 - n_dropped))
