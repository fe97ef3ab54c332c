"""Makes the network of a classifier, and predicts with it."""

from functools import partial

import numpy as np
from scipy.special import softmax
from sklearn.utils import check_random_state

from sklearn_superior.utils._device import find_device
from sklearn_superior.utils._optional import import_optional

# Parameters of the classifier that the network, and its training, depend on.
_ARCHITECTURE = ("channels", "kernel_size", "hidden", "dropout")
_TRAINING = ("optimizer", "learning_rate", "batch_size", "loss", "amp", "compile")


def torch_training():
    """Import the training loop, which needs torch."""
    import_optional("torch", caller="CNNClassifier", extra="torch")
    from sklearn_superior.neural_network import _training

    return _training


def make_trainer(params, encoding, module=None):
    """Make a trainer of a new network, or of a given one.

    Parameters
    ----------
    params : CNNClassifier
        Has the parameters.

    encoding : Encoding
        What the network takes.

    module : torch.nn.Module, default=None
        The network to continue with.
    """
    training = torch_training()
    device = find_device(params.device)
    rng = check_random_state(params.random_state)
    *seeds, init_seed = rng.randint(np.iinfo(np.int32).max, size=3).tolist()
    if module is None:
        module = training.build_module(
            params.module or _cnn_builder(params),
            init_seed,
            encoding.window_shape,
            len(encoding.classes),
        )
    return training.Trainer(
        module,
        device,
        seeds,
        may_draw=params.module is not None,
        **{name: getattr(params, name) for name in _TRAINING},
    )


def _cnn_builder(params):
    """Return what builds the network of the paper."""
    from sklearn_superior.neural_network._cnn_module import make_cnn

    return partial(make_cnn, **{name: getattr(params, name) for name in _ARCHITECTURE})


def predict_proba(module, encoding, X, *, device, n_jobs):
    """Return the probabilities of the classes that a network knows.

    Parameters
    ----------
    module : torch.nn.Module
        The network.

    encoding : Encoding
        What it takes.

    X : ndarray
        Windows that are checked.

    device, n_jobs
        Where to predict, and with how many threads.
    """
    training = torch_training()
    device = find_device(device, or_cpu=True)
    n_rows = training.n_evaluation_rows(encoding.window_shape)
    batches = (
        encoding.transform(X[start : start + n_rows])
        for start in range(0, len(X), n_rows)
    )
    with training.use_threads(n_jobs):
        logits = training.forward(module.to(device), batches, device)
    y_proba = to_proba(logits)
    if not np.isfinite(y_proba).all():
        raise ValueError(
            "X holds values that are too large for the network, in row "
            f"{np.flatnonzero(~np.isfinite(y_proba).all(axis=1))[0]}."
        )
    return y_proba


def to_proba(logits):
    """Probabilities in double precision, on the host."""
    return softmax(logits.cpu().numpy().astype(np.float64), axis=1)
