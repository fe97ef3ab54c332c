"""Rows that are no table of numbers: text, lists of tokens."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from sklearn_superior.early_stopping import EarlyStoppingClassifier
from sklearn_superior.model_selection import StagedSearchCV

pytestmark = pytest.mark.filterwarnings("ignore:The best .* may give a better model")
RNG = np.random.default_rng(0)
Y = np.arange(80) % 2
TOKENS = [[*RNG.choice(list("abcdef"), RNG.integers(2, 7)), "pq"[label]] for label in Y]
TEXT = [" ".join(tokens) for tokens in TOKENS]
KINDS = {
    "list": list,
    "object array": lambda text: np.array(text, dtype=object),
    "array of str": np.array,
    "Series": pd.Series,
    "shuffled Series": lambda text: pd.Series(text, index=range(len(text))[::-1]),
}


def as_it_is(tokens):
    return tokens


def make(door, **options):
    vectorizer = CountVectorizer(**{"analyzer": str.split} | options)
    booster = GradientBoostingClassifier(n_estimators=4, random_state=0)
    inner = make_pipeline(vectorizer, booster)
    if door == "early stopping":
        return EarlyStoppingClassifier(inner, random_state=0)
    return StagedSearchCV(inner, cv=3, refit=door)


@pytest.mark.parametrize("door", ["all", "folds", "early stopping"])
@pytest.mark.parametrize("kind", KINDS)
def test_predict_takes_what_fit_takes(kind, door):
    model = make(door).fit(KINDS[kind](TEXT), Y)
    assert_array_equal(model.predict(KINDS[kind](TEXT)), Y)
    assert_array_equal(model.predict(TEXT[:3]), Y[:3])
    assert_array_equal(model.predict(KINDS[kind](TEXT[5:6])), Y[5:6])
    # Fitted to something else, it is of that.
    table = np.c_[Y, Y]
    booster = GradientBoostingClassifier(n_estimators=4, random_state=0)
    model.set_params(estimator=booster).fit(table, Y)
    assert model.n_features_in_ == 2
    with pytest.raises(ValueError, match="X must be 2-dimensional"):
        model.predict(Y)


@pytest.mark.parametrize("door", ["all", "folds", "early stopping"])
@pytest.mark.parametrize("tokens", [TOKENS, [row[-2:] for row in TOKENS]])
def test_rows_of_tokens_have_no_features(tokens, door):
    model = make(door, analyzer=as_it_is).fit(tokens, Y)
    assert_array_equal(model.predict(TOKENS), Y)
    assert_array_equal(model.predict(TOKENS[3:]), Y[3:])
    assert not hasattr(model, "n_features_in_")


def test_lists_of_numbers_have_features():
    model = EarlyStoppingClassifier(
        GradientBoostingClassifier(n_estimators=4, random_state=0), random_state=0
    ).fit(np.c_[Y, Y].tolist(), Y)
    assert model.n_features_in_ == 2
    with pytest.raises(ValueError, match="X has 3 features"):
        model.predict([[1, 2, 3]])
