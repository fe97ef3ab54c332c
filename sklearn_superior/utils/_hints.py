"""Answers to names that other libraries give to parameters."""

from functools import wraps

# Of the number of stages without improvement.
PATIENCE = dict.fromkeys(
    ("patience", "early_stopping_rounds"), "the patience is n_iter_no_change="
)


def says_instead(**hints):
    """Let a function, or a class by its `__init__`, answer to names that it has not.

    Parameters
    ----------
    **hints : str
        For each name, what to use instead.
    """

    def decorate(function):
        owner = function.__qualname__.removesuffix(".__init__")

        @wraps(function)
        def wrapper(*args, **options):
            for name in hints.keys() & options.keys():
                raise TypeError(f"{owner} has no {name!r}: {hints[name]}.")
            return function(*args, **options)

        return wrapper

    return decorate
