"""The parameters that every classifier with early stopping has."""

from functools import wraps
from numbers import Real
from os import PathLike

from sklearn_superior.early_stopping._validation_split import check_split
from sklearn_superior.utils._sklearn_compat import (
    Interval,
    StrOptions,
    check_parameters,
    integer_from,
)

STOPPING_CONSTRAINTS = {
    "scoring": [str, callable, None],
    "n_iter_no_change": [integer_from(1)],
    "tol": [Interval(Real, 0, None, closed="left")],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    "calibration": [StrOptions({"auto", "temperature"}), None],
    "checkpoint_dir": [str, PathLike, None],
    "resume": ["boolean"],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
}

# What other libraries call the validation data.
_OTHER_NAMES = ("eval_set", "validation_data")


def names_validation_data(fit):
    """Let a method `fit` say what its validation data is called."""

    @wraps(fit)
    def wrapper(self, *args, **options):
        for name in _OTHER_NAMES:
            if name in options:
                raise TypeError(
                    f"{type(self).__name__}.fit has no {name!r}: pass the validation "
                    "data as X_val= and y_val=, its weights as sample_weight_val=."
                )
        return fit(self, *args, **options)

    return wrapper


def check_stopping_parameters(classifier, constraints=STOPPING_CONSTRAINTS):
    """Check the parameters of a classifier with early stopping."""
    params = classifier.get_params(deep=False)
    check_parameters(type(classifier).__name__, constraints, params)
    check_split(classifier.validation_split)
    if isinstance(classifier.checkpoint_dir, str) and not classifier.checkpoint_dir:
        raise ValueError(
            "The 'checkpoint_dir' parameter must be a folder or None. Got ''; use '.' "
            "for the present one."
        )
    if classifier.resume and classifier.checkpoint_dir is None:
        raise ValueError("resume=True needs a checkpoint_dir.")
