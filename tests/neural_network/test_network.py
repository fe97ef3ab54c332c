"""From the parameters of a classifier to its network."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_superior.neural_network import CNNClassifier
from sklearn_superior.neural_network._input import Encoding
from sklearn_superior.neural_network._network import make_trainer, predict_proba
from sklearn_superior.neural_network._stages import to_proba

torch = pytest.importorskip("torch")
X = np.random.default_rng(0).normal(size=(50, 2, 12))


def make(seed):
    params = CNNClassifier(channels=(4,), hidden=8, device="cpu", random_state=seed)
    encoding = Encoding(X, np.array(["a", "b", "c"]), standardize=True)
    return make_trainer(params, encoding), encoding


def test_the_seed_decides_the_first_weights():
    one, same, other = (make(seed)[0].module.state_dict() for seed in (0, 0, 1))
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert not all(torch.equal(one[name], other[name]) for name in one)


def test_predictions_are_the_softmax_of_the_network():
    trainer, encoding = make(0)
    found = predict_proba(trainer.module, encoding, X, device="cpu", n_jobs=1)
    trainer.module.eval()
    with torch.no_grad():
        logits = trainer.module(torch.from_numpy(encoding.transform(X)))
    assert_allclose(found, torch.softmax(logits.double(), dim=1).numpy(), atol=1e-6)


def test_probabilities_are_in_double_precision():
    logits = torch.tensor([[0.0, 1.0], [-100.0, 100.0]])
    found = to_proba(logits)
    assert found.dtype == np.float64
    assert_array_equal(found.sum(axis=1), 1)


def test_a_network_that_is_given_is_taken_up():
    trainer, encoding = make(0)
    params = CNNClassifier(device="cpu", random_state=3)
    assert make_trainer(params, encoding, trainer.module).module is trainer.module
