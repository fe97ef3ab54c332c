"""Devices of torch, as the parameter `device` names them."""

import pytest

from sklearn_superior.utils._device import find_device

torch = pytest.importorskip("torch")


@pytest.mark.parametrize(
    ("cuda", "mps", "expected"),
    [(True, True, "cuda"), (False, True, "mps"), (False, False, "cpu")],
)
def test_auto_takes_the_fastest_device_that_is_there(monkeypatch, cuda, mps, expected):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2 if cuda else 0)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    assert find_device("auto").type == expected
    assert find_device("cpu").type == "cpu"
    if cuda:
        assert find_device("cuda:1") == torch.device("cuda", 1)
    for absent in ["cuda:2" if cuda else "cuda", "meta"]:
        with pytest.raises(ValueError, match=f"'device' parameter.*{absent}"):
            find_device(absent)
        assert find_device(absent, or_cpu=True).type == "cpu"
    with pytest.raises(ValueError, match="'device' parameter.*'gpu'"):
        find_device("gpu")
