"""From the best candidate of a search to the model for use."""

import numpy as np

from sklearn_superior.early_stopping._training import (
    best_temperature,
    calibrates,
    temperature_options,
)
from sklearn_superior.model_selection._candidate import training_loss, training_sample
from sklearn_superior.utils._sklearn_compat import take_rows
from sklearn_superior.utils._warnings import warn


def find_temperature(calibration, plan, best):
    """Return the best temperature for the out-of-fold probabilities.

    Parameters
    ----------
    calibration : {"auto", "temperature"} or None
        With ``"auto"``, only a refined rule has a temperature.

    plan : Plan
        Data, folds and scorers, the first of which has chosen.

    best : Candidate
        Has the probabilities.

    Returns
    -------
    temperature : float
        1.0 if there is to be none.
    """
    scorer = next(iter(plan.scorers.values()))
    if not calibrates(calibration, scorer):
        return 1.0
    y, weight = plan.data.y, plan.data.sample_weight
    rows = ~np.isnan(best.oof_proba).any(axis=1)
    for train, test in plan.folds:
        # Rows of classes that a fold does not know say nothing of its forecasts.
        known = y[train] if weight is None else y[train][weight[train] > 0]
        rows[test[~np.isin(y[test], known)]] = False
    if weight is not None:
        rows &= weight > 0
    if not rows.any():
        return 1.0
    return best_temperature(
        y[rows],
        best.oof_proba[rows],
        plan.classes,
        None if weight is None else weight[rows],
        **temperature_options(scorer),
    )


def train_on_all(model, best, plan):
    """Train a candidate on all rows, for the chosen number of stages.

    A warning says if its training loss is far above that of the folds.

    Parameters
    ----------
    model : StagedModel
        The candidate, not trained.

    best : Candidate
        What came of it in the folds.

    plan : Plan
        Has the data.

    Returns
    -------
    estimator : estimator
    """
    rows = training_sample(plan.data, np.arange(len(plan.data.y)))
    X_seen = take_rows(plan.data.X, rows)
    model.prepare(plan.data, X_seen, plan.classes)
    unit, n_stages = model.stages.unit, best.best_iteration + 1
    y_proba = model.train_to(best.best_iteration)
    estimator = model.estimator()
    difference = model.differs(estimator, X_seen, y_proba)
    if difference:
        raise ValueError(
            "The model that would be kept does not predict as it did after its last "
            f"{unit}, but {difference}. {model.stages.known_causes}"
        )
    loss, of_folds = training_loss(plan, rows, y_proba), best.train_losses
    if not loss <= 1.5 * of_folds.max() + 0.1 * _entropy(plan.data):
        warn(
            f"After {n_stages} {unit}s the model that is trained on all rows has a log "
            f"loss of {loss:.3g} on them, the models of the folds have "
            f"{of_folds.min():.3g} to {of_folds.max():.3g} on theirs: its training has "
            "gone astray. Use refit='folds', or a smaller learning rate."
        )
    return estimator


def _entropy(data):
    """Return the log loss of the shares of the classes as a forecast."""
    _, codes = np.unique(data.y, return_inverse=True)
    share = np.bincount(codes, weights=data.sample_weight)
    share = share[share > 0] / share.sum()
    return float(-np.sum(share * np.log(share)))
