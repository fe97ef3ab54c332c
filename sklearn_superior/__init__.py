"""Superior scoring rules for scikit-learn.

The penalized Brier score and the penalized log loss are strictly proper and
never rank a wrong prediction above a correct one.
"""

from importlib import import_module

from sklearn_superior._version import __version__

_SUBPACKAGES = (
    "datasets",
    "early_stopping",
    "integrations",
    "metrics",
    "model_selection",
    "neural_network",
    "plotting",
)

__all__ = ["__version__", *_SUBPACKAGES]


def __getattr__(name):
    """Import a subpackage when it is first used."""
    if name in _SUBPACKAGES:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return __all__
