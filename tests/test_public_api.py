"""The public names, the page that lists them, and imports without the extras."""

import doctest
import importlib
import inspect
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import sklearn_superior
from sklearn_superior import integrations

ROOT = Path(__file__).parent.parent
SUBPACKAGES = sklearn_superior._SUBPACKAGES
# The modules whose names are public: subpackages, and modules inside integrations.
MODULES = [name for name in SUBPACKAGES if name != "integrations"]
MODULES += [f"integrations.{name}" for name in integrations.__all__]
needs_all_libraries = pytest.mark.skipif(
    any(find_spec(name) is None for name in integrations.__all__),
    reason="a library that is integrated is missing",
)

# Everything that may be absent: the package must import without any of these.
OPTIONAL = [
    "array_api_strict",
    "catboost",
    "dask",
    "distributed",
    "jinja2",
    "keras",
    "lightgbm",
    "lightning",
    "matplotlib",
    "optuna",
    "pandas",
    "polars",
    "pyarrow",
    "skops",
    "skorch",
    "torch",
    "torchmetrics",
    "tqdm",
    "xgboost",
]

WITHOUT_EXTRAS = """
import importlib
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in OPTIONAL:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

OPTIONAL = set(sys.argv[1].split(","))
sys.meta_path.insert(0, Absent())

import sklearn_superior
for name in sklearn_superior._SUBPACKAGES:
    subpackage = getattr(sklearn_superior, name)
    for public in subpackage.__all__:
        try:
            getattr(subpackage, public)
        except ImportError as exc:  # their classes extend those of the library
            assert public in ("keras", "torchmetrics"), public
            assert f'pip install "sklearn-superior[{public}]"' in str(exc), exc
    assert set(subpackage.__all__) <= set(dir(subpackage))
assert not OPTIONAL & set(sys.modules)
print("imported")
"""


def names_on_the_api_page():
    """Map each subpackage to the names that doc/api.rst lists for it."""
    listed, module, inside = {}, None, False
    for line in (ROOT / "doc" / "api.rst").read_text().splitlines():
        if match := re.match(r"\.\. currentmodule:: sklearn_superior\.([\w.]+)", line):
            module = match[1]
            listed.setdefault(module, [])
        elif line.startswith(".. autosummary::"):
            inside = True
        elif line and not line.startswith(" "):
            inside = False
        elif inside and (match := re.fullmatch(r"   (\w+)", line)):
            listed[module].append(match[1])
    return listed


@needs_all_libraries
def test_api_page_lists_exactly_the_public_names():
    public = {
        name: sorted(importlib.import_module(f"sklearn_superior.{name}").__all__)
        for name in MODULES
    }
    assert {k: sorted(v) for k, v in names_on_the_api_page().items()} == public


@needs_all_libraries
def test_every_public_object_has_a_running_example():
    for name in MODULES:
        subpackage = importlib.import_module(f"sklearn_superior.{name}")
        for public in subpackage.__all__:
            doc = inspect.getdoc(getattr(subpackage, public))
            assert doctest.DocTestParser().get_examples(doc), public


def test_imports_without_the_extras():
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT_EXTRAS, ",".join(OPTIONAL)],
        capture_output=True,
        text=True,
        env={k: v for k, v in os.environ.items() if k != "SCIPY_ARRAY_API"},
    )
    assert run.stdout.strip() == "imported", run.stderr


def test_the_package_itself_imports_nothing_heavy():
    code = "import sys, sklearn_superior; print('sklearn' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout.strip() == "False", run.stderr


def test_unknown_attribute():
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        sklearn_superior.nothing  # noqa: B018
    assert dir(sklearn_superior) == sorted(["__version__", *SUBPACKAGES])
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        integrations.nothing  # noqa: B018


def test_version_is_the_installed_one():
    metadata = importlib.import_module("importlib.metadata")
    assert metadata.version("sklearn-superior") == sklearn_superior.__version__


README = (ROOT / "README.md").read_text()
SNIPPETS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)


def run_alone(code, folder):
    """Run code in a fresh Python, as if it were pasted there; return what it prints."""
    run = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", "-c", code],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.parametrize("snippet", SNIPPETS, ids=range(len(SNIPPETS)))
def test_readme_snippet_runs_alone_and_twice(snippet, tmp_path):
    first = run_alone(snippet, tmp_path)
    assert first == run_alone(snippet, tmp_path) != ""
    assert not list(tmp_path.iterdir())


def test_readme_search_resumes_as_it_says(tmp_path):
    options = 'checkpoint_dir="search", resume=True'
    assert f"`{options}`" in README
    snippet = SNIPPETS[0].replace("30]})", f"30]}}, {options})")
    assert options in snippet
    # The times are the same if not trained; the best one is, for its models.
    report = (
        "\ntimes = search.cv_results_['mean_fit_time'].tolist()"
        "\ndel times[search.best_index_]\nprint(times)"
    )
    first = run_alone(snippet + report, tmp_path)
    assert list((tmp_path / "search").glob("candidate-*"))
    assert first == run_alone(snippet + report, tmp_path)


def test_readme_is_a_front_door():
    assert len(README.splitlines()) <= 200
    assert "StagedSearchCV" in SNIPPETS[0]
    figures = re.findall(r"src=\"doc/_static/(\w+).png\"", README)
    assert figures == ["search", "superior"]


def test_readme_links_lead_somewhere():
    targets = re.findall(r"\]\(([^)]+)\)|src=\"([^\"]+)\"", README)
    assert len(targets) > 5
    has_records = (ROOT / "studies" / "records").exists()  # a distribution has not
    for target in map("".join, targets):
        assert not target.endswith(".rst"), f"{target} is full of roles when it is read"
        if has_records or not target.startswith("studies/records"):
            assert (ROOT / target).exists(), target
