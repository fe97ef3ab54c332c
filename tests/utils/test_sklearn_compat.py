"""Fails loudly when scikit-learn changes a private name that we rely on."""

import ast
import gc
import importlib
import os
import re
import subprocess
import sys
from numbers import Real
from pathlib import Path

import numpy as np
import pytest
import sklearn.metrics
from scipy.sparse import csr_matrix
from sklearn import clone, config_context
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import _scorer, make_scorer, recall_score
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.preprocessing import StandardScaler
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.discovery import all_estimators, all_functions

import sklearn_superior
from sklearn_superior.metrics import get_scorer
from sklearn_superior.utils import _sklearn_compat

PACKAGE = Path(sklearn_superior.__file__).parent
COMPAT = {"utils/_sklearn_compat.py", "staged/adapters/hist_hook.py"}

# Private names of other libraries that remain, with the reason. contributing.rst lists
# them as well.
FOREIGN = {
    ("neural_network/_optimizers.py", "_foreach_lerp_"): "torch: one kernel for all",
    ("utils/_warnings.py", "_getframe"): "Python: the line of the caller",
    ("integrations/torchmetrics.py", "_defaults"): "torchmetrics: double precision",
}


def modules():
    return {str(path.relative_to(PACKAGE)): path for path in PACKAGE.rglob("*.py")}


def test_only_two_files_import_private_names():
    private = re.compile(
        r"(from|import)\s+sklearn(\.\w+)*\._|from\s+sklearn(\.\w+)*\s+import\s+\(?\s*_"
    )
    users = {
        name for name, path in modules().items() if private.search(path.read_text())
    }
    assert users == COMPAT


def own_private_names(trees):
    """Names with an underscore that the package itself defines."""
    names = set()
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                names.add(node.name)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                if isinstance(node.value, ast.Name) and node.value.id in OWN_OBJECTS:
                    names.add(node.attr)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
            elif isinstance(node, ast.keyword | ast.arg):
                names.add(node.arg)
    return names


def attribute_of(node):
    """Name of the attribute that is read, also by `getattr`."""
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "getattr":
        name = node.args[1]
        return str(name.value) if isinstance(name, ast.Constant) else ""
    return ""


# Variables that hold objects of ours where attributes are set on them.
OWN_OBJECTS = {"self", "view", "model", "estimator"}


def test_no_other_file_reads_private_attributes_of_a_library():
    trees = {name: ast.parse(path.read_text()) for name, path in modules().items()}
    elsewhere = {name: tree for name, tree in trees.items() if name not in COMPAT}
    own = own_private_names(elsewhere.values())
    found = {
        (name, attribute)
        for name, tree in elsewhere.items()
        for attribute in map(attribute_of, ast.walk(tree))
        if re.match("_[^_]", attribute) and attribute not in own
    }
    assert found == set(FOREIGN)
    contributing = (Path(__file__).parents[2] / "doc" / "contributing.rst").read_text()
    for _, attribute in FOREIGN:
        assert attribute in contributing


def test_every_function_is_exercised_here():
    source = Path(__file__).read_text()
    for name in _sklearn_compat.__all__:
        assert f"_sklearn_compat.{name}" in source, name


def test_what_set_output_has_set():
    scaler = StandardScaler()
    assert _sklearn_compat.output_config(scaler) == {}
    scaler.set_output(transform="pandas")
    assert _sklearn_compat.output_config(scaler) == {"transform": "pandas"}
    assert _sklearn_compat.output_config(clone(scaler)) == {"transform": "pandas"}


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


def test_registered_names_are_known_everywhere():
    scorer = get_scorer("neg_penalized_brier_score")
    _sklearn_compat.register_scorer_names({"our_test_name": scorer})
    X, y = np.arange(20.0).reshape(-1, 1), np.arange(20) % 2
    try:
        search = GridSearchCV(LogisticRegression(), {"C": [1]}, scoring="our_test_name")
        assert search.fit(X, y).best_score_ < 0
    finally:
        del _sklearn_compat._SCORERS["our_test_name"]


def test_scorers_share_predictions_through_the_base_class():
    assert issubclass(_scorer._Scorer, _scorer._BaseScorer)
    assert issubclass(_sklearn_compat.ClassifierScorer, _scorer._BaseScorer)
    assert issubclass(_sklearn_compat.ProbabilityScorer, _scorer._BaseScorer)
    n_calls = []

    class Counting(LogisticRegression):
        def predict_proba(self, X):
            n_calls.append(1)
            return super().predict_proba(X)

    X, y = np.arange(30.0).reshape(-1, 1), np.arange(30) % 3
    scoring = {"ours": get_scorer("neg_penalized_brier_score"), "log": "neg_log_loss"}
    cross_validate(Counting(), X, y, scoring=scoring, cv=2, error_score="raise")
    assert len(n_calls) == 2


def test_the_options_of_a_scorer():
    scorer = get_scorer("neg_penalized_brier_score", penalty=2.0)
    assert scorer.options == {"penalty": 2.0}
    assert scorer.score_function.__name__ == "penalized_brier_score_loss"


def test_a_scorer_is_taken_apart():
    parts = _sklearn_compat.scorer_parts(make_scorer(recall_score, average="macro"))
    assert parts == (recall_score, 1, {"average": "macro"}, "predict")
    assert _sklearn_compat.scorer_parts(len) is None


def test_arrays_of_torch_are_known_while_dispatch_is_on():
    torch = pytest.importorskip("torch")
    tensor = torch.ones(2)
    assert _sklearn_compat.array_namespace(tensor) == (np, None)
    with config_context(array_api_dispatch=True):
        xp, device = _sklearn_compat.array_namespace(tensor)
        assert xp.__name__.endswith("torch")
        assert device == tensor.device
        for other in (np.ones(2), [1, 2], None):
            assert _sklearn_compat.array_namespace(other) == (np, None)
        found = _sklearn_compat.to_numpy(tensor, xp)
        assert isinstance(found, np.ndarray)
        moved = _sklearn_compat.move_to(np.ones(2), xp=xp, device=device)
        assert isinstance(moved, torch.Tensor)
        assert _sklearn_compat.widest_float(xp, device) == torch.float64
    assert _sklearn_compat.namespace_of(tensor).__name__.endswith("torch")


def test_rows_and_features_of_any_table():
    for table in ([[1], [2], [3]], np.arange(3).reshape(-1, 1), csr_matrix(np.eye(3))):
        assert _sklearn_compat.count_rows(table) == 3
        part = _sklearn_compat.take_rows(table, np.array([2, 0]))
        assert _sklearn_compat.count_rows(part) == 2


def test_parameters_are_checked_as_scikit_learn_does():
    constraints = {
        "C": [_sklearn_compat.Interval(Real, 0, None, closed="left")],
        "n": [_sklearn_compat.integer_from(2)],
        "how": [_sklearn_compat.StrOptions({"a", "b"}), None],
    }
    good = {"C": 1.0, "n": np.int8(2), "how": None, "other": object()}
    _sklearn_compat.check_parameters("Model", constraints, good)
    for name, bad, message in [
        ("C", -1.0, r"'C' parameter of Model must be a float .* Got -1.0 instead"),
        ("n", 1, r"'n' parameter of Model must be an int in .*\[2, inf\). Got 1 ins"),
        ("n", True, "'n' parameter of Model must be an int .* Got True instead"),
        ("how", "c", "'how' parameter of Model must be a str among .* Got 'c' instead"),
        ("how", np.array(["a", "b"]), "'how' parameter .* Got array"),
    ]:
        with pytest.raises(ValueError, match=message):
            _sklearn_compat.check_parameters("Model", constraints, good | {name: bad})


def test_scorer_names_are_found_wherever_scikit_learn_keeps_them():
    all_estimators(), all_functions()  # import all modules
    constraints = {id(c) for c in _sklearn_compat._scoring_constraints()}
    everything = {
        id(value)
        for value in gc.get_objects()
        if type(value) is StrOptions and "neg_brier_score" in value.options
    }
    assert len(everything) > 5
    assert constraints == everything


def test_the_context_of_callbacks_begins_where_there_are_any():
    class Estimator(_sklearn_compat.CallbackSupportMixin):
        pass

    pytest.importorskip("sklearn.callback")  # from 1.9 on

    class Callback:
        def setup(self, estimator, context):
            pass

        teardown = on_fit_task_begin = on_fit_task_end = setup

    assert callable(_sklearn_compat.with_callbacks(Estimator.__init__))
    estimator = Estimator()
    assert _sklearn_compat.begin_callbacks(estimator, max_subtasks=3) is None
    estimator.set_callbacks(Callback())
    context = _sklearn_compat.begin_callbacks(estimator, max_subtasks=3)
    assert context.max_subtasks == 3
    assert context.subcontext(task_name="stage").task_id == 0


def test_the_types_of_models_exist():
    for name in _sklearn_compat.MODEL_TYPES:
        module, _, attribute = name.rpartition(".")
        assert hasattr(importlib.import_module(module), attribute)


WITHOUT_NEW_NAMES = """
import sys
import numpy as np
import array_api_strict as xp
import sklearn.utils._array_api
from sklearn import set_config
from sklearn.ensemble import GradientBoostingClassifier
set_config(array_api_dispatch=True)
sys.modules["sklearn.callback"] = None  # which makes its import fail
vars(sklearn.utils._array_api).pop("move_to", None)
from sklearn_superior.early_stopping import EarlyStoppingClassifier
from sklearn_superior.metrics import penalized_brier_score_loss
from sklearn_superior.utils import _sklearn_compat
assert _sklearn_compat.move_to.__module__ == _sklearn_compat.__name__
X = np.random.default_rng(0).normal(size=(60, 2))
y = (X[:, 0] > 0).astype(int)
model = EarlyStoppingClassifier(GradientBoostingClassifier(n_estimators=3)).fit(X, y)
assert not hasattr(model, "set_callbacks")
proba = model.predict_proba(X)
loss = penalized_brier_score_loss(y, proba)
for device in ("CPU_DEVICE", "device1"):
    device = xp.Device(device)
    other = xp.asarray(proba, device=device)
    weight = xp.asarray(np.ones(60), device=xp.Device("CPU_DEVICE"))
    weighted = penalized_brier_score_loss(y, other, sample_weight=weight)
    assert abs(weighted - loss) < 1e-12
    assert abs(penalized_brier_score_loss(xp.asarray(y), other) - loss) < 1e-12
print("works")
"""


def test_works_without_what_older_versions_lack():
    pytest.importorskip("array_api_strict")
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT_NEW_NAMES],
        capture_output=True,
        text=True,
        env=os.environ | {"SCIPY_ARRAY_API": "1"},
    )
    assert run.stdout.strip() == "works", run.stderr
