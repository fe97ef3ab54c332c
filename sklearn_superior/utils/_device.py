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
        found = torch.device(device)
    except (RuntimeError, TypeError):
        found = None
    if found is not None and found.type in present:
        if found.type != "cuda" or (found.index or 0) < torch.cuda.device_count():
            return found
    if found is not None and or_cpu:
        return torch.device("cpu")
    raise ValueError(
        f"The 'device' parameter must be 'auto' or one that is there: {present}. "
        f"Got {device!r}."
    )
