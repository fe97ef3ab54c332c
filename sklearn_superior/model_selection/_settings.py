"""The settings of a search: which parameters its candidates have."""

from collections.abc import Iterable, Mapping

from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from sklearn_superior.early_stopping._training import private_copy


def find_settings(param_grid):
    """Return the parameters of each candidate."""
    if param_grid is None:
        return [{}]
    if isinstance(param_grid, Mapping | list | tuple):
        settings = list(ParameterGrid(param_grid))
    elif isinstance(param_grid, Iterable) and not isinstance(param_grid, str):
        settings = list(param_grid)
    else:
        settings = [param_grid]
    if not settings or not all(isinstance(params, Mapping) for params in settings):
        raise ValueError(
            "The 'param_grid' parameter must be a dict of lists, a list of these, an "
            "iterable of at least one dict from parameters to values, or None. Got "
            f"{param_grid!r}."
        )
    return [dict(params) for params in settings]


def with_params(estimator, params):
    """Return a copy of an estimator with the parameters of a candidate."""
    copy = private_copy(estimator)
    if not params:
        return copy
    try:
        return copy.set_params(**clone(params, safe=False))
    except (ValueError, TypeError, AttributeError) as exc:
        raise ValueError(
            "The 'param_grid' parameter must hold parameters of the estimator. Got "
            f"{params}: {exc}"
        ) from exc
