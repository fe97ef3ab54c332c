"""Optional dependencies: imported on use, with an error that says how to get them."""

from importlib import import_module


def import_optional(name, *, caller, extra):
    """Import module `name`, or explain which extra brings it.

    Parameters
    ----------
    name : str
        Module to import, for example ``"torch"``.

    caller : str
        What needs it, as the user knows it, for example ``"CNNClassifier"``.

    extra : str
        The extra of this distribution that installs it.

    Returns
    -------
    module : module

    Examples
    --------
    >>> import_optional("json", caller="this example", extra="test").dumps([1])
    '[1]'
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as exc:
        package = name.partition(".")[0]
        if exc.name is None or exc.name.partition(".")[0] != package:
            raise  # it is installed, but one of its own imports is missing
        raise ImportError(
            f"{caller} needs {package}, which is not installed. "
            f'Install it with `pip install "sklearn-superior[{extra}]"`.'
        ) from exc
