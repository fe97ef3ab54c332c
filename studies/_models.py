"""Models of the studies, for rows of a table."""

from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler


def make_model(name, max_iter, seed, categories=()):
    """Return a model with a budget; it never stops by itself.

    Parameters
    ----------
    name : {"hgb", "lightgbm", "tuned", "mlp"}
        The model; "tuned" is LightGBM.

    max_iter : int
        The budget.

    seed : int
        The seed.

    categories : list of int
        Columns of an array that are categories, for the perceptron. The others take
        them from the types of a data frame.
    """
    if name == "hgb":
        return HistGradientBoostingClassifier(
            max_iter=max_iter, early_stopping=False, random_state=seed
        )
    if name in ("lightgbm", "tuned"):
        import lightgbm

        return lightgbm.LGBMClassifier(
            n_estimators=max_iter, n_jobs=1, verbosity=-1, random_state=seed
        )
    model = MLPClassifier(batch_size=32, max_iter=max_iter, random_state=seed)
    return make_pipeline(_prepare(categories), model)


def _prepare(categories):
    """Fill and scale numbers; encode categories one-hot."""
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    if not len(categories):
        return numbers
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return ColumnTransformer([("categories", one_hot, categories)], remainder=numbers)
