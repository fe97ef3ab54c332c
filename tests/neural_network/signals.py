"""Small signals that a small network learns in a second."""

import numpy as np

from sklearn_superior.neural_network import CNNClassifier


def make_windows(n=240, n_channels=2, length=16, n_classes=3, seed=0):
    """Noisy waves; the class is the rhythm."""
    rng = np.random.RandomState(seed)
    codes = np.arange(n) % n_classes
    phase = rng.uniform(0, 2 * np.pi, size=(n, n_channels, 1))
    waves = np.sin(0.5 * (codes + 1)[:, None, None] * np.arange(length) + phase)
    X = 10 + 5 * (waves + 0.6 * rng.normal(size=waves.shape))
    y = np.array(["one", "three", "two", "four"])[codes]
    return X, y


def make_tensors(n=70):
    """Windows of noise, labels of four classes, and weights."""
    import torch

    torch.manual_seed(0)
    return torch.randn(n, 3, 20), torch.randint(0, 4, (n,)), torch.rand(n)


def small_cnn(**params):
    defaults = {
        "channels": (8, 4),
        "hidden": 16,
        "max_iter": 12,
        "n_iter_no_change": 4,
        "learning_rate": 0.01,
        "random_state": 0,
        "device": "cpu",
    }
    return CNNClassifier(**defaults | params)


def weights(model):
    """All the weights, in one array."""
    tensors = model.module_.state_dict().values()
    return np.concatenate([t.detach().cpu().numpy().ravel() for t in tensors])
