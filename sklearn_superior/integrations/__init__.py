"""Metrics and pruning for other libraries, each in a module named after the library."""

from importlib import import_module

__all__ = [
    "catboost",
    "dask",
    "keras",
    "lightgbm",
    "optuna",
    "torchmetrics",
    "xgboost",
]


def __getattr__(name):
    """Import a module when it is first used."""
    if name in __all__:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return __all__
