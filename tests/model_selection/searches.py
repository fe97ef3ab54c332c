"""Small data, models and folds for tests of searches."""

from sklearn.ensemble import GradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold

from tests.early_stopping.families import make_data

CV = StratifiedKFold(3, shuffle=True, random_state=0)


def data(kind="five", n_rows=300):
    X, y, _, _ = make_data(kind)
    return X[:n_rows], y[:n_rows]


def small(**options):
    options = {"n_estimators": 15, "max_depth": 1, "random_state": 0} | options
    return GradientBoostingClassifier(**options)
