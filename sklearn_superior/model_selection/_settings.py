"""The settings of a search: which parameters its candidates have."""

from collections.abc import Iterable, Mapping

from sklearn.base import clone
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline

from sklearn_superior.early_stopping._training import StagedModel, private_copy
from sklearn_superior.utils._warnings import warn


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


def warn_of_budgets(estimators, settings):
    """Warn of settings that differ in nothing but the number of stages."""
    budgets = {}
    for estimator, params in zip(estimators, settings, strict=True):
        name = _budget_name(estimator)
        if name in params:
            others = sorted((k, repr(v)) for k, v in params.items() if k != name)
            budgets.setdefault((name, *others), set()).add(params[name])
    for (name, *_), values in budgets.items():
        if len(values) > 1:
            warn(
                f"The 'param_grid' parameter holds several values of {name}: "
                f"{', '.join(map(str, sorted(values)))}. StagedSearchCV chooses the "
                "number of stages by itself, up to this budget, and a smaller budget "
                "as a rule trains the same stages again. Give the largest value alone."
            )
            return


def _budget_name(estimator):
    """Return the parameter with the number of stages; None if training will fail."""
    try:
        name = StagedModel(estimator).stages.budget_name()
    except Exception:
        return None
    is_pipeline = isinstance(estimator, Pipeline)
    return f"{estimator.steps[-1][0]}__{name}" if is_pipeline else name
