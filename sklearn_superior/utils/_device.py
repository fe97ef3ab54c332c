"""Devices of torch."""

from sklearn_superior.utils._optional import import_optional


def find_device(device, *, or_cpu=False):
    """Return the torch device that `device` names, and check that it is there.

    Parameters
    ----------
    device : str or torch.device
        ``"auto"`` is the first of cuda, mps and cpu that is there.

    or_cpu : bool
        Whether to take the CPU for a device that is not there.
    """
    torch = import_optional("torch", caller="The 'device' parameter", extra="torch")
    present = ["cpu"]
    if torch.backends.mps.is_available():
        present.insert(0, "mps")
    if torch.cuda.is_available():
        present.insert(0, "cuda")
    if isinstance(device, str) and device == "auto":
        return torch.device(present[0])
    try:
        torch_device = torch.device(device)
    except (RuntimeError, TypeError):
        torch_device = None
    if torch_device is not None and torch_device.type in present:
        if (
            torch_device.type != "cuda"
            or (torch_device.index or 0) < torch.cuda.device_count()
        ):
            return torch_device
    if torch_device is not None and or_cpu:
        return torch.device("cpu")
    raise ValueError(
        f"The 'device' parameter must be 'auto' or one that is there: {present}. "
        f"Got {device!r}."
    )
