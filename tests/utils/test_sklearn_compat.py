"""Fails loudly when scikit-learn changes a private name that we rely on."""

import re
from pathlib import Path

import numpy as np
import pytest
import sklearn.metrics
from sklearn import config_context
from sklearn.metrics import _scorer
from sklearn.model_selection import GridSearchCV
from sklearn.utils._param_validation import StrOptions

import sklearn_superior
from sklearn_superior.utils import _sklearn_compat

PACKAGE = Path(sklearn_superior.__file__).parent


def test_only_one_file_touches_private_names():
    private = re.compile(
        r"(from|import)\s+sklearn(\.\w+)*\._|from\s+sklearn(\.\w+)*\s+import\s+\(?\s*_"
    )
    users = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if private.search(path.read_text())
    }
    assert users == {"utils/_sklearn_compat.py"}


def test_table_of_scorers_is_what_get_scorer_reads():
    assert sorted(_sklearn_compat._SCORERS) == sklearn.metrics.get_scorer_names()
    assert _scorer._SCORERS is _sklearn_compat._SCORERS


def test_names_are_kept_in_the_constraints_of_scoring():
    options = [
        constraint.options
        for constraint in GridSearchCV._parameter_constraints["scoring"]
        if isinstance(constraint, StrOptions)
    ]
    assert len(options) == 1
    assert "neg_brier_score" in options[0]


def test_scorers_share_predictions_through_the_base_class():
    assert issubclass(_scorer._Scorer, _sklearn_compat.BaseScorer)
    scorer = sklearn.metrics.get_scorer("neg_brier_score")
    for name in ("_score_func", "_sign", "_kwargs", "_response_method"):
        assert hasattr(scorer, name)


def test_array_namespace():
    torch = pytest.importorskip("torch")
    tensor = torch.ones(2)
    assert _sklearn_compat.array_namespace(tensor) == (np, None)
    with config_context(array_api_dispatch=True):
        xp, device = _sklearn_compat.array_namespace(tensor)
        assert xp.__name__.endswith("torch")
        assert device == tensor.device
        for other in (np.ones(2), [1, 2], None):
            assert _sklearn_compat.array_namespace(other) == (np, None)
