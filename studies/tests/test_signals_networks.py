"""The networks of the study of signals."""

import pytest

from sklearn_superior.neural_network import CNNClassifier

torch = pytest.importorskip("torch")

from studies.signals import networks  # noqa: E402

BUILDERS = [networks.make_paper, networks.make_residual, networks.make_inception]


@pytest.mark.parametrize("build", BUILDERS)
@pytest.mark.parametrize("length", [5, 48])
def test_windows_become_logits(build, length):
    module = build(3, length, 4)
    assert module(torch.randn(7, 3, length)).shape == (7, 4)
    module(torch.randn(7, 3, length)).sum().backward()
    assert all(p.grad is not None for p in module.parameters())


def test_the_papers_network_is_the_default_of_the_classifier():
    X, y = torch.randn(12, 3, 20).numpy(), [0, 1, 2] * 4
    model = CNNClassifier(max_iter=1, early_stopping=False).fit(X, y)

    def shapes(module):
        return [tuple(p.shape) for p in module.parameters()]

    assert shapes(networks.make_paper(3, 20, 3)) == shapes(model.module_)
    names = [type(layer).__name__ for layer in networks.make_paper(3, 20, 3)]
    own = [type(layer).__name__ for layer in model.module_]
    assert names == [name.replace("SeededDropout", "Dropout") for name in own]
