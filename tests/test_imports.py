"""Imports between the folders of the package point one way."""

import ast
import importlib
import re
from pathlib import Path

import pytest

import sklearn_superior

PACKAGE = Path(sklearn_superior.__file__).parent
NAME = "sklearn_superior"

# What each folder may import from, besides itself. contributing.rst draws it.
ALLOWED = {
    "utils": set(),
    "metrics": {"utils"},
    "datasets": {"utils"},
    "plotting": {"utils", "metrics"},
    "staged": {"utils", "metrics"},
    "early_stopping": {"utils", "metrics", "staged"},
    "integrations": {"utils", "metrics", "staged"},
}
for _folder in ("neural_network", "model_selection"):
    ALLOWED[_folder] = {"utils", "metrics", "staged", "early_stopping"}
ALLOWED["model_selection"].add("plotting")

# Modules with an underscore that are written to be shared with other folders.
SHARED = {
    "metrics._decisions",
    "metrics._rules",
    "metrics._kernel",
    "early_stopping._holdout",
}


def imports_of(tree, package):
    """Yield the absolute name of every module and name that a syntax tree imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join(parents) if node.level else ""
            base = ".".join(filter(None, [base, node.module]))
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif (
            isinstance(node, ast.Call)
            and getattr(node.func, "id", getattr(node.func, "attr", "")).strip("_")
            in ("import_module", "import_optional", "import")
            and node.args
            and isinstance(node.args[0], ast.Constant)
        ):
            yield str(node.args[0].value)


def wrong_imports(source, module):
    """List what is wrong with the imports of a module such as ``metrics._rules``."""
    folder = module.partition(".")[0]
    package = f"{NAME}.{module}".rpartition(".")[0]
    problems = []
    for name in imports_of(ast.parse(source), package):
        if name.partition(".")[0] != NAME:
            continue
        target = name.removeprefix(NAME).lstrip(".")
        other = target.partition(".")[0]
        if other in ("", folder, "_version", "__version__"):
            continue
        if other not in ALLOWED[folder]:
            problems.append(f"{module} imports from {other}, which is not below it")
        parts = target.split(".")
        private = [k for k, part in enumerate(parts) if part.startswith("_")]
        if other not in ("utils", "staged") and private:
            shared = ".".join(parts[: private[0] + 1])
            if shared not in SHARED:
                problems.append(f"{module} imports {target}, which is private")
            elif parts[private[0] + 1 :]:
                listed = importlib.import_module(f"{NAME}.{shared}").__all__
                if parts[-1] not in listed:
                    problems.append(f"{module} imports {target}, not in its __all__")
    return problems


def modules():
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        if len(parts) > 1:
            yield ".".join(parts), path


@pytest.mark.parametrize(("module", "path"), list(modules()))
def test_imports_point_one_way(module, path):
    assert wrong_imports(path.read_text(), module) == []


def test_every_folder_has_its_place():
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert folders == set(ALLOWED)


@pytest.mark.parametrize(
    ("module", "source", "problem"),
    [
        (
            "metrics._rules",
            "from sklearn_superior.early_stopping import EarlyStopper",
            "imports from early_stopping",
        ),
        (
            "plotting._simplex",
            "def f():\n    import sklearn_superior.model_selection as m",
            "imports from model_selection",
        ),
        (
            "plotting._simplex",
            "from ..model_selection import HBlockSplit",
            "imports from model_selection",
        ),
        (
            "datasets._paper",
            "__import__('sklearn_superior.metrics')",
            "imports from metrics",
        ),
        (
            "integrations.dask",
            "from sklearn_superior.metrics._forecast import check_forecast",
            "metrics._forecast.check_forecast, which is private",
        ),
        (
            "integrations.dask",
            "from sklearn_superior.metrics import _scorers",
            "metrics._scorers, which is private",
        ),
        (
            "integrations.dask",
            "from sklearn_superior.metrics._kernel import _Block",
            "not in its __all__",
        ),
    ],
)
def test_wrong_imports_are_found(module, source, problem):
    (found,) = wrong_imports(source, module)
    assert problem in found


ROOT = Path(__file__).parents[1]
OUTSIDE = [
    path
    for folder in ("studies", "examples")
    for path in sorted((ROOT / folder).rglob("*.py"))
]


def private_imports(source):
    """List the private names of the package that a module outside of it imports."""
    names = imports_of(ast.parse(source), "studies")
    private = rf"{NAME}\.((.+\.)?_(?!_)|utils\b|staged\b)"
    return [name for name in names if re.match(private, name)]


@pytest.mark.parametrize("path", OUTSIDE, ids=lambda p: str(p.relative_to(ROOT)))
def test_what_is_not_installed_uses_public_names_only(path):
    assert private_imports(path.read_text("utf-8")) == []


@pytest.mark.parametrize(
    ("source", "n_found"),
    [
        ("from sklearn_superior.metrics._rules import RULES", 1),
        ("from sklearn_superior.metrics import _rules", 1),
        ("from sklearn_superior import _version", 1),
        ("import sklearn_superior.staged.adapters.base as base", 1),
        ("from sklearn_superior import utils", 1),
        ("def f():\n    import_module('sklearn_superior.utils._files')", 1),
        ("from sklearn_superior import __version__", 0),
        ("from sklearn_superior.metrics import get_scorer\nimport numpy._core", 0),
    ],
)
def test_private_names_are_found(source, n_found):
    assert len(private_imports(source)) == n_found


def test_contributing_names_the_shared_modules():
    text = (ROOT / "doc" / "contributing.rst").read_text()
    for module in SHARED:
        assert f"``{module.replace('.', '/')}.py``" in text
