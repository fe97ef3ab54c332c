"""The network of the paper, and a batch for it. Needs torch."""

import torch

from sklearn_superior.neural_network._cnn_module import make_cnn


def paper_cnn():
    return make_cnn(
        3, 20, 4, channels=(64, 32, 16), kernel_size=3, hidden=1024, dropout=0.2
    )


def make_tensors(n=70):
    torch.manual_seed(0)
    return torch.randn(n, 3, 20), torch.randint(0, 4, (n,)), torch.rand(n)
