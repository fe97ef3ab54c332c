"""Optional dependencies, imported on use."""

from importlib import import_module


def import_optional(name, *, caller, extra):
    """Import a module, or explain how to install it.

    Parameters
    ----------
    name : str
        Module to import, for example ``"torch"``.

    caller : str
        Public name that requires it, for example ``"CNNClassifier"``.

    extra : str
        Extra of this package that installs it.

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
            raise  # installed, but one of its own dependencies is missing
        raise ImportError(
            f"{caller} needs {package}, which is not installed. "
            f'Install it with `pip install "sklearn-superior[{extra}]"`.'
        ) from exc
